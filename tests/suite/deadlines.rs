//! SU-08: when a trace proves that the deadline had passed, and when the write may have been decided before.
//!
//! The pods of `nonindexed-success` start at 00:28:30, and two of them succeed at once; the third is created in line 9, and
//! succeeds in line 15. With a deadline of 3 s it passes at 00:28:33.

use std::fs;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Judging, judge as judge_report};
use jobcheck_judge::report::Exit;
use jobcheck_judge::validate::Outcome;
use jobcheck_scenario::read;
use jobcheck_tests::corpus::root;
use jobcheck_traces::Input;

use crate::edited::judge;

/// The verdict on a recording with this deadline, and edited so.
fn verdict(from: &str, seconds: u32, edits: &[&str]) -> Outcome {
    let deadline = format!(
        "set 1- /responseObject/spec/activeDeadlineSeconds {seconds} if /responseObject/kind \"Job\""
    );
    let edits: Vec<&str> = [&*deadline].into_iter().chain(edits.iter().copied()).collect();
    judge(from, &edits).outcome()
}

#[test]
fn a_sync_that_has_seen_what_happened_after_the_deadline_fails_the_job() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 15-18 60"]), Outcome::Violates);
}

#[test]
fn a_status_may_come_late_that_was_decided_before_the_deadline() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 16-18 60"]), Outcome::Conforms);
}

#[test]
fn a_pod_may_come_late_whose_creation_was_decided_before_the_deadline() {
    assert_eq!(verdict("nonindexed-success.audit", 3, &["shift 9- 60", "drop 14-"]), Outcome::Conforms);
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

/// A user raises `parallelism` in line 3, a second after the deadline and more; the controller creates pods.
#[test]
fn who_does_not_say_what_it_had_read_may_have_read_an_older_job() {
    let from = "parallelism-zero.audit";
    assert_eq!(verdict(from, 1, &["drop 7-"]), Outcome::Violates);
    let silent = "unset 2- /requestObject/metadata/resourceVersion if /responseObject/kind \"Job\"";
    assert_eq!(verdict(from, 1, &["drop 7-", silent]), Outcome::Conforms);
}

/// SU-11: a minute after its deadline would have passed, the suspended Job is resumed.
#[test]
fn a_job_that_is_resumed_has_its_whole_time_again() {
    let edits = [
        "shift 13- 60",
        "set 16- /responseObject/status/startTime \"2026-11-21T00:36:39Z\" if /responseObject/kind \"Job\"",
        "drop 20-",
    ];
    assert_eq!(verdict("suspend-resume.audit", 30, &edits), Outcome::Conforms);
}

/// The pod is deleted in line 6, which nothing but the deadline allows.
#[test]
fn a_pod_that_is_deleted_at_the_deadline_shows_that_it_has_passed() {
    let edit = "unset 7 /responseObject/status/conditions";
    assert_eq!(verdict("deadline-exceeded.audit", 3, &[edit]), Outcome::Violates);
}

/// By the pods alone: a watch has no times but those of the objects.
#[test]
fn a_watch_tells_that_the_deadline_has_passed_by_a_pod_that_was_created_after_it() {
    let deadline = |seconds: u32| {
        let edit = format!("set 1- /object/spec/activeDeadlineSeconds {seconds} if /object/kind \"Job\"");
        judge("exponential-backoff.watch", &[&edit]).outcome()
    };
    assert_eq!(deadline(5), Outcome::Violates);
    // The last pod is created at 00:33:26, 30 s after the start.
    assert_eq!(deadline(30), Outcome::Conforms);
}

/// Without the lines that tell when a sync began, the times of what it has seen are all that is left.
#[test]
fn runs_with_a_deadline_conform_without_the_lines_about_syncs() {
    for name in ["deadline", "deadline-over", "deadline-removed"] {
        let text = fs::read_to_string(root().join(format!("tests/scenarios/{name}.yaml"))).unwrap();
        let scenario = read(&text).unwrap();
        for seed in 0..20 {
            let trace = jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap().trace;
            let trace = String::from_utf8(trace).unwrap();
            let shown: String = trace
                .lines()
                .filter(|line| !line.starts_with("{\"observed\""))
                .map(|line| format!("{line}\n"))
                .collect();
            assert!(shown.len() < trace.len(), "{name} has no such lines");
            let input = Input::Bytes(name.to_owned(), shown.into_bytes());
            let report = judge_report(&[vec![input]], &Judging::default(), &mut |_, _| {});
            assert_eq!(report.exit_code, Exit::Conforms, "{name}, seed {seed}");
        }
    }
}
