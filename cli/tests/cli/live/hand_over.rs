//! The built-in Job controller and the shipped one take turns on one Job (UG-03).

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{has_condition, until, up};
use crate::cluster::{Clusters, kill, processes};
use crate::support::{Folder, controller, jobcheck};

/// The process of kube-controller-manager, which can be started again as it was.
struct BuiltIn {
    arguments: Vec<String>,
    folder: std::path::PathBuf,
    again: Option<Child>,
}

impl BuiltIn {
    /// Kills kube-controller-manager.
    fn killed(pid: u32) -> BuiltIn {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        let arguments = line.split_terminator('\0').map(str::to_owned).collect();
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        kill(pid, Signal::KILL);
        BuiltIn { arguments, folder, again: None }
    }

    fn start(&mut self) {
        let mut command = Command::new(&self.arguments[0]);
        command.args(&self.arguments[1..]).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.again = Some(command.spawn().unwrap());
    }
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        if let Some(child) = &mut self.again {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct Run {
    jobs: Api<Job>,
    pods: Api<Pod>,
    ended: BTreeSet<String>,
}

impl Run {
    async fn status(&self) -> Value {
        serde_json::to_value(self.jobs.get("job").await.unwrap()).unwrap()
    }

    /// Ends a pod that has not ended yet. Waits until there is one.
    async fn end(&mut self, phase: &str) {
        let ended = self.ended.clone();
        let name = until(async || {
            let found = self.pods.list(&ListParams::default().labels("job-name=job")).await.unwrap().items;
            found.into_iter().filter_map(|it| it.metadata.name).find(|name| !ended.contains(name))
        });
        let name = name.await;
        let container = json!({"name": "c", "restartCount": 0, "image": "busybox", "imageID": "", "ready": false,
            "state": {"terminated": {"exitCode": i32::from(phase == "Failed"), "finishedAt": "2026-01-01T00:00:00Z"}}});
        let end = Patch::Strategic(json!({"status": {"phase": phase, "containerStatuses": [container]}}));
        self.pods.patch_status(&name, &PatchParams::default(), &end).await.unwrap();
        self.ended.insert(name);
    }

    /// Waits until the status has these numbers of counted pods, and nothing uncounted.
    async fn counted(&self, succeeded: i64, failed: i64) {
        until(async || {
            let status = &self.status().await["status"];
            let number = |field: &str| status[field].as_i64().unwrap_or_default();
            let open = status["uncountedTerminatedPods"].as_object().is_some_and(|lists| !lists.is_empty());
            ((number("succeeded"), number("failed")) == (succeeded, failed) && !open).then_some(())
        })
        .await;
    }
}

fn a_job() -> Job {
    let container = json!({"name": "c", "image": "busybox"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let spec = json!({"completions": 6, "parallelism": 2, "backoffLimit": 6, "template": template});
    serde_json::from_value(json!({"metadata": {"name": "job"}, "spec": spec})).unwrap()
}

/// UG-03: each continues from the other's intermediate state, and no pod is lost or counted twice. The audit log
/// conforms, as one controller that restarts.
#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_controller_and_the_shipped_one_take_turns_on_one_job() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let client: Client = clusters.client("default").await;
    let (jobs, pods) = (Api::default_namespaced(client.clone()), Api::default_namespaced(client));
    jobs.create(&PostParams::default(), &a_job()).await.unwrap();
    let mut run = Run { jobs, pods, ended: BTreeSet::new() };
    let cluster = clusters.one("default");
    // The administrator plays the kubelet, so that the controller needs a name of its own.
    let mut kubeconfig = Kubeconfig::read_from(cluster["kubeconfig"].as_str().unwrap()).unwrap();
    let user = kubeconfig.auth_infos[0].auth_info.get_or_insert_default();
    (user.impersonate, user.impersonate_groups) =
        (Some("jobcheck".to_owned()), Some(vec!["system:masters".to_owned()]));
    let folder = Folder::new();
    let kubeconfig = folder.write("jobcheck", serde_json::to_string(&kubeconfig).unwrap());

    run.end("Succeeded").await;
    run.counted(1, 0).await;
    // In the middle of counting: nobody knows how far the built-in gets before it dies.
    run.end("Succeeded").await;
    let mut built_in = BuiltIn::killed(processes(&cluster)[2]);
    let ours = controller(kubeconfig.to_str().unwrap());
    run.counted(2, 0).await;
    run.end("Failed").await;
    run.counted(2, 1).await;
    run.end("Succeeded").await;
    drop(ours);
    built_in.start();
    run.counted(3, 1).await;
    for successes in 4..=6 {
        run.end("Succeeded").await;
        run.counted(successes, 1).await;
    }
    until(async || has_condition(&run.status().await, "Complete").then_some(())).await;
    drop(built_in);

    let audit = cluster["auditLog"].as_str().unwrap();
    let verdict = jobcheck(["replay", "--actor", "job-controller=jobcheck", audit]);
    assert_eq!(verdict.code, 0, "{}", verdict.out);
}
