//! Removal of the tracking finalizer: the pod must be recorded, or must not be counted.
//!
//! | question about a finalizer removal | requirements | decided by |
//! | --- | --- | --- |
//! | Is the Job gone or finished, or the pod recorded or counted? Then the finalizer may be removed. | FT-20, FT-21, FT-07, FT-09 | the truth |
//! | If not: does the pod need no record, by what the controller had read? | FT-03, FT-09, FT-14, FT-15, FT-16, FT-17, FT-19, BI-08, BI-15 | a view |
//! | Is FailureTarget stored before the finalizer of a pod that matches a FailJob rule is removed? | PF-09, S-03 | the truth |

use crate::catalogue::Req;
use crate::guards::counting::delays_finalizer_removal;
use crate::guards::decision::{Holds, Tally};
use crate::guards::deletion::{Causes, has_bad_index, surplus};
use crate::job::{ConditionKind, Job};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::requirement::{Findings, Operand};
use crate::uid::Uid;
use crate::view::View;
use crate::words::described;

/// The write that the guards compare.
pub const WHAT: &str = "removal of the tracking finalizer";

/// Returns whether what etcd holds is reason enough to remove the finalizer of a pod (FT-03).
///
/// `stored` is the Job in etcd, `None` once it is gone. `counted` returns whether a pod was counted.
#[must_use]
pub fn may_remove_finalizer_by_truth(stored: Option<&Job>, pod: &Pod, counted: &dyn Fn(Uid) -> bool) -> bool {
    // FT-20, FT-21: the Job is gone, and its pods are not counted any more.
    let Some(job) = stored else { return true };
    let status = &job.status;
    if status.is_finished() || status.is_recorded(pod.uid) || counted(pod.uid) {
        return true;
    }
    let completions = job.spec.completion_count();
    match (pod.phase, job.spec.is_indexed()) {
        // FT-07: the stored index is the record of a success.
        (Phase::Succeeded, true) => {
            // S-02: the success of an index that has failed counts nowhere.
            let known = |index| {
                status.completed(completions).contains(index)
                    || status.failed_set(completions).contains(index)
            };
            pod.valid_index(completions).is_none_or(known)
        }
        // FT-09: a pod with an invalid index is not counted, and nothing waits for it.
        (Phase::Failed, true) => {
            let waits = job.spec.backoff_limit_per_index.is_some();
            pod.valid_index(completions).is_none() || (pod.is_ignored() && !waits)
        }
        (Phase::Failed, false) => pod.is_ignored(),
        (Phase::Succeeded, false) | (Phase::Pending | Phase::Running | Phase::Unknown, _) => false,
    }
}

/// The situation in which a finalizer is removed although etcd holds no record of the pod, by what the controller had
/// read.
enum Situation<'v> {
    /// The Job is being deleted.
    JobDeleted,
    /// The controller has not seen the pod.
    Unseen,
    /// The pod has no valid index and needs no record.
    NoIndex,
    /// The Job fails, and the pod has not terminated.
    JobFails(&'v Pod),
    /// An Ignore rule matches the failed pod, and the Job has limits per index.
    Ignored(&'v Pod),
    /// The index of the succeeded pod is stored as completed.
    IndexStored,
    /// The pod has terminated, and the status does not record it.
    Unrecorded(&'v Pod),
    /// The Job succeeds, and the pod has not terminated.
    JobSucceeds,
    /// The pod has not terminated, and may be chosen for a deletion that follows.
    Chosen(&'v Pod),
}

impl<'v> Situation<'v> {
    /// The first situation that applies.
    fn of(view: &View<'v>, pod: &Pod) -> Situation<'v> {
        if view.job.deleting {
            return Situation::JobDeleted;
        }
        let (Some(read), Some(seen)) = (view.cache.get(pod.uid), view.post.get(pod.uid)) else {
            return Situation::Unseen;
        };
        // The completions are those that the sync has read, because the Job may have been scaled since.
        let completions = view.spec().completion_count();
        let no_index = view.spec().is_indexed() && read.valid_index(completions).is_none();
        let fails = view.job.status.is_true(&ConditionKind::FailureTarget);
        let terminated = read.is_terminated() || view.has_failed(read);
        let ignored = read.phase == Phase::Failed && read.is_ignored();
        let completed = |index| view.job.status.completed(completions).contains(index);
        let stored = || view.spec().is_indexed() && read.index.is_some_and(completed);
        match () {
            () if no_index && (fails || terminated) => Situation::NoIndex,
            () if fails && !read.is_terminated() => Situation::JobFails(read),
            () if ignored && view.spec().backoff_limit_per_index.is_some() => Situation::Ignored(read),
            () if read.phase == Phase::Succeeded && stored() => Situation::IndexStored,
            () if terminated => Situation::Unrecorded(read),
            () if view.job.status.is_true(&ConditionKind::SuccessCriteriaMet) => Situation::JobSucceeds,
            () => Situation::Chosen(seen),
        }
    }
}

/// Judges a finalizer removal by an executor for which [`may_remove_finalizer_by_truth`] finds no reason.
///
/// The view must show a situation that needs no record. `chosen` returns whether the executor has already removed the
/// finalizer of a pod for a deletion that is still to come.
pub fn judge_finalizer_removal(
    view: &View<'_>,
    pod: &Pod,
    chosen: &dyn Fn(Uid) -> bool,
    findings: &mut Findings,
) {
    match Situation::of(view, pod) {
        Situation::JobDeleted => findings.premise(Req::FT19),
        Situation::NoIndex => findings.premise(Req::FT09),
        // The stored index is the record. It stays even if the kubelet reports a failure later (S-07).
        Situation::IndexStored => findings.premise(Req::FT07),
        // A Job that succeeds does not count its running pods.
        Situation::JobSucceeds => findings.premise(Req::FT15),
        Situation::Unseen => {
            let found = format!("{:?}, which its cache does not show", pod.uid);
            findings.require(Req::FT03, false, WHAT, "a pod that the controller has seen", found);
        }
        Situation::JobFails(read) => {
            let expected = "a pod that is recorded as failed, because the Job fails";
            findings.require(Req::FT15, false, WHAT, expected, described(read));
        }
        Situation::Ignored(read) => {
            // The replacement continues the failure counts of its index, those of ignored failures as well (BI-02).
            let waits =
                !view.job.status.is_decided() && delays_finalizer_removal(view, read, &Tally::of(view));
            let expected = "a pod whose index does not wait for a replacement";
            findings.require(Req::BI08, !waits, WHAT, expected, Operand::lazy(|| described(read)));
        }
        Situation::Unrecorded(read) => {
            let per_index = view.spec().backoff_limit_per_index.is_some() && read.phase == Phase::Failed;
            let req = if per_index { Req::BI15 } else { Req::FT03 };
            let expected = "a pod that is recorded in the stored status";
            let found = format!("{}, which is not recorded there", described(read));
            findings.require(req, false, WHAT, expected, found);
        }
        Situation::Chosen(seen) => judge_chosen(view, seen, chosen, findings),
    }
}

/// FT-14, FT-16: a pod that has not terminated loses its finalizer only if it is deleted next, without being counted.
fn judge_chosen(view: &View<'_>, seen: &Pod, chosen: &dyn Fn(Uid) -> bool, findings: &mut Findings) {
    let causes = Causes::of(view, seen, false);
    // FT-17: a finishing Job deletes its active pods with the finalizer in place.
    let early = causes.finishing == Holds::Yes && !seen.deleting;
    let rule = if early { Req::FT17 } else { Req::FT14 };
    let expected = "a terminated pod, or a pod that is deleted next";
    // Only active pods are chosen. A terminating pod is counted after it has terminated.
    let is_chosen = seen.is_active() && causes.uncounted();
    if findings.require(rule, is_chosen, WHAT, expected, Operand::lazy(|| described(seen)))
        && causes.surplus
        && !causes.suspended
        && !causes.bad_index
    {
        judge_surplus(view, chosen, findings);
    }
}

/// FT-16, PC-04: no pod that the Job needs loses its finalizer, so that fewer pods are chosen already than the surplus.
///
/// After a failed DELETE the next sync chooses again, and the rule does not apply.
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
        "active pods without the tracking finalizer",
        Operand::lazy(|| format!("fewer than the surplus of {surplus}")),
        waiting,
    );
}

/// PF-09, S-03: FailureTarget is stored before the finalizer of a pod that matches a FailJob rule is removed.
///
/// `documented` returns whether the trace shows the pattern of the known deviation S-03, in which Kubernetes 1.36
/// forgets the match.
pub fn judge_fail_job(job: &Job, pod: &Pod, documented: impl FnOnce() -> bool, findings: &mut Findings) {
    if !is_fail_job(pod) || job.deleting {
        return;
    }
    let what = "interim condition before the finalizer removal";
    let expected = "FailureTarget, because the pod matches a FailJob rule";
    findings.premise(Req::PF09);
    if job.status.is_decided() {
        return;
    }
    if documented() {
        findings.deviation(Req::S03, what, expected, "none");
    } else {
        findings.require(Req::PF09, false, what, expected, "none");
    }
}

/// Returns whether a failed pod matches a FailJob rule, so that the Job fails (PF-02).
#[must_use]
pub fn is_fail_job(pod: &Pod) -> bool {
    pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_))
}
