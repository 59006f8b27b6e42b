//! Counting each pod once (KEP-2307).
//!
//! A terminated pod is counted in three steps. A status write records its UID in `uncountedTerminatedPods`. Then the
//! tracking finalizer is removed. Then a status write drops the UID and raises the counter. An Indexed Job records a
//! success by its index in `completedIndexes` instead.
//!
//! | part of a status write of an executor | requirements | decided by |
//! | --- | --- | --- |
//! | UIDs that enter the lists | FT-06 to FT-09, FT-15, FT-18, RP-03, RP-04, BI-08, PF-06 | a view |
//! | UIDs that stay in the lists | FT-02, FT-04 | a view |
//! | `completedIndexes`, `failedIndexes` | FT-12, PC-19, PC-20, PC-23, BI-01, BI-04, BI-05, S-02 | a view |
//! | UIDs that leave the lists, and the counters | FT-02, FT-08, FT-13, FT-31, PC-21, RP-13, J-05 | the truth |
//! | UIDs that enter the lists a second time, or for another Job | FT-02, FT-13, PC-29, S-05, S-07, J-03 | the truth |

use std::collections::BTreeSet;

use crate::catalogue::Req;
use crate::guards::decision::Tally;
use crate::guards::diagnosis;
use crate::indexes::{Index, IndexSet};
use crate::job::{ConditionKind, JobStatus};
use crate::listed::Listed;
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Operand, Rule};
use crate::uid::Uid;
use crate::view::View;
use crate::words::described;

/// Judges the UIDs and index lists of a status write against the view from which it was decided.
pub fn judge_counting(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    judge_recorded(view, new, tally, findings);
    judge_remaining(view, new, findings);
    judge_indexes(view, new, tally, findings);
}

/// Judges the UIDs that enter the lists of a status write. It reads no other part of the write than its conditions.
pub fn judge_recorded(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    let decision = Decision::of(&view.job.status, new);
    for uid in added(view.job.status.uncounted_succeeded(), new.uncounted_succeeded()) {
        judge_recorded_success(view, uid, findings);
    }
    for uid in added(view.job.status.uncounted_failed(), new.uncounted_failed()) {
        judge_recorded_failure(view, uid, tally, decision, findings);
    }
}

/// The UID of a pod without its finalizer, as a false comparison names it.
pub const STAYS: &str = "UID that stays in uncountedTerminatedPods";

/// FT-02, FT-04: a UID stays in its list only while its pod holds the finalizer.
///
/// If the pod has lost the finalizer, or is gone, this write counts it. If the finalizer removal failed, the UID stays.
fn judge_remaining(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    let old = &view.job.status;
    if old.uncounted_succeeded().is_empty() && old.uncounted_failed().is_empty() {
        return;
    }
    let still: BTreeSet<Uid> =
        new.uncounted_succeeded().iter().chain(new.uncounted_failed()).copied().collect();
    let before = old.uncounted_succeeded().iter().chain(old.uncounted_failed());
    let req = if view.deletes_failed { Req::FT04 } else { Req::FT02 };
    for uid in before.copied().filter(|uid| still.contains(uid)) {
        let known = view.post.get(uid).or_else(|| view.ownerless.and_then(|ownerless| ownerless.get(uid)));
        let held = known.is_some_and(|pod| pod.finalizer);
        let what = STAYS;
        let expected = "a pod that still holds the tracking finalizer";
        findings.require(
            req,
            held,
            what,
            expected,
            Operand::lazy(|| format!("{uid:?}, which does not hold it")),
        );
    }
}

/// The interim condition that is stored before or with a status write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// The Job is not decided.
    Undecided,
    /// The Job has SuccessCriteriaMet.
    Succeeds,
    /// The Job has FailureTarget.
    Fails,
}

impl Decision {
    fn of(old: &JobStatus, new: &JobStatus) -> Decision {
        let shows = |kind: &ConditionKind| old.is_true(kind) || has_true(new, kind);
        if shows(&ConditionKind::FailureTarget) {
            Decision::Fails
        } else if shows(&ConditionKind::SuccessCriteriaMet) {
            Decision::Succeeds
        } else {
            Decision::Undecided
        }
    }
}

/// Returns whether any entry of this condition type is True. The API server accepts several entries (S-12).
#[must_use]
pub fn has_true(status: &JobStatus, kind: &ConditionKind) -> bool {
    use crate::job::ConditionStatus;
    status
        .conditions
        .iter()
        .any(|condition| condition.kind == *kind && condition.status == ConditionStatus::True)
}

/// The UIDs of `new` that `old` does not hold.
pub fn added<'a>(old: &'a [Uid], new: &'a [Uid]) -> impl Iterator<Item = Uid> + 'a {
    let old = Listed::of(old, &[]);
    new.iter().copied().filter(move |uid| !old.has(*uid))
}

/// FT-06, FT-07: a UID is recorded as a success if the view shows a succeeded pod with the tracking finalizer.
///
/// An Indexed Job records the index instead.
fn judge_recorded_success(view: &View<'_>, uid: Uid, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.succeeded";
    let expected = "no UID, because an Indexed Job records the index";
    if !findings.require(Req::FT07, !view.spec().is_indexed(), what, expected, uid) {
        return;
    }
    let Some(pod) = known(view, uid, what, findings) else { return };
    findings.require(
        Req::FT06,
        pod.phase == Phase::Succeeded,
        what,
        "a pod in phase Succeeded",
        Operand::lazy(|| described(pod)),
    );
}

/// A UID is recorded as a failure if the view shows a pod that counts as failed.
///
/// The rules are FT-06, FT-08, FT-09, FT-15, FT-18, RP-03, RP-04, PF-06, and BI-08.
fn judge_recorded_failure(
    view: &View<'_>,
    uid: Uid,
    tally: &Tally,
    decision: Decision,
    findings: &mut Findings,
) {
    let what = "uncountedTerminatedPods.failed";
    let Some(pod) = known(view, uid, what, findings) else { return };
    findings.require(
        Req::FT09,
        view.is_eligible(pod),
        what,
        "a pod whose index is below completions",
        Operand::lazy(|| described(pod)),
    );
    let failed = view.has_failed(pod);
    match decision {
        // FT-15: a Job that fails counts every pod that holds the finalizer as failed, except succeeded pods.
        Decision::Fails => {
            let counts = failed || pod.phase != Phase::Succeeded;
            let expected = "a pod that has not succeeded";
            findings.require(Req::FT15, counts, what, expected, Operand::lazy(|| described(pod)));
        }
        // FT-15: a Job that succeeds counts its running pods nowhere.
        Decision::Succeeds if !failed && !pod.is_terminated() => {
            findings.require(
                Req::FT15,
                false,
                what,
                "a terminated pod, because the Job succeeds",
                Operand::lazy(|| described(pod)),
            );
        }
        Decision::Succeeds => judge_failure_by_policy(view, pod, failed, findings),
        Decision::Undecided => {
            judge_failure_by_policy(view, pod, failed, findings);
            let expected = "a pod whose index does not wait for a replacement";
            findings.require(
                Req::BI08,
                !delays_finalizer_removal(view, pod, tally),
                what,
                expected,
                Operand::lazy(|| described(pod)),
            );
        }
    }
    if failed {
        findings.require(
            Req::PF06,
            !pod.is_ignored(),
            what,
            "a pod whose failure no Ignore rule matches",
            Operand::lazy(|| described(pod)),
        );
    }
}

/// FT-18, RP-03, RP-04: the replacement policy decides whether a terminating pod is a failure already.
fn judge_failure_by_policy(view: &View<'_>, pod: &Pod, failed: bool, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.failed";
    if view.spec().replaces_only_failed() {
        let req = if pod.is_terminating() { Req::RP03 } else { Req::FT18 };
        findings.require(req, failed, what, "a pod in phase Failed", Operand::lazy(|| described(pod)));
    } else {
        let req = if pod.deleting { Req::RP04 } else { Req::FT18 };
        findings.require(
            req,
            failed,
            what,
            "a pod in phase Failed, or one that is being deleted and has not succeeded",
            Operand::lazy(|| described(pod)),
        );
    }
}

/// FT-06: the pod of a recorded UID, which the view shows with the tracking finalizer.
fn known<'a>(view: &View<'a>, uid: Uid, what: &'static str, findings: &mut Findings) -> Option<&'a Pod> {
    let pod = view.cache.get(uid);
    let holds = pod.is_some_and(|pod| pod.finalizer);
    let found = || match pod {
        None => format!("{uid:?}, which the cache does not show"),
        Some(_) => format!("{uid:?} without it"),
    };
    let expected = "a pod of this Job with the tracking finalizer";
    findings.require(Req::FT06, holds, what, expected, Operand::lazy(found));
    pod.filter(|_| holds)
}

/// Returns whether a failed pod keeps its finalizer, and stays unrecorded, until its replacement exists (BI-08).
///
/// This holds for the last failed pod of an index that has no active pod and is neither completed nor failed.
#[must_use]
pub fn delays_finalizer_removal(view: &View<'_>, pod: &Pod, tally: &Tally) -> bool {
    // J-10: in a terminating namespace no replacement is created, and the finalizer would block the namespace for ever.
    !view.namespace_terminating && waits_for_replacement(view, pod, tally, |other, this| other < this)
}

/// Returns whether a failed pod may be the one that keeps its finalizer (BI-08).
///
/// It differs from [`delays_finalizer_removal`] if several pods of an index tie for the last failure.
#[must_use]
pub fn may_delay_finalizer_removal(view: &View<'_>, pod: &Pod, tally: &Tally) -> bool {
    waits_for_replacement(view, pod, tally, |other, this| other <= this)
}

fn waits_for_replacement(
    view: &View<'_>,
    pod: &Pod,
    tally: &Tally,
    comes_before: fn(Rank, Rank) -> bool,
) -> bool {
    let Some(failed_indexes) = &tally.failed_indexes else { return false };
    let Some(index) = pod.valid_index(view.spec().completion_count()) else { return false };
    if view.job.deleting
        || tally.completed.contains(index)
        || failed_indexes.contains(index)
        || view.cache.index_use(index).active > 0
    {
        return false;
    }
    view.cache
        .unaccounted()
        .filter(|other| other.index == Some(index) && other.uid != pod.uid && view.has_failed(other))
        .all(|other| comes_before(rank(other), rank(pod)))
}

/// The order of failures of one index: by the failure counts, then by the finish time.
type Rank = (u32, crate::time::Time);

fn rank(pod: &Pod) -> Rank {
    (pod.failure_count.saturating_add(pod.ignored_failure_count), pod.finish_time())
}

/// Judges `completedIndexes` and `failedIndexes` (FT-12, PC-19, PC-20, PC-23, BI-01, BI-04, BI-05, S-02).
pub fn judge_indexes(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    if !view.spec().is_indexed() {
        return;
    }
    let completed = IndexSet::read(&new.completed_indexes, None);
    judge_completed(view, &completed, tally, findings);
    canonical("completedIndexes", &new.completed_indexes, &completed, findings);
    match (&tally.failed_indexes, new.failed_indexes.as_deref()) {
        (None, found) => {
            let (holds, text) = (found.is_none(), found.unwrap_or_default());
            let expected = "none, because backoffLimitPerIndex is unset";
            let found = Operand::lazy(|| format!("\"{text}\""));
            findings.require(Req::BI04, holds, "failedIndexes", expected, found);
        }
        (Some(expected), None) => {
            findings.require(Req::BI04, false, "failedIndexes", expected.clone(), "none");
        }
        (Some(expected), Some(text)) => {
            let failed = IndexSet::read(text, None);
            let rule = Req::BI01.diagnosed_by(|| diagnosis::of_failed_indexes(view, expected, &failed));
            equal_sets(rule, "failedIndexes", expected, &failed, findings);
            canonical("failedIndexes", text, &failed, findings);
        }
    }
}

fn judge_completed(view: &View<'_>, completed: &IndexSet, tally: &Tally, findings: &mut Findings) {
    let stored = IndexSet::read(&view.job.status.completed_indexes, None);
    let out_of_range = !stored.minus(&tally.completed).is_empty();
    // Indexes at or above completions are dropped (PC-23), and no others (PC-20).
    let req = match () {
        () if out_of_range && !completed.minus(&tally.completed).is_empty() => Req::PC23,
        () if out_of_range => Req::PC20,
        () if completes_by_failures(view, completed, tally) => Req::S02,
        () => Req::FT12,
    };
    equal_sets(req, "completedIndexes", &tally.completed, completed, findings);
}

/// Returns whether the write has the pattern of S-02: every surplus index belongs to a pod that is recorded as failed
/// and has succeeded (FT-13).
fn completes_by_failures(view: &View<'_>, completed: &IndexSet, tally: &Tally) -> bool {
    let surplus = completed.minus(&tally.completed);
    let recorded = view.job.status.uncounted_failed();
    let flipped = |index: Index| {
        let is_one = |pod: &Pod| {
            pod.index == Some(index) && pod.phase == Phase::Succeeded && recorded.contains(&pod.uid)
        };
        view.cache.iter().any(is_one)
    };
    !surplus.is_empty() && tally.completed.minus(completed).is_empty() && surplus.iter().all(flipped)
}

fn equal_sets(
    rule: impl Rule,
    what: &'static str,
    expected: &IndexSet,
    found: &IndexSet,
    findings: &mut Findings,
) {
    findings.require(
        rule,
        expected == found,
        what,
        Operand::lazy(|| expected.clone()),
        Operand::lazy(|| found.clone()),
    );
}

/// PC-19: an index list has the canonical text of its set.
fn canonical(what: &'static str, text: &str, set: &IndexSet, findings: &mut Findings) {
    let (expected, found) = (Operand::lazy(|| set.clone()), Operand::lazy(|| format!("\"{text}\"")));
    findings.require(Req::PC19, set.is_written_as(text), what, expected, found);
}

/// The history of a Job's pods before a status write, as the guards on the truth need it.
pub trait CountingHistory {
    /// Returns whether the pod was counted: its UID has left its list, and the counter was raised.
    fn is_counted(&self, uid: Uid) -> bool;
    /// Returns whether the pod has got the finalizer back after it was counted (S-05). It was adopted again, or somebody else
    /// has put the finalizer back.
    fn regained_finalizer(&self, uid: Uid) -> bool;
    /// Returns whether the pod was gone when its manager tried to remove its finalizer (J-03).
    fn was_gone_at_removal(&self, uid: Uid) -> bool;
    /// Returns whether the pod has lost the Job as its owner (J-05).
    fn has_no_owner(&self, _uid: Uid) -> bool {
        false
    }
    /// Returns whether another Job controls the pod (PC-29).
    fn has_another_owner(&self, uid: Uid) -> bool;
    /// Returns whether `podReplacementPolicy` has changed since the Job was created (RP-13).
    fn policy_changed(&self) -> bool;
    /// The smallest `completions` since the Job was decided, minus the successes that other actors removed since then
    /// before they were recorded.
    ///
    /// The result is `None` if the Job is not decided or has no `completions`.
    fn decided_completions(&self) -> Option<i32>;
}

/// Judges the counters and lists of a status write against what etcd held. No stale cache excuses the write.
///
/// `finalizer_gone` returns whether a pod has lost the tracking finalizer in etcd, or `None` if the trace never shows
/// the pod.
pub fn judge_counting_truth(
    old: &JobStatus,
    new: &JobStatus,
    indexed: bool,
    history: &dyn CountingHistory,
    finalizer_gone: &dyn Fn(Uid) -> Option<bool>,
    findings: &mut Findings,
) {
    judge_moves(old, new, indexed, history, finalizer_gone, findings);
    for uid in added(old.uncounted_succeeded(), new.uncounted_succeeded())
        .chain(added(old.uncounted_failed(), new.uncounted_failed()))
    {
        judge_not_counted(uid, history, findings);
        let expected = "a pod that this Job controls";
        let found = Operand::lazy(|| format!("{uid:?}, which another Job controls"));
        findings.require(Req::PC29, !history.has_another_owner(uid), NEW_UID, expected, found);
    }
    judge_both_lists(old, new, findings);
    if indexed {
        let completed = IndexSet::read(&new.completed_indexes, None);
        findings.equal(Req::PC21, "succeeded", i64::from(completed.len()), i64::from(new.succeeded));
    }
}

/// FT-02: judges the count of a pod that a later record shows with the tracking finalizer.
pub fn judge_count_of_holder(uid: Uid, findings: &mut Findings) {
    let found = Operand::lazy(|| format!("{uid:?}, which held it until later"));
    findings.require(
        Req::FT02,
        false,
        "UID that left uncountedTerminatedPods",
        "a pod without the tracking finalizer",
        found,
    );
}

/// FT-02: a UID leaves its list only after its pod has lost the finalizer, and its counter rises by one in the same
/// write.
fn judge_moves(
    old: &JobStatus,
    new: &JobStatus,
    indexed: bool,
    history: &dyn CountingHistory,
    finalizer_gone: &dyn Fn(Uid) -> Option<bool>,
    findings: &mut Findings,
) {
    let left_succeeded = || added(new.uncounted_succeeded(), old.uncounted_succeeded());
    let left_failed = || added(new.uncounted_failed(), old.uncounted_failed());
    for uid in left_succeeded().chain(left_failed()) {
        if let Some(gone) = finalizer_gone(uid) {
            let what = "UID that leaves uncountedTerminatedPods";
            let expected = "a pod without the tracking finalizer";
            let found = Operand::lazy(|| format!("{uid:?}, which still holds it"));
            if !gone && history.has_no_owner(uid) {
                findings.deviation(Req::J05, what, expected, found);
            } else {
                findings.require(Req::FT02, gone, what, expected, found);
            }
        }
    }
    let (by_success, by_failure) = (left_succeeded().count(), left_failed().count());
    let moved = |from: i32, by: usize| i64::from(from) + i64::try_from(by).unwrap_or(0);
    let counters = Counters {
        expected: [moved(old.succeeded, by_success), moved(old.failed, by_failure)],
        found: [i64::from(new.succeeded), i64::from(new.failed)],
        none_left: by_success + by_failure == 0,
    };
    if indexed {
        let req = if counters.none_left { Req::FT08 } else { Req::FT02 };
        findings.equal(req, "failed", counters.expected[1], counters.found[1]);
    } else {
        let rule = || Req::FT02.diagnosed_by(|| diagnosis::of_counters(&counters, history));
        findings.equal(rule(), "succeeded", counters.expected[0], counters.found[0]);
        findings.equal(rule(), "failed", counters.expected[1], counters.found[1]);
    }
}

/// The counters `succeeded` and `failed` after a status write.
pub struct Counters {
    /// The values that follow from the UIDs that leave their lists.
    pub expected: [i64; 2],
    /// The values in the write.
    pub found: [i64; 2],
    /// True if no UID leaves a list.
    pub none_left: bool,
}

const NEW_UID: &str = "UID that enters uncountedTerminatedPods";

/// FT-02, S-05, J-03: no pod is counted twice.
fn judge_not_counted(uid: Uid, history: &dyn CountingHistory, findings: &mut Findings) {
    let expected = "a pod that is not counted yet";
    let found = Operand::lazy(|| format!("{uid:?}, which is counted already"));
    if !history.is_counted(uid) {
        findings.premise(Req::FT02);
    } else if history.regained_finalizer(uid) {
        findings.deviation(Req::S05, NEW_UID, expected, found);
    } else if history.was_gone_at_removal(uid) {
        findings.deviation(Req::J03, NEW_UID, expected, found);
    } else {
        findings.require(Req::FT02, false, NEW_UID, expected, found);
    }
}

/// S-07, FT-13: a UID is in one list, and the first record wins.
fn judge_both_lists(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let succeeded = Listed::of(new.uncounted_succeeded(), &[]);
    let both = new.uncounted_failed().iter().find(|uid| succeeded.has(**uid));
    if let Some(uid) = both {
        // The API server refuses this write of 1.36. A stored one is not the known deviation S-07.
        let req = if old.uncounted_succeeded().contains(uid) { Req::S07 } else { Req::FT13 };
        let found = Operand::lazy(|| format!("{uid:?} in both lists"));
        findings.require(req, false, "uncountedTerminatedPods", "each UID in one list", found);
    }
}
