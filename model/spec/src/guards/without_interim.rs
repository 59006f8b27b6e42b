//! Ends that nobody announces: with `JobManagedBy` and `JobPodReplacementPolicy` off, a Job gets its terminal condition
//! without an interim one, and waits for no pod (UG-07).
//!
//! What such a process has decided stands nowhere until the end. So its writes are judged as if it had announced what it
//! decided when it decided it: each guard then asks the same as ever.

use crate::catalogue::Req;
use crate::guards::decision::{Tally, decide};
use crate::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus};
use crate::requirement::Findings;
use crate::time::Time;
use crate::view::View;

/// Guards of a status write: of the stored Job, and of the status that it gets.
pub type Guards<'a> = &'a dyn Fn(&Job, &JobStatus, &mut Findings);

/// How the writes of a process are judged that announces no end.
#[derive(Clone, Copy)]
pub struct WithoutInterim<'a> {
    /// The guards of a write of a process that announces it.
    pub with_interim: Guards<'a>,
    /// Those of them that no stale cache excuses.
    pub truth: Guards<'a>,
    /// What the process may have decided ([`in_mind`]).
    pub unwritten_decision: &'a dyn Fn() -> Option<Condition>,
}

impl WithoutInterim<'_> {
    /// Judges a status write.
    pub fn judge(&self, job: &Job, new: &JobStatus, findings: &mut Findings) {
        let fresh = |it: &&Condition| is_interim(&it.kind) && it.status == ConditionStatus::True;
        let announced = new.conditions.iter().find(fresh).filter(|it| !job.status.is_true(&it.kind));
        let silent = announced.is_none_or(is_of_a_policy);
        findings.require(Req::UG07, silent, "conditions", "no interim condition without its gates", "one");
        if job.status.is_decided() || announced.is_some() {
            (self.with_interim)(job, new, findings);
            return;
        }
        let ends = |it: &&Condition| matches!(it.kind, ConditionKind::Complete | ConditionKind::Failed);
        match new.conditions.iter().find(ends) {
            Some(end) => self.judge_end(job, new, end, findings),
            None => self.judge_on_the_way(job, new, findings),
        }
    }

    /// Nothing is decided, or what is decided is not said.
    fn judge_on_the_way(&self, job: &Job, new: &JobStatus, findings: &mut Findings) {
        let mut plain = Findings::new();
        (self.with_interim)(job, new, &mut plain);
        if !plain.broken.is_empty()
            && let Some(interim) = (self.unwritten_decision)()
        {
            let mut imagined = Findings::new();
            (self.with_interim)(job, &with(new, interim), &mut imagined);
            if imagined.broken.is_empty() {
                return;
            }
        }
        findings.broken.extend(plain.broken);
    }

    /// The end, as two writes: what it announces, and the end itself.
    fn judge_end(&self, job: &Job, new: &JobStatus, end: &Condition, findings: &mut Findings) {
        let good = end.kind == ConditionKind::Complete;
        let kind = if good { ConditionKind::SuccessCriteriaMet } else { ConditionKind::FailureTarget };
        let interim = Condition { kind, ..end.clone() };
        let mut announcing = new.clone();
        announcing.conditions.retain(|it| it.kind != end.kind);
        announcing.completion_time = None;
        (self.with_interim)(job, &with(&announcing, interim.clone()), findings);
        let mut old = Job { status: with(&job.status, interim.clone()), ..job.clone() };
        old.status.start_time = new.start_time;
        let mut said = new.clone();
        said.conditions.retain(|it| it.kind != end.kind);
        let said = with(&with(&said, interim), end.clone());
        (self.truth)(&old, &said, findings);
    }
}

/// The interim condition that a process which announces nothing has decided on, by this view.
#[must_use]
pub fn unwritten_decision(view: &View<'_>, now: Time) -> Option<Condition> {
    let reason = decide(view, &Tally::of(view))?;
    // Policies have gates of their own, and their ends are always announced.
    let message = reason.message(view.gates)?;
    Some(Condition {
        kind: reason.interim(),
        status: ConditionStatus::True,
        reason: reason.written_with(view.gates).into(),
        message: message.into(),
        last_transition_time: Some(now),
    })
}

/// The Job of a view with what its manager has decided and says to nobody, for what rests on a decision; `None` where
/// that is nothing.
#[must_use]
pub fn job_with_unwritten_decision(view: &View<'_>, now: Time) -> Option<Job> {
    if view.gates.delays_terminal_condition() || view.job.status.is_decided() {
        return None;
    }
    let decided = unwritten_decision(view, now)?;
    let mut job = view.job.clone();
    job.status.conditions.push(decided);
    Some(job)
}

fn with(status: &JobStatus, condition: Condition) -> JobStatus {
    let mut status = status.clone();
    status.conditions.push(condition);
    status
}

fn is_interim(kind: &ConditionKind) -> bool {
    matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
}

fn is_of_a_policy(condition: &Condition) -> bool {
    ["PodFailurePolicy", "SuccessPolicy"].contains(&&*condition.reason)
}
