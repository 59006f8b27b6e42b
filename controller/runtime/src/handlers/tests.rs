use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::*;
use crate::reflector::Cache;
use crate::store::Unread;
use crate::testing::wiring;

/// Drains the queues for two seconds: the keys of Jobs with the seconds of their delay, then orphans, then TTL.
async fn woken(wiring: &Wiring) -> Vec<String> {
    let mut found = Vec::new();
    let start = Instant::now();
    for (name, queue) in
        [("job", &wiring.job_queue), ("orphan", &wiring.orphan_queue), ("ttl", &wiring.ttl_queue)]
    {
        let rest = Duration::from_secs(2).saturating_sub(start.elapsed());
        while let Ok(Some(running)) =
            timeout(if name == "job" { rest } else { Duration::ZERO }, queue.next()).await
        {
            let after = if name == "job" { format!(" {}", start.elapsed().as_secs()) } else { String::new() };
            found.push(format!("{name} {}{after}", running.key.name));
        }
    }
    found
}

fn job(name: &str, generation: i64, extra: &Value) -> DynamicObject {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": "1", "generation": generation},
        "spec": {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}},
            "template": {"spec": {"containers": []}}},
    });
    for (field, value) in extra.as_object().unwrap() {
        for (inner, value) in value.as_object().unwrap() {
            job[field][inner] = value.clone();
        }
    }
    serde_json::from_value(job).unwrap()
}

fn complete() -> Value {
    json!({"status": {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn pod(name: &str, owner: Option<&str>, finalizer: bool, phase: &str) -> Pod {
    let owners: Vec<Value> = owner
        .map(|job| json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": true}))
        .into_iter()
        .collect();
    let finalizers: &[&str] = if finalizer { &["batch.kubernetes.io/job-tracking"] } else { &[] };
    serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": "1", "ownerReferences": owners,
            "finalizers": finalizers, "labels": {"batch.kubernetes.io/controller-uid": "a"}},
        "spec": {"containers": []},
        "status": {"phase": phase},
    }))
    .unwrap()
}

/// SY-02.
#[tokio::test(start_paused = true)]
async fn a_new_job_and_a_new_spec_are_synced_now_and_a_new_status_in_a_second() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({})), 1);
    assert_eq!(woken(&wiring).await, ["job a 0"]);
    wiring.jobs.apply(job("a", 2, &json!({})), 2);
    assert_eq!(woken(&wiring).await, ["job a 0"]);
    wiring.jobs.apply(job("a", 2, &json!({"status": {"active": 1}})), 3);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
}

/// SY-02: events of pods arrive in bursts.
#[tokio::test(start_paused = true)]
async fn pods_wake_their_job_once_in_a_second() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({})), 1);
    woken(&wiring).await;
    for name in ["p", "q", "r"] {
        wiring.pods.apply(pod(name, Some("a"), true, "Running"), 2);
    }
    assert_eq!(woken(&wiring).await, ["job a 1"]);
    wiring.pods.remove(pod("p", Some("a"), false, "Failed"), 3);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
}

/// FT-22, S-23, UG-20: even if the cache shows the Job for the first time.
#[tokio::test(start_paused = true)]
async fn a_finished_job_wakes_the_orphan_path_and_the_ttl_controller() {
    let wiring = wiring();
    let finished = |generation| {
        let mut extra = complete();
        extra["spec"] = json!({"ttlSecondsAfterFinished": 5});
        job("a", generation, &extra)
    };
    wiring.jobs.apply(finished(1), 1);
    assert_eq!(woken(&wiring).await, ["job a 0", "ttl a"]);
    wiring.pods.apply(pod("p", Some("a"), true, "Succeeded"), 2);
    assert_eq!(woken(&wiring).await, ["orphan p"]);
    wiring.jobs.apply(finished(2), 3);
    assert_eq!(woken(&wiring).await, ["orphan p", "ttl a"]);
}

/// FT-20, SY-09.
#[tokio::test(start_paused = true)]
async fn pods_of_a_deleted_job_are_orphans() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({})), 1);
    wiring.pods.apply(pod("p", Some("a"), true, "Running"), 2);
    woken(&wiring).await;
    wiring.own_writes.wrote_job(&ObjectKey::new("ns", "a"), &Uid::new("a"), 99);
    wiring.jobs.remove(job("a", 1, &json!({})), 3);
    assert_eq!(woken(&wiring).await, ["job a 0", "orphan p"]);
    assert!(wiring.memories.is_deleted(&Uid::new("a")));
    // The Job of a later pod does not exist.
    wiring.pods.apply(pod("late", Some("a"), true, "Running"), 4);
    assert_eq!(woken(&wiring).await, ["orphan late"]);
}

/// A Job that cannot be read is not deleted, in an event or a list. Its next state is synced.
#[tokio::test(start_paused = true)]
async fn pods_of_a_job_that_cannot_be_read_are_no_orphans() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({})), 1);
    wiring.pods.apply(pod("p", Some("a"), true, "Running"), 2);
    woken(&wiring).await;
    wiring.jobs.apply(job("a", 1, &json!({"spec": {"parallelism": "many"}})), 3);
    let unread = vec![Unread { key: ObjectKey::new("ns", "a"), uid: Some(Uid::new("a")) }];
    Cache::<DynamicObject>::replace(&*wiring.jobs, Vec::new(), unread, 4);
    assert_eq!(woken(&wiring).await, Vec::<String>::new());
    assert!(!wiring.memories.is_deleted(&Uid::new("a")));
    wiring.pods.apply(pod("p", Some("a"), true, "Succeeded"), 5);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
    wiring.jobs.apply(job("a", 1, &json!({})), 6);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
    wiring.jobs.apply(job("a", 1, &json!({"spec": {"parallelism": "many"}})), 7);
    wiring.jobs.remove(job("a", 1, &json!({"spec": {"parallelism": "many"}})), 8);
    assert_eq!(woken(&wiring).await, ["job a 0", "orphan p"]);
}

/// FT-22, FT-24.
#[tokio::test(start_paused = true)]
async fn an_ownerless_pod_wakes_the_jobs_that_may_adopt_it() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({})), 1);
    woken(&wiring).await;
    wiring.pods.apply(pod("p", None, true, "Running"), 2);
    assert_eq!(woken(&wiring).await, ["job a 1", "orphan p"]);
    wiring.pods.apply(pod("p", None, false, "Succeeded"), 3);
    assert_eq!(woken(&wiring).await, Vec::<String>::new(), "neither labels nor owner changed");
    // SY-08: the previous owner is synced too.
    wiring.pods.apply(pod("p", Some("a"), true, "Succeeded"), 4);
    wiring.pods.apply(pod("p", None, false, "Succeeded"), 5);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
}

/// FT-02: no other event would trigger the sync that counts the pod.
#[tokio::test(start_paused = true)]
async fn a_pod_without_a_controller_that_loses_its_finalizer_wakes_the_job_that_lists_it() {
    let listed = json!({"status": {"uncountedTerminatedPods": {"succeeded": ["p"]}}});
    for is_removed in [false, true] {
        let wiring = wiring();
        wiring.jobs.apply(job("a", 1, &listed), 1);
        wiring.jobs.apply(job("b", 1, &json!({})), 2);
        wiring.pods.apply(pod("p", None, true, "Succeeded"), 3);
        woken(&wiring).await;
        if is_removed {
            wiring.pods.remove(pod("p", None, true, "Succeeded"), 4);
        } else {
            wiring.pods.apply(pod("p", None, false, "Succeeded"), 4);
        }
        assert_eq!(woken(&wiring).await, ["job a 1"]);
    }
}

/// MX-14, MB-06: an event of a pod enqueues the Job of another manager, and only the addition of the Job is counted.
#[tokio::test(start_paused = true)]
async fn a_job_of_another_manager_is_counted_once_and_enqueued_like_any_other() {
    let wiring = wiring();
    let external = json!({"spec": {"managedBy": "acme.example.com/x"}});
    wiring.jobs.apply(job("a", 1, &external), 1);
    assert_eq!(woken(&wiring).await, ["job a 0"]);
    wiring.pods.apply(pod("p", Some("a"), true, "Running"), 2);
    assert_eq!(woken(&wiring).await, ["job a 1"]);
    for version in 3..13 {
        let mut written = job("a", 1, &external);
        written.data["status"]["active"] = version.into();
        wiring.jobs.apply(written, version);
    }
    wiring.jobs.apply(job("b", 1, &json!({})), 20);
    wiring.jobs.apply(job("c", 1, &json!({"spec": {"managedBy": "kubernetes.io/job-controller"}})), 21);
    let text = wiring.metrics.text();
    let counted: Vec<&str> = text
        .lines()
        .filter(|it| it.starts_with("job_controller_jobs_by_external_controller_total"))
        .collect();
    assert_eq!(
        counted,
        ["job_controller_jobs_by_external_controller_total{controller_name=\"acme.example.com/x\"} 1"]
    );
}

/// MX-13: the additions minus the deletions are the terminated pods that hold the finalizer, in the next term too.
#[tokio::test(start_paused = true)]
async fn a_new_term_does_not_count_the_pods_of_the_previous_one_twice() {
    let first = wiring();
    first.pods.apply(pod("p", Some("a"), true, "Succeeded"), 2);
    first.pods.apply(pod("q", Some("a"), true, "Failed"), 3);
    first.disconnect();
    let second = Wiring { jobs: Arc::default(), pods: Arc::default(), ..first };
    second.connect();
    let lists = vec![pod("p", Some("a"), true, "Succeeded")];
    let entries =
        lists.into_iter().filter_map(|it| Cache::<Pod>::entry(&*second.pods, it, 4).unwrap()).collect();
    Cache::<Pod>::replace(&*second.pods, entries, Vec::new(), 4);
    let text = second.metrics.text();
    let line =
        |event| format!("job_controller_terminated_pods_tracking_finalizer_total{{event=\"{event}\"}}");
    assert!(text.contains(&format!("{} 3", line("add"))), "{text}");
    assert!(text.contains(&format!("{} 2", line("delete"))), "{text}");
}

/// MX-08, MX-09, MX-13.
#[tokio::test(start_paused = true)]
async fn finalizers_and_foreign_jobs_are_counted() {
    let wiring = wiring();
    wiring.jobs.apply(job("a", 1, &json!({"spec": {"managedBy": "acme.example.com/x"}})), 1);
    wiring.pods.apply(pod("p", Some("a"), true, "Running"), 2);
    wiring.pods.apply(pod("p", Some("a"), true, "Succeeded"), 3);
    wiring.pods.apply(pod("p", Some("a"), false, "Succeeded"), 4);
    let text = wiring.metrics.text();
    for line in [
        "job_controller_jobs_by_external_controller_total{controller_name=\"acme.example.com/x\"} 1",
        "job_controller_terminated_pods_tracking_finalizer_total{event=\"add\"} 1",
        "job_controller_terminated_pods_tracking_finalizer_total{event=\"delete\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
