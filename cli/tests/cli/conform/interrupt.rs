//! Ctrl-C: the traces are on disk, and nothing is left on the clusters.

use std::process::Stdio;
use std::time::Duration;

use jobcheck_report::types::Outcome;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, ListParams};
use rustix::process::Signal;

use super::{Site, start};
use crate::cluster::kill;
use crate::support::controller;

/// The namespaces of the suite.
async fn namespaces(client: &Client) -> Vec<Namespace> {
    let labelled = ListParams::default().labels("jobcheck.dev/conform");
    Api::<Namespace>::all(client.clone()).list(&labelled).await.unwrap().items
}

async fn jobs(client: &Client) -> Vec<Job> {
    Api::<Job>::all(client.clone()).list(&ListParams::default()).await.unwrap().items
}

#[tokio::test]
async fn an_interrupted_run_keeps_its_traces_and_leaves_nothing_behind() {
    let site = Site::new(&["hub", "one"]);
    let _executor = controller(&site.kubeconfigs[1]);
    let [manager, worker] = &site.kubeconfigs[..] else { panic!("two clusters") };
    let managed_by = ["--managed-by", "example.com/mirror"];
    let of_mirror = [&["--manager", manager, "--worker", worker][..], &managed_by].concat();
    let _mirror = start("between_clusters", &of_mirror);
    let arguments = [
        &["--profile", "mirror", "--cluster", "manager=hub", "--cluster", "worker=one", "--parallel", "1"][..],
        &managed_by,
        &["mirror/rest", "mirror/success"],
    ];
    let mut command = site.command("out", &arguments.concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let clients = [site.clusters.client("hub").await, site.clusters.client("one").await];
    while jobs(&clients[1]).await.is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    kill(child.id(), Signal::INT);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    for client in &clients {
        assert_eq!((namespaces(client).await, jobs(client).await), (Vec::new(), Vec::new()));
    }
    let report = site.report("out");
    let [rest, success] = &report.scenarios[..] else { panic!("{report:?}") };
    let (interrupted, waiting) =
        if rest.outcome == Outcome::Error { (rest, success) } else { (success, rest) };
    assert!(interrupted.outcome == Outcome::Error && interrupted.reason == "interrupted", "{report:?}");
    assert!(waiting.outcome == Outcome::Skip && waiting.reason.contains("ended before"), "{report:?}");
    assert_eq!(interrupted.traces.len(), 2);
    for trace in &interrupted.traces {
        let file = site.folder.path("out").join(&trace.file);
        let replayed = crate::support::replay([file]);
        assert!(matches!(replayed.code, 0 | 3) && replayed.out.contains("1 Job"), "{replayed:?}");
    }
}
