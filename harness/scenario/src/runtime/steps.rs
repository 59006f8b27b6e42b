//! The steps of users, kubelets, and other clients of the API server.

use crate::{Edit, JobEntry, PodBefore, PodTarget, Propagation, Report, SpecExcerpt, Step};
use jobcheck_apiserver::kubelet::End;
use jobcheck_apiserver::request::{DeleteOptions, PatchKind, Request, Response, Subresource, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_spec::apiserver::{FOREGROUND, ORPHAN};
use serde_json::{Map, Value, json};

use crate::runtime::cluster::Cluster;
use crate::runtime::pods::{
    completion_index, has_not_ended, is_deleting, is_disrupted, is_pending, is_ready, is_running,
    is_selected, is_unscheduled, may_restart, owner, phase, runs_here,
};

const SCHEDULER: (&str, &str) = ("system:kube-scheduler", "kube-scheduler");
const POD_GC: (&str, &str) =
    ("system:serviceaccount:kube-system:pod-garbage-collector", "kube-controller-manager");
const MIRROR: (&str, &str) = ("system:serviceaccount:acme:mirror", "acme-mirror");

/// Applies a step to a Job. Returns false if it is not possible now, and `None` if it is a step of another kind.
pub fn act<C: Cluster>(
    cluster: &mut C,
    entry: &JobEntry,
    step: &Step,
    choose: &mut Choose<'_>,
) -> Option<bool> {
    let name = entry.name.as_str();
    let target = |pod: &Option<PodTarget>| *pod;
    let mut on_pod =
        |target: PodTarget, fits: &dyn Fn(&Value) -> bool, act: &dyn Fn(&mut C, &str) -> bool| {
            let fitting = matching(cluster, name, target, fits);
            if let Some(count) = target.count {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let done = |pod: &&String| act(cluster, pod);
                return fitting.len() >= count && fitting.iter().filter(done).take(count).count() == count;
            }
            fitting.get(choose(fitting.len())).is_some_and(|pod| act(cluster, pod))
        };
    let one = |pod, index| PodTarget { pod, index, count: None };
    let done = if let Some(it) = target(&step.schedule) {
        on_pod(it, &is_unscheduled, &schedule)
    } else if let Some(it) = target(&step.run) {
        on_pod(it, &|pod| is_pending(pod) && runs_here(pod), &|cluster, pod| run(cluster, pod, false))
    } else if let Some(it) = target(&step.ready) {
        on_pod(it, &|pod| is_running(pod) && !is_ready(pod), &|cluster, pod| run(cluster, pod, true))
    } else if let Some(it) = target(&step.unready) {
        on_pod(it, &|pod| is_running(pod) && is_ready(pod), &|cluster, pod| run(cluster, pod, false))
    } else if let Some(it) = target(&step.restart) {
        on_pod(it, &|pod| may_restart(pod) && runs_here(pod), &restart)
    } else if let Some(it) = target(&step.succeed) {
        on_pod(it, &runs_here, &|cluster, pod| end(cluster, pod, End::Succeeded))
    } else if let Some(it) = &step.fail {
        let code = it.exit_code.map_or(1, i32::from);
        on_pod(one(it.pod, it.index), &runs_here, &|cluster, pod| end(cluster, pod, End::Failed(code)))
    } else if let Some(it) = target(&step.flip) {
        on_pod(it, &|pod| phase(pod) == "Succeeded", &|cluster, pod| end(cluster, pod, End::Failed(1)))
    } else if let Some(it) = target(&step.evict) {
        on_pod(it, &|pod| has_not_ended(pod) && !is_deleting(pod) && !is_disrupted(pod), &evict)
    } else if let Some(it) = target(&step.lose_node) {
        on_pod(it, &runs_here, &|cluster, pod| give_up(cluster, pod, true))
    } else if let Some(it) = target(&step.pod_gc) {
        let forced = |pod: &Value| is_deleting(pod) && has_not_ended(pod);
        on_pod(it, &forced, &|cluster, pod| give_up(cluster, pod, false))
    } else if let Some(it) = &step.delete_pod {
        let grace = it.force.unwrap_or_default().then_some(0);
        let open = |pod: &Value| !is_deleting(pod) || grace.is_some();
        on_pod(one(it.pod, it.index), &open, &|cluster, pod| delete_pod(cluster, pod, grace))
    } else if let Some(it) = target(&step.disown) {
        on_pod(it, &|pod| owner(pod).is_some(), &disown)
    } else if let Some(it) = target(&step.relabel) {
        on_pod(it, &is_selected, &relabel)
    } else {
        return of_job(cluster, entry, step);
    };
    Some(done)
}

fn of_job(cluster: &mut impl Cluster, entry: &JobEntry, step: &Step) -> Option<bool> {
    let name = entry.name.as_str();
    let exists = cluster.job(name).is_some();
    let done = if let Some(edit) = &step.edit {
        let body = edited(edit);
        cluster.job(name).is_some_and(|job| would_change(job, &body))
            && is_accepted(&patch_job(cluster, name, body))
    } else if let Some(deletion) = &step.delete_job {
        cluster.job(name).is_some_and(|job| changes(job, deletion.propagation))
            && delete_job(cluster, name, deletion.propagation)
    } else if let Some(finalizer) = &step.add_finalizer {
        let is_missing = !is_deleting_job(cluster, name) && !finalizers(cluster, name).contains(finalizer);
        exists && is_missing && set_finalizers(cluster, name, |all| all.push(finalizer.clone()))
    } else if let Some(finalizer) = &step.remove_finalizer {
        finalizers(cluster, name).contains(finalizer)
            && set_finalizers(cluster, name, |all| all.retain(|it| it != finalizer))
    } else if step.delete_namespace.is_some() {
        delete_namespace(cluster)
    } else if step.recreate.is_some() {
        !exists && create_job(cluster, entry).is_ok()
    } else if let Some(denial) = &step.deny {
        let kind = format!("{:?}", denial.condition);
        let body = json!({"status": {"conditions": [{"type": kind, "status": "False"}]}});
        exists && is_accepted(&patch_status(cluster, name, body, None))
    } else if let Some(mirror) = &step.mirror {
        exists && is_accepted(&report(cluster, name, mirror.reports))
    } else {
        return None;
    };
    Some(done)
}

/// Chooses one of this number of equivalent objects, from 0.
pub type Choose<'a> = dyn FnMut(usize) -> usize + 'a;

/// Creates a Job as the user.
///
/// # Errors
///
/// The refusal of the API server.
pub fn create_job(cluster: &mut impl Cluster, entry: &JobEntry) -> Result<(), String> {
    let mut spec = spec(&entry.spec.value);
    cluster.complete(&mut spec);
    let mut metadata = serde_json::to_value(&entry.metadata).unwrap_or_default();
    metadata["name"] = json!(entry.name);
    if let Some(owner) = &entry.metadata.owner {
        metadata.as_object_mut().and_then(|fields| fields.remove("owner"));
        metadata["ownerReferences"] = json!([owner_reference(cluster, owner)?]);
    }
    let body = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec});
    let request = on(cluster, Resource::Jobs, None, Verb::Create(body));
    cluster.ask(&request).object().map(drop).map_err(|error| error.message)
}

/// The reference to a Job that owns another Job.
fn owner_reference(cluster: &mut impl Cluster, owner: &str) -> Result<Value, String> {
    let read = on(cluster, Resource::Jobs, Some(owner), Verb::Get { resource_version: None });
    let stored = cluster.ask(&read).object().map_err(|error| error.message)?;
    Ok(json!({"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": stored["metadata"]["uid"]}))
}

fn spec(excerpt: &SpecExcerpt) -> Value {
    let mut spec = serde_json::to_value(excerpt).unwrap_or_default();
    if !spec["template"]["spec"].is_object() {
        spec["template"] = json!({"spec": {}});
    }
    let pod = &mut spec["template"]["spec"];
    if pod["restartPolicy"].is_null() {
        pod["restartPolicy"] = json!("Never");
    }
    pod["containers"] = json!([{"name": "main", "image": "main"}]);
    spec
}

/// Creates a pod that exists before the first sync of the Job.
///
/// # Errors
///
/// The refusal of the API server.
pub fn create_pod(
    cluster: &mut impl Cluster,
    entry: &JobEntry,
    number: usize,
    pod: &PodBefore,
) -> Result<(), String> {
    let Some(job) = cluster.job(&entry.name).cloned() else { return Err("there is no Job".to_owned()) };
    let name = format!("{}-before-{number}", entry.name);
    let template = &job["spec"]["template"];
    let mut metadata = json!({"name": name, "labels": template["metadata"]["labels"]});
    if pod.controlled {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": entry.name, "uid": job["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]});
    let request = on(cluster, Resource::Pods, None, Verb::Create(body));
    cluster.ask(&request).object().map_err(|error| error.message)?;
    let phase = format!("{:?}", pod.phase);
    let done = match phase.as_str() {
        "Running" => run(cluster, &name, false),
        "Succeeded" => end(cluster, &name, End::Succeeded),
        "Failed" => end(cluster, &name, End::Failed(1)),
        _ => true,
    };
    if done { Ok(()) } else { Err(format!("pod {name} cannot be made {phase}")) }
}

/// The names of the Job's pods that the step names and that satisfy a condition.
fn matching(
    cluster: &impl Cluster,
    job: &str,
    target: PodTarget,
    fits: &dyn Fn(&Value) -> bool,
) -> Vec<String> {
    let meant = |place: usize, pod: &Value| match (target.pod, target.index) {
        (Some(number), _) => place + 1 == usize::from(number),
        (None, Some(index)) => completion_index(pod) == Some(index),
        (None, None) => true,
    };
    let created = cluster.created(job).iter().enumerate();
    created
        .filter_map(|(place, it)| Some((place, it, cluster.pod(&it.name)?)))
        .filter(|(place, it, pod)| pod["metadata"]["uid"] == *it.uid && meant(*place, pod) && fits(pod))
        .map(|(_, it, _)| it.name.clone())
        .collect()
}

/// Returns a request about an object or a collection in the namespace of the run.
fn on(cluster: &impl Cluster, resource: Resource, name: Option<&str>, verb: Verb) -> Request {
    Request::new(resource, Some(&cluster.namespace()), name, verb)
}

fn is_accepted(response: &Response) -> bool {
    response.outcome.is_ok()
}

fn schedule(cluster: &mut impl Cluster, pod: &str) -> bool {
    let namespace = cluster.namespace();
    cluster.kubelet(|it, server, now| it.bind(server, now, &namespace, pod)).is_ok()
}

fn run(cluster: &mut impl Cluster, pod: &str, ready: bool) -> bool {
    let namespace = cluster.namespace();
    cluster.kubelet(|it, server, now| it.run(server, now, &namespace, pod, ready)).is_ok()
}

fn end(cluster: &mut impl Cluster, pod: &str, end: End) -> bool {
    let namespace = cluster.namespace();
    cluster.kubelet(|it, server, now| it.end(server, now, &namespace, pod, end)).is_ok()
}

/// Restarts a container in its pod, which is started first if it does not run.
fn restart(cluster: &mut impl Cluster, pod: &str) -> bool {
    if cluster.pod(pod).is_some_and(|pod| !is_running(pod)) && !run(cluster, pod, false) {
        return false;
    }
    let count = |pod: &mut Value| {
        let restarts = &mut pod["status"]["containerStatuses"][0]["restartCount"];
        *restarts = json!(restarts.as_i64().unwrap_or(0) + 1);
    };
    let namespace = cluster.namespace();
    cluster.kubelet(|it, server, now| it.report(server, now, &namespace, pod, count)).is_ok()
}

fn patch_pod(
    cluster: &mut impl Cluster,
    pod: &str,
    body: Value,
    status: bool,
    who: Option<(&str, &str)>,
) -> bool {
    let verb = Verb::Patch { kind: PatchKind::Strategic, body };
    let request = on(cluster, Resource::Pods, Some(pod), verb);
    let request = if status { request.on(Subresource::Status) } else { request };
    is_accepted(&cluster.ask(&signed(request, who)))
}

fn signed(request: Request, who: Option<(&str, &str)>) -> Request {
    match who {
        Some((user, agent)) => request.of(user, agent),
        None => request.of("admin", "kubectl/v1.36.3"),
    }
}

fn delete_as(cluster: &mut impl Cluster, pod: &str, grace: Option<i64>, who: Option<(&str, &str)>) -> bool {
    let options = DeleteOptions { grace_period_seconds: grace, ..DeleteOptions::default() };
    let request = on(cluster, Resource::Pods, Some(pod), Verb::Delete(options));
    is_accepted(&cluster.ask(&signed(request, who)))
}

fn delete_pod(cluster: &mut impl Cluster, pod: &str, grace: Option<i64>) -> bool {
    delete_as(cluster, pod, grace, None)
}

/// The patch with the status of an evicted pod.
pub fn preempted(now: &str) -> Value {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": "preempted", "lastTransitionTime": now,
    });
    json!({"status": {"conditions": [condition]}})
}

/// Evicts a pod: sets DisruptionTarget, and deletes the pod.
fn evict(cluster: &mut impl Cluster, pod: &str) -> bool {
    let body = preempted(&seconds(cluster));
    patch_pod(cluster, pod, body, true, Some(SCHEDULER)) && delete_as(cluster, pod, None, Some(SCHEDULER))
}

/// The patch with the status that pod GC writes. It includes DisruptionTarget if the Node was removed.
pub fn failed_by_pod_gc(lost: bool, now: &str) -> Value {
    let mut status = json!({"phase": "Failed"});
    if lost {
        status["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists", "lastTransitionTime": now,
        }]);
    }
    json!({"status": status})
}

/// Acts as pod GC: sets the phase Failed, and deletes the pod if its Node was removed.
fn give_up(cluster: &mut impl Cluster, pod: &str, lost: bool) -> bool {
    let body = failed_by_pod_gc(lost, &seconds(cluster));
    let marked = patch_pod(cluster, pod, body, true, Some(POD_GC));
    marked && (!lost || delete_as(cluster, pod, Some(0), Some(POD_GC)))
}

fn seconds(cluster: &impl Cluster) -> String {
    cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn disown(cluster: &mut impl Cluster, pod: &str) -> bool {
    let Some(uid) = cluster.pod(pod).and_then(|pod| owner(pod)).map(|owner| owner["uid"].clone()) else {
        return false;
    };
    patch_pod(cluster, pod, without_owner(&uid), false, None)
}

/// The patch that removes this owner of a pod.
pub fn without_owner(uid: &Value) -> Value {
    json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": uid}]}})
}

/// The patch with labels that the Job of a pod does not select.
pub fn with_other_labels() -> Value {
    let labels = json!({"batch.kubernetes.io/controller-uid": "elsewhere", "controller-uid": "elsewhere"});
    json!({"metadata": {"labels": labels}})
}

fn relabel(cluster: &mut impl Cluster, pod: &str) -> bool {
    patch_pod(cluster, pod, with_other_labels(), false, None)
}

fn edited(edit: &Edit) -> Value {
    let mut spec = Map::new();
    if let Value::Object(fields) = serde_json::to_value(edit).unwrap_or_default() {
        spec.extend(fields);
    }
    json!({ "spec": spec })
}

fn patch_job(cluster: &mut impl Cluster, job: &str, body: Value) -> Response {
    let verb = Verb::Patch { kind: PatchKind::Merge, body };
    let request = on(cluster, Resource::Jobs, Some(job), verb);
    cluster.ask(&signed(request, None))
}

fn patch_status(cluster: &mut impl Cluster, job: &str, body: Value, who: Option<(&str, &str)>) -> Response {
    let verb = Verb::Patch { kind: PatchKind::Strategic, body };
    let request = on(cluster, Resource::Jobs, Some(job), verb).on(Subresource::Status);
    cluster.ask(&signed(request, who))
}

/// Returns true if a merge patch changes a field.
fn would_change(stored: &Value, patch: &Value) -> bool {
    match patch {
        Value::Object(fields) => fields.iter().any(|(name, value)| would_change(&stored[name], value)),
        _ => stored != patch,
    }
}

fn is_deleting_job(cluster: &impl Cluster, job: &str) -> bool {
    cluster.job(job).is_some_and(is_deleting)
}

/// The finalizers of a Job; none if it does not exist.
fn finalizers(cluster: &impl Cluster, job: &str) -> Vec<String> {
    let stored = cluster.job(job).map(|job| job["metadata"]["finalizers"].clone()).unwrap_or_default();
    serde_json::from_value(stored).unwrap_or_default()
}

fn set_finalizers(cluster: &mut impl Cluster, job: &str, change: impl FnOnce(&mut Vec<String>)) -> bool {
    let mut all = finalizers(cluster, job);
    change(&mut all);
    is_accepted(&patch_job(cluster, job, json!({"metadata": {"finalizers": all}})))
}

/// Returns true if a DELETE changes the Job: it is the first one, or it has another propagation policy.
fn changes(job: &Value, propagation: Propagation) -> bool {
    let held_by = |finalizer: &str| {
        job["metadata"]["finalizers"].as_array().into_iter().flatten().any(|held| held == finalizer)
    };
    !is_deleting(job)
        || match propagation {
            Propagation::Foreground => !held_by(FOREGROUND),
            Propagation::Orphan => !held_by(ORPHAN),
            Propagation::Background => held_by(FOREGROUND) || held_by(ORPHAN),
        }
}

fn delete_namespace(cluster: &mut impl Cluster) -> bool {
    let name = cluster.namespace();
    let verb = Verb::Delete(DeleteOptions::default());
    is_accepted(&cluster.ask(&signed(Request::new(Resource::Namespaces, None, Some(&name), verb), None)))
}

fn delete_job(cluster: &mut impl Cluster, job: &str, propagation: Propagation) -> bool {
    let propagation_policy = Some(format!("{propagation:?}"));
    let options = DeleteOptions { propagation_policy, ..DeleteOptions::default() };
    let request = on(cluster, Resource::Jobs, Some(job), Verb::Delete(options));
    is_accepted(&cluster.ask(&signed(request, None)))
}

/// Writes the status as the manager that `managedBy` names. Its copy of the Job fails by its deadline.
fn report(cluster: &mut impl Cluster, job: &str, report: Report) -> Response {
    let started = cluster.job(job).is_some_and(|job| !job["status"]["startTime"].is_null());
    patch_status(cluster, job, mirrored(report, started, &seconds(cluster)), Some(MIRROR))
}

/// The patch with the status that such a manager reports.
pub fn mirrored(report: Report, started: bool, now: &str) -> Value {
    let condition = |kind: &str| {
        json!([{
            "type": kind, "status": "True", "reason": "DeadlineExceeded",
            "message": "Job was active longer than specified deadline", "lastTransitionTime": now,
        }])
    };
    let mut status = json!({"active": 0, "ready": 0, "terminating": 0});
    match report {
        Report::Running => {
            status["active"] = json!(1);
            if !started {
                status["startTime"] = json!(now);
            }
        }
        Report::FailureTarget => status["conditions"] = condition("FailureTarget"),
        Report::Failed => status["conditions"] = condition("Failed"),
    }
    json!({ "status": status })
}
