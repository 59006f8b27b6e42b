//! From an ended pod to a counter, in three steps that may be cut anywhere (KEP-2307, family FT): its UID is recorded in
//! the status, its finalizer goes, and the UID moves to the counter.

use std::collections::BTreeSet;

use super::command::{FinalizerRemoval, PodRef};
use super::conditions::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, find_true};
use super::observed::{PodFacts, PodFailureAction};
use super::per_index::{Indexes, is_ignored};
use super::termination::Termination;
use super::view::{Pod, PodIndex, Verdict, View};
use crate::values::Uid;

/// What one plan does about the pods that have ended, or that a Job at its end lets go.
#[derive(Clone, Debug, Default)]
pub struct Accounting<'a> {
    /// Successes whose UID is in the list after the first status write.
    pub listed_succeeded: Vec<Uid>,
    /// Failures whose UID is in the list after the first status write.
    pub listed_failed: Vec<Uid>,
    /// Listed successes that hold no finalizer any more: they move to the counter with the first status write (FT-05).
    pub counted_succeeded: usize,
    /// Listed failures that hold no finalizer any more.
    pub counted_failed: usize,
    /// Pods that lose the finalizer between the two status writes; the deletion of active ones was asked for before (FT-17).
    pub finalizer_removals: Vec<Pod<'a>>,
    /// Whether a pod of the Job holds the finalizer and is in neither list: the Job cannot finish now (FT-10, B07).
    pub finalizer_not_removed: bool,
}

/// What to do about a pod that holds the finalizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// Leave it as it is.
    Keep,
    /// Remove the finalizer; there is nothing to record, or it is recorded.
    RemoveFinalizer,
    /// Remove the finalizer once its index is recorded in the first status write (FT-07).
    RemoveFinalizerForIndex,
    /// Record it as a success, and remove the finalizer.
    RecordSuccess,
    /// Record it as a failure, and remove the finalizer.
    RecordFailure,
    /// Record it as a failure, and leave the finalizer.
    KeepFailure,
}

/// Decides for each pod that holds the finalizer.
///
/// `record_indexes` says whether the first status write can hold the newly completed indexes (see
/// [`super::status::holds_indexes`]).
#[must_use]
pub fn account<'a>(
    view: &View<'a>,
    indexes: &Indexes<'a>,
    termination: Option<&Termination>,
    record_indexes: bool,
) -> Accounting<'a> {
    let mut accounting = reclaimed(view);
    let listed = accounting.listed_succeeded.len() + accounting.listed_failed.len();
    // J-02: the room is looked at before a UID is added, and only new ones need it.
    let mut room = view.observed.settings.max_uncounted_pods.saturating_sub(listed);
    for pod in view.pods.iter().filter(|it| it.holds) {
        let treatment = treatment(view, indexes, termination, record_indexes, pod);
        let takes_room = !matches!(treatment, Treatment::Keep | Treatment::RemoveFinalizer);
        if treatment == Treatment::Keep || (takes_room && room == 0) {
            accounting.finalizer_not_removed = true;
            continue;
        }
        room -= usize::from(takes_room);
        match treatment {
            Treatment::RecordSuccess => accounting.listed_succeeded.push(pod.facts.uid.clone()),
            Treatment::RecordFailure | Treatment::KeepFailure => {
                accounting.listed_failed.push(pod.facts.uid.clone());
            }
            Treatment::Keep | Treatment::RemoveFinalizer | Treatment::RemoveFinalizerForIndex => {}
        }
        if treatment != Treatment::KeepFailure {
            accounting.finalizer_removals.push(*pod);
        }
    }
    accounting
}

/// The lists without the pods that hold no finalizer, wherever they are now (FT-05, J-05).
fn reclaimed<'a>(view: &View<'a>) -> Accounting<'a> {
    let Some(uncounted) = view.job().status.uncounted.as_ref() else { return Accounting::default() };
    let held =
        |uids: &[Uid]| -> Vec<Uid> { uids.iter().filter(|it| view.held.contains(it)).cloned().collect() };
    let (listed_succeeded, listed_failed) = (held(&uncounted.succeeded), held(&uncounted.failed));
    Accounting {
        counted_succeeded: uncounted.succeeded.len() - listed_succeeded.len(),
        counted_failed: uncounted.failed.len() - listed_failed.len(),
        listed_succeeded,
        listed_failed,
        ..Accounting::default()
    }
}

fn treatment(
    view: &View,
    indexes: &Indexes,
    termination: Option<&Termination>,
    record_indexes: bool,
    pod: &Pod,
) -> Treatment {
    let deleting = view.job().deletion.is_some();
    // FT-14: at the end of the Job, or with the Job, all pods go.
    let ends = termination.is_some() || deleting;
    let fails = termination.is_some_and(|it| !it.succeeds);
    match (pod.verdict, pod.index) {
        // BI-08.
        (Verdict::Failed, _) if !ends && indexes.waits_for_replacement(pod) && !view.namespace_goes => {
            Treatment::Keep
        }
        // S-03: a match that ends the Job is asked for as long as it is not stored; the end waits (TC-08).
        (Verdict::Failed, _) if !ends && fails_job(view, pod) => {
            if pod.listed || !pod.countable() {
                Treatment::Keep
            } else {
                Treatment::KeepFailure
            }
        }
        (Verdict::Succeeded | Verdict::Failed, _) if pod.listed => Treatment::RemoveFinalizer,
        // FT-09: nobody counts these.
        (Verdict::Succeeded | Verdict::Failed, PodIndex::Invalid) => Treatment::RemoveFinalizer,
        (Verdict::Succeeded, PodIndex::None) => Treatment::RecordSuccess,
        (Verdict::Succeeded, PodIndex::Of(index)) => success_of(index, indexes, record_indexes, ends),
        // PF-06.
        (Verdict::Failed, _) if is_ignored(view, pod) => Treatment::RemoveFinalizer,
        (Verdict::Failed, _) => Treatment::RecordFailure,
        // FT-15, J-04: what is at work when a Job fails has failed, whatever a policy says of failed pods.
        (Verdict::Alive, PodIndex::None | PodIndex::Of(_)) if fails => Treatment::RecordFailure,
        (Verdict::Alive, _) if ends => Treatment::RemoveFinalizer,
        (Verdict::Alive, _) => Treatment::Keep,
    }
}

/// Whether the failure policy ends the Job for this pod, and the status does not say yet how the Job ends (PF-08).
fn fails_job(view: &View, pod: &Pod) -> bool {
    let stored = &view.job().status.conditions;
    let is_stored =
        || [FAILURE_TARGET, SUCCESS_CRITERIA_MET].iter().any(|kind| find_true(stored, kind).is_some());
    view.policy_match(pod).is_some_and(|it| it.action == PodFailureAction::FailJob) && !is_stored()
}

/// A success for an index whose failure is stored counts nowhere (BI-14), and one for an index that is stored as
/// completed has nothing to add.
fn success_of(index: u32, indexes: &Indexes, record_indexes: bool, ends: bool) -> Treatment {
    let new = indexes.completed.contains(index) && !indexes.stored.contains(index);
    match (new, record_indexes || ends) {
        (false, _) => Treatment::RemoveFinalizer,
        (true, true) => Treatment::RemoveFinalizerForIndex,
        (true, false) => Treatment::Keep,
    }
}

impl Accounting<'_> {
    /// The lists after the releases between the two status writes, and how many left each of them.
    #[must_use]
    pub fn after_removals(&self) -> AfterRemovals {
        let finalizer_removed: BTreeSet<&Uid> =
            self.finalizer_removals.iter().map(|it| &it.facts.uid).collect();
        let rest = |uids: &[Uid]| -> Vec<Uid> {
            uids.iter().filter(|it| !finalizer_removed.contains(it)).cloned().collect()
        };
        let (succeeded, failed) = (rest(&self.listed_succeeded), rest(&self.listed_failed));
        AfterRemovals {
            counted_succeeded: self.listed_succeeded.len() - succeeded.len(),
            counted_failed: self.listed_failed.len() - failed.len(),
            listed_succeeded: succeeded,
            listed_failed: failed,
        }
    }
}

/// See [`Accounting::after_removals`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterRemovals {
    /// Successes that are listed still.
    pub listed_succeeded: Vec<Uid>,
    /// Failures that are listed still.
    pub listed_failed: Vec<Uid>,
    /// Successes that move to the counter.
    pub counted_succeeded: usize,
    /// Failures that move to the counter.
    pub counted_failed: usize,
}

/// The removal of finalizers, as a command has it.
#[must_use]
pub fn finalizer_removals(view: &View, pods: &[Pod]) -> Vec<FinalizerRemoval> {
    let action = |pod: &Pod| view.policy_match(pod).filter(|_| pod.countable()).map(|it| it.action);
    pods.iter().map(|pod| FinalizerRemoval { pod: pod_ref(pod.facts), policy_action: action(pod) }).collect()
}

/// A pod, as a command names it.
#[must_use]
pub fn pod_ref(pod: &PodFacts) -> PodRef {
    PodRef { name: pod.name.clone(), uid: pod.uid.clone(), resource_version: pod.resource_version.clone() }
}
