//! A manager beside workers. Some things prove nothing about it: requests that may have been stored, refusals by the environment,
//! absences, and Jobs of somebody else.

use jobcheck_judge::replay::Clusters;
use jobcheck_judge::validate::Outcome;
use serde_json::{Value, json};

use crate::judge_clusters::{
    BUILT_IN, COPY, LOCAL, MANAGER, NEXT, REMOTE, Trace, broken, ended, healthy, judged, rules, running,
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
    let frozen = "admission webhook \"w\" denied the request: frozen";
    for (user, code, message) in [
        (MANAGER, 429, "too many requests"),
        (MANAGER, 403, frozen),
        (MANAGER, 403, "no"),
        ("alice", 403, frozen),
    ] {
        let [mut manager, worker] = healthy();
        for at in (20..400).step_by(40) {
            refused(&mut manager, at, (user, "update", LOCAL), code, message);
            manager.works(at + 1);
        }
        let is_excused = user == MANAGER && message != "no";
        assert_eq!(rules(&manager, &worker).is_empty(), is_excused, "{user} {code} {message}");
        // The refusals have ended long ago.
        manager.works_on(MANAGER, 440, 700);
        assert_eq!(rules(&manager, &worker), ["MR-21"], "{user} {code} {message}");
    }
    // The time was over before the refusal.
    let [mut manager, worker] = silent();
    refused(&mut manager, 399, (MANAGER, "update", LOCAL), 429, "too many requests");
    manager.works(405);
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
    // A late end stays late, whatever is refused afterwards.
    let [mut manager, mut worker] = healthy();
    worker.works_on(REMOTE, 20, 400);
    manager.works_on(MANAGER, 20, 210).status(215, MANAGER, LOCAL, ended("Complete"));
    let late = rules(&manager, &worker);
    assert!(late.contains(&"MR-21".to_owned()), "{late:?}");
    refused(&mut manager, 3600, (MANAGER, "update", LOCAL), 429, "too many requests");
    assert_eq!(rules(&manager, &worker), late);
}

#[test]
fn a_manager_that_was_away_gets_time_from_its_return_on() {
    for (away_from, until, expected) in [(20, 611, &[][..]), (20, 800, &["MR-21"]), (400, 911, &["MR-21"])] {
        let [mut manager, worker] = healthy();
        manager.works_on(MANAGER, 15, away_from).works_on(
            MANAGER,
            away_from + 600,
            until.max(away_from + 601),
        );
        assert_eq!(rules(&manager, &worker), expected, "{away_from} {until}");
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
    // On another worker.
    let [mut manager, mut worker, mut other] = [Trace::default(), Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0)).works_on(MANAGER, 20, 400);
    labelled(&mut worker, (1, REMOTE, COPY), "train-x1");
    worker.status(3, BUILT_IN, COPY, running(0, 0)).works_on(REMOTE, 20, 400);
    for line in worker.lines.iter_mut().filter(|line| line["request"]["response"]["metadata"]["uid"] == COPY)
    {
        line["request"]["name"] = json!("train-x1");
        line["request"]["response"]["metadata"]["name"] = json!("train-x1");
    }
    labelled(&mut other, (15, "admin", NEXT), "train-x1");
    other.works_on(REMOTE, 20, 400);
    let clusters =
        Clusters { manager: manager.input("m"), workers: vec![worker.input("w1"), other.input("w2")] };
    assert_eq!(broken(&judged(&clusters)), Default::default());
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
    // A copy that is left does not rest on the past.
    let mut left = manager.clone();
    left.delete(410, "user", LOCAL).works_on(MANAGER, 420, 700);
    let mut longer = worker.clone();
    longer.works_on(REMOTE, 420, 700);
    left.lines.remove(0);
    assert_eq!(rules(&left, &longer), ["MR-25"]);
    let late = manager.lines.remove(0);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    assert_eq!(outcome(&manager, &worker), Outcome::Inconclusive);
    manager.lines.insert(0, late);
    // The trace of another worker begins after the Job was created, as its other Jobs show. The manager uses that worker.
    let other = |at: i64, user: &str| {
        let mut other = Trace::default();
        other.create(0, "user", NEXT).status(at, BUILT_IN, NEXT, running(1, 0));
        for line in &mut other.lines {
            line["request"]["name"] = json!("other");
            line["request"]["response"]["metadata"]["name"] = json!("other");
        }
        other.lines.remove(0);
        other.works_on(user, at + 10, at + 20);
        let workers = vec![worker.input("worker"), other.input("other")];
        judged(&Clusters { manager: manager.input("manager"), workers })
    };
    let ids = |at: i64, user: &str| broken(&other(at, user)).into_values().flatten().collect::<Vec<_>>();
    assert_eq!((ids(-100, REMOTE), ids(100, "user")), (vec!["MR-20".to_owned()], vec!["MR-20".to_owned()]));
    assert_eq!(ids(100, REMOTE), [""; 0]);
}
