//! Removing the tracking finalizer (FT-03, FT-09, FT-11, FT-14, FT-15, FT-16, FT-19 … FT-21, BI-15, MB-04).

use crate::catalogue::Req;
use crate::guards::decision::Holds;
use crate::guards::deletion::Causes;
use crate::job::{ConditionKind, Job};
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Said};
use crate::uid::Uid;
use crate::view::View;

/// Why a finalizer may go, by what etcd holds alone.
///
/// `stored` is the Job as etcd holds it, `None` once it is gone; `counted` tells whether the UID is in a
/// counter.
#[must_use]
pub fn may_release_by_truth(stored: Option<&Job>, pod: &Pod, counted: &dyn Fn(Uid) -> bool) -> bool {
    // FT-20, FT-21: nothing is counted any more.
    let Some(job) = stored else { return true };
    let status = &job.status;
    if status.is_finished() || status.lists(pod.uid) || counted(pod.uid) {
        return true;
    }
    let completions = job.spec.completion_count();
    match (pod.phase, job.spec.is_indexed()) {
        // FT-07: the stored index is the record.
        (Phase::Succeeded, true) => {
            // S-02: a success of an index that has failed counts nowhere.
            let known = |index| {
                status.completed(completions).contains(index)
                    || status.failed_set(completions).contains(index)
            };
            pod.valid_index(completions).is_none_or(known)
        }
        // FT-09: an invalid index is neither counted nor waited for.
        (Phase::Failed, true) => pod.valid_index(completions).is_none() || pod.is_ignored(),
        (Phase::Failed, false) => pod.is_ignored(),
        (Phase::Succeeded, false) | (Phase::Pending | Phase::Running | Phase::Unknown, _) => false,
    }
}

/// Judges the removal of a finalizer by an executor where [`may_release_by_truth`] finds no reason: it must
/// then be a removal that precedes a deletion, by some view (FT-16), or the Job is being deleted (FT-19).
pub fn judge_release(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    if view.job.deleting {
        findings.premise(Req::FT19);
        return;
    }
    let what = "removal of the tracking finalizer";
    let (Some(read), Some(seen)) = (view.cache.get(pod.uid), view.post.get(pod.uid)) else {
        findings.require(Req::FT03, false, what, "a pod that the controller has seen", pod.uid);
        return;
    };
    let misplaced = view.spec().is_indexed() && read.valid_index(view.spec().completion_count()).is_none();
    let doomed = view.job.status.is_true(&ConditionKind::FailureTarget);
    if misplaced && (doomed || read.is_terminated()) {
        // FT-09, by the completions that the sync read: the Job may have been scaled since.
        findings.premise(Req::FT09);
        return;
    }
    if doomed && !read.is_terminated() {
        // FT-15: a Job that fails records its living pods.
        findings.require(
            Req::FT15,
            false,
            what,
            "a pod that is recorded as failed: the Job fails",
            said(read),
        );
        return;
    }
    if read.is_terminated() || view.has_failed(read) {
        let per_index = view.spec().backoff_limit_per_index.is_some() && read.phase == Phase::Failed;
        let req = if per_index { Req::BI15 } else { Req::FT03 };
        findings.require(req, false, what, "a pod whose end is stored in the status", said(read));
        return;
    }
    if view.job.status.is_true(&ConditionKind::SuccessCriteriaMet) {
        // FT-15: a Job that ends well leaves its living pods uncounted.
        findings.premise(Req::FT15);
        return;
    }
    let causes = Causes::of(view, seen);
    // FT-17: a finishing Job deletes its active pods with the finalizer in place.
    let early = causes.finishing == Holds::Yes && !seen.deleting;
    let req = if early { Req::FT17 } else { Req::FT14 };
    findings.require(
        req,
        causes.uncounted(),
        what,
        "a pod that has ended, or that is deleted next",
        said(seen),
    );
}

fn said(pod: &Pod) -> Said {
    Said::Text(format!("{:?} in phase {:?}", pod.uid, pod.phase))
}
