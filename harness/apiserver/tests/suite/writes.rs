//! Creates, updates, patches.

use jobcheck_apiserver::request::{FieldValidation, PatchKind, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource::{Jobs, Leases, Namespaces, Nodes, Pods};
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, on, pod, with};

#[test]
fn a_created_object_has_what_the_server_gives_it() {
    let mut cluster = Cluster::new();
    let before = cluster.server.revision();
    let created = cluster.create(Pods, pod("a")).unwrap();
    let metadata = &created["metadata"];
    assert_eq!((&metadata["name"], &metadata["namespace"]), (&json!("a"), &json!("default")));
    assert_eq!(metadata["resourceVersion"], json!((before + 1).to_string()));
    assert_eq!(
        (&metadata["creationTimestamp"], &metadata["generation"]),
        (&json!("2026-11-21T00:00:00Z"), &json!(1))
    );
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!((&created["kind"], &created["status"]["phase"]), (&json!("Pod"), &json!("Pending")));
    let again = cluster.create(Pods, pod("a")).unwrap_err();
    assert_eq!((again.code, again.message.as_str()), (409, "pods \"a\" already exists"));
}

#[test]
fn names_are_generated_and_the_same_seed_generates_the_same() {
    let names = || {
        let mut cluster = Cluster::new();
        let mut body = pod("");
        body["metadata"] = json!({"generateName": "p-"});
        let mut made =
            || cluster.create(Pods, body.clone()).unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        [made(), made()]
    };
    let [one, other] = names();
    assert!(one.starts_with("p-") && one.len() == 7 && one != other, "{one} {other}");
    assert_eq!(names(), [one, other]);
}

#[test]
fn bad_creations_are_refused_with_the_right_code() {
    let mut cluster = Cluster::new();
    for (body, code) in [
        (json!(3), 400),
        (json!({"metadata": {"name": "x"}, "spec": {"containers": "a"}}), 400),
        (with(&pod("x"), "/metadata/namespace", json!("other")), 400),
        (with(&pod("x"), "/metadata/resourceVersion", json!("3")), 500),
        (pod("X"), 422),
        (pod(""), 422),
        (json!({"metadata": {"name": "x"}}), 422),
    ] {
        assert_eq!(cluster.create(Pods, body.clone()).unwrap_err().code, code, "{body}");
    }
    let elsewhere = Request::new(Pods, Some("nowhere"), None, Verb::Create(pod("x")));
    let error = cluster.ask(&elsewhere).object().unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[test]
fn an_unknown_field_in_a_patch_is_reported() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let typo = json!({"spec": {"activeDeadlineSecond": 3}});
    let operation = json!([{"op": "add", "path": "/spec/activeDeadlineSecond", "value": 3}]);
    for (kind, body) in
        [(PatchKind::Merge, &typo), (PatchKind::Strategic, &typo), (PatchKind::Json, &operation)]
    {
        for (field_validation, code, warns) in [
            (FieldValidation::Strict, 422, false),
            (FieldValidation::Warn, 200, true),
            (FieldValidation::Ignore, 200, false),
        ] {
            let patch = on(Pods, "a", Verb::Patch { kind, body: body.clone() });
            let response = cluster.ask(&Request { field_validation, ..patch });
            let has_warning = response.warnings == ["unknown field \"spec.activeDeadlineSecond\""];
            assert_eq!((response.code(), has_warning), (code, warns), "{kind:?} {field_validation:?}");
        }
    }
}

/// SP-13: a Job whose texts of indexes may become too long is stored with a warning.
#[test]
fn many_completions_with_much_parallelism_are_warned_about() {
    for (completions, parallelism, warns) in
        [(100_001, 10_001, true), (100_001, 10_000, false), (100_000, 10_001, false)]
    {
        let mut body = job("a");
        body["spec"]["completionMode"] = json!("Indexed");
        (body["spec"]["completions"], body["spec"]["parallelism"]) = (json!(completions), json!(parallelism));
        let request = Request::new(Jobs, Some("default"), None, Verb::Create(body));
        let response = Cluster::new().ask(&request);
        let warned = response.warnings.iter().any(|it| it.contains("completions higher than 10^5"));
        assert_eq!((response.code(), warned), (201, warns), "{completions} {parallelism}");
    }
}

#[test]
fn dry_runs_store_nothing() {
    let mut cluster = Cluster::new();
    let before = cluster.server.revision();
    let namespace = Some("default");
    let request = Request { dry_run: true, ..Request::new(Pods, namespace, None, Verb::Create(pod("a"))) };
    assert_eq!(cluster.ask(&request).code(), 201);
    cluster.create(Pods, pod("b")).unwrap();
    let after = cluster.server.revision();
    let patch = Verb::Patch { kind: PatchKind::Merge, body: json!({"metadata": {"labels": {"a": "b"}}}) };
    for verb in [patch, Verb::Delete(Default::default())] {
        let request = Request { dry_run: true, ..on(Pods, "b", verb) };
        assert_eq!(cluster.ask(&request).code(), 200);
    }
    assert_eq!((after, cluster.server.revision()), (before + 1, after));
}

#[test]
fn updates_need_the_current_version_if_they_name_one() {
    let mut cluster = Cluster::new();
    let first = cluster.create(Pods, pod("a")).unwrap();
    let labelled = with(&first, "/metadata/labels", json!({"x": "1"}));
    let second = cluster.update(Pods, labelled.clone()).unwrap();
    let conflict = cluster.update(Pods, with(&labelled, "/metadata/labels", json!({}))).unwrap_err();
    assert_eq!((conflict.code, conflict.reason), (409, "Conflict"));
    assert!(
        conflict
            .message
            .starts_with("Operation cannot be fulfilled on pods \"a\": the object has been modified;")
    );
    let mut unconditional = Value::clone(&second);
    unconditional["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    unconditional["metadata"]["labels"] = json!({"x": "2"});
    assert_eq!(cluster.update(Pods, unconditional.clone()).unwrap()["metadata"]["labels"]["x"], "2");
    unconditional["metadata"]["uid"] = json!("other");
    let other = cluster.update(Pods, unconditional).unwrap_err();
    assert!(other.code == 409 && other.message.contains("Precondition failed: UID in precondition: other"));
    assert_eq!(cluster.update(Pods, pod("zzz")).unwrap_err().code, 404);
}

#[test]
fn a_write_that_changes_nothing_makes_no_version() {
    let mut cluster = Cluster::new();
    let created = cluster.create(Pods, pod("a")).unwrap();
    let revision = cluster.server.revision();
    assert_eq!(cluster.update(Pods, Value::clone(&created)).unwrap(), created);
    let same = cluster.patch(Pods, "a", PatchKind::Merge, json!({"metadata": {"labels": null}})).unwrap();
    assert_eq!((same, cluster.server.revision()), (created, revision));
}

#[test]
fn the_name_in_the_body_is_that_of_the_path() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let error = cluster.ask(&on(Pods, "a", Verb::Update(pod("b")))).object().unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (400, "the name of the object (b) does not match the name on the URL (a)")
    );
}

/// The library that applies JSON patches panics if it cannot undo an operation, such as a move to this path.
#[test]
fn a_json_patch_that_fails_halfway_changes_nothing() {
    let mut cluster = Cluster::new();
    let before = cluster.create(Pods, pod("a")).unwrap();
    let patch = json!([{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
        {"op": "copy", "from": "/metadata/labels/x", "path": "/metadata/labels/z"},
        {"op": "move", "from": "/metadata/labels/z", "path": "//"}]);
    assert_eq!(cluster.patch(Pods, "a", PatchKind::Json, patch).unwrap_err().code, 422);
    assert_eq!(cluster.get(Pods, "a").unwrap(), before);
}

/// Each operation doubles the object, as 40 of them would fill any memory.
#[test]
fn a_json_patch_copies_no_more_than_a_body_holds() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let copy = |number| json!({"op": "copy", "from": "/metadata", "path": format!("/metadata/{number}")});
    let patch = (0..40).map(copy).collect();
    let error = cluster.patch(Pods, "a", PatchKind::Json, patch).unwrap_err();
    assert_eq!(error.code, 422);
    assert!(error.message.contains("exceeding the limit 3145728"), "{}", error.message);
}

#[test]
fn patches_come_in_four_kinds() {
    let mut cluster = Cluster::new();
    let mut body = pod("a");
    body["metadata"]["finalizers"] = json!(["x.io/a", "x.io/b"]);
    cluster.create(Pods, body).unwrap();
    let strategic = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}});
    let after = cluster.patch(Pods, "a", PatchKind::Strategic, strategic).unwrap();
    assert_eq!(after["metadata"]["finalizers"], json!(["x.io/b"]));
    let json_patch = json!([{"op": "test", "path": "/metadata/name", "value": "a"},
        {"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}]);
    assert_eq!(
        cluster.patch(Pods, "a", PatchKind::Json, json_patch).unwrap()["metadata"]["labels"]["l"],
        "1"
    );
    let merge = json!({"metadata": {"labels": {"l": null, "m": "2"}}});
    assert_eq!(
        cluster.patch(Pods, "a", PatchKind::Merge, merge).unwrap()["metadata"]["labels"],
        json!({"m": "2"})
    );
    let apply = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"n": "3"}}});
    let applied = cluster.patch(Pods, "a", PatchKind::Apply, apply).unwrap();
    assert_eq!(applied["metadata"]["labels"], json!({"m": "2", "n": "3"}));
    let mut new = pod("b");
    (new["kind"], new["apiVersion"]) = (json!("Pod"), json!("v1"));
    assert_eq!(cluster.patch(Pods, "b", PatchKind::Apply, new).unwrap()["metadata"]["name"], "b");
    for (kind, body, code) in [
        (PatchKind::Json, json!([{"op": "test", "path": "/metadata/name", "value": "z"}]), 422),
        (PatchKind::Json, json!({"op": "test"}), 400),
        (PatchKind::Merge, json!([]), 400),
        (PatchKind::Merge, json!({"metadata": {"resourceVersion": "1"}}), 409),
        (PatchKind::Merge, json!({"metadata": {"name": "z"}}), 400),
        (PatchKind::Merge, json!({"spec": {"containers": 3}}), 422),
        (PatchKind::Apply, json!({"metadata": {}}), 400),
    ] {
        assert_eq!(cluster.patch(Pods, "a", kind, body.clone()).unwrap_err().code, code, "{body}");
    }
}

#[test]
fn a_status_write_touches_the_status_and_a_write_does_not() {
    let mut cluster = Cluster::new();
    let created = cluster.create(Pods, pod("a")).unwrap();
    let mut sent = Value::clone(&created);
    sent["status"]["phase"] = json!("Running");
    sent["spec"]["nodeName"] = json!("elsewhere");
    sent["metadata"]["labels"] = json!({"l": "1"});
    sent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]);
    let after = cluster.update_status(Pods, sent).unwrap();
    assert_eq!((&after["status"]["phase"], after["spec"].get("nodeName")), (&json!("Running"), None));
    assert_eq!(
        (&after["metadata"]["labels"]["l"], after["metadata"].get("ownerReferences")),
        (&json!("1"), None)
    );
    assert_eq!(after["metadata"]["generation"], 1);
    let main = cluster.update(Pods, with(&after, "/status/phase", json!("Failed"))).unwrap();
    assert_eq!(main["status"]["phase"], "Running");
}

#[test]
fn a_pod_is_bound_once() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let binding = json!({"kind": "Binding", "metadata": {"name": "a"}, "target": {"name": "node-1"}});
    let bind = on(Pods, "a", Verb::Create(binding)).on(Subresource::Binding);
    assert_eq!(cluster.ask(&bind).code(), 201);
    let bound = cluster.get(Pods, "a").unwrap();
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["status"]["conditions"][0]["type"]),
        (&json!("node-1"), &json!("PodScheduled"))
    );
    let error = cluster.ask(&bind).object().unwrap_err();
    assert_eq!(error.code, 409);
    assert!(error.message.contains("pod a is already assigned to node \"node-1\""), "{}", error.message);
}

#[test]
fn leases_are_created_by_update_and_need_a_version() {
    let mut cluster = Cluster::new();
    let lease =
        json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "", "leaseDurationSeconds": 15}});
    let made = cluster.ask(&on(Leases, "l", Verb::Update(lease.clone())));
    assert_eq!(made.code(), 201);
    assert_eq!(made.object().unwrap()["spec"]["holderIdentity"], "");
    let error = cluster.update(Leases, lease).unwrap_err();
    assert_eq!((error.code, error.reason), (422, "Invalid"));
}

#[test]
fn objects_without_namespace_have_none() {
    let mut cluster = Cluster::new();
    let node = cluster.create(Nodes, json!({"metadata": {"name": "n", "namespace": "x"}})).unwrap();
    assert_eq!(node["metadata"].get("namespace"), None);
    let namespace = cluster.get(Namespaces, "default").unwrap();
    assert_eq!(
        (&namespace["status"]["phase"], &namespace["spec"]["finalizers"]),
        (&json!("Active"), &json!(["kubernetes"]))
    );
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "default");
}
