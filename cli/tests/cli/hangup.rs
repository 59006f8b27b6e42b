//! SIGHUP, which a terminal sends when it is closed, ends a command as SIGTERM does.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use rustix::process::Signal;

use crate::cluster::{Clusters, kill, processes};
use crate::record::{Recording, run_a_job};
use crate::support::{Controller, Folder, binary};

const WEBHOOK: [&str; 2] = ["--audit-webhook", "127.0.0.1:0"];

/// Waits until a process handles SIGHUP, or ignores it.
fn until_hangup(child: &Child, list: &str) {
    for _ in 0..600 {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix(list)).unwrap();
        if u64::from_str_radix(mask.trim(), 16).unwrap() & 1 != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // Nothing may be left behind, not even by a test that fails.
    kill(child.id(), Signal::KILL);
    panic!("SIGHUP is not in {list} after a minute");
}

#[test]
fn a_recording_is_finished() {
    let folder = Folder::new();
    let recording = Recording::begin(folder.path("trace.jsonl"), &WEBHOOK);
    let trace = recording.trace.clone();
    let run = recording.end(Signal::HUP);
    assert!(run.code == 0 && run.out.starts_with("recorded "), "{run:?}");
    assert!(fs::read_to_string(&trace).unwrap().ends_with("\"kind\":\"end\"}}\n"));
}

/// `nohup` lets a command run on after its terminal was closed.
#[test]
fn a_recording_under_nohup_goes_on() {
    let folder = Folder::new();
    let trace = folder.path("trace.jsonl");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_jobcheck"), "record", "-o"]);
    command.arg(&trace).args(WEBHOOK);
    let recording = Recording::of(command, trace);
    kill(recording.id(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!recording.text().contains("\"kind\":\"end\""));
    assert_eq!(recording.end(Signal::INT).code, 0);
}

#[test]
fn a_search_reports_what_it_has_found() {
    let mut command = binary();
    command.args(["fuzz", "--seed", "0", "--budget", "1h", "-ojson"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until_hangup(&child, "SigCgt:");
    // A terminal that is closed may send several.
    kill(child.id(), Signal::HUP);
    let output = {
        std::thread::sleep(Duration::from_millis(20));
        // The first one may have ended the process already.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
            Signal::HUP,
        );
        child.wait_with_output().unwrap()
    };
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"runs\""));
}

#[test]
fn a_cluster_in_the_foreground_is_stopped() {
    let clusters = Clusters::new();
    let mut held = clusters.spawn(&["up", "--embedded", "--foreground"]);
    let cluster = clusters.until("default", |it| it["health"] == "ready");
    kill(held.id(), Signal::HUP);
    assert_eq!(held.wait().unwrap().code(), Some(0));
    clusters.assert_gone(&processes(&cluster));
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_release_their_lease() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let client = clusters.client("default").await;
    let file = clusters.one("default")["kubeconfig"].as_str().unwrap().to_owned();
    let mut command = binary();
    command.args(["controller", "--kubeconfig", &file]).stderr(Stdio::piped());
    let mut controller = Controller(command.spawn().unwrap());
    let messages = controller.0.stderr.take();
    run_a_job(client.clone(), "one").await;
    // A closed terminal takes no messages either.
    drop(messages);
    kill(controller.0.id(), Signal::HUP);
    assert_eq!(controller.0.wait().unwrap().code(), Some(0));
    let leases: Api<Lease> = Api::default_namespaced(client);
    let holder = leases.get("jobcheck-controller").await.unwrap().spec.unwrap().holder_identity;
    assert_eq!(holder.unwrap_or_default(), "");
}
