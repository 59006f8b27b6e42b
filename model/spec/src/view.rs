//! Views: what a process may have read when it decided on a write.
//!
//! Kubernetes controllers read caches, which lag behind etcd. A trace shows the writes but not the caches. A guard is
//! therefore asked about *views*, each of which is a state that the caches may have had.
//!
//! The caller chooses the allowed views by the rules of `docs/reference/judging.md`, section 1. Each cache is a prefix
//! of the history, a view only advances, and it contains the process's own acknowledged writes.

use std::collections::BTreeSet;

use crate::constants::Constants;
use crate::gates::Gates;
use crate::indexes::IndexSet;
use crate::job::{Job, JobSpec};
use crate::listed::Listed;
use crate::pod::{Phase, Pod};
use crate::pods::Pods;
use crate::time::{Clocks, Time};
use crate::uid::Uid;

/// A state of the Job cache and of the Pod cache that one process may have read, and the memory of that process.
///
/// One sync reads both caches once, acts, and then writes the status (`docs/reference/built-in.md`, section 0.2).
/// Guards on a *decision* therefore read [`View::cache`]. Guards on a *reported count* read [`View::post`], which
/// contains the creations and deletions of the sync itself (PC-03).
///
/// [`View::of`] returns a view without lag. A caller that knows more sets the fields in which its view differs.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The Job as the Job cache shows it.
    pub job: &'a Job,
    /// The pods that the Job controls as the Pod cache shows them, with the process's own writes of earlier syncs.
    pub cache: &'a Pods,
    /// [`View::cache`] with the process's own writes of the current sync.
    pub post: &'a Pods,
    /// The ownerless pods that the process knows; `None` if the caller does not know them.
    ///
    /// The UID of such a pod may still be recorded in the status, and the pod may still hold the tracking finalizer.
    pub ownerless: Option<&'a Pods>,
    /// The pods that were counted, and hold the tracking finalizer again: somebody has put it back, or the process has adopted
    /// them again. Nobody may count them a second time (S-05). `None` if there are none.
    pub settled: Option<&'a BTreeSet<Uid>>,
    /// True if the Pod cache shows every pod that the process created in earlier syncs (PC-27, TC-08).
    pub expectations_met: bool,
    /// True if the Pod cache may lack a deletion that the process requested in an earlier sync (PC-26).
    ///
    /// Until the cache shows the deletion, the process need not manage pods or decide on the termination of the Job.
    pub deletion_unseen: bool,
    /// The number of pods of newly completed indexes whose finalizers the current sync has removed.
    ///
    /// [`View::cache`] shows these pods without the finalizer. They count against the cap of the first status write of
    /// the sync (FT-10).
    pub finalizers_removed: usize,
    /// True if the deletion of an active pod may have failed in the current sync (TC-08).
    pub deletes_failed: bool,
    /// True if a response has shown the process that the namespace is terminating, so that no pod can be created
    /// (PC-12, J-10).
    pub namespace_terminating: bool,
    /// The start of the sync, if it is known: the decision was not made before.
    pub earliest: Option<Time>,
    /// The time of the newest write that the view must contain: the decision was not made before.
    pub not_before: Option<Time>,
    /// The latest time at which the write was sent, if it is known.
    pub latest: Option<Time>,
    /// The backoff record of the process, which may delay a new pod (BO-01).
    pub backoff: Backoff,
    /// The constants of the controller.
    pub constants: &'a Constants,
    /// The gates of the process. [`View::job`] is already read with them ([`Gates::read`]).
    pub gates: Gates,
    /// The interpretation of pods whose phase has changed after they were recorded.
    pub interpretation: Interpretation,
    /// The clocks of the times in the view.
    pub clocks: Clocks,
}

/// The interpretation of a pod whose phase changes from Failed to Succeeded, or back, after its UID was recorded.
///
/// The specification is [`Interpretation::Ideal`]. The others emulate a known deviation of the built-in controller, and
/// serve to label a violation with it (`docs/reference/judging.md`, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// The first record of a UID wins, as the requirements demand (FT-13, S-07).
    Ideal,
    /// A pod that is recorded as failed and then succeeds counts a second time, as a success (S-01, S-02).
    FailedThenSucceeded,
    /// A pod that is recorded as succeeded and then fails counts a second time, as a failure (S-07).
    SucceededThenFailed,
}

/// The failures that delay the next pod of a Job without limits per index (BO-01, BO-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Backoff {
    /// The number of consecutive failures since the last success.
    pub failures: u32,
    /// The finish time of the latest of these failures (BO-07).
    pub last_failure: Option<Time>,
}

impl<'a> View<'a> {
    /// The view of a process whose caches show this Job and these pods, and that remembers nothing.
    ///
    /// It has the constants and gates of Kubernetes 1.36, no unseen creation or deletion, no failures that delay a
    /// pod, and no bounds of time.
    #[must_use]
    pub fn of(job: &'a Job, pods: &'a Pods) -> View<'a> {
        View {
            job,
            cache: pods,
            post: pods,
            ownerless: None,
            settled: None,
            expectations_met: true,
            deletion_unseen: false,
            finalizers_removed: 0,
            deletes_failed: false,
            namespace_terminating: false,
            earliest: None,
            not_before: None,
            latest: None,
            backoff: Backoff::default(),
            constants: &Constants::V1_36,
            gates: Gates::ON,
            interpretation: Interpretation::Ideal,
            clocks: Clocks::One,
        }
    }

    /// The specification of the Job.
    #[must_use]
    pub fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// Returns whether a pod counts as a failure under the policies of this Job (FT-18).
    #[must_use]
    pub fn has_failed(&self, pod: &Pod) -> bool {
        pod.has_failed(self.spec().replaces_only_failed())
    }

    /// Returns whether a pod was counted before, although it holds the tracking finalizer (S-05).
    #[must_use]
    pub fn is_settled(&self, uid: Uid) -> bool {
        self.settled.is_some_and(|settled| settled.contains(&uid))
    }

    /// Returns whether a pod is accounted for: it holds the tracking finalizer, and was not counted before. If the Job is
    /// Indexed, its index is below `completions` (FT-06, FT-09).
    #[must_use]
    pub fn is_eligible(&self, pod: &Pod) -> bool {
        pod.finalizer
            && !self.is_settled(pod.uid)
            && (!self.spec().is_indexed() || pod.valid_index(self.spec().completion_count()).is_some())
    }

    /// The succeeded pods that are neither recorded nor counted yet.
    ///
    /// A UID in `uncountedTerminatedPods.failed` stays a failure and is never a new success (FT-13).
    pub fn new_successes(&self) -> impl Iterator<Item = &'a Pod> {
        let (view, recorded) = (*self, self.recorded_for_success());
        view.cache.unaccounted().filter(move |pod| {
            pod.phase == Phase::Succeeded && view.is_eligible(pod) && !recorded.has(pod.uid)
        })
    }

    /// The UIDs that the status has already, so that they are no new successes.
    fn recorded_for_success(&self) -> Listed<'a> {
        let status = &self.job.status;
        match self.interpretation {
            Interpretation::FailedThenSucceeded => Listed::of(status.uncounted_succeeded(), &[]),
            Interpretation::Ideal | Interpretation::SucceededThenFailed => {
                Listed::of(status.uncounted_succeeded(), status.uncounted_failed())
            }
        }
    }

    /// The failed pods that are neither recorded nor counted yet, including those whose failure a policy ignores.
    pub fn new_failures(&self) -> impl Iterator<Item = &'a Pod> {
        let (view, recorded) = (*self, self.recorded_for_failure());
        view.cache
            .unaccounted()
            .filter(move |pod| view.has_failed(pod) && view.is_eligible(pod) && !recorded.has(pod.uid))
    }

    /// The UIDs that the status has already, so that they are no new failures.
    fn recorded_for_failure(&self) -> Listed<'a> {
        let status = &self.job.status;
        match self.interpretation {
            Interpretation::SucceededThenFailed => Listed::of(&[], status.uncounted_failed()),
            Interpretation::Ideal | Interpretation::FailedThenSucceeded => {
                Listed::of(status.uncounted_succeeded(), status.uncounted_failed())
            }
        }
    }

    /// The completed indexes: the stored ones below `completions`, and those of new successes (FT-12, PC-23).
    ///
    /// An index that is stored as failed stays failed (S-02).
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

    /// The failed indexes: the stored ones below `completions`, and those with a new failure that exhausts the limit
    /// per index (BI-01, BI-05).
    ///
    /// A `completed` index does not fail any more (S-02). The result is `None` without `backoffLimitPerIndex` (BI-04).
    #[must_use]
    pub fn failed_indexes(&self, completed: &IndexSet) -> Option<IndexSet> {
        let limit = self.spec().backoff_limit_per_index?;
        let stored = self.job.status.failed_set(self.spec().completion_count());
        let mut set = stored.clone();
        for pod in self.cache.unaccounted().filter(|pod| self.is_eligible(pod) && self.has_failed(pod)) {
            if let Some(index) = pod.index.filter(|_| exhausts_index(pod, limit)) {
                let is_completed =
                    self.interpretation != Interpretation::FailedThenSucceeded && completed.contains(index);
                if !is_completed {
                    set.insert(index);
                }
            }
        }
        Some(set)
    }

    /// The number of successes: counted, recorded, and new ones (PC-04); for an Indexed Job, the number of completed
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

    /// The number of failures: counted, recorded, and new ones, without ignored failures (BO-12).
    #[must_use]
    pub fn failed(&self) -> i64 {
        let status = &self.job.status;
        i64::from(status.failed)
            + len(status.uncounted_failed().len())
            + len(self.new_failures().filter(|pod| !pod.is_ignored()).count())
    }
}

/// Returns whether a failure of this pod makes its index fail under this limit (BI-01).
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
