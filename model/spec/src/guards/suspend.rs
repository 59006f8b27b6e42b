//! `startTime` and the Suspended condition (SU-01 … SU-05, SU-14).

use crate::catalogue::Req;
use crate::job::{ConditionKind, ConditionStatus, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;

/// Judges suspension in a status write of an executor.
pub fn judge_suspend(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    let was = suspended(&view.job.status);
    let is = suspended(new);
    let ending = view.job.deleting || view.job.status.is_decided() || new.is_decided();
    if ending || !view.expectations_met {
        let what = if ending {
            "condition Suspended of a Job that ends"
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

/// Whether the sync got as far as the Suspended condition: it does so only after managing pods (SU-05), and
/// never once the Job ends (SU-06).
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
        let expected = "True, or as it was";
        findings.require(Req::SU01, set || is == was, "condition Suspended", expected, status_text(is));
    }
    let pauses = set && was != Some(ConditionStatus::True);
    if pauses && !view.deletes_failed {
        // SU-05: the sync has managed pods, and those of a suspended Job go.
        let left = i64::from(view.post.sums().active);
        findings.equal(Req::SU01, "active pods that the suspended Job is left", 0, left);
    }
    if pauses {
        judge_start_of_suspended(view, new, was, findings);
    } else if new.start_time != view.job.status.start_time {
        // The interim write of a suspended Job may set it (S-04); nothing else moves it.
        let sets = new.is_decided() && view.job.status.start_time.is_none();
        let req = if new.is_decided() { Req::SU04 } else { Req::SU02 };
        findings.require(req, sets, "startTime", time_text(&view.job.status), time_text(new));
    }
}

/// The write that suspends a Job takes its startTime away; before 1.36 it may leave it to the resumption.
fn judge_start_of_suspended(
    view: &View<'_>,
    new: &JobStatus,
    was: Option<ConditionStatus>,
    findings: &mut Findings,
) {
    let old = view.job.status.start_time;
    let req = if was.is_none() && old.is_none() { Req::SU03 } else { Req::SU02 };
    let may_keep = view.constants.may_keep_start_time;
    let expected =
        if may_keep { "none, or as it was: the Job is suspended" } else { "none: the Job is suspended" };
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
            "False: the Job is resumed",
            status_text(is),
        );
    } else if was != Some(ConditionStatus::True) {
        findings.require(Req::SU04, is == was, "condition Suspended", status_text(was), status_text(is));
    } else {
        let kept = is == was || is == Some(ConditionStatus::False);
        findings.require(Req::SU04, kept, "condition Suspended", "False, or as it was", status_text(is));
    }
    let resumed = was == Some(ConditionStatus::True) && is == Some(ConditionStatus::False);
    judge_start_time(view, new, resumed, findings);
}

/// A Job that is not suspended has a startTime from its first status write on; a resumed one a new one.
fn judge_start_time(view: &View<'_>, new: &JobStatus, resumed: bool, findings: &mut Findings) {
    let old = view.job.status.start_time;
    let Some(start) = new.start_time else {
        findings.require(Req::SU04, false, "startTime", "set: the Job is not suspended", "none");
        return;
    };
    if let (Some(old), false) = (old, resumed) {
        // SU-07, SS-09: nothing but a resumption moves it.
        findings.equal(Req::SU04, "startTime", old, start);
        return;
    }
    findings.require(
        Req::SU04,
        start >= view.job.created && view.latest.is_none_or(|latest| start <= latest),
        "startTime",
        between(view.job.created, view.latest),
        start,
    );
    // Both are taken from one clock in one sync.
    let transition =
        new.condition(&ConditionKind::Suspended).and_then(|condition| condition.last_transition_time);
    if let (true, Some(transition)) = (resumed, transition) {
        findings.require(Req::SU04, start.plus(1) >= transition, "startTime", transition, start);
    }
    if let (true, Some(old)) = (resumed, old) {
        findings.require(Req::SU04, start >= old, "startTime", "the instant of resuming", start);
    }
}

/// SU-04: a resumption sets startTime to now. The sync that resumes has read the stored Job, so that its now is
/// not before `since`, the instant at which that version was written.
///
/// The two instants are of two clocks, and startTime is cut to the second: where it is as late as the condition's
/// own time, which the same clock gave, it may be a second early.
pub fn judge_resumption_time(old: &JobStatus, new: &JobStatus, since: Option<Time>, findings: &mut Findings) {
    let resumed =
        suspended(old) == Some(ConditionStatus::True) && suspended(new) == Some(ConditionStatus::False);
    let (true, Some(since), Some(start)) = (resumed, since, new.start_time) else { return };
    let transition =
        new.condition(&ConditionKind::Suspended).and_then(|condition| condition.last_transition_time);
    let as_late = transition.is_none_or(|transition| start >= transition);
    let earliest = if as_late { since.plus(-1) } else { since };
    let expected = Operand::Text(format!("the instant of resuming, {since} or later"));
    findings.require(Req::SU04, start >= earliest, "startTime", expected, start);
}

fn between(from: Time, to: Option<Time>) -> Operand {
    Operand::Text(match to {
        Some(to) => format!("between {from} and {to}"),
        None => format!("{from} or later"),
    })
}

/// TC-02: reason and message of the Suspended condition.
fn judge_texts(new: &JobStatus, is: Option<ConditionStatus>, findings: &mut Findings) {
    let Some(condition) = new.condition(&ConditionKind::Suspended) else { return };
    let (reason, message) = match is {
        Some(ConditionStatus::True) => ("JobSuspended", "Job suspended"),
        Some(ConditionStatus::False | ConditionStatus::Unknown) | None => ("JobResumed", "Job resumed"),
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
    }
}

fn time_text(status: &JobStatus) -> Operand {
    status.start_time.map_or(Operand::Words("none"), Operand::Time)
}
