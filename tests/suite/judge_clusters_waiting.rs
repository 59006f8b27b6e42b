//! A manager that waits for its workers, and one that does not, beside traces that lack a part.

use jobcheck_judge::replay::Clusters;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, REMOTE, Trace, ended, healthy, judged, running, seconds,
};

/// True if the traces leave something open about the Job of the manager, and the rules of managers that it breaks. The short
/// traces break others, such as PC-31.
fn verdict(manager: &Trace, worker: &Trace) -> (bool, Vec<&'static str>) {
    let clusters = Clusters { manager: manager.input("manager"), workers: vec![worker.input("worker")] };
    let report = judged(&clusters);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let job = report.jobs.iter().find(|job| job.uid == LOCAL).unwrap();
    let ids = job.violations.iter().filter_map(|it| it.requirement.map(|id| id.0.id()));
    (!job.doubts.is_empty(), ids.filter(|id| id.starts_with("MR-")).collect())
}

const CONFORMS: (bool, Vec<&str>) = (false, Vec::new());
const INCONCLUSIVE: (bool, Vec<&str>) = (true, Vec::new());

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "m",
        "lastProbeTime": seconds(9), "lastTransitionTime": seconds(9)})
}

/// Both work for long. The other Job has the same manager.
fn at_work(manager: &mut Trace, worker: &mut Trace) {
    let first = manager.lines.len();
    manager.works_on(MANAGER, 30, 400);
    for line in &mut manager.lines[first..] {
        line["request"]["subresource"] = json!("status");
        line["request"]["response"]["spec"]["managedBy"] = json!("acme.example.com/mirror");
    }
    worker.works_on(REMOTE, 30, 400);
}

/// MR-08: the Job controller of the worker stops between the two conditions.
#[test]
fn an_end_waits_for_that_of_the_copy() {
    let interim = || {
        let mut status = running(0, 7);
        (status["active"], status["conditions"]) = (json!(0), json!([condition("FailureTarget")]));
        status
    };
    let new = || {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
        worker.status(9, BUILT_IN, COPY, interim());
        manager.status(10, MANAGER, LOCAL, interim());
        [manager, worker]
    };
    let [mut manager, mut worker] = new();
    at_work(&mut manager, &mut worker);
    assert_eq!(verdict(&manager, &worker), CONFORMS);
    let [mut manager, mut worker] = new();
    worker.status(20, BUILT_IN, COPY, ended("Failed"));
    at_work(&mut manager, &mut worker);
    assert_eq!(verdict(&manager, &worker), (false, vec!["MR-08", "MR-20", "MR-21"]));
    // Nothing shows that the copy is as far as that.
    let [mut manager, _] = new();
    let mut other = Trace::default();
    at_work(&mut manager, &mut other);
    assert_eq!(verdict(&manager, &other), (true, vec!["MR-08"]));
}

/// MR-27.
#[test]
fn a_suspension_passes_on_to_the_copy() {
    let suspended = json!({"active": 0, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
        "conditions": [condition("Suspended")]});
    let of = |is_passed_on: bool, active: i64| {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
        let suspends = |status: Value| json!({"spec": {"suspend": true}, "status": status});
        manager.request(20, "user", "patch", LOCAL, 200, suspends(running(0, 0)));
        let mut left = running(0, 0);
        left["active"] = json!(active);
        if is_passed_on {
            worker.request(21, REMOTE, "patch", COPY, 200, suspends(left));
        } else if active == 0 {
            worker.status(21, BUILT_IN, COPY, left);
        }
        if !is_passed_on {
            manager.request(25, MANAGER, "update", LOCAL, 200, suspends(suspended.clone()));
        }
        at_work(&mut manager, &mut worker);
        verdict(&manager, &worker)
    };
    assert_eq!(of(false, 2), (false, vec!["MR-27"]));
    assert_eq!(of(false, 0), CONFORMS);
    // The worker has not acted yet, and the Job shows what its copy shows (MR-13).
    assert_eq!(of(true, 2), CONFORMS);
}

/// MR-25: a finalizer of a user holds the Job.
#[test]
fn a_job_has_a_copy_until_it_is_removed() {
    let held = |trace: &mut Trace| {
        for line in &mut trace.lines {
            line["request"]["response"]["metadata"]["finalizers"] = json!(["example.com/x"]);
        }
    };
    let new = || {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        held(&mut manager);
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
        let deleted =
            |finalizers: Value| json!({"deleted": 20, "finalizers": finalizers, "status": running(0, 0)});
        manager.request(20, "user", "delete", LOCAL, 200, deleted(json!(["example.com/x"])));
        manager.works_on(MANAGER, 30, 210).request(211, "user", "patch", LOCAL, 200, deleted(json!([])));
        manager.works_on(MANAGER, 220, 600);
        worker.works_on(REMOTE, 30, 210);
        [manager, worker]
    };
    let [manager, mut worker] = new();
    worker.delete(212, REMOTE, COPY).works_on(REMOTE, 220, 600);
    assert_eq!(verdict(&manager, &worker).1, [""; 0]);
    let [manager, mut worker] = new();
    worker.works_on(REMOTE, 220, 600);
    assert_eq!(verdict(&manager, &worker).1, ["MR-25"]);
}

/// The finalizers of another Job on the worker have changed without a write, so that the removal of the copy may be lost, too.
#[test]
fn a_part_that_is_missing_hides_a_removal() {
    let of = |loses: bool| {
        let [mut manager, mut worker] = healthy();
        manager.status(10, MANAGER, LOCAL, ended("Complete")).delete(20, "user", LOCAL);
        at_work(&mut manager, &mut worker);
        if loses {
            worker.request(
                401,
                "user",
                "delete",
                COPY,
                200,
                json!({"deleted": 401, "finalizers": ["a.com/x"], "status": ended("Complete")}),
            );
            let line = &mut worker.lines.last_mut().unwrap()["request"];
            let uid = "99999999-e7c8-4dcf-83b7-ad703b7b0f09";
            line["name"] = json!("another");
            line["response"]["metadata"]["name"] = json!("another");
            line["response"]["metadata"]["uid"] = json!(uid);
        }
        verdict(&manager, &worker)
    };
    assert_eq!(of(false), (false, vec!["MR-25"]));
    assert_eq!(of(true), INCONCLUSIVE);
}

/// PC-31 is about the finalizers of the propagation policy.
#[test]
fn finalizers_that_change_without_a_write_are_no_fault_of_a_deletion() {
    let mut manager = Trace::default();
    manager.create(0, "user", LOCAL);
    manager.lines[0]["request"]["response"]["metadata"]["finalizers"] = json!(["example.com/x"]);
    manager.delete(20, "user", LOCAL);
    assert_eq!(verdict(&manager, &healthy()[1]), INCONCLUSIVE);
}

#[test]
fn a_job_without_a_copy_is_not_compared() {
    let of = |status: Value| {
        let mut manager = Trace::default();
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, status).works(300);
        let mut worker = Trace::default();
        worker.works_on(REMOTE, 1, 400);
        verdict(&manager, &worker)
    };
    assert_eq!(of(ended("Complete")), INCONCLUSIVE);
    assert_eq!(of(running(0, 0)), INCONCLUSIVE);
}

/// MR-30: a worker whose trace has ended may have counted more.
#[test]
fn a_counter_is_compared_as_far_as_the_trace_of_the_worker_reaches() {
    let of = |until: i64| {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0)).works_on(REMOTE, 5, until);
        manager.status(60, MANAGER, LOCAL, running(0, 1));
        verdict(&manager, &worker)
    };
    assert_eq!(of(10), INCONCLUSIVE);
    assert_eq!(of(100), (false, vec!["MR-30"]));
}
