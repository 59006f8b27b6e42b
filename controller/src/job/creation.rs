//! Which pods to create, and in which batches (PC-08, PC-11, PC-18, BO-02, BO-11).

use std::time::Duration;

use super::backoff;
use super::command::{Creation, CreationReason, NewPod};
use super::observed::{BackoffRecord, PodReplacementPolicy};
use super::per_index::{Indexes, active_indexes};
use super::termination::Tally;
use super::view::{PodState, View, waits_for_end};

/// Sizes of the batches in which pods are created: 1, 2, 4, …, the last one what is left (PC-11).
pub fn batches(pods: usize) -> impl Iterator<Item = usize> {
    let mut left = pods;
    let mut next = 1;
    std::iter::from_fn(move || {
        let size = next.min(left);
        left -= size;
        next = next.saturating_mul(2);
        (size > 0).then_some(size)
    })
}

/// What becomes of missing pods.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Missing {
    /// Pods to create now.
    pub create: Vec<NewPod>,
    /// When more can be created, if that is later.
    pub wait: Option<Duration>,
}

/// At most `count` pods: now, or after the delay of a failure.
#[must_use]
pub fn missing(view: &View, indexes: &Indexes, record: &BackoffRecord, count: usize) -> Missing {
    if view.limit_per_index().is_some() {
        return each_after_its_delay(view, indexes, count);
    }
    let settings = view.observed.settings;
    let left = backoff::remaining(record, view.observed.now, settings);
    if left > Duration::ZERO {
        // BO-02: nothing is created, not even for indexes that have not failed.
        return Missing { create: Vec::new(), wait: Some(left.max(settings.sync_batch_period)) };
    }
    let create = if view.indexed() {
        pending(view, indexes, count).into_iter().map(|index| indexes.next_pod(view, index)).collect()
    } else {
        vec![NewPod::default(); count]
    };
    Missing { create, wait: None }
}

/// BO-11: of the first pending indexes, those whose delay is over.
fn each_after_its_delay(view: &View, indexes: &Indexes, count: usize) -> Missing {
    let mut missing = Missing::default();
    for index in pending(view, indexes, count) {
        let left = indexes.delay(view, index);
        if left.is_zero() {
            missing.create.push(indexes.next_pod(view, index));
        } else {
            let wait = left.max(view.observed.settings.sync_batch_period);
            missing.wait = Some(missing.wait.map_or(wait, |other| other.min(wait)));
        }
    }
    missing
}

/// The lowest indexes that have no pod at work, are not completed and have not failed; where an end is waited for, that
/// have no pod that terminates either (PC-18, RP-03).
fn pending(view: &View, indexes: &Indexes, count: usize) -> Vec<u32> {
    let mut taken = indexes.completed.union(&active_indexes(view));
    if let Some(failed) = &indexes.failed {
        taken = taken.union(failed);
    }
    if waits_for_end(&view.observed) {
        taken = taken.union(&view.indexes_of(|pod| pod.state == PodState::Terminating));
    }
    taken.missing(view.completions(), count)
}

/// The command that creates them.
#[must_use]
pub fn creation(view: &View, tally: Tally, pods: Vec<NewPod>) -> Creation {
    Creation { pods, reason: reason(view, tally) }
}

/// MX-12.
fn reason(view: &View, tally: Tally) -> CreationReason {
    let failed_only = view.job().spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    let failures = tally.failed > 0;
    if !view.gates().pod_replacement_policy {
        CreationReason::New
    } else if failed_only && failures {
        CreationReason::RecreateFailed
    } else if failures || view.terminating_count() > 0 {
        CreationReason::RecreateTerminatingOrFailed
    } else {
        CreationReason::New
    }
}
