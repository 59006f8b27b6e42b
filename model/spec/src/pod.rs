//! A pod as the specification sees it.

use std::hash::{Hash, Hasher};

use crate::indexes::Index;
use crate::job::{FailureAction, Text};
use crate::time::Time;
use crate::uid::Uid;

/// The tracking finalizer (S-16).
pub const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A Pod, reduced to what a Job controller may decide by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: Uid,
    /// Whether the tracking finalizer is present.
    pub finalizer: bool,
    /// Whether any other finalizer is present.
    pub other_finalizers: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether it is being deleted without grace, and has not ended: it goes as soon as no finalizer holds it (SY-12).
    pub forced: bool,
    /// Whether the condition DisruptionTarget is `True`.
    pub disrupted: bool,
    /// Whether its controller is the Job that is looked at; else it has none.
    pub controlled: bool,
    /// In a world, which Job of the name controls it ([`crate::incarnation`]); a trace has the pods of one Job alone.
    pub incarnation: u8,
    /// Whether the Job's selector matches its labels.
    pub selected: bool,
    /// Whether the Ready condition is `True`.
    pub ready: bool,
    /// Whether `spec.nodeName` is set.
    pub scheduled: bool,
    /// The completion index, where the annotation holds one.
    pub index: Option<Index>,
    /// `job-index-failure-count` (BI-03: 0 where it cannot be read).
    pub failure_count: u32,
    /// `job-index-ignored-failure-count` (BI-02).
    pub ignored_failure_count: u32,
    /// Sum of `restartCount` over init and regular containers (BO-13).
    pub restarts: u32,
    /// Largest `restartCount` of a container (PC-09).
    pub max_restarts: u32,
    /// `metadata.creationTimestamp`.
    pub created: Time,
    /// `lastTransitionTime` of the Ready condition.
    pub ready_changed: Option<Time>,
    /// When the pod ended, by BO-07: of one that has not ended when its deletion was asked for, and `None` while it runs.
    pub finished: Option<Time>,
    /// What the Job's pod failure policy says of it (PF-01), decided when the pod was read.
    pub policy: PolicyMatch,
}

impl Hash for Pod {
    /// Hashes what differs between the pods of one Job, small fields together: an exploration hashes pods all the time.
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

/// The first rule of a pod failure policy that a failed pod matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum PolicyMatch {
    /// No rule matches, or there is no policy: the failure counts.
    #[default]
    None,
    /// A rule with this action matches.
    Action(FailureAction),
    /// A FailJob rule matches; the message that its condition carries (PF-07).
    FailJob(Text),
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Not started; also an empty phase.
    Pending,
    /// Started.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// `Unknown`.
    Unknown,
}

impl Pod {
    /// A pod of the Job that has not begun to run, without the tracking finalizer.
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

    /// A DELETE was handled at this instant, from which a pod is dated that has not ended (BO-07). Nobody has to end one
    /// that was never scheduled (SY-12).
    pub fn delete(&mut self, now: Time) {
        self.deleting = true;
        self.finished.get_or_insert(now);
        self.forced |= !self.scheduled && !self.is_terminated();
    }

    /// Phase `Succeeded` or `Failed`: the pod has terminated.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// When the pod ended, was deleted, or else was created: the first of these that is known (BO-07).
    #[must_use]
    pub fn finish_time(&self) -> Time {
        self.finished.unwrap_or(self.created)
    }

    /// Counts for `status.active` (PC-01).
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.is_terminated() && !self.deleting
    }

    /// Counts for `status.terminating` (PC-02).
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        !self.is_terminated() && self.deleting
    }

    /// Counts for `status.ready` (PC-03).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_active() && self.ready
    }

    /// Whether the pod is a failure for the counters (FT-18, RP-03, RP-04): phase `Failed`, or, where a
    /// replacement does not wait for the end, being deleted without having succeeded.
    #[must_use]
    pub fn has_failed(&self, replaces_only_failed: bool) -> bool {
        self.phase == Phase::Failed
            || (!replaces_only_failed && self.deleting && self.phase != Phase::Succeeded)
    }

    /// Whether the failure is not counted, by an Ignore rule (PF-06).
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.policy == PolicyMatch::Action(FailureAction::Ignore)
    }

    /// The index, if it lies below `completions` (FT-06, FT-09).
    #[must_use]
    pub fn valid_index(&self, completions: Option<u32>) -> Option<Index> {
        self.index.filter(|index| completions.is_none_or(|n| *index < n))
    }
}
