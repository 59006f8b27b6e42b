//! The Job controller has one cache of Jobs and one of pods. A decision about one Job shows how far they have come, so that a
//! later sync of another Job cannot rest on less.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::log::{Log, USER};
use jobcheck_tests::traces::broken;
use serde_json::{Value, json};

/// Job `a` is suspended after its first sync with one of two pods. Job `b` is handled after the suspension, or before it.
fn suspended(log: &mut Log, handles_another: Option<bool>) -> Value {
    let mut a = log.job("a");
    log.wait(1);
    log.pod(&a, 1);
    log.status(&mut a, (1, 0));
    log.wait(1);
    if handles_another == Some(false) {
        let mut b = log.job("b");
        log.serve(&mut b);
        log.wait(2);
    }
    log.edit(&mut a, "suspend", json!(true));
    log.wait(2);
    if handles_another == Some(true) {
        let mut b = log.job("b");
        log.serve(&mut b);
    }
    a
}

#[test]
fn a_sync_that_began_after_another_one_knows_what_that_one_knew() {
    for (handles_another, seconds, expected) in [
        // Nothing shows that the cache has got the suspension.
        (None, 30, Outcome::Conforms),
        (Some(false), 30, Outcome::Conforms),
        // The other Job is newer than the suspension, but the sync may have begun before.
        (Some(true), 8, Outcome::Conforms),
        (Some(true), 30, Outcome::Inconclusive),
    ] {
        let mut log = Log::default();
        let a = suspended(&mut log, handles_another);
        log.wait(seconds);
        log.pod(&a, 2);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{handles_another:?} {seconds} s: {:?}", broken(&found));
    }
}

/// The API server may ask the client of a sync to wait. It sends its request again long after the sync has read the cache.
#[test]
fn a_sync_that_had_to_wait_may_have_read_the_cache_before() {
    for (code, expected) in [(429, Outcome::Conforms), (503, Outcome::Conforms), (403, Outcome::Inconclusive)]
    {
        let mut log = Log::default();
        let a = suspended(&mut log, Some(true));
        log.wait(1);
        log.pod(&a, 2);
        let refused = log.last();
        refused["responseStatus"]["code"] = json!(code);
        refused["responseObject"] = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "message": "try again" });
        log.wait(20);
        log.pod(&a, 2);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{code}: {:?}", broken(&found));
    }
}

/// The pods of all Jobs are in one cache, too. The status of Job `a` leaves out that a pod has ended.
#[test]
fn a_status_that_an_old_pod_cache_explains_is_wrong_if_the_cache_was_newer() {
    for (handles_another, expected) in [(false, Outcome::Conforms), (true, Outcome::Inconclusive)] {
        let mut log = Log::default();
        let mut a = log.job("a");
        log.wait(1);
        let mut pods = log.serve(&mut a);
        log.wait(1);
        log.becomes_ready(&mut a, &mut pods[0], 1);
        log.becomes_ready(&mut a, &mut pods[1], 2);
        let mut b = log.job("b");
        let mut of_b = log.serve(&mut b);
        log.wait(1);
        let started = log.second();
        log.kubelet(&mut pods[0], json!({ "phase": "Running", "startTime": started }));
        log.wait(1);
        log.kubelet(&mut pods[1], json!({ "phase": "Succeeded", "startTime": started }));
        log.wait(1);
        if handles_another {
            log.becomes_ready(&mut b, &mut of_b[0], 1);
        }
        log.wait(40);
        // Between both writes of the kubelet, one pod of two was ready.
        log.status(&mut a, (2, 1));
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{handles_another}: {:?}", broken(&found));
    }
}

/// Its own status writes show that a sync is younger than the other one, whatever has delayed its requests.
#[test]
fn a_sync_behind_two_status_writes_is_younger_than_both() {
    for (status_writes, expected) in [(0, Outcome::Conforms), (2, Outcome::Violates)] {
        let mut log = Log::default();
        let mut a = log.job("a");
        log.wait(1);
        let mut pods = log.serve(&mut a);
        // The Job wants a third pod, but not for long.
        log.edit(&mut a, "parallelism", json!(3));
        log.wait(2);
        log.edit(&mut a, "parallelism", json!(2));
        log.wait(2);
        let mut b = log.job("b");
        log.serve(&mut b);
        log.wait(6);
        for (pod, ready) in pods.iter_mut().zip(1..=status_writes) {
            log.becomes_ready(&mut a, pod, ready);
            log.wait(2);
        }
        log.pod(&a, 3);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{status_writes}: {:?}", broken(&found));
    }
}

/// Nobody knows how many processes another manager has.
#[test]
fn other_managers_may_share_their_jobs_among_processes() {
    let controller = ["example", "manager/v1"];
    let mut log = Log { managed_by: Some("example.com/manager"), controller, ..Log::default() };
    let a = suspended(&mut log, Some(true));
    log.wait(30);
    log.pod(&a, 2);
    let found = log.verdict();
    assert_ne!(found.outcome(), Outcome::Violates, "{:?}", broken(&found));
    assert!(!found.jobs.iter().flat_map(|job| &job.reservations).any(|it| it.text.contains("SY-10")));
}

/// A cache that no longer contains a Job is no reason to create its pods.
#[test]
fn a_pod_of_a_job_that_the_controller_knows_to_be_gone_is_told() {
    for (handles_another, expected) in [(false, Outcome::Conforms), (true, Outcome::Inconclusive)] {
        let mut log = Log::default();
        let a = log.job("a");
        log.wait(1);
        let mut status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success",
            "metadata": { "name": "a", "uid": a["metadata"]["uid"] },
            "details": { "name": "a", "group": "batch", "kind": "jobs", "uid": a["metadata"]["uid"] } });
        log.request(USER, "delete", ("jobs", None), &mut status);
        let line = log.last();
        line["responseObject"]["metadata"] = json!({});
        line["requestObject"] =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        log.wait(3);
        if handles_another {
            let mut b = log.job("b");
            log.serve(&mut b);
        }
        log.wait(30);
        log.pod(&a, 1);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{:?} {:?}", broken(&found), found.doubts);
    }
}

/// A client that is busy in other namespaces delays each request of a sync. A creation fits both what the sync had read and what the
/// caches show meanwhile, and says nothing about which of them it was.
#[test]
fn what_only_a_silence_bounds_does_not_bound_the_rest_of_a_sync() {
    let mut log = Log::default();
    let mut a = log.job("a");
    let mut b = log.job("b");
    log.wait(2);
    let mut first = log.pod(&b, 1);
    log.wait(1);
    let condition = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": log.second() }]);
    log.kubelet(
        &mut first,
        json!({ "phase": "Running", "startTime": log.second(), "conditions": condition }),
    );
    log.wait(7);
    let mut pods = log.serve(&mut a);
    log.wait(5);
    log.becomes_ready(&mut a, &mut pods[0], 1);
    log.wait(15);
    log.pod(&b, 2);
    log.wait(5);
    log.status(&mut b, (2, 0));
    let found = log.verdict();
    assert_eq!(found.outcome(), Outcome::Inconclusive, "{:?}", broken(&found));
}
