use serde_json::{Value, json};

use super::*;
use crate::reflector::Cache;
use crate::testing::{Requests, failure, job, lines, pod, server, wiring};

/// Returns a sync of the pod `p`. `job` is the response to the GET of `jobs/a`, and `code` that to patches.
fn orphans(stored: (u16, Value), patch: u16) -> (OrphanSync, Requests) {
    let (client, requests) = server(move |line, _| match line {
        "GET jobs/a" => stored.clone(),
        _ if patch < 300 => (patch, json!({"metadata": {"resourceVersion": "50"}})),
        _ => failure(patch),
    });
    (OrphanSync { wiring: wiring(), client }, requests)
}

fn show_pod(sync: &OrphanSync, phase: &str) {
    sync.wiring.pods.apply(serde_json::from_value(pod("p", "a", 7, phase)).unwrap(), 7);
}

fn show_job(sync: &OrphanSync, extra: &Value) {
    sync.wiring.jobs.apply(serde_json::from_value(job("a", 5, extra)).unwrap(), 5);
}

fn finished() -> Value {
    json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
}

async fn run(sync: &OrphanSync) -> Requeue {
    sync.sync(&ObjectKey::new("ns", "p")).await
}

/// FT-20, FT-21: a cache that does not show the Job is not sufficient.
#[tokio::test(start_paused = true)]
async fn a_pod_of_a_deleted_job_loses_its_finalizer_after_the_api_server_was_asked() {
    let (sync, requests) = orphans(failure(404), 200);
    show_pod(&sync, "Running");
    assert_eq!(run(&sync).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), ["GET jobs/a", "PATCH pods/p"]);
    let body = requests.lock().unwrap()[1].1.clone();
    assert_eq!((&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]), (&json!("p"), &json!("7")));
    // The API server is not asked twice.
    assert_eq!(run(&sync).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests)[2..], ["PATCH pods/p"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_job_the_cache_does_not_show_yet_is_left_alone() {
    let (sync, requests) = orphans((200, job("a", 5, &json!({}))), 200);
    show_pod(&sync, "Running");
    assert_eq!(run(&sync).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), ["GET jobs/a"]);
    let (sync, requests) = orphans((200, job("a", 5, &json!({"metadata": {"uid": "another"}}))), 200);
    show_pod(&sync, "Running");
    run(&sync).await;
    assert_eq!(lines(&requests), ["GET jobs/a", "PATCH pods/p"]);
}

/// A Job that cannot be read exists, whether the cache has an earlier state of it or not.
#[tokio::test(start_paused = true)]
async fn a_pod_whose_job_cannot_be_read_is_left_alone() {
    let odd = json!({"spec": {"parallelism": "many"}});
    for was_read in [true, false] {
        let (sync, requests) = orphans((200, job("a", 5, &odd)), 200);
        if was_read {
            show_job(&sync, &json!({}));
        }
        show_job(&sync, &odd);
        show_pod(&sync, "Succeeded");
        assert_eq!(run(&sync).await, Requeue::AwaitChange);
        assert!(lines(&requests).iter().all(|line| line == "GET jobs/a"), "{was_read}");
    }
}

/// FT-21, FT-23, MB-04.
#[tokio::test(start_paused = true)]
async fn only_pods_of_managed_finished_jobs_lose_their_finalizer() {
    for (extra, finalizer_removed) in [
        (json!({}), false),
        (finished(), true),
        (json!({"spec": {"managedBy": "acme.example.com/x"}, "status": finished()["status"].clone()}), false),
    ] {
        let (sync, requests) = orphans(failure(500), 200);
        show_job(&sync, &extra);
        show_pod(&sync, "Succeeded");
        assert_eq!(run(&sync).await, Requeue::AwaitChange);
        assert_eq!(lines(&requests).len(), usize::from(finalizer_removed), "{extra}");
    }
}

/// SY-03.
#[tokio::test(start_paused = true)]
async fn a_finalizer_that_the_last_sync_removed_is_not_removed_again() {
    let (sync, requests) = orphans(failure(500), 200);
    show_job(&sync, &finished());
    show_pod(&sync, "Succeeded");
    sync.wiring.own_writes.wrote_pod(&ObjectKey::new("ns", "a"), &Uid::new("a"), 8);
    assert_eq!(run(&sync).await, Requeue::Defer(DEFER));
    assert_eq!(lines(&requests), Vec::<String>::new());
    // After a timeout a lost event does not delay it any more.
    tokio::time::advance(STALE_CACHE_TIMEOUT).await;
    assert_eq!(run(&sync).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), ["PATCH pods/p"]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_and_a_missing_pod_is_a_success() {
    for (code, next) in
        [(404, Requeue::AwaitChange), (409, Requeue::RateLimited), (500, Requeue::RateLimited)]
    {
        let (sync, _) = orphans(failure(404), code);
        show_pod(&sync, "Running");
        assert_eq!(run(&sync).await, next, "{code}");
    }
    let (sync, requests) = orphans(failure(503), 200);
    show_pod(&sync, "Running");
    assert_eq!(run(&sync).await, Requeue::RateLimited);
    assert_eq!(lines(&requests), ["GET jobs/a"]);
}
