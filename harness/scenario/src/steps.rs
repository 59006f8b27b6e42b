//! The steps of a scenario: what happens, named as Kubernetes names it.

use std::collections::BTreeMap;

use jobcheck_spec::apiserver;
use serde::{Deserialize, Deserializer, Serialize};

use super::claims::Claims;
use super::failure_code::FailureCode;
use super::spec::ReplacementEntry;
use super::values::{Condition, ExitCode, Gate, Span};

/// One thing that happens. Exactly one of the fields after `optional` is set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The Job that it concerns; may be left out where there is one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// It happens once this holds, and while it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Claims>,
    /// Of a `request`: each such request has the outcome from now on until this holds. The scenario goes on at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Claims>,
    /// It is left out where everybody has come to rest, and it cannot happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// The scheduler binds a pod to a node, where the scenario is `unscheduled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<PodTarget>,
    /// A kubelet starts a pod: phase `Running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<PodTarget>,
    /// A pod becomes ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<PodTarget>,
    /// A pod that was ready is not any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready: Option<PodTarget>,
    /// The container of a pod is restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<PodTarget>,
    /// A pod ends well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeed: Option<PodTarget>,
    /// A pod ends badly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail: Option<Failure>,
    /// A kubelet takes a success back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip: Option<PodTarget>,
    /// A pod is evicted: condition DisruptionTarget, then a DELETE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evict: Option<PodTarget>,
    /// The node of a pod is gone: pod GC marks the pod failed, and deletes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose_node: Option<PodTarget>,
    /// Pod GC gives up a pod that was deleted by force: phase `Failed`.
    #[serde(rename = "podGC")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_gc: Option<PodTarget>,
    /// The user changes the specification of a Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// The user deletes the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_job: Option<JobDeletion>,
    /// The user deletes a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_pod: Option<PodDeletion>,
    /// The user creates the Job again, once it is gone with its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recreate: Option<Nothing>,
    /// The user deletes the namespace of the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_namespace: Option<Nothing>,
    /// The user takes the owner of a pod away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disown: Option<PodTarget>,
    /// The user changes the labels of a pod, so that the selector does not match it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relabel: Option<PodTarget>,
    /// The user sets a condition to False by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Denial>,
    /// The manager that `managedBy` names writes the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Mirror>,
    /// So much time passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advance: Option<Span>,
    /// A controller dies, and is started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// The request of the dead controller arrives after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_request: Option<Nothing>,
    /// A second Job controller takes the lead, and the first does not notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_leader: Option<Nothing>,
    /// One of two leaders stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resign: Option<Resignation>,
    /// A Job controller with other feature gates takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// This becomes of the next such request of a controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// A request that is held goes on: the one that was held first, or the first about this pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_request: Option<HeldRequest>,
    /// No event of a watch reaches the controllers from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Watch>,
    /// Events of a watch that was held come through again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Watch>,
    /// A watch of the controllers ends with 410: they list anew, and go on from there. What is held stays so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<Watch>,
    /// The watches are released, and the scenario goes on when the caches show all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<Nothing>,
    /// The controllers do nothing from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Nothing>,
    /// They go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpause: Option<Nothing>,
    /// Nothing happens until this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#await: Option<Claims>,
    /// Nothing happens until everybody has come to rest, and then this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Claims>,
}

/// Nothing more to say: `{}`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A pod: by number, by completion index, or, with neither, any.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTarget {
    /// The so-many-th pod of the Job in the order of creation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// To so many pods it happens, and not to one alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// How a pod ends badly.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// The so-many-th pod of the Job, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The exit code of its container, from 1 to 255; 1 where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<ExitCode>,
}

/// What the user changes: one field, or `parallelism` and `completions` together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// `spec.suspend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// `spec.parallelism`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<i32>,
    /// `spec.completions`, of an Indexed Job together with `parallelism`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<i32>,
    /// `spec.backoffLimit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    /// `spec.maxFailedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_failed_indexes: Option<i32>,
    /// `spec.podReplacementPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_replacement_policy: Option<ReplacementEntry>,
    /// `spec.activeDeadlineSeconds`; `null` removes it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<Option<i64>>,
    /// `spec.ttlSecondsAfterFinished`; `null` removes it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<Option<i32>>,
}

impl Edit {
    /// Whether no field is set.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        *self == Edit::default()
    }
}

/// A field that is there, and may be `null`.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// How a Job is deleted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobDeletion {
    /// `propagationPolicy`.
    pub propagation: Propagation,
}

/// What becomes of the pods of a deleted Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// They go first.
    Foreground,
    /// They go later.
    Background,
    /// They stay.
    Orphan,
}

impl From<Propagation> for apiserver::Propagation {
    fn from(propagation: Propagation) -> Self {
        match propagation {
            Propagation::Foreground => apiserver::Propagation::Foreground,
            Propagation::Background => apiserver::Propagation::Background,
            Propagation::Orphan => apiserver::Propagation::Orphan,
        }
    }
}

impl From<apiserver::Propagation> for Propagation {
    fn from(propagation: apiserver::Propagation) -> Self {
        match propagation {
            apiserver::Propagation::Foreground => Propagation::Foreground,
            apiserver::Propagation::Background => Propagation::Background,
            apiserver::Propagation::Orphan => Propagation::Orphan,
        }
    }
}

/// How a pod is deleted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodDeletion {
    /// The so-many-th pod of the Job, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Without grace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// A condition that is set to False.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Denial {
    /// Its type.
    pub condition: Condition,
}

/// What another manager reports.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// The state of the Job elsewhere.
    pub reports: Report,
}

/// The state of a Job elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It runs.
    Running,
    /// It is about to fail.
    FailureTarget,
    /// It has failed.
    Failed,
}

/// How a controller dies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// Which; the Job controller where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerName>,
    /// It dies while such a request of it is on the way, which may arrive later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<Request>,
}

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ControllerName {
    /// That of Jobs.
    Job,
    /// That of TTLs.
    Ttl,
}

/// Which of two leaders stops.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resignation {
    /// Which.
    pub leader: Leader,
}

/// One of two leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Leader {
    /// The one that led first.
    First,
    /// The other.
    Second,
}

/// Other feature gates.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// The gates; those that are not named are on.
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// A request of a controller, and what becomes of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The verb.
    pub verb: Verb,
    /// What it is about.
    pub resource: Resource,
    /// The so-many-th pod of the Job, from 1; not of a creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The so-many-th such request since the step before, from 1; the first where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u8>,
    /// What becomes of it; left out where the controller dies with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// With what it `fails`; 500 where it is left out. The target `model` has one failure for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// Only a request of this leader is meant, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<Leader>,
}

/// A request that was held, and what becomes of it now.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeldRequest {
    /// The number of the pod that it is about, from 1; the request that was held first where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// `handled`, `fails` or `answerLost`; `handled` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// With what it `fails`; 500 where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
}

/// A verb of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// POST.
    Create,
    /// GET.
    Get,
    /// PATCH.
    Patch,
    /// PUT.
    Update,
    /// DELETE.
    Delete,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// A pod.
    #[serde(rename = "pods")]
    Pods,
    /// A Job.
    #[serde(rename = "jobs")]
    Jobs,
    /// The status of a Job.
    #[serde(rename = "jobs/status")]
    JobStatus,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It is handled; the scenario goes on then.
    Handled,
    /// It fails, and nothing is changed.
    Fails,
    /// It is handled, and its answer is lost.
    #[serde(rename = "answerLost")]
    ResponseLost,
    /// It waits for a step `heldRequest`; the scenario goes on as soon as it was sent.
    Held,
}

/// Which watch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watch {
    /// Of what.
    pub watch: Watched,
    /// The watch of this leader alone, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<Leader>,
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Watched {
    /// Pods.
    Pods,
    /// Jobs.
    Jobs,
}
