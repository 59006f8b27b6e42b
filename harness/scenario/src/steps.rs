//! The steps of a scenario: what happens, named as Kubernetes names it.

use std::collections::BTreeMap;

use jobcheck_spec::apiserver;
use serde::{Deserialize, Deserializer, Serialize};

use super::claims::Claims;
use super::failure_code::FailureCode;
use super::spec::ReplacementEntry;
use super::values::{Condition, ExitCode, Gate, Span};

/// One event. Exactly one of the fields after `optional` is set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The name of the Job. Optional if the scenario has only one Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The step happens when these claims hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Claims>,
    /// For a `request`: each matching request has this outcome from now on, until these claims hold. The scenario continues
    /// at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Claims>,
    /// If true, the step is skipped if it is not possible at quiescence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// The scheduler binds a pod to a node, if the scenario is `unscheduled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<PodTarget>,
    /// A kubelet starts a pod: phase `Running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<PodTarget>,
    /// A pod becomes ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<PodTarget>,
    /// A pod is no longer ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready: Option<PodTarget>,
    /// The container of a pod is restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<PodTarget>,
    /// A pod succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeed: Option<PodTarget>,
    /// A pod fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail: Option<Failure>,
    /// A kubelet changes the phase of a succeeded pod to `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip: Option<PodTarget>,
    /// A pod is evicted: condition DisruptionTarget, then a DELETE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evict: Option<PodTarget>,
    /// The Node of a pod is removed: pod GC sets the phase `Failed`, and deletes the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose_node: Option<PodTarget>,
    /// Pod GC sets the phase `Failed` of a pod that was deleted by force, or of a terminating pod whose node is tainted
    /// out-of-service.
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
    /// The user recreates the Job, after it was removed with its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recreate: Option<Nothing>,
    /// The user adds this finalizer of their own to the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_finalizer: Option<String>,
    /// The user removes this finalizer of their own from the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove_finalizer: Option<String>,
    /// The user deletes the namespace of the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_namespace: Option<Nothing>,
    /// The user removes the owner reference of a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disown: Option<PodTarget>,
    /// The user changes the labels of a pod, so that the selector no longer matches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relabel: Option<PodTarget>,
    /// The user sets a condition to False.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Denial>,
    /// The manager that `managedBy` names writes the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Mirror>,
    /// This time passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advance: Option<Span>,
    /// A controller crashes, and is restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// The delayed request of the terminated controller is handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_request: Option<Nothing>,
    /// A second Job controller is elected, and the first one still acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_leader: Option<Nothing>,
    /// One of two leaders stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resign: Option<Resignation>,
    /// A Job controller with other feature gates takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// The next such request of a controller has this outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// A held request continues: the one that was held first, or the first about this pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_request: Option<HeldRequest>,
    /// The events of a watch are held back from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Watch>,
    /// The held events of a watch are delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Watch>,
    /// A watch of the controllers ends with 410, and they relist. Held events stay held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<Watch>,
    /// All watches are released, and the next step waits until the caches are up to date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<Nothing>,
    /// The controllers are paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Nothing>,
    /// The controllers continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpause: Option<Nothing>,
    /// The next step waits until these claims hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#await: Option<Claims>,
    /// The next step waits for quiescence, at which these claims must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Claims>,
}

/// A step without arguments: `{}`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A pod, by its number or its completion index. Without either: any pod.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTarget {
    /// The number of the pod in the order of creation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The number of pods to which the event happens. The default is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// The failure of a pod.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// The number of the pod, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The exit code of its container, from 1 to 255. The default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<ExitCode>,
}

/// A change of the specification: one field, or `parallelism` and `completions` together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// `spec.suspend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// `spec.parallelism`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<i32>,
    /// `spec.completions` of an Indexed Job, together with `parallelism`.
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
    /// `spec.activeDeadlineSeconds`. `null` removes it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<Option<i64>>,
    /// `spec.ttlSecondsAfterFinished`. `null` removes it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<Option<i32>>,
    /// `spec.template`, of a suspended Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateEdit>,
}

/// A change of the pod template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateEdit {
    /// `metadata` of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// `spec` of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingEdit>,
}

/// The metadata of a pod template that a change sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateMetadata {
    /// `labels`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// `annotations`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The scheduling directives of a pod template that a change sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulingEdit {
    /// `nodeSelector`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
}

impl Edit {
    /// Returns true if no field is set.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        *self == Edit::default()
    }
}

/// Deserializes a present field that may be `null`.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// The deletion of a Job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobDeletion {
    /// `propagationPolicy`.
    pub propagation: Propagation,
}

/// The treatment of the pods of a deleted Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// The pods are removed before the Job.
    Foreground,
    /// The pods are removed after the Job.
    Background,
    /// The pods stay.
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

/// The deletion of a pod.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodDeletion {
    /// The number of the pod, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// If true, the pod is deleted without a grace period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// The condition that is set to False.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Denial {
    /// The type of the condition.
    pub condition: Condition,
}

/// A report of another manager.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// The state of the Job on the other cluster.
    pub reports: Report,
}

/// The state of a Job on another cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The Job runs.
    Running,
    /// The Job has the interim condition FailureTarget.
    FailureTarget,
    /// The Job has failed.
    Failed,
}

/// The crash of a controller.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// The controller. The default is the Job controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerName>,
    /// The controller crashes while this request is in flight, which may be handled later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<Request>,
}

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ControllerName {
    /// The Job controller.
    Job,
    /// The TTL-after-finished controller.
    Ttl,
}

/// The leader that stops.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resignation {
    /// The leader.
    pub leader: Leader,
}

/// One of two leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Leader {
    /// The old leader.
    First,
    /// The new leader.
    Second,
}

/// A change of feature gates.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// The gates. Gates that are not named are on.
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// A request of a controller, and its outcome.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The verb.
    pub verb: Verb,
    /// The resource.
    pub resource: Resource,
    /// The number of the pod, from 1. Not for a creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// A pod of this completion index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The number of the request among such requests since the previous step, from 1. The default is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u8>,
    /// The outcome. Absent if the controller crashes during the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The code with which the request `fails`. The default is 500. The target `model` does not distinguish
    /// codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// If there are two leaders: the step is only for a request of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<Leader>,
}

/// A held request, and its outcome.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeldRequest {
    /// The number of the request's pod, from 1. Without it, the request that was held first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u8>,
    /// `handled`, `fails` or `answerLost`; by default `handled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The HTTP code of a request that `fails`; by default 500.
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

/// The resource of a request.
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

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The request is handled. Then the next step follows.
    Handled,
    /// The request fails, and changes nothing.
    Fails,
    /// The request is handled, and its response is lost.
    #[serde(rename = "answerLost")]
    ResponseLost,
    /// The request waits for a step `heldRequest`. The scenario continues as soon as the request was sent.
    Held,
}

/// A watch of the controllers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watch {
    /// The watched resource.
    pub watch: Watched,
    /// If there are two leaders: the step is only for the watch of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<Leader>,
}

/// A watched resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Watched {
    /// Pods.
    Pods,
    /// Jobs.
    Jobs,
}
