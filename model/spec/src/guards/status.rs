//! Status writes of an executor: the numbers that it reports, the pods that it counts, and the conditions that it sets.
//!
//! | function | part of the write | requirements | decided by |
//! | --- | --- | --- | --- |
//! | [`judge_status_write`] | `active`, `ready`, `terminating` | PC-01 to PC-03, RP-06, UG-05 | a view, with the sync's own creations and deletions |
//! | | lists and indexes | see [`counting`](super::counting) and [`backlog`](super::backlog) | a view |
//! | | interim condition | see [`decision`](super::decision) | a view |
//! | | `startTime`, Suspended | see [`suspend`](super::suspend) | a view |
//! | [`judge_status_shape`] | conditions and counters, compared with the previous status | FT-30, TC-02 to TC-04, TC-09, S-01, S-04 | the truth |
//! | [`judge_list_size`] | length of the lists | SC-05 | the truth |
//! | [`judge_terminal_truth`] | terminal condition | TC-04, S-08 | the truth: the pods in etcd |
//!
//! The rules that bind every manager, not only executors, are in [`contract`](super::contract).

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
use crate::words::described;

/// Judges the decisions in a status write of an executor against one view.
pub fn judge_status_write(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    judge_counted_status_write(view, new, &Tally::of(view), findings);
}

/// Judges like [`judge_status_write`], with the [`Tally`] of the view as the caller has computed it.
pub fn judge_counted_status_write(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    judge_reported_counts(view, new, findings);
    judge_counting(view, new, tally, findings);
    judge_interim(view, new, tally, findings);
    judge_suspend(view, new, findings);
    judge_backlog(view, new, tally, findings);
}

/// PC-01, PC-02, PC-03, RP-06, UG-05: `active`, `terminating`, and `ready` are the numbers of pods after the creations
/// and deletions of the sync.
fn judge_reported_counts(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    let sums = view.post.sums();
    findings.equal(Req::PC01, "active", i64::from(sums.active), i64::from(new.active));
    match new.terminating {
        found if !view.gates.job_pod_replacement_policy => {
            let expected = "none, because JobPodReplacementPolicy is off";
            findings.require(Req::UG05, found.is_none(), "terminating", expected, found.unwrap_or(0));
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

/// Judges the parts of a status write of an executor that need no view.
///
/// These are conditions and counters, compared with the previous status, and S-01 by the history.
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
        "a value, even if both lists are empty",
        "none",
    );
    judge_start_time_at_decision(spec, old, new, findings);
    judge_nothing_left(old, new, findings);
    judge_unchanged_conditions(old, new, findings);
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

/// SC-05: the two lists of `uncountedTerminatedPods` together have at most `cap` UIDs.
pub fn judge_list_size(new: &JobStatus, cap: usize, findings: &mut Findings) {
    let recorded = new.recorded();
    let expected = Operand::lazy(|| format!("at most {cap}"));
    findings.require(Req::SC05, recorded <= cap, "UIDs in uncountedTerminatedPods", expected, recorded);
}

/// S-04: the interim write of a suspended Job sets `startTime`.
///
/// The API server refuses a finished Job without `startTime`, except with `completions` 0 (SS-10).
fn judge_start_time_at_decision(spec: &JobSpec, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let decided_now = new.is_decided() && !old.is_decided();
    if !decided_now || !spec.is_suspended() || spec.completions == Some(0) {
        return;
    }
    findings.premise(Req::S04);
    let expected = "a time, set with the interim condition of the suspended Job";
    match (old.start_time, new.start_time) {
        (None, None) => findings.deviation(Req::S04, "startTime", expected, "none"),
        (Some(_), None) => {
            findings.require(Req::S04, false, "startTime", expected, "none, although it was set");
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

/// The first entry of this condition type that is True. An entry that was set to False counts as absent (TC-10).
pub(super) fn true_entry<'a>(status: &'a JobStatus, kind: &ConditionKind) -> Option<&'a Condition> {
    let holds = |condition: &&Condition| condition.kind == *kind && condition.status == ConditionStatus::True;
    status.conditions.iter().find(holds)
}

/// TC-04: the numbers of the write that finishes the Job show no uncounted, active, or terminating pod.
fn judge_nothing_left(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    if old.is_finished() || !new.is_finished() {
        return;
    }
    findings.equal(Req::TC04, "uncounted pods of a finished Job", 0, new.recorded());
    findings.equal(Req::TC04, "active of a finished Job", 0, new.active);
    findings.equal(Req::TC04, "terminating of a finished Job", 0, new.terminating.unwrap_or(0));
}

/// TC-02: a condition whose status does not change keeps its reason and message.
fn judge_unchanged_conditions(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    for kind in [ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget, ConditionKind::Suspended] {
        let (Some(before), Some(after)) = (old.condition(&kind), new.condition(&kind)) else { continue };
        if before.status == after.status {
            judge_text(Req::TC02, "reason and message of an unchanged condition", before, after, findings);
        }
    }
}

/// TC-03, TC-09: the terminal condition follows the interim condition in the list, with the same reason and message.
///
/// An interim condition that was withdrawn does not count (S-12). Known deviation: if another actor has set the
/// terminal condition to False, Kubernetes 1.36 changes that entry in its place.
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
    let (what, expected) = ("order of conditions", "the interim condition before the terminal one");
    let found = "the terminal condition before the interim one";
    let turned = |was: &Condition| was.kind == *terminal && was.status != ConditionStatus::True;
    if first > second && old.conditions.get(second).is_some_and(turned) {
        findings.deviation(Req::TC09, what, expected, found);
    } else {
        findings.require(Req::TC09, first < second, what, expected, found);
    }
    judge_text(Req::TC03, TERMINAL_TEXT, &new.conditions[first], &new.conditions[second], findings);
}

pub(super) const TERMINAL_TEXT: &str = "reason and message of the terminal condition";

/// Requires that two conditions have the same reason and message.
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

/// S-01: a Job that completes without a success policy has counted enough successes.
///
/// The number is that of `completions` when the Job was decided. A later change of `completions` does not withdraw the
/// decision (TC-06), creates no pods (TC-07), and may drop successes that were there (PC-23).
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
        let expected = format!("at least {wanted}");
        findings.deviation(Req::S01, "succeeded of a Complete Job", expected, new.succeeded);
    }
}

/// TC-04, S-08: etcd holds no active or terminating pod of the controller when the Job finishes.
///
/// `made_by_controller` returns whether the controller has created a pod. Other actors may make a Job the owner of a
/// pod.
pub fn judge_terminal_truth(
    old: &JobStatus,
    new: &JobStatus,
    pods: &Pods,
    made_by_controller: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    if !finishes(old, new) {
        return;
    }
    let terminating = pods.iter().find(|pod| pod.is_terminating() && made_by_controller(pod.uid));
    findings.require(
        Req::TC04,
        terminating.is_none(),
        "pods at the terminal condition",
        "no terminating pod",
        Operand::lazy(|| terminating.map_or(Operand::Words("none"), described)),
    );
    judge_none_active(old, new, pods, made_by_controller, findings);
}

fn finishes(old: &JobStatus, new: &JobStatus) -> bool {
    !old.is_finished() && (has_true(new, &ConditionKind::Complete) || has_true(new, &ConditionKind::Failed))
}

/// S-08, TC-04: etcd holds no active pod of the controller when the Job finishes.
///
/// This part of [`judge_terminal_truth`] also applies if gates are off and terminal conditions are not delayed (UG-07).
pub fn judge_none_active(
    old: &JobStatus,
    new: &JobStatus,
    pods: &Pods,
    made_by_controller: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    if !finishes(old, new) {
        return;
    }
    if let Some(pod) = pods.iter().find(|pod| pod.is_active() && made_by_controller(pod.uid)) {
        let what = "pods at the terminal condition";
        if has_true(new, &ConditionKind::Complete) {
            findings.deviation(Req::S08, what, "no active pod", described(pod));
        } else {
            findings.require(Req::TC04, false, what, "no active pod", described(pod));
        }
    }
}
