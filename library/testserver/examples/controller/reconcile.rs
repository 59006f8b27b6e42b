//! A small controller with kube-rs. It runs Jobs of one pod, and sends one request at a time.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt, runtime::controller::Action};
use serde_json::json;

pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) now: Box<dyn Fn() -> String + Send + Sync>,
    /// The planted defect: the finalizer goes before the pod is in the status.
    pub(crate) is_hasty: bool,
}

pub(crate) async fn reconcile(job: Arc<Job>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let jobs = Api::<Job>::default_namespaced(context.client.clone());
    let pods = Api::<Pod>::default_namespaced(context.client.clone());
    let (name, old, now) = (job.name_any(), json!(job.status), (context.now)());
    let mine = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
    let pod = pods.list(&mine).await?.items.pop();
    let has_ended = pod.as_ref().and_then(|it| it.status.as_ref()?.phase.as_deref()) == Some("Succeeded");
    let is_recorded = !old["uncountedTerminatedPods"]["succeeded"].is_null();
    let condition = |kind| {
        json!({"type": kind, "status": "True", "lastTransitionTime": now, "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods"})
    };
    let again = Action::requeue(Duration::from_secs(1));
    let status = match pod {
        _ if !old["completionTime"].is_null() => return Ok(again),
        _ if old["startTime"].is_null() => {
            json!({"startTime": now, "active": 0, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})
        }
        None => {
            let mut new = json!(job.spec.as_ref().map(|spec| &spec.template));
            new["metadata"]["generateName"] = json!(format!("{name}-"));
            new["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            new["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name,
                "uid": job.uid(), "controller": true, "blockOwnerDeletion": true}]);
            let new = serde_json::from_value(new).map_err(kube::Error::SerdeError)?;
            pods.create(&PostParams::default(), &new).await?;
            return Ok(again);
        }
        Some(pod) if has_ended && !pod.finalizers().is_empty() && (is_recorded || context.is_hasty) => {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            pods.patch(&pod.name_any(), &PatchParams::default(), &free).await?;
            return Ok(again);
        }
        Some(pod) if has_ended && !is_recorded => json!({"active": 0, "ready": 0,
            "uncountedTerminatedPods": {"succeeded": [pod.uid()]}, "conditions": [condition("SuccessCriteriaMet")]}),
        Some(_) if has_ended => json!({"succeeded": 1, "uncountedTerminatedPods": {"succeeded": null},
            "completionTime": now, "conditions": [old["conditions"][0], condition("Complete")]}),
        Some(_) => return Ok(again),
    };
    let write = json!({"metadata": {"resourceVersion": job.resource_version()}, "status": status});
    jobs.patch_status(&name, &PatchParams::default(), &Patch::Merge(write)).await?;
    Ok(again)
}
