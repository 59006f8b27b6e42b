//! `jobcheck conform` on embedded clusters: what is right passes, and what is wrong fails for the requirement that it breaks.

mod aggregate;
mod faults;
mod field;
mod interrupt;
mod mirror;
mod repeat;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use jobcheck_report::types::Outcome;
use jobcheck_report::{ConformanceReport, read};
use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::Clusters;
use crate::support::{Controller, Folder, Run, binary, finish, jobcheck};

/// Several embedded clusters.
struct Site {
    clusters: Clusters,
    /// The kubeconfig of each cluster.
    kubeconfigs: Vec<String>,
    folder: Folder,
}

impl Site {
    fn new(names: &[&str]) -> Site {
        let clusters = Clusters::new();
        let up = |name: &&str| {
            clusters.ok(&["up", "--embedded", "--name", name]);
            clusters.one(name)["kubeconfig"].as_str().unwrap().to_owned()
        };
        let kubeconfigs = names.iter().map(up).collect();
        Site { clusters, kubeconfigs, folder: Folder::new() }
    }

    /// Runs the suite. The report is in the folder `out`.
    fn conform(&self, out: &str, arguments: &[&str]) -> Run {
        finish(&mut self.command(out, arguments), b"")
    }

    fn command(&self, out: &str, arguments: &[&str]) -> Command {
        let mut command = binary();
        command.env("JOBCHECK_HOME", self.clusters.home()).arg("conform").args(arguments);
        command.arg("--out").arg(self.folder.path(out));
        command
    }

    fn report(&self, out: &str) -> ConformanceReport {
        read(&self.folder.path(out)).unwrap()
    }

    /// Asserts that every scenario passes but for these, and that the traces say so again.
    fn assert_passes(&self, out: &str, but: &[(&str, Outcome)]) {
        let report = self.report(out);
        for scenario in &report.scenarios {
            let expected = but.iter().find(|(id, _)| *id == scenario.id).map_or(Outcome::Pass, |it| it.1);
            assert_eq!(scenario.outcome, expected, "{}: {}", scenario.id, scenario.reason);
        }
        let verified = jobcheck(["report", "verify", self.folder.path(out).to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}

/// Asserts that a run found a broken requirement.
fn assert_found(run: &Run, report: &ConformanceReport, broken: &str) {
    assert_eq!(run.code, 1, "{broken}: {run:?}");
    let evidence = report.scenarios.iter().flat_map(|it| &it.evidence);
    let found: Vec<&str> = evidence.map(|it| &*it.requirement).collect();
    assert!(found.contains(&broken), "{broken}: {found:?}: {run:?}");
}

/// An example, which cargo builds with the tests.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_jobcheck")).parent().unwrap().join("examples").join(name)
}

fn start(name: &str, arguments: &[&str]) -> Controller {
    let mut command = Command::new(example(name));
    Controller(command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A program that a hook can restart.
struct Restartable {
    script: PathBuf,
    process: PathBuf,
}

impl Restartable {
    fn start(folder: &Folder, program: &Path, arguments: &[&str]) -> Restartable {
        let process = folder.path("process");
        let words: Vec<String> = arguments.iter().map(|it| format!("'{it}'")).collect();
        let text = format!(
            "test -f {0} && kill $(cat {0})\n{1} {2} > {0}.log 2>&1 < {0}.log &\necho $! > {0}\n",
            process.display(),
            program.display(),
            words.join(" ")
        );
        let it = Restartable { script: folder.write("restart", text), process };
        assert!(Command::new("sh").arg(&it.script).status().unwrap().success());
        it
    }

    /// The hook that restarts it.
    fn hook(&self) -> String {
        format!("restart-manager=sh {}", self.script.display())
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        let pid = fs::read_to_string(&self.process).ok().and_then(|text| text.trim().parse().ok());
        // It may have ended before.
        let _ = pid.and_then(Pid::from_raw).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Does the same with several items, some at a time.
fn each<T: Sync>(items: &[T], what: impl Fn(&T) + Sync) {
    const AT_ONCE: usize = 5;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    what(item);
                }
            });
        }
    });
}

#[test]
fn wrong_usage_is_rejected_before_a_cluster_is_reached() {
    let run = |more: &[&str]| jobcheck([&["conform", "--profile"], more].concat());
    let refused = |more: &[&str], why: &str| {
        let run = run(more);
        assert!(run.code == 2 && run.err.contains(why), "{more:?}: {run:?}");
    };
    refused(&["mirror", "--cluster", "manager=hub"], "worker=NAME");
    refused(&["aggregate", "--cluster", "manager=hub", "--cluster", "member=one"], "member=NAME twice");
    refused(&["field", "--cluster", "hub", "--managed-by", "a.b/c"], "the profile field has none");
    refused(&["field", "--cluster", "hub", "--hook", "disconnect=x"], "mirror and aggregate");
    refused(&["executor", "--cluster", "hub"], "needs --managed-by");
    refused(&["field", "--cluster", "hub", "--faults"], "--faults is for");
    refused(&["field", "--cluster", "hub", "--audit-log", "no-such.log"], "no-such.log: no such file");
    refused(&["mirror", "--list", "mirror/sucess"], "mirror/success");
    let list = run(&["mirror", "--list", "MR-10"]);
    assert!(list.code == 0 && list.first_line().starts_with("mirror/rest"), "{list:?}");
    let absent = run(&["mirror", "--cluster", "manager=no-such", "--cluster", "worker=no-such"]);
    assert_eq!(absent.code, 4, "{absent:?}");
}
