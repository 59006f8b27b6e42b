//! Deletion of pods: the view shows a cause, and the right pod is chosen.
//!
//! | question about a DELETE of a pod | requirements | decided by |
//! | --- | --- | --- |
//! | Is the pod active? | FT-32 | a view |
//! | Is there a cause: a decided or suspended Job, a surplus, or a bad index? | PC-04, PC-05, PC-06, FT-17, SU-01, BI-16 | a view |
//! | Is the Job not being deleted? | FT-19 | a view |
//! | Was the finalizer removed before, if the pod must not be counted? | FT-16 | a view |
//! | Is the pod one of the first in the order of deletion? | PC-09 | a view |
//! | Is the pod counted by the sync that deletes it? | FT-15 | the truth |
//! | Does a pod that may run keep its grace period? | RP-12 | the request |

use std::cmp::Ordering;

use crate::catalogue::Req;
use crate::guards::creation::want_active;
use crate::guards::decision::{Holds, Reason, Tally, decide, holds};
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;
use crate::words::described;

/// RP-12: a Job leaves its pods their grace period. The object of a pod that is deleted by force is gone at once, and the pod
/// may run beside its replacement.
pub fn judge_force(pod: &Pod, findings: &mut Findings) {
    let runs = pod.scheduled && !pod.is_terminated();
    if runs {
        let what = "deletion of a pod that may run";
        findings.require(Req::RP12, false, what, "with its grace period", "by force");
    }
}

/// FT-15: a sync that decides the success of the Job counts none of the pods that it deletes itself. They terminate behind its back.
///
/// The explorer's syncs read their caches before they delete, so that it does not ask.
pub fn judge_count_of_own_deletion(pod: &Pod, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.failed";
    let expected = "no pod that this sync has deleted, because the Job succeeds";
    findings.require(Req::FT15, false, what, expected, Operand::lazy(|| described(pod)));
}

/// The causes for the deletion of an active pod in a view. Without a cause the pod must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes {
    /// The Job is decided, or a reason to finish holds; [`Holds::Maybe`] if that depends on the clock (FT-17).
    pub finishing: Holds,
    /// The Job is suspended (FT-16).
    pub suspended: bool,
    /// There are more pods than wanted (PC-04).
    pub surplus: bool,
    /// The index is invalid, or another pod keeps it (PC-06).
    pub bad_index: bool,
}

impl Causes {
    /// The causes for the deletion of this active pod.
    ///
    /// `chosen_before` is true if an earlier sync has chosen the pod ([`judge_deletion`]).
    #[must_use]
    pub fn of(view: &View<'_>, pod: &Pod, chosen_before: bool) -> Causes {
        let tally = Tally::of(view);
        let finishing = match () {
            () if view.job.status.is_decided() || decide(view, &tally).is_some() => Holds::Yes,
            () => holds(Reason::DeadlineExceeded, view, &tally),
        };
        // A sync manages pods only if the cache shows all pods that were created (PC-27).
        let managed = finishing != Holds::Yes && !view.job.deleting && view.expectations_met;
        let suspended = managed && view.spec().is_suspended();
        let running = managed && !suspended;
        Causes {
            finishing,
            suspended,
            surplus: running && surplus(view, &tally) > 0,
            bad_index: running && view.spec().is_indexed() && has_bad_index(view, pod, chosen_before),
        }
    }

    /// Returns whether the pod is deleted without being counted, so that its finalizer is removed before (FT-16).
    #[must_use]
    pub fn uncounted(self) -> bool {
        self.suspended || self.surplus || self.bad_index
    }
}

/// The number of active pods that exceed the wanted number (PC-04).
///
/// For an Indexed Job, only one pod of each valid index counts. Others are deleted because of their index (PC-06).
#[must_use]
pub fn surplus(view: &View<'_>, tally: &Tally) -> i64 {
    let active = if view.spec().is_indexed() { held_indexes(view) } else { view.post.sums().active };
    i64::from(active) - want_active(view, tally)
}

/// The number of valid indexes that have an active pod (PC-06).
fn held_indexes(view: &View<'_>) -> u32 {
    let completions = view.spec().completion_count().unwrap_or(0);
    let held = view.post.indexes_in_use().filter(|(index, used)| *index < completions && used.active > 0);
    u32::try_from(held.count()).unwrap_or(u32::MAX)
}

/// Judges the DELETE of a pod by an executor. `pod` is the pod as etcd held it.
///
/// `chosen_before` is true if an earlier sync has removed the finalizer for this deletion. PC-06 and PC-09 were judged
/// then. The pod is deleted before any other, because it will not be counted (FT-16, S-11).
pub fn judge_deletion(view: &View<'_>, pod: &Pod, chosen_before: bool, findings: &mut Findings) {
    let what = "deletion of a pod";
    let Some(seen) = view.post.get(pod.uid) else {
        let found = format!("{:?}, which its cache does not show", pod.uid);
        findings.require(Req::FT32, false, what, "a pod that the controller has seen", found);
        return;
    };
    let found = Operand::lazy(|| described(seen));
    if !findings.require(Req::FT32, !seen.is_terminated(), what, "an active pod", found) {
        return;
    }
    let causes = Causes::of(view, seen, chosen_before);
    let fails_alone = || view.failed_indexes(&view.completed()).is_some_and(|failed| !failed.is_empty());
    let req = match () {
        () if view.job.deleting => Req::FT19,
        // BI-16: a failed index is no cause to delete the pod of another index.
        () if view.spec().is_indexed() && fails_alone() => Req::BI16,
        () if view.spec().completions.is_none() => Req::PC05,
        () => Req::PC04,
    };
    let wanted = causes.finishing == Holds::No && !causes.uncounted();
    let expected = "a decided or suspended Job, a surplus pod, or a pod with a bad index";
    if !findings.require(req, !wanted, what, expected, "a pod that the Job needs") {
        return;
    }
    if causes.finishing == Holds::No {
        let what = "tracking finalizer at the DELETE of a pod";
        findings.require(Req::FT16, !seen.finalizer, what, "removed before the DELETE", "present");
    } else {
        findings.premise(Req::FT17);
    }
    if causes.surplus && !causes.bad_index && causes.finishing == Holds::No && !chosen_before {
        judge_preference(view, seen, findings);
    }
}

/// Returns whether the index of an active pod is bad: it is invalid, or another active pod keeps it (PC-06).
///
/// The pod that keeps the index is the last one in the order of PC-09. If pods tie, a pod that still has its finalizer
/// keeps it. A pod that was `chosen_before` is deleted even if the order has changed since.
#[must_use]
pub fn has_bad_index(view: &View<'_>, pod: &Pod, chosen_before: bool) -> bool {
    let Some(index) = pod.valid_index(view.spec().completion_count()) else { return true };
    let keeps = |other: &Pod| match rank(other).cmp(&rank(pod)) {
        Ordering::Less => chosen_before,
        Ordering::Equal => other.finalizer,
        Ordering::Greater => true,
    };
    let same = |other: &&Pod| other.uid != pod.uid && other.is_active() && other.index == Some(index);
    view.post.index_use(index).active > 1 && view.post.iter().filter(same).any(keeps)
}

/// PC-09: the pod is one of the first in the order of deletion, among the active pods with a good index.
///
/// The order does not consider completed indexes. A pod of a completed index may stay, and a pod of another index may
/// be deleted and then created again.
fn judge_preference(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    let surplus = surplus(view, &Tally::of(view));
    let indexed = view.spec().is_indexed();
    let before = view
        .post
        .iter()
        .filter(|other| other.uid != pod.uid && other.is_active() && rank(other) < rank(pod))
        .filter(|other| !indexed || !has_bad_index(view, other, false))
        .count();
    findings.require(
        Req::PC09,
        i64::try_from(before).is_ok_and(|before| before < surplus.max(1)),
        "pod chosen for deletion",
        Operand::lazy(|| format!("one of the first {surplus} in the order of PC-09")),
        Operand::lazy(|| format!("one with {before} active pods before it")),
    );
}

/// The position of a pod in the order of PC-09: the pod with the smallest rank is deleted first.
type Rank = (bool, u8, bool, std::cmp::Reverse<Time>, std::cmp::Reverse<u32>, std::cmp::Reverse<Time>);

fn rank(pod: &Pod) -> Rank {
    use std::cmp::Reverse;
    let phase = match pod.phase {
        Phase::Pending => 0,
        Phase::Unknown => 1,
        Phase::Running | Phase::Succeeded | Phase::Failed => 2,
    };
    // The most recently ready pod is deleted first. The time matters only if the pod is ready.
    let ready_since = if pod.ready { pod.ready_changed.unwrap_or(Time(i64::MAX)) } else { Time(0) };
    (pod.scheduled, phase, pod.ready, Reverse(ready_since), Reverse(pod.max_restarts), Reverse(pod.created))
}
