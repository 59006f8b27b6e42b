//! A manager beside workers. Some things prove nothing about it: requests that may have been stored, refusals by the environment,
//! absences, and Jobs of somebody else.

use jobcheck_judge::replay::Clusters;
use jobcheck_judge::validate::Outcome;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, NEXT, REMOTE, Trace, ended, healthy, judged, rules, running,
};

fn outcome(manager: &Trace, worker: &Trace) -> Outcome {
    let clusters = Clusters { manager: manager.input("manager"), workers: vec![worker.input("worker")] };
    let report = judged(&clusters);
    report.jobs.iter().find(|job| job.job.ends_with("/train") && job.uid == LOCAL).unwrap().verdict
}

/// A request with this code, and a Status as its response.
fn refused(trace: &mut Trace, at: i64, (user, verb, uid): (&str, &str, &str), code: u16, message: &str) {
    let edit = if verb == "delete" { json!({}) } else { json!({"status": ended("Complete")}) };
    trace.request(at, user, verb, uid, code, edit);
    let line = &mut trace.lines.last_mut().unwrap()["request"];
    line["response"] =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
}

/// The copy has ended, and its end is not reported.
fn silent() -> [Trace; 2] {
    let [mut manager, worker] = healthy();
    manager.works_on(MANAGER, 20, 400);
    [manager, worker]
}

#[test]
fn a_write_with_a_server_error_may_have_been_stored() {
    let [manager, worker] = silent();
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
    let mut stored = manager.clone();
    refused(
        &mut stored,
        401,
        (MANAGER, "update", LOCAL),
        504,
        "request did not complete within the allotted timeout",
    );
    stored.works_on(MANAGER, 440, 800);
    assert_eq!(rules(&stored, &worker), [""; 0]);
    assert_eq!(outcome(&stored, &worker), Outcome::Inconclusive);
    // The deletion of the copy.
    let [mut manager, mut worker] = healthy();
    manager
        .status(10, MANAGER, LOCAL, ended("Complete"))
        .delete(20, "user", LOCAL)
        .works_on(MANAGER, 30, 600);
    worker.works_on(REMOTE, 20, 600);
    assert_eq!(rules(&manager, &worker), ["MR-25"]);
    refused(&mut worker, 601, (REMOTE, "delete", COPY), 500, "etcdserver: request timed out");
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn time_begins_anew_after_a_refusal_by_the_environment() {
    for (code, message) in [
        (429, "too many requests"),
        (403, "admission webhook \"w\" denied the request: frozen"),
        (403, "not allowed"),
    ] {
        let [manager, worker] = silent();
        let mut refusing = manager.clone();
        refused(&mut refusing, 399, (MANAGER, "update", LOCAL), code, message);
        refusing.works(405);
        let is_excused = message != "not allowed";
        assert_eq!(rules(&refusing, &worker).is_empty(), is_excused, "{code} {message}");
        // The refusals have ended long ago.
        refusing.works_on(MANAGER, 440, 700);
        assert_eq!(rules(&refusing, &worker), ["MR-21"], "{code} {message}");
    }
}

#[test]
fn a_manager_that_was_away_gets_time_from_its_return_on() {
    for (until, expected) in [(611, &[][..]), (800, &["MR-21"])] {
        let [mut manager, worker] = healthy();
        manager.works_on(MANAGER, 610, until);
        assert_eq!(rules(&manager, &worker), expected, "{until}");
    }
    // A silence of some minutes may be that of an idle manager.
    let [mut manager, worker] = healthy();
    manager.works(200);
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
}

/// A Job on the worker with the labels of a copy.
fn labelled(trace: &mut Trace, (at, user, uid): (i64, &str, &str), name: &str) {
    trace.create(at, user, uid);
    let line = &mut trace.lines.last_mut().unwrap()["request"];
    line["name"] = json!(name);
    line["response"]["metadata"]["name"] = json!(name);
    line["response"]["metadata"]["labels"] = json!({"acme.example.com/uid": LOCAL});
}

#[test]
fn a_job_of_somebody_else_with_the_labels_of_a_copy_is_no_copy() {
    // The manager stores UIDs, and a user clones the copy after its end.
    for creator in ["admin", REMOTE] {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
        labelled(&mut worker, (1, REMOTE, COPY), "train-x1");
        worker.status(9, BUILT_IN, COPY, ended("Complete"));
        let name = |line: &mut Value| line["request"]["response"]["metadata"]["name"] = json!("train-x1");
        worker.lines.last_mut().map(name).unwrap();
        worker.lines.last_mut().unwrap()["request"]["name"] = json!("train-x1");
        manager.status(10, MANAGER, LOCAL, ended("Complete")).works(20);
        labelled(&mut worker, (15, creator, NEXT), "train-debug");
        let expected: &[&str] = if creator == REMOTE { &["MR-22"] } else { &[] };
        assert_eq!(rules(&manager, &worker), expected, "{creator}");
    }
    // The manager finds copies by name. A user's Job with the UID of the local one does not change that.
    let [manager, mut worker] = silent();
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
    labelled(&mut worker, (30, "finops", NEXT), "chargeback");
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
}

/// Earlier copies may have counted pods before the traces begin.
#[test]
fn a_job_that_is_first_seen_in_mid_life_may_have_had_other_copies() {
    let with_failure = || {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 1)).works_on(MANAGER, 20, 400);
        worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0)).works_on(REMOTE, 20, 400);
        [manager, worker]
    };
    let [mut manager, worker] = with_failure();
    assert_eq!(rules(&manager, &worker), ["MR-20"]);
    manager.lines.remove(0);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    assert_eq!(outcome(&manager, &worker), Outcome::Inconclusive);
}
