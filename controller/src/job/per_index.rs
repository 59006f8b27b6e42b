//! Completed and failed indexes, and the failed pods that wait for their replacement (families PC and BI).

use std::collections::BTreeMap;
use std::time::Duration;

use super::backoff;
use super::command::NewPod;
use super::conditions::{FAILURE_TARGET, find_true};
use super::indexes::IndexSet;
use super::observed::{Phase, PodFacts, PodFailureAction};
use super::view::{Pod, PodClass, PodState, View, waits_for_termination};
use crate::values::Text;

/// The indexes of an Indexed Job.
#[derive(Clone, Debug, Default)]
pub struct Indexes<'a> {
    /// The completed indexes in the status, without those at or above `completions` (PC-23).
    pub stored: IndexSet,
    /// The stored indexes, and the indexes of newly succeeded pods.
    pub completed: IndexSet,
    /// The failed indexes; none if the Job has no limit per index (BI-04).
    pub failed: Option<IndexSet>,
    /// The last failed pod of each index that will be tried again. The pod keeps its finalizer, and with it the failure
    /// count of its index, until the cache shows its replacement (BI-08, B33).
    pub last_failures: BTreeMap<u32, Pod<'a>>,
}

impl<'a> Indexes<'a> {
    /// Derives the indexes from the status and the pods; empty if the Job is not Indexed.
    ///
    /// An index is completed or failed, never both (BI-14, L2). Stored indexes stay as they are. Among new results of one
    /// index a success takes precedence over a failure. A pod that is recorded as failed completes no index.
    #[must_use]
    pub fn of(view: &View<'a>) -> Self {
        if !view.indexed() {
            return Indexes::default();
        }
        let status = &view.job().status;
        let parse = |text: &Option<Text>| IndexSet::parse(text.as_deref().unwrap_or(""), view.completions());
        let stored = parse(&status.completed_indexes);
        let limit = view.limit_per_index();
        let failed_before = limit.map(|_| parse(&status.failed_indexes).without(&stored)).unwrap_or_default();
        let succeeded = view.indexes_of(|pod| pod.has_finalizer && pod.class == PodClass::Succeeded);
        let completed = stored.union(&succeeded.without(&failed_before));
        let failed = limit.map(|limit| {
            let new = view.indexes_of(|pod| pod.has_finalizer && fails_index(view, pod, limit));
            failed_before.union(&new.without(&completed))
        });
        let mut indexes = Indexes { stored, completed, failed, last_failures: BTreeMap::new() };
        if limit.is_some() {
            indexes.last_failures = last_failures(view, &indexes);
        }
        indexes
    }

    /// Returns true if the failed pod keeps its finalizer until the cache shows its replacement (BI-08).
    #[must_use]
    pub fn waits_for_replacement(&self, pod: &Pod) -> bool {
        let last = pod.index().and_then(|index| self.last_failures.get(&index));
        last.is_some_and(|last| last.facts.uid == pod.facts.uid)
    }

    /// The number of failed indexes.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.failed.as_ref().map_or(0, IndexSet::len)
    }

    /// The next pod for an index. It inherits the failure counts of the pod that it replaces (BI-02).
    #[must_use]
    pub fn next_pod(&self, view: &View<'a>, index: u32) -> NewPod {
        let plain = NewPod { index: Some(index), ..NewPod::default() };
        if view.limit_per_index().is_none() {
            return plain;
        }
        let (failures, ignored) = self.last_failures.get(&index).map_or((0, 0), |last| {
            let (failures, ignored) = counts(last.facts);
            if is_ignored(view, last) {
                (failures, ignored.saturating_add(1))
            } else {
                (failures.saturating_add(1), ignored)
            }
        });
        let ignored_failure_count = (ignored > 0).then_some(ignored);
        NewPod { failure_count: Some(failures), ignored_failure_count, ..plain }
    }

    /// The remaining delay before the next pod of an index may be created (BO-10).
    #[must_use]
    pub fn delay(&self, view: &View, index: u32) -> Duration {
        let (now, settings) = (view.observed.now, view.observed.settings);
        self.last_failures.get(&index).map_or(Duration::ZERO, |last| {
            let failures = u32::try_from(failures_in_all(last.facts) + 1).unwrap_or(u32::MAX);
            backoff::left(failures, backoff::finish_time(last.facts), now, settings)
        })
    }
}

/// Returns true if the failure policy ignores the failure of the pod (PF-06).
#[must_use]
pub fn is_ignored(view: &View, pod: &Pod) -> bool {
    view.policy_match(pod).is_some_and(|it| it.action == PodFailureAction::Ignore)
}

/// BI-01: the failure of this pod makes its index a failed index.
fn fails_index(view: &View, pod: &Pod, limit: i32) -> bool {
    if !has_failed(view, pod) {
        return false;
    }
    match view.policy_match(pod).map(|it| it.action) {
        Some(PodFailureAction::FailIndex) => true,
        Some(PodFailureAction::Ignore) => false,
        Some(PodFailureAction::FailJob | PodFailureAction::Count | PodFailureAction::Unknown) | None => {
            counts(pod.facts).0 >= limit
        }
    }
}

/// Returns true if the pod failed by itself.
///
/// A pod that is recorded as failed because its Job fails may still run, or succeed.
fn has_failed(view: &View, pod: &Pod) -> bool {
    let job_fails = || find_true(&view.job().status.conditions, FAILURE_TARGET).is_some();
    pod.class == PodClass::Failed
        && match pod.state {
            PodState::Active => false,
            PodState::Terminating => !waits_for_termination(&view.observed),
            PodState::Terminated => pod.facts.phase == Phase::Failed || !job_fails(),
        }
}

fn last_failures<'a>(view: &View<'a>, indexes: &Indexes) -> BTreeMap<u32, Pod<'a>> {
    let active = active_indexes(view);
    let done =
        indexes.failed.as_ref().map_or_else(IndexSet::default, |failed| failed.union(&indexes.completed));
    let mut last: BTreeMap<u32, Pod<'a>> = BTreeMap::new();
    for pod in view.pods.iter().filter(|it| it.has_finalizer && it.class == PodClass::Failed) {
        let Some(index) = pod.index().filter(|it| !active.contains(*it) && !done.contains(*it)) else {
            continue;
        };
        let rank = |pod: &Pod| (failures_in_all(pod.facts), backoff::finish_time(pod.facts));
        let entry = last.entry(index).or_insert(*pod);
        if rank(pod) >= rank(entry) {
            *entry = *pod;
        }
    }
    last
}

/// The indexes that have an active pod.
#[must_use]
pub fn active_indexes(view: &View) -> IndexSet {
    IndexSet::of(view.active().filter_map(Pod::index).collect())
}

/// The numbers of counted and of ignored failures that a pod inherited.
fn counts(pod: &PodFacts) -> (i32, i32) {
    (count(pod.failure_count.as_ref()), count(pod.ignored_failure_count.as_ref()))
}

fn failures_in_all(pod: &PodFacts) -> i64 {
    let (failures, ignored) = counts(pod);
    i64::from(failures) + i64::from(ignored)
}

/// Parses an annotation; 0 if it is missing or is not an int32 of at least 0 (BI-03).
fn count(annotation: Option<&Text>) -> i32 {
    annotation.and_then(|text| text.parse::<i32>().ok()).filter(|it| *it >= 0).unwrap_or(0)
}
