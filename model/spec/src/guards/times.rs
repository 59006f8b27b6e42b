//! Times in a status write of an executor: `startTime` (SU-04), `completionTime`, and `lastTransitionTime` (TC-15).
//!
//! | time | bounds |
//! | --- | --- |
//! | one that the write sets | the times that the Job shows already, the write of the version that was read, and the response |
//! | `lastTransitionTime` of a condition with an unchanged status | none: it stays |
//! | any time, as later events show it | the `creationTimestamp` of a later pod, the `deletionTimestamp` of a later deletion |
//!
//! Other clocks than that of the controller set the bounds, so that each has a tolerance. A manager that only mirrors a
//! status copies times of another cluster, and is exempt.
//!
//! The explorer stamps every write with its own clock. Its writes cannot break these rules, and it does not ask them.

use crate::catalogue::Req;
use crate::job::{Condition, ConditionKind, ConditionStatus, Conditions, Job, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::{CLOCK_SKEW, Time};

/// The times between which a status write was computed, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// The write of the Job version that the controller had read.
    pub read: Option<Time>,
    /// The response to the status write.
    pub until: Option<Time>,
    /// True if the controller itself has set all times of the stored status.
    pub are_own: bool,
}

/// TC-15, SU-04: judges the times that a status write of an executor sets.
///
/// `is_named` is false if the trace does not show the sender. A user may have set a condition to another status than True
/// then, and that condition is not judged.
pub fn judge_times(old: &Job, new: &JobStatus, bounds: Bounds, is_named: bool, findings: &mut Findings) {
    let shown = latest_time(&old.status).filter(|_| bounds.are_own).max(Some(old.created));
    let judge = |req, what, time: Time, read: Option<Time>, findings: &mut Findings| {
        let from = shown.max(read);
        let early = from.is_some_and(|from| time.plus(CLOCK_SKEW) < from);
        let late = bounds.until.is_some_and(|until| until.plus(CLOCK_SKEW) < time);
        findings.require(req, !early && !late, what, Operand::lazy(|| between(from, bounds.until)), time);
    };
    // `judge_resumption_time` judges the startTime of a resumed Job, and a view judges whether it is too late.
    let resumed = old.status.is_true(&ConditionKind::Suspended);
    let sets_start = new.start_time.filter(|_| new.start_time != old.status.start_time && !resumed);
    if let Some(start) = sets_start.filter(|start| bounds.until.is_none_or(|until| *start <= until)) {
        judge(Req::SU04, "startTime", start, bounds.read, findings);
    }
    // It is taken before the finalizers are removed, and may be older than the version that was read.
    if let Some(completion) = new.completion_time.filter(|_| old.status.completion_time.is_none()) {
        judge(Req::TC15, "completionTime", completion, None, findings);
    }
    let is_own = |condition: &&Condition| is_named || condition.status == ConditionStatus::True;
    let conditions = new.conditions.iter().filter(is_own);
    let (all_old, all_new) = (Conditions::of(&old.status.conditions), Conditions::of(&new.conditions));
    for condition in conditions.filter(|condition| is_judged(condition, &all_old, &all_new)) {
        let before = old.status.condition(&condition.kind).filter(|before| before.status == condition.status);
        match (before, condition.last_transition_time) {
            (Some(before), found) => judge_unmoved(before, found, findings),
            (None, Some(time)) => {
                // A sync prepares the terminal condition before the write of the interim one.
                let is_terminal = matches!(condition.kind, ConditionKind::Complete | ConditionKind::Failed);
                let read = bounds.read.filter(|_| !is_terminal);
                judge(Req::TC15, transition_of(&condition.kind), time, read, findings);
            }
            (None, None) => {
                findings.require(Req::TC15, false, transition_of(&condition.kind), "a time", "none");
            }
        }
    }
}

/// TC-15: judges the times of a stored status by a time of the API server that a later event shows.
pub fn judge_by_later_event(status: &JobStatus, later: Time, findings: &mut Findings) {
    if let Some(latest) = latest_time(status) {
        let expected = Operand::lazy(|| format!("at most {later}, the time of a later event"));
        let is_past = latest <= later.plus(CLOCK_SKEW);
        findings.require(Req::TC15, is_past, "latest time in the status", expected, latest);
    }
}

/// TC-15: `lastTransitionTime` changes only with the status of the condition.
fn judge_unmoved(before: &Condition, found: Option<Time>, findings: &mut Findings) {
    let Some(stored) = before.last_transition_time else { return };
    let shown = found.map_or(Operand::Words("none"), Operand::Time);
    findings.require(Req::TC15, found == Some(stored), transition_of(&before.kind), stored, shown);
}

/// Returns whether a condition is one of the Job controllers. With several conditions of one type, nothing shows which
/// became which.
fn is_judged(condition: &Condition, old: &Conditions<'_>, new: &Conditions<'_>) -> bool {
    let kind = &condition.kind;
    !matches!(kind, ConditionKind::Other(_)) && old.count(kind) <= 1 && new.count(kind) <= 1
}

fn latest_time(status: &JobStatus) -> Option<Time> {
    let is_own = |condition: &&Condition| !matches!(condition.kind, ConditionKind::Other(_));
    let transitions = status.conditions.iter().filter(is_own).map(|condition| condition.last_transition_time);
    transitions.max().flatten().max(status.start_time).max(status.completion_time)
}

fn transition_of(kind: &ConditionKind) -> &'static str {
    match kind {
        ConditionKind::Complete => "lastTransitionTime of Complete",
        ConditionKind::Failed => "lastTransitionTime of Failed",
        ConditionKind::Suspended => "lastTransitionTime of Suspended",
        ConditionKind::FailureTarget => "lastTransitionTime of FailureTarget",
        ConditionKind::SuccessCriteriaMet => "lastTransitionTime of SuccessCriteriaMet",
        ConditionKind::Other(_) => "lastTransitionTime",
    }
}

fn between(from: Option<Time>, until: Option<Time>) -> String {
    let time = |time: Time| time.to_string();
    match (from.map(time), until.map(time)) {
        (Some(from), Some(until)) => format!("between {from} and {until}, give or take {CLOCK_SKEW} s"),
        (Some(from), None) => format!("{from} or later, give or take {CLOCK_SKEW} s"),
        (None, Some(until)) => format!("{until} or earlier, give or take {CLOCK_SKEW} s"),
        (None, None) => "any time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::fixtures::job;

    fn failed(time: Option<i64>) -> Condition {
        Condition {
            kind: ConditionKind::FailureTarget,
            status: ConditionStatus::True,
            reason: "R".into(),
            message: "M".into(),
            last_transition_time: time.map(Time),
        }
    }

    fn holds(old: &JobStatus, new: &JobStatus) -> bool {
        let old = Job { created: Time(1000), status: old.clone(), ..job() };
        let bounds = Bounds { read: Some(Time(1010)), until: Some(Time(1020)), are_own: true };
        let mut findings = Findings::new();
        judge_times(&old, new, bounds, true, &mut findings);
        assert!(findings.broken.iter().all(|broken| matches!(broken.req, Req::TC15 | Req::SU04)));
        findings.is_clean()
    }

    #[test]
    fn time_that_a_write_sets_is_the_time_of_the_write() {
        for (time, fits) in [(1004, false), (1005, true), (1015, true), (1025, true), (1026, false)] {
            let started = JobStatus { start_time: Some(Time(time)), ..JobStatus::default() };
            // A view shows that it is too late.
            assert_eq!(holds(&JobStatus::default(), &started), fits || time > 1020, "startTime {time}");
            let decided = JobStatus { conditions: vec![failed(Some(time))], ..JobStatus::default() };
            assert_eq!(holds(&JobStatus::default(), &decided), fits, "condition {time}");
        }
    }

    #[test]
    fn transition_has_a_time_that_stays() {
        let with = |time| JobStatus { conditions: vec![failed(time)], ..JobStatus::default() };
        assert!(!holds(&JobStatus::default(), &with(None)));
        assert!(holds(&with(Some(1001)), &with(Some(1001))));
        assert!(!holds(&with(Some(1001)), &with(Some(1012))));
        assert!(!holds(&with(Some(1001)), &with(None)));
        assert!(holds(&with(None), &with(Some(1012))));
    }

    #[test]
    fn later_pod_shows_a_time_in_the_future() {
        let status = JobStatus { start_time: Some(Time(4600)), ..JobStatus::default() };
        for (later, fits) in [(1000, false), (4594, false), (4595, true), (5000, true)] {
            let mut findings = Findings::new();
            judge_by_later_event(&status, Time(later), &mut findings);
            assert_eq!(findings.is_clean(), fits, "{later}");
        }
    }
}
