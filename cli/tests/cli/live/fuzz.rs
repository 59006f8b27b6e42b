//! `jobcheck fuzz` on real API servers.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{Clusters, kill, processes};
use crate::schema;
use crate::support::{Folder, binary, finish};

const LEFT_OUT: &str = "To skip live tests: cargo test -- --skip live::";

fn fuzz(home: &Folder, arguments: &[&str]) -> Command {
    let mut command = binary();
    command.env("JOBCHECK_HOME", home.path("")).args(["fuzz", "-ojson"]).args(arguments);
    command
}

/// The remaining folders of clusters and of runs.
fn left(home: &Folder) -> Vec<PathBuf> {
    let folders = ["clusters", "runs"].map(|folder| fs::read_dir(home.path(folder)));
    let entries = folders.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

#[test]
fn the_shipped_controllers_conform_while_their_control_plane_is_restarted() {
    let home = Folder::new();
    let runs = ["--target", "live", "--seed", "1", "--runs", "6", "--patience", "5m0s"];
    let restarts = ["--disturb", "apiserver,etcd", "--disturb-every", "15s"];
    let run = finish(&mut fuzz(&home, &[&runs[..], &restarts].concat()), b"");
    assert_eq!(run.code, 0, "{run:?}\n{LEFT_OUT}");
    let report = run.json();
    schema::check(&report);
    assert!(report["verdicts"]["conforms"] == 6 && report["target"] == "live", "{report}");
    assert!(report["restarts"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(left(&home), Vec::<PathBuf>::new());
}

/// A run without a verdict is written. If that fails, the search ends with an error.
#[test]
fn a_file_that_cannot_be_written_ends_the_search() {
    let (home, kept) = (Folder::new(), Folder::new());
    for seed in 1..=20 {
        fs::create_dir(kept.path(&format!("fuzz-{seed}.yaml"))).unwrap();
    }
    let runs = ["--target", "builtin", "--faults", "none", "--seed", "1", "--runs", "20", "--parallel", "1"];
    let mut command = fuzz(&home, &[&runs[..], &["--patience", "1ms"]].concat());
    let run = finish(command.arg("--save").arg(kept.path("")), b"");
    assert_eq!(run.code, 4, "{run:?}\n{LEFT_OUT}");
    assert!(run.err.contains("error: cannot write"), "{run:?}");
    let report = run.json();
    schema::check(&report);
    assert_eq!((&report["runs"], &report["verdicts"]["inconclusive"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(left(&home), Vec::<PathBuf>::new());
}

#[test]
fn the_next_search_removes_what_a_killed_one_left() {
    let clusters = Clusters::new();
    let home = clusters.home();
    let start = || -> Child {
        let mut command = binary();
        command.env("JOBCHECK_HOME", &home).args(["fuzz", "--target", "live", "--seed", "1", "--runs", "8"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut killed = start();
    let name = |killed: &Child| format!("run-live-{}", killed.id());
    let cluster = clusters.until(&name(&killed), |it| it["health"] == "ready");
    let controllers = || fs::read_dir(home.join("runs")).into_iter().flatten().flatten().count();
    while controllers() == 0 {
        std::thread::sleep(Duration::from_millis(100));
    }
    kill(killed.id(), Signal::KILL);
    killed.wait().unwrap();
    let of_it: Vec<u32> = processes(&cluster);
    assert!(!of_it.is_empty());

    let mut interrupted = start();
    clusters.until(&name(&interrupted), |it| it["health"] == "ready");
    kill(interrupted.id(), Signal::INT);
    assert_eq!(interrupted.wait().unwrap().code(), Some(4));
    assert_eq!(clusters.status(), Vec::<Value>::new());
    clusters.assert_gone(&of_it);
    assert_eq!(controllers(), 0);
}
