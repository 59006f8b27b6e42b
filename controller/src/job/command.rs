//! What a decision wants done: data, in the order in which it must happen.

use std::sync::Arc;
use std::time::Duration;

use super::observed::{Memory, PodFailureAction, StatusFacts};
use crate::values::{ResourceVersion, Text, Uid};

/// What to do for one Job.
///
/// # How it is enacted
///
/// By an [`Enactment`](super::enactment::Enactment), wherever it is. The sequences are performed in their order, each from
/// its first step to its last, but for those that depend on an earlier one ([`When`]). A step is one API call or a batch of
/// independent calls.
///
/// - A step that failed in any part ends its sequence. Failed is every answer but 2xx, and no answer. 404 to the removal
///   of a finalizer or to a deletion ends the sequence too, though it is no error: the caches will show the rest (H4,
///   S-09, J-03).
/// - A [`Command::WriteStatus`] that failed ends the whole plan: the view of the Job is old (SY-04). So does a claim,
///   [`Command::AdoptPods`] or [`Command::ReleasePods`]: the rest counts on it (FT-25).
/// - Another failed step does not keep the next sequence from being tried: a pod whose finalizer cannot be removed holds
///   up its own count and the Job's end, and no other pod (EN-06); a quota that refuses new pods does not hold up the
///   counting of old ones (PC-13).
///
/// A status write that comes [`When::Stopped`] counts on the deletions before it: it says that those pods terminate (PC-01,
/// PC-02).
///
/// After a failure the Job is observed again, with a delay of 1 s·2^n up to 60 s (requirements.md 0.1), or earlier if
/// something happens. No decision reads an answer, all are made before the first call: a plan may be cut after any call
/// without a loss (FT-02).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// What to do.
    pub sequences: Vec<Sequence>,
    /// What to remember. It holds from the moment of planning on, whether or not the steps succeed.
    pub memory: Memory,
    /// Observe again after this long at the latest, even if nothing happens.
    pub wake_after: Option<Duration>,
    /// Why, for logs.
    pub decisions: Vec<Decision>,
    /// Events that do not wait for a step.
    pub events: Vec<Event>,
    /// The `action` label of the sync metrics; none if the Job was skipped (MX-01, MX-11).
    pub action: Option<SyncAction>,
}

impl Plan {
    /// Whether nothing is to be done now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sequences.iter().all(|sequence| sequence.steps.is_empty())
    }

    /// All commands in their order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.sequences.iter().flat_map(|sequence| &sequence.steps).map(|step| &step.command)
    }
}

/// Steps of which each comes after the one before it has succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// When it is performed.
    pub when: When,
    /// What to do.
    pub steps: Vec<Step>,
}

impl Sequence {
    /// One that does not depend on others.
    #[must_use]
    pub fn always(steps: Vec<Step>) -> Sequence {
        Sequence { when: When::Always, steps }
    }
}

/// When a sequence is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In its turn, whatever became of others.
    Always,
    /// The same; the next two depend on it. It stops the Job, as its end or its suspension asks: all active pods go.
    Stop,
    /// All that stops the Job has succeeded.
    Stopped,
    /// All of it has failed, as where a webhook does not let the last active pod be deleted: the end is not announced, and
    /// what has ended is counted all the same (TC-08). Where a part has succeeded, how many pods are active is seen once the
    /// caches show it; the rest is tried again then.
    NotStopped,
}

/// A command, and what is reported once it has succeeded as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub command: Command,
    /// Events to record after it.
    pub events: Vec<Event>,
    /// Counters to raise after it.
    pub metrics: Vec<Metric>,
}

impl From<Command> for Step {
    fn from(command: Command) -> Self {
        Step { command, events: Vec::new(), metrics: Vec::new() }
    }
}

impl Command {
    /// Whether nothing more of a plan is done once this has failed: the rest was decided as if it succeeds.
    #[must_use]
    pub fn ends_plan(&self) -> bool {
        match self {
            Command::WriteStatus(_) | Command::AdoptPods(_) | Command::ReleasePods(_) => true,
            Command::RemoveFinalizers(_) | Command::CreatePods(_) | Command::DeletePods(_) => false,
        }
    }
}

/// One call, or a batch of calls that do not depend on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Write `status`. The precondition is the version that the plan was made from, or that the answer to the former
    /// status write of the same plan named (SY-04).
    WriteStatus(Arc<StatusWrite>),
    /// Take the tracking finalizer from these pods, with their UID as precondition. An answer of 2xx or 404 puts the
    /// UID into [`Memory::finalizer_removed`].
    RemoveFinalizers(Vec<FinalizerRemoval>),
    /// Create pods in slow start: batches of 1, 2, 4, … pods ([`super::creation::batches`]); after a batch with a failed
    /// creation the rest is left out (PC-11). A refusal because the namespace is being deleted is a failure without an
    /// event (PC-12).
    CreatePods(Creation),
    /// Delete these pods, with their UID as precondition. An answer of 2xx or 404 puts the UID into
    /// [`Memory::deleted`].
    DeletePods(Vec<PodRef>),
    /// GET the Job from the API server, not from a cache; unless it has this UID and no `deletionTimestamp`, fail.
    /// Then add controller reference and tracking finalizer to each pod in one patch, with UID and resourceVersion as
    /// preconditions (FT-24).
    AdoptPods(Vec<PodRef>),
    /// Take controller reference and tracking finalizer from these pods in one patch, with their UID as precondition.
    /// Answers 404 and 422 are no failures here (FT-26).
    ReleasePods(Vec<PodRef>),
}

/// A status write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusWrite {
    /// The status as the cache, or the former write of the plan, has it.
    pub before: StatusFacts,
    /// The status that is wanted.
    pub after: StatusFacts,
}

/// A pod that a command is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// Its name, for the address.
    pub name: Text,
    /// Its UID, a precondition.
    pub uid: Uid,
    /// Its version in the cache, a precondition where the command says so.
    pub resource_version: ResourceVersion,
}

/// A pod that loses the tracking finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizerRemoval {
    /// The pod.
    pub pod: PodRef,
    /// The action of the failure policy that it matched, counted once its own request has succeeded (MX-07, S-10).
    pub policy_action: Option<PodFailureAction>,
}

/// Pods to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// What the pods differ by, in the order of their creation; one entry for each pod.
    pub pods: Vec<NewPod>,
    /// The `reason` label of MX-06. Each creation is counted once, as succeeded or as failed (S-10).
    pub reason: CreationReason,
}

/// What a new pod has beyond the template.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewPod {
    /// The index that it works on.
    pub index: Option<u32>,
    /// Annotation `batch.kubernetes.io/job-index-failure-count` (BI-02).
    pub failure_count: Option<i32>,
    /// Annotation `batch.kubernetes.io/job-index-ignored-failure-count` (BI-02).
    pub ignored_failure_count: Option<i32>,
}

/// `reason` of `job_pods_creation_total` (MX-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationReason {
    /// `new`
    New,
    /// `recreate_terminating_or_failed`
    RecreateTerminatingOrFailed,
    /// `recreate_failed`
    RecreateFailed,
}

impl CreationReason {
    /// The label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            CreationReason::New => "new",
            CreationReason::RecreateTerminatingOrFailed => "recreate_terminating_or_failed",
            CreationReason::RecreateFailed => "recreate_failed",
        }
    }
}

/// `action` of the sync metrics (MX-01, MX-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncAction {
    /// `reconciling`
    Reconciling,
    /// `tracking`
    Tracking,
    /// `pods_created`
    PodsCreated,
    /// `pods_deleted`
    PodsDeleted,
}

impl SyncAction {
    /// The label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            SyncAction::Reconciling => "reconciling",
            SyncAction::Tracking => "tracking",
            SyncAction::PodsCreated => "pods_created",
            SyncAction::PodsDeleted => "pods_deleted",
        }
    }
}

/// A requirement, and what it came to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// An id of `requirements.md`.
    pub requirement: &'static str,
    /// One line.
    pub why: &'static str,
}

/// A Kubernetes event of the Job (family EV).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Warning`, else `Normal`.
    pub warning: bool,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
}

impl Event {
    /// An event of type `Normal`.
    #[must_use]
    pub fn normal(reason: &str, message: &str) -> Self {
        Event { warning: false, reason: Text::from(reason), message: Text::from(message) }
    }

    /// An event of type `Warning`.
    #[must_use]
    pub fn warning(reason: &str, message: &str) -> Self {
        Event { warning: true, reason: Text::from(reason), message: Text::from(message) }
    }

    /// EV-01: a pod was created.
    #[must_use]
    pub fn created(pod: &str) -> Self {
        Event::normal("SuccessfulCreate", &format!("Created pod: {pod}"))
    }

    /// EV-02: a pod was not created; not for a namespace that is being deleted.
    #[must_use]
    pub fn create_failed(error: &str) -> Self {
        Event::warning("FailedCreate", &format!("Error creating: {error}"))
    }

    /// EV-03: a pod was deleted.
    #[must_use]
    pub fn deleted(pod: &str) -> Self {
        Event::normal("SuccessfulDelete", &format!("Deleted pod: {pod}"))
    }

    /// EV-04: a pod was not deleted; not for 404.
    #[must_use]
    pub fn delete_failed(error: &str) -> Self {
        Event::warning("FailedDelete", &format!("Error deleting: {error}"))
    }
}

/// An increment of a counter (family MX). Increments are never zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// MX-03 `jobs_finished_total`.
    JobFinished {
        /// `completion_mode`.
        indexed: bool,
        /// `result`: `succeeded`, else `failed`.
        succeeded: bool,
        /// `reason`.
        reason: Text,
    },
    /// MX-04 `job_pods_finished_total`.
    PodsFinished {
        /// `completion_mode`.
        indexed: bool,
        /// `result`: `succeeded`, else `failed`.
        succeeded: bool,
        /// How many.
        by: u64,
    },
    /// MX-06 `job_pods_creation_total`.
    PodCreated {
        /// `reason`.
        reason: CreationReason,
        /// `status`: `succeeded`, else `failed`.
        succeeded: bool,
    },
    /// MX-07 `pod_failures_handled_by_failure_policy_total`.
    PodFailureHandled {
        /// `action`.
        action: &'static str,
    },
    /// MX-05 `job_finished_indexes_total`.
    IndexesFinished {
        /// `status`: `succeeded`, else `failed`.
        succeeded: bool,
        /// `backoffLimit`: `perIndex`, else `global`.
        per_index: bool,
        /// How many.
        by: u64,
    },
}

/// The label of MX-07 for an action; none for an action that is not known.
#[must_use]
pub fn policy_action_label(action: PodFailureAction) -> Option<&'static str> {
    match action {
        PodFailureAction::FailJob => Some("FailJob"),
        PodFailureAction::FailIndex => Some("FailIndex"),
        PodFailureAction::Ignore => Some("Ignore"),
        PodFailureAction::Count => Some("Count"),
        PodFailureAction::Unknown => None,
    }
}
