//! `jobcheck conform` on embedded clusters, with a mirror that follows the protocol, and with wrong ones.

use std::path::Path;
use std::process::{Command, Stdio};

use jobcheck_report::types::Outcome;

use crate::cluster::Clusters;
use crate::support::{Controller, Folder, Run, binary, controller, finish, jobcheck};

const MIRROR: &str = "example.com/mirror";

/// A cluster of the Jobs and one of the copies, with the shipped Job controller there.
struct Pair {
    clusters: Clusters,
    kubeconfigs: [String; 2],
    _executor: Controller,
}

impl Pair {
    fn new() -> Pair {
        let clusters = Clusters::new();
        let kubeconfigs = ["hub", "one"].map(|name| {
            clusters.ok(&["up", "--embedded", "--name", name]);
            clusters.one(name)["kubeconfig"].as_str().unwrap().to_owned()
        });
        let executor = controller(&kubeconfigs[1]);
        Pair { clusters, kubeconfigs, _executor: executor }
    }

    /// Starts the example, which cargo builds with the tests.
    fn mirror(&self, more: &[&str]) -> Controller {
        let directory = Path::new(env!("CARGO_BIN_EXE_jobcheck")).parent().unwrap();
        let mut command = Command::new(directory.join("examples/between_clusters"));
        let [manager, worker] = &self.kubeconfigs;
        command.args(["--manager", manager, "--worker", worker, "--managed-by", MIRROR]);
        Controller(command.args(more).stderr(Stdio::null()).spawn().unwrap())
    }

    fn conform(&self, folder: &Folder, more: &[&str]) -> Run {
        let mut command = binary();
        command.env("JOBCHECK_HOME", self.clusters.home());
        command.args(["conform", "--profile", "mirror", "--managed-by", MIRROR]);
        command.args(["--cluster", "manager=hub", "--cluster", "worker=one", "--out"]);
        finish(command.arg(folder.path("out")).args(more), b"")
    }
}

#[test]
fn a_mirror_that_follows_the_protocol_passes_and_its_report_is_verified() {
    let (pair, folder) = (Pair::new(), Folder::new());
    let _mirror = pair.mirror(&[]);
    let ids =
        ["mirror/success", "mirror/redispatch-after-failure", "mirror/suspend-resume", "mirror/name-taken"];
    let run = pair.conform(&folder, &ids);
    assert_eq!(run.code, 0, "{run:?}");
    let report = jobcheck_report::read(&folder.path("out")).unwrap();
    assert_eq!(report.scenarios.len(), ids.len());
    assert!(report.scenarios.iter().all(|it| it.outcome == Outcome::Pass && it.traces.len() == 2));
    let verified = jobcheck(["report", "verify", folder.path("out").to_str().unwrap()]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Asserts that a mirror with each of these defects fails its scenario for the requirement that it breaks.
fn assert_caught(defects: &[(&str, &str, &str)]) {
    for (defect, scenario, broken) in defects {
        let (pair, folder) = (Pair::new(), Folder::new());
        let _mirror = pair.mirror(&["--defect", defect]);
        let run = pair.conform(&folder, &["--patience", "8s", scenario]);
        assert_eq!(run.code, 1, "{defect}: {run:?}");
        let report = jobcheck_report::read(&folder.path("out")).unwrap();
        let found: Vec<&str> = report.scenarios[0].evidence.iter().map(|it| &*it.requirement).collect();
        assert!(found.contains(broken), "{defect}: {found:?}");
    }
}

#[test]
fn a_mirror_that_reports_wrong_ends_fails_for_the_requirement_that_it_breaks() {
    assert_caught(&[
        ("completes-early", "mirror/success", "MR-01"),
        ("leaves-out-interim", "mirror/success", "MR-07"),
        ("hot-loop", "mirror/success", "MR-09"),
        ("restless", "mirror/rest", "MR-10"),
        ("never-finishes", "mirror/success", "MR-21"),
        ("reports-late", "mirror/copy-deleted-at-its-end", "MR-22"),
    ]);
}

#[test]
fn a_mirror_that_mistakes_jobs_fails_for_the_requirement_that_it_breaks() {
    assert_caught(&[
        ("copies-wholesale", "mirror/redispatch-after-failure", "MR-03"),
        ("finds-by-name", "mirror/recreated", "MR-23"),
        ("drops-conditions", "mirror/condition-of-others", "MR-06"),
        ("ignores-suspend", "mirror/suspend-resume", "MR-13"),
        ("writes-strangers", "mirror/strangers", "MR-15"),
        ("keeps-copies", "mirror/delete", "MR-25"),
        ("deletes-by-name", "mirror/name-taken", "MR-25"),
    ]);
}

#[test]
fn wrong_usage_is_rejected_before_a_cluster_is_reached() {
    let run = |more: &[&str]| jobcheck([&["conform", "--profile", "mirror"], more].concat());
    let alone = run(&["--cluster", "manager=hub"]);
    assert!(alone.code == 2 && alone.err.contains("worker=NAME"), "{alone:?}");
    let unknown = run(&["--list", "mirror/sucess"]);
    assert!(unknown.code == 2 && unknown.err.contains("mirror/success"), "{unknown:?}");
    let list = run(&["--list", "MR-10"]);
    assert!(list.code == 0 && list.first_line().starts_with("mirror/rest"), "{list:?}");
    let absent = run(&["--cluster", "manager=no-such", "--cluster", "worker=no-such"]);
    assert_eq!(absent.code, 4, "{absent:?}");
}
