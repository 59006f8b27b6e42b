//! The CronJob controller of Kubernetes beside Jobs of other managers, Jobs with lingering pods, and TTLs.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::mirror::{MIRROR, mirror};
use super::{has_condition, until, up};
use crate::cluster::Clusters;

/// A cluster with the built-in controllers, and its CronJobs.
struct Cron {
    clusters: Clusters,
    client: Client,
    cron_jobs: Api<CronJob>,
    jobs: Api<Job>,
}

impl Cron {
    async fn start() -> Cron {
        let clusters = Clusters::new();
        up(&clusters, &["--with", "built-in"]);
        let client = clusters.client("default").await;
        let (cron_jobs, jobs) =
            (Api::default_namespaced(client.clone()), Api::default_namespaced(client.clone()));
        Cron { clusters, client, cron_jobs, jobs }
    }

    /// Creates a CronJob that forbids concurrent Jobs.
    async fn create(&self, name: &str, fields: Value, job: Value) {
        let container = json!({"name": "c", "image": "busybox"});
        let mut job = job;
        job["template"] = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
        let mut cron_job = json!({
            "metadata": {"name": name},
            "spec": {"schedule": "0 0 1 1 *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": job}},
        });
        for (field, value) in fields.as_object().unwrap() {
            cron_job["spec"][field] = value.clone();
        }
        self.cron_jobs
            .create(&PostParams::default(), &serde_json::from_value(cron_job).unwrap())
            .await
            .unwrap();
        self.make_due(name).await;
    }

    /// Makes a yearly CronJob due: its last schedule was in the year before the last.
    async fn make_due(&self, name: &str) {
        let last = Timestamp::now() - SignedDuration::from_hours(400 * 24);
        let overdue = Patch::Merge(json!({"status": {"lastScheduleTime": seconds(last)}}));
        self.cron_jobs.patch_status(name, &PatchParams::default(), &overdue).await.unwrap();
    }

    async fn status(&self, name: &str) -> Value {
        serde_json::to_value(self.cron_jobs.get(name).await.unwrap().status).unwrap()
    }

    /// Waits until the CronJob has one active Job, and returns its name.
    async fn active(&self, name: &str) -> String {
        until(async || {
            let status = self.status(name).await;
            let active = status["active"].as_array().filter(|it| it.len() == 1)?;
            active[0]["name"].as_str().map(str::to_owned)
        })
        .await
    }

    async fn job(&self, name: &str) -> Value {
        serde_json::to_value(self.jobs.get(name).await.unwrap()).unwrap()
    }
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// MB-08: the CronJob controller relies on the conditions and the completion time of a Job of another manager.
#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_counts_the_jobs_that_another_manager_has_finished() {
    let cron = Cron::start().await;
    cron.create("good", json!({}), json!({"managedBy": MIRROR, "completions": 1})).await;
    cron.create("bad", json!({}), json!({"managedBy": MIRROR, "completions": 1, "backoffLimit": 0})).await;
    let (good, bad) = (cron.active("good").await, cron.active("bad").await);
    assert_eq!(cron.status("good").await["lastSuccessfulTime"], Value::Null);

    let _mirror = mirror(cron.clusters.one("default")["kubeconfig"].as_str().unwrap());
    let done = until(async || {
        let status = cron.status("good").await;
        (!status["lastSuccessfulTime"].is_null()).then_some(status)
    });
    let (done, good) = (done.await, cron.job(&good).await);
    assert_eq!(
        (&done["lastSuccessfulTime"], &done["active"]),
        (&good["status"]["completionTime"], &Value::Null)
    );
    // A Job that failed is no longer active, and no success.
    let done = until(async || {
        let status = cron.status("bad").await;
        status["active"].is_null().then_some(status)
    });
    assert_eq!(done.await["lastSuccessfulTime"], Value::Null);
    assert!(has_condition(&cron.job(&bad).await, "Failed"));
}

/// MB-17, TC-04: while a pod of the previous Job lingers, policy Forbid starts no Job, and Allow does.
#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_that_forbids_concurrency_waits_for_the_last_pod() {
    let cron = Cron::start().await;
    let pods: Api<Pod> = Api::default_namespaced(cron.client.clone());
    let nodes: Api<Node> = Api::all(cron.client.clone());
    let node = json!({"metadata": {"name": "node-a"}});
    nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
    cron.create("forbid", json!({}), json!({"completions": 2, "parallelism": 2, "backoffLimit": 0})).await;
    cron.create("allow", json!({"concurrencyPolicy": "Allow"}), json!({"completions": 1})).await;
    cron.active("allow").await;
    let first = cron.active("forbid").await;
    let of_first = ListParams::default().labels(&format!("job-name={first}"));
    let names = until(async || {
        let found = pods.list(&of_first).await.unwrap().items;
        let names: Vec<String> = found.into_iter().filter_map(|it| it.metadata.name).collect();
        (names.len() == 2).then_some(names)
    });
    let names = names.await;
    for name in &names {
        // The API server removes a pod without a node at once.
        let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-a"}});
        let bind = format!("/api/v1/namespaces/default/pods/{name}/binding");
        let request = http::Request::post(bind).header("Content-Type", "application/json");
        cron.client.request_text(request.body(binding.to_string().into_bytes()).unwrap()).await.unwrap();
    }
    let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
    pods.patch_status(&names[0], &PatchParams::default(), &failed).await.unwrap();
    until(async || (cron.job(&first).await["status"]["terminating"] == 1).then_some(())).await;
    let lingering = cron.job(&first).await;
    assert!(
        has_condition(&lingering, "FailureTarget") && !has_condition(&lingering, "Failed"),
        "{lingering}"
    );

    // Another schedule, because the name of a Job comes from its time.
    let other = Patch::Merge(json!({"spec": {"schedule": "0 0 2 1 *"}}));
    for name in ["forbid", "allow"] {
        cron.cron_jobs.patch(name, &PatchParams::default(), &other).await.unwrap();
        cron.make_due(name).await;
    }
    until(async || {
        let active = cron.status("allow").await["active"].as_array().map_or(0, Vec::len);
        (active == 2).then_some(())
    })
    .await;
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(cron.client.clone());
    let waits = ListParams::default().fields("reason=JobAlreadyActive");
    until(async || (!events.list(&waits).await.unwrap().items.is_empty()).then_some(())).await;
    assert_eq!(cron.active("forbid").await, first);

    pods.patch_status(&names[1], &PatchParams::default(), &failed).await.unwrap();
    pods.delete(&names[1], &DeleteParams::default().grace_period(0)).await.unwrap();
    let next = until(async || Some(cron.active("forbid").await).filter(|active| *active != first));
    assert_ne!(next.await, first);
    assert!(has_condition(&cron.job(&first).await, "Failed"));
}

/// TT-09: the TTL and the history of a CronJob delete its Jobs independently, whichever is first.
#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_cron_job_are_deleted_by_their_ttl_or_by_its_history() {
    let cron = Cron::start().await;
    cron.create("ttl", json!({}), json!({"completions": 0, "ttlSecondsAfterFinished": 0})).await;
    let history = json!({"successfulJobsHistoryLimit": 0});
    cron.create("history", history, json!({"completions": 0, "ttlSecondsAfterFinished": 3600})).await;
    for name in ["ttl", "history"] {
        until(async || (!cron.status(name).await["lastSuccessfulTime"].is_null()).then_some(())).await;
    }
    until(async || cron.jobs.list(&ListParams::default()).await.unwrap().items.is_empty().then_some(()))
        .await;
}
