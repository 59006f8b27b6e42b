//! A pod as JSON: the inverse of `jobcheck_projection` for pods.

use jobcheck_spec::Time;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::{Phase, Pod, TRACKING_FINALIZER};
use serde_json::{Value, json};

use super::job::{IMAGE, restart_policy};
use super::names::Names;
use super::{given, members, pairs, stamp, unless_empty};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
const IGNORED_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
/// The node of every pod.
pub(super) const NODE: &str = "node-1";
/// The grace period of a deleted pod in seconds.
pub(super) const GRACE: i64 = 30;

/// The properties of a pod that the model does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// `metadata.resourceVersion`.
    pub version: u64,
    /// The time of its deletion.
    pub deleted: Option<Time>,
    /// Its grace period in seconds.
    pub grace: i64,
    /// True if the server has removed the pod (SY-12). The model keeps such a pod until a step of its kubelet.
    pub gone: bool,
    /// True if the phase is `Failed` without a terminated container.
    pub lost: bool,
    /// The exit code of its container.
    pub exit_code: Option<i32>,
}

/// Returns the whole pod, with the template of the Job that created it.
pub(super) fn pod(pod: &Pod, job: &Job, facts: Facts, names: &Names) -> Value {
    let deleted = pod.deleting.then(|| stamp(facts.deleted.unwrap_or(pod.finish_time()).plus(facts.grace)));
    let grace = deleted.as_ref().map(|_| facts.grace);
    let mut whole = request(pod, job, names);
    let own = [
        ("name", Some(json!(names.pod(pod.uid)))),
        ("namespace", Some(json!(names.namespace))),
        ("uid", Some(json!(names.uid(pod.uid).to_string()))),
        ("resourceVersion", Some(json!(facts.version.to_string()))),
        ("generation", Some(json!(1))),
        ("creationTimestamp", Some(json!(stamp(pod.created)))),
        ("deletionTimestamp", given(deleted)),
        ("deletionGracePeriodSeconds", given(grace)),
    ];
    for (key, value) in own {
        if let Some(value) = value {
            whole["metadata"][key] = value;
        }
    }
    let finalizers = finalizers(pod);
    if finalizers.is_empty() {
        remove(&mut whole["metadata"], "finalizers");
    } else {
        whole["metadata"]["finalizers"] = json!(finalizers);
    }
    if pod.scheduled {
        whole["spec"]["nodeName"] = json!(NODE);
    }
    whole["status"] = status(pod, facts);
    whole
}

fn remove(object: &mut Value, key: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(key);
    }
}

fn finalizers(pod: &Pod) -> Vec<&'static str> {
    let other = pod.other_finalizers.then_some("example.com/hold");
    pod.finalizer.then_some(TRACKING_FINALIZER).into_iter().chain(other).collect()
}

/// Returns the body with which a controller creates a pod (PC-14, PC-16, PC-17, BI-02, FT-01).
pub(super) fn request(pod: &Pod, job: &Job, names: &Names) -> Value {
    let index = pod.index.map(|index| index.to_string());
    let template = &job.spec.template;
    let own = template.labels.iter().map(|(key, value)| (&**key, &**value));
    let labels = own.chain(index.as_deref().map(|index| (INDEX, index)));
    let failures = job.spec.backoff_limit_per_index.map(|_| pod.failure_count.to_string());
    let ignored = (pod.ignored_failure_count > 0).then(|| pod.ignored_failure_count.to_string());
    let own = template.annotations.iter().map(|(key, value)| (&**key, &**value));
    let more = [(INDEX, &index), (FAILURE_COUNT, &failures), (IGNORED_FAILURE_COUNT, &ignored)];
    let more = more.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
    let containers = template.container_names.iter().map(|name| container(name, index.is_some()));
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": members([
            ("generateName", Some(json!(names.generate_name(pod.uid)))),
            ("labels", unless_empty(pairs(labels)).filter(|_| pod.selected)),
            ("annotations", unless_empty(pairs(own.chain(more)))),
            ("ownerReferences", pod.controlled.then(|| json!([owner(job, names)]))),
            ("finalizers", unless_empty(json!(finalizers(pod)))),
        ]),
        "spec": members([
            ("containers", Some(json!(containers.collect::<Vec<_>>()))),
            ("restartPolicy", given(restart_policy(template.restart_policy))),
            ("hostname", given(index.as_ref().map(|index| format!("{}-{index}", names.job)))),
        ]),
    })
}

/// Returns the owner reference of a pod that the Job controls.
pub(super) fn owner(job: &Job, names: &Names) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": names.job,
        "uid": job.uid.to_string(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

fn container(name: &str, indexed: bool) -> Value {
    let field = format!("metadata.labels['{INDEX}']");
    let source = json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": field } });
    let env = indexed.then(|| json!([{ "name": "JOB_COMPLETION_INDEX", "valueFrom": source }]));
    members([("name", Some(json!(name))), ("image", Some(json!(IMAGE))), ("env", env)])
}

fn status(pod: &Pod, facts: Facts) -> Value {
    let phase = match pod.phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
        Phase::Unknown => "Unknown",
    };
    let ready = pod.ready_changed.map(|changed| {
        let status = if pod.ready { "True" } else { "False" };
        json!({ "type": "Ready", "status": status, "lastTransitionTime": stamp(changed) })
    });
    let disrupted = pod.disrupted.then(|| json!({ "type": "DisruptionTarget", "status": "True" }));
    let conditions: Vec<Value> = ready.into_iter().chain(disrupted).collect();
    let has_run = pod.is_terminated() || pod.restarts > 0 || pod.phase == Phase::Running;
    let containers = has_run.then(|| json!([container_status(pod, facts)]));
    members([
        ("phase", Some(json!(phase))),
        ("conditions", unless_empty(json!(conditions))),
        ("containerStatuses", containers),
    ])
}

fn container_status(pod: &Pod, facts: Facts) -> Value {
    let exit_code = facts.exit_code;
    let state = match pod.finished.filter(|_| pod.is_terminated() && !facts.lost) {
        Some(finished) => json!({ "terminated": {
            "exitCode": exit_code.unwrap_or(0),
            "reason": if exit_code.unwrap_or(0) == 0 { "Completed" } else { "Error" },
            "finishedAt": stamp(finished),
        } }),
        None => json!({ "running": { "startedAt": stamp(pod.created) } }),
    };
    json!({
        "name": "main",
        "state": state,
        "ready": pod.ready,
        "restartCount": pod.restarts,
        "image": IMAGE,
        "imageID": "",
    })
}
