//! Lists: selectors, pages, versions.

use jobcheck_apiserver::request::{List, ListOptions, VersionMatch};
use jobcheck_apiserver::resource::Resource::Pods;
use serde_json::json;

use crate::cluster::{Cluster, pod, with};

fn names(list: &List) -> Vec<&str> {
    list.items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn three() -> Cluster {
    let mut cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.create(Pods, with(&pod(name), "/metadata/labels", json!({"l": name}))).unwrap();
    }
    cluster
}

fn all() -> ListOptions {
    ListOptions::default()
}

#[test]
fn lists_are_ordered_and_selected() {
    let mut cluster = three();
    let list = cluster.list(Pods, all()).unwrap();
    assert_eq!((names(&list), list.revision), (vec!["a", "b", "c"], cluster.server.revision()));
    let chosen = cluster.list(Pods, ListOptions { labels: "l notin (b)".into(), ..all() }).unwrap();
    assert_eq!(names(&chosen), ["a", "c"]);
    let chosen = cluster.list(Pods, ListOptions { fields: "metadata.name=b".into(), ..all() }).unwrap();
    assert_eq!(names(&chosen), ["b"]);
    for bad in [ListOptions { labels: "((".into(), ..all() }, ListOptions { fields: "x=y".into(), ..all() }] {
        assert_eq!(cluster.list(Pods, bad).unwrap_err().code, 400);
    }
}

#[test]
fn pages_show_one_snapshot() {
    let mut cluster = three();
    let first = cluster.list(Pods, ListOptions { limit: 2, ..all() }).unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a", "b"], Some(1)));
    cluster.delete(Pods, "c", json!({})).unwrap();
    cluster.create(Pods, pod("d")).unwrap();
    let rest = ListOptions { limit: 2, resume: first.resume.clone(), ..all() };
    let second = cluster.list(Pods, rest.clone()).unwrap();
    assert_eq!((names(&second), second.revision, second.resume.as_str()), (vec!["c"], first.revision, ""));
    let now = cluster.server.revision();
    cluster.server.compact(now);
    let expired = cluster.list(Pods, rest).unwrap_err();
    assert_eq!((expired.code, expired.reason), (410, "Expired"));
    let on = ListOptions { limit: 2, resume: expired.resume.clone().unwrap(), ..all() };
    assert_eq!(names(&cluster.list(Pods, on).unwrap()), ["d"]);
    let bad = ListOptions { resume: "zzz".into(), ..all() };
    assert_eq!(cluster.list(Pods, bad).unwrap_err().code, 400);
}

#[test]
fn versions_are_met_exactly_or_at_least() {
    let mut cluster = three();
    let before = cluster.server.revision();
    cluster.create(Pods, pod("d")).unwrap();
    let exact = |version| ListOptions {
        resource_version: Some(version),
        version_match: Some(VersionMatch::Exact),
        ..all()
    };
    assert_eq!(cluster.list(Pods, exact(before)).unwrap().items.len(), 3);
    let newer = ListOptions { resource_version: Some(before), ..all() };
    assert_eq!(cluster.list(Pods, newer).unwrap().items.len(), 4);
    let future = ListOptions { resource_version: Some(before + 9), ..all() };
    let error = cluster.list(Pods, future).unwrap_err();
    assert_eq!(error.code, 504);
    assert!(error.message.starts_with("Timeout: Too large resource version"), "{}", error.message);
    let now = cluster.server.revision();
    cluster.server.compact(now);
    assert_eq!(cluster.list(Pods, exact(before)).unwrap_err().code, 410);
    assert_eq!(cluster.list(Pods, exact(0)).unwrap_err().code, 422);
    let alone = ListOptions { version_match: Some(VersionMatch::Exact), ..all() };
    assert_eq!(cluster.list(Pods, alone).unwrap_err().code, 422);
}
