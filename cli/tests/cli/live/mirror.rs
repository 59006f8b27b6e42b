//! A manager that writes the status only, as a process of its own (KEP-4368; `cli/examples/mirror.rs`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::up;
use crate::cluster::Clusters;
use crate::support::{Controller, Folder, binary, finish};

pub(super) const MIRROR: &str = "example.com/mirror";

/// Starts the example, which cargo builds with the tests.
pub(super) fn mirror(kubeconfig: &str) -> Controller {
    let directory = Path::new(env!("CARGO_BIN_EXE_jobcheck")).parent().unwrap();
    let mut command = Command::new(directory.join("examples/mirror"));
    command.args(["--kubeconfig", kubeconfig, "--managed-by", MIRROR]).stderr(Stdio::null());
    Controller(command.spawn().unwrap())
}

fn scenario(folder: &Folder) -> PathBuf {
    let text = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: mirrored\nabout: Two Jobs run elsewhere.\n\
                jobs:\n- name: good\n  spec: {completions: 2, parallelism: 2}\n\
                - name: bad\n  spec: {completions: 1, backoffLimit: 0}\n\
                expect:\n- job: good\n  conditions: [Complete]\n  succeeded: 2\n  pods: {created: 0}\n\
                - job: bad\n  conditions: [Failed]\n  pods: {created: 0}\n";
    folder.write("mirrored.yaml", text)
}

#[test]
fn a_manager_without_pods_is_judged_by_its_status_writes() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "built-in"]);
    let _mirror = mirror(clusters.one("default")["kubeconfig"].as_str().unwrap());
    let folder = Folder::new();
    let mut command = binary();
    command.env("JOBCHECK_HOME", clusters.home());
    command.args(["run", "--target", "external", "--managed-by", MIRROR, "--cluster", "default"]);
    let run = finish(command.arg("-o").arg("json").arg(scenario(&folder)), b"");
    assert_eq!(run.code, 0, "{run:?}");
}
