//! The metrics that the guide for operators names, on a real control plane.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::up;
use crate::cluster::Clusters;
use crate::operators::{exposed, named, of_a_controller, of_the_api_server};

/// Metrics that appear only when something fails: a cache that lags, and a sync that is retried.
const OF_FAULTS: [&str; 1] = ["job_controller_stale_sync_skips_total"];

fn a_job(name: &str, fields: Value) -> Job {
    let container = json!({"name": "c", "image": "busybox"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let mut job = json!({"metadata": {"name": name}, "spec": {"template": template}});
    for (field, value) in fields.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

/// Ends the pods of a Job with this phase until the Job is finished or gone.
async fn finish(client: &Client, name: &str, phase: &str) {
    let (jobs, pods): (Api<Job>, Api<Pod>) =
        (Api::default_namespaced(client.clone()), Api::default_namespaced(client.clone()));
    for _ in 0..600 {
        let Some(job) = jobs.get_opt(name).await.unwrap() else { return };
        let status = serde_json::to_value(job.status).unwrap();
        let ends = ["Complete", "Failed"];
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|it| ends.contains(&it["type"].as_str().unwrap_or_default())) {
            return;
        }
        for pod in pods.list(&ListParams::default().labels(&format!("job-name={name}"))).await.unwrap() {
            let end = Patch::Merge(json!({"status": {"phase": phase}}));
            // The pod may be gone by now.
            let _ = pods.patch_status(&pod.metadata.name.unwrap(), &PatchParams::default(), &end).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("{name} has not finished after two minutes");
}

async fn metrics(client: &Client) -> BTreeSet<String> {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    exposed(&client.request_text(request).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_guide_exists_in_kubernetes() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let client = clusters.client("default").await;
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    for (name, fields) in [
        ("indexed", json!({"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 1})),
        ("failing", json!({"backoffLimit": 0, "podReplacementPolicy": "Failed"})),
        ("expiring", json!({"ttlSecondsAfterFinished": 0})),
        ("external", json!({"managedBy": "acme.example.com/mirror"})),
    ] {
        jobs.create(&PostParams::default(), &a_job(name, fields)).await.unwrap();
    }
    for (name, phase) in [("indexed", "Succeeded"), ("failing", "Failed"), ("expiring", "Succeeded")] {
        finish(&client, name, phase).await;
    }
    let address = clusters.one("default")["components"][2]["address"].as_str().unwrap().to_owned();
    let mut config = Config::new(address.parse().unwrap());
    config.accept_invalid_certs = true;
    let manager = Client::try_from(config).unwrap();
    let missing = async || {
        let (controller, server) = (metrics(&manager).await, metrics(&client).await);
        let has = |name: &String| match () {
            () if of_the_api_server(name) => server.contains(name),
            () if of_a_controller(name) => controller.contains(name),
            () => true,
        };
        let faults = OF_FAULTS.map(str::to_owned);
        let missing = named().into_iter().filter(|name| !faults.contains(name));
        missing.filter(|name| !has(name)).collect::<Vec<_>>()
    };
    // The TTL controller and the last sync may not have ended yet.
    for _ in 0..100 {
        if missing().await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("Kubernetes has no metrics {:?}", missing().await);
}
