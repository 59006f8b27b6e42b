//! A Job as the specification sees it: the fields that a requirement names, nothing else.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::indexes::{Index, IndexSet};
use crate::time::Time;
use crate::uid::Uid;

/// Text of an object that only has to be compared and printed.
pub type Text = Arc<str>;

/// `spec.managedBy` value that names the built-in controller (MB-01).
pub const BUILT_IN: &str = "kubernetes.io/job-controller";

/// A `batch/v1` Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.generation`, 0 where the source does not show it.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created: Time,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Text>,
    /// A digest of `metadata.labels` and `metadata.annotations`.
    pub metadata_digest: u64,
    /// The specification, shared between the versions of one Job.
    pub spec: Arc<JobSpec>,
    /// The status.
    pub status: JobStatus,
}

impl Hash for Job {
    /// Hashes what differs between the versions of one Job, as far as it mostly does: states of an exploration hold
    /// many versions.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let spec = &self.spec;
        (self.uid, self.generation, self.created, self.deleting, &self.finalizers).hash(state);
        (spec.parallelism, spec.completions, spec.suspend, spec.ttl_seconds_after_finished).hash(state);
        (spec.active_deadline_seconds, spec.backoff_limit).hash(state);
        self.status.hash(state);
    }
}

impl Job {
    /// Whether the built-in controller is the manager: `managedBy` unset or reserved (MB-02).
    #[must_use]
    pub fn is_managed_by_built_in(&self) -> bool {
        self.spec.managed_by.as_deref().is_none_or(|manager| manager == BUILT_IN)
    }
}

/// `spec` of a Job, after the API server's defaulting; by default nothing is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct JobSpec {
    /// `parallelism`.
    pub parallelism: Option<i32>,
    /// `completions`; `None` is a work-queue Job.
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
    /// `suspend`; `None` where unset.
    pub suspend: Option<bool>,
    /// `manualSelector`; `None` where unset.
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
    /// Whether `completionMode` is `Indexed`.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        self.completion_mode == Some(CompletionMode::Indexed)
    }

    /// Whether `suspend` is true.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    /// `completions` as a count; `None` for a work queue.
    #[must_use]
    pub fn completion_count(&self) -> Option<u32> {
        self.completions.map(|n| u32::try_from(n).unwrap_or(0))
    }

    /// `parallelism` as a count.
    #[must_use]
    pub fn parallelism_count(&self) -> u32 {
        self.parallelism.map_or(1, |n| u32::try_from(n).unwrap_or(0))
    }

    /// Whether a replacement waits until its predecessor has ended: policy `Failed`, or a pod failure policy
    /// (RP-02).
    #[must_use]
    pub fn replaces_only_failed(&self) -> bool {
        self.pod_replacement_policy == Some(PodReplacementPolicy::Failed) || self.pod_failure_policy.is_some()
    }
}

/// `completionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompletionMode {
    /// Any `completions` successes.
    NonIndexed,
    /// One success for each index.
    Indexed,
    /// A value of a newer Kubernetes (PC-28).
    Unknown,
}

/// `podReplacementPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodReplacementPolicy {
    /// Replace a pod as soon as it is being deleted or has failed.
    TerminatingOrFailed,
    /// Replace a pod only once its phase is `Failed`.
    Failed,
    /// A value the API does not define (SP-15).
    Unknown,
}

/// `podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct PodFailurePolicy {
    /// The rules in order; the first match wins (PF-01).
    pub rules: Vec<PodFailureRule>,
}

/// A rule of a pod failure policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodFailureRule {
    /// What a match does.
    pub action: FailureAction,
    /// `onExitCodes`.
    pub on_exit_codes: Option<OnExitCodes>,
    /// `onPodConditions`; empty where unset.
    pub on_pod_conditions: Vec<ConditionPattern>,
}

impl PodFailureRule {
    /// A rule for one exit code of any container.
    #[must_use]
    pub fn on_exit_code(action: FailureAction, code: i32) -> PodFailureRule {
        let codes = OnExitCodes { container_name: None, is_in: Some(true), values: vec![code] };
        PodFailureRule { action, on_exit_codes: Some(codes), on_pod_conditions: Vec::new() }
    }
}

/// `action` of a pod failure rule (PF-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureAction {
    /// The Job fails.
    FailJob,
    /// The pod's index fails.
    FailIndex,
    /// The failure is not counted.
    Ignore,
    /// The failure is counted.
    Count,
    /// A value of a newer Kubernetes: the rule is skipped (PF-05).
    Unknown,
}

/// `onExitCodes` of a pod failure rule (PF-03).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OnExitCodes {
    /// `containerName`.
    pub container_name: Option<Text>,
    /// `operator`: `In` is true, `NotIn` false, anything else `None`.
    pub is_in: Option<bool>,
    /// `values`.
    pub values: Vec<i32>,
}

/// A pattern of `onPodConditions` (PF-04).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConditionPattern {
    /// `type`.
    pub kind: Text,
    /// `status`; defaulted to `True`.
    pub status: Text,
}

/// `successPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SuccessPolicy {
    /// The rules in order.
    pub rules: Vec<SuccessRule>,
}

/// A rule of a success policy (SX-02).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SuccessRule {
    /// `succeededIndexes`, as written.
    pub succeeded_indexes: Option<Text>,
    /// `succeededCount`.
    pub succeeded_count: Option<i32>,
}

/// `selector`, as far as membership of a pod can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Selector {
    /// `matchLabels`, sorted.
    pub match_labels: Vec<(Text, Text)>,
    /// A digest of `matchExpressions`; 0 where there is none. Such a selector is not evaluated.
    pub expressions_digest: u64,
}

/// `template`: what requirements compare it for (SU-12, SU-13, SP-03, SP-04, PC-15).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Template {
    /// Digest of the whole template.
    pub digest: u64,
    /// Digest of `metadata` without labels and annotations.
    pub metadata_digest: u64,
    /// Digest of `metadata.labels` and `metadata.annotations`.
    pub labels_digest: u64,
    /// Digest of `spec` without scheduling directives and container resources.
    pub fixed_digest: u64,
    /// Digest of node selector, node affinity, tolerations, and scheduling gates.
    pub directives_digest: u64,
    /// Digest of the containers' resources.
    pub resources_digest: u64,
    /// `metadata.labels`, sorted.
    pub labels: Vec<(Text, Text)>,
    /// `metadata.annotations`, sorted.
    pub annotations: Vec<(Text, Text)>,
    /// `spec.restartPolicy`.
    pub restart_policy: RestartPolicy,
    /// What pods take over unchanged, each with a digest of its value (PC-14): `containers/main/image`.
    pub essentials: Vec<(Text, u64)>,
    /// Names of regular and init containers.
    pub container_names: Vec<Text>,
    /// Whether a `ttlSecondsAfterFinished` stands in it, a field that no pod template has (SP-16).
    pub has_ttl: bool,
}

/// `restartPolicy` of a pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum RestartPolicy {
    /// A failed container ends the pod.
    #[default]
    Never,
    /// A failed container is restarted in its pod.
    OnFailure,
    /// Not allowed for a Job (SP-04).
    Always,
    /// Missing.
    Unset,
}

/// `status` of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
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
    /// `completedIndexes`, as written; empty where unset.
    pub completed_indexes: Text,
    /// `failedIndexes`, as written.
    pub failed_indexes: Option<Text>,
    /// `uncountedTerminatedPods`.
    pub uncounted: Option<Uncounted>,
    /// `conditions`, in order.
    pub conditions: Vec<Condition>,
}

impl JobStatus {
    /// Whether a condition of this kind is `True` (the first entry of a type is the one that counts).
    #[must_use]
    pub fn is_true(&self, kind: &ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// The first condition of this kind.
    #[must_use]
    pub fn condition(&self, kind: &ConditionKind) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == *kind)
    }

    /// Whether the Job is finished: a terminal condition is true, be it beside another of its type that is not.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.conditions.iter().any(|condition| {
            condition.status == ConditionStatus::True
                && matches!(condition.kind, ConditionKind::Complete | ConditionKind::Failed)
        })
    }

    /// Whether the Job's fate is decided: an interim or a terminal condition is true.
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

    /// How many UIDs both lists hold together.
    #[must_use]
    pub fn recorded(&self) -> usize {
        self.uncounted_succeeded().len() + self.uncounted_failed().len()
    }

    /// Whether a UID stands in either list.
    #[must_use]
    pub fn is_recorded(&self, uid: Uid) -> bool {
        self.uncounted_succeeded().contains(&uid) || self.uncounted_failed().contains(&uid)
    }
}

/// `status.uncountedTerminatedPods`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Uncounted {
    /// Pods that ended well and are not in the counter yet.
    pub succeeded: Vec<Uid>,
    /// Pods that failed and are not in the counter yet.
    pub failed: Vec<Uid>,
}

/// An entry of `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// `type` of a Job condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionKind {
    /// Terminal: finished well.
    Complete,
    /// Terminal: finished badly.
    Failed,
    /// `spec.suspend` was acted upon.
    Suspended,
    /// Interim: will fail.
    FailureTarget,
    /// Interim: will complete.
    SuccessCriteriaMet,
    /// Any other type.
    Other(Text),
}

impl ConditionKind {
    /// The type as the API spells it.
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

    /// Reads a type as the API spells it.
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
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`, or anything else.
    Unknown,
}

/// The largest index that a specification can name, for readers that need a bound.
#[must_use]
pub fn index_bound(spec: &JobSpec) -> Index {
    spec.completion_count().unwrap_or(Index::MAX)
}
