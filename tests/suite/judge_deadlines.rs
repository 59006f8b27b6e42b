//! SU-08: traces that prove that the deadline had passed, and traces whose writes may have been decided before it.
//!
//! The pods of `nonindexed-success` start at 00:28:30, and two of them succeed at once. The third is created in line 9 and
//! succeeds in line 15. A deadline of 3 s passes at 00:28:33.

use std::fs;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::report::Exit;
use jobcheck_judge::validate::Outcome;
use jobcheck_scenario::read;
use jobcheck_tests::corpus::root;
use jobcheck_tests::traces::{edited, exit_of, parsed, validated_lines};

/// The verdict on a recording with this deadline and these edits.
fn verdict(from: &str, seconds: u32, edits: &[&str]) -> Outcome {
    let deadline = format!(
        "set 1- /responseObject/spec/activeDeadlineSeconds {seconds} if /responseObject/kind \"Job\""
    );
    let edits: Vec<&str> = [&*deadline].into_iter().chain(edits.iter().copied()).collect();
    validated_lines(&edited(from, &edits)).outcome()
}

#[test]
fn a_sync_that_has_seen_what_happened_after_the_deadline_fails_the_job() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 15-18 60"]), Outcome::Violates);
}

/// The controller sent nothing for a minute before it.
#[test]
fn a_status_write_that_was_decided_before_the_deadline_may_arrive_later() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 16-18 60"]), Outcome::Inconclusive);
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 16-18 4"]), Outcome::Conforms);
}

#[test]
fn a_pod_that_was_decided_before_the_deadline_may_be_created_later() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 9- 4", "drop 14-"]), Outcome::Conforms);
}

/// The controller sent nothing for more than 5 s, so that no client has delayed the creation. The log may lack what has.
#[test]
fn a_pod_of_an_idle_controller_is_not_created_after_the_deadline() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 9- 60", "drop 14-"]), Outcome::Inconclusive);
    assert_eq!(verdict("nonindexed-success.audit", 300, &["shift 9- 60", "drop 14-"]), Outcome::Conforms);
}

/// The third pod is created in line 9, a minute after the two others.
#[test]
fn a_watch_shows_a_pod_that_was_created_after_the_deadline() {
    let deadline =
        |seconds: u32| format!("set 1- /object/spec/activeDeadlineSeconds {seconds} if /object/kind \"Job\"");
    let late = "set 9- /object/metadata/creationTimestamp \"2026-11-21T00:29:32Z\" if /object/metadata/name \"job-kp7fz\"";
    let outcome = |edits: &[&str]| validated_lines(&edited("nonindexed-success.watch", edits)).outcome();
    assert_eq!(outcome(&[&deadline(3), late, "drop 10-"]), Outcome::Inconclusive);
    assert_eq!(outcome(&[&deadline(300), late, "drop 10-"]), Outcome::Conforms);
}

#[test]
fn the_second_status_of_a_sync_was_decided_with_the_first() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 11- 60", "drop 14-"]), Outcome::Conforms);
}

#[test]
fn the_clock_of_a_controller_may_be_a_second_behind() {
    // The third pod succeeds at 00:28:33.1, and at 00:28:34.1.
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 15-18 2"]), Outcome::Conforms);
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 15-18 3"]), Outcome::Violates);
}

/// A user raises `parallelism` in line 3, more than a second after the deadline, and the controller creates pods.
#[test]
fn a_writer_without_a_base_version_may_have_read_an_older_job() {
    let from = "parallelism-zero.audit";
    assert_eq!(verdict(from, 1, &["drop 7-"]), Outcome::Violates);
    let silent = "unset 2- /requestObject/metadata/resourceVersion if /responseObject/kind \"Job\"";
    assert_eq!(verdict(from, 1, &["drop 7-", silent]), Outcome::Conforms);
}

/// SU-11: the suspended Job is resumed a minute after its deadline would have passed.
#[test]
fn a_resumed_job_has_its_whole_deadline_again() {
    let edits = [
        "shift 13- 60",
        "set 16- /responseObject/status/startTime \"2026-11-21T00:36:39Z\" if /responseObject/kind \"Job\"",
        "set 16- /responseObject/status/conditions/0/lastTransitionTime \"2026-11-21T00:36:39Z\" if /responseObject/kind \"Job\"",
        "set 19 /responseObject/status/conditions/1/lastTransitionTime \"2026-11-21T00:36:40Z\"",
        "drop 20-",
    ];
    assert_eq!(verdict("suspend-resume.audit", 30, &edits), Outcome::Conforms);
}

/// Only the deadline allows the deletion of the pod in line 6.
#[test]
fn the_deletion_of_a_pod_shows_that_the_deadline_has_passed() {
    let edit = "unset 7 /responseObject/status/conditions";
    assert_eq!(verdict("deadline-exceeded.audit", 3, &[edit]), Outcome::Violates);
}

/// A watch has no other times than those within objects.
#[test]
fn in_a_watch_a_pod_that_is_created_after_the_deadline_proves_that_it_has_passed() {
    let deadline = |seconds: u32| {
        let edit = format!("set 1- /object/spec/activeDeadlineSeconds {seconds} if /object/kind \"Job\"");
        validated_lines(&edited("exponential-backoff.watch", &[&edit])).outcome()
    };
    assert_eq!(deadline(5), Outcome::Violates);
    // The last pod is created at 00:33:26, 30 s after the start.
    assert_eq!(deadline(30), Outcome::Conforms);
}

/// Without the lines that state when a sync began, only the times of the writes that it had read remain.
#[test]
fn runs_with_a_deadline_conform_without_observed_lines() {
    for name in ["deadline", "deadline-over", "deadline-removed"] {
        let text = fs::read_to_string(root().join(format!("tests/scenarios/{name}.yaml"))).unwrap();
        let scenario = read(&text).unwrap();
        for seed in 0..20 {
            let trace = jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap().trace;
            let trace = String::from_utf8(trace).unwrap();
            let whole = parsed(&trace);
            let mut shown = whole.clone();
            shown.retain(|line| line["observed"].is_null());
            assert!(shown.len() < whole.len(), "{name} has no such lines");
            assert_eq!(exit_of(&shown), Exit::Conforms, "{name}, seed {seed}");
        }
    }
}
