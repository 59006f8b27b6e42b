//! A restart of the service: each verdict is given once, and each finding is reported once.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;

use jobcheck_judge::validate::Outcome;
use serde_json::{Value, json};
use support::{LATER, events, feed, findings, open, verdicts};

const WRONG: &str = "invalid/FT-03--released-before-recorded.audit.jsonl";

/// The foreground deletion of the Job in the last event, which has its end, and the removal of the finalizer for it.
fn deletion(events: &[Value]) -> Vec<Value> {
    let mut delete = events.iter().rfind(|it| it["responseObject"]["kind"] == "Job").unwrap().clone();
    let uid = delete["responseObject"]["metadata"]["uid"].clone();
    let event = delete.as_object_mut().unwrap();
    event.remove("requestObject");
    event["objectRef"].as_object_mut().unwrap().remove("subresource");
    for (field, value) in [
        ("auditID", json!("late-1")),
        ("verb", json!("delete")),
        ("user", json!({"username": "admin"})),
        ("userAgent", json!("kubectl/v1")),
        ("requestReceivedTimestamp", json!("2026-12-31T00:00:00.000000Z")),
        ("stageTimestamp", json!("2026-12-31T00:00:00.000000Z")),
    ] {
        event.insert(field.to_owned(), value);
    }
    let metadata = event["responseObject"]["metadata"].as_object_mut().unwrap();
    metadata.insert("deletionTimestamp".to_owned(), json!("2026-12-31T00:00:00Z"));
    metadata.insert("finalizers".to_owned(), json!(["foregroundDeletion"]));
    metadata.insert("resourceVersion".to_owned(), json!("90000001"));
    metadata.insert("generation".to_owned(), json!(2));
    let mut removal = delete.clone();
    removal["auditID"] = json!("late-2");
    removal["verb"] = json!("patch");
    removal["user"]["username"] = json!("system:serviceaccount:kube-system:generic-garbage-collector");
    removal["requestReceivedTimestamp"] = json!("2026-12-31T00:00:01.000000Z");
    removal["stageTimestamp"] = json!("2026-12-31T00:00:01.000000Z");
    let patch =
        json!({"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": ["foregroundDeletion"]}});
    removal["requestObject"] = patch;
    removal["responseObject"]["metadata"].as_object_mut().unwrap().remove("finalizers");
    vec![delete, removal]
}

#[test]
fn a_job_gets_one_verdict_and_late_records_are_counted_after_a_restart() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let mut service = open(folder.path());
    feed(&mut service, &events);
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Violates, "{given:?}");
    service.keep_reported().unwrap();
    drop(service);
    for restarts in 1..3 {
        let mut service = open(folder.path());
        feed(&mut service, &deletion(&events));
        assert_eq!(service.living(), 0, "{restarts}");
        assert!(service.look(LATER).unwrap().is_empty(), "{restarts}");
        let metrics = service.metrics();
        assert!(metrics.contains("jobcheck_watch_late_records_total 2"), "{metrics}");
    }
}

#[test]
fn a_complete_log_is_judged_again_in_the_same_folder() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    for is_reported in [true, false, true] {
        let mut service = open(folder.path());
        feed(&mut service, &events);
        let given = verdicts(&service.conclude().unwrap());
        assert!(given.len() == 1 && given[0].1 == Outcome::Violates, "{given:?}");
        if is_reported {
            service.keep_reported().unwrap();
            assert_eq!(folder.path().join("jobs").read_dir().unwrap().count(), 0);
        }
    }
}

#[test]
fn a_job_that_is_known_by_its_end_alone_is_inconclusive() {
    let (folder, events) =
        (tempfile::tempdir().unwrap(), events("recordings/nonindexed-success.audit.jsonl"));
    let mut service = open(folder.path());
    feed(&mut service, &deletion(&events));
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Inconclusive, "{given:?}");
    assert!(given[0].2.contains("do not show the creation of the Job"), "{given:?}");
}

#[test]
fn a_finding_that_was_reported_is_not_reported_again_after_a_restart() {
    let events = events(WRONG);
    let half = events.len() - 1;
    for is_reported in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut service = open(folder.path());
        feed(&mut service, &events[..half]);
        let before: BTreeSet<_> = findings(&service.look(LATER).unwrap()).into_iter().collect();
        assert!(before.iter().any(|(id, _)| id == "FT-03"), "{before:?}");
        if is_reported {
            service.keep_reported().unwrap();
        }
        drop(service);
        let mut service = open(folder.path());
        feed(&mut service, &events[half..]);
        let after = findings(&service.conclude().unwrap());
        let again = after.iter().filter(|it| before.contains(it)).count();
        assert_eq!(again, if is_reported { 0 } else { before.len() }, "{before:?} {after:?}");
        service.keep_reported().unwrap();
        assert_eq!(folder.path().join("jobs").read_dir().unwrap().count(), 0);
    }
}

#[test]
fn an_event_that_cannot_be_read_makes_its_job_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = events("recordings/nonindexed-success.audit.jsonl");
    let is_status = |event: &&mut serde_json::Value| {
        event["objectRef"]["subresource"] == "status"
            && event["responseObject"]["status"]["succeeded"].is_i64()
    };
    let event = events.iter_mut().find(is_status).unwrap();
    event["responseObject"]["status"]["succeeded"] = serde_json::json!(1.0);
    let mut service = open(folder.path());
    feed(&mut service, &events);
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Inconclusive, "{given:?}");
    assert!(given[0].2.contains("an event cannot be read: status.succeeded"), "{given:?}");
}
