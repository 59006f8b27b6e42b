//! Jobs (`batch/v1`), reduced to the fields that a requirement names.
//!
//! Fields have the names of the API in snake case. Values of a newer Kubernetes become `Unknown` variants. Parts that
//! are only compared are digests: equal values have equal digests.

mod policies;
mod sorted;

pub use policies::{
    ConditionPattern, FailureAction, OnExitCodes, PodFailurePolicy, PodFailureRule, SuccessPolicy,
    SuccessRule,
};
pub use sorted::Conditions;

use crate::indexes::{Index, IndexSet};
use crate::time::Time;
use crate::uid::Uid;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A text of an object, shared between its versions.
pub type Text = Arc<str>;

/// The value of `spec.managedBy` that names the built-in controller (MB-01).
pub const BUILT_IN: &str = "kubernetes.io/job-controller";

/// A `batch/v1` Job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.generation`; 0 if the source does not show it.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created: Time,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Text>,
    /// `metadata.labels`, `metadata.annotations`, and `metadata.ownerReferences`, shared between versions.
    pub metadata: Arc<JobMetadata>,
    /// A digest of `lastProbeTime` of the conditions; 0 if none is set. No rule reads these times, but a change of one is
    /// a write.
    pub probes_digest: u64,
    /// `spec`, shared between the versions of one Job.
    pub spec: Arc<JobSpec>,
    /// `status`.
    pub status: JobStatus,
}

/// Parts of `metadata` that several actors write, each with a digest of its value, sorted by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobMetadata {
    /// `labels`.
    pub labels: Vec<(Text, u64)>,
    /// `annotations`.
    pub annotations: Vec<(Text, u64)>,
    /// `ownerReferences`, by kind and name.
    pub owners: Vec<(Text, u64)>,
}

impl Hash for Job {
    /// Hashes the fields that usually differ between the versions of one Job, because an exploration hashes many
    /// versions.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let spec = &self.spec;
        (self.uid, self.generation, self.created, self.deleting, &self.finalizers).hash(state);
        (spec.parallelism, spec.completions, spec.suspend, spec.ttl_seconds_after_finished).hash(state);
        (spec.active_deadline_seconds, spec.backoff_limit).hash(state);
        self.status.hash(state);
    }
}

impl Job {
    /// Returns whether the built-in controller manages the Job: `managedBy` is unset or [`BUILT_IN`] (MB-02).
    #[must_use]
    pub fn is_managed_by_built_in(&self) -> bool {
        self.spec.managed_by.as_deref().is_none_or(|manager| manager == BUILT_IN)
    }
}

/// `spec` of a Job, with the defaults that the API server sets. In `JobSpec::default()` no field is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobSpec {
    /// `parallelism`.
    pub parallelism: Option<i32>,
    /// `completions`; `None` for a work-queue Job.
    pub completions: Option<i32>,
    /// `activeDeadlineSeconds`.
    pub active_deadline_seconds: Option<i64>,
    /// `backoffLimit`.
    pub backoff_limit: Option<i32>,
    /// `backoffLimitPerIndex`.
    pub backoff_limit_per_index: Option<i32>,
    /// `maxFailedIndexes`.
    pub max_failed_indexes: Option<i32>,
    /// `ttlSecondsAfterFinished`.
    pub ttl_seconds_after_finished: Option<i32>,
    /// `completionMode`.
    pub completion_mode: Option<CompletionMode>,
    /// `suspend`.
    pub suspend: Option<bool>,
    /// `manualSelector`.
    pub manual_selector: Option<bool>,
    /// `podReplacementPolicy`.
    pub pod_replacement_policy: Option<PodReplacementPolicy>,
    /// `podFailurePolicy`.
    pub pod_failure_policy: Option<PodFailurePolicy>,
    /// `successPolicy`.
    pub success_policy: Option<SuccessPolicy>,
    /// `managedBy`.
    pub managed_by: Option<Text>,
    /// `selector`.
    pub selector: Selector,
    /// `template`.
    pub template: Template,
}

impl JobSpec {
    /// Returns whether `completionMode` is `Indexed`.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        self.completion_mode == Some(CompletionMode::Indexed)
    }

    /// Returns whether `suspend` is true.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    /// `completions` as a count, 0 if it is negative; `None` for a work-queue Job.
    #[must_use]
    pub fn completion_count(&self) -> Option<u32> {
        self.completions.map(|n| u32::try_from(n).unwrap_or(0))
    }

    /// `parallelism` as a count: 1 if it is unset, 0 if it is negative.
    #[must_use]
    pub fn parallelism_count(&self) -> u32 {
        self.parallelism.map_or(1, |n| u32::try_from(n).unwrap_or(0))
    }

    /// Returns whether the Job is *effectively Failed*: a pod is replaced only after it has terminated (RP-02).
    ///
    /// This holds with `podReplacementPolicy: Failed`, and with any `podFailurePolicy`.
    #[must_use]
    pub fn replaces_only_failed(&self) -> bool {
        self.pod_replacement_policy == Some(PodReplacementPolicy::Failed) || self.pod_failure_policy.is_some()
    }
}

/// `completionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CompletionMode {
    /// The Job needs `completions` successes.
    NonIndexed,
    /// The Job needs one success for each index below `completions`.
    Indexed,
    /// A value of a newer Kubernetes (PC-28).
    Unknown,
}

/// `podReplacementPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PodReplacementPolicy {
    /// A pod is replaced as soon as it is being deleted or has failed.
    TerminatingOrFailed,
    /// A pod is replaced only after its phase is `Failed`.
    Failed,
    /// A value that the API does not define (SP-15).
    Unknown,
}

/// `selector`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Selector {
    /// `matchLabels`, sorted.
    pub match_labels: Vec<(Text, Text)>,
    /// A digest of `matchExpressions`, which are not evaluated; 0 if there are none.
    pub expressions_digest: u64,
}

/// `template`, divided into the parts that requirements compare (SU-12, SU-13, SP-03, SP-04, PC-15).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Template {
    /// A digest of the whole template.
    pub digest: u64,
    /// A digest of `metadata` without labels and annotations.
    pub metadata_digest: u64,
    /// A digest of `metadata.labels` and `metadata.annotations`.
    pub labels_digest: u64,
    /// A digest of `spec` without scheduling directives and container resources.
    pub fixed_digest: u64,
    /// A digest of the scheduling directives: node selector, node affinity, tolerations, and scheduling gates.
    pub directives_digest: u64,
    /// A digest of the resources of the containers.
    pub resources_digest: u64,
    /// `metadata.labels`, sorted.
    pub labels: Vec<(Text, Text)>,
    /// `metadata.annotations`, sorted.
    pub annotations: Vec<(Text, Text)>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Text>,
    /// `spec.restartPolicy`.
    pub restart_policy: RestartPolicy,
    /// The fields that a pod copies unchanged, such as `containers/main/image`, each with a digest of its value
    /// (PC-14).
    pub essentials: Vec<(Text, u64)>,
    /// The names of the regular and the init containers.
    pub container_names: Vec<Text>,
    /// True if the template contains `ttlSecondsAfterFinished`, which is not a field of a pod template (SP-16).
    pub has_ttl: bool,
}

/// `restartPolicy` of a pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RestartPolicy {
    /// The pod fails if a container fails.
    #[default]
    Never,
    /// A failed container is restarted in the same pod.
    OnFailure,
    /// The value is not allowed for a Job (SP-04).
    Always,
    /// The field is missing.
    Unset,
}

/// `status` of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobStatus {
    /// `active`.
    pub active: i32,
    /// `ready`.
    pub ready: Option<i32>,
    /// `terminating`.
    pub terminating: Option<i32>,
    /// `succeeded`.
    pub succeeded: i32,
    /// `failed`.
    pub failed: i32,
    /// `startTime`.
    pub start_time: Option<Time>,
    /// `completionTime`.
    pub completion_time: Option<Time>,
    /// `completedIndexes`, as text; empty if it is unset.
    pub completed_indexes: Text,
    /// `failedIndexes`, as text.
    pub failed_indexes: Option<Text>,
    /// `uncountedTerminatedPods`.
    pub uncounted: Option<Uncounted>,
    /// `conditions`, in order.
    pub conditions: Vec<Condition>,
}

impl JobStatus {
    /// Returns whether the first condition of this type is `True`, as the built-in controller reads a status.
    #[must_use]
    pub fn is_true(&self, kind: &ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// The first condition of this type.
    #[must_use]
    pub fn condition(&self, kind: &ConditionKind) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == *kind)
    }

    /// Returns whether the Job is finished: some condition `Complete` or `Failed` is `True`, not only the first of its
    /// type.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.conditions.iter().any(|condition| {
            condition.status == ConditionStatus::True
                && matches!(condition.kind, ConditionKind::Complete | ConditionKind::Failed)
        })
    }

    /// Returns whether the Job is decided: it has an interim or a terminal condition that is `True`.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.is_finished()
            || self.is_true(&ConditionKind::SuccessCriteriaMet)
            || self.is_true(&ConditionKind::FailureTarget)
    }

    /// `completedIndexes` as a set, cut to `completions` (PC-20).
    #[must_use]
    pub fn completed(&self, completions: Option<u32>) -> IndexSet {
        IndexSet::read(&self.completed_indexes, completions)
    }

    /// `failedIndexes` as a set, cut to `completions` (PC-20).
    #[must_use]
    pub fn failed_set(&self, completions: Option<u32>) -> IndexSet {
        IndexSet::read(self.failed_indexes.as_deref().unwrap_or_default(), completions)
    }

    /// The UIDs of `uncountedTerminatedPods.succeeded`.
    #[must_use]
    pub fn uncounted_succeeded(&self) -> &[Uid] {
        self.uncounted.as_ref().map_or(&[], |lists| &lists.succeeded)
    }

    /// The UIDs of `uncountedTerminatedPods.failed`.
    #[must_use]
    pub fn uncounted_failed(&self) -> &[Uid] {
        self.uncounted.as_ref().map_or(&[], |lists| &lists.failed)
    }

    /// The number of recorded UIDs: the length of both lists of `uncountedTerminatedPods` together.
    #[must_use]
    pub fn recorded(&self) -> usize {
        self.uncounted_succeeded().len() + self.uncounted_failed().len()
    }

    /// Returns whether a UID is recorded: it is in one of the two lists of `uncountedTerminatedPods`.
    #[must_use]
    pub fn is_recorded(&self, uid: Uid) -> bool {
        self.uncounted_succeeded().contains(&uid) || self.uncounted_failed().contains(&uid)
    }
}

/// `status.uncountedTerminatedPods`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Uncounted {
    /// The UIDs of succeeded pods that are not counted yet.
    pub succeeded: Vec<Uid>,
    /// The UIDs of failed pods that are not counted yet.
    pub failed: Vec<Uid>,
}

/// An entry of `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Condition {
    /// `type`.
    pub kind: ConditionKind,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
    /// `lastTransitionTime`.
    pub last_transition_time: Option<Time>,
}

impl Condition {
    /// A condition that is `True` since a time.
    #[must_use]
    pub fn met(kind: ConditionKind, reason: &str, message: &str, since: Time) -> Condition {
        let (status, reason, message) = (ConditionStatus::True, reason.into(), message.into());
        Condition { kind, status, reason, message, last_transition_time: Some(since) }
    }
}

/// `type` of a Job condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConditionKind {
    /// The terminal condition of a Job that has succeeded.
    Complete,
    /// The terminal condition of a Job that has failed.
    Failed,
    /// The controller has applied `spec.suspend`.
    Suspended,
    /// The interim condition of a Job that is going to fail.
    FailureTarget,
    /// The interim condition of a Job that is going to complete.
    SuccessCriteriaMet,
    /// Any other type.
    Other(Text),
}

impl ConditionKind {
    /// The name of the type in the API.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ConditionKind::Complete => "Complete",
            ConditionKind::Failed => "Failed",
            ConditionKind::Suspended => "Suspended",
            ConditionKind::FailureTarget => "FailureTarget",
            ConditionKind::SuccessCriteriaMet => "SuccessCriteriaMet",
            ConditionKind::Other(name) => name,
        }
    }

    /// Reads the name of a type in the API.
    #[must_use]
    pub fn parse(text: &str) -> ConditionKind {
        match text {
            "Complete" => ConditionKind::Complete,
            "Failed" => ConditionKind::Failed,
            "Suspended" => ConditionKind::Suspended,
            "FailureTarget" => ConditionKind::FailureTarget,
            "SuccessCriteriaMet" => ConditionKind::SuccessCriteriaMet,
            other => ConditionKind::Other(other.into()),
        }
    }
}

/// `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`.
    Unknown,
    /// A value that the API does not define, or none (TC-16).
    Undefined,
}

/// The largest index that a specification can name, for readers that need a bound.
#[must_use]
pub fn index_bound(spec: &JobSpec) -> Index {
    spec.completion_count().unwrap_or(Index::MAX)
}
