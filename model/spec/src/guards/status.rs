//! Status writes of an executor: what it may report, count, and decide.

use crate::catalogue::Req;
use crate::guards::backlog::judge_backlog;
use crate::guards::counting::{CountingHistory, has_true, judge_counting};
use crate::guards::decision::{Reason, Tally, judge_interim};
use crate::guards::suspend::judge_suspend;
use crate::job::{Condition, ConditionKind, ConditionStatus, JobSpec, JobStatus};
use crate::pods::Pods;
use crate::requirement::{Findings, Operand};
use crate::uid::Uid;
use crate::view::View;

/// Judges a status write of an executor against one view: everything that is a decision.
pub fn judge_status_write(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    judge_counted_status_write(view, new, &Tally::of(view), findings);
}

/// [`judge_status_write`] where the view was counted already.
pub fn judge_counted_status_write(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    judge_reported_counts(view, new, findings);
    judge_counting(view, new, tally, findings);
    judge_interim(view, new, tally, findings);
    judge_suspend(view, new, findings);
    judge_backlog(view, new, tally, findings);
}

/// PC-01, PC-02, PC-03, RP-06: the numbers after the sync's own creations and deletions.
fn judge_reported_counts(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    let sums = view.post.sums();
    findings.equal(Req::PC01, "active", i64::from(sums.active), i64::from(new.active));
    match new.terminating {
        found if !view.gates.job_pod_replacement_policy => {
            findings.require(Req::UG05, found.is_none(), "terminating", "none without its gate", "a number");
        }
        None => {
            findings.require(Req::RP06, false, "terminating", sums.terminating, "none");
        }
        Some(found) => {
            findings.equal(Req::PC02, "terminating", i64::from(sums.terminating), i64::from(found));
        }
    }
    match new.ready {
        None => {
            findings.require(Req::PC03, false, "ready", sums.ready, "none");
        }
        Some(found) => {
            findings.equal(Req::PC03, "ready", i64::from(sums.ready), i64::from(found));
        }
    }
}

/// Judges a status write of an executor by what needs no view: the two states of the object, and S-01 by the
/// history.
pub fn judge_status_shape(
    spec: &JobSpec,
    old: &JobStatus,
    new: &JobStatus,
    history: &dyn CountingHistory,
    findings: &mut Findings,
) {
    findings.require(
        Req::FT30,
        new.uncounted.is_some(),
        "uncountedTerminatedPods",
        "present, empty at the end",
        "none",
    );
    judge_start_of_end(spec, old, new, findings);
    judge_nothing_left(old, new, findings);
    judge_standing_reason(old, new, findings);
    for (interim, terminal) in [
        (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        (ConditionKind::FailureTarget, ConditionKind::Failed),
    ] {
        if new.is_true(&terminal) && !old.is_true(&terminal) {
            judge_terminal(&interim, &terminal, old, new, findings);
        }
    }
    judge_enough_successes(spec, old, new, history, findings);
}

/// SC-05: the two lists together stay short, whoever manages the Job.
pub fn judge_list_size(new: &JobStatus, cap: usize, findings: &mut Findings) {
    let listed = new.recorded();
    findings.require(Req::SC05, listed <= cap, "uncountedTerminatedPods", cap, listed);
}

/// S-04: a suspended Job that meets its end gets its startTime with the interim condition, since the API
/// refuses a finished Job without one. completions = 0 is exempt (SS-10).
fn judge_start_of_end(spec: &JobSpec, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let decided_now = new.is_decided() && !old.is_decided();
    if !decided_now || !spec.is_suspended() || spec.completions == Some(0) {
        return;
    }
    findings.premise(Req::S04);
    let expected = "set with the interim condition: the Job is suspended and meets its end";
    match (old.start_time, new.start_time) {
        (None, None) => findings.deviation(Req::S04, "startTime", expected, "none"),
        (Some(_), None) => {
            findings.require(Req::S04, false, "startTime", expected, "cleared");
        }
        (None, Some(start)) => {
            let interim = [ConditionKind::FailureTarget, ConditionKind::SuccessCriteriaMet]
                .iter()
                .find_map(|kind| true_entry(new, kind)?.last_transition_time);
            findings.require(
                Req::S04,
                interim.is_none_or(|interim| interim == start),
                "startTime",
                interim.unwrap_or(start),
                start,
            );
        }
        (Some(_), Some(_)) => {}
    }
}

/// The first entry of this type that is true: one that was set to False counts as absent (TC-10).
pub(super) fn true_entry<'a>(status: &'a JobStatus, kind: &ConditionKind) -> Option<&'a Condition> {
    let holds = |condition: &&Condition| condition.kind == *kind && condition.status == ConditionStatus::True;
    status.conditions.iter().find(holds)
}

/// TC-04: by the write's own numbers nothing is left to count, and nothing runs or terminates.
fn judge_nothing_left(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    if old.is_finished() || !new.is_finished() {
        return;
    }
    let listed = new.uncounted_succeeded().len() + new.uncounted_failed().len();
    findings.equal(Req::TC04, "uncounted pods of a finished Job", 0, listed);
    findings.equal(Req::TC04, "active of a finished Job", 0, new.active);
    findings.equal(Req::TC04, "terminating of a finished Job", 0, new.terminating.unwrap_or(0));
}

/// TC-02: what was decided, and why, is said once; later writes repeat it.
fn judge_standing_reason(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    for kind in [ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget, ConditionKind::Suspended] {
        let (Some(before), Some(after)) = (old.condition(&kind), new.condition(&kind)) else { continue };
        if before.status == after.status {
            judge_text(Req::TC02, "reason and message of a standing condition", before, after, findings);
        }
    }
}

/// TC-03, TC-09: the terminal condition repeats the interim one, which stands before it. An interim condition
/// that was withdrawn (S-12) decides nothing.
///
/// 1.36 departs from TC-09 where somebody had set the terminal condition to False: it changes that entry in its place,
/// wherever the interim one stands.
fn judge_terminal(
    interim: &ConditionKind,
    terminal: &ConditionKind,
    old: &JobStatus,
    new: &JobStatus,
    findings: &mut Findings,
) {
    let position = |kind: &ConditionKind| {
        new.conditions
            .iter()
            .position(|condition| condition.kind == *kind && condition.status == ConditionStatus::True)
    };
    let (Some(first), Some(second)) = (position(interim), position(terminal)) else { return };
    let (what, expected, found) = ("conditions", "the interim condition first", "the terminal one first");
    let turned = |was: &Condition| was.kind == *terminal && was.status != ConditionStatus::True;
    if first > second && old.conditions.get(second).is_some_and(turned) {
        findings.deviation(Req::TC09, what, expected, found);
    } else {
        findings.require(Req::TC09, first < second, what, expected, found);
    }
    judge_text(Req::TC03, TERMINAL_TEXT, &new.conditions[first], &new.conditions[second], findings);
}

pub(super) const TERMINAL_TEXT: &str = "reason and message of the terminal condition";

/// Two conditions have one reason and one message.
pub(super) fn judge_text(
    req: Req,
    what: &'static str,
    expected: &Condition,
    found: &Condition,
    findings: &mut Findings,
) {
    let same = (&expected.reason, &expected.message) == (&found.reason, &found.message);
    let text = |condition: &Condition| format!("{}: {}", condition.reason, condition.message);
    findings.require(req, same, what, Operand::lazy(|| text(expected)), Operand::lazy(|| text(found)));
}

/// S-01: Complete without a success policy means that enough successes are in the counter, by the completions
/// of the time when that was decided: no later change takes the decision back (TC-06), and no pod is created any
/// more (TC-07). What a later scale-down drops (PC-23) was there.
fn judge_enough_successes(
    spec: &JobSpec,
    old: &JobStatus,
    new: &JobStatus,
    history: &dyn CountingHistory,
    findings: &mut Findings,
) {
    let complete = ConditionKind::Complete;
    if !new.is_true(&complete) || old.is_true(&complete) {
        return;
    }
    let by_completions = new
        .condition(&ConditionKind::SuccessCriteriaMet)
        .is_some_and(|condition| Reason::CompletionsReached.is_written_as(&condition.reason));
    if !by_completions {
        return;
    }
    let wanted = history.decided_completions().or(spec.completions).unwrap_or(1);
    findings.premise(Req::S01);
    if new.succeeded < wanted {
        findings.deviation(Req::S01, "succeeded of a Complete Job", wanted, new.succeeded);
    }
}

/// TC-04, S-08: no terminal condition while etcd holds a living pod that the controller made.
///
/// `made_by_controller` leaves out pods that somebody else gave this Job as owner.
pub fn judge_terminal_truth(
    old: &JobStatus,
    new: &JobStatus,
    pods: &Pods,
    made_by_controller: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    if !ends(old, new) {
        return;
    }
    let terminating = pods.iter().find(|pod| pod.is_terminating() && made_by_controller(pod.uid));
    findings.require(
        Req::TC04,
        terminating.is_none(),
        "pods at the terminal condition",
        "none terminating",
        terminating.map_or(Operand::Words("none"), |pod| Operand::Uid(pod.uid)),
    );
    judge_none_active(old, new, pods, made_by_controller, findings);
}

fn ends(old: &JobStatus, new: &JobStatus) -> bool {
    !old.is_finished() && (has_true(new, &ConditionKind::Complete) || has_true(new, &ConditionKind::Failed))
}

/// S-08: the half of [`judge_terminal_truth`] that holds without any delay (UG-07).
pub fn judge_none_active(
    old: &JobStatus,
    new: &JobStatus,
    pods: &Pods,
    made_by_controller: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    if !ends(old, new) {
        return;
    }
    if let Some(pod) = pods.iter().find(|pod| pod.is_active() && made_by_controller(pod.uid)) {
        let what = "pods at the terminal condition";
        if has_true(new, &ConditionKind::Complete) {
            findings.deviation(Req::S08, what, "no active pod", pod.uid);
        } else {
            findings.require(Req::TC04, false, what, "no active pod", pod.uid);
        }
    }
}
