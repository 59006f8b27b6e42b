//! What a decision reads: plain facts of one Job and its pods, copied and not interpreted.
//!
//! Every classification (finished, failed, counted, active, terminating) happens in [`mod@super::plan`]. Whoever builds
//! facts, from the API or from a model of it, decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::values::{ResourceVersion, Text, Time, Uid};

/// One look at the caches, and what else a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The Job as its cache shows it.
    pub job: &'a JobFacts,
    /// In any order, each UID once: the pods that have this Job as controller; the pods of its namespace that have no
    /// controller and match its selector; and the pods whose UID `status.uncountedTerminatedPods` lists, whoever owns
    /// them now (J-05).
    pub pods: &'a [PodFacts],
    /// What this process remembers of the Job.
    pub memory: &'a Memory,
    /// Whether both caches have reached the newest version that an answer to a write of this process for this Job
    /// named: creations, patches and status updates of this UID, and deletions whose answer held a version (SY-03).
    /// While it is false nothing is planned.
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

/// What the controller reads of `spec`, with the API's defaults filled in (SP-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFacts {
    /// Pods at a time.
    pub parallelism: i32,
    /// Successes that are wanted; none for a work queue.
    pub completions: Option<i32>,
    /// How completions are told apart.
    pub completion_mode: CompletionMode,
    /// Failures that are borne.
    pub backoff_limit: i32,
    /// Failures that are borne for each index.
    pub backoff_limit_per_index: Option<i32>,
    /// Failed indexes that are borne.
    pub max_failed_indexes: Option<i32>,
    /// Seconds that the Job may run.
    pub active_deadline_seconds: Option<i64>,
    /// Whether no pod may run.
    pub suspend: bool,
    /// Seconds that the finished Job is kept.
    pub ttl_seconds_after_finished: Option<i32>,
    /// When a pod is replaced; none where the API server knows no such field.
    pub pod_replacement_policy: Option<PodReplacementPolicy>,
    /// What failures mean.
    pub pod_failure_policy: Option<Arc<Vec<PodFailureRule>>>,
    /// When the successes are enough.
    pub success_policy: Option<Arc<Vec<SuccessRule>>>,
    /// The controller that the Job belongs to.
    pub managed_by: Option<Text>,
    /// `template.spec.restartPolicy` is `OnFailure`.
    pub restarts_on_failure: bool,
}

/// `spec.completionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionMode {
    /// Successes are counted.
    NonIndexed,
    /// Each index succeeds once.
    Indexed,
    /// A mode of a newer Kubernetes (PC-28).
    Unknown,
}

/// `spec.podReplacementPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodReplacementPolicy {
    /// A pod is replaced once it terminates.
    TerminatingOrFailed,
    /// A pod is replaced once it has ended.
    Failed,
    /// A policy of a newer Kubernetes; acted on as the default.
    Unknown,
}

/// One rule of `spec.podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFailureRule {
    /// What a match means.
    pub action: PodFailureAction,
    /// What is matched.
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
    /// An action of a newer Kubernetes: the rule is skipped (PF-05).
    Unknown,
}

/// The requirement of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodFailureMatch {
    /// `onExitCodes`.
    ExitCodes {
        /// `containerName`; none for any container.
        container: Option<Text>,
        /// `operator`.
        operator: ExitCodeOperator,
        /// `values`.
        values: Vec<i32>,
    },
    /// `onPodConditions`: any of these types with their status.
    PodConditions(Vec<PodConditionPattern>),
    /// Neither field is set, or a field of a newer Kubernetes: nothing matches.
    Nothing,
}

/// `operator` of `onExitCodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCodeOperator {
    /// The code is one of the values.
    In,
    /// The code is none of the values.
    NotIn,
    /// An operator of a newer Kubernetes: nothing matches (PF-05).
    Unknown,
}

/// One pattern of `onPodConditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodConditionPattern {
    /// `type`.
    pub kind: Text,
    /// `status`, with its default `True`.
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

/// `status`, all fields of batch/v1.
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
    /// `completedIndexes`; the empty text is none.
    pub completed_indexes: Option<Text>,
    /// `failedIndexes`; set, perhaps to nothing, where there is a limit for each index (BI-04).
    pub failed_indexes: Option<Text>,
    /// `uncountedTerminatedPods`.
    pub uncounted: Option<Uncounted>,
    /// `conditions`, in their order, those of unknown types as well.
    pub conditions: Vec<Condition>,
}

/// `status.uncountedTerminatedPods`: pods that have ended and are in no counter yet.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Uncounted {
    /// Pods that succeeded.
    pub succeeded: Vec<Uid>,
    /// Pods that failed.
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
    /// `metadata.deletionTimestamp` and the grace that it includes.
    pub deletion: Option<Deletion>,
    /// Whether `batch.kubernetes.io/job-tracking` is among the finalizers.
    pub tracking_finalizer: bool,
    /// The controller reference.
    pub controller: Controller,
    /// Whether the labels match the Job's selector.
    pub selected: bool,
    /// Annotation `batch.kubernetes.io/job-completion-index`, as text.
    pub completion_index: Option<Text>,
    /// Annotation `batch.kubernetes.io/job-index-failure-count`, as text.
    pub failure_count: Option<Text>,
    /// Annotation `batch.kubernetes.io/job-index-ignored-failure-count`, as text.
    pub ignored_failure_count: Option<Text>,
    /// Whether `spec.nodeName` is set.
    pub scheduled: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.conditions`, in their order. Shared, as the containers: a sync copies the facts of every pod of its Job.
    pub conditions: Arc<Vec<PodCondition>>,
    /// `status.containerStatuses`, then `status.initContainerStatuses`, each in its order.
    pub containers: Arc<Vec<ContainerFacts>>,
}

/// When a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// `metadata.deletionTimestamp`: the end of the grace period.
    pub at: Time,
    /// `metadata.deletionGracePeriodSeconds`; zero where it is not set.
    pub grace_seconds: i64,
}

/// The controller reference of a pod, seen from one Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// There is none.
    Nobody,
    /// This Job, by UID.
    ThisJob,
    /// Something else.
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
    /// Not set, or a phase of a newer Kubernetes.
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
    /// What kind of container it is.
    pub kind: ContainerKind,
    /// `restartCount`.
    pub restarts: i32,
    /// `state.terminated`.
    pub terminated: Option<Terminated>,
}

/// What kind of container a status is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// In `spec.containers`.
    Regular,
    /// In `spec.initContainers`.
    Init,
    /// In `spec.initContainers`, with restart policy `Always`.
    Sidecar,
}

/// How a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminated {
    /// `exitCode`.
    pub exit_code: i32,
    /// `finishedAt`.
    pub finished_at: Option<Time>,
}

/// What one process remembers of one Job between syncs. Lost on restart, and nothing depends on it but delays and the
/// reading of caches that are behind (SY-10).
///
/// A plan brings the memory that follows ([`super::command::Plan::memory`]); who enacts it then adds to [`released`]
/// and [`deleted`] what was answered.
///
/// [`released`]: Memory::released
/// [`deleted`]: Memory::deleted
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Memory {
    /// Whose memory this is; that of a Job with another UID is none (BO-06, J-07, J-08).
    pub uid: Option<Uid>,
    /// From which delays come.
    pub backoff: BackoffRecord,
    /// Pods whose finalizer this process has removed, as a 2xx or a 404 said, and which the cache still holds. They
    /// are never counted again, whatever the cache shows (FT-28, B01, J-03).
    pub finalizer_removed: BTreeSet<Uid>,
    /// Pods whose deletion was answered with 2xx or 404, until the cache shows it. Deletions are known by UID, not
    /// counted (H1), and while one is not seen nothing is planned (J-01).
    pub deleted: BTreeSet<Uid>,
    /// When a creation was refused because the namespace is being deleted; until [`REFUSAL_LASTS`] later none is tried
    /// (PC-12).
    pub refused: Option<Time>,
}

/// How long no pod is created after the namespace was found to be going (PC-12).
pub const REFUSAL_LASTS: Duration = Duration::from_secs(300);

/// Consecutive failures (BO-01, BO-03).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BackoffRecord {
    /// Failures since the last success.
    pub failures: u32,
    /// When the latest of them ended.
    pub last_failure: Option<Time>,
    /// Ended pods that are in the record already and still hold the finalizer: each is taken in once, also when the
    /// answer to a status write was lost (BO-05 of `docs/findings`).
    pub seen: BTreeSet<Uid>,
}

/// Limits and feature gates of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The value of `spec.managedBy` whose Jobs are ours; without one, Jobs that the built-in would manage (MB-02).
    pub managed_by: Option<Text>,
    /// UIDs that `uncountedTerminatedPods` may list. Pods of newly completed indexes take room of the same size in a
    /// plan; pods that only lose the finalizer take none (FT-10, FT-11).
    pub max_uncounted_pods: usize,
    /// Pods that one plan creates, or deletes as surplus (PC-10).
    pub max_pod_create_delete_per_sync: usize,
    /// The delay after the first failure (BO-01).
    pub pod_failure_backoff: Duration,
    /// The longest delay after a failure (BO-01).
    pub pod_failure_backoff_max: Duration,
    /// The shortest delay of a sync that a plan asks for (BO-02).
    pub sync_batch_period: Duration,
    /// Feature gates.
    pub gates: Gates,
}

/// The gates of KEPs 3850, 3939, 3998 and 4368 (`kep-coverage.md` 6, UG-05, UG-07, UG-09, UG-14).
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
    /// The constants of requirements.md 0.1.
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
    /// All on, as 1.36 locks them.
    fn default() -> Self {
        Gates {
            pod_replacement_policy: true,
            backoff_limit_per_index: true,
            success_policy: true,
            managed_by: true,
        }
    }
}
