//! A small kube-rs controller under test: `cargo run -p jobcheck-testserver --example controller`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example prints its result")]
use std::{sync::Arc, time::Duration, time::SystemTime};

use futures_util::StreamExt;
use jobcheck_testserver::{Faults, TestServer, Verdict};
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use k8s_openapi::jiff::Timestamp;
use kube::runtime::{Controller, controller::Action, watcher::Config};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

struct Context(Client, Box<dyn Fn() -> SystemTime + Send + Sync>, bool);

/// Runs Jobs of one pod, one request at a time. A hasty one has a defect: it lets the pod go before it has recorded it.
async fn reconcile(job: Arc<Job>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let Context(client, clock, is_hasty) = &*context;
    let (jobs, pods) =
        (Api::<Job>::default_namespaced(client.clone()), Api::<Pod>::default_namespaced(client.clone()));
    let (name, old) = (job.name_any(), json!(job.status));
    let now = Timestamp::try_from(clock()).unwrap().strftime("%FT%TZ").to_string();
    let mine =
        pods.list(&ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"))).await?;
    let condition = |kind| {
        json!({"type": kind, "status": "True", "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods", "lastTransitionTime": now})
    };
    let status = |more: Value| {
        Patch::Merge(json!({"metadata": {"resourceVersion": job.resource_version()}, "status": more}))
    };
    let recorded = !old["uncountedTerminatedPods"]["succeeded"].is_null();
    let pod = mine.items.first();
    let has_ended =
        pod.is_some_and(|it| it.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Succeeded"));
    let holds = pod.is_some_and(|it| !it.finalizers().is_empty());
    let write = match () {
        () if !old["completionTime"].is_null() => None,
        () if old["startTime"].is_null() => {
            Some(json!({"startTime": now, "active": 0, "ready": 0, "terminating": 0,
            "uncountedTerminatedPods": {}}))
        }
        () if pod.is_none() => {
            let mut new = json!(job.spec.as_ref().map(|spec| &spec.template));
            new["metadata"]["generateName"] = json!(format!("{name}-"));
            new["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            new["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name,
                "uid": job.uid(), "controller": true, "blockOwnerDeletion": true}]);
            pods.create(&PostParams::default(), &serde_json::from_value(new).unwrap()).await?;
            None
        }
        () if has_ended && holds && (recorded || *is_hasty) => {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            pods.patch(&pod.unwrap().name_any(), &PatchParams::default(), &free).await?;
            None
        }
        () if has_ended && !recorded => Some(json!({"active": 0, "ready": 0,
            "uncountedTerminatedPods": {"succeeded": [pod.unwrap().uid()]}, "conditions": [condition("SuccessCriteriaMet")]})),
        () if has_ended => Some(
            json!({"succeeded": 1, "uncountedTerminatedPods": {"succeeded": null}, "completionTime": now,
            "conditions": [old["conditions"][0], condition("Complete")]}),
        ),
        () => None,
    };
    if let Some(write) = write {
        jobs.patch_status(&name, &PatchParams::default(), &status(write)).await?;
    }
    Ok(Action::requeue(Duration::from_secs(1)))
}

async fn tested(is_hasty: bool, seed: u64) -> Verdict {
    let server = TestServer::builder().seed(seed).faults(Faults { errors: 100, ..Faults::none() }).start();
    let (user, client) =
        (Client::new(server.service_of("alice"), "default"), Client::new(server.service(), "default"));
    let (jobs, pods) =
        (Api::<Job>::default_namespaced(client.clone()), Api::<Pod>::default_namespaced(client.clone()));
    let context = Arc::new(Context(client, Box::new(server.clock()), is_hasty));
    let retry = |_: Arc<Job>, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
    let controller = Controller::new(jobs, Config::default()).owns(pods, Config::default());
    let running = tokio::spawn(controller.run(reconcile, retry, context).for_each(|_| async {}));
    let spec = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}});
    let job = serde_json::from_value(json!({"metadata": {"name": "pi"}, "spec": spec})).unwrap();
    Api::<Job>::default_namespaced(user).create(&PostParams::default(), &job).await.unwrap();
    server.finished("default", "pi").await.unwrap_or_else(|late| panic!("{late}"));
    running.abort();
    server.verdict()
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    for seed in 0..20 {
        tested(false, seed).await.check();
    }
    let wrong = tested(true, 0).await;
    assert!(wrong.violated().contains(&"FT-03".to_owned()), "{wrong}");
    println!("{wrong}");
}
