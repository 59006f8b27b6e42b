//! What an attempted status write must keep although no stored one can break it: the API server refuses it.
//!
//! The guards of [`crate::guards`] judge recorded writes, where the server's rules have had their say already.
//! A specification of attempts has to demand these for itself, or a controller could retry a refused write for
//! ever.

use crate::catalogue::Req;
use crate::guards::counting::has_true;
use crate::job::{ConditionKind, ConditionStatus, JobSpec, JobStatus};
use crate::requirement::{Findings, Said};

/// Judges an attempt by the two states of the status.
pub fn judge_attempt(spec: &JobSpec, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    judge_decision(old, new, findings);
    judge_end(old, new, findings);
    judge_start_time(spec, old, new, findings);
}

/// The part that reads nothing but conditions, and the completion time.
pub fn judge_decision(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    judge_decision_stays(old, new, findings);
    judge_completion_time(old, new, findings);
}

/// TC-06: the two interim conditions exclude each other and stay.
fn judge_decision_stays(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let (good, bad) = (ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget);
    for kind in [&good, &bad] {
        let stays = !has_true(old, kind) || has_true(new, kind);
        findings.require(Req::TC06, stays, "interim condition", kind.as_str().to_owned(), "taken back");
    }
    let both = has_true(new, &good) && has_true(new, &bad);
    findings.require(Req::TC06, !both, "interim conditions", "one of the two", "both");
}

/// TC-05: set with Complete, never otherwise and never changed.
fn judge_completion_time(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let complete = has_true(new, &ConditionKind::Complete);
    let found = || new.completion_time.map_or(Said::Words("none"), Said::Time);
    let fits = new.completion_time.is_some() == complete;
    let expected = if complete { "set with Complete" } else { "none without Complete" };
    findings.require(Req::TC05, fits, "completionTime", expected, found());
    if let Some(time) = old.completion_time {
        findings.require(Req::TC05, new.completion_time == Some(time), "completionTime", time, found());
    }
}

/// TC-04: nothing is left to count, and by the write's own numbers nothing runs or terminates.
fn judge_end(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    if old.is_finished() || !new.is_finished() {
        return;
    }
    let listed = new.uncounted_succeeded().len() + new.uncounted_failed().len();
    findings.equal(Req::TC04, "uncounted pods of a finished Job", 0, listed);
    findings.equal(Req::TC04, "active of a finished Job", 0, new.active);
    findings.equal(Req::TC04, "terminating of a finished Job", 0, new.terminating.unwrap_or(0));
}

/// SU-04: `startTime` moves with a suspension and its end, and no more once the Job is decided.
fn judge_start_time(spec: &JobSpec, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let suspended = |status: &JobStatus| status.condition(&ConditionKind::Suspended).map(|it| it.status);
    let Some(start) = old.start_time else { return };
    let resumed =
        suspended(old) == Some(ConditionStatus::True) && suspended(new) == Some(ConditionStatus::False);
    let may_move = !new.is_decided() && (spec.is_suspended() || resumed);
    let found = new.start_time.map_or(Said::Words("none"), Said::Time);
    findings.require(Req::SU04, may_move || new.start_time == Some(start), "startTime", start, found);
}
