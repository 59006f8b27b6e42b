//! Deleting pods (FT-16, FT-17, FT-19, FT-32, PC-04, PC-05, PC-06, PC-09, SU-01, TC-07).

use crate::catalogue::Req;
use crate::guards::creation::want_active;
use crate::guards::decision::{Tally, decide};
use crate::indexes::Index;
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Said};
use crate::time::Time;
use crate::view::View;

/// Why a controller deletes an active pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The Job's fate is decided (FT-17).
    Finishing,
    /// The Job is suspended (FT-16).
    Suspended,
    /// More pods than wanted (PC-04).
    Surplus,
    /// The index is invalid or held by another pod (PC-06).
    BadIndex,
}

/// Why a view allows to delete this active pod; `None` where it does not.
#[must_use]
pub fn cause(view: &View<'_>, pod: &Pod) -> Option<Cause> {
    let tally = Tally::of(view);
    if view.job.status.is_decided() || decide(view, &tally).is_some() || may_be_past_deadline(view, &tally) {
        return Some(Cause::Finishing);
    }
    if view.job.deleting {
        return None;
    }
    if view.spec().is_suspended() {
        return Some(Cause::Suspended);
    }
    if view.spec().is_indexed() && has_bad_index(view, pod) {
        return Some(Cause::BadIndex);
    }
    (i64::from(view.post.sums().active) > want_active(view, &tally)).then_some(Cause::Surplus)
}

fn may_be_past_deadline(view: &View<'_>, tally: &Tally) -> bool {
    use crate::guards::decision::{Holds, Reason, holds};
    holds(Reason::DeadlineExceeded, view, tally) != Holds::No
}

/// Judges a DELETE of a pod by an executor. `pod` is the pod as etcd held it, `None` where it was gone.
pub fn judge_deletion(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    let Some(seen) = view.post.get(pod.uid) else {
        findings.require(Req::FT32, false, "deletion of a pod", "a pod that the controller has seen", pod.uid);
        return;
    };
    let terminated = seen.is_terminated();
    if !findings.require(Req::FT32, !terminated, "deletion of a pod", "an active pod", "a finished pod") {
        return;
    }
    let cause = cause(view, seen);
    let req = match () {
        () if view.job.deleting => Req::FT19,
        () if view.spec().completions.is_none() => Req::PC05,
        () => Req::PC04,
    };
    let expected = "a reason: decided, suspended, surplus, or a bad index";
    if !findings.require(req, cause.is_some(), "deletion of a pod", expected, "a pod that is wanted") {
        return;
    }
    match cause {
        Some(Cause::Finishing) => findings.premise(Req::FT17),
        Some(Cause::Suspended | Cause::Surplus | Cause::BadIndex) => {
            let what = "tracking finalizer at the DELETE of a pod";
            findings.require(Req::FT16, !seen.finalizer, what, "removed before the DELETE", "present");
        }
        None => {}
    }
    if cause == Some(Cause::Surplus) {
        judge_preference(view, seen, findings);
    }
}

fn has_bad_index(view: &View<'_>, pod: &Pod) -> bool {
    match pod.valid_index(view.spec().completion_count()) {
        None => true,
        Some(index) => view.post.index_use(index).active > 1,
    }
}

/// PC-09: fewer kept pods come before this one than there are pods to delete.
fn judge_preference(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    let surplus = i64::from(view.post.sums().active) - want_active(view, &Tally::of(view));
    let before = view
        .post
        .iter()
        .filter(|other| other.uid != pod.uid && other.is_active() && rank(other) < rank(pod))
        .count();
    findings.require(
        Req::PC09,
        i64::try_from(before).is_ok_and(|before| before < surplus.max(1)),
        "the pod chosen for deletion",
        Said::Text(format!("one of the first {surplus} in the order of PC-09")),
        Said::Text(format!("{before} active pods come before it")),
    );
}

/// The order of PC-09; the first is deleted first.
type Rank = (bool, u8, bool, std::cmp::Reverse<Time>, std::cmp::Reverse<u32>, std::cmp::Reverse<Time>);

fn rank(pod: &Pod) -> Rank {
    use std::cmp::Reverse;
    let phase = match pod.phase {
        Phase::Pending => 0,
        Phase::Unknown => 1,
        Phase::Running | Phase::Succeeded | Phase::Failed => 2,
    };
    // The most recently ready goes first; the time counts only where the pod is ready.
    let ready_since = if pod.ready { pod.ready_changed.unwrap_or(Time(i64::MAX)) } else { Time(0) };
    (pod.scheduled, phase, pod.ready, Reverse(ready_since), Reverse(pod.max_restarts), Reverse(pod.created))
}

/// Indexes that have more than one active pod, lowest first (PC-06).
pub fn duplicated_indexes<'a>(view: &View<'a>) -> impl Iterator<Item = Index> + 'a {
    view.post.indexes_in_use().filter(|(_, used)| used.active > 1).map(|(index, _)| index)
}
