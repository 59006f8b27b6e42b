//! Indexes that are completed, that have failed, and the failed pods that wait for their replacement (families PC, BI).

use std::collections::BTreeMap;
use std::time::Duration;

use super::backoff;
use super::command::NewPod;
use super::conditions::{FAILURE_TARGET, find_true};
use super::indexes::IndexSet;
use super::observed::{Phase, PodFacts, PodFailureAction};
use super::view::{Pod, PodState, Verdict, View, waits_for_end};
use crate::values::Text;

/// The indexes of an Indexed Job.
#[derive(Clone, Debug, Default)]
pub struct Indexes<'a> {
    /// As the status has them, less those that the Job does not have any more (PC-23).
    pub stored: IndexSet,
    /// With those that have succeeded since.
    pub completed: IndexSet,
    /// Indexes that have failed; none without a limit for each index (BI-04).
    pub failed: Option<IndexSet>,
    /// For each index that will be tried again, its last failed pod. It keeps the finalizer, so that its count of
    /// failures outlives it, until its replacement is seen (BI-08, B33).
    pub last_failures: BTreeMap<u32, Pod<'a>>,
}

impl<'a> Indexes<'a> {
    /// What the status and the pods say; nothing for a Job without indexes.
    ///
    /// An index is completed or failed, never both (BI-14, L2): what is stored stands; of what is new a success beats a
    /// failure, and a pod that is recorded as failed completes nothing.
    #[must_use]
    pub fn of(view: &View<'a>) -> Self {
        if !view.indexed() {
            return Indexes::default();
        }
        let status = &view.job().status;
        let read = |text: &Option<Text>| IndexSet::parse(text.as_deref().unwrap_or(""), view.completions());
        let stored = read(&status.completed_indexes);
        let limit = view.limit_per_index();
        let failed_before = limit.map(|_| read(&status.failed_indexes).without(&stored)).unwrap_or_default();
        let succeeded = view.indexes_of(|pod| pod.holds && pod.verdict == Verdict::Succeeded);
        let completed = stored.union(&succeeded.without(&failed_before));
        let failed = limit.map(|limit| {
            let new = view.indexes_of(|pod| pod.holds && fails_index(view, pod, limit));
            failed_before.union(&new.without(&completed))
        });
        let mut indexes = Indexes { stored, completed, failed, last_failures: BTreeMap::new() };
        if limit.is_some() {
            indexes.last_failures = last_failures(view, &indexes);
        }
        indexes
    }

    /// Whether a failed pod keeps its finalizer until its replacement is seen (BI-08).
    #[must_use]
    pub fn waits_for_replacement(&self, pod: &Pod) -> bool {
        let last = pod.index().and_then(|index| self.last_failures.get(&index));
        last.is_some_and(|last| last.facts.uid == pod.facts.uid)
    }

    /// How many indexes have failed.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.failed.as_ref().map_or(0, IndexSet::len)
    }

    /// The next pod for an index: it inherits the counts of the one that it replaces (BI-02).
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

    /// How long the next pod of an index has to wait (BO-10).
    #[must_use]
    pub fn delay(&self, view: &View, index: u32) -> Duration {
        let (now, settings) = (view.observed.now, view.observed.settings);
        self.last_failures.get(&index).map_or(Duration::ZERO, |last| {
            let failures = u32::try_from(failures_in_all(last.facts) + 1).unwrap_or(u32::MAX);
            backoff::left(failures, backoff::finish_time(last.facts), now, settings)
        })
    }
}

/// Whether the failure policy says that a failure does not count (PF-06).
#[must_use]
pub fn is_ignored(view: &View, pod: &Pod) -> bool {
    view.policy_match(pod).is_some_and(|it| it.action == PodFailureAction::Ignore)
}

/// BI-01.
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

/// Whether a pod has failed by itself. One that is recorded as failed because its Job fails may still be at work, or end
/// well.
fn has_failed(view: &View, pod: &Pod) -> bool {
    let job_fails = || find_true(&view.job().status.conditions, FAILURE_TARGET).is_some();
    pod.verdict == Verdict::Failed
        && match pod.state {
            PodState::Active => false,
            PodState::Terminating => !waits_for_end(&view.observed),
            PodState::Terminated => pod.facts.phase == Phase::Failed || !job_fails(),
        }
}

fn last_failures<'a>(view: &View<'a>, indexes: &Indexes) -> BTreeMap<u32, Pod<'a>> {
    let active = active_indexes(view);
    let done =
        indexes.failed.as_ref().map_or_else(IndexSet::default, |failed| failed.union(&indexes.completed));
    let mut last: BTreeMap<u32, Pod<'a>> = BTreeMap::new();
    for pod in view.pods.iter().filter(|it| it.holds && it.verdict == Verdict::Failed) {
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

/// Indexes on which a pod is at work.
#[must_use]
pub fn active_indexes(view: &View) -> IndexSet {
    IndexSet::of(view.active().filter_map(Pod::index).collect())
}

/// The counts of failures, and of ignored failures, that a pod inherited.
fn counts(pod: &PodFacts) -> (i32, i32) {
    (count(pod.failure_count.as_ref()), count(pod.ignored_failure_count.as_ref()))
}

fn failures_in_all(pod: &PodFacts) -> i64 {
    let (failures, ignored) = counts(pod);
    i64::from(failures) + i64::from(ignored)
}

/// Zero for what is missing, no number, negative or too large (BI-03).
fn count(annotation: Option<&Text>) -> i32 {
    annotation.and_then(|text| text.parse::<i32>().ok()).filter(|it| *it >= 0).unwrap_or(0)
}
