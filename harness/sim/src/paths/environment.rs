//! The steps of users, kubelets, and collectors, as their requests.

use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::kubelet::End;
use jobcheck_apiserver::request::{DeleteOptions, PatchKind, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_explorer::env::disruption::DisruptionStep;
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::env::user::{SpecEdit, TEMPLATE_LABEL, UserAction, UserStep, namespace_goes};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_scenario::Report;
use jobcheck_spec::Uid;
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::job::PodReplacementPolicy;
use jobcheck_spec::pod::Pod;
use serde_json::{Value, json};

use super::bench::{Bench, Stop, differs, key, stamp};
use crate::cluster::NAMESPACE;

/// The reason of a path's end: the server has removed the pod with its last finalizer, which is a separate step in
/// the model.
pub const GONE: &str = "the server has removed the pod with its last finalizer";

/// Applies a step of the kubelet or the scheduler.
///
/// # Errors
///
/// The pod differs from the path, or the server refuses the request.
pub fn kubelet(
    bench: &mut Bench,
    id: JobId,
    uid: Uid,
    what: KubeletStep,
    before: &World,
) -> Result<(), Stop> {
    let name = match name(bench, id, uid, before) {
        Err(Stop::Cut(_)) if what == KubeletStep::Remove => return Ok(()),
        name => name?,
    };
    let done = bench.kubelet(|it, server, now| match what {
        KubeletStep::Schedule => it.bind(server, now, NAMESPACE, &name),
        KubeletStep::Run => it.run(server, now, NAMESPACE, &name, false),
        KubeletStep::Unready => it.run(server, now, NAMESPACE, &name, false),
        KubeletStep::Ready => it.run(server, now, NAMESPACE, &name, true),
        KubeletStep::Restart => it.report(server, now, NAMESPACE, &name, count_restart),
        KubeletStep::Succeed => it.end(server, now, NAMESPACE, &name, End::Succeeded),
        KubeletStep::Fail(code) => it.end(server, now, NAMESPACE, &name, End::Failed(code)),
        KubeletStep::Flip => it.report(server, now, NAMESPACE, &name, |pod| {
            pod["status"]["phase"] = json!("Failed");
        }),
        KubeletStep::Remove => it.finish(server, now, NAMESPACE, &name),
    });
    done.or_else(|error: ApiError| differs(format!("the kubelet is refused: {}", error.message)))
}

/// Counts a restart of the container, also if its status was not reported before.
fn count_restart(pod: &mut Value) {
    let statuses = &mut pod["status"]["containerStatuses"];
    if !statuses.is_array() {
        *statuses = json!([{"name": "main", "image": "main", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"running": {}}}]);
    }
    let restarts = &mut statuses[0]["restartCount"];
    *restarts = json!(restarts.as_i64().unwrap_or(0) + 1);
}

/// The name of an existing pod.
fn name(bench: &Bench, id: JobId, uid: Uid, before: &World) -> Result<String, Stop> {
    match (bench.pod(id, uid), bench.replica(id).known(uid)) {
        (Some(_), Some(known)) => Ok(known.name.to_string()),
        (None, Some(_)) if before.job_state(id).pods.get(uid).is_some_and(is_free) => Err(Stop::Cut(GONE)),
        _ => differs(format!("pod {} does not exist", uid.0)),
    }
}

/// Returns true if a pod that is being deleted has no finalizers and has terminated, so that the server may have
/// removed it.
#[must_use]
pub fn is_free(pod: &Pod) -> bool {
    pod.deleting && !pod.finalizer && !pod.other_finalizers && (pod.is_terminated() || pod.forced)
}

/// Applies a disruption of a pod.
///
/// # Errors
///
/// The pod differs from the path, or the server refuses the request.
pub fn disrupt(
    bench: &mut Bench,
    id: JobId,
    uid: Uid,
    what: DisruptionStep,
    before: &World,
) -> Result<(), Stop> {
    let name = name(bench, id, uid, before)?;
    let now = stamp(bench.now);
    match what {
        DisruptionStep::Evict => patch_pod_status(bench, &name, jobcheck_scenario::runtime::preempted(&now)),
        DisruptionStep::LoseNode | DisruptionStep::FailByPodGc => {
            let mut body =
                jobcheck_scenario::runtime::failed_by_pod_gc(what == DisruptionStep::LoseNode, &now);
            // The node controller has marked the pods of a lost Node as not ready.
            let unready = json!({"type": "Ready", "status": "False", "lastTransitionTime": now});
            match body["status"]["conditions"].as_array_mut() {
                Some(conditions) => conditions.push(unready),
                None => body["status"]["conditions"] = json!([unready]),
            }
            patch_pod_status(bench, &name, body)
        }
        DisruptionStep::Delete => delete_pod(bench, &name, None),
        DisruptionStep::ForceDelete => delete_pod(bench, &name, Some(0)),
    }
}

fn patch_pod_status(bench: &mut Bench, pod: &str, body: Value) -> Result<(), Stop> {
    let verb = Verb::Patch { kind: PatchKind::Strategic, body };
    let request = Request::new(Resource::Pods, Some(NAMESPACE), Some(pod), verb);
    bench.must(&request.on(Subresource::Status)).map(drop)
}

fn patch_pod(bench: &mut Bench, pod: &str, body: Value) -> Result<(), Stop> {
    let verb = Verb::Patch { kind: PatchKind::Strategic, body };
    bench.must(&Request::new(Resource::Pods, Some(NAMESPACE), Some(pod), verb)).map(drop)
}

fn delete_pod(bench: &mut Bench, pod: &str, grace_period_seconds: Option<i64>) -> Result<(), Stop> {
    let options = DeleteOptions { grace_period_seconds, ..DeleteOptions::default() };
    bench.must(&Request::new(Resource::Pods, Some(NAMESPACE), Some(pod), Verb::Delete(options))).map(drop)
}

/// Applies a step of the user.
///
/// # Errors
///
/// The object differs from the path, or the server refuses the request.
pub fn user(
    bench: &mut Bench,
    id: JobId,
    what: &UserStep,
    (before, after): (&World, &World),
    scope: &Scope,
) -> Result<(), Stop> {
    match what {
        UserStep::DeletePod(uid) => {
            let name = name(bench, id, *uid, before)?;
            delete_pod(bench, &name, None)
        }
        UserStep::StripOwner(uid) => {
            let name = name(bench, id, *uid, before)?;
            let owners = bench.pod(id, *uid).map(|pod| pod["metadata"]["ownerReferences"].clone());
            let owner = owners.unwrap_or_default()[0]["uid"].clone();
            patch_pod(bench, &name, jobcheck_scenario::runtime::without_owner(&owner))
        }
        UserStep::Relabel(uid) => {
            let name = name(bench, id, *uid, before)?;
            patch_pod(bench, &name, jobcheck_scenario::runtime::with_other_labels())
        }
        UserStep::Job(UserAction::Recreate) => {
            let Some(job) = &after.job_state(id).job else { return Ok(()) };
            bench.create_job(id, job, scope).or_else(|why| differs(format!("the Job is refused: {why}")))
        }
        UserStep::Job(action) => of_job(bench, id, *action, after, scope),
    }
}

fn of_job(
    bench: &mut Bench,
    id: JobId,
    action: UserAction,
    after: &World,
    scope: &Scope,
) -> Result<(), Stop> {
    let body = match action {
        UserAction::DeleteJob(asked) | UserAction::DeleteFinished(asked) | UserAction::DeleteAgain(asked) => {
            return delete_job(bench, id, asked);
        }
        UserAction::DeleteOwner => return delete_job(bench, id, Propagation::Background),
        UserAction::DeleteNamespace => {
            let verb = Verb::Delete(DeleteOptions::default());
            return bench.must(&Request::new(Resource::Namespaces, None, Some(NAMESPACE), verb)).map(drop);
        }
        UserAction::DenyFailureTarget => return deny(bench, id, "FailureTarget"),
        UserAction::DenyFailed => return deny(bench, id, "Failed"),
        UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes => {
            let started = bench.job(id).is_some_and(|job| !job["status"]["startTime"].is_null());
            let report = match action {
                UserAction::MirrorStarts => Report::Running,
                UserAction::MirrorAnnounces => Report::FailureTarget,
                _ => Report::Failed,
            };
            let body =
                in_order(bench, id, jobcheck_scenario::runtime::mirrored(report, started, &stamp(bench.now)));
            return patch_job(bench, id, body, PatchKind::Strategic, Some(Subresource::Status));
        }
        UserAction::Edit(edit) => edited(edit, id, scope),
        UserAction::HoldJob | UserAction::ReleaseJob => {
            let finalizers = after.job_state(id).job.as_ref().map(|job| job.finalizers.clone());
            json!({"metadata": {"finalizers": finalizers.unwrap_or_default()}})
        }
        UserAction::DeletePod
        | UserAction::DeleteEndedPod
        | UserAction::StripOwner
        | UserAction::Relabel
        | UserAction::Recreate => {
            return differs(format!(
                "{action:?} is not an action on a Job; the Job has {} pods",
                after.job_state(id).pods.len()
            ));
        }
    };
    patch_job(bench, id, body, PatchKind::Merge, None)
}

fn edited(edit: SpecEdit, id: JobId, scope: &Scope) -> Value {
    let set = |field: &str, value: Value| json!({"spec": {field: value}});
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => set("suspend", json!(true)),
        SpecEdit::Resume => set("suspend", json!(false)),
        SpecEdit::Scale(parallelism) => {
            let indexed = scope.jobs.get(usize::from(id.0)).is_some_and(|spec| spec.is_indexed());
            let mut body = set("parallelism", json!(parallelism));
            if indexed {
                body["spec"]["completions"] = json!(parallelism);
            }
            body
        }
        SpecEdit::SetParallelism(parallelism) => set("parallelism", json!(parallelism)),
        SpecEdit::SetTtl(seconds) => set("ttlSecondsAfterFinished", json!(seconds)),
        SpecEdit::SetDeadline(seconds) => set("activeDeadlineSeconds", json!(seconds)),
        SpecEdit::SetBackoffLimit(limit) => set("backoffLimit", json!(limit)),
        SpecEdit::SetMaxFailedIndexes(limit) => set("maxFailedIndexes", json!(limit)),
        SpecEdit::SetReplacementPolicy(policy) => set("podReplacementPolicy", json!(policy_name(policy))),
        SpecEdit::LabelTemplate => set("template", json!({"metadata": {"labels": {TEMPLATE_LABEL: "true"}}})),
    }
}

fn policy_name(policy: PodReplacementPolicy) -> &'static str {
    match policy {
        PodReplacementPolicy::TerminatingOrFailed => "TerminatingOrFailed",
        PodReplacementPolicy::Failed => "Failed",
        PodReplacementPolicy::Unknown => "Unknown",
    }
}

fn deny(bench: &mut Bench, id: JobId, condition: &str) -> Result<(), Stop> {
    let body = json!({"status": {"conditions": [{"type": condition, "status": "False"}]}});
    let body = in_order(bench, id, body);
    patch_job(bench, id, body, PatchKind::Strategic, Some(Subresource::Status))
}

/// Adds the order of conditions to a patch. Without it, a strategic merge patch puts new conditions first.
fn in_order(bench: &Bench, id: JobId, mut body: Value) -> Value {
    let types = |conditions: &Value| -> Vec<Value> {
        let all = conditions.as_array().into_iter().flatten();
        all.map(|condition| json!({"type": condition["type"]})).collect()
    };
    let mut order = bench.job(id).map(|job| types(&job["status"]["conditions"])).unwrap_or_default();
    let new = types(&body["status"]["conditions"]);
    order.extend(new.into_iter().filter(|it| !order.contains(it)).collect::<Vec<_>>());
    if !body["status"]["conditions"].is_null() {
        body["status"]["$setElementOrder/conditions"] = json!(order);
    }
    body
}

fn patch_job(
    bench: &mut Bench,
    id: JobId,
    body: Value,
    kind: PatchKind,
    subresource: Option<Subresource>,
) -> Result<(), Stop> {
    let name = bench.replica(id).name.clone();
    let request = Request::new(Resource::Jobs, Some(NAMESPACE), Some(&name), Verb::Patch { kind, body });
    bench.must(&Request { subresource, ..request }).map(drop)
}

fn delete_job(bench: &mut Bench, id: JobId, asked: Propagation) -> Result<(), Stop> {
    let name = bench.replica(id).name.clone();
    let options =
        DeleteOptions { propagation_policy: Some(asked.as_str().to_owned()), ..DeleteOptions::default() };
    bench.must(&Request::new(Resource::Jobs, Some(NAMESPACE), Some(&name), Verb::Delete(options))).map(drop)
}

/// Applies a step of the garbage collector or the namespace controller to a pod.
///
/// # Errors
///
/// The pod differs from the path, or the server refuses the request.
pub fn collect(bench: &mut Bench, id: JobId, uid: Uid, before: &World, scope: &Scope) -> Result<(), Stop> {
    let name = name(bench, id, uid, before)?;
    if namespace_goes(before.job_state(id), scope) {
        return delete_pod(bench, &name, None);
    }
    let now = bench.now;
    if bench.server.collect_object(now, Resource::Pods, &key(&name)) {
        return Ok(());
    }
    differs(format!("the garbage collector does not delete pod {}", uid.0))
}

/// Removes the Job as the garbage collector or the namespace controller.
///
/// # Errors
///
/// The server refuses the request, or dependents remain.
pub fn remove_job(bench: &mut Bench, id: JobId, before: &World, scope: &Scope) -> Result<(), Stop> {
    if namespace_goes(before.job_state(id), scope) {
        return delete_job(bench, id, Propagation::Background);
    }
    let (now, name) = (bench.now, bench.replica(id).name.clone());
    if bench.server.release_owner(now, Resource::Jobs, &key(&name)) {
        return Ok(());
    }
    differs("the garbage collector does not remove the Job")
}
