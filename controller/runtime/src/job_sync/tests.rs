use std::collections::BTreeSet;

use jobcheck_controller::job::observed::Settings;
use jobcheck_controller::values::Uid;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::events;
use crate::reflector::Cache;
use crate::testing::{Log, Requests, failure, job, lines, pod, server, wiring};

fn key() -> ObjectKey {
    ObjectKey::new("ns", "a")
}

fn syncs(answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static) -> (JobSync, Requests) {
    let (client, requests) = server(answer);
    let wiring = wiring();
    let enactor = Enactor {
        client: client.clone(),
        own_writes: Arc::clone(&wiring.own_writes),
        recorder: events::channel(client, "test").0,
        metrics: wiring.metrics.clone(),
        stop: CancellationToken::new(),
    };
    let (relist_jobs, relist_pods) = (Arc::default(), Arc::default());
    (JobSync { wiring, enactor, relist_jobs, relist_pods, tracer: None }, requests)
}

fn show(sync: &JobSync, job: Value, version: u64) {
    sync.wiring.jobs.apply(serde_json::from_value(job).unwrap(), version);
}

/// A server that accepts every write, with increasing versions.
fn obliging(line: &str, number: usize) -> (u16, Value) {
    let name = line.rsplit('/').next().unwrap_or_default();
    (
        200,
        json!({"kind": "X", "metadata": {"name": name, "uid": "x", "resourceVersion": (100 + number).to_string()}}),
    )
}

#[tokio::test(start_paused = true)]
async fn a_new_job_gets_its_pod_and_its_status() {
    let (sync, requests) = syncs(obliging);
    show(&sync, job("a", 5, &json!({})), 5);
    assert!(!matches!(sync.sync(&key()).await, Requeue::RateLimited));
    let lines = lines(&requests);
    assert_eq!(lines.iter().filter(|line| **line == "POST pods").count(), 1);
    assert!(lines.iter().any(|line| line == "PATCH jobs/a/status"), "{lines:?}");
    assert!(
        sync.wiring
            .metrics
            .text()
            .contains("job_controller_job_syncs_total{completion_mode=\"NonIndexed\",result=\"success\"")
    );
}

/// SY-03, MX-10.
#[tokio::test(start_paused = true)]
async fn the_next_sync_waits_for_the_caches() {
    let (sync, requests) = syncs(obliging);
    show(&sync, job("a", 5, &json!({})), 5);
    sync.sync(&key()).await;
    let sent = lines(&requests).len();
    assert!(matches!(sync.sync(&key()).await, Requeue::Defer(_)));
    assert_eq!(lines(&requests).len(), sent);
    assert!(sync.wiring.metrics.text().contains("stale_sync_skips_total"));
}

/// The caches show only the Job, at this version.
fn list_again(sync: &JobSync, version: u64) {
    let cached = sync.wiring.jobs.entry(serde_json::from_value(job("a", 5, &json!({}))).unwrap(), 5).unwrap();
    let (jobs, pods) = (&*sync.wiring.jobs, &*sync.wiring.pods);
    Cache::<kube::api::DynamicObject>::replace(jobs, cached.into_iter().collect(), Vec::new(), version);
    Cache::<k8s_openapi::api::core::v1::Pod>::replace(pods, Vec::new(), Vec::new(), version);
}

/// If no event follows the writes of a sync, no event starts the next one either.
#[tokio::test(start_paused = true)]
async fn a_sync_whose_writes_are_not_shown_requests_relists_after_ten_seconds() {
    let (sync, _) = syncs(obliging);
    show(&sync, job("a", 5, &json!({})), 5);
    assert_eq!(sync.sync(&key()).await, Requeue::After(STALE_CACHE_TIMEOUT));
    tokio::time::advance(STALE_CACHE_TIMEOUT).await;
    assert_eq!(sync.sync(&key()).await, Requeue::Defer(DEFER_MAX));
    sync.relist_jobs.notified().await;
    sync.relist_pods.notified().await;
}

/// The deadline of the Job is in an hour.
#[tokio::test(start_paused = true)]
async fn a_later_wake_does_not_delay_the_relists() {
    let (sync, _) = syncs(obliging);
    let spec = json!({"spec": {"activeDeadlineSeconds": 3600}});
    show(&sync, job("a", 5, &spec), 5);
    assert_eq!(sync.sync(&key()).await, Requeue::After(STALE_CACHE_TIMEOUT));
    // The caches show the writes, and there is nothing to do.
    let start = Timestamp::from_second(now().as_seconds()).unwrap();
    let status = json!({"active": 1, "ready": 0, "terminating": 0, "startTime": start.to_string()});
    show(&sync, job("a", 300, &json!({"spec": spec["spec"].clone(), "status": status})), 300);
    sync.wiring.pods.apply(serde_json::from_value(pod("p", "a", 300, "Pending")).unwrap(), 300);
    let next = sync.sync(&key()).await;
    assert!(matches!(next, Requeue::After(delay) if delay > STALE_CACHE_TIMEOUT), "{next:?}");
}

/// A Job that cannot be read is neither synced nor forgotten.
#[tokio::test(start_paused = true)]
async fn nothing_is_decided_about_a_job_whose_state_is_unknown() {
    let (sync, requests) = syncs(obliging);
    show(&sync, job("a", 5, &json!({})), 5);
    sync.wiring.own_writes.wrote_job(&key(), &Uid::new("a"), 50);
    show(&sync, job("a", 60, &json!({"spec": {"parallelism": "many"}})), 60);
    let pod = serde_json::from_value(pod("p", "a", 61, "Succeeded")).unwrap();
    sync.wiring.pods.apply(pod, 61);
    assert_eq!(sync.sync(&key()).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), Vec::<String>::new());
    assert!(!sync.wiring.memories.is_deleted(&Uid::new("a")));
    show(&sync, job("a", 70, &json!({})), 70);
    sync.sync(&key()).await;
    assert!(lines(&requests).contains(&"PATCH pods/p".to_owned()));
}

/// After lost events both caches are listed again, and are fresh then.
#[tokio::test(start_paused = true)]
async fn a_cache_that_never_shows_a_write_is_listed_again() {
    let (sync, _) = syncs(obliging);
    show(&sync, job("a", 5, &json!({})), 5);
    sync.wiring.own_writes.wrote_pod(&key(), &Uid::new("a"), 1_000);
    assert_eq!(sync.sync(&key()).await, Requeue::Defer(DEFER));
    tokio::time::advance(STALE_CACHE_TIMEOUT).await;
    assert_eq!(sync.sync(&key()).await, Requeue::Defer(DEFER_MAX));
    sync.relist_jobs.notified().await;
    sync.relist_pods.notified().await;
    tokio::time::advance(Duration::from_millis(10)).await;
    list_again(&sync, 900);
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(sync.sync(&key()).await, Requeue::Defer(DEFER));
    assert!(!matches!(sync.sync(&key()).await, Requeue::Defer(_)));
}

/// After a lost response the stored objects are read back, and a pod that exists is not created again.
#[tokio::test(start_paused = true)]
async fn a_creation_without_a_response_is_not_repeated_blindly() {
    let (sync, requests) = syncs(|line, number| match line {
        "POST pods" => failure(504),
        "GET jobs/a" => (200, job("a", 5, &json!({}))),
        "GET pods" => (
            200,
            json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {},
            "items": [{"metadata": {"name": "p", "uid": "p", "resourceVersion": "77"}}]}),
        ),
        line => obliging(line, number),
    });
    show(&sync, job("a", 5, &json!({})), 5);
    assert_eq!(sync.sync(&key()).await, Requeue::RateLimited);
    let before = lines(&requests).len();
    show(&sync, job("a", 200, &json!({"status": {"startTime": "2026-01-01T00:00:00Z"}})), 200);
    assert!(matches!(sync.sync(&key()).await, Requeue::Defer(_)), "the cache does not show the pod yet");
    assert_eq!(lines(&requests)[before..], ["GET jobs/a", "GET pods"]);
    sync.wiring.pods.apply(serde_json::from_value(pod("p", "a", 77, "Running")).unwrap(), 77);
    sync.sync(&key()).await;
    assert_eq!(lines(&requests).iter().filter(|line| **line == "POST pods").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_planned_while_the_stored_objects_cannot_be_read() {
    let (sync, requests) = syncs(|_, _| failure(503));
    show(&sync, job("a", 5, &json!({})), 5);
    sync.wiring.own_writes.outcome_unknown(&key(), &Uid::new("a"));
    assert_eq!(sync.sync(&key()).await, Requeue::RateLimited);
    assert_eq!(lines(&requests), ["GET jobs/a"]);
}

/// MB-02, MB-03.
#[tokio::test(start_paused = true)]
async fn a_job_of_another_manager_is_left_alone() {
    let (sync, requests) = syncs(obliging);
    show(&sync, job("a", 5, &json!({"spec": {"managedBy": "acme.example.com/x"}})), 5);
    assert_eq!(sync.sync(&key()).await, Requeue::AwaitChange);
    assert_eq!(sync.sync(&ObjectKey::new("ns", "none")).await, Requeue::AwaitChange);
    assert_eq!(lines(&requests), Vec::<String>::new());
}

/// MB-13.
#[tokio::test(start_paused = true)]
async fn a_skipped_sync_logs_the_manager_of_the_job() {
    let (log, _guard) = Log::start();
    let (mut sync, _) = syncs(obliging);
    show(&sync, job("a", 5, &json!({"spec": {"managedBy": "acme.example.com/x"}})), 5);
    sync.sync(&key()).await;
    let settings = Settings { managed_by: Some("acme.example.com/x".into()), ..Settings::default() };
    sync.wiring.settings = Arc::new(settings);
    show(&sync, job("a", 6, &json!({})), 6);
    sync.sync(&key()).await;
    let skips = log.lines("skipping the sync");
    assert_eq!(skips.len(), 2, "{skips:?}");
    assert!(skips[0].contains("job=ns/a uid=a manager=\"acme.example.com/x\""), "{skips:?}");
    assert!(skips[1].contains("manager=\"kubernetes.io/job-controller\""), "{skips:?}");
}

/// PC-12.
#[tokio::test(start_paused = true)]
async fn creation_pauses_in_a_terminating_namespace() {
    let (sync, requests) = syncs(|line, number| match line {
        "POST pods" => (
            403,
            json!({"kind": "Status", "status": "Failure", "code": 403, "message": "m",
            "details": {"causes": [{"reason": "NamespaceTerminating"}]}}),
        ),
        line => obliging(line, number),
    });
    show(&sync, job("a", 5, &json!({})), 5);
    // The next plan decides about the refusal.
    assert_eq!(sync.sync(&key()).await, Requeue::RateLimited);
    let creations = |lines: &[String]| lines.iter().filter(|line| *line == "POST pods").count();
    assert_eq!(creations(&lines(&requests)), 1);
    sync.sync(&key()).await;
    assert_eq!(creations(&lines(&requests)), 1, "none is tried again");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_retried() {
    let (sync, _) = syncs(|line, number| match line {
        "PATCH jobs/a/status" => failure(409),
        line => obliging(line, number),
    });
    show(&sync, job("a", 5, &json!({})), 5);
    assert_eq!(sync.sync(&key()).await, Requeue::RateLimited);
}

/// S-05: settled pods, which a sync does not read, stay in the memory.
#[tokio::test(start_paused = true)]
async fn a_restored_finalizer_of_a_counted_pod_is_ignored() {
    let (sync, requests) = syncs(obliging);
    let pods = |held: bool| {
        let mut counted = pod("p", "a", if held { 9 } else { 7 }, "Succeeded");
        counted["metadata"]["finalizers"] =
            if held { json!(["batch.kubernetes.io/job-tracking"]) } else { json!([]) };
        serde_json::from_value(counted).unwrap()
    };
    show(&sync, job("a", 5, &json!({"spec": {"completions": 2}, "status": {"succeeded": 1}})), 5);
    sync.wiring.pods.apply(pods(false), 7);
    sync.wiring.pods.apply(serde_json::from_value(pod("q", "a", 8, "Running")).unwrap(), 8);
    let uid = Some(Uid::new("a"));
    let finalizer_removed = BTreeSet::from([Uid::new("p")]);
    let memory = Memory { uid, finalizer_removed: finalizer_removed.clone(), ..Memory::default() };
    sync.wiring.memories.set(&key(), memory);
    sync.sync(&key()).await;
    assert_eq!(sync.wiring.memories.of(&key()).finalizer_removed, BTreeSet::new());
    // The written status.
    sync.wiring.own_writes.forget(&key(), &Uid::new("a"));
    let before = lines(&requests).len();
    sync.wiring.pods.apply(pods(true), 9);
    sync.sync(&key()).await;
    assert_eq!(sync.wiring.memories.of(&key()).finalizer_removed, finalizer_removed);
    let lines = lines(&requests);
    assert!(!lines[before..].contains(&"PATCH pods/p".to_owned()), "{lines:?}");
}

/// SY-09: a Job may be deleted during a sync, which then adds to the memory.
#[tokio::test(start_paused = true)]
async fn the_memory_of_a_deleted_job_is_dropped() {
    let (sync, requests) = syncs(obliging);
    let wiring = &sync.wiring;
    let finalizer_removed = BTreeSet::from([Uid::new("p")]);
    wiring.memories.set(&key(), Memory { finalizer_removed, ..Memory::default() });
    wiring.memories.keep_settled(&key(), &Uid::new("a"), vec![Uid::new("q")], |_| true);
    wiring.own_writes.wrote_job(&key(), &Uid::new("a"), 50);
    assert_eq!(sync.sync(&key()).await, Requeue::AwaitChange);
    assert_eq!(wiring.memories.of(&key()), Memory::default());
    let mut memory = Memory::default();
    let pod = serde_json::from_value(pod("q", "a", 7, "Running")).unwrap();
    wiring.pods.apply(pod, 7);
    let pods: Vec<_> = wiring.pods.all().iter().map(|pod| pod.facts().clone()).collect();
    wiring.memories.restore_settled(&key(), &Uid::new("a"), &pods, &mut memory);
    assert_eq!(memory, Memory::default());
    let reached = Reached { jobs: 0, pods: 0, has_pod: &|_| true };
    let fresh = wiring.own_writes.check(&key(), &Uid::new("a"), reached, Instant::now());
    assert_eq!((fresh, lines(&requests).len()), (Freshness::Fresh, 0));
}

/// SC-02: while another Job waits for a worker, a large one creates the pods of one turn, and continues at once after it.
#[tokio::test(start_paused = true)]
async fn a_large_job_takes_turns_with_others() {
    for (waiting, created, next) in
        [(true, turn::REQUESTS - 1, Duration::ZERO), (false, 200, STALE_CACHE_TIMEOUT)]
    {
        let (sync, requests) = syncs(obliging);
        let spec = json!({"spec": {"parallelism": 200, "completions": 200}});
        show(&sync, job("a", 5, &spec), 5);
        let _running = sync.wiring.job_queue.next().await.unwrap();
        if waiting {
            sync.wiring.job_queue.add(ObjectKey::new("ns", "other"));
        }
        assert_eq!(sync.sync(&key()).await, Requeue::After(next));
        let posted = lines(&requests).iter().filter(|line| **line == "POST pods").count();
        assert_eq!(posted, created, "{waiting}");
        assert!(sync.wiring.metrics.text().contains("result=\"success\""));
    }
}
