//! Requests as audit events.

use std::sync::{Arc, Mutex};

use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::request::{PatchKind, Verb};
use jobcheck_apiserver::resource::Resource::{Jobs, Pods};
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, on, pod};

#[test]
fn writes_are_recorded_as_upstream_records_them() {
    let mut cluster = Cluster::new();
    let events = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = Arc::clone(&events);
    cluster.server.set_audit(Some(AuditSink::new(false, move |event| sink.lock().unwrap().push(event))));
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
