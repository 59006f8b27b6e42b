//! `jobcheck cluster` and `jobcheck run` with a real control plane, which is built with Go first.
//! `cargo test -- --skip live::` leaves these tests out.

mod cron_jobs;
mod faults;
mod findings;
mod fuzz;
mod hand_over;
mod metrics;
mod mirror;
mod record;
mod scenarios;

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use rustix::process::Signal;
use serde_json::json;

use crate::cluster::{Clusters, job, kill, processes};
use crate::support::controller;

/// Starts a control plane.
fn up(clusters: &Clusters, arguments: &[&str]) {
    let run = clusters.run(&[&["up"], arguments].concat());
    assert_eq!(run.code, 0, "{}\nTo skip live tests: cargo test -- --skip live::", run.err);
}

/// Creates a Job, and waits for its pods.
async fn pods_of_a_job(client: Client) {
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client);
    jobs.create(&PostParams::default(), &job("pi")).await.unwrap();
    for _ in 0..600 {
        let found = pods.list(&ListParams::default().labels("job-name=pi")).await.unwrap().items;
        if found.len() == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the Job has no two pods after a minute");
}

#[tokio::test]
async fn the_built_in_controllers_run_jobs_and_every_process_ends() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let cluster = clusters.one("default");
    assert_eq!((&cluster["health"], &cluster["kind"]), (&json!("ready"), &json!("built-in")), "{cluster}");
    assert_eq!(processes(&cluster).len(), 3, "{cluster}");
    let client = clusters.client("default").await;
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.git_version, format!("v{}", cluster["kubernetes"].as_str().unwrap()));
    pods_of_a_job(client).await;
    let audit = std::fs::read_to_string(cluster["auditLog"].as_str().unwrap()).unwrap();
    assert!(audit.contains("system:serviceaccount:kube-system:job-controller"), "{audit}");

    // The remaining components end, too.
    kill(processes(&cluster)[1], Signal::KILL);
    // While the process dies, it refuses connections: its component is not ready, and then gone.
    let broken = clusters.until("default", |it| it["components"][1]["health"] == "gone");
    assert_eq!(broken["health"], "not ready", "{broken}");
    clusters.ok(&["down"]);
    clusters.assert_gone(&processes(&cluster));
}

#[tokio::test]
async fn the_shipped_controller_runs_jobs_on_a_cluster_that_was_started_after_a_kill() {
    let clusters = Clusters::new();
    // The first start may build the programs, which takes minutes.
    up(&clusters, &[]);
    clusters.ok(&["down"]);
    let mut killed = clusters.spawn(&["up"]);
    let half = clusters.until("default", |it| !processes(it).is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    up(&clusters, &[]);
    let cluster = clusters.one("default");
    assert_eq!(
        (&cluster["health"], &cluster["kind"]),
        (&json!("ready"), &json!("control-plane")),
        "{cluster}"
    );

    let _controller = controller(cluster["kubeconfig"].as_str().unwrap());
    pods_of_a_job(clusters.client("default").await).await;
    clusters.ok(&["down"]);
    clusters.assert_gone(&[processes(&half), processes(&cluster)].concat());
}

/// Waits until a function returns a value.
async fn until<T>(mut what: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = what().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no value after a minute");
}

/// Returns true if the status of an object has this condition.
fn has_condition(object: &serde_json::Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == kind && it["status"] == "True")
}
