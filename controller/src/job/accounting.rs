//! The accounting of terminated pods, in three steps (KEP-2307, family FT).
//!
//! 1. The UID is recorded in `status.uncountedTerminatedPods`.
//! 2. The finalizer is removed.
//! 3. The UID leaves the record, and its counter is raised.
//!
//! A plan may be cut between any two steps without a loss.

use std::collections::BTreeSet;

use super::command::{FinalizerRemoval, PodRef};
use super::conditions::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, find_true};
use super::observed::{PodFacts, PodFailureAction};
use super::per_index::{Indexes, is_ignored};
use super::termination::Termination;
use super::view::{Pod, PodClass, PodIndex, View};
use crate::values::Uid;

/// The effects of one plan on the records, the counters, and the finalizers.
#[derive(Clone, Debug, Default)]
pub struct Accounting<'a> {
    /// The recorded successes in the first status write.
    pub recorded_succeeded: Vec<Uid>,
    /// The recorded failures in the first status write.
    pub recorded_failed: Vec<Uid>,
    /// The number of recorded successes that hold no finalizer any more. The first status write counts them (FT-05).
    pub counted_succeeded: usize,
    /// The number of recorded failures that hold no finalizer any more.
    pub counted_failed: usize,
    /// The pods that lose the finalizer between the two status writes. Active ones have been deleted before (FT-17).
    pub finalizer_removals: Vec<Pod<'a>>,
    /// True if the plan does nothing about some pod that holds the finalizer. The Job cannot finish then (FT-10, B07).
    pub finalizer_remains: bool,
}

/// The treatment of a pod that holds the finalizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// Change nothing.
    Keep,
    /// Remove the finalizer. There is nothing to record, or it is recorded.
    RemoveFinalizer,
    /// Remove the finalizer after the first status write has stored the index (FT-07).
    RemoveFinalizerForIndex,
    /// Record the UID as a success, and remove the finalizer.
    RecordSuccess,
    /// Record the UID as a failure, and remove the finalizer.
    RecordFailure,
    /// Record the UID as a failure, and keep the finalizer.
    RecordFailureAndKeep,
}

/// Decides the treatment of each pod that holds the finalizer.
///
/// `record_indexes` is false if the first status write cannot store the newly completed indexes (see
/// [`super::status::accepts_indexes`]).
#[must_use]
pub fn account<'a>(
    view: &View<'a>,
    indexes: &Indexes<'a>,
    termination: Option<&Termination>,
    record_indexes: bool,
) -> Accounting<'a> {
    let mut accounting = still_recorded(view);
    let recorded = accounting.recorded_succeeded.len() + accounting.recorded_failed.len();
    // J-02: the room is checked before a UID is added, and only new UIDs need room.
    let mut room = view.observed.settings.max_uncounted_pods.saturating_sub(recorded);
    for pod in view.pods.iter().filter(|it| it.has_finalizer) {
        let treatment = treatment(view, indexes, termination, record_indexes, pod);
        let takes_room = !matches!(treatment, Treatment::Keep | Treatment::RemoveFinalizer);
        if treatment == Treatment::Keep || (takes_room && room == 0) {
            accounting.finalizer_remains = true;
            continue;
        }
        room -= usize::from(takes_room);
        match treatment {
            Treatment::RecordSuccess => accounting.recorded_succeeded.push(pod.facts.uid.clone()),
            Treatment::RecordFailure | Treatment::RecordFailureAndKeep => {
                accounting.recorded_failed.push(pod.facts.uid.clone());
            }
            Treatment::Keep | Treatment::RemoveFinalizer | Treatment::RemoveFinalizerForIndex => {}
        }
        if treatment != Treatment::RecordFailureAndKeep {
            accounting.finalizer_removals.push(*pod);
        }
    }
    accounting
}

/// The records of pods that still hold the finalizer, whatever their owner; the others are counted (FT-05, J-05).
fn still_recorded<'a>(view: &View<'a>) -> Accounting<'a> {
    let Some(uncounted) = view.job().status.uncounted.as_ref() else { return Accounting::default() };
    let still_held = |uids: &[Uid]| -> Vec<Uid> {
        uids.iter().filter(|it| view.recorded_with_finalizer.contains(it)).cloned().collect()
    };
    let (recorded_succeeded, recorded_failed) =
        (still_held(&uncounted.succeeded), still_held(&uncounted.failed));
    Accounting {
        counted_succeeded: uncounted.succeeded.len() - recorded_succeeded.len(),
        counted_failed: uncounted.failed.len() - recorded_failed.len(),
        recorded_succeeded,
        recorded_failed,
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
    // FT-14: all pods lose the finalizer when the Job ends or is deleted.
    let ends = termination.is_some() || deleting;
    let fails = termination.is_some_and(|it| !it.succeeds);
    match (pod.class, pod.index) {
        // BI-08.
        (PodClass::Failed, _)
            if !ends && indexes.waits_for_replacement(pod) && !view.namespace_terminating =>
        {
            Treatment::Keep
        }
        // S-03: a pod that fails its Job keeps the finalizer until the interim condition is stored (TC-08).
        (PodClass::Failed, _) if !ends && fails_job(view, pod) => {
            if pod.recorded || !pod.countable() {
                Treatment::Keep
            } else {
                Treatment::RecordFailureAndKeep
            }
        }
        (PodClass::Succeeded | PodClass::Failed, _) if pod.recorded => Treatment::RemoveFinalizer,
        // FT-09: a pod without a valid index is never counted.
        (PodClass::Succeeded | PodClass::Failed, PodIndex::Invalid) => Treatment::RemoveFinalizer,
        (PodClass::Succeeded, PodIndex::None) => Treatment::RecordSuccess,
        (PodClass::Succeeded, PodIndex::Of(index)) => {
            treatment_of_success(index, indexes, record_indexes, ends)
        }
        // PF-06.
        (PodClass::Failed, _) if is_ignored(view, pod) => Treatment::RemoveFinalizer,
        (PodClass::Failed, _) => Treatment::RecordFailure,
        // FT-15, J-04: pods that run when their Job fails have failed. The failure policy does not apply to them.
        (PodClass::Undecided, PodIndex::None | PodIndex::Of(_)) if fails => Treatment::RecordFailure,
        (PodClass::Undecided, _) if ends => Treatment::RemoveFinalizer,
        (PodClass::Undecided, _) => Treatment::Keep,
    }
}

/// PF-08: the pod matches a FailJob rule, and the status has no interim condition yet.
fn fails_job(view: &View, pod: &Pod) -> bool {
    let stored = &view.job().status.conditions;
    let is_stored =
        || [FAILURE_TARGET, SUCCESS_CRITERIA_MET].iter().any(|kind| find_true(stored, kind).is_some());
    view.policy_match(pod).is_some_and(|it| it.action == PodFailureAction::FailJob) && !is_stored()
}

/// A success is not counted if its index is stored as failed (BI-14) or as completed.
fn treatment_of_success(index: u32, indexes: &Indexes, record_indexes: bool, ends: bool) -> Treatment {
    let new = indexes.completed.contains(index) && !indexes.stored.contains(index);
    match (new, record_indexes || ends) {
        (false, _) => Treatment::RemoveFinalizer,
        (true, true) => Treatment::RemoveFinalizerForIndex,
        (true, false) => Treatment::Keep,
    }
}

impl Accounting<'_> {
    /// Returns the records after the finalizer removals, and the numbers of UIDs that left them.
    #[must_use]
    pub fn after_removals(&self) -> AfterRemovals {
        let removed: BTreeSet<&Uid> = self.finalizer_removals.iter().map(|it| &it.facts.uid).collect();
        let rest =
            |uids: &[Uid]| -> Vec<Uid> { uids.iter().filter(|it| !removed.contains(it)).cloned().collect() };
        let (succeeded, failed) = (rest(&self.recorded_succeeded), rest(&self.recorded_failed));
        AfterRemovals {
            counted_succeeded: self.recorded_succeeded.len() - succeeded.len(),
            counted_failed: self.recorded_failed.len() - failed.len(),
            recorded_succeeded: succeeded,
            recorded_failed: failed,
        }
    }
}

/// The records after the finalizer removals of a plan ([`Accounting::after_removals`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterRemovals {
    /// Successes that are still recorded.
    pub recorded_succeeded: Vec<Uid>,
    /// Failures that are still recorded.
    pub recorded_failed: Vec<Uid>,
    /// The number of successes that move to the counter.
    pub counted_succeeded: usize,
    /// The number of failures that move to the counter.
    pub counted_failed: usize,
}

/// The arguments of [`RemoveFinalizers`](super::command::Command::RemoveFinalizers) for these pods.
#[must_use]
pub fn finalizer_removals(view: &View, pods: &[Pod]) -> Vec<FinalizerRemoval> {
    let action = |pod: &Pod| view.policy_match(pod).filter(|_| pod.countable()).map(|it| it.action);
    pods.iter().map(|pod| FinalizerRemoval { pod: pod_ref(pod.facts), policy_action: action(pod) }).collect()
}

/// The reference to a pod in a command.
#[must_use]
pub fn pod_ref(pod: &PodFacts) -> PodRef {
    PodRef { name: pod.name.clone(), uid: pod.uid.clone(), resource_version: pod.resource_version.clone() }
}
