//! Deleting pods (FT-16, FT-17, FT-19, FT-32, PC-04, PC-05, PC-06, PC-09, SU-01, TC-07).

use std::cmp::Ordering;

use crate::catalogue::Req;
use crate::guards::creation::want_active;
use crate::guards::decision::{Holds, Reason, Tally, decide, holds};
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;

/// Why a view allows to delete an active pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes {
    /// The Job's fate is decided; maybe, where that depends on the clock (FT-17).
    pub finishing: Holds,
    /// The Job is suspended (FT-16).
    pub suspended: bool,
    /// There are more pods than wanted (PC-04).
    pub surplus: bool,
    /// The index is invalid or held by another pod (PC-06).
    pub bad_index: bool,
}

impl Causes {
    /// What a view says of this active pod, which an earlier sync may have `chosen_before` ([`judge_deletion`]).
    #[must_use]
    pub fn of(view: &View<'_>, pod: &Pod, chosen_before: bool) -> Causes {
        let tally = Tally::of(view);
        let finishing = match () {
            () if view.job.status.is_decided() || decide(view, &tally).is_some() => Holds::Yes,
            () => holds(Reason::DeadlineExceeded, view, &tally),
        };
        // Pods are managed only once the cache shows all that were created (PC-27).
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

    /// Whether the pod is deleted without being counted, so that its finalizer goes first (FT-16).
    #[must_use]
    pub fn uncounted(self) -> bool {
        self.suspended || self.surplus || self.bad_index
    }
}

/// How many of the active pods with a good index are to go: more are active than wanted, even without those
/// that have to go in any case (PC-04, PC-06).
#[must_use]
pub fn surplus(view: &View<'_>, tally: &Tally) -> i64 {
    let active = if view.spec().is_indexed() { held_indexes(view) } else { view.post.sums().active };
    i64::from(active) - want_active(view, tally)
}

/// The valid indexes that have an active pod: of each one pod is kept (PC-06).
fn held_indexes(view: &View<'_>) -> u32 {
    let completions = view.spec().completion_count().unwrap_or(0);
    let held = view.post.indexes_in_use().filter(|(index, used)| *index < completions && used.active > 0);
    u32::try_from(held.count()).unwrap_or(u32::MAX)
}

/// Judges a DELETE of a pod by an executor. `pod` is the pod as etcd held it.
///
/// `chosen_before` tells whether an earlier sync had removed its finalizer for this deletion: then PC-06 and PC-09 were
/// asked when that sync chose, and nobody will count the pod, so that it goes before any other (FT-16, S-11).
pub fn judge_deletion(view: &View<'_>, pod: &Pod, chosen_before: bool, findings: &mut Findings) {
    let what = "deletion of a pod";
    let Some(seen) = view.post.get(pod.uid) else {
        findings.require(Req::FT32, false, what, "a pod that the controller has seen", pod.uid);
        return;
    };
    if !findings.require(Req::FT32, !seen.is_terminated(), what, "an active pod", "a finished pod") {
        return;
    }
    let causes = Causes::of(view, seen, chosen_before);
    let fails_alone = || view.failed_indexes(&view.completed()).is_some_and(|failed| !failed.is_empty());
    let req = match () {
        () if view.job.deleting => Req::FT19,
        // BI-16: the failed index of another pod is no reason.
        () if view.spec().is_indexed() && fails_alone() => Req::BI16,
        () if view.spec().completions.is_none() => Req::PC05,
        () => Req::PC04,
    };
    let wanted = causes.finishing == Holds::No && !causes.uncounted();
    let expected = "a reason: decided, suspended, surplus, or a bad index";
    if !findings.require(req, !wanted, what, expected, "a pod that is wanted") {
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

/// PC-06: an invalid index, or one that another pod keeps: the last in the order of PC-09, and of two that tie one
/// that was not chosen yet. Once chosen a pod goes whatever became of the order since.
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

/// PC-09: fewer pods with a good index come before this one than there are to delete.
///
/// That an index is completed already, by another pod that has ended, is no part of this order: such a pod may
/// be kept, and one be given up that is needed, which is then created again.
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
        "the pod chosen for deletion",
        Operand::lazy(|| format!("one of the first {surplus} in the order of PC-09")),
        Operand::lazy(|| format!("{before} active pods come before it")),
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
