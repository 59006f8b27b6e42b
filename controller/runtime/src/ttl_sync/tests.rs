use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::reflector::Cache;
use crate::testing::{Requests, failure, job, lines, server, wiring};

/// A Job that finished at this time, with a TTL of ten seconds.
fn finished(at: &str, version: u64, extra: &Value) -> Value {
    let mut job = job("a", version, extra);
    job["spec"]["ttlSecondsAfterFinished"] = json!(10);
    job["status"]["conditions"] = json!([{"type": "Complete", "status": "True", "lastTransitionTime": at}]);
    job
}

const LONG_AGO: &str = "2020-01-01T00:00:00Z";

/// Syncs a Job that is `cached` in the cache and `stored` in the API server.
async fn sync(cached: Value, stored: (u16, Value), deletion: u16) -> (Requeue, Requests, TtlSync) {
    let (client, requests) = server(move |line, _| match line {
        "GET jobs/a" => stored.clone(),
        _ if deletion < 300 => (deletion, json!({"kind": "Status", "status": "Success"})),
        _ => failure(deletion),
    });
    let sync = TtlSync { wiring: wiring(), client };
    sync.wiring.jobs.apply(serde_json::from_value(cached).unwrap(), 1);
    let next = sync.sync(&ObjectKey::new("ns", "a")).await;
    (next, requests, sync)
}

/// TT-05, TT-06, TT-12.
#[tokio::test(start_paused = true)]
async fn an_expired_job_is_read_again_and_deleted_with_its_version_as_precondition() {
    let stored = finished(LONG_AGO, 9, &json!({"metadata": {"uid": "other"}}));
    let (next, requests, sync) = sync(finished(LONG_AGO, 5, &json!({})), (200, stored), 200).await;
    assert_eq!(next, Requeue::AwaitChange);
    assert_eq!(lines(&requests), ["GET jobs/a", "DELETE jobs/a"]);
    let options = requests.lock().unwrap()[1].1.clone();
    assert_eq!(options["propagationPolicy"], "Foreground");
    assert_eq!(options["preconditions"], json!({"uid": "other", "resourceVersion": "9"}));
    assert!(sync.wiring.metrics.text().contains("job_deletion_duration_seconds_count 1"));
}

/// TT-05, TT-08: no deletion is decided from a cache.
#[tokio::test(start_paused = true)]
async fn a_job_without_ttl_or_already_deleted_is_left_alone() {
    for stored in [
        (200, job("a", 9, &json!({}))),
        (200, finished(LONG_AGO, 9, &json!({"metadata": {"deletionTimestamp": LONG_AGO}}))),
        failure(404),
    ] {
        let (next, requests, _) = sync(finished(LONG_AGO, 5, &json!({})), stored, 200).await;
        assert_eq!((next, lines(&requests)), (Requeue::AwaitChange, vec!["GET jobs/a".to_owned()]));
    }
}

/// No deletion is decided from an earlier state.
#[tokio::test(start_paused = true)]
async fn a_job_whose_state_is_unknown_is_left_alone() {
    let (client, requests) = server(|_, _| failure(500));
    let sync = TtlSync { wiring: wiring(), client };
    for extra in [json!({}), json!({"spec": {"parallelism": "many"}})] {
        let job = finished(LONG_AGO, 5, &extra);
        sync.wiring.jobs.apply(serde_json::from_value(job).unwrap(), 5);
    }
    assert_eq!(sync.sync(&ObjectKey::new("ns", "a")).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), Vec::<String>::new());
}

/// TT-04, TT-10.
#[tokio::test(start_paused = true)]
async fn a_job_whose_ttl_has_not_expired_is_planned_again_then() {
    let now = jiff::Timestamp::now();
    let (next, requests, _) = sync(finished(&now.to_string(), 5, &json!({})), failure(500), 200).await;
    let Requeue::After(delay) = next else { panic!("{next:?}") };
    assert!(delay > Duration::from_secs(8) && delay <= Duration::from_secs(10), "{delay:?}");
    assert_eq!(lines(&requests), Vec::<String>::new());
}

/// TT-02, TT-07.
#[tokio::test(start_paused = true)]
async fn failures_are_retried() {
    let expired = || finished(LONG_AGO, 5, &json!({}));
    assert_eq!(sync(expired(), failure(500), 200).await.0, Requeue::RateLimited);
    assert_eq!(sync(expired(), (200, expired()), 409).await.0, Requeue::RateLimited);
    let mut timeless = expired();
    timeless["status"]["conditions"][0]["lastTransitionTime"] = Value::Null;
    assert_eq!(sync(timeless, failure(500), 200).await.0, Requeue::RateLimited);
}
