//! Status writes of a process with `JobManagedBy` and `JobPodReplacementPolicy` off (UG-07).
//!
//! Such a process writes a terminal condition without an interim condition, and waits for no pod. The status does not
//! show its decision until the end. Its writes are therefore judged as if it had written the interim condition when it
//! decided:
//!
//! | write | judged as |
//! | --- | --- |
//! | no condition, and a reason to finish may hold | the same write, or the same write with the interim condition of that reason |
//! | a terminal condition | a write of the interim condition, and then a write of the terminal condition |
//! | an interim condition of a policy, which has a gate of its own | the write itself |

use crate::catalogue::Req;
use crate::guards::decision::{Tally, decide};
use crate::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;

/// The guards of a status write. They get the stored Job and the status that the write stores.
pub type Guards<'a> = &'a dyn Fn(&Job, &JobStatus, &mut Findings);

/// The guards of a process that writes no interim condition.
#[derive(Clone, Copy)]
pub struct WithoutInterim<'a> {
    /// The guards of a process that writes interim conditions.
    pub with_interim: Guards<'a>,
    /// The guards among them that judge the truth.
    pub truth: Guards<'a>,
    /// Returns the decision that the process may have made ([`unwritten_decision`]).
    pub unwritten_decision: &'a dyn Fn() -> Option<Condition>,
}

impl WithoutInterim<'_> {
    /// Judges a status write.
    pub fn judge(&self, job: &Job, new: &JobStatus, findings: &mut Findings) {
        let is_true_interim = |it: &&Condition| is_interim(&it.kind) && it.status == ConditionStatus::True;
        let added = new.conditions.iter().find(is_true_interim).filter(|it| !job.status.is_true(&it.kind));
        let is_gated = added.is_none_or(is_of_a_policy);
        let expected = "none, because JobManagedBy and JobPodReplacementPolicy are off";
        let found = Operand::lazy(|| added.map_or("none", |it| it.kind.as_str()).to_owned());
        findings.require(Req::UG07, is_gated, "interim condition", expected, found);
        if job.status.is_decided() || added.is_some() {
            (self.with_interim)(job, new, findings);
            return;
        }
        let is_terminal =
            |it: &&Condition| matches!(it.kind, ConditionKind::Complete | ConditionKind::Failed);
        match new.conditions.iter().find(is_terminal) {
            Some(terminal) => self.judge_terminal(job, new, terminal, findings),
            None => self.judge_without_condition(job, new, findings),
        }
    }

    /// Judges a write without a new condition: the process has decided nothing, or has not written its decision.
    fn judge_without_condition(&self, job: &Job, new: &JobStatus, findings: &mut Findings) {
        let mut plain = Findings::new();
        (self.with_interim)(job, new, &mut plain);
        if !plain.broken.is_empty()
            && let Some(interim) = (self.unwritten_decision)()
        {
            let mut decided = Findings::new();
            (self.with_interim)(job, &with(new, interim), &mut decided);
            if decided.broken.is_empty() {
                return;
            }
        }
        findings.broken.extend(plain.broken);
    }

    /// Judges a write of a terminal condition as two writes: one of the interim condition, and one of the terminal one.
    fn judge_terminal(&self, job: &Job, new: &JobStatus, terminal: &Condition, findings: &mut Findings) {
        let good = terminal.kind == ConditionKind::Complete;
        let kind = if good { ConditionKind::SuccessCriteriaMet } else { ConditionKind::FailureTarget };
        let interim = Condition { kind, ..terminal.clone() };
        let mut first = new.clone();
        first.conditions.retain(|it| it.kind != terminal.kind);
        let second = with(&with(&first, interim.clone()), terminal.clone());
        first.completion_time = None;
        (self.with_interim)(job, &with(&first, interim.clone()), findings);
        let mut old = Job { status: with(&job.status, interim), ..job.clone() };
        old.status.start_time = new.start_time;
        (self.truth)(&old, &second, findings);
    }
}

/// The interim condition that a process would write if it wrote interim conditions, decided from this view at `now`.
///
/// The result is `None` if nothing is decided, or if a policy decides: policies have gates of their own, and their
/// interim conditions are written.
#[must_use]
pub fn unwritten_decision(view: &View<'_>, now: Time) -> Option<Condition> {
    let reason = decide(view, &Tally::of(view))?;
    let message = reason.message(view.gates)?;
    Some(Condition {
        kind: reason.interim(),
        status: ConditionStatus::True,
        reason: reason.written_with(view.gates).into(),
        message: message.into(),
        last_transition_time: Some(now),
    })
}

/// The Job of a view with the interim condition that its manager has decided on and does not write.
///
/// Guards on other writes, such as finalizer removals, judge them against this Job. The result is `None` if there is
/// no such decision.
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
