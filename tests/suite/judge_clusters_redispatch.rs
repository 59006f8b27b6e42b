//! A Job whose copy is made again, and copies that are deleted and yet not gone (MR-20, MR-24, MR-25).

use jobcheck_judge::replay::Clusters;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, NEXT, REMOTE, Trace, ended, healthy, judged, rules, running, seconds,
};

/// The first copy has counted two failures, and is deleted. Its successor has this status, and the Job shows the other one
/// for 130 s or more.
fn redispatched(copy: Value, here: Value) -> [Trace; 2] {
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 2));
    worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 2)).delete(10, "user", COPY);
    worker.create(20, REMOTE, NEXT).status(22, BUILT_IN, NEXT, copy).works_on(REMOTE, 30, 400);
    manager.status(24, MANAGER, LOCAL, here).works_on(MANAGER, 30, 400);
    [manager, worker]
}

fn broken(copy: Value, here: Value) -> Vec<String> {
    let [manager, worker] = redispatched(copy, here);
    rules(&manager, &worker)
}

/// MR-24.
#[test]
fn a_redispatch_keeps_what_was_counted_and_adds_to_it() {
    assert_eq!(broken(running(0, 1), running(0, 3)), [""; 0]);
    // One of three pods is not counted, and then none of the last copy's.
    assert_eq!(broken(running(0, 1), running(0, 2)), ["MR-24"]);
    assert_eq!(broken(running(0, 3), running(0, 2)), ["MR-20"]);
    assert_eq!(broken(running(1, 0), running(1, 2)), [""; 0]);
    assert_eq!(broken(running(1, 0), running(0, 2)), ["MR-20"]);
}

/// MR-20: what the last copy says of its end, and the times of any copy.
#[test]
fn after_a_redispatch_the_end_is_that_of_the_last_copy() {
    let failed = |reason: &str, count: i32| {
        let mut status = ended("Failed");
        status["failed"] = json!(count);
        for condition in status["conditions"].as_array_mut().unwrap() {
            condition["reason"] = json!(reason);
        }
        status
    };
    assert_eq!(broken(failed("DeadlineExceeded", 1), failed("DeadlineExceeded", 3)), [""; 0]);
    assert_eq!(broken(failed("DeadlineExceeded", 1), failed("BackoffLimitExceeded", 3)), ["MR-20"]);
    let completed = |second: i64| {
        let mut status = ended("Complete");
        (status["completionTime"], status["failed"]) = (seconds(second), json!(2));
        status
    };
    assert_eq!(broken(completed(9), completed(9)), ["MR-24"]);
    let mut alone = completed(9);
    alone["failed"] = json!(0);
    assert_eq!(broken(alone.clone(), completed(9)), [""; 0]);
    assert_eq!(broken(alone, completed(12)), ["MR-20"]);
    let started = |second: i64, failed: i32| {
        let mut status = running(0, failed);
        status["startTime"] = seconds(second);
        status
    };
    // It stays as it is while the Job is not suspended.
    assert_eq!(broken(started(21, 0), started(2, 2)), [""; 0]);
    assert_eq!(broken(started(21, 0), started(30, 2)), ["MR-20"]);
}

/// MR-20: each index counts once.
#[test]
fn after_a_redispatch_indexes_are_those_of_any_copy() {
    let of = |last: &str, here: &str| {
        let indexed = |trace: &mut Trace| {
            for line in &mut trace.lines {
                for side in ["request", "response"] {
                    let object = &mut line["request"][side];
                    if object["spec"].is_object() {
                        object["spec"]["completionMode"] = json!("Indexed");
                    }
                }
            }
        };
        let status = |indexes: &str| {
            let mut status = running(i32::from(!indexes.is_empty()), 0);
            (status["completedIndexes"], status["active"]) = (json!(indexes), json!(1));
            status
        };
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, status("0"));
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, status("0")).delete(10, "user", COPY);
        worker.create(20, REMOTE, NEXT).status(22, BUILT_IN, NEXT, status(last)).works_on(REMOTE, 30, 400);
        manager.status(24, MANAGER, LOCAL, status(here)).works_on(MANAGER, 30, 400);
        indexed(&mut manager);
        indexed(&mut worker);
        rules(&manager, &worker)
    };
    assert_eq!(of("", "0"), [""; 0]);
    assert_eq!(of("0", "0"), [""; 0]);
    assert_eq!(of("", "1"), ["MR-20"]);
    assert_eq!(of("1", "0"), ["MR-20"]);
}

/// MR-25.
#[test]
fn a_copy_that_its_manager_keeps_is_left() {
    let of = |created: Value, left: Value, status: Value| {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
        for line in &mut worker.lines {
            line["request"]["response"]["metadata"]["finalizers"] = created.clone();
        }
        manager.delete(10, "user", LOCAL);
        let deleted = |status: &Value| json!({"deleted": 11, "finalizers": left, "status": status});
        worker.request(11, REMOTE, "delete", COPY, 200, deleted(&running(0, 0)));
        worker.request(13, BUILT_IN, "update", COPY, 200, deleted(&status));
        let at = worker.lines.len() - 1;
        worker.lines[at]["request"]["subresource"] = json!("status");
        manager.works_on(MANAGER, 20, 400);
        worker.works_on(REMOTE, 20, 400);
        rules(&manager, &worker)
    };
    let mut quiet = running(0, 0);
    quiet["active"] = json!(0);
    let (own, foreign) = (json!(["acme.io/keep"]), json!(["foregroundDeletion"]));
    assert_eq!(of(own.clone(), own.clone(), quiet.clone()), ["MR-25"]);
    // Its pods may still end, and somebody else may keep it.
    assert_eq!(of(own.clone(), own, running(0, 0)), [""; 0]);
    assert_eq!(of(json!([]), foreign, quiet), [""; 0]);
}

/// MR-25: the pods go on without their Job.
#[test]
fn a_copy_is_not_deleted_without_its_pods() {
    for (policy, expected) in [("Orphan", &["MR-25"][..]), ("Background", &[])] {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0)).delete(10, "user", LOCAL);
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0)).delete(11, REMOTE, COPY);
        let at = worker.lines.len() - 1;
        worker.lines[at]["request"]["propagationPolicy"] = json!(policy);
        assert_eq!(rules(&manager, &worker), expected, "{policy}");
    }
}

/// A policy may leave out a resource, or an account.
#[test]
fn a_manager_that_the_traces_do_not_show_is_not_judged() {
    let is_open = |manager: &Trace, worker: &Trace| {
        let clusters = Clusters { manager: manager.input("manager"), workers: vec![worker.input("worker")] };
        let report = judged(&clusters);
        let job = report.jobs.iter().find(|job| job.uid == LOCAL).unwrap();
        assert!(rules(manager, worker).is_empty());
        !job.doubts.is_empty()
    };
    let [mut manager, mut worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete")).works_on(MANAGER, 20, 400);
    worker.works_on(REMOTE, 20, 400);
    assert!(!is_open(&manager, &worker));
    let mut silent = manager.clone();
    silent.lines.retain(|line| line["request"]["subresource"] != "status");
    assert!(is_open(&silent, &worker));
    manager.delete(401, "user", LOCAL).works_on(MANAGER, 410, 800);
    worker.works_on("somebody", 410, 800);
    worker.lines.retain(|line| line["request"]["user"] != REMOTE);
    assert!(is_open(&manager, &worker));
}

/// MR-22: a manager deletes the former copy, unless it does not reach its worker.
#[test]
fn two_copies_do_not_run_beside_each_other() {
    let both = |reaches_the_first: bool, lost: bool| {
        let [mut manager, mut first, mut second] = [Trace::default(), Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0)).works_on(MANAGER, 20, 400);
        first.create(1, REMOTE, COPY).status(2, BUILT_IN, COPY, running(0, 0));
        if lost {
            first.request(30, REMOTE, "delete", COPY, 504, json!({}));
        }
        let user = if reaches_the_first { REMOTE } else { "user" };
        first.works_on(user, 50, 400);
        second.create(40, REMOTE, NEXT).status(41, BUILT_IN, NEXT, running(0, 0)).works_on(REMOTE, 50, 400);
        let workers = vec![first.input("first"), second.input("second")];
        let report = judged(&Clusters { manager: manager.input("manager"), workers });
        let ids = crate::judge_clusters::broken(&report).into_values().flatten().collect::<Vec<_>>();
        ids.contains(&"MR-22".to_owned())
    };
    assert!(both(true, false));
    assert!(!both(false, false));
    // The deletion may have been stored.
    assert!(!both(true, true));
}
