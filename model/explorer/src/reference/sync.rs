//! One sync of a Job, in the order of requirements.md 0.2.

use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus, Text};
use jobcheck_spec::time::Time;

use crate::mutations::Mutation;
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
/// A call without an answer, or the failure of the sync.
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

struct Sync<'a> {
    job: &'a Job,
    read: &'a Read,
    settings: &'a Settings<'a>,
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
        let went;
        if let Some(decided) = termination.clone() {
            went = manager.delete_active(&mut counts, io)?;
            self.gives_up(went, Mutation::ForgetsCountsAfterFailedDeletion)?;
            let hasty = self.settings.mutations.on(Mutation::FailsBeforeAllPodsAreSeen);
            if went == StepResult::Failed || (!read.satisfied && !hasty) {
                // TC-08: pods may be left that nobody would release.
                verdict_waits =
                    decided.by_fail_job && !self.settings.mutations.on(Mutation::DropsFailJobVerdict);
                termination = None;
            }
        } else {
            let manages = read.satisfied && !job.deleting;
            went = if manages { manager.manage(&mut counts, io)? } else { StepResult::Done };
            self.gives_up(went, Mutation::ForgetsStatusAfterFailedCreation)?;
            termination = completes(job, read, self.settings, &tally, counts.active);
            if termination.is_none() && manages {
                self.show_suspension(&mut status);
            }
        }
        self.arm_deadline(&status, io);
        status.active = counts.active;
        status.ready = Some(counts.ready);
        let reported = self.settings.gates.job_pod_replacement_policy
            || self.settings.mutations.on(Mutation::ReportsTerminatingWithoutGate);
        status.terminating = Some(counts.terminating).filter(|_| reported);
        let terminating = counts.terminating;
        let (tally, settings) = (&tally, self.settings);
        let accounting =
            Accounting { job, read, tally, settings, termination, verdict_waits, terminating, status };
        accounting.run(io)?;
        if went == StepResult::Failed { Err(Stop::Failed) } else { Ok(()) }
    }

    /// A departure: what failed ends the sync.
    fn gives_up(&self, went: StepResult, mutation: Mutation) -> Result<(), Stop> {
        if went == StepResult::Failed && self.settings.mutations.on(mutation) {
            Err(Stop::Failed)
        } else {
            Ok(())
        }
    }

    /// SU-01, SU-02, SU-04: the condition follows the specification, and `startTime` with it.
    fn show_suspension(&self, status: &mut JobStatus) {
        let now = self.read.now;
        let shown = status.condition(&ConditionKind::Suspended).map(|condition| condition.status);
        let suspended = self.job.spec.is_suspended();
        let wanted = if suspended { ConditionStatus::True } else { ConditionStatus::False };
        if shown == Some(ConditionStatus::False)
            && !suspended
            && self.settings.mutations.on(Mutation::ResetsStartTimeAfterResume)
        {
            status.start_time = Some(now);
        }
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

    /// SU-10.
    fn arm_deadline(&self, status: &JobStatus, io: &mut Io<'_>) {
        let spec = &self.job.spec;
        let deadline = spec.active_deadline_seconds.filter(|_| !spec.is_suspended());
        if let (Some(deadline), Some(start)) = (deadline, status.start_time) {
            let end: Time = start.plus(deadline);
            let starts = self.job.status.start_time.is_none();
            if end > self.read.now
                && (starts || !self.settings.mutations.on(Mutation::ArmsDeadlineAtStartOnly))
            {
                io.note(Effect::Wake(end));
            }
        }
    }
}

/// PC-24, PC-25; S-08: not before every pod that was created has been seen.
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
    let seen = read.creations_seen || settings.mutations.on(Mutation::CompletesBeforeAllPodsAreSeen);
    let over = active == 0 || settings.mutations.on(Mutation::LeavesExtraPods);
    (enough && over && seen).then(|| Termination::completions_reached(settings.gates))
}
