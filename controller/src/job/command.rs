//! The output of a decision as data: a plan of commands, in the order in which they are performed.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Memory;
use super::observed::{PodFailureAction, StatusFacts};
use crate::values::{ResourceVersion, Text, Uid};

/// The plan of one sync of a Job.
///
/// # Order
///
/// An [`Enactment`](super::enactment::Enactment) performs the fields `claims`, `stop`, `account`, and `scale` in this
/// order. Each field has [sequences](Sequence) of steps. A step is one API call, or a batch of independent calls.
///
/// # Failures
///
/// Every response but a 2xx is a failure, and so is a missing response.
///
/// | failed | consequence |
/// | --- | --- |
/// | any call of a step | The rest of its sequence is skipped; the next sequence is performed. A pod that keeps its finalizer delays its own count and the end of the Job, but no other pod (EN-06). A quota that refuses new pods does not delay the counting of terminated pods (PC-13). |
/// | [`Command::WriteStatus`], [`Command::AdoptPods`], [`Command::ReleasePods`] | The rest of the plan is skipped, because it assumes that these commands succeed (SY-04, FT-25). |
/// | a finalizer removal or a deletion, with 404 | The rest of its sequence is skipped, but the sync has not failed: the caches will show the reason (H4, S-09, J-03). |
///
/// After a failure the Job is observed and planned again. The delay is 1 s·2^n, up to 60 s, or less if an event arrives
/// (`docs/reference/built-in.md`).
///
/// # Guarantee
///
/// All decisions are made before the first call, and none reads a response. A plan may therefore be cut after any call
/// without a loss (FT-02).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// Performed first: the releases and adoptions of pods.
    pub claims: Vec<Sequence>,
    /// Performed second, if the Job ends or is suspended: the deletion of all active pods, and the accounting after it.
    pub stop: Option<Stop>,
    /// Performed third: the accounting of terminated pods (KEP-2307). One sequence writes the records, removes the
    /// finalizers, and writes the counters; steps without an effect are left out. Empty if there is a `stop`.
    pub account: Vec<Sequence>,
    /// Performed last: the creation of missing pods, or the deletion of surplus pods. Empty if there is a `stop`.
    pub scale: Vec<Sequence>,
    /// The memory after this plan. It takes effect before the first call, whether or not the steps succeed.
    pub memory: Memory,
    /// The time after which the Job is observed again, even if no event arrives.
    pub wake_after: Option<Duration>,
    /// The reasons, for logs.
    pub decisions: Vec<Decision>,
    /// Events that do not depend on a step.
    pub events: Vec<Event>,
    /// The `action` label of the sync metrics; none if the Job was skipped (MX-01, MX-11).
    pub action: Option<SyncAction>,
}

/// The deletion of all active pods of a Job that ends or is suspended, and the accounting after it.
///
/// At most one of `if_all` and `if_none` is performed. Neither is performed if some calls succeeded and some did not, or
/// if a pod was not found. The numbers of active and terminating pods are unknown then, until the caches show them and
/// the Job is planned again (TC-08).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Stop {
    /// The deletions.
    pub deletions: Vec<Sequence>,
    /// Performed if every call of the deletions succeeded. The status reports the end or the suspension, and the deleted
    /// pods as terminating (PC-01, PC-02).
    pub if_all: Vec<Sequence>,
    /// Performed if no call of the deletions succeeded, for example because a webhook refuses the deletion of the last
    /// active pod. The status reports neither a new end nor a suspension, but terminated pods are counted (TC-08).
    pub if_none: Vec<Sequence>,
}

/// Steps that depend on each other: a step is performed only after the previous one has succeeded.
pub type Sequence = Vec<Step>;

impl Plan {
    /// Returns true if the plan has no step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sequences().all(Vec::is_empty)
    }

    /// The sequences of all fields, in their order.
    pub fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        let stop = self.stop.iter().flat_map(|stop| [&stop.deletions, &stop.if_all, &stop.if_none]);
        [&self.claims].into_iter().chain(stop).chain([&self.account, &self.scale]).flatten()
    }

    /// The commands of all sequences, in their order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.sequences().flatten().map(|step| &step.command)
    }
}

/// A command, with the events and counters that are due after it has succeeded as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The command.
    pub command: Command,
    /// The events to record.
    pub events: Vec<Event>,
    /// The counters to raise.
    pub metrics: Vec<Metric>,
}

impl From<Command> for Step {
    fn from(command: Command) -> Self {
        Step { command, events: Vec::new(), metrics: Vec::new() }
    }
}

impl Command {
    /// Returns true if a failure of the command ends the plan, because the rest assumes its success.
    #[must_use]
    pub fn ends_plan(&self) -> bool {
        match self {
            Command::WriteStatus(_) | Command::AdoptPods(_) | Command::ReleasePods(_) => true,
            Command::RemoveFinalizers(_) | Command::CreatePods(_) | Command::DeletePods(_) => false,
        }
    }
}

/// One API call, or a batch of calls that do not depend on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Write the status (SY-04). The precondition of the first write is the version from which the plan was made. That of
    /// the second write is the version in the response to the first one.
    WriteStatus(Arc<StatusWrite>),
    /// Remove the tracking finalizer from these pods, with their UIDs as preconditions. A 2xx or a 404 adds the UID to
    /// [`Memory::finalizer_removed`].
    RemoveFinalizers(Vec<FinalizerRemoval>),
    /// Create pods in batches of 1, 2, 4, … ([`super::creation::batches`]). A batch with a failed creation is the last
    /// one (PC-11). A refusal because the namespace is terminating is a failure without an event (PC-12).
    CreatePods(Creation),
    /// Delete these pods, with their UIDs as preconditions. A 2xx or a 404 adds the UID to [`Memory::deleted`].
    DeletePods(Vec<PodRef>),
    /// Adopt these pods (FT-24). First GET the Job from the API server; the command fails unless the Job has the same UID
    /// and no `deletionTimestamp`. Then add the controller reference and the tracking finalizer to each pod in one patch,
    /// with UID and resourceVersion as preconditions.
    AdoptPods(Vec<PodRef>),
    /// Release these pods: remove the controller reference and the tracking finalizer in one patch, with their UIDs as
    /// preconditions. A 404 or a 422 is a success (FT-26).
    ReleasePods(Vec<PodRef>),
}

/// The old and the new status of a status write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusWrite {
    /// The status in the cache, or after the previous status write of the plan.
    pub before: StatusFacts,
    /// The status to store.
    pub after: StatusFacts,
}

/// The reference to a pod in a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// The name, for the path of the request.
    pub name: Text,
    /// The UID, a precondition of every request.
    pub uid: Uid,
    /// The version in the cache, a precondition of some commands.
    pub resource_version: ResourceVersion,
}

/// A pod that loses the tracking finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizerRemoval {
    /// The pod.
    pub pod: PodRef,
    /// The action of the rule that the pod matched; counted after the request for this pod succeeded (MX-07, S-10).
    pub policy_action: Option<PodFailureAction>,
}

/// The pods to create in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The differences between the pods, in the order of their creation; one entry for each pod.
    pub pods: Vec<NewPod>,
    /// The `reason` label of MX-06. Each creation counts once, as succeeded or as failed (S-10).
    pub reason: CreationReason,
}

/// The properties of a new pod that its template does not have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewPod {
    /// The completion index.
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

/// A requirement that determined a part of the plan, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The id of the requirement (`docs/reference/requirements`).
    pub requirement: &'static str,
    /// The result, as one line of text.
    pub why: &'static str,
}

/// A Kubernetes event of the Job (family EV).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// True if `type` is `Warning`, false if it is `Normal`.
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

    /// EV-01: the creation of a pod.
    #[must_use]
    pub fn created(pod: &str) -> Self {
        Event::normal("SuccessfulCreate", &format!("Created pod: {pod}"))
    }

    /// EV-02: a failed creation; the caller leaves out a refusal because the namespace is terminating.
    #[must_use]
    pub fn create_failed(error: &str) -> Self {
        Event::warning("FailedCreate", &format!("Error creating: {error}"))
    }

    /// EV-03: the deletion of a pod.
    #[must_use]
    pub fn deleted(pod: &str) -> Self {
        Event::normal("SuccessfulDelete", &format!("Deleted pod: {pod}"))
    }

    /// EV-04: a failed deletion; the caller leaves out a 404.
    #[must_use]
    pub fn delete_failed(error: &str) -> Self {
        Event::warning("FailedDelete", &format!("Error deleting: {error}"))
    }
}

/// An increment of a counter (family MX), by 1 unless it has a field `by`, which is never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// MX-03 `jobs_finished_total`.
    JobFinished {
        /// `completion_mode`.
        indexed: bool,
        /// `result`: `succeeded` if true, else `failed`.
        succeeded: bool,
        /// `reason`.
        reason: Text,
    },
    /// MX-04 `job_pods_finished_total`.
    PodsFinished {
        /// `completion_mode`.
        indexed: bool,
        /// `result`: `succeeded` if true, else `failed`.
        succeeded: bool,
        /// The increment.
        by: u64,
    },
    /// MX-06 `job_pods_creation_total`.
    PodCreated {
        /// `reason`.
        reason: CreationReason,
        /// `status`: `succeeded` if true, else `failed`.
        succeeded: bool,
    },
    /// MX-07 `pod_failures_handled_by_failure_policy_total`.
    PodFailureHandled {
        /// `action`.
        action: &'static str,
    },
    /// MX-05 `job_finished_indexes_total`.
    IndexesFinished {
        /// `status`: `succeeded` if true, else `failed`.
        succeeded: bool,
        /// `backoffLimit`: `perIndex` if true, else `global`.
        per_index: bool,
        /// The increment.
        by: u64,
    },
}

/// The `action` label of MX-07; none for an unknown action.
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
