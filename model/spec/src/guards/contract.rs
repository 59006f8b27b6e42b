//! The contract of every manager of Jobs, mirrors included (KEP-4368).
//!
//! | write | requirements | decided by |
//! | --- | --- | --- |
//! | the same: status of a condition ([`judge_condition_statuses`]) | TC-16 | the truth, and who has sent it |
//! | write to the main resource by an executor | TC-11 | the truth: the Job before and after the write |
//! | status write of any manager | TC-05, TC-06, S-12; TC-03, TC-11 and SS-34 for executors, SS-33 for others | the truth: the status before and after the write |
//!
//! The rules need the Job object alone, because a mirror copies a Job whose pods are in another cluster.

use crate::catalogue::Req;
use crate::guards::counting::has_true;
use crate::guards::status::true_entry;
use crate::job::{Condition, ConditionKind, ConditionStatus, Conditions, Job, JobStatus, Text};
use crate::requirement::{Findings, Operand};

/// Judges a status write by the status before and after it.
///
/// `executor` is true if the manager creates the pods of the Job.
pub fn judge_contract(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    if executor {
        judge_order_of_conditions(old, new, findings);
    }
    judge_decision_stays(old, new, findings);
    judge_after_finish(old, new, executor, findings);
    judge_condition_types(old, new, findings);
    judge_completion_time(old, new, findings);
}

/// TC-03, SS-34: an earlier write than that of the terminal condition has stored the interim condition. MR-07 binds the
/// other managers.
fn judge_order_of_conditions(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    for (interim, terminal) in [
        (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        (ConditionKind::FailureTarget, ConditionKind::Failed),
    ] {
        if !has_true(new, &terminal) || has_true(old, &terminal) {
            continue;
        }
        if !has_true(new, &interim) {
            let expected = format!("{} before {}", interim.as_str(), terminal.as_str());
            findings.require(Req::TC03, false, "conditions", expected, format!("no {}", interim.as_str()));
        } else {
            findings.require(
                Req::SS34,
                has_true(old, &interim),
                "conditions",
                Operand::lazy(|| {
                    format!("{} in an earlier write than {}", interim.as_str(), terminal.as_str())
                }),
                "both in one write",
            );
        }
    }
}

/// TC-06: a stored interim condition stays, and excludes the other one.
fn judge_decision_stays(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (good, bad) = (ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget);
    for (kind, expected, found) in [
        (&good, "SuccessCriteriaMet=True as before", "no SuccessCriteriaMet=True"),
        (&bad, "FailureTarget=True as before", "no FailureTarget=True"),
    ] {
        if has_true(old, kind) {
            findings.require(Req::TC06, has_true(new, kind), "interim condition", expected, found);
        }
    }
    if has_true(new, &good) || has_true(new, &bad) {
        let both = has_true(new, &good) && has_true(new, &bad);
        let expected = "either SuccessCriteriaMet or FailureTarget";
        findings.require(Req::TC06, !both, "interim conditions", expected, "both");
    }
}

/// TC-11, SS-33: the write of the terminal condition is the last one of an executor. Other managers leave the counts.
fn judge_after_finish(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    if old.is_finished() {
        let req = if executor { Req::TC11 } else { Req::SS33 };
        let unchanged = if executor { old == new } else { same_counts(old, new) };
        let (what, found) = ("status write after the terminal condition", "a changed status");
        findings.require(req, unchanged, what, "no change", found);
    }
}

/// TC-11: an executor leaves the spec of a finished Job alone.
///
/// The writes of the explorer contain no spec, so that only traces reach this guard.
pub fn judge_spec_after_finish(old: &Job, new: &Job, findings: &mut Findings) {
    if old.status.is_finished() {
        let expected = "unchanged after the Job has finished";
        let found = "changed by the Job's controller";
        findings.require(Req::TC11, old.spec == new.spec, "spec", expected, found);
    }
}

fn same_counts(old: &JobStatus, new: &JobStatus) -> bool {
    let counts = |status: &JobStatus| {
        (
            status.active,
            status.ready.unwrap_or(0),
            status.terminating.unwrap_or(0),
            status.succeeded,
            status.failed,
        )
    };
    counts(old) == counts(new)
}

/// S-12: each condition type has one entry.
fn judge_condition_types(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (before, after) = (Conditions::of(&old.conditions), Conditions::of(&new.conditions));
    let is_doubled = |it: &&Condition| after.count(&it.kind) > before.count(&it.kind).max(1);
    findings.premise(Req::S12);
    let Some(condition) = new.conditions.iter().find(is_doubled) else { return };
    let count = after.count(&condition.kind);
    let (expected, found) =
        ("one entry for each type", format!("{count} entries of {}", condition.kind.as_str()));
    if appends_withdrawn_interim(old, new, &condition.kind) {
        findings.deviation(Req::S12, "conditions", expected, found);
    } else {
        findings.require(Req::S12, false, "conditions", expected, found);
    }
}

/// Returns whether the write has the exact pattern of the known deviation S-12.
///
/// Another actor has withdrawn an interim condition. Kubernetes 1.36 finds that the first entry of this type is not
/// True, and appends a second one. It changes nothing else in the list.
fn appends_withdrawn_interim(old: &JobStatus, new: &JobStatus, kind: &ConditionKind) -> bool {
    let is_interim = matches!(kind, ConditionKind::FailureTarget | ConditionKind::SuccessCriteriaMet);
    let withdrawn = old.condition(kind).is_some() && !old.is_true(kind);
    let Some((added, before)) = new.conditions.split_last() else { return false };
    // A third entry repeats the reason and message of the second one.
    let as_before = |stored: &Condition| (&stored.reason, &stored.message) == (&added.reason, &added.message);
    is_interim
        && withdrawn
        && true_entry(old, kind).is_none_or(as_before)
        && *before == *old.conditions
        && added.kind == *kind
        && added.status == ConditionStatus::True
}

/// TC-05: `completionTime` is set with Complete and only then, never changes, and is not after the transition to
/// Complete.
fn judge_completion_time(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (what, found) =
        ("completionTime", || new.completion_time.map_or(Operand::Words("none"), Operand::Time));
    let complete = has_true(new, &ConditionKind::Complete);
    if complete || new.completion_time.is_some() {
        let expected = if complete {
            "a time, because the Job is Complete"
        } else {
            "none, because the Job is not Complete"
        };
        findings.require(
            Req::TC05,
            new.completion_time.is_some() == complete,
            what,
            expected,
            Operand::lazy(found),
        );
    }
    if let Some(time) = old.completion_time {
        let stays = new.completion_time == Some(time);
        findings.require(Req::TC05, stays, what, time, Operand::lazy(found));
    }
    let Some(complete) = new.condition(&ConditionKind::Complete) else { return };
    if let (Some(completion), Some(transition)) = (new.completion_time, complete.last_transition_time) {
        let what = "completionTime, no later than the transition to Complete";
        findings.require(Req::TC05, completion <= transition, what, transition, completion);
    }
}

/// TC-16: the status of a condition that the write sets is one that the API defines. An executor sets Suspended to True
/// or False, and the other conditions to True.
///
/// A condition that another actor has set keeps its status, and conditions of other types belong to others. `executor`
/// is false for other managers, and if the trace does not show the sender: a user may set a condition to False.
///
/// The explorer's controllers set conditions to the statuses that their decisions have, so that it does not ask.
pub fn judge_condition_statuses(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    let before = Conditions::of(&old.conditions);
    let stays = |condition: &Condition| before.has(&condition.kind, condition.status);
    for condition in new.conditions.iter().filter(|condition| !stays(condition)) {
        let (fits, expected) = match (&condition.kind, condition.status) {
            (ConditionKind::Other(_), _) => continue,
            (_, status) if !executor => (status != ConditionStatus::Undefined, "True, False or Unknown"),
            (ConditionKind::Suspended, status) => {
                (matches!(status, ConditionStatus::True | ConditionStatus::False), "True or False")
            }
            (_, status) => (status == ConditionStatus::True, "True"),
        };
        let found = Operand::lazy(|| format!("{}={:?}", condition.kind.as_str(), condition.status));
        findings.require(Req::TC16, fits, "status of a condition", expected, found);
    }
}

/// TC-16 for an executor, MR-06 for a manager that writes status alone: conditions of other actors are kept as they are. The types
/// that no Job controller sets belong to others, unless `is_own` says something else.
///
/// The explorer's controllers have no such conditions, so that it does not ask.
pub fn judge_foreign_conditions(
    (old, new): (&JobStatus, &JobStatus),
    req: Req,
    is_own: &dyn Fn(&Text) -> bool,
    findings: &mut Findings,
) {
    let after = Conditions::of(&new.conditions);
    for condition in &old.conditions {
        let ConditionKind::Other(name) = &condition.kind else { continue };
        if is_own(name) {
            continue;
        }
        let found = || match after.count(&condition.kind) {
            0 => format!("no {name}"),
            _ => format!("another {name}"),
        };
        let kept = after.contains(condition);
        let expected = Operand::lazy(|| format!("{name} as before"));
        findings.require(req, kept, "a condition of another actor", expected, Operand::lazy(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(kind: ConditionKind, status: ConditionStatus) -> JobStatus {
        let condition =
            Condition { kind, status, reason: "R".into(), message: "M".into(), last_transition_time: None };
        JobStatus { conditions: vec![condition], ..JobStatus::default() }
    }

    fn fits(old: &JobStatus, new: &JobStatus, executor: bool) -> bool {
        let mut findings = Findings::new();
        judge_condition_statuses(old, new, executor, &mut findings);
        findings.is_clean()
    }

    #[test]
    fn condition_has_a_status_that_its_writer_may_set() {
        use ConditionKind::{FailureTarget, Suspended};
        use ConditionStatus::{False, True, Undefined, Unknown};
        for (kind, status, by_executor, by_mirror) in [
            (FailureTarget, True, true, true),
            (FailureTarget, False, false, true),
            (FailureTarget, Unknown, false, true),
            (FailureTarget, Undefined, false, false),
            (Suspended, False, true, true),
            (Suspended, Unknown, false, true),
            (ConditionKind::Other("X".into()), Undefined, true, true),
        ] {
            let (none, new) = (JobStatus::default(), with(kind, status));
            assert_eq!(
                (fits(&none, &new, true), fits(&none, &new, false)),
                (by_executor, by_mirror),
                "{new:?}"
            );
            assert!(fits(&new, &new, true));
        }
    }
}
