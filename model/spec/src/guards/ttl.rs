//! The TTL-after-finished controller (KEP-592; TT-01 … TT-06, TT-09, TT-10, TT-13).

use crate::catalogue::Req;
use crate::guards::diagnosis;
use crate::job::{ConditionKind, ConditionStatus, Job, JobStatus};
use crate::requirement::{Findings, Said};
use crate::time::Time;
use crate::uid::Uid;

/// A DELETE of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDeletion {
    /// `propagationPolicy`, as the request gave it.
    pub propagation: Option<String>,
    /// `preconditions.uid`.
    pub uid_precondition: Option<Uid>,
    /// Whether the request body is known.
    pub request_known: bool,
    /// The latest instant at which the request was made.
    pub latest: Option<Time>,
}

/// The instant from which the TTL runs: the transition of the first terminal condition in the list (TT-02).
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

/// When the Job expires; `None` where it is no candidate (TT-01, TT-03).
#[must_use]
pub fn expiry(job: &Job) -> Option<Time> {
    let ttl = job.spec.ttl_seconds_after_finished?;
    Some(finish_time(&job.status)?.plus(i64::from(ttl)))
}

/// Judges a DELETE by the TTL controller against the Jobs that it may have read.
///
/// `readable` are the versions between its live GET and the DELETE (TT-06's window), the stored one last: one
/// of them must be an expired candidate. What others did in between it cannot know: of a Job that somebody deletes
/// meanwhile the DELETE changes nothing.
pub fn judge_ttl_deletion(readable: &[&Job], deletion: &JobDeletion, findings: &mut Findings) {
    let Some(stored) = readable.last() else { return };
    let what = "the Job that is deleted";
    findings.require(Req::TT13, stored.status.is_finished(), what, "a finished Job", "an unfinished Job");
    let live = readable.iter().any(|job| !job.deleting);
    findings.require(Req::TT09, live, what, "a Job that is not being deleted", "one that is");
    if stored.status.is_finished() {
        let has_ttl = readable.iter().any(|job| job.spec.ttl_seconds_after_finished.is_some());
        findings.require(Req::TT01, has_ttl, what, "ttlSecondsAfterFinished", "none");
        judge_expiry(readable, deletion, findings);
    }
    judge_request(stored, deletion, findings);
}

/// TT-03: not before the expiry of any version that it may have read.
fn judge_expiry(readable: &[&Job], deletion: &JobDeletion, findings: &mut Findings) {
    let earliest = readable.iter().filter_map(|job| expiry(job)).min();
    let what = "the instant of the DELETE";
    let unknown = readable.iter().all(|job| finish_time(&job.status).is_none());
    findings.require(Req::TT02, !unknown, what, "a finish time that is not zero", "none");
    if let (Some(expiry), Some(latest)) = (earliest, deletion.latest) {
        let rule = Req::TT03.diagnosed_by(|| diagnosis::of_haste(readable, latest));
        findings.require(rule, latest >= expiry, what, expiry, latest);
    }
}

/// TT-06: foreground, with the UID that was checked as precondition.
fn judge_request(stored: &Job, deletion: &JobDeletion, findings: &mut Findings) {
    if !deletion.request_known {
        return;
    }
    let found = deletion.propagation.clone().unwrap_or_else(|| "none".to_owned());
    findings.equal(Req::TT06, "propagationPolicy", "Foreground".to_owned(), found);
    let found = deletion.uid_precondition.map_or(Said::Words("none"), Said::Uid);
    let fits = deletion.uid_precondition == Some(stored.uid);
    findings.require(Req::TT06, fits, "preconditions.uid", stored.uid, found);
}
