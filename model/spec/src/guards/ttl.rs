//! Deletion of finished Jobs by the TTL-after-finished controller (KEP-592).
//!
//! | question about a DELETE of a Job | requirements | decided by |
//! | --- | --- | --- |
//! | Is the Job finished, with `ttlSecondsAfterFinished`, and not being deleted? | TT-01, TT-09, TT-13 | the stored Job, or a version that the controller may have read |
//! | Has the TTL passed since the Job finished? | TT-02, TT-03, TT-08, TT-10 | a version that the controller may have read |
//! | Is the request a foreground deletion with the UID as a precondition? | TT-06 | the request |
//!
//! Any other write of a Job breaks TT-11 ([`judge_ttl_write`]). The TTL controllers of the explorer send nothing but
//! DELETE.

use crate::catalogue::Req;
use crate::guards::diagnosis;
use crate::job::{ConditionKind, ConditionStatus, Job, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::uid::Uid;

/// The request of a DELETE of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDeletion {
    /// `propagationPolicy` in the request.
    pub propagation: Option<String>,
    /// `preconditions.uid` in the request.
    pub uid_precondition: Option<Uid>,
    /// True if the trace shows the body of the request.
    pub request_known: bool,
    /// The latest time at which the request was sent, if it is known.
    pub latest: Option<Time>,
}

/// The finish time of a Job, from which the TTL runs: `lastTransitionTime` of the first terminal condition that is True
/// (TT-02).
#[must_use]
pub fn finish_time(status: &JobStatus) -> Option<Time> {
    status
        .conditions
        .iter()
        .find(|condition| {
            matches!(condition.kind, ConditionKind::Complete | ConditionKind::Failed)
                && condition.status == ConditionStatus::True
        })
        .and_then(|condition| condition.last_transition_time)
}

/// The time at which a Job expires (TT-03); `None` if it is not finished or has no `ttlSecondsAfterFinished` (TT-01).
#[must_use]
pub fn expiry(job: &Job) -> Option<Time> {
    let ttl = job.spec.ttl_seconds_after_finished?;
    Some(finish_time(&job.status)?.plus(i64::from(ttl)))
}

/// Judges a DELETE by the TTL controller.
///
/// `readable` are the versions of the Job that the controller may have read in its live GET before the DELETE (TT-06).
/// The stored version is the last one. One of the versions must be finished and expired. The controller cannot know of
/// a deletion by another actor in between.
pub fn judge_ttl_deletion(readable: &[&Job], deletion: &JobDeletion, findings: &mut Findings) {
    let Some(stored) = readable.last() else { return };
    let what = "Job that the TTL controller deletes";
    findings.require(Req::TT13, stored.status.is_finished(), what, "a finished Job", "an unfinished Job");
    let live = readable.iter().any(|job| !job.deleting);
    let (expected, found) = ("a Job that is not being deleted", "a Job that is being deleted already");
    findings.require(Req::TT09, live, what, expected, found);
    if stored.status.is_finished() {
        let has_ttl = readable.iter().any(|job| job.spec.ttl_seconds_after_finished.is_some());
        let (expected, found) = ("a Job with ttlSecondsAfterFinished", "a Job without it");
        findings.require(Req::TT01, has_ttl, what, expected, found);
        judge_expiry(readable, deletion, findings);
    }
    judge_request(stored, deletion, findings);
}

/// TT-11: the TTL controller writes no pods.
pub fn judge_ttl_write_of_pod(findings: &mut Findings) {
    findings.require(Req::TT11, false, "write of a pod", "none by the TTL controller", "a write");
}

/// TT-11: the TTL controller deletes Jobs and writes none. `deletes` is true for a DELETE.
pub fn judge_ttl_write(deletes: bool, findings: &mut Findings) {
    if !deletes {
        findings.require(Req::TT11, false, "write of a Job", "none by the TTL controller", "a write");
    }
}

/// TT-02, TT-03: the DELETE is not earlier than the expiry of some version that the controller may have read.
fn judge_expiry(readable: &[&Job], deletion: &JobDeletion, findings: &mut Findings) {
    let earliest = readable.iter().filter_map(|job| expiry(job)).min();
    let unknown = readable.iter().all(|job| finish_time(&job.status).is_none());
    let expected = "lastTransitionTime of the terminal condition";
    findings.require(Req::TT02, !unknown, "finish time of the deleted Job", expected, "none");
    if let (Some(expiry), Some(latest)) = (earliest, deletion.latest) {
        let rule = Req::TT03.diagnosed_by(|| diagnosis::of_early_deletion(readable, latest));
        findings.require(
            rule,
            latest >= expiry,
            "time of the DELETE, no earlier than the expiry",
            expiry,
            latest,
        );
    }
}

/// TT-06: the deletion is in the foreground, with the UID of the Job as a precondition.
fn judge_request(stored: &Job, deletion: &JobDeletion, findings: &mut Findings) {
    if !deletion.request_known {
        return;
    }
    let found = deletion.propagation.clone().unwrap_or_else(|| "none".to_owned());
    findings.equal(Req::TT06, "propagationPolicy", "Foreground".to_owned(), found);
    let found = deletion.uid_precondition.map_or(Operand::Words("none"), Operand::Uid);
    let fits = deletion.uid_precondition == Some(stored.uid);
    findings.require(Req::TT06, fits, "preconditions.uid", stored.uid, found);
}
