//! Style as a test: the dependency fence, file sizes, and words that must not be committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jobcheck_tests::corpus::root;
use serde_json::Value;

/// Lines that a source file may have without its tests.
const FILE_LINES: usize = 500;

pub(crate) fn metadata() -> Value {
    // Only what this platform builds: the rest need not be on this machine.
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Names of all packages that a package needs to be built, tests apart.
fn needs(metadata: &Value, package: &str) -> Vec<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let name_of = |id: &Value| {
        let packages = metadata["packages"].as_array().unwrap();
        packages.iter().find(|it| it["id"] == *id).map(|it| it["name"].as_str().unwrap().to_owned()).unwrap()
    };
    let mut found: Vec<Value> =
        nodes.iter().map(|node| &node["id"]).filter(|id| name_of(id) == package).cloned().collect();
    let mut at = 0;
    while at < found.len() {
        let node = nodes.iter().find(|node| node["id"] == found[at]).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            let normal = dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] != "dev");
            if normal && !found.contains(&dependency["pkg"]) {
                found.push(dependency["pkg"].clone());
            }
        }
        at += 1;
    }
    found[1..].iter().map(name_of).collect()
}

/// What each crate must not need, however far away.
const FENCES: &[(&str, &[&str])] = &[
    // The specification is pure: it can be used from any test of any controller.
    (
        "jobcheck-spec",
        &[
            "jobcheck-traces",
            "jobcheck-explorer",
            "jobcheck-controller",
            "serde",
            "serde_json",
            "kube",
            "k8s-openapi",
        ],
    ),
    (
        "jobcheck-explorer",
        &["jobcheck-traces", "jobcheck-judge", "jobcheck-controller", "serde_json", "kube", "stateright"],
    ),
    ("jobcheck-traces", &["jobcheck-spec", "jobcheck-explorer", "jobcheck-judge", "kube", "k8s-openapi"]),
    ("jobcheck-projection", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller", "kube"]),
    // A verdict needs no search through scopes, and no cluster.
    (
        "jobcheck-judge",
        &[
            "jobcheck-explorer",
            "jobcheck-scenario",
            "jobcheck-controller",
            "jobcheck-apiserver",
            "kube",
            "tokio",
        ],
    ),
    ("jobcheck-scenario", &["jobcheck-controller", "jobcheck-adapter", "kube"]),
    ("jobcheck-apiserver", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller"]),
    // Any program can serve HTTP with it.
    (
        "jobcheck-serve",
        &["jobcheck-spec", "jobcheck-traces", "jobcheck-apiserver", "jobcheck-cluster", "kube"],
    ),
    ("jobcheck-cluster", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller"]),
    ("jobcheck-record", &["jobcheck-explorer", "jobcheck-controller", "jobcheck-live"]),
    // The shipped controllers are a process to it, like any other.
    ("jobcheck-live", &["jobcheck-controller", "jobcheck-adapter"]),
    ("jobcheck-controller", &["jobcheck-spec", "jobcheck-explorer", "jobcheck-apiserver", "jobcheck-judge"]),
    ("jobcheck-adapter", &["jobcheck-judge", "jobcheck-scenario", "jobcheck-apiserver"]),
];

#[test]
fn no_crate_needs_what_its_fence_keeps_out() {
    let metadata = metadata();
    for (package, foreign) in FENCES {
        let needed = needs(&metadata, package);
        for name in foreign.iter().chain(&["jobcheck"]) {
            assert!(!needed.iter().any(|it| it == name), "{package} depends on {name}");
        }
    }
}

/// The crates of the library that see both the model and the shipped controllers: the adapter, through which the
/// controllers' decisions are explored, and the simulation, which runs them.
#[test]
fn nothing_but_adapter_and_simulation_knows_the_model_and_the_controllers() {
    let metadata = metadata();
    let members = metadata["packages"].as_array().unwrap().iter();
    let own = members.filter(|it| it["source"].is_null()).map(|it| it["name"].as_str().unwrap());
    let knows_both = own.filter(|package| {
        let needed = needs(&metadata, package);
        ["jobcheck-explorer", "jobcheck-controller"].iter().all(|it| needed.iter().any(|name| name == it))
    });
    let mut knows_both: Vec<&str> = knows_both.collect();
    knows_both.sort_unstable();
    assert_eq!(knows_both, ["jobcheck", "jobcheck-adapter", "jobcheck-sim", "jobcheck-tests"]);
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut open = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn all_sources() -> Vec<PathBuf> {
    ["model", "traces", "controller", "harness", "cli", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .collect()
}

/// The text of a file before its test module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

#[test]
fn files_stay_small() {
    // The catalogue is one table.
    let long: Vec<String> = all_sources()
        .iter()
        .filter(|path| !path.ends_with("catalogue.rs"))
        .map(|path| (path, code(path).lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES)
        .map(|(path, lines)| format!("{}: {lines}", path.display()))
        .collect();
    assert!(long.is_empty(), "over {FILE_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn nothing_is_left_open_or_ignored() {
    // Put together here, so that this file does not name them.
    let words = ["TO", "FIX", "todo", "dbg", "#[ign"];
    let ends = ["DO", "ME", "!(", "!(", "ore"];
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (word, end) in words.iter().zip(ends) {
            assert!(!text.contains(&format!("{word}{end}")), "{} holds {word}{end}", path.display());
        }
    }
}

/// Symmetry is sound as long as names of pods mean nothing: who came first is told by times and counts.
#[test]
fn the_model_does_not_compare_pods_by_their_names() {
    for path in sources("model") {
        for (number, line) in code(&path).lines().enumerate() {
            let compares = ["uid < ", "uid > ", "uid <= ", "uid >= "].iter().any(|it| line.contains(it));
            assert!(!compares, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
