//! Garbage collector, pod garbage collector, namespaces, and the kubelet of scenarios.

use jobcheck_apiserver::kubelet::{End, Kubelet};
use jobcheck_apiserver::request::{PatchKind, Request, Verb};
use jobcheck_apiserver::resource::Resource::{Jobs, Namespaces, Nodes, Pods};
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, pod, with};

/// A Job `j` with pods `a` and `b`, of which `b` has the tracking finalizer.
fn family() -> Cluster {
    let mut cluster = Cluster::new();
    let uid = cluster.create(Jobs, job("j")).unwrap()["metadata"]["uid"].clone();
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": true,
        "blockOwnerDeletion": true}]);
    let owned = |name| with(&pod(name), "/metadata/ownerReferences", owner.clone());
    cluster.create(Pods, owned("a")).unwrap();
    let finalizer = json!(["batch.kubernetes.io/job-tracking"]);
    cluster.create(Pods, with(&owned("b"), "/metadata/finalizers", finalizer)).unwrap();
    cluster
}

fn collect(cluster: &mut Cluster) -> usize {
    let mut writes = 0;
    for _ in 0..10 {
        match cluster.server.collect_garbage(cluster.now) {
            0 => return writes,
            more => writes += more,
        }
    }
    panic!("the garbage collector does not become quiescent");
}

fn exists(cluster: &mut Cluster, resource: jobcheck_apiserver::resource::Resource, name: &str) -> bool {
    cluster.get(resource, name).is_ok()
}

fn release(cluster: &mut Cluster) {
    let body = json!({"metadata": {"finalizers": null}});
    cluster.patch(Pods, "b", PatchKind::Merge, body).unwrap();
}

#[test]
fn dependents_of_a_removed_owner_are_deleted() {
    let mut cluster = family();
    assert_eq!(collect(&mut cluster), 0);
    cluster.delete(Jobs, "j", json!({"propagationPolicy": "Background"})).unwrap();
    assert_eq!(collect(&mut cluster), 2);
    assert!(!exists(&mut cluster, Pods, "a"));
    assert!(cluster.get(Pods, "b").unwrap()["metadata"].get("deletionTimestamp").is_some());
    release(&mut cluster);
    assert!(!exists(&mut cluster, Pods, "b"));
}

#[test]
fn a_foreground_deletion_removes_dependents_first() {
    let mut cluster = family();
    cluster.delete(Jobs, "j", json!({"propagationPolicy": "Foreground"})).unwrap();
    collect(&mut cluster);
    assert!(
        !exists(&mut cluster, Pods, "a")
            && exists(&mut cluster, Pods, "b")
            && exists(&mut cluster, Jobs, "j")
    );
    release(&mut cluster);
    collect(&mut cluster);
    assert!(!exists(&mut cluster, Pods, "b") && !exists(&mut cluster, Jobs, "j"));
}

#[test]
fn orphans_stay_without_an_owner() {
    let mut cluster = family();
    cluster.delete(Jobs, "j", json!({"propagationPolicy": "Orphan"})).unwrap();
    assert_eq!(collect(&mut cluster), 3);
    assert!(!exists(&mut cluster, Jobs, "j"));
    for name in ["a", "b"] {
        let pod = cluster.get(Pods, name).unwrap();
        assert!(
            pod["metadata"].get("ownerReferences").is_none()
                && pod["metadata"].get("deletionTimestamp").is_none()
        );
    }
}

#[test]
fn a_second_owner_keeps_the_object() {
    let mut cluster = family();
    let other = cluster.create(Jobs, job("k")).unwrap()["metadata"]["uid"].clone();
    let body = json!({"metadata": {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "k", "uid": other}]}});
    cluster.patch(Pods, "a", PatchKind::Strategic, body).unwrap();
    cluster.delete(Jobs, "j", json!({"propagationPolicy": "Background"})).unwrap();
    collect(&mut cluster);
    let owners = cluster.get(Pods, "a").unwrap()["metadata"]["ownerReferences"].clone();
    assert_eq!((owners.as_array().unwrap().len(), &owners[0]["name"]), (1, &json!("k")));
}

#[test]
fn pods_of_lost_nodes_and_unscheduled_ones_that_terminate_fail() {
    let mut cluster = Cluster::new();
    let finalizer = json!(["x.io/hold"]);
    cluster
        .create(
            Pods,
            with(
                &with(&pod("lost"), "/spec/nodeName", json!("gone")),
                "/metadata/finalizers",
                finalizer.clone(),
            ),
        )
        .unwrap();
    cluster.create(Pods, with(&pod("waiting"), "/metadata/finalizers", finalizer)).unwrap();
    cluster.create(Pods, pod("fine")).unwrap();
    cluster.delete(Pods, "waiting", json!({})).unwrap();
    let now = cluster.now;
    assert_eq!(cluster.server.collect_pods(now), 3);
    for name in ["lost", "waiting"] {
        assert_eq!(cluster.get(Pods, name).unwrap()["status"]["phase"], "Failed", "{name}");
    }
    let conditions = cluster.get(Pods, "lost").unwrap()["status"]["conditions"].clone();
    assert_eq!(conditions[0]["reason"], "DeletionByPodGC");
    assert_eq!(cluster.get(Pods, "fine").unwrap()["status"]["phase"], "Pending");
    assert_eq!(cluster.server.collect_pods(now), 0);
}

#[test]
fn a_namespace_is_removed_with_its_contents() {
    let mut cluster = Cluster::new();
    cluster.create(Namespaces, json!({"metadata": {"name": "n"}})).unwrap();
    for (resource, body) in [(Jobs, job("j")), (Pods, pod("p"))] {
        cluster.ask(&Request::new(resource, Some("n"), None, Verb::Create(body))).object().unwrap();
    }
    cluster.delete(Namespaces, "n", json!({})).unwrap();
    let now = cluster.now;
    while cluster.server.finish_namespaces(now) > 0 {}
    assert_eq!(cluster.get(Namespaces, "n").unwrap_err().code, 404);
    assert_eq!(
        cluster.server.store().scan(Pods, "n/").count() + cluster.server.store().scan(Jobs, "n/").count(),
        0
    );
}

#[test]
fn a_kubelet_runs_and_terminates_a_pod() {
    let mut cluster = Cluster::new();
    let now = cluster.now;
    let kubelet = Kubelet::of(&mut cluster.server, now, "node-1").unwrap();
    assert!(exists(&mut cluster, Nodes, "node-1"));
    cluster.create(Pods, pod("a")).unwrap();
    kubelet.bind(&mut cluster.server, now, "default", "a").unwrap();
    kubelet.run(&mut cluster.server, now, "default", "a", true).unwrap();
    let is = |pod: &Value, kind: &str| {
        pod["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["type"] == kind && it["status"] == "True")
    };
    let running = cluster.get(Pods, "a").unwrap();
    assert!(running["status"]["phase"] == "Running" && is(&running, "Ready") && is(&running, "PodScheduled"));
    cluster.delete(Pods, "a", json!({})).unwrap();
    kubelet.end(&mut cluster.server, now, "default", "a", End::Failed(3)).unwrap();
    let ended = cluster.get(Pods, "a").unwrap();
    assert_eq!(ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    assert!(ended["status"]["phase"] == "Failed" && !is(&ended, "Ready"));
    kubelet.finish(&mut cluster.server, now, "default", "a").unwrap();
    assert!(!exists(&mut cluster, Pods, "a"));
    assert!(kubelet.run(&mut cluster.server, now, "default", "a", true).is_err());
}
