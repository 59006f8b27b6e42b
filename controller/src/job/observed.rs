//! The input of a decision: facts about one Job and its pods, copied from the API without interpretation.
//!
//! [`mod@super::plan`] makes every classification (finished, failed, counted, active, terminating). Code that builds
//! facts, from API objects or from a model of them, decides nothing.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Memory;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The complete input of one decision.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The Job in the cache.
    pub job: &'a JobFacts,
    /// The pods of the namespace that concern the Job, in any order, each UID once:
    ///
    /// - pods whose controller is this Job
    /// - ownerless pods that match its selector
    /// - pods with a UID in `status.uncountedTerminatedPods`, whatever their owner (J-05)
    pub pods: &'a [PodFacts],
    /// The memory of the Job under this name; it may belong to a previous Job.
    pub memory: &'a Memory,
    /// True if both caches show every acknowledged write of this process for this Job (SY-03). While it is false, nothing
    /// is planned.
    ///
    /// The writes are creations, patches, and status updates for this UID, and deletions whose response had a version.
    pub caches_show_own_writes: bool,
    /// The controller's clock.
    pub now: Time,
    /// Limits and feature gates.
    pub settings: &'a Settings,
}

/// A Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFacts {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`, the precondition of the first status write of a plan (SY-04).
    pub resource_version: ResourceVersion,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Time>,
    /// `spec`.
    pub spec: SpecFacts,
    /// `status`.
    pub status: StatusFacts,
}

/// The fields of `spec` that affect decisions, with the defaults of the API (SP-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFacts {
    /// `parallelism`.
    pub parallelism: i32,
    /// `completions`; none for a work queue.
    pub completions: Option<i32>,
    /// `completionMode`.
    pub completion_mode: CompletionMode,
    /// `backoffLimit`.
    pub backoff_limit: i32,
    /// `backoffLimitPerIndex`.
    pub backoff_limit_per_index: Option<i32>,
    /// `maxFailedIndexes`.
    pub max_failed_indexes: Option<i32>,
    /// `activeDeadlineSeconds`.
    pub active_deadline_seconds: Option<i64>,
    /// `suspend`.
    pub suspend: bool,
    /// `ttlSecondsAfterFinished`.
    pub ttl_seconds_after_finished: Option<i32>,
    /// `podReplacementPolicy`; none if the API server does not know the field.
    pub pod_replacement_policy: Option<PodReplacementPolicy>,
    /// `podFailurePolicy.rules`.
    pub pod_failure_policy: Option<Arc<Vec<PodFailureRule>>>,
    /// `successPolicy.rules`.
    pub success_policy: Option<Arc<Vec<SuccessRule>>>,
    /// `managedBy`.
    pub managed_by: Option<Text>,
    /// True if `template.spec.restartPolicy` is `OnFailure`.
    pub restarts_on_failure: bool,
}

/// `spec.completionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionMode {
    /// Succeeded pods are counted.
    NonIndexed,
    /// Succeeded indexes are counted.
    Indexed,
    /// A mode of a later version of Kubernetes (PC-28).
    Unknown,
}

/// `spec.podReplacementPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodReplacementPolicy {
    /// A pod is replaced when it is terminating or has failed.
    TerminatingOrFailed,
    /// A pod is replaced after it has failed.
    Failed,
    /// A policy of a later version of Kubernetes, treated as the default.
    Unknown,
}

/// One rule of `spec.podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFailureRule {
    /// `action`.
    pub action: PodFailureAction,
    /// The requirement that a pod has to match.
    pub on: PodFailureMatch,
}

/// `action` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodFailureAction {
    /// The Job fails.
    FailJob,
    /// The index fails.
    FailIndex,
    /// The failure does not count.
    Ignore,
    /// The failure counts.
    Count,
    /// An action of a later version of Kubernetes: the rule is skipped (PF-05).
    Unknown,
}

/// The requirement of a failure rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodFailureMatch {
    /// `onExitCodes`.
    ExitCodes {
        /// `containerName`; if there is none, every container matches.
        container: Option<Text>,
        /// `operator`.
        operator: ExitCodeOperator,
        /// `values`.
        values: Vec<i32>,
    },
    /// `onPodConditions`: one of these types with its status.
    PodConditions(Vec<PodConditionPattern>),
    /// Neither field, or a field of a later version of Kubernetes: nothing matches.
    Nothing,
}

/// `operator` of `onExitCodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCodeOperator {
    /// The exit code is one of the values.
    In,
    /// The exit code is none of the values.
    NotIn,
    /// An operator of a later version of Kubernetes: nothing matches (PF-05).
    Unknown,
}

/// One pattern of `onPodConditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodConditionPattern {
    /// `type`.
    pub kind: Text,
    /// `status`; the default is `True`.
    pub status: Text,
}

/// One rule of `spec.successPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuccessRule {
    /// `succeededIndexes`, as text.
    pub succeeded_indexes: Option<Text>,
    /// `succeededCount`.
    pub succeeded_count: Option<i32>,
}

/// `status`, with all fields of batch/v1.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StatusFacts {
    /// `startTime`.
    pub start_time: Option<Time>,
    /// `completionTime`.
    pub completion_time: Option<Time>,
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
    /// `completedIndexes`; none if the text is empty.
    pub completed_indexes: Option<Text>,
    /// `failedIndexes`; set, possibly to the empty text, if the Job has a limit per index (BI-04).
    pub failed_indexes: Option<Text>,
    /// `uncountedTerminatedPods`.
    pub uncounted: Option<Uncounted>,
    /// `conditions` in their order, including those of unknown types.
    pub conditions: Vec<Condition>,
}

/// `status.uncountedTerminatedPods`: the recorded pods, which no counter includes yet.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Uncounted {
    /// `succeeded`.
    pub succeeded: Vec<Uid>,
    /// `failed`.
    pub failed: Vec<Uid>,
}

/// One condition of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `type`.
    pub kind: Text,
    /// `status`: `True`, `False` or `Unknown`.
    pub status: Text,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
    /// `lastProbeTime`.
    pub last_probe: Option<Time>,
    /// `lastTransitionTime`.
    pub last_transition: Option<Time>,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`, and the grace period that it includes.
    pub deletion: Option<Deletion>,
    /// True if `metadata.finalizers` contains `batch.kubernetes.io/job-tracking`.
    pub tracking_finalizer: bool,
    /// The controller reference.
    pub controller: Controller,
    /// True if the labels match the selector of the Job.
    pub selected: bool,
    /// Annotation `batch.kubernetes.io/job-completion-index`, as text.
    pub completion_index: Option<Text>,
    /// Annotation `batch.kubernetes.io/job-index-failure-count`, as text.
    pub failure_count: Option<Text>,
    /// Annotation `batch.kubernetes.io/job-index-ignored-failure-count`, as text.
    pub ignored_failure_count: Option<Text>,
    /// True if `spec.nodeName` is set.
    pub scheduled: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.conditions` in their order. Conditions and containers are shared, because each sync copies the facts of
    /// all pods of its Job.
    pub conditions: Arc<Vec<PodCondition>>,
    /// `status.containerStatuses`, then `status.initContainerStatuses`, both in their order.
    pub containers: Arc<Vec<ContainerFacts>>,
}

/// The deletion of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// `metadata.deletionTimestamp`: the end of the grace period.
    pub at: Time,
    /// `metadata.deletionGracePeriodSeconds`; 0 if it is not set.
    pub grace_seconds: i64,
}

/// The controller reference of a pod, relative to one Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// The pod is ownerless.
    Nobody,
    /// The reference has the UID of this Job.
    ThisJob,
    /// The reference has another UID.
    Another,
}

/// `status.phase` of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `Pending`.
    Pending,
    /// `Running`.
    Running,
    /// `Succeeded`.
    Succeeded,
    /// `Failed`.
    Failed,
    /// `Unknown`.
    Unknown,
    /// Not set, or a phase of a later version of Kubernetes.
    Other,
}

/// One condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodCondition {
    /// `type`.
    pub kind: Text,
    /// `status`.
    pub status: Text,
    /// `lastTransitionTime`.
    pub last_transition: Option<Time>,
}

/// The status of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerFacts {
    /// `name`.
    pub name: Text,
    /// The kind of the container.
    pub kind: ContainerKind,
    /// `restartCount`.
    pub restarts: i32,
    /// `state.terminated`.
    pub terminated: Option<Terminated>,
}

/// The kind of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// In `spec.containers`.
    Regular,
    /// In `spec.initContainers`.
    Init,
    /// In `spec.initContainers`, with restart policy `Always`.
    Sidecar,
}

/// The termination of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminated {
    /// `exitCode`.
    pub exit_code: i32,
    /// `finishedAt`.
    pub finished_at: Option<Time>,
}

/// Limits and feature gates of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The value of `spec.managedBy` whose Jobs this process manages. If there is none, it manages the Jobs of the
    /// built-in controller (MB-02).
    pub managed_by: Option<Text>,
    /// The maximum number of UIDs in `uncountedTerminatedPods` (FT-10). Pods of newly completed indexes count towards it
    /// too; pods that only lose the finalizer do not (FT-11).
    pub max_uncounted_pods: usize,
    /// The maximum number of pods that one plan creates, or deletes as surplus (PC-10).
    pub max_pod_create_delete_per_sync: usize,
    /// The delay after the first failure (BO-01).
    pub pod_failure_backoff: Duration,
    /// The maximum delay after a failure (BO-01).
    pub pod_failure_backoff_max: Duration,
    /// The minimum delay of a sync that a plan requests (BO-02).
    pub sync_batch_period: Duration,
    /// Feature gates.
    pub gates: Gates,
}

/// The feature gates of KEPs 3850, 3939, 3998, and 4368 (UG-05, UG-07, UG-09, UG-14; see the section on feature gates
/// of `docs/reference/judging.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `JobPodReplacementPolicy`.
    pub pod_replacement_policy: bool,
    /// `JobBackoffLimitPerIndex`.
    pub backoff_limit_per_index: bool,
    /// `JobSuccessPolicy`.
    pub success_policy: bool,
    /// `JobManagedBy`.
    pub managed_by: bool,
}

impl Default for Settings {
    /// The constants of the built-in controller (`docs/reference/built-in.md`).
    fn default() -> Self {
        Settings {
            managed_by: None,
            max_uncounted_pods: 500,
            max_pod_create_delete_per_sync: 500,
            pod_failure_backoff: Duration::from_secs(10),
            pod_failure_backoff_max: Duration::from_secs(600),
            sync_batch_period: Duration::from_secs(1),
            gates: Gates::default(),
        }
    }
}

impl Default for Gates {
    /// All gates are on, as in Kubernetes 1.36.
    fn default() -> Self {
        Gates {
            pod_replacement_policy: true,
            backoff_limit_per_index: true,
            success_policy: true,
            managed_by: true,
        }
    }
}
