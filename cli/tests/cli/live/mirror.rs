//! A manager that writes the status only, as a process of its own (KEP-4368; `cli/examples/mirror.rs`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::up;
use crate::cluster::Clusters;
use crate::support::{Controller, Folder, binary, finish};

const MIRROR: &str = "example.com/mirror";

/// Starts the example, which cargo builds with the tests.
fn mirror(kubeconfig: &str) -> Controller {
    let directory = Path::new(env!("CARGO_BIN_EXE_jobcheck")).parent().unwrap();
    let mut command = Command::new(directory.join("examples/mirror"));
    command.args(["--kubeconfig", kubeconfig, "--managed-by", MIRROR]).stderr(Stdio::null());
    Controller(command.spawn().unwrap())
}

fn scenario(folder: &Folder) -> PathBuf {
    let text = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: mirrored\nabout: Two Jobs run elsewhere.\n\
                jobs:\n- name: good\n  spec: {completions: 2, parallelism: 2}\n\
                - name: bad\n  spec: {completions: 1, backoffLimit: 0}\n\
                expect:\n- job: good\n  conditions: [Complete]\n  succeeded: 2\n  pods: {created: 0}\n\
                - job: bad\n  conditions: [Failed]\n  pods: {created: 0}\n";
    folder.write("mirrored.yaml", text)
}

#[test]
fn a_manager_without_pods_is_judged_by_its_status_writes() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let _mirror = mirror(clusters.one("default")["kubeconfig"].as_str().unwrap());
    let folder = Folder::new();
    let mut command = binary();
    command.env("JOBCHECK_HOME", clusters.home());
    command.args(["run", "--target", "external", "--managed-by", MIRROR, "--cluster", "default"]);
    let run = finish(command.arg("-o").arg("json").arg(scenario(&folder)), b"");
    assert_eq!(run.code, 0, "{run:?}");
}

/// MB-08: the CronJob controller relies on the conditions and the completion time of a Job of another manager.
#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_counts_a_job_that_another_manager_has_completed() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let client = clusters.client("default").await;
    let (cron_jobs, jobs): (Api<CronJob>, Api<Job>) =
        (Api::default_namespaced(client.clone()), Api::default_namespaced(client));
    let container = json!({"name": "c", "image": "busybox"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let cron_job = json!({
        "metadata": {"name": "yearly"},
        "spec": {"schedule": "0 0 1 1 *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {
            "managedBy": MIRROR, "completions": 1, "template": template,
        }}},
    });
    cron_jobs.create(&PostParams::default(), &serde_json::from_value(cron_job).unwrap()).await.unwrap();
    // A last schedule in the previous year makes the CronJob due at once.
    let last =
        (Timestamp::now() - SignedDuration::from_hours(400 * 24)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let overdue = Patch::Merge(json!({"status": {"lastScheduleTime": last}}));
    cron_jobs.patch_status("yearly", &PatchParams::default(), &overdue).await.unwrap();

    let status = async || serde_json::to_value(cron_jobs.get("yearly").await.unwrap().status).unwrap();
    let active = until(async || {
        let status = status().await;
        status["active"].as_array().is_some_and(|it| it.len() == 1).then_some(status)
    });
    let active = active.await;
    assert_eq!(active["lastSuccessfulTime"], Value::Null);

    let _mirror = mirror(clusters.one("default")["kubeconfig"].as_str().unwrap());
    let done = until(async || {
        let status = status().await;
        (!status["lastSuccessfulTime"].is_null()).then_some(status)
    });
    let done = done.await;
    let job = jobs.list(&ListParams::default()).await.unwrap().items.pop().unwrap();
    let job = serde_json::to_value(job.status).unwrap();
    assert_eq!(
        (&done["lastSuccessfulTime"], &done["active"]),
        (&job["completionTime"], &Value::Null),
        "{done}"
    );
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
