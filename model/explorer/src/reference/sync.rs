//! One sync of a Job, from claiming pods to writing the status.

use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus, Text};
use jobcheck_spec::time::Time;

use crate::process::io::{Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::account::{Accounting, put};
use crate::reference::claim::claim;
use crate::reference::decide::{Termination, decide};
use crate::reference::manage::{Counts, PodManager, StepResult};
use crate::reference::tally::Tally;

/// Syncs a Job.
///
/// # Errors
///
/// A call is not answered yet, or the sync failed.
pub fn sync(read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop> {
    let Some(job) = &read.job else {
        io.note(Effect::Forget);
        return Ok(());
    };
    if settings.leaves_alone(job) || job.status.is_finished() || read.finished_unseen {
        return Ok(());
    }
    let claimed = claim(job, read, settings, io)?;
    Sync { job, read: claimed.as_ref().unwrap_or(read), settings }.run(io)
}

pub(super) struct Sync<'a> {
    pub(super) job: &'a Job,
    pub(super) read: &'a Read,
    pub(super) settings: &'a Settings<'a>,
}

impl Sync<'_> {
    fn run(&self, io: &mut Io<'_>) -> Result<(), Stop> {
        let (job, read) = (self.job, self.read);
        let spec = &*job.spec;
        let mut tally = Tally::of(job, read, self.settings);
        tally.settle_ties(io)?;
        let mut status = JobStatus {
            uncounted: Some(job.status.uncounted.clone().unwrap_or_default()),
            ..job.status.clone()
        };
        if status.start_time.is_none() && !spec.is_suspended() {
            status.start_time = Some(read.now);
        }
        let mut counts = Counts {
            active: i32::try_from(tally.active.len()).unwrap_or(i32::MAX),
            ready: tally.ready,
            terminating: tally.terminating,
        };
        let manager = PodManager { read, spec, tally: &tally, settings: self.settings };
        let mut termination = decide(spec, &status, read, &tally, io)?;
        let mut verdict_waits = false;
        let result;
        if let Some(decided) = termination.clone() {
            result = manager.delete_active(&mut counts, io)?;
            self.continue_after_deletions(result)?;
            if result == StepResult::Failed || !self.settings.has_seen_all_pods(read) {
                // TC-08: a later sync must still find the pods that are left, and a decided Job creates none.
                verdict_waits = self.settings.keeps_verdict(&decided);
                termination = None;
            }
        } else {
            let manages = read.satisfied && !job.deleting;
            result = if manages { manager.manage(&mut counts, io)? } else { StepResult::Done };
            self.continue_after_creations(result)?;
            termination = completes(job, read, self.settings, &tally, counts.active);
            if termination.is_none() && manages {
                self.show_suspension(&mut status);
            }
        }
        self.arm_deadline(&status, io);
        status.active = counts.active;
        status.ready = Some(counts.ready);
        status.terminating = Some(counts.terminating).filter(|_| self.settings.reports_terminating());
        let terminating = counts.terminating;
        let (tally, settings) = (&tally, self.settings);
        let accounting =
            Accounting { job, read, tally, settings, termination, verdict_waits, terminating, status };
        accounting.run(io)?;
        if result == StepResult::Failed { Err(Stop::Failed) } else { Ok(()) }
    }

    /// SU-01, SU-02, SU-04: the condition Suspended follows the specification, and `startTime` changes with it.
    fn show_suspension(&self, status: &mut JobStatus) {
        let now = self.read.now;
        let shown = status.condition(&ConditionKind::Suspended).map(|condition| condition.status);
        let suspended = self.job.spec.is_suspended();
        let wanted = if suspended { ConditionStatus::True } else { ConditionStatus::False };
        self.keep_start_time(status, shown);
        if shown == Some(wanted) || (shown.is_none() && !suspended) {
            return;
        }
        status.start_time = if suspended { None } else { Some(now) };
        let (reason, message) =
            if suspended { ("JobSuspended", "Job suspended") } else { ("JobResumed", "Job resumed") };
        let condition = Condition {
            kind: ConditionKind::Suspended,
            status: wanted,
            reason: Text::from(reason),
            message: Text::from(message),
            last_transition_time: Some(now),
        };
        put(status, condition, false);
    }

    /// SU-10: a timer wakes the controller at the deadline.
    fn arm_deadline(&self, status: &JobStatus, io: &mut Io<'_>) {
        let spec = &self.job.spec;
        let deadline = spec.active_deadline_seconds.filter(|_| !spec.is_suspended());
        if let (Some(deadline), Some(start)) = (deadline, status.start_time) {
            let end: Time = start.plus(deadline);
            if end > self.read.now && self.arms_timer() {
                io.note(Effect::Wake(end));
            }
        }
    }
}

/// PC-24, PC-25: enough pods have succeeded and none is active. S-08: all created pods have been seen.
#[must_use]
pub fn completes(
    job: &Job,
    read: &Read,
    settings: &Settings<'_>,
    tally: &Tally<'_>,
    active: i32,
) -> Option<Termination> {
    let enough = match job.spec.completions {
        None => tally.succeeded > 0,
        Some(completions) => tally.succeeded >= i64::from(completions),
    };
    (enough && settings.none_is_active(active) && settings.has_seen_creations(read))
        .then(|| Termination::completions_reached(settings.gates))
}
