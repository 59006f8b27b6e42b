//! The pods to create, and the batches in which they are created (PC-08, PC-11, PC-18, BO-02, BO-11).

use std::time::Duration;

use super::backoff;
use super::command::{Creation, CreationReason, NewPod};
use super::memory::BackoffRecord;
use super::observed::PodReplacementPolicy;
use super::per_index::{Indexes, active_indexes};
use super::termination::Tally;
use super::view::{PodState, View, waits_for_termination};

/// Returns the sizes of the batches in which pods are created: 1, 2, 4, …, and the rest as the last batch (PC-11).
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

/// The missing pods of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Missing {
    /// The pods to create now.
    pub create: Vec<NewPod>,
    /// The time after which more pods can be created, if any.
    pub wait: Option<Duration>,
}

/// Returns at most `count` missing pods: those to create now, and the delay of the others.
#[must_use]
pub fn missing(view: &View, indexes: &Indexes, record: &BackoffRecord, count: usize) -> Missing {
    if view.limit_per_index().is_some() {
        return each_after_its_delay(view, indexes, count);
    }
    let settings = view.observed.settings;
    let left = backoff::remaining(record, view.observed.now, settings);
    if left > Duration::ZERO {
        // BO-02: the delay applies to every index, even to those without a failure.
        return Missing { create: Vec::new(), wait: Some(left.max(settings.sync_batch_period)) };
    }
    let create = if view.indexed() {
        pending(view, indexes, count).into_iter().map(|index| indexes.next_pod(view, index)).collect()
    } else {
        vec![NewPod::default(); count]
    };
    Missing { create, wait: None }
}

/// BO-11: the first pending indexes, as far as their delay has passed.
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

/// The lowest indexes that have no active pod, and are neither completed nor failed (PC-18).
///
/// If a replacement waits for termination, they have no terminating pod either (RP-03).
fn pending(view: &View, indexes: &Indexes, count: usize) -> Vec<u32> {
    let mut taken = indexes.completed.union(&active_indexes(view));
    if let Some(failed) = &indexes.failed {
        taken = taken.union(failed);
    }
    if waits_for_termination(&view.observed) {
        taken = taken.union(&view.indexes_of(|pod| pod.state == PodState::Terminating));
    }
    taken.missing(view.completions(), count)
}

/// The arguments of the command that creates these pods.
#[must_use]
pub fn creation(view: &View, tally: Tally, pods: Vec<NewPod>) -> Creation {
    Creation { pods, reason: reason(view, tally) }
}

/// The `reason` label of the created pods (MX-12).
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
