//! The requests of calls: verb, object, and body.
//!
//! A patch contains only changes, so that fields and conditions of later versions of Kubernetes survive. All patches are
//! strategic merge patches (`application/strategic-merge-patch+json`): conditions merge by type, owner references by
//! UID.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::command::{NewPod, PodRef, StatusWrite};
use super::observe::{COMPLETION_INDEX, FAILURE_COUNT, IGNORED_FAILURE_COUNT, TRACKING_FINALIZER};
use super::observed::{Condition, JobFacts, StatusFacts, Uncounted};
use super::orphan::OrphanPlan;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The length up to which the API server keeps a `generateName` prefix (`docs/reference/built-in.md`).
const GENERATE_NAME_MAX: usize = 58;
/// The maximum length of the name of a pod.
const POD_NAME_MAX: usize = 253;
/// The environment variable with the completion index (PC-17).
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// A request about an object in the namespace of the Job, independent of the client that sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The verb.
    pub verb: Verb,
    /// The object.
    pub object: Object,
    /// The body: an object, a patch, or `DeleteOptions`; null for a GET.
    pub body: Value,
}

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// GET without a resourceVersion: a quorum read.
    Get,
    /// POST.
    Create,
    /// PATCH with a strategic merge patch.
    Patch,
    /// DELETE.
    Delete,
}

/// The object of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// The Job with this name.
    Job(Text),
    /// The subresource `status` of the Job with this name.
    JobStatus(Text),
    /// The pod with this name.
    Pod(Text),
    /// The collection of pods, for a creation.
    Pods,
}

/// Returns the request of a call for a Job. `pod` returns the body of a new pod ([`PodTemplate::pod`]).
#[must_use]
pub fn request(call: &Call, job: &JobFacts, pod: impl FnOnce(&NewPod) -> Value) -> Request {
    let patch =
        |pod: &PodRef, body| Request { verb: Verb::Patch, object: Object::Pod(pod.name.clone()), body };
    match call {
        Call::ReadJob => read_job(&job.name),
        Call::WriteStatus(write, version) => {
            let body = status_patch(write, &job.uid, version);
            Request { verb: Verb::Patch, object: Object::JobStatus(job.name.clone()), body }
        }
        Call::CreatePod(new, _) => Request { verb: Verb::Create, object: Object::Pods, body: pod(new) },
        Call::DeletePod(pod) => delete(pod, pod_deletion(&pod.uid)),
        Call::RemoveFinalizer(removal) => patch(&removal.pod, finalizer_removal_patch(&removal.pod.uid)),
        Call::AdoptPod(pod) => patch(pod, adoption_patch(pod, job)),
        Call::ReleasePod(pod) => patch(pod, release_patch(&pod.uid, &job.uid)),
    }
}

/// Returns the GET of the Job with this name.
#[must_use]
pub fn read_job(name: &Text) -> Request {
    Request { verb: Verb::Get, object: Object::Job(name.clone()), body: Value::Null }
}

/// Returns the request of a plan of the orphan path, if it makes one.
#[must_use]
pub fn of_orphan(plan: &OrphanPlan) -> Option<Request> {
    match plan {
        OrphanPlan::Leave => None,
        OrphanPlan::Delete(pod) => Some(delete(pod, orphan_deletion(pod))),
        OrphanPlan::RemoveFinalizer(pod) => {
            let object = Object::Pod(pod.name.clone());
            Some(Request { verb: Verb::Patch, object, body: orphan_finalizer_removal_patch(pod) })
        }
    }
}

fn delete(pod: &PodRef, options: Value) -> Request {
    Request { verb: Verb::Delete, object: Object::Pod(pod.name.clone()), body: options }
}

/// The body of the PATCH of `jobs/NAME/status`.
///
/// `version` is the version of the Job in the cache, or in the response to the previous status write of the same plan. If
/// the stored Job has another version, the API server responds with a conflict (SY-04).
#[must_use]
pub fn status_patch(write: &StatusWrite, job: &Uid, version: &ResourceVersion) -> Value {
    let (before, after) = (&write.before, &write.after);
    let mut status = Map::new();
    let mut set = |name: &str, changed: bool, value: Value| {
        if changed {
            status.insert(name.to_owned(), value);
        }
    };
    set("startTime", before.start_time != after.start_time, json!(after.start_time.map(instant)));
    let completion = before.completion_time != after.completion_time;
    set("completionTime", completion, json!(after.completion_time.map(instant)));
    set("active", before.active != after.active, json!(after.active));
    set("ready", before.ready != after.ready, json!(after.ready));
    set("terminating", before.terminating != after.terminating, json!(after.terminating));
    set("succeeded", before.succeeded != after.succeeded, json!(after.succeeded));
    set("failed", before.failed != after.failed, json!(after.failed));
    let completed = before.completed_indexes != after.completed_indexes;
    set("completedIndexes", completed, json!(after.completed_indexes.as_deref()));
    set(
        "failedIndexes",
        before.failed_indexes != after.failed_indexes,
        json!(after.failed_indexes.as_deref()),
    );
    set("uncountedTerminatedPods", before.uncounted != after.uncounted, uncounted(before, after));
    let conditions = before.conditions != after.conditions;
    set("conditions", conditions, changed_conditions(before, after));
    // Without this directive the API server inserts new conditions before the old ones (TC-09).
    set("$setElementOrder/conditions", conditions, order_of_conditions(after));
    json!({ "metadata": { "uid": job.as_str(), "resourceVersion": version.as_str() }, "status": status })
}

/// The lists that change; null for a list that becomes empty.
fn uncounted(before: &StatusFacts, after: &StatusFacts) -> Value {
    let Some(after) = &after.uncounted else { return Value::Null };
    let none = Uncounted::default();
    let before = before.uncounted.as_ref().unwrap_or(&none);
    let list = |uids: &[Uid]| match uids {
        [] => Value::Null,
        uids => uids.iter().map(Uid::as_str).collect(),
    };
    let mut lists = Map::new();
    if before.succeeded != after.succeeded {
        lists.insert("succeeded".to_owned(), list(&after.succeeded));
    }
    if before.failed != after.failed {
        lists.insert("failed".to_owned(), list(&after.failed));
    }
    Value::Object(lists)
}

fn changed_conditions(before: &StatusFacts, after: &StatusFacts) -> Value {
    after.conditions.iter().filter(|it| !before.conditions.contains(it)).map(condition).collect()
}

/// The types of the conditions in their order, each once.
fn order_of_conditions(after: &StatusFacts) -> Value {
    let mut types: Vec<&str> = Vec::new();
    for condition in &after.conditions {
        if !types.contains(&&*condition.kind) {
            types.push(&condition.kind);
        }
    }
    types.into_iter().map(|kind| json!({ "type": kind })).collect()
}

fn condition(condition: &Condition) -> Value {
    json!({
        "type": &*condition.kind,
        "status": &*condition.status,
        "reason": &*condition.reason,
        "message": &*condition.message,
        "lastProbeTime": condition.last_probe.map(instant),
        "lastTransitionTime": condition.last_transition.map(instant),
    })
}

/// Formats an instant in whole seconds, as the API server does.
fn instant(time: Time) -> String {
    let end = if time.as_seconds() < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(time.as_seconds()).unwrap_or(end).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The body of the PATCH that removes the tracking finalizer of a pod.
#[must_use]
pub fn finalizer_removal_patch(pod: &Uid) -> Value {
    json!({ "metadata": { "uid": pod.as_str(), "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER] } })
}

/// The same for an orphan pod. Its version is a precondition, so that the patch undoes no adoption (S-25).
#[must_use]
pub fn orphan_finalizer_removal_patch(pod: &PodRef) -> Value {
    let mut patch = finalizer_removal_patch(&pod.uid);
    patch["metadata"]["resourceVersion"] = json!(pod.resource_version.as_str());
    patch
}

/// The body of the PATCH that adopts a pod: controller reference and finalizer, with its version as precondition (FT-24).
#[must_use]
pub fn adoption_patch(pod: &PodRef, job: &JobFacts) -> Value {
    json!({ "metadata": {
        "uid": pod.uid.as_str(),
        "resourceVersion": pod.resource_version.as_str(),
        "ownerReferences": [controller_reference(job)],
        "finalizers": [TRACKING_FINALIZER],
    } })
}

/// The body of the PATCH that releases a pod: it removes the controller reference and the finalizer (FT-26).
#[must_use]
pub fn release_patch(pod: &Uid, job: &Uid) -> Value {
    json!({ "metadata": {
        "uid": pod.as_str(),
        "ownerReferences": [{ "$patch": "delete", "uid": job.as_str() }],
        "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
    } })
}

/// The body of the DELETE of a pod.
#[must_use]
pub fn pod_deletion(pod: &Uid) -> Value {
    json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "uid": pod.as_str() } })
}

/// The body of the DELETE of a pod that was created after its Job had finished.
///
/// The version is a precondition, because the pod may have been released since the cache showed it (FT-21).
#[must_use]
pub fn orphan_deletion(pod: &PodRef) -> Value {
    let (uid, version) = (pod.uid.as_str(), pod.resource_version.as_str());
    json!({ "kind": "DeleteOptions", "apiVersion": "v1",
        "preconditions": { "uid": uid, "resourceVersion": version } })
}

/// The prepared template of the pods of one Job (PC-14 to PC-17, FT-01).
#[derive(Clone, Debug, PartialEq)]
pub struct PodTemplate {
    job: String,
    pod: Map<String, Value>,
    spec: Map<String, Value>,
    indexed: bool,
}

impl PodTemplate {
    /// Prepares `spec.template` of the Job. It is JSON, so that fields of later versions of Kubernetes survive.
    #[must_use]
    pub fn new(job: &JobFacts, template: &Value, indexed: bool) -> Self {
        let metadata = &template["metadata"];
        let mut finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.iter().any(|it| it == TRACKING_FINALIZER) {
            finalizers.push(json!(TRACKING_FINALIZER));
        }
        let mut pod = Map::new();
        for name in ["labels", "annotations"] {
            pod.insert(name.to_owned(), metadata[name].as_object().cloned().unwrap_or_default().into());
        }
        pod.insert("finalizers".to_owned(), finalizers.into());
        pod.insert("ownerReferences".to_owned(), json!([controller_reference(job)]));
        let mut spec = template["spec"].as_object().cloned().unwrap_or_default();
        if indexed {
            for name in ["initContainers", "containers"] {
                let containers = spec.get_mut(name).and_then(Value::as_array_mut);
                containers.into_iter().flatten().for_each(add_index_variable);
            }
        }
        PodTemplate { job: job.name.to_string(), pod, spec, indexed }
    }

    /// The body of the POST of a pod.
    #[must_use]
    pub fn pod(&self, new: &NewPod) -> Value {
        let (mut metadata, mut spec) = (self.pod.clone(), self.spec.clone());
        metadata.insert("generateName".to_owned(), json!(self.generate_name(new.index)));
        if let Some(index) = new.index.filter(|_| self.indexed) {
            let value = index.to_string();
            metadata["labels"][COMPLETION_INDEX] = json!(value);
            metadata["annotations"][COMPLETION_INDEX] = json!(value);
            spec.insert("hostname".to_owned(), json!(format!("{}-{index}", self.job)));
        }
        for (name, count) in
            [(FAILURE_COUNT, new.failure_count), (IGNORED_FAILURE_COUNT, new.ignored_failure_count)]
        {
            if let Some(count) = count {
                metadata["annotations"][name] = json!(count.to_string());
            }
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
    }

    /// The `generateName` prefix (PC-16, PC-17).
    fn generate_name(&self, index: Option<u32>) -> String {
        match index {
            Some(index) => {
                let end = format!("-{index}-");
                let room = GENERATE_NAME_MAX - end.len();
                // A name that is not ASCII is not cut; the API server refuses it.
                format!("{}{end}", self.job.get(..room).unwrap_or(&self.job))
            }
            None if self.job.len() < POD_NAME_MAX => format!("{}-", self.job),
            None => self.job.clone(),
        }
    }
}

fn add_index_variable(container: &mut Value) {
    let Some(container) = container.as_object_mut() else { return };
    let variables = container.entry("env").or_insert_with(|| json!([]));
    if variables.is_null() {
        *variables = json!([]);
    }
    let Some(variables) = variables.as_array_mut() else { return };
    if variables.iter().all(|it| it["name"] != INDEX_VARIABLE) {
        let path = format!("metadata.labels['{COMPLETION_INDEX}']");
        variables.push(json!({ "name": INDEX_VARIABLE, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
    }
}

fn controller_reference(job: &JobFacts) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": &*job.name,
        "uid": job.uid.as_str(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
