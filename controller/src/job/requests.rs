//! From calls to requests: the verb, the object, and the body.
//!
//! Patches name only what changes, so that fields and conditions of a newer Kubernetes survive. All are strategic merge
//! patches (`application/strategic-merge-patch+json`): conditions merge by type, owner references by UID.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::command::{NewPod, PodRef, StatusWrite};
use super::observe::{COMPLETION_INDEX, FAILURE_COUNT, IGNORED_FAILURE_COUNT, TRACKING_FINALIZER};
use super::observed::{Condition, JobFacts, StatusFacts, Uncounted};
use super::orphan::OrphanPlan;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The longest prefix of a generated name that the API server does not cut (requirements.md 0.1).
const GENERATE_NAME_MAX: usize = 58;
/// The longest name of a pod.
const POD_NAME_MAX: usize = 253;
/// The environment variable with the index (PC-17).
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// A request, whatever it is sent with. All are about the namespace of the Job.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What is asked.
    pub verb: Verb,
    /// About what.
    pub object: Object,
    /// The body: an object, a patch, or `DeleteOptions`; null for a GET.
    pub body: Value,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// GET, not from a cache.
    Get,
    /// POST.
    Create,
    /// PATCH with a strategic merge patch.
    Patch,
    /// DELETE.
    Delete,
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// The Job of this name.
    Job(Text),
    /// `status` of the Job of this name.
    JobStatus(Text),
    /// The pod of this name.
    Pod(Text),
    /// The pods of the namespace: a new one.
    Pods,
}

/// The request that makes a call for a Job; `pod` makes the body of a new pod ([`PodTemplate::pod`]).
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
        Call::RemoveFinalizer(remove_finalizer) => {
            patch(&remove_finalizer.pod, finalizer_removal_patch(&remove_finalizer.pod.uid))
        }
        Call::AdoptPod(pod) => patch(pod, adoption_patch(pod, job)),
        Call::ReleasePod(pod) => patch(pod, release_patch(&pod.uid, &job.uid)),
    }
}

/// GET of the Job of this name.
#[must_use]
pub fn read_job(name: &Text) -> Request {
    Request { verb: Verb::Get, object: Object::Job(name.clone()), body: Value::Null }
}

/// The request of the orphan path about a pod, if it makes one.
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

/// The patch of `jobs/NAME/status`. The version is that of the Job in the cache, or in the answer to the former status
/// write of the same plan; another one in the server is a conflict (SY-04).
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
    // Without it the API server puts new entries before the old ones (TC-09).
    set("$setElementOrder/conditions", conditions, order_of_conditions(after));
    json!({ "metadata": { "uid": job.as_str(), "resourceVersion": version.as_str() }, "status": status })
}

/// The lists that change; null for one that becomes empty.
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

/// The types in their order, each once.
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

/// Whole seconds, as the API server writes them.
fn instant(time: Time) -> String {
    let end = if time.as_seconds() < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(time.as_seconds()).unwrap_or(end).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The patch of a pod that loses the tracking finalizer.
#[must_use]
pub fn finalizer_removal_patch(pod: &Uid) -> Value {
    json!({ "metadata": { "uid": pod.as_str(), "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER] } })
}

/// The same for an orphan: only in the version that was seen, lest an adoption is undone (S-25).
#[must_use]
pub fn orphan_finalizer_removal_patch(pod: &PodRef) -> Value {
    let mut patch = finalizer_removal_patch(&pod.uid);
    patch["metadata"]["resourceVersion"] = json!(pod.resource_version.as_str());
    patch
}

/// The patch of a pod that a Job takes over: owner and finalizer at once, in the version that was seen (FT-24).
#[must_use]
pub fn adoption_patch(pod: &PodRef, job: &JobFacts) -> Value {
    json!({ "metadata": {
        "uid": pod.uid.as_str(),
        "resourceVersion": pod.resource_version.as_str(),
        "ownerReferences": [controller_reference(job)],
        "finalizers": [TRACKING_FINALIZER],
    } })
}

/// The patch of a pod that a Job gives up: owner and finalizer at once (FT-26).
#[must_use]
pub fn release_patch(pod: &Uid, job: &Uid) -> Value {
    json!({ "metadata": {
        "uid": pod.as_str(),
        "ownerReferences": [{ "$patch": "delete", "uid": job.as_str() }],
        "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
    } })
}

/// The body of the deletion of a pod.
#[must_use]
pub fn pod_deletion(pod: &Uid) -> Value {
    json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "uid": pod.as_str() } })
}

/// The body of the deletion of a pod that came too late: it may have been given up since it was seen (FT-21).
#[must_use]
pub fn orphan_deletion(pod: &PodRef) -> Value {
    let (uid, version) = (pod.uid.as_str(), pod.resource_version.as_str());
    json!({ "kind": "DeleteOptions", "apiVersion": "v1",
        "preconditions": { "uid": uid, "resourceVersion": version } })
}

/// The pods of one Job: the template, prepared once (PC-14 to PC-17, FT-01).
#[derive(Clone, Debug, PartialEq)]
pub struct PodTemplate {
    job: String,
    pod: Map<String, Value>,
    spec: Map<String, Value>,
    indexed: bool,
}

impl PodTemplate {
    /// From `spec.template` of the Job as JSON, with all that this program does not know.
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

    /// The body of the creation of a pod.
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

    /// PC-16, PC-17.
    fn generate_name(&self, index: Option<u32>) -> String {
        match index {
            Some(index) => {
                let end = format!("-{index}-");
                let room = GENERATE_NAME_MAX - end.len();
                // Names of Jobs are ASCII; another one is left whole, and the API server says what is wrong with it.
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
