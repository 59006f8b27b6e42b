//! Deletion: grace, finalizers, policies, preconditions.

use jobcheck_apiserver::request::{DeleteOptions, ListOptions, PatchKind, Reply, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource::{Jobs, Namespaces, Pods};
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, on, pod, with};

fn bound(cluster: &mut Cluster, name: &str) {
    cluster.create(Pods, with(&pod(name), "/spec/nodeName", json!("node-1"))).unwrap();
}

fn is_gone(cluster: &mut Cluster, name: &str) -> bool {
    cluster.get(Pods, name).is_err_and(|error| error.code == 404)
}

#[test]
fn an_unbound_pod_is_removed_at_once() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let before = cluster.server.revision();
    let last = cluster.delete(Pods, "a", json!({})).unwrap();
    assert_eq!((&last["kind"], &last["metadata"]["deletionGracePeriodSeconds"]), (&json!("Pod"), &json!(0)));
    assert!(is_gone(&mut cluster, "a"));
    // It is marked, and then removed.
    assert_eq!(cluster.server.revision(), before + 2);
}

#[test]
fn a_bound_pod_terminates_gracefully_and_its_grace_only_shrinks() {
    let mut cluster = Cluster::new();
    bound(&mut cluster, "a");
    let marked = cluster.delete(Pods, "a", json!({})).unwrap();
    let metadata = &marked["metadata"];
    assert_eq!(
        (&metadata["deletionTimestamp"], &metadata["generation"]),
        (&json!("2026-11-21T00:00:30Z"), &json!(2))
    );
    cluster.wait(5);
    let revision = cluster.server.revision();
    for options in [json!({}), json!({"gracePeriodSeconds": 60}), json!({"gracePeriodSeconds": 30})] {
        assert_eq!(cluster.delete(Pods, "a", options).unwrap()["metadata"]["deletionGracePeriodSeconds"], 30);
    }
    assert_eq!(cluster.server.revision(), revision);
    let shorter = cluster.delete(Pods, "a", json!({"gracePeriodSeconds": 10})).unwrap();
    assert_eq!(shorter["metadata"]["deletionTimestamp"], "2026-11-21T00:00:10Z");
    assert_eq!(shorter["metadata"]["generation"], 2);
    cluster.delete(Pods, "a", json!({"gracePeriodSeconds": 0})).unwrap();
    assert!(is_gone(&mut cluster, "a"));
}

#[test]
fn a_terminated_pod_has_no_grace_period() {
    let mut cluster = Cluster::new();
    bound(&mut cluster, "a");
    let created = cluster.get(Pods, "a").unwrap();
    cluster.update_status(Pods, with(&created, "/status/phase", json!("Failed"))).unwrap();
    cluster.delete(Pods, "a", json!({"gracePeriodSeconds": 30})).unwrap();
    assert!(is_gone(&mut cluster, "a"));
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_gone() {
    let mut cluster = Cluster::new();
    let body = with(&pod("a"), "/metadata/finalizers", json!(["x.io/a"]));
    cluster.create(Pods, body).unwrap();
    let marked = cluster.delete(Pods, "a", json!({})).unwrap();
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-11-21T00:00:00Z");
    let more = json!({"metadata": {"finalizers": ["x.io/b"]}});
    let refused = cluster.patch(Pods, "a", PatchKind::Strategic, more).unwrap_err();
    assert!(
        refused.code == 422 && refused.message.contains("no new finalizers can be added"),
        "{}",
        refused.message
    );
    let none = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}});
    cluster.patch(Pods, "a", PatchKind::Strategic, none).unwrap();
    assert!(is_gone(&mut cluster, "a"));
}

#[test]
fn a_graceful_pod_outlives_its_last_finalizer() {
    let mut cluster = Cluster::new();
    bound(&mut cluster, "a");
    cluster.patch(Pods, "a", PatchKind::Merge, json!({"metadata": {"finalizers": ["x.io/a"]}})).unwrap();
    cluster.delete(Pods, "a", json!({})).unwrap();
    cluster.patch(Pods, "a", PatchKind::Merge, json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(!is_gone(&mut cluster, "a"));
    cluster.delete(Pods, "a", json!({"gracePeriodSeconds": 0})).unwrap();
    assert!(is_gone(&mut cluster, "a"));
}

#[test]
fn policies_leave_the_collectors_finalizers_behind() {
    let mut cluster = Cluster::new();
    for (name, options, finalizers) in [
        ("a", json!({}), json!(["orphan"])),
        ("b", json!({"propagationPolicy": "Foreground"}), json!(["foregroundDeletion"])),
        ("c", json!({"orphanDependents": true}), json!(["orphan"])),
    ] {
        cluster.create(Jobs, job(name)).unwrap();
        let marked = cluster.delete(Jobs, name, options).unwrap();
        assert_eq!(
            (&marked["metadata"]["finalizers"], &marked["metadata"]["generation"]),
            (&finalizers, &json!(2))
        );
    }
    cluster.create(Jobs, job("d")).unwrap();
    let status = cluster.delete(Jobs, "d", json!({"propagationPolicy": "Background"})).unwrap();
    assert_eq!((&status["status"], &status["details"]["kind"]), (&json!("Success"), &json!("jobs")));
    assert_eq!(cluster.get(Jobs, "d").unwrap_err().code, 404);
    // Another policy changes the finalizer of a deletion under way.
    let changed = cluster.delete(Jobs, "a", json!({"propagationPolicy": "Foreground"})).unwrap();
    assert_eq!(changed["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    cluster.delete(Jobs, "b", json!({"propagationPolicy": "Background"})).unwrap();
    assert_eq!(cluster.get(Jobs, "b").unwrap_err().code, 404);
}

#[test]
fn preconditions_and_bad_options_are_refused() {
    let mut cluster = Cluster::new();
    cluster.create(Jobs, job("a")).unwrap();
    let error = cluster.delete(Jobs, "a", json!({"preconditions": {"uid": "other"}})).unwrap_err();
    assert_eq!(error.code, 409);
    assert!(
        error.message.contains("the UID in the precondition (other) does not match the UID in record"),
        "{}",
        error.message
    );
    let error = cluster.delete(Jobs, "a", json!({"preconditions": {"resourceVersion": "1"}})).unwrap_err();
    assert_eq!(error.code, 409);
    for bad in [
        json!({"propagationPolicy": "Sideways"}),
        json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
    ] {
        assert_eq!(cluster.delete(Jobs, "a", bad).unwrap_err().code, 422);
    }
    let found = cluster.get(Jobs, "a").unwrap();
    let (uid, version) = (found["metadata"]["uid"].clone(), found["metadata"]["resourceVersion"].clone());
    let exact =
        json!({"propagationPolicy": "Background", "preconditions": {"uid": uid, "resourceVersion": version}});
    cluster.delete(Jobs, "a", exact).unwrap();
    assert_eq!(cluster.delete(Jobs, "a", json!({})).unwrap_err().code, 404);
}

#[test]
fn a_collection_is_deleted_by_selector() {
    let mut cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        let label = if name == "c" { "keep" } else { "drop" };
        cluster.create(Pods, with(&pod(name), "/metadata/labels", json!({"l": label}))).unwrap();
    }
    let chosen = ListOptions { labels: "l=drop".into(), ..ListOptions::default() };
    let verb = Verb::DeleteCollection(chosen, DeleteOptions::default());
    let answer = cluster.ask(&Request::new(Pods, Some("default"), None, verb)).outcome.unwrap();
    let Reply::List(deleted) = answer else { panic!("{answer:?}") };
    assert_eq!(deleted.items.len(), 2);
    assert!(is_gone(&mut cluster, "a") && is_gone(&mut cluster, "b") && !is_gone(&mut cluster, "c"));
}

#[test]
fn an_evicted_pod_has_the_condition_disruption_target() {
    let mut cluster = Cluster::new();
    bound(&mut cluster, "a");
    let body = json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}});
    let response = cluster.ask(&on(Pods, "a", Verb::Create(body)).on(Subresource::Eviction));
    assert_eq!(response.code(), 201);
    let pod = cluster.get(Pods, "a").unwrap();
    assert_eq!(pod["status"]["conditions"][0]["reason"], "EvictionByEvictionAPI");
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
}

#[test]
fn a_namespace_that_is_deleted_takes_nothing_new() {
    let mut cluster = Cluster::new();
    cluster.create(Namespaces, json!({"metadata": {"name": "n"}})).unwrap();
    let marked = cluster.delete(Namespaces, "n", json!({})).unwrap();
    assert_eq!(marked["status"]["phase"], "Terminating");
    let error =
        cluster.ask(&Request::new(Pods, Some("n"), None, Verb::Create(pod("a")))).object().unwrap_err();
    assert_eq!((error.code, error.reason), (403, "Forbidden"));
    let causes = error.status()["details"]["causes"].clone();
    assert_eq!(causes[0]["reason"], "NamespaceTerminating");
    let mut emptied = Value::clone(&cluster.get(Namespaces, "n").unwrap());
    emptied["spec"] = json!({});
    cluster.ask(&on(Namespaces, "n", Verb::Update(emptied)).on(Subresource::Finalize)).object().unwrap();
    assert_eq!(cluster.get(Namespaces, "n").unwrap_err().code, 404);
}

/// Upstream sends no write to etcd if nothing changes.
#[test]
fn another_delete_of_an_object_with_a_finalizer_creates_no_version() {
    let mut cluster = Cluster::new();
    let held = with(&pod("a"), "/metadata/finalizers", json!(["example.com/hold"]));
    cluster.create(Pods, held).unwrap();
    let marked = cluster.delete(Pods, "a", json!({})).unwrap();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    let revision = cluster.server.revision();
    cluster.wait(1);
    assert_eq!(cluster.delete(Pods, "a", json!({})).unwrap(), marked);
    assert_eq!(cluster.server.revision(), revision);
}

/// A change to one of two servers does not affect the other.
#[test]
fn a_fork_is_independent_of_the_original() {
    let mut cluster = Cluster::new();
    bound(&mut cluster, "a");
    let now = cluster.now;
    let mut fork = Cluster { server: cluster.server.fork(), now };
    fork.delete(Pods, "a", json!({"gracePeriodSeconds": 0})).unwrap();
    assert!(is_gone(&mut fork, "a") && !is_gone(&mut cluster, "a"));
    let name = |cluster: &mut Cluster| {
        let made =
            cluster.create(Pods, json!({"metadata": {"generateName": "b-"}, "spec": pod("b")["spec"]}));
        made.unwrap()["metadata"]["uid"].clone()
    };
    assert_eq!(name(&mut fork), name(&mut cluster), "they draw the same UIDs");
}
