//! What a decision was taken from.

use crate::constants::Constants;
use crate::gates::Gates;
use crate::indexes::IndexSet;
use crate::job::{Job, JobSpec};
use crate::pod::{Phase, Pod};
use crate::pods::Pods;
use crate::time::Time;

/// A pair of cache states that one process may have read, and what it has done since.
///
/// A sync reads both caches once, acts, and then reports the outcome; so guards on *decisions* read
/// [`View::cache`], and guards on *reported counts* read [`View::post`] (requirements.md 0.2, PC-03).
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The Job as the Job cache shows it.
    pub job: &'a Job,
    /// The Job's pods as the Pod cache shows them, with the process's own earlier writes.
    pub cache: &'a Pods,
    /// [`View::cache`] with the process's own writes of the current sync.
    pub post: &'a Pods,
    /// Pods without a controller as the process knows them, where that is known: such a pod may be listed still, and
    /// hold its finalizer.
    pub ownerless: Option<&'a Pods>,
    /// Whether the Pod cache shows every pod that the process created in earlier syncs (PC-27, TC-08).
    pub expectations_met: bool,
    /// Whether the Pod cache may lack a deletion that the process asked for in an earlier sync: until it is seen, no
    /// pods need be managed, and no end be decided (PC-26).
    pub deletion_unseen: bool,
    /// Pods of newly completed indexes that the current sync has released, and that [`View::cache`] shows released for that: they
    /// take room in the first status write of a sync (FT-10).
    pub finalizers_removed: usize,
    /// Whether the deletion of an active pod may have failed in the current sync (TC-08).
    pub deletes_failed: bool,
    /// Whether the process was told that the namespace is being deleted: no replacement of a pod can come (PC-12, J-10).
    pub namespace_terminating: bool,
    /// The earliest instant at which it can have been decided, where that is certain: the start of the sync.
    pub earliest: Option<Time>,
    /// An instant before which it was certainly not decided: what the view shows was written then.
    pub not_before: Option<Time>,
    /// The latest instant at which the write can have been made.
    pub latest: Option<Time>,
    /// Delay that the global backoff record demands from a new pod (BO-01).
    pub backoff: Backoff,
    /// The subject's constants.
    pub constants: &'a Constants,
    /// The gates of the process. [`View::job`] is read with them.
    pub gates: Gates,
    /// Which documented deviation of the built-in the view is read with.
    pub interpretation: Interpretation,
}

/// How the counters are read: as the requirements demand, or as the built-in of 1.36 reads them in a named
/// deviation. Only the first is the specification; the others serve to put a label on a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// The requirements.
    Ideal,
    /// A listed failure that ends well counts a second time (S-01, S-02).
    FailedThenSucceeded,
    /// A listed success whose pod fails after all counts as a failure, too (S-07).
    SucceededThenFailed,
}

/// The global pod-failure backoff record (BO-01, BO-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Backoff {
    /// Consecutive failures since the last success.
    pub failures: u32,
    /// When the last of them ended.
    pub last_failure: Option<Time>,
}

impl<'a> View<'a> {
    /// The Job's specification.
    #[must_use]
    pub fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// Whether a pod is a failure under this Job's policies (FT-18).
    #[must_use]
    pub fn has_failed(&self, pod: &Pod) -> bool {
        pod.has_failed(self.spec().replaces_only_failed())
    }

    /// Whether a pod takes part in accounting: for an Indexed Job its index must be valid (FT-06, FT-09).
    #[must_use]
    pub fn is_eligible(&self, pod: &Pod) -> bool {
        pod.finalizer
            && (!self.spec().is_indexed() || pod.valid_index(self.spec().completion_count()).is_some())
    }

    /// Pods that ended well and are in no list and no counter yet.
    ///
    /// A UID in `uncounted.failed` stays a failure (FT-13): it is never a new success.
    pub fn new_successes(&self) -> impl Iterator<Item = &'a Pod> {
        let view = *self;
        view.cache.unaccounted().filter(move |pod| {
            pod.phase == Phase::Succeeded && view.is_eligible(pod) && !view.counts_as_listed(pod)
        })
    }

    fn counts_as_listed(&self, pod: &Pod) -> bool {
        let status = &self.job.status;
        let listed_failed = status.uncounted_failed().contains(&pod.uid);
        status.uncounted_succeeded().contains(&pod.uid)
            || (listed_failed && self.interpretation != Interpretation::FailedThenSucceeded)
    }

    /// Pods that failed and are in no list and no counter yet; ignored failures among them.
    pub fn new_failures(&self) -> impl Iterator<Item = &'a Pod> {
        let view = *self;
        view.cache
            .unaccounted()
            .filter(move |pod| view.has_failed(pod) && view.is_eligible(pod) && !view.is_listed_failure(pod))
    }

    fn is_listed_failure(&self, pod: &Pod) -> bool {
        match self.interpretation {
            Interpretation::SucceededThenFailed => self.job.status.uncounted_failed().contains(&pod.uid),
            Interpretation::Ideal | Interpretation::FailedThenSucceeded => {
                self.job.status.is_recorded(pod.uid)
            }
        }
    }

    /// Indexes that are completed: stored ones below `completions` and those of new successes (FT-12, PC-23). An
    /// index whose failure is stored stays failed (S-02).
    #[must_use]
    pub fn completed(&self) -> IndexSet {
        let mut set = self.job.status.completed(self.spec().completion_count());
        for pod in self.new_successes() {
            set.extend(pod.index);
        }
        if self.interpretation != Interpretation::FailedThenSucceeded
            && self.spec().backoff_limit_per_index.is_some()
        {
            let failed = self.job.status.failed_set(self.spec().completion_count());
            let stored = self.job.status.completed(self.spec().completion_count());
            set = set.minus(&failed.minus(&stored));
        }
        set
    }

    /// Indexes that have failed: stored ones below `completions` and those with a new exhausting failure
    /// (BI-01, BI-05), minus completed ones (S-02). `None` without a limit per index (BI-04).
    #[must_use]
    pub fn failed_indexes(&self, completed: &IndexSet) -> Option<IndexSet> {
        let limit = self.spec().backoff_limit_per_index?;
        let stored = self.job.status.failed_set(self.spec().completion_count());
        let mut set = stored.clone();
        for pod in self.cache.unaccounted().filter(|pod| self.is_eligible(pod) && self.has_failed(pod)) {
            if let Some(index) = pod.index.filter(|_| exhausts_index(pod, limit)) {
                let spared =
                    self.interpretation != Interpretation::FailedThenSucceeded && completed.contains(index);
                if !spared {
                    set.insert(index);
                }
            }
        }
        Some(set)
    }

    /// Successes so far: the counter, the list, and what is new (PC-04); for an Indexed Job, completed
    /// indexes (PC-21).
    #[must_use]
    pub fn succeeded(&self) -> i64 {
        if self.spec().is_indexed() {
            return i64::from(self.completed().len());
        }
        let status = &self.job.status;
        i64::from(status.succeeded)
            + len(status.uncounted_succeeded().len())
            + len(self.new_successes().count())
    }

    /// Failures so far: the counter, the list, and what is new and not ignored (BO-12).
    #[must_use]
    pub fn failed(&self) -> i64 {
        let status = &self.job.status;
        i64::from(status.failed)
            + len(status.uncounted_failed().len())
            + len(self.new_failures().filter(|pod| !pod.is_ignored()).count())
    }
}

/// Whether this failure ends its index (BI-01).
fn exhausts_index(pod: &Pod, limit: i32) -> bool {
    use crate::job::FailureAction;
    use crate::pod::PolicyMatch;
    let over_limit = i64::from(pod.failure_count) >= i64::from(limit);
    match &pod.policy {
        PolicyMatch::Action(FailureAction::FailIndex) => true,
        PolicyMatch::Action(FailureAction::Ignore) => false,
        PolicyMatch::Action(FailureAction::Count | FailureAction::FailJob | FailureAction::Unknown)
        | PolicyMatch::FailJob(_)
        | PolicyMatch::None => over_limit,
    }
}

fn len(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
