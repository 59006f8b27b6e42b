//! Pods, reduced to the facts from which a Job controller may decide.

use crate::indexes::Index;
use crate::job::{FailureAction, Text};
use crate::time::Time;
use crate::uid::Uid;
use std::hash::{Hash, Hasher};

/// The tracking finalizer, which keeps a terminated pod until it is counted (KEP-2307, S-16).
pub const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A pod, reduced to the facts from which a Job controller may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: Uid,
    /// True if the tracking finalizer is present.
    pub finalizer: bool,
    /// True if any other finalizer is present.
    pub other_finalizers: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// True if the pod is being deleted without a grace period and has not terminated.
    ///
    /// Such a pod disappears as soon as it has no finalizer, and need not terminate before (SY-12).
    pub forced: bool,
    /// True if the condition DisruptionTarget is `True`.
    pub disrupted: bool,
    /// True if the Job in question is the controller of the pod. If not, the pod is ownerless.
    pub controlled: bool,
    /// In the explorer, the Job of this name that controls the pod ([`crate::incarnation`]); 0 in a trace.
    pub incarnation: u8,
    /// True if the selector of the Job matches the labels of the pod.
    pub selected: bool,
    /// True if the Ready condition is `True`.
    pub ready: bool,
    /// True if `spec.nodeName` is set.
    pub scheduled: bool,
    /// The completion index, if the annotation has a valid number.
    pub index: Option<Index>,
    /// The annotation `job-index-failure-count`; 0 if it is missing or malformed (BI-03).
    pub failure_count: u32,
    /// The annotation `job-index-ignored-failure-count`; 0 if it is missing or malformed (BI-02).
    pub ignored_failure_count: u32,
    /// The sum of `restartCount` over init and regular containers (BO-13).
    pub restarts: u32,
    /// The largest `restartCount` of a container (PC-09).
    pub max_restarts: u32,
    /// `metadata.creationTimestamp`.
    pub created: Time,
    /// `lastTransitionTime` of the Ready condition.
    pub ready_changed: Option<Time>,
    /// The finish time by BO-07: the end of a terminated pod, else the time of its deletion; `None` while it runs.
    pub finished: Option<Time>,
    /// The rule of the Job's `podFailurePolicy` that the pod matches (PF-01), evaluated when the pod was read.
    pub policy: PolicyMatch,
}

impl Hash for Pod {
    /// Hashes the fields that differ between the pods of one Job, small ones packed into one word, because an
    /// exploration hashes many pods.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let flags = [
            self.finalizer,
            self.other_finalizers,
            self.deleting,
            self.forced,
            self.disrupted,
            self.controlled,
            self.selected,
            self.ready,
            self.scheduled,
        ];
        let flags = flags.iter().fold(self.phase as u64, |word, flag| word << 1 | u64::from(*flag));
        let index = self.index.map_or(0, |index| u64::from(index) + 1);
        let uid = u64::try_from(self.uid.0 & u128::from(u64::MAX)).unwrap_or_default();
        (uid, flags << 48 ^ index << 16 ^ u64::from(self.failure_count)).hash(state);
        let restarts = u64::from(self.restarts) << 32 ^ u64::from(self.max_restarts) << 16;
        (restarts ^ u64::from(self.ignored_failure_count)).hash(state);
        (self.created, self.ready_changed, self.finished).hash(state);
        self.policy.hash(state);
    }
}

/// The first rule of a `podFailurePolicy` that a failed pod matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PolicyMatch {
    /// No rule matches, or the Job has no policy: the failure counts.
    #[default]
    None,
    /// A rule with this action, other than FailJob, matches.
    Action(FailureAction),
    /// A FailJob rule matches. The text is the message of the condition FailureTarget (PF-07).
    FailJob(Text),
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Phase {
    /// `Pending`, or an empty phase.
    Pending,
    /// `Running`.
    Running,
    /// `Succeeded`: terminated, and every container succeeded.
    Succeeded,
    /// `Failed`: terminated, and some container failed.
    Failed,
    /// `Unknown`.
    Unknown,
}

impl Pod {
    /// A pending pod that the Job controls, without the tracking finalizer, index, or failures.
    #[must_use]
    pub fn new(uid: Uid) -> Pod {
        Pod {
            uid,
            finalizer: false,
            other_finalizers: false,
            phase: Phase::Pending,
            deleting: false,
            forced: false,
            disrupted: false,
            controlled: true,
            incarnation: 0,
            selected: true,
            ready: false,
            scheduled: true,
            index: None,
            failure_count: 0,
            ignored_failure_count: 0,
            restarts: 0,
            max_restarts: 0,
            created: Time::default(),
            ready_changed: None,
            finished: None,
            policy: PolicyMatch::None,
        }
    }

    /// Applies a DELETE that the API server has handled at `now`.
    ///
    /// The finish time becomes `now` if the pod has not terminated (BO-07). A pod without a node is deleted without a
    /// grace period, because no kubelet has to stop it (SY-12).
    pub fn delete(&mut self, now: Time) {
        self.deleting = true;
        self.finished.get_or_insert(now);
        self.forced |= !self.scheduled && !self.is_terminated();
    }

    /// Returns whether the pod has terminated: its phase is `Succeeded` or `Failed`.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Returns whether no kubelet stops the pod first if it is deleted: it has no node, or has terminated (SY-12).
    #[must_use]
    pub fn needs_no_stop(&self) -> bool {
        !self.scheduled || self.is_terminated()
    }

    /// Returns whether the API server removes the pod as soon as it is deleted: no finalizer and no kubelet keeps it
    /// (SY-12).
    #[must_use]
    pub fn goes_at_once(&self) -> bool {
        !self.finalizer && !self.other_finalizers && self.needs_no_stop()
    }

    /// The finish time of a failed pod, or its creation time if no other time is known (BO-07).
    #[must_use]
    pub fn finish_time(&self) -> Time {
        self.finished.unwrap_or(self.created)
    }

    /// Returns whether the pod counts in `status.active`: it has not terminated and is not being deleted (PC-01).
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.is_terminated() && !self.deleting
    }

    /// Returns whether the pod counts in `status.terminating`: it is being deleted and has not terminated (PC-02).
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        !self.is_terminated() && self.deleting
    }

    /// Returns whether the pod counts in `status.ready`: it is active and ready (PC-03).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_active() && self.ready
    }

    /// Returns whether the pod counts as a failure (FT-18, RP-03, RP-04).
    ///
    /// A pod in phase `Failed` does. If pods are not `replaces_only_failed`, a pod that is being deleted does as well
    /// unless it has succeeded ([`JobSpec::replaces_only_failed`](crate::job::JobSpec::replaces_only_failed)).
    #[must_use]
    pub fn has_failed(&self, replaces_only_failed: bool) -> bool {
        self.phase == Phase::Failed
            || (!replaces_only_failed && self.deleting && self.phase != Phase::Succeeded)
    }

    /// Returns whether an Ignore rule matches the pod, so that its failure is not counted (PF-06).
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.policy == PolicyMatch::Action(FailureAction::Ignore)
    }

    /// The index of the pod if it is below `completions`; any index if `completions` is `None` (FT-06, FT-09).
    #[must_use]
    pub fn valid_index(&self, completions: Option<u32>) -> Option<Index> {
        self.index.filter(|index| completions.is_none_or(|n| *index < n))
    }
}
