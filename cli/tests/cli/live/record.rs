//! `jobcheck record` on real API servers.

use std::fs;

use rustix::process::Signal;

use super::up;
use crate::cluster::Clusters;
use crate::record::{Recording, assert_conforms, run_a_job, verdict};
use crate::support::{Folder, jobcheck};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_built_in_controller_is_recorded_by_watches_and_by_the_audit_log_and_conforms() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let cluster = clusters.one("default");
    let text = |field: &str| cluster[field].as_str().unwrap().to_owned();
    let (kubeconfig, audit) = (text("kubeconfig"), text("auditLog"));
    let client = clusters.client("default").await;
    run_a_job(client.clone(), "before").await;

    let folder = Folder::new();
    let begin = |name: &str, arguments: &[&str]| Recording::begin(folder.path(name), arguments);
    let mut half = begin("half.jsonl", &["--kubeconfig", &kubeconfig, "-A"]);
    let whole = [
        begin("watches.jsonl", &["--kubeconfig", &kubeconfig, "-n", "default"]),
        begin("audit.jsonl", &["--audit", &audit, "-n", "default"]),
    ];
    let running = tokio::spawn(async move { run_a_job(client, "one").await });
    half.until("\"kind\":\"Pod\"");
    let trace = half.trace.clone();
    assert_eq!(half.end(Signal::INT).code, 0);
    assert!(fs::read_to_string(&trace).unwrap().ends_with("\"kind\":\"end\"}}\n"));
    assert_ne!(verdict(&trace).0, "violates");
    running.await.unwrap();
    for recording in whole {
        let trace = recording.trace.clone();
        let run = recording.end(Signal::TERM);
        assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 2 pods in "), "{run:?}");
        assert_conforms(&trace, "one");
    }

    // A user without permissions gets a list of the missing ones, and the command that grants them.
    let mut nobody = kube::config::Kubeconfig::read_from(&kubeconfig).unwrap();
    nobody.auth_infos[0].auth_info.get_or_insert_default().impersonate = Some("nobody".to_owned());
    let nobody = folder.write("nobody", serde_json::to_string(&nobody).unwrap());
    let trace = folder.path("nobody.jsonl");
    let arguments = ["record", "--kubeconfig", nobody.to_str().unwrap(), "-n", "shop", "-o"];
    let run = jobcheck(arguments.into_iter().chain([trace.to_str().unwrap()]));
    assert!(run.code == 4 && !trace.exists(), "{run:?}");
    for part in ["list jobs, watch jobs, list pods, watch pods in namespace shop", "kubectl create role "] {
        assert!(run.err.contains(part), "{part:?} is not in {run:?}");
    }
}
