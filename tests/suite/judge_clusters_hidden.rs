//! A manager beside workers of which the traces do not show all, or whose clocks differ; and the fields that are compared.

use jobcheck_judge::replay::Clusters;
use jobcheck_judge::validate::Outcome;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, NEXT, REMOTE, Trace, broken, ended, healthy, judged, rules, running,
    seconds,
};

/// Returns `true` if the only Job of the manager was compared with its copies, and the rules that it breaks.
fn compared(manager: &Trace, worker: &Trace) -> (bool, Vec<String>) {
    let clusters = Clusters { manager: manager.input("manager"), workers: vec![worker.input("worker")] };
    let report = judged(&clusters);
    let job = report.jobs.iter().find(|job| job.job.ends_with("/train")).unwrap();
    let is_open = job.doubts.iter().any(|doubt| doubt.contains("be compared"));
    assert!(!is_open || job.verdict != Outcome::Conforms, "{:?}", job.doubts);
    (!is_open, broken(&report).into_values().flatten().collect())
}

/// A record without a body is unknown, and so is a request that a policy leaves out.
#[test]
fn a_job_is_not_compared_with_copies_that_the_traces_do_not_show() {
    let [mut manager, worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete")).works(300);
    let [mut silent, _] = healthy();
    silent.works_on(MANAGER, 20, 300);
    assert_eq!(compared(&manager, &worker), (true, Vec::new()));
    assert_eq!(compared(&silent, &worker), (true, vec!["MR-21".to_owned()]));
    let hidden = |trace: &Trace, level: &str, verb: &str| {
        let mut trace = Trace { lines: trace.lines.clone(), version: trace.version };
        for line in trace.lines.iter_mut().map(|line| &mut line["request"]) {
            if line["verb"] == *verb && line["name"] == "train" {
                line["level"] = json!(level);
                line.as_object_mut().unwrap().remove("response");
            }
        }
        trace
    };
    for level in ["Metadata", "Request"] {
        let unseen = hidden(&worker, level, "update");
        assert_eq!(compared(&manager, &unseen), (false, Vec::new()), "{level}");
        assert_eq!(compared(&silent, &unseen), (false, Vec::new()), "{level}");
        let unseen = hidden(&manager, level, "update");
        assert_eq!(compared(&unseen, &worker), (false, Vec::new()), "{level}");
        let unseen = hidden(&worker, level, "create");
        assert_eq!(compared(&manager, &unseen), (false, Vec::new()), "{level}");
    }
    // A deletion of which nothing but its success is shown.
    let (mut manager, mut worker) = (manager, worker);
    manager.delete(20, "user", LOCAL).works_on(MANAGER, 300, 600);
    worker.delete(21, REMOTE, COPY).works_on(REMOTE, 300, 600);
    assert_eq!(compared(&manager, &worker), (true, Vec::new()));
    let unseen = hidden(&worker, "Metadata", "delete");
    assert_eq!(compared(&manager, &unseen), (false, Vec::new()));
    // A policy without jobs/status.
    let mut left_out = Trace { lines: worker.lines.clone(), version: worker.version };
    left_out.lines.retain(|line| line["request"]["subresource"] != "status");
    // The Job ends, and no copy seems to.
    assert_eq!(compared(&manager, &left_out), (false, Vec::new()));
    // Nothing contradicts the contract, but a pod shows that there are statuses.
    let (mut idle, mut pod) = (Trace::default(), left_out.lines[0].clone());
    idle.works(-100).create(0, "user", LOCAL).works(300);
    left_out.lines.retain(|line| line["request"]["verb"] != "delete");
    assert_eq!(compared(&idle, &left_out), (true, Vec::new()));
    pod["request"]["resource"] = json!("pods");
    pod["request"]["name"] = json!("a-pod");
    pod["request"]["level"] = json!("Metadata");
    left_out.lines.push(pod);
    assert_eq!(compared(&idle, &left_out), (false, Vec::new()));
}

/// The clock of the worker is two seconds behind, so that each copy seems to be older than its Job.
#[test]
fn a_copy_may_seem_to_be_older_than_its_job() {
    for deleter in [REMOTE, "somebody"] {
        let (mut manager, mut worker) = (Trace::default(), Trace::default());
        manager.works(-100).create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        worker.create(-1, REMOTE, COPY).status(1, BUILT_IN, COPY, running(0, 0));
        // Another copy follows after a deletion.
        worker.delete(8, deleter, COPY).create(20, REMOTE, NEXT).status(21, BUILT_IN, NEXT, running(0, 0));
        assert_eq!(rules(&manager, &worker), [""; 0], "{deleter}");
    }
    // A Job of somebody else is no copy, however soon it is followed by one.
    let (mut manager, mut worker) = (Trace::default(), Trace::default());
    manager.works(-100).create(0, "user", LOCAL).status(34, MANAGER, LOCAL, running(0, 0));
    worker.create(-1, "somebody", COPY).delete(20, REMOTE, COPY);
    worker.create(30, REMOTE, NEXT).status(31, BUILT_IN, NEXT, running(0, 0));
    assert_eq!(rules(&manager, &worker), ["MR-25"]);
}

/// The clock of the worker is ahead, so that the copy of a Job seems to be one of the next Job with its name.
#[test]
fn a_copy_that_may_be_of_either_job_decides_nothing() {
    let again = "5d1111a3-e7c8-4dcf-83b7-ad703b7b0f99";
    let managed = json!({"managedBy": "acme.example.com/mirror"});
    let created = |at: i64| json!({"created": at, "spec": managed});
    let (mut manager, mut worker) = (Trace::default(), Trace::default());
    manager.works(-100).create(0, "user", LOCAL).status(1, MANAGER, LOCAL, running(1, 0));
    manager.delete(2, "user", LOCAL);
    manager.request(3, "user", "create", again, 201, created(3));
    let status = json!({"created": 3, "spec": managed, "status": {"active": 2, "startTime": seconds(9),
        "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}});
    manager.request(7, MANAGER, "update", again, 200, status);
    worker.create(5, REMOTE, COPY).status(5, BUILT_IN, COPY, running(1, 0)).delete(7, REMOTE, COPY);
    worker.create(8, REMOTE, NEXT).status(9, BUILT_IN, NEXT, running(0, 0));
    // The first Job has counted a pod, and seems to have no copy.
    assert_eq!(compared(&manager, &worker), (false, Vec::new()));
    manager.lines.retain(|line| line["request"]["response"]["status"]["succeeded"] != 1);
    assert_eq!(compared(&manager, &worker), (true, Vec::new()));
}

/// MR-20 is about each field.
#[test]
fn the_indexes_the_times_and_the_reason_are_those_of_the_copy() {
    let indexed = |completed: &str, failed: &str, reason: &str, end: i64| {
        let mut status = ended("Failed");
        status["completedIndexes"] = json!(completed);
        status["failedIndexes"] = json!(failed);
        status["succeeded"] = json!(2);
        for condition in status["conditions"].as_array_mut().unwrap() {
            condition["reason"] = json!(reason);
        }
        status["terminating"] = json!(end);
        status
    };
    let spec = json!({"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 0});
    let right = || indexed("0,2", "1", "FailedIndexes", 0);
    for (status, is_right) in [
        (right(), true),
        (indexed("0,1", "1", "FailedIndexes", 0), false),
        (indexed("0,2", "2", "FailedIndexes", 0), false),
        (indexed("0,2", "1", "MaxFailedIndexesExceeded", 0), false),
        (indexed("0,2", "1", "FailedIndexes", 9), false),
    ] {
        let (mut manager, mut worker) = (Trace::default(), Trace::default());
        let with = |status: Value| json!({"status": status, "spec": spec, "created": 0});
        let mut local = spec.clone();
        local["managedBy"] = json!("acme.example.com/mirror");
        manager.request(0, "user", "create", LOCAL, 201, json!({"spec": spec, "created": 0}));
        worker.request(1, REMOTE, "create", COPY, 201, json!({"spec": spec, "created": 1}));
        worker.request(
            9,
            BUILT_IN,
            "update",
            COPY,
            200,
            json!({"status": right(), "spec": spec, "created": 1}),
        );
        manager.request(10, MANAGER, "update", LOCAL, 200, with(status.clone())).works(300);
        worker.works(300);
        let found = rules(&manager, &worker);
        assert_eq!(found.iter().any(|id| id == "MR-20"), !is_right, "{status}: {found:?}");
    }
}

/// The log of the manager begins with the Job, so that nothing shows by how much the clock of the worker is behind.
#[test]
fn a_copy_that_seems_older_than_the_log_decides_nothing() {
    for (created, expected) in [(1, (true, vec!["MR-21".to_owned()])), (-1, (false, Vec::new()))] {
        let (mut manager, mut worker) = (Trace::default(), Trace::default());
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0)).works_on(MANAGER, 20, 300);
        worker.create(created, REMOTE, COPY).status(2, BUILT_IN, COPY, running(0, 0));
        worker.status(9, BUILT_IN, COPY, ended("Complete"));
        assert_eq!(compared(&manager, &worker), expected, "{created}");
    }
}

/// MR-20: a manager may delete the copy once it has reported its end.
#[test]
fn the_last_statuses_are_compared_after_the_copy_is_deleted() {
    let with = |field: &str, value: Value| {
        let mut status = ended("Complete");
        status[field] = value;
        status
    };
    for (status, expected) in [
        (ended("Complete"), vec![]),
        (with("failed", json!(1)), vec!["MR-20"]),
        (with("completionTime", seconds(8)), vec!["MR-20"]),
    ] {
        let [mut manager, mut worker] = healthy();
        manager.status(10, MANAGER, LOCAL, status.clone());
        worker.delete(11, REMOTE, COPY);
        assert_eq!(rules(&manager, &worker), expected, "{status}");
    }
}

/// Another copy with the name shows that the log lacks the deletion of the first one.
#[test]
fn a_copy_whose_deletion_is_not_shown_decides_nothing() {
    let [mut manager, mut worker] = healthy();
    manager
        .status(10, MANAGER, LOCAL, ended("Complete"))
        .delete(20, "user", LOCAL)
        .works_on(MANAGER, 300, 600);
    worker.create(200, "somebody", NEXT).works_on(REMOTE, 300, 600);
    assert_eq!(compared(&manager, &worker), (false, Vec::new()));
}
