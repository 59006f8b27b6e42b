//! The contract of every manager of Jobs, mirrors included: what the Job object alone shows (tag c; KEP-4368).

use crate::catalogue::Req;
use crate::guards::counting::has_true;
use crate::guards::status::{TERMINAL_TEXT, judge_text, true_entry};
use crate::job::{Condition, ConditionKind, ConditionStatus, JobStatus};
use crate::requirement::{Findings, Operand};

/// Judges one status write of a manager by the two states of the object.
pub fn judge_contract(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    judge_order_of_conditions(old, new, executor, findings);
    judge_decision_stays(old, new, findings);
    judge_after_finish(old, new, executor, findings);
    judge_condition_types(old, new, findings);
    judge_completion_time(old, new, findings);
}

/// SS-34, S-32: the interim condition stands in an earlier write than the terminal one.
fn judge_order_of_conditions(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    for (interim, terminal) in [
        (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        (ConditionKind::FailureTarget, ConditionKind::Failed),
    ] {
        if !has_true(new, &terminal) || has_true(old, &terminal) {
            continue;
        }
        if !has_true(new, &interim) {
            let expected = format!("{} before {}", interim.as_str(), terminal.as_str());
            findings.require(Req::TC03, false, "conditions", expected, "no interim condition");
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
            // Of an executor it is asked with the rest of its decision.
            if let (false, Some(first), Some(second)) =
                (executor, true_entry(new, &interim), true_entry(new, &terminal))
            {
                judge_text(Req::TC03, TERMINAL_TEXT, first, second, findings);
            }
        }
    }
}

/// TC-06: the two interim conditions exclude each other and stay.
fn judge_decision_stays(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (good, bad) = (ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget);
    for (kind, expected) in [(&good, "SuccessCriteriaMet stays True"), (&bad, "FailureTarget stays True")] {
        if has_true(old, kind) {
            findings.require(Req::TC06, has_true(new, kind), "interim condition", expected, "taken back");
        }
    }
    if has_true(new, &good) || has_true(new, &bad) {
        let both = has_true(new, &good) && has_true(new, &bad);
        findings.require(Req::TC06, !both, "interim conditions", "one of the two", "both");
    }
}

/// TC-11, SS-34: the terminal write is the last one. A must for executors, advice for mirrors.
fn judge_after_finish(old: &JobStatus, new: &JobStatus, executor: bool, findings: &mut Findings) {
    if old.is_finished() {
        let req = if executor { Req::TC11 } else { Req::SS33 };
        let silent = if executor { old == new } else { same_counts(old, new) };
        findings.require(
            req,
            silent,
            "status",
            "no write after the terminal condition",
            "a write that changes it",
        );
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

/// S-12: one entry for each condition type.
fn judge_condition_types(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let doubled = new
        .conditions
        .iter()
        .find(|condition| entries(new, &condition.kind) > entries(old, &condition.kind).max(1));
    findings.premise(Req::S12);
    let Some(condition) = doubled else { return };
    let count = entries(new, &condition.kind);
    let (expected, found) =
        ("one entry for each type", format!("{count} entries of {}", condition.kind.as_str()));
    if appends_withdrawn_interim(old, new, &condition.kind) {
        findings.deviation(Req::S12, "conditions", expected, found);
    } else {
        findings.require(Req::S12, false, "conditions", expected, found);
    }
}

fn entries(status: &JobStatus, kind: &ConditionKind) -> usize {
    status.conditions.iter().filter(|condition| condition.kind == *kind).count()
}

/// What 1.36 does where somebody withdrew an interim condition: it looks at the first entry of a type, finds it
/// not True, and appends a new one behind what stands there. Nothing else in the list changes.
fn appends_withdrawn_interim(old: &JobStatus, new: &JobStatus, kind: &ConditionKind) -> bool {
    let is_interim = matches!(kind, ConditionKind::FailureTarget | ConditionKind::SuccessCriteriaMet);
    let withdrawn = old.condition(kind).is_some() && !old.is_true(kind);
    let Some((added, before)) = new.conditions.split_last() else { return false };
    // Once more is once more the same.
    let as_before = |stands: &Condition| (&stands.reason, &stands.message) == (&added.reason, &added.message);
    is_interim
        && withdrawn
        && true_entry(old, kind).is_none_or(as_before)
        && *before == *old.conditions
        && added.kind == *kind
        && added.status == ConditionStatus::True
}

/// TC-05: completionTime is set with Complete, never otherwise, and never changed; it does not lie behind the
/// transition to Complete.
fn judge_completion_time(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (what, found) =
        ("completionTime", || new.completion_time.map_or(Operand::Words("none"), Operand::Time));
    let complete = has_true(new, &ConditionKind::Complete);
    if complete || new.completion_time.is_some() {
        let expected = if complete { "set with Complete" } else { "none without Complete" };
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
        let expected = Operand::lazy(|| format!("not after {transition}, the transition to Complete"));
        findings.require(Req::TC05, completion <= transition, "completionTime", expected, completion);
    }
}
