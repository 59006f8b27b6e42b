//! A mirror that cannot change something, or of which a trace shows too little (MR-13, MR-20, MR-21, MR-25). Its API server has
//! rules, workers have queues, and a write may have a server error.

use jobcheck_judge::replay::Clusters;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, NEXT, REMOTE, Trace, ended, judged, rules, running, seconds,
};

fn with(status: Value, changes: &[(&str, Value)]) -> Value {
    let mut status = status;
    for (field, value) in changes {
        status[field] = value.clone();
    }
    status
}

fn suspended(word: &str, at: i64) -> Value {
    json!({"type": "Suspended", "status": word, "reason": "JobSuspended", "message": "m",
        "lastProbeTime": seconds(at), "lastTransitionTime": seconds(at)})
}

fn both() -> [Trace; 2] {
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
    worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
    [manager, worker]
}

fn work(manager: &mut Trace, worker: &mut Trace, from: i64) {
    manager.works_on(MANAGER, from, from + 400);
    worker.works_on(REMOTE, from, from + 400);
}

/// MR-20: the worker's queue has stopped the copy for a while. The API server of the manager refuses another `startTime` while
/// the Job is not suspended (SS-09).
#[test]
fn a_job_that_was_never_suspended_keeps_its_start() {
    let of = |start: i64| {
        let [mut manager, mut worker] = both();
        let again = [suspended("False", 30)];
        let resumed = with(running(0, 0), &[("startTime", seconds(30)), ("conditions", json!(again))]);
        worker.status(30, BUILT_IN, COPY, resumed.clone());
        manager.status(31, MANAGER, LOCAL, with(resumed, &[("startTime", seconds(start))]));
        work(&mut manager, &mut worker, 40);
        rules(&manager, &worker)
    };
    assert_eq!((of(2), of(30)), (vec![], vec![]));
    assert_eq!(of(20), ["MR-20"]);
}

/// MR-05 asks for a `startTime` at the resumption. The copy waits in a queue, and starts later.
#[test]
fn a_resumed_job_keeps_the_start_of_its_resumption() {
    let of = |was_suspended: bool| {
        let [mut manager, mut worker] = both();
        let word = if was_suspended { "True" } else { "False" };
        manager.status(
            20,
            MANAGER,
            LOCAL,
            with(running(0, 0), &[("conditions", json!([suspended(word, 20)]))]),
        );
        let resumed = |start: i64| {
            let conditions = json!([suspended("False", 30)]);
            with(running(0, 0), &[("startTime", seconds(start)), ("conditions", conditions)])
        };
        manager.status(30, MANAGER, LOCAL, resumed(30));
        worker.status(90, BUILT_IN, COPY, resumed(90));
        work(&mut manager, &mut worker, 100);
        rules(&manager, &worker)
    };
    assert_eq!((of(true), of(false)), (vec![], vec!["MR-20".to_owned()]));
}

/// MR-20, MR-21: an admission policy answers as a webhook does.
#[test]
fn the_time_begins_anew_at_a_refusal_by_admission() {
    let of = |message: &str| {
        let [mut manager, mut worker] = both();
        worker.status(9, BUILT_IN, COPY, ended("Complete"));
        for at in (20..400).step_by(40) {
            manager.request(at, MANAGER, "update", LOCAL, 422, json!({"status": ended("Complete")}));
            manager.lines.last_mut().unwrap()["request"]["response"]["message"] = json!(message);
        }
        worker.works_on(REMOTE, 20, 400);
        rules(&manager, &worker)
    };
    let policy = "jobs.batch \"train\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
    let webhook = "admission webhook \"w.example.com\" denied the request: no";
    assert_eq!((of(policy), of(webhook)), (vec![], vec![]));
    assert_eq!(of("status.failed: Invalid value: 0: cannot decrease"), ["MR-20", "MR-21"]);
}

/// A write with a server error was stored if a later one is based on its version.
#[test]
fn a_write_that_was_stored_with_a_server_error_counts() {
    let of = |is_proven: bool, is_stored: bool| {
        let [mut manager, mut worker] = both();
        worker.status(9, BUILT_IN, COPY, running(1, 0));
        manager.request(10, MANAGER, "update", LOCAL, 504, json!({"status": running(1, 0)}));
        let base = manager.version;
        let line = &mut manager.lines.last_mut().unwrap()["request"];
        line["request"] = std::mem::take(&mut line["response"]);
        work(&mut manager, &mut worker, 20);
        if is_proven {
            let status = if is_stored { ended("Complete") } else { running(0, 0) };
            manager.status(430, MANAGER, LOCAL, status);
            let base = if is_stored { base } else { base - 1 };
            let line = &mut manager.lines.last_mut().unwrap()["request"];
            line["request"] = line["response"].clone();
            line["request"]["metadata"]["resourceVersion"] = json!(base.to_string());
            worker.status(425, BUILT_IN, COPY, if is_stored { ended("Complete") } else { running(1, 0) });
        }
        rules(&manager, &worker)
    };
    assert_eq!((of(true, true), of(false, true)), (vec![], vec![]));
    assert_eq!(of(true, false), ["MR-20"]);
}

/// MR-20: the copy that is there counts, also if one was created after it, and is gone.
#[test]
fn a_copy_that_was_withdrawn_hides_none_that_is_left() {
    let of = |failed: i32| {
        let [mut manager, mut first] = both();
        let mut second = Trace::default();
        second.create(5, REMOTE, NEXT).status(6, BUILT_IN, NEXT, running(0, 0)).delete(8, REMOTE, NEXT);
        first.status(9, BUILT_IN, COPY, running(0, 3));
        manager.status(10, MANAGER, LOCAL, running(0, failed));
        work(&mut manager, &mut first, 20);
        second.works_on(REMOTE, 20, 420);
        let workers = vec![first.input("first"), second.input("second")];
        let report = judged(&Clusters { manager: manager.input("manager"), workers });
        crate::judge_clusters::broken(&report).into_values().flatten().collect::<Vec<_>>()
    };
    assert_eq!((of(3), of(0)), (vec![], vec!["MR-20".to_owned()]));
}

/// MR-25: a deletion through `batch/v1` leaves the pods (PC-31).
#[test]
fn a_deletion_without_a_policy_orphans_the_pods_of_the_copy() {
    for (policy, expected) in [(None, &["MR-25"][..]), (Some("Background"), &[])] {
        let [mut manager, mut worker] = both();
        manager.delete(10, "user", LOCAL);
        let kept = json!({"deleted": 11, "finalizers": ["orphan"], "status": running(0, 0)});
        match policy {
            None => _ = worker.request(11, REMOTE, "delete", COPY, 200, kept),
            Some(_) => _ = worker.delete(11, REMOTE, COPY),
        }
        let line = &mut worker.lines.last_mut().unwrap()["request"];
        line["request"] =
            json!({"kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": policy});
        assert_eq!(rules(&manager, &worker), expected, "{policy:?}");
    }
}

/// MR-21.
#[test]
fn an_end_is_that_of_a_copy() {
    let of = |until: i64, end: Value| {
        let [mut manager, mut worker] = both();
        worker.works_on(REMOTE, 5, until);
        manager.status(60, MANAGER, LOCAL, end);
        if until > 60 {
            worker.delete(until, REMOTE, COPY);
        }
        rules(&manager, &worker)
    };
    assert_eq!(of(100, ended("Failed")), ["MR-21"]);
    // Its trace may end before the copy does.
    assert_eq!(of(20, ended("Failed")), [""; 0]);
}

/// MR-01 and MR-07 forbid what an executor may write.
#[test]
fn a_mirror_corrects_what_its_rules_forbid() {
    let of = |change: fn(&mut Value)| {
        let [mut manager, mut worker] = both();
        let mut end = ended("Complete");
        change(&mut end);
        worker.status(9, BUILT_IN, COPY, end);
        manager.status(10, MANAGER, LOCAL, ended("Complete"));
        work(&mut manager, &mut worker, 20);
        rules(&manager, &worker)
    };
    assert_eq!(of(|end| end["succeeded"] = json!(3)), [""; 0]);
    assert_eq!(of(|end| end["succeeded"] = json!(1)), ["MR-20"]);
    assert_eq!(of(|end| _ = end["conditions"].as_array_mut().unwrap().remove(0)), [""; 0]);
    assert_eq!(of(|end| _ = end["conditions"].as_array_mut().unwrap().remove(1)), ["MR-20", "MR-21"]);
}

/// MR-06: a manager may begin with a condition of its own, and changes none of somebody else.
#[test]
fn a_condition_belongs_to_the_first_one_who_has_set_it() {
    let of = |setter: &str| {
        let mut manager = Trace::default();
        let checked = |word: &str| {
            json!({"type": "example.com/Checked", "status": word, "reason": "r", "message": "m",
                "lastProbeTime": seconds(2), "lastTransitionTime": seconds(2)})
        };
        manager.create(0, "user", LOCAL).status(2, setter, LOCAL, json!({"conditions": [checked("True")]}));
        manager.status(4, MANAGER, LOCAL, with(running(0, 0), &[("conditions", json!([checked("False")]))]));
        let report =
            jobcheck_judge::replay::judge(&[manager.input("manager")], &Default::default(), &mut |_, _| {});
        let ids = report.jobs.iter().flat_map(|job| &job.violations).filter_map(|it| it.requirement);
        ids.map(|id| id.0.id()).filter(|id| *id == "MR-06").collect::<Vec<_>>()
    };
    assert_eq!((of(MANAGER), of("checker")), (vec![], vec!["MR-06"]));
}
