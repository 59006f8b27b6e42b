//! The findings about the built-in Job controller, each as a scenario: kube-controller-manager shows it, and ours holds.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::scenarios::scenarios;
use crate::schema;
use crate::support::{Folder, binary, finish};

/// How often a finding is played that does not show: a real clock may pass in another way.
const ATTEMPTS: usize = 3;

/// What no controller can hold: two processes lead, or feature gates are off in one component alone.
const NOBODY_HOLDS: [&str; 2] = ["mb-14", "sy-01"];

fn findings() -> Vec<PathBuf> {
    let files = fs::read_dir(scenarios().join("findings")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

/// Plays scenarios on a target; what each came to, by its name.
fn play(target: &str, files: &[PathBuf]) -> Vec<(String, Value)> {
    let home = Folder::new();
    let mut command = binary();
    command.env("JOBCHECK_HOME", home.path("")).args(["run", "-ojson", "--target", target]);
    // A machine with much other work is slow, not wrong.
    command.args(["--parallel", "12", "--patience", "5m0s"]).args(files);
    let run = finish(&mut command, b"");
    assert!(run.code < 4, "{run:?}\nLive tests can be left out: cargo test -- --skip live::");
    let report = run.json();
    schema::check(&report);
    let all = report["scenarios"].as_array().unwrap().iter();
    all.map(|it| (it["name"].as_str().unwrap().to_owned(), it.clone())).collect()
}

#[test]
fn kube_controller_manager_shows_every_finding() {
    let mut files = findings();
    assert!(files.len() >= 20, "{files:?}");
    for attempt in 1..=ATTEMPTS {
        let played = play("builtin", &files);
        let others: Vec<&Value> =
            played.iter().map(|(_, it)| it).filter(|it| it["result"] != "deviates").collect();
        // What does not show may show the next time; what is wrong beside it is wrong.
        let is_open = |it: &&Value| it["result"] == "inconclusive" && attempt < ATTEMPTS;
        assert!(others.iter().all(is_open), "attempt {attempt}: {others:#?}");
        let is_left = |file: &PathBuf| others.iter().any(|it| it["file"] == file.to_str().unwrap());
        files.retain(is_left);
        if files.is_empty() {
            return;
        }
    }
}

#[test]
fn the_shipped_controllers_show_none_of_them() {
    for (name, it) in play("live", &findings()) {
        let expected = if NOBODY_HOLDS.contains(&&*name) { "deviates" } else { "holds" };
        assert_eq!(it["result"], expected, "{it:#}");
    }
}
