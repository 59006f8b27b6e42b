//! Suspension and resumption: `startTime` and the condition Suspended.
//!
//! | status write of an executor | requirements | decided by |
//! | --- | --- | --- |
//! | suspension: Suspended becomes True, `startTime` is removed, no active pod is left | SU-01, SU-02, SU-03 | a view |
//! | resumption: Suspended becomes False, `startTime` is set to the present time | SU-04 | a view, and the truth for the time |
//! | no change while the Job finishes, is deleted, or pods are not managed | SU-05 | a view |
//! | reason and message of Suspended | TC-02 | the truth |

use crate::catalogue::Req;
use crate::job::{ConditionKind, ConditionStatus, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::{CLOCK_SKEW, Time};
use crate::view::View;

/// Judges `startTime` and the condition Suspended in a status write of an executor.
pub fn judge_suspend(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    let was = suspended(&view.job.status);
    let is = suspended(new);
    let ending = view.job.deleting || view.job.status.is_decided() || new.is_decided();
    if ending || !view.expectations_met {
        let what = if ending {
            "condition Suspended of a Job that finishes or is being deleted"
        } else {
            "condition Suspended in a sync that manages no pods"
        };
        if !findings.require(Req::SU05, was == is, what, status_text(was), status_text(is)) {
            return;
        }
    }
    if view.spec().is_suspended() {
        judge_suspended(view, new, was, is, findings);
    } else {
        judge_running(view, new, was, is, findings);
    }
    if was != is {
        judge_texts(new, is, findings);
    }
}

fn suspended(status: &JobStatus) -> Option<ConditionStatus> {
    status.condition(&ConditionKind::Suspended).map(|condition| condition.status)
}

/// Returns whether the sync sets the condition Suspended: it has managed pods (SU-05), and the Job does not finish
/// (SU-06).
fn reaches_condition(view: &View<'_>, new: &JobStatus) -> bool {
    let manages = view.expectations_met && !view.deletion_unseen && !view.job.deleting;
    manages && !view.job.status.is_decided() && !new.is_decided()
}

fn judge_suspended(
    view: &View<'_>,
    new: &JobStatus,
    was: Option<ConditionStatus>,
    is: Option<ConditionStatus>,
    findings: &mut Findings,
) {
    let set = is == Some(ConditionStatus::True);
    if reaches_condition(view, new) && !view.deletes_failed {
        let req = if view.job.status.start_time.is_none() && was.is_none() { Req::SU03 } else { Req::SU01 };
        findings.require(req, set, "condition Suspended", "True", status_text(is));
    } else {
        let expected = "True, or no change";
        findings.require(Req::SU01, set || is == was, "condition Suspended", expected, status_text(is));
    }
    let pauses = set && was != Some(ConditionStatus::True);
    if pauses && !view.deletes_failed {
        // SU-05: the sync has managed pods, and has deleted those of the suspended Job.
        let left = i64::from(view.post.sums().active);
        findings.equal(Req::SU01, "active pods at the suspension", 0, left);
    }
    if pauses {
        judge_start_of_suspended(view, new, was, findings);
    } else if new.start_time != view.job.status.start_time {
        // The interim write of a suspended Job may set startTime (S-04). No other write changes it.
        let sets = new.is_decided() && view.job.status.start_time.is_none();
        let req = if new.is_decided() { Req::SU04 } else { Req::SU02 };
        findings.require(req, sets, "startTime", time_text(&view.job.status), time_text(new));
    }
}

/// SU-02, SU-03: the write that suspends a Job removes `startTime`. Before 1.36 it may leave `startTime` unchanged.
fn judge_start_of_suspended(
    view: &View<'_>,
    new: &JobStatus,
    was: Option<ConditionStatus>,
    findings: &mut Findings,
) {
    let old = view.job.status.start_time;
    let req = if was.is_none() && old.is_none() { Req::SU03 } else { Req::SU02 };
    let may_keep = view.constants.may_keep_start_time;
    let expected = if may_keep {
        "none or no change, because the Job is suspended"
    } else {
        "none, because the Job is suspended"
    };
    let fits = new.start_time.is_none() || (may_keep && new.start_time == old);
    findings.require(req, fits, "startTime", expected, time_text(new));
}

fn judge_running(
    view: &View<'_>,
    new: &JobStatus,
    was: Option<ConditionStatus>,
    is: Option<ConditionStatus>,
    findings: &mut Findings,
) {
    if was == Some(ConditionStatus::True) && reaches_condition(view, new) && !view.deletes_failed {
        findings.require(
            Req::SU04,
            is == Some(ConditionStatus::False),
            "condition Suspended",
            "False, because the Job is resumed",
            status_text(is),
        );
    } else if was != Some(ConditionStatus::True) {
        findings.require(Req::SU04, is == was, "condition Suspended", status_text(was), status_text(is));
    } else {
        let kept = is == was || is == Some(ConditionStatus::False);
        findings.require(Req::SU04, kept, "condition Suspended", "False, or no change", status_text(is));
    }
    let resumed = was == Some(ConditionStatus::True) && is == Some(ConditionStatus::False);
    judge_start_time(view, new, resumed, findings);
}

/// SU-04: a Job that is not suspended has a `startTime` from its first status write on, and gets a new one when it is
/// resumed.
fn judge_start_time(view: &View<'_>, new: &JobStatus, resumed: bool, findings: &mut Findings) {
    let old = view.job.status.start_time;
    let Some(start) = new.start_time else {
        findings.require(Req::SU04, false, "startTime", "a time, because the Job is not suspended", "none");
        return;
    };
    if let (Some(old), false) = (old, resumed) {
        // SU-07, SS-09: only a resumption changes startTime.
        findings.equal(Req::SU04, "startTime", old, start);
        return;
    }
    // The time of the controller is compared with times of the API server.
    let tolerance = view.clocks.skew();
    findings.require(
        Req::SU04,
        start.plus(tolerance) >= view.job.created
            && view.latest.is_none_or(|latest| start <= latest.plus(tolerance)),
        "startTime",
        between(view.job.created, view.latest),
        start,
    );
    // One sync takes both times from one clock.
    let transition =
        new.condition(&ConditionKind::Suspended).and_then(|condition| condition.last_transition_time);
    if let (true, Some(transition)) = (resumed, transition) {
        let what = "startTime, no earlier than the transition of Suspended";
        findings.require(Req::SU04, start.plus(1) >= transition, what, transition, start);
    }
    if let (true, Some(old)) = (resumed, old) {
        findings.require(Req::SU04, start >= old, "startTime, no earlier than the previous one", old, start);
    }
}

/// SU-04: a resumption sets `startTime` to the present time, which is not before the version of the Job that was read.
///
/// `since` is the time at which that version was written. It comes from another clock than `startTime`, which may
/// therefore be earlier, if the condition Suspended shows no later time.
pub fn judge_resumption_time(old: &JobStatus, new: &JobStatus, since: Option<Time>, findings: &mut Findings) {
    let resumed =
        suspended(old) == Some(ConditionStatus::True) && suspended(new) == Some(ConditionStatus::False);
    let (true, Some(since), Some(start)) = (resumed, since, new.start_time) else { return };
    let transition =
        new.condition(&ConditionKind::Suspended).and_then(|condition| condition.last_transition_time);
    let as_late = transition.is_none_or(|transition| start >= transition);
    let earliest = if as_late { since.plus(-CLOCK_SKEW) } else { since };
    let what = "startTime, no earlier than the Job that was resumed";
    findings.require(Req::SU04, start >= earliest, what, since, start);
}

fn between(from: Time, to: Option<Time>) -> Operand {
    Operand::Text(match to {
        Some(to) => format!("between {from} and {to}"),
        None => format!("{from} or later"),
    })
}

/// TC-02: the condition Suspended has the reason and message of its status.
fn judge_texts(new: &JobStatus, is: Option<ConditionStatus>, findings: &mut Findings) {
    let Some(condition) = new.condition(&ConditionKind::Suspended) else { return };
    let (reason, message) = match is {
        Some(ConditionStatus::True) => ("JobSuspended", "Job suspended"),
        Some(ConditionStatus::False | ConditionStatus::Unknown | ConditionStatus::Undefined) | None => {
            ("JobResumed", "Job resumed")
        }
    };
    findings.require(
        Req::TC02,
        (&*condition.reason, &*condition.message) == (reason, message),
        "condition Suspended",
        Operand::lazy(|| format!("{reason}: {message}")),
        Operand::lazy(|| format!("{}: {}", condition.reason, condition.message)),
    );
}

fn status_text(status: Option<ConditionStatus>) -> &'static str {
    match status {
        None => "absent",
        Some(ConditionStatus::True) => "True",
        Some(ConditionStatus::False) => "False",
        Some(ConditionStatus::Unknown) => "Unknown",
        Some(ConditionStatus::Undefined) => "undefined",
    }
}

fn time_text(status: &JobStatus) -> Operand {
    status.start_time.map_or(Operand::Words("none"), Operand::Time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::fixtures::job;
    use crate::pods::Pods;
    use crate::time::Clocks;

    fn is_start_admitted(clocks: Clocks, seconds: i64) -> bool {
        let (mut job, pods) = (job(), Pods::default());
        job.created = Time(1000);
        let view = View { clocks, latest: Some(Time(1002)), ..View::of(&job, &pods) };
        let mut findings = Findings::default();
        let new = JobStatus { start_time: Some(Time(seconds)), ..JobStatus::default() };
        judge_start_time(&view, &new, false, &mut findings);
        findings.broken.is_empty()
    }

    #[test]
    fn clocks_of_several_machines_may_differ_by_some_seconds() {
        let admitted = |clocks, all: [i64; 4]| all.map(|seconds| is_start_admitted(clocks, seconds));
        assert_eq!(admitted(Clocks::Several, [994, 995, 1007, 1008]), [false, true, true, false]);
        assert_eq!(admitted(Clocks::One, [999, 1000, 1002, 1003]), [false, true, true, false]);
    }

    #[test]
    fn a_resumption_may_seem_earlier_only_if_both_times_do() {
        let suspended = |status, start, transition| {
            let mut new = JobStatus { start_time: start, ..JobStatus::default() };
            new.conditions.push(crate::job::Condition {
                kind: ConditionKind::Suspended,
                status,
                reason: "".into(),
                message: "".into(),
                last_transition_time: Some(Time(transition)),
            });
            new
        };
        let old = suspended(ConditionStatus::True, None, 900);
        let judged = |start, transition| {
            let new = suspended(ConditionStatus::False, Some(Time(start)), transition);
            let mut findings = Findings::default();
            judge_resumption_time(&old, &new, Some(Time(1000)), &mut findings);
            findings.broken.is_empty()
        };
        assert!(judged(996, 996) && !judged(994, 994) && !judged(996, 1000));
    }
}
