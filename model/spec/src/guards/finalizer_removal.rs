//! Removing the tracking finalizer (FT-03, FT-09, FT-11, FT-14, FT-15, FT-16, FT-19 … FT-21, BI-15, MB-04, PF-09,
//! S-03).

use crate::catalogue::Req;
use crate::guards::counting::delays_finalizer_removal;
use crate::guards::decision::{Holds, Tally};
use crate::guards::deletion::{Causes, has_bad_index, surplus};
use crate::job::{ConditionKind, Job};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::requirement::{Findings, Said};
use crate::uid::Uid;
use crate::view::View;

/// Why a finalizer may go, by what etcd holds alone.
///
/// `stored` is the Job as etcd holds it, `None` once it is gone; `counted` tells whether the UID is in a
/// counter.
#[must_use]
pub fn may_remove_finalizer_by_truth(stored: Option<&Job>, pod: &Pod, counted: &dyn Fn(Uid) -> bool) -> bool {
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
        (Phase::Failed, true) => {
            let waits = job.spec.backoff_limit_per_index.is_some();
            pod.valid_index(completions).is_none() || (pod.is_ignored() && !waits)
        }
        (Phase::Failed, false) => pod.is_ignored(),
        (Phase::Succeeded, false) | (Phase::Pending | Phase::Running | Phase::Unknown, _) => false,
    }
}

/// The ground on which a finalizer is removed before etcd holds a record of the pod, by what the controller had read.
enum Ground<'v> {
    /// The Job is being deleted.
    JobDeleted,
    /// The controller has not seen the pod.
    Unseen,
    /// The pod has no valid index, and nothing waits for it.
    NoIndex,
    /// The Job fails, and the pod lives.
    JobFails(&'v Pod),
    /// The pod's failure is ignored in a Job with limits per index.
    Ignored(&'v Pod),
    /// The pod's index is stored as completed.
    IndexStored,
    /// The pod has terminated, and nothing in the status shows it.
    Unrecorded(&'v Pod),
    /// The Job has succeeded, and the pod lives.
    JobSucceeds,
    /// The pod lives, and is chosen for a deletion that follows.
    Choice(&'v Pod),
}

impl<'v> Ground<'v> {
    /// The first that fits.
    fn of(view: &View<'v>, pod: &Pod) -> Ground<'v> {
        if view.job.deleting {
            return Ground::JobDeleted;
        }
        let (Some(read), Some(seen)) = (view.cache.get(pod.uid), view.post.get(pod.uid)) else {
            return Ground::Unseen;
        };
        // By the completions that the sync has read: the Job may have been scaled since.
        let completions = view.spec().completion_count();
        let no_index = view.spec().is_indexed() && read.valid_index(completions).is_none();
        let fails = view.job.status.is_true(&ConditionKind::FailureTarget);
        let terminated = read.is_terminated() || view.has_failed(read);
        let ignored = read.phase == Phase::Failed && read.is_ignored();
        let completed = |index| view.job.status.completed(completions).contains(index);
        let stored = || view.spec().is_indexed() && read.index.is_some_and(completed);
        match () {
            () if no_index && (fails || terminated) => Ground::NoIndex,
            () if fails && !read.is_terminated() => Ground::JobFails(read),
            () if ignored && view.spec().backoff_limit_per_index.is_some() => Ground::Ignored(read),
            () if read.phase == Phase::Succeeded && stored() => Ground::IndexStored,
            () if terminated => Ground::Unrecorded(read),
            () if view.job.status.is_true(&ConditionKind::SuccessCriteriaMet) => Ground::JobSucceeds,
            () => Ground::Choice(seen),
        }
    }
}

/// Judges the removal of a finalizer by an executor where [`may_remove_finalizer_by_truth`] finds no reason: the view must
/// show one of the grounds that need no record.
///
/// `chosen` returns whether the executor removed this finalizer for a deletion that is still to come.
pub fn judge_finalizer_removal(
    view: &View<'_>,
    pod: &Pod,
    chosen: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    let what = "removal of the tracking finalizer";
    match Ground::of(view, pod) {
        Ground::JobDeleted => findings.premise(Req::FT19),
        Ground::NoIndex => findings.premise(Req::FT09),
        // The stored index is the record. It stays although the kubelet takes the success back (S-07).
        Ground::IndexStored => findings.premise(Req::FT07),
        // A Job that succeeds leaves its running pods uncounted.
        Ground::JobSucceeds => findings.premise(Req::FT15),
        Ground::Unseen => {
            findings.require(Req::FT03, false, what, "a pod that the controller has seen", pod.uid);
        }
        Ground::JobFails(read) => {
            let expected = "a pod that is recorded as failed: the Job fails";
            findings.require(Req::FT15, false, what, expected, Said::later(|| said(read)));
        }
        Ground::Ignored(read) => {
            // The replacement continues the counts of its index, those of ignored failures too (BI-02).
            let waits =
                !view.job.status.is_decided() && delays_finalizer_removal(view, read, &Tally::of(view));
            let expected = "a pod of an index that does not wait for its replacement";
            findings.require(Req::BI08, !waits, what, expected, Said::later(|| said(read)));
        }
        Ground::Unrecorded(read) => {
            let per_index = view.spec().backoff_limit_per_index.is_some() && read.phase == Phase::Failed;
            let req = if per_index { Req::BI15 } else { Req::FT03 };
            findings.require(req, false, what, "a pod whose end is stored in the status", said(read));
        }
        Ground::Choice(seen) => judge_choice(view, seen, chosen, findings),
    }
}

/// FT-14, FT-16: a living pod loses its finalizer only to be deleted next, without being counted.
fn judge_choice(view: &View<'_>, seen: &Pod, chosen: &dyn Fn(Uid) -> bool, findings: &mut Findings) {
    let what = "removal of the tracking finalizer";
    let causes = Causes::of(view, seen, false);
    // FT-17: a finishing Job deletes its active pods with the finalizer in place.
    let early = causes.finishing == Holds::Yes && !seen.deleting;
    let rule = if early { Req::FT17 } else { Req::FT14 };
    let expected = "a pod that has ended, or that is deleted next";
    // Active pods are chosen; one that terminates already is counted once it has terminated.
    let is_choice = seen.is_active() && causes.uncounted();
    if findings.require(rule, is_choice, what, expected, Said::later(|| said(seen)))
        && causes.surplus
        && !causes.suspended
        && !causes.bad_index
    {
        judge_surplus(view, chosen, findings);
    }
}

/// FT-16, PC-04: of the pods that are wanted none loses its finalizer, so that fewer are chosen already than
/// are to go. Where a DELETE failed, the next sync chooses anew.
fn judge_surplus(view: &View<'_>, chosen: &dyn Fn(Uid) -> bool, findings: &mut Findings) {
    if view.deletes_failed {
        return;
    }
    let surplus = surplus(view, &Tally::of(view));
    let indexed = view.spec().is_indexed();
    let waiting = view
        .post
        .iter()
        .filter(|other| other.is_active() && !other.finalizer && chosen(other.uid))
        .filter(|other| !indexed || !has_bad_index(view, other, false))
        .count();
    findings.require(
        Req::FT16,
        i64::try_from(waiting).is_ok_and(|waiting| waiting < surplus),
        "active pods without finalizer",
        Said::later(|| format!("fewer than the surplus of {surplus}")),
        waiting,
    );
}

/// S-03, PF-09: the verdict of a FailJob rule is stored before the pod that it rests on is released.
///
/// `documented` tells whether S-03 has its occasion, the case in which 1.36 is known to forget the verdict.
pub fn judge_fail_job(job: &Job, pod: &Pod, documented: impl FnOnce() -> bool, findings: &mut Findings) {
    if !is_fail_job(pod) || job.deleting {
        return;
    }
    let expected = "FailureTarget stored before the pod that matches a FailJob rule is released";
    findings.premise(Req::PF09);
    if job.status.is_decided() {
        return;
    }
    if documented() {
        findings.deviation(Req::S03, "conditions", expected, "no interim condition");
    } else {
        findings.require(Req::PF09, false, "conditions", expected, "no interim condition");
    }
}

/// Whether a pod is a failure that ends the Job (PF-02).
#[must_use]
pub fn is_fail_job(pod: &Pod) -> bool {
    pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_))
}

fn said(pod: &Pod) -> Said {
    Said::Text(format!("{:?} in phase {:?}", pod.uid, pod.phase))
}
