//! `jobcheck run` with a scenario of many Jobs, whose one run takes long.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::kill;
use crate::run::run;
use crate::support::{Folder, binary};

/// A scenario whose one run takes longer than a test waits.
fn many_jobs() -> String {
    let jobs: String =
        (0..3_000).map(|it| format!("- {{name: j{it}, spec: {{completions: 1}}}}\n")).collect();
    format!("apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\njobs:\n{jobs}")
}

#[test]
fn the_budget_ends_a_run_on_sim() {
    let late = run(&["--target=sim", "--budget=100ms"], &many_jobs());
    assert_eq!(late.code, 3, "{late:?}");
    assert!(late.out.contains("the time of --budget (100ms) ended after 0 runs"), "{late:?}");
}

/// Returns whether a process handles SIGTERM, which is signal 15.
fn listens_to_signals(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let handled = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(handled.trim(), 16).is_ok_and(|handled| handled & (1 << 14) != 0)
}

#[test]
fn a_signal_ends_a_run_on_sim() {
    let folder = Folder::new();
    let file = folder.write("many.yaml", many_jobs());
    let mut command = binary();
    command.args(["run", "--target=sim", "--runs=1000000"]).arg(file).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    while !listens_to_signals(child.id()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(child.id(), Signal::TERM);
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(3) && shown.contains("interrupted"), "{shown}");
}
