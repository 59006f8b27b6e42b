//! Counting pods, each once (KEP-2307; FT-02, FT-06 … FT-13, FT-15, FT-18, PC-19, PC-21, PC-23, BI-01, BI-04,
//! BI-05, BI-08, BI-14, PF-06).

use std::collections::BTreeSet;

use crate::catalogue::Req;
use crate::guards::decision::Tally;
use crate::guards::diagnosis;
use crate::indexes::{Index, IndexSet};
use crate::job::{ConditionKind, JobStatus};
use crate::pod::{Phase, Pod};
use crate::requirement::{Findings, Rule, Said};
use crate::uid::Uid;
use crate::view::View;

/// Judges how a status write accounts for pods, against the view that it was decided from.
pub fn judge_counting(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    judge_recorded(view, new, tally, findings);
    judge_kept(view, new, findings);
    judge_indexes(view, new, tally, findings);
}

/// The part that reads nothing but conditions, and the UIDs that enter the lists.
pub fn judge_recorded(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    let end = End::of(&view.job.status, new);
    for uid in added(view.job.status.uncounted_succeeded(), new.uncounted_succeeded()) {
        judge_listed_success(view, uid, findings);
    }
    for uid in added(view.job.status.uncounted_failed(), new.uncounted_failed()) {
        judge_listed_failure(view, uid, tally, end, findings);
    }
}

/// FT-02, FT-04: a listed UID whose pod has lost the finalizer, or is gone, is counted in this write; one whose
/// removal failed stays.
fn judge_kept(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
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
        let what = "a UID that stays in uncountedTerminatedPods";
        findings.require(req, held, what, "a pod that still has the finalizer; others are counted", uid);
    }
}

/// How far the Job's fate is known in a status write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Well,
    Badly,
}

impl End {
    fn of(old: &JobStatus, new: &JobStatus) -> End {
        let shows = |kind: &ConditionKind| old.is_true(kind) || has_true(new, kind);
        if shows(&ConditionKind::FailureTarget) {
            End::Badly
        } else if shows(&ConditionKind::SuccessCriteriaMet) {
            End::Well
        } else {
            End::Open
        }
    }
}

/// Whether any entry of this type is true: the API accepts several (S-12).
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
    new.iter().copied().filter(|uid| !old.contains(uid))
}

/// FT-06, FT-07: a UID becomes a listed success if the view shows a succeeded pod that still has the
/// finalizer; Indexed successes are recorded by their index alone.
fn judge_listed_success(view: &View<'_>, uid: Uid, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.succeeded";
    if !findings.require(Req::FT07, !view.spec().is_indexed(), what, "no UID: the index is recorded", uid) {
        return;
    }
    let Some(pod) = known(view, uid, what, findings) else { return };
    findings.require(
        Req::FT06,
        pod.phase == Phase::Succeeded,
        what,
        "a pod in phase Succeeded",
        Said::later(|| said(pod)),
    );
}

/// FT-06, FT-08, FT-09, FT-15, FT-18, RP-03, RP-04, PF-06, BI-08: what makes a UID a listed failure.
fn judge_listed_failure(view: &View<'_>, uid: Uid, tally: &Tally, end: End, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.failed";
    let Some(pod) = known(view, uid, what, findings) else { return };
    findings.require(
        Req::FT09,
        view.is_eligible(pod),
        what,
        "a pod whose index is below completions",
        Said::later(|| said(pod)),
    );
    let failed = view.has_failed(pod);
    match end {
        // FT-15: a Job that fails counts every pod that still holds the finalizer; a success stays one.
        End::Badly => {
            let counts = failed || pod.phase != Phase::Succeeded;
            findings.require(Req::FT15, counts, what, "no succeeded pod", Said::later(|| said(pod)));
        }
        // FT-15: a Job that ends well counts its living pods nowhere.
        End::Well if !failed && !pod.is_terminated() => {
            findings.require(
                Req::FT15,
                false,
                what,
                "no living pod of a Job that succeeds",
                Said::later(|| said(pod)),
            );
        }
        End::Well => judge_failure_by_policy(view, pod, failed, findings),
        End::Open => {
            judge_failure_by_policy(view, pod, failed, findings);
            let expected = "no UID of the last failed pod of an index that waits for its replacement";
            findings.require(
                Req::BI08,
                !delays_finalizer_removal(view, pod, tally),
                what,
                expected,
                Said::later(|| said(pod)),
            );
        }
    }
    if failed {
        findings.require(
            Req::PF06,
            !pod.is_ignored(),
            what,
            "no pod whose failure is ignored",
            Said::later(|| said(pod)),
        );
    }
}

/// FT-18 with RP-03 and RP-04: whether a terminating pod is a failure already.
fn judge_failure_by_policy(view: &View<'_>, pod: &Pod, failed: bool, findings: &mut Findings) {
    let what = "uncountedTerminatedPods.failed";
    if view.spec().replaces_only_failed() {
        let req = if pod.is_terminating() { Req::RP03 } else { Req::FT18 };
        findings.require(req, failed, what, "a pod in phase Failed", Said::later(|| said(pod)));
    } else {
        let req = if pod.deleting { Req::RP04 } else { Req::FT18 };
        findings.require(
            req,
            failed,
            what,
            "a pod in phase Failed, or being deleted and not Succeeded",
            Said::later(|| said(pod)),
        );
    }
}

/// FT-06: only pods that the view shows with the finalizer are accounted.
fn known<'a>(view: &View<'a>, uid: Uid, what: &'static str, findings: &mut Findings) -> Option<&'a Pod> {
    let pod = view.cache.get(uid);
    let holds = pod.is_some_and(|pod| pod.finalizer);
    findings.require(Req::FT06, holds, what, "a pod of this Job with the tracking finalizer", uid);
    pod.filter(|_| holds)
}

/// BI-08: the last failed pod of an index that is neither active, completed, nor failed keeps its finalizer
/// and stays unrecorded until its replacement exists.
#[must_use]
pub fn delays_finalizer_removal(view: &View<'_>, pod: &Pod, tally: &Tally) -> bool {
    // J-10: where no replacement can come, the pod would wait for ever, and its namespace for it.
    !view.namespace_goes && waits_for_replacement(view, pod, tally, |other, this| other < this)
}

/// BI-08, where counts tie: whether the pod may be the one that is kept.
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

/// The largest absolute count is the last.
type Rank = (u32, crate::time::Time);

fn rank(pod: &Pod) -> Rank {
    (pod.failure_count.saturating_add(pod.ignored_failure_count), pod.finish_time())
}

/// PC-19, PC-21, PC-23, FT-12, BI-04, BI-05: the index texts and the counter that follows from them.
pub fn judge_indexes(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    if !view.spec().is_indexed() {
        return;
    }
    let completed = IndexSet::read(&new.completed_indexes, None);
    judge_completed(view, &completed, tally, findings);
    canonical("completedIndexes", &new.completed_indexes, &completed, findings);
    match (&tally.failed_indexes, new.failed_indexes.as_deref()) {
        (None, found) => {
            findings.require(Req::BI04, found.is_none(), "failedIndexes", "none", "a text");
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
    // A text that reaches across completions loses what lies beyond (PC-23), and no more (PC-20).
    let req = match () {
        () if out_of_range && !completed.minus(&tally.completed).is_empty() => Req::PC23,
        () if out_of_range => Req::PC20,
        () if completes_by_failures(view, completed, tally) => Req::S02,
        () => Req::FT12,
    };
    equal_sets(req, "completedIndexes", &tally.completed, completed, findings);
}

/// S-02: whether nothing is wrong but indexes whose only success is a pod that is recorded as failed (FT-13).
fn completes_by_failures(view: &View<'_>, completed: &IndexSet, tally: &Tally) -> bool {
    let surplus = completed.minus(&tally.completed);
    let listed = view.job.status.uncounted_failed();
    let flipped = |index: Index| {
        let is_one = |pod: &Pod| {
            pod.index == Some(index) && pod.phase == Phase::Succeeded && listed.contains(&pod.uid)
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
        Said::later(|| expected.clone()),
        Said::later(|| found.clone()),
    );
}

/// PC-19.
fn canonical(what: &'static str, text: &str, set: &IndexSet, findings: &mut Findings) {
    let (expected, found) = (Said::later(|| set.clone()), Said::later(|| text.to_owned()));
    findings.require(Req::PC19, set.is_written_as(text), what, expected, found);
}

/// What accounting did before: UIDs that a counter holds.
pub trait Ledger {
    /// Whether the UID was counted.
    fn is_counted(&self, uid: Uid) -> bool;
    /// Whether the pod was adopted again after it had been counted (S-05).
    fn was_readopted(&self, uid: Uid) -> bool;
    /// Whether the pod was gone when its manager tried to release it (J-03).
    fn was_vanished(&self, uid: Uid) -> bool;
    /// Whether the pod has lost the Job as its owner (J-05).
    fn has_no_owner(&self, _uid: Uid) -> bool {
        false
    }
    /// Whether the pod is controlled by another Job (PC-29).
    fn is_strange(&self, uid: Uid) -> bool;
    /// Whether `podReplacementPolicy` was changed since the Job was created (RP-13).
    fn policy_changed(&self) -> bool;
    /// The fewest `completions` since the Job was decided, less the successes that others took away from it since, before they
    /// were recorded; `None` if it was not decided yet, or has none.
    fn decided_completions(&self) -> Option<i32>;
}

/// Judges a status write against what etcd held when it was made: nothing here is excused by a stale cache.
///
/// `finalizer_gone` tells whether a pod has lost its finalizer in etcd, `None` where the trace never showed
/// the pod.
pub fn judge_counting_truth(
    old: &JobStatus,
    new: &JobStatus,
    indexed: bool,
    ledger: &dyn Ledger,
    finalizer_gone: &dyn Fn(Uid) -> Option<bool>,
    findings: &mut Findings,
) {
    judge_moves(old, new, indexed, ledger, finalizer_gone, findings);
    for uid in added(old.uncounted_succeeded(), new.uncounted_succeeded())
        .chain(added(old.uncounted_failed(), new.uncounted_failed()))
    {
        judge_not_counted(uid, ledger, findings);
        let what = "a UID that enters uncountedTerminatedPods";
        findings.require(
            Req::PC29,
            !ledger.is_strange(uid),
            what,
            "a pod that this Job controls by UID",
            uid,
        );
    }
    judge_both_lists(old, new, findings);
    if indexed {
        let completed = IndexSet::read(&new.completed_indexes, None);
        findings.equal(Req::PC21, "succeeded", i64::from(completed.len()), i64::from(new.succeeded));
    }
}

/// FT-02: a UID leaves a list only when its pod has lost the finalizer, and the counter moves with it, by
/// exactly one for each.
fn judge_moves(
    old: &JobStatus,
    new: &JobStatus,
    indexed: bool,
    ledger: &dyn Ledger,
    finalizer_gone: &dyn Fn(Uid) -> Option<bool>,
    findings: &mut Findings,
) {
    let left_succeeded = || added(new.uncounted_succeeded(), old.uncounted_succeeded());
    let left_failed = || added(new.uncounted_failed(), old.uncounted_failed());
    for uid in left_succeeded().chain(left_failed()) {
        if let Some(gone) = finalizer_gone(uid) {
            let what = "a UID that left uncountedTerminatedPods";
            let expected = "a pod without the tracking finalizer";
            if !gone && ledger.has_no_owner(uid) {
                findings.deviation(Req::J05, what, expected, uid);
            } else {
                findings.require(Req::FT02, gone, what, expected, uid);
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
        let rule = || Req::FT02.diagnosed_by(|| diagnosis::of_counters(&counters, ledger));
        findings.equal(rule(), "succeeded", counters.expected[0], counters.found[0]);
        findings.equal(rule(), "failed", counters.expected[1], counters.found[1]);
    }
}

/// Successes and failures in the counters after a write.
pub struct Counters {
    /// The numbers that follow from the UIDs that left their lists.
    pub expected: [i64; 2],
    /// The numbers in the write.
    pub found: [i64; 2],
    /// Whether no UID left a list.
    pub none_left: bool,
}

fn judge_not_counted(uid: Uid, ledger: &dyn Ledger, findings: &mut Findings) {
    let what = "a UID that enters uncountedTerminatedPods";
    if !ledger.is_counted(uid) {
        findings.premise(Req::FT02);
    } else if ledger.was_readopted(uid) {
        findings.deviation(Req::S05, what, "a pod that no counter holds", uid);
    } else if ledger.was_vanished(uid) {
        findings.deviation(Req::J03, what, "a pod that no counter holds", uid);
    } else {
        findings.require(Req::FT02, false, what, "a pod that no counter holds", uid);
    }
}

/// S-07: the first record of a UID wins.
fn judge_both_lists(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let both = new.uncounted_failed().iter().find(|uid| new.uncounted_succeeded().contains(uid));
    if let Some(uid) = both {
        if old.uncounted_succeeded().contains(uid) {
            // 1.36 tries this (S-07) and is refused; accepted, it is no documented deviation.
            findings.require(Req::S07, false, "uncountedTerminatedPods", "a UID in one list", *uid);
        } else {
            findings.require(Req::FT13, false, "uncountedTerminatedPods", "a UID in one list", *uid);
        }
    }
}

fn said(pod: &Pod) -> Said {
    let deleting = if pod.deleting { ", being deleted" } else { "" };
    let index = pod.index.map_or(String::new(), |index| format!(", index {index}"));
    Said::Text(format!("{:?} in phase {:?}{deleting}{index}", pod.uid, pod.phase))
}
