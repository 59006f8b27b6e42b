//! Requests as audit events.

use std::sync::{Arc, Mutex};

use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::request::{DeleteOptions, ListOptions, PatchKind, Request, Verb};
use jobcheck_apiserver::resource::Resource::{Jobs, Pods};
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, on, pod, with};

/// The events of a cluster from now on.
fn recorded(cluster: &mut Cluster) -> Arc<Mutex<Vec<Value>>> {
    let events = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = Arc::clone(&events);
    cluster.server.set_audit(Some(AuditSink::new(false, move |event| sink.lock().unwrap().push(event))));
    events
}

#[test]
fn writes_are_recorded_as_upstream_records_them() {
    let mut cluster = Cluster::new();
    let events = recorded(&mut cluster);
    cluster.create(Jobs, job("j")).unwrap();
    cluster.get(Jobs, "j").unwrap();
    cluster.create(Jobs, job("j")).unwrap_err();
    let patch = Verb::Patch { kind: PatchKind::Merge, body: json!({"status": {"active": 1}}) };
    let mut request =
        on(Jobs, "j", patch).on(jobcheck_apiserver::request::Subresource::Status).of("me", "agent/1");
    request.audit_id = Some("mine".to_owned());
    cluster.ask(&request).object().unwrap();
    cluster.create(Pods, pod("p")).unwrap();
    cluster.delete(Pods, "p", json!({"gracePeriodSeconds": 0})).unwrap();
    let events = events.lock().unwrap();
    let recorded: Vec<_> = events
        .iter()
        .map(|event| (event["verb"].as_str().unwrap(), &event["responseStatus"]["code"]))
        .collect();
    assert_eq!(
        recorded,
        [
            ("create", &json!(201)),
            ("create", &json!(409)),
            ("patch", &json!(200)),
            ("create", &json!(201)),
            ("delete", &json!(200))
        ]
    );
    let status = &events[2];
    assert_eq!(status["requestURI"], "/apis/batch/v1/namespaces/default/jobs/j/status");
    assert_eq!(
        status["objectRef"],
        json!({"resource": "jobs", "namespace": "default", "name": "j", "apiGroup": "batch",
        "apiVersion": "v1", "subresource": "status"})
    );
    assert_eq!((&status["user"]["username"], &status["userAgent"]), (&json!("me"), &json!("agent/1")));
    assert_eq!(status["responseObject"]["status"]["active"], 1);
    let ids: Vec<_> = events.iter().map(|event| event["auditID"].as_str().unwrap()).collect();
    assert!(ids[2] == "mine" && ids[1] != ids[3], "{ids:?}");
    assert_eq!(events[1]["responseObject"]["reason"], "AlreadyExists");
    assert_eq!(events[4]["requestObject"]["gracePeriodSeconds"], 0);
}

/// One line of 290 MB made the rest of an audit log unreadable, because readers refuse lines of more than 64 MiB.
#[test]
fn a_large_event_has_no_bodies_and_says_so() {
    let mut cluster = Cluster::new();
    let long = "x".repeat(1 << 20);
    for name in 0..11 {
        let image = json!([{"name": "main", "image": "i", "args": [long]}]);
        cluster.create(Pods, with(&pod(&format!("p{name}")), "/spec/containers", image)).unwrap();
    }
    let events = recorded(&mut cluster);
    let deletion = Verb::DeleteCollection(ListOptions::default(), DeleteOptions::default());
    cluster.ask(&Request::new(Pods, Some("default"), None, deletion)).outcome.unwrap();
    let events = events.lock().unwrap();
    let event = &events[0];
    assert_eq!(event["annotations"], json!({"audit.k8s.io/truncated": "true"}));
    assert_eq!((event.get("requestObject"), event.get("responseObject")), (None, None));
    assert_eq!((&event["verb"], &event["responseStatus"]["code"]), (&json!("deletecollection"), &json!(200)));
    assert!(event.to_string().len() < 1_000, "{event}");
}

/// A refusal quotes the request several times.
#[test]
fn a_large_refusal_is_not_quoted() {
    let mut cluster = Cluster::new();
    cluster.create(Jobs, job("j")).unwrap();
    let events = recorded(&mut cluster);
    let patch = json!({"metadata": {"labels": "\"".repeat(1_400_000)}});
    let error = cluster.patch(Jobs, "j", PatchKind::Merge, patch).unwrap_err();
    assert!(error.message.len() > 5_000_000, "{} {}", error.code, error.message.len());
    let events = events.lock().unwrap();
    assert_eq!(events[0]["annotations"], json!({"audit.k8s.io/truncated": "true"}));
    assert_eq!(events[0]["responseStatus"]["code"], error.code);
    assert!(events[0].to_string().len() < 1_000);
}

/// The list that a response does not have is unknown, and not empty.
#[test]
fn a_deletion_without_a_list_is_truncated() {
    let mut cluster = Cluster::with(jobcheck_apiserver::Config { unread_bytes: 1_000, ..Default::default() });
    cluster.create(Pods, pod("a")).unwrap();
    let events = recorded(&mut cluster);
    let deletion = Verb::DeleteCollection(ListOptions::default(), DeleteOptions::default());
    let answer = cluster.ask(&Request::new(Pods, Some("default"), None, deletion)).object().unwrap();
    assert_eq!((&answer["kind"], &answer["status"]), (&json!("Status"), &json!("Success")));
    assert_eq!(cluster.get(Pods, "a").unwrap_err().code, 404);
    let events = events.lock().unwrap();
    assert_eq!(events[0]["annotations"], json!({"audit.k8s.io/truncated": "true"}));
    assert_eq!(events[0].get("responseObject"), None);
}
