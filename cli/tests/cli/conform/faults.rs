//! Faults between a mirror and the API server of its cluster, with the example `between_clusters`.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jobcheck_report::types::Outcome;
use rustix::process::Signal;

use super::{Site, start};
use crate::cluster::kill;
use crate::support::controller;

const SCENARIOS: [&str; 5] = ["success", "failure", "indexed", "suspend-resume", "copy-deleted-at-its-end"];

/// Starts the suite, and returns it with the kubeconfig for the manager.
fn begun(site: &Site, out: &str, managed_by: &str) -> (Child, PathBuf) {
    let profile = ["--profile", "mirror", "--cluster", "manager=hub", "--cluster", "worker=one"];
    let more = ["--managed-by", managed_by, "--patience", "15s", "--skew", "0", "--faults", "--seed", "0"];
    let mut command = site.command(out, &[&profile[..], &more, &SCENARIOS].concat());
    let suite = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (file, begin) = (site.folder.path(out).join("manager.kubeconfig"), Instant::now());
    while !fs::read_to_string(&file).is_ok_and(|text| text.contains("token")) {
        assert!(begin.elapsed() < Duration::from_secs(60), "no kubeconfig");
        sleep(Duration::from_millis(50));
    }
    (suite, file)
}

/// The exit code of the suite for this mirror.
fn with_faults(site: &Site, name: &str, defect: &[&str]) -> Option<i32> {
    let managed_by = format!("example.com/{name}");
    let (mut suite, file) = begun(site, name, &managed_by);
    let manager = ["--manager", file.to_str().unwrap(), "--worker", &site.kubeconfigs[1]];
    let _mirror = start("between_clusters", &[&manager[..], &["--managed-by", &managed_by], defect].concat());
    let code = suite.wait().unwrap().code();
    assert!(!file.exists(), "{name}");
    code
}

#[test]
fn a_mirror_that_tries_again_passes_with_faults_and_one_that_gives_up_fails() {
    let site = Site::new(&["hub", "one"]);
    let _executor = controller(&site.kubeconfigs[1]);
    let codes = std::thread::scope(|scope| {
        let right = scope.spawn(|| with_faults(&site, "right", &[]));
        let wrong = with_faults(&site, "wrong", &["--defect", "gives-up"]);
        (right.join().unwrap(), wrong)
    });
    assert_eq!(codes, (Some(0), Some(1)));
    site.assert_passes("right", &[]);
    assert!(site.report("right").run.faults);
    let failed = site.report("wrong").scenarios.iter().filter(|it| it.outcome == Outcome::Fail).count();
    assert!(failed > 0);
    let trace = |id: &str| site.folder.path("right").join(format!("traces/mirror-{id}/manager.jsonl"));
    let traces: String = SCENARIOS.iter().map(|id| fs::read_to_string(trace(id)).unwrap()).collect();
    for kind in ["dropped", "lostResponse", "staleRead"] {
        assert!(traces.contains(&format!("\"kind\":\"{kind}\"")), "{kind}");
    }
}

/// Somebody else has connected to the proxy.
#[test]
fn a_manager_that_does_not_use_the_proxy_is_not_judged_as_one_with_faults() {
    let site = Site::new(&["hub", "one"]);
    let _executor = controller(&site.kubeconfigs[1]);
    let managed_by = "example.com/beside";
    let (mut suite, file) = begun(&site, "beside", managed_by);
    let mirror = |manager: &str, managed_by: &str| {
        let clusters = ["--manager", manager, "--worker", &site.kubeconfigs[1]];
        start("between_clusters", &[&clusters[..], &["--managed-by", managed_by]].concat())
    };
    let _other = mirror(file.to_str().unwrap(), "example.com/other");
    let _mirror = mirror(&site.kubeconfigs[0], managed_by);
    assert_eq!(suite.wait().unwrap().code(), Some(3));
    let scenarios = site.report("beside").scenarios;
    let is_open =
        |it: &jobcheck_report::Scenario| it.reason.contains("no write to a Job came through the proxy");
    assert!(scenarios.iter().any(is_open) && !scenarios.iter().any(|it| it.outcome == Outcome::Pass));
}

#[test]
fn a_suite_that_waits_for_a_manager_can_be_interrupted() {
    let site = Site::new(&["hub", "one"]);
    let (mut suite, file) = begun(&site, "out", "example.com/mirror");
    kill(suite.id(), Signal::INT);
    assert_eq!((suite.wait().unwrap().code(), file.exists()), (Some(4), false));
}
