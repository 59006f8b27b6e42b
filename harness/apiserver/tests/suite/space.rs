//! A server whose stored objects take all the space.

use jobcheck_apiserver::Config;
use jobcheck_apiserver::request::{DeleteOptions, ListOptions, PatchKind, Reply, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource::Pods;
use serde_json::{Value, json};

use crate::cluster::{Cluster, on, pod, with};

const SPACE: usize = 1 << 20;
const PODS: usize = 9;

fn name(number: usize) -> String {
    format!("p{number}")
}

fn large(name: &str) -> Value {
    with(&pod(name), "/metadata/annotations", json!({"a": "x".repeat(SPACE / 10)}))
}

/// A server without room for another large pod.
fn full() -> Cluster {
    let mut cluster = Cluster::with(Config { stored_bytes: SPACE, ..Config::default() });
    for number in 0..PODS {
        cluster.create(Pods, large(&name(number))).unwrap();
    }
    cluster
}

#[test]
fn what_makes_the_stored_objects_too_large_is_refused_as_by_etcd() {
    let mut cluster = full();
    let more = json!({"metadata": {"annotations": {"b": "x".repeat(SPACE / 10)}}});
    let refused = [
        cluster.create(Pods, large("one-more")).unwrap_err(),
        cluster.patch(Pods, "p1", PatchKind::Merge, more.clone()).unwrap_err(),
        cluster.patch(Pods, "new", PatchKind::Apply, large("new")).unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.code, error.reason), (500, ""));
        assert_eq!(error.message, "etcdserver: mvcc: database space exceeded");
        assert_eq!(error.status()["status"], "Failure");
    }
    let binding = with(&json!({"target": {"name": "n"}}), "/metadata", more["metadata"].clone());
    let binding = with(&binding, "/metadata/name", json!("p3"));
    let binding = on(Pods, "p3", Verb::Create(binding)).on(Subresource::Binding);
    assert_eq!(cluster.ask(&binding).code(), 500);
    assert!(cluster.server.store().bytes() <= SPACE);
    // A dry run stores nothing.
    let dry = Request::new(Pods, Some("default"), None, Verb::Create(large("dry")));
    assert_eq!(cluster.ask(&Request { dry_run: true, ..dry }).code(), 201);
}

#[test]
fn a_full_server_takes_what_makes_room() {
    let mut cluster = full();
    let held = with(&pod("held"), "/metadata/finalizers", json!(["x.io/a"]));
    cluster.create(Pods, held).unwrap();
    let refused = (0..1_000).find_map(|number| cluster.create(Pods, pod(&format!("small-{number}"))).err());
    assert_eq!(refused.map(|error| error.code), Some(500));
    // A deletion marks the object, which makes it larger.
    assert!(cluster.delete(Pods, "held", json!({})).unwrap()["metadata"]["deletionTimestamp"].is_string());
    let none = json!({"metadata": {"finalizers": null}});
    cluster.patch(Pods, "held", PatchKind::Merge, none).unwrap();
    assert_eq!(cluster.get(Pods, "held").unwrap_err().code, 404);
    cluster.patch(Pods, "p0", PatchKind::Merge, json!({"metadata": {"annotations": null}})).unwrap();
    cluster.create(Pods, pod("fits-now")).unwrap();
    let deletion = Verb::DeleteCollection(ListOptions::default(), DeleteOptions::default());
    let answer = cluster.ask(&Request::new(Pods, Some("default"), None, deletion)).outcome.unwrap();
    assert!(matches!(answer, Reply::List(list) if list.items.len() > PODS));
    for number in 0..PODS {
        cluster.create(Pods, large(&name(number))).unwrap();
    }
}
