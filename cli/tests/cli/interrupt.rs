//! Ctrl-C: the first one ends a search, and the report of what was done is printed.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::kill;
use crate::schema;
use crate::support::{Folder, Run, binary};

/// Runs a command that would take very long, and interrupts it once it listens to signals.
fn interrupted(arguments: &[&str]) -> Run {
    let mut command = binary();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while !listens(child.id()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Some results, so that the report has content.
    std::thread::sleep(Duration::from_secs(1));
    kill(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns whether a process handles SIGINT.
fn listens(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

#[test]
fn a_random_search_reports_its_runs_and_the_seed_is_printed_at_the_start() {
    let run = interrupted(&["fuzz", "--seed", "0", "--budget", "1h", "-ojson"]);
    assert_eq!(run.code, 3, "{run:?}");
    let report = run.json();
    schema::check(&report);
    assert!(report["runs"].as_u64().unwrap() > 0, "{report}");
    assert!(run.err.starts_with("note: seed 0\n"), "{}", run.err);
}

#[test]
fn an_exploration_reports_the_scopes_so_far() {
    let run = interrupted(&["check", "--scope", "large", "--threads", "1", "-ojson"]);
    assert_eq!(run.code, 3, "{run:?}");
    let report = run.json();
    schema::check(&report);
    assert_eq!(report["scopes"].as_array().unwrap().last().unwrap()["limit"], "interrupt", "{report}");
    assert!(!report["notRun"].as_array().unwrap().is_empty(), "{report}");
    let text = interrupted(&["check", "--scope", "large", "--threads", "1"]);
    assert!(text.out.contains("interrupted, ") && text.out.contains("nothing is proved"), "{text:?}");
}

#[test]
fn scenarios_report_the_runs_so_far() {
    let run = interrupted(&["run", "--target", "sim", "--runs", "1000000", "-ojson"]);
    assert_eq!(run.code, 3, "{run:?}");
    let report = run.json();
    schema::check(&report);
    let last = report["scenarios"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["result"], &last["why"]), (&"notRun".into(), &"interrupted".into()), "{last}");
}

#[test]
fn defects_and_parts_that_are_left_are_named() {
    let mutants = interrupted(&["mutants", "--subject", "controller", "-ojson"]);
    let report = mutants.json();
    schema::check(&report);
    let is_done = report["notRun"].as_array().unwrap().is_empty();
    assert_eq!(mutants.code, if is_done { 0 } else { 3 }, "{report}");
    let folder = Folder::new();
    let verify = interrupted(&["verify", "-ojson", "--report", folder.path("report").to_str().unwrap()]);
    assert_eq!(verify.code, 3, "{verify:?}");
    let report = verify.json();
    schema::check(&report);
    let parts = report["parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[5]["wrong"][0]), (6, &"interrupted".into()), "{report}");
}
