//! Tests of style: dependencies between crates, sizes of files, and words that must not be committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jobcheck_tests::corpus::root;
use serde_json::Value;

/// The maximum number of lines of a source file, without its tests.
const FILE_LINES: usize = 500;

pub(crate) fn metadata() -> Value {
    // Dependencies of other platforms may be missing from this machine, so only those of the host are read.
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

/// Returns the names of all packages on which a package depends, directly or indirectly. Dependencies of tests do not
/// count.
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

/// Packages on which a crate must not depend, directly or indirectly.
const FENCES: &[(&str, &[&str])] = &[
    // The specification is pure, so that the tests of any controller can use it.
    (
        "jobcheck-spec",
        &["jobcheck-traces", "jobcheck-explorer", "jobcheck-controller", "serde_json", "kube", "k8s-openapi"],
    ),
    (
        "jobcheck-explorer",
        &["jobcheck-traces", "jobcheck-judge", "jobcheck-controller", "serde_json", "kube", "stateright"],
    ),
    (
        "jobcheck-managers",
        &["jobcheck-traces", "jobcheck-judge", "jobcheck-controller", "serde_json", "kube", "stateright"],
    ),
    ("jobcheck-traces", &["jobcheck-spec", "jobcheck-explorer", "jobcheck-judge", "kube", "k8s-openapi"]),
    ("jobcheck-projection", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller", "kube"]),
    // Authors of controllers compile the specification and the explorer, and no client.
    ("jobcheck-model", &["jobcheck-traces", "jobcheck-judge", "jobcheck-controller", "kube", "tokio"]),
    // Any version of kube can use it.
    ("jobcheck-testserver", &["jobcheck-explorer", "jobcheck-controller", "kube"]),
    ("jobcheck-wasm", &["jobcheck-explorer", "jobcheck-controller", "kube", "tokio"]),
    ("jobcheck-watch", &["jobcheck-explorer", "jobcheck-controller", "jobcheck-scenario"]),
    // The judge needs neither an exploration nor a cluster.
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
    // A page needs the report and the trace.
    ("jobcheck-view", &["jobcheck-explorer", "jobcheck-scenario", "jobcheck-controller", "kube", "tokio"]),
    // Reports need verdicts, and no cluster.
    ("jobcheck-report", &["jobcheck-explorer", "jobcheck-scenario", "jobcheck-controller", "kube", "tokio"]),
    ("jobcheck-scenario", &["jobcheck-controller", "jobcheck-adapter", "kube"]),
    ("jobcheck-apiserver", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller"]),
    // Any program can serve HTTP with this crate.
    (
        "jobcheck-serve",
        &["jobcheck-spec", "jobcheck-traces", "jobcheck-apiserver", "jobcheck-cluster", "kube"],
    ),
    (
        "jobcheck-access",
        &[
            "jobcheck-spec",
            "jobcheck-traces",
            "jobcheck-apiserver",
            "jobcheck-cluster",
            "jobcheck-controller",
        ],
    ),
    ("jobcheck-cluster", &["jobcheck-explorer", "jobcheck-judge", "jobcheck-controller"]),
    ("jobcheck-record", &["jobcheck-explorer", "jobcheck-controller", "jobcheck-live"]),
    // The suite is for controllers of somebody else.
    ("jobcheck-conform", &["jobcheck-explorer", "jobcheck-controller", "jobcheck-scenario"]),
    // The target `live` starts the shipped controllers as a process, like any other controller.
    ("jobcheck-live", &["jobcheck-controller", "jobcheck-adapter"]),
    ("jobcheck-controller", &["jobcheck-spec", "jobcheck-explorer", "jobcheck-apiserver", "jobcheck-judge"]),
    // Its oracle asks neither the specification nor the explorer; the judge, which it measures, needs the former.
    (
        "jobcheck-edits",
        &["jobcheck-explorer", "jobcheck-scenario", "jobcheck-controller", "jobcheck-tests", "kube"],
    ),
    ("jobcheck-adapter", &["jobcheck-judge", "jobcheck-scenario", "jobcheck-apiserver"]),
];

#[test]
fn no_crate_depends_on_a_package_that_its_fence_forbids() {
    let metadata = metadata();
    for (package, foreign) in FENCES {
        let needed = needs(&metadata, package);
        for name in foreign.iter().chain(&["jobcheck"]) {
            assert!(!needed.iter().any(|it| it == name), "{package} depends on {name}");
        }
    }
}

/// A feature of its own stores values of the specification. Without it, there is nothing but the standard library.
#[test]
fn the_specification_depends_on_nothing_by_default() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let spec = packages.iter().find(|it| it["name"] == "jobcheck-spec").unwrap();
    let needed = spec["dependencies"].as_array().unwrap().iter().filter(|it| it["kind"].is_null());
    let optional: Vec<(&str, bool)> =
        needed.map(|it| (it["name"].as_str().unwrap(), it["optional"].as_bool().unwrap())).collect();
    assert_eq!(optional, [("serde", true)]);
    assert!(spec["features"].get("default").is_none());
}

/// The measured judge brings the specification along, so a fence cannot forbid it. The sources must not name it.
#[test]
fn the_oracle_of_the_edits_does_not_use_the_specification() {
    for path in sources("tests/edits/src") {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("jobcheck_spec"), "{}", path.display());
    }
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let edits = packages.iter().find(|it| it["name"] == "jobcheck-edits").unwrap();
    let direct = edits["dependencies"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
    let direct: Vec<&str> = direct.collect();
    assert_eq!(direct, ["flate2", "jiff", "jobcheck-judge", "jobcheck-traces", "serde_json"]);
}

/// Two libraries depend on both the explorer and the shipped controllers. The adapter lets the explorer explore the
/// controllers' decisions, and the simulation runs them. The command line and these tests use both libraries.
#[test]
fn only_adapter_and_simulation_depend_on_the_explorer_and_the_controllers() {
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
    ["model", "traces", "library", "controller", "harness", "cli", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .collect()
}

/// Returns the text of a file before its test module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

#[test]
fn files_stay_small() {
    // The catalogue is exempt, because it is one table.
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
    // The words are in two parts, so that this file does not contain them.
    let words = ["TO", "FIX", "todo", "dbg", "#[ign"];
    let ends = ["DO", "ME", "!(", "!(", "ore"];
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (word, end) in words.iter().zip(ends) {
            assert!(!text.contains(&format!("{word}{end}")), "{} holds {word}{end}", path.display());
        }
    }
}

/// Symmetry reduction is sound only if the names of pods have no meaning. The order of pods follows from times and
/// counters.
#[test]
fn the_model_does_not_compare_pods_by_their_names() {
    for path in sources("model") {
        for (number, line) in code(&path).lines().enumerate() {
            let compares = ["uid < ", "uid > ", "uid <= ", "uid >= "].iter().any(|it| line.contains(it));
            assert!(!compares, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

/// Every text for people passes the escapes of `harness/report/src/text.rs`: `output` prints it, and `Text` makes the lines of
/// reports. Names and messages of traces, scenarios, file systems and API servers could control a terminal.
#[test]
fn text_reaches_a_terminal_in_one_way() {
    let ways = ["print!(", "println!(", "stdout()", "stdout(),", ".display()", "error.print()"];
    for path in sources("cli/src").iter().filter(|path| !path.ends_with("cli/src/output.rs")) {
        for (number, line) in code(path).lines().enumerate() {
            let way = ways.iter().find(|way| line.contains(*way) && !line.trim_start().starts_with("//"));
            assert!(way.is_none(), "{}:{}: {line}: use output and text::of_path", path.display(), number + 1);
        }
    }
    // These write other forms, have no values of others, or clean each.
    let known = [
        "run/junit.rs",
        "check/dot.rs",
        "check/properties.rs",
        "replay/text.rs",
        "rule/text.rs",
        "verify/text.rs",
    ];
    for path in sources("cli/src").iter().filter(|path| code(path).contains("use std::fmt::Write")) {
        let is_known = known.iter().any(|known| *path == root().join("cli/src").join(known));
        assert!(is_known, "{}: use text::Text for the lines of a report", path.display());
    }
    let silent = ["controller", "harness", "library", "model", "traces/src"];
    for path in silent.iter().flat_map(|folder| sources(folder)).filter(|path| !is_program(path)) {
        for (number, line) in code(&path).lines().enumerate() {
            let prints = line.contains("print!(") || line.contains("println!(");
            let is_comment = line.trim_start().starts_with("//");
            assert!(!prints || is_comment, "{}:{}: a library prints: {line}", path.display(), number + 1);
        }
    }
}

/// Returns whether a source is a program or an example, which prints for its developers.
fn is_program(path: &Path) -> bool {
    let is = |name: &str| path.components().any(|part| part.as_os_str() == name);
    is("bin")
        || is("examples")
        || is("benches")
        || is("tests")
        || path.ends_with("build.rs")
        || path.ends_with("main.rs")
}
