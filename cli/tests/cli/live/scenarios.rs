//! `jobcheck run` on real API servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::up;
use crate::cluster::{Clusters, kill};
use crate::schema;
use crate::support::{Controller, Folder, binary, finish};

pub(super) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("tests/scenarios")
}

/// Scenarios of defects that the built-in controllers have or had, and ours do not.
const DEFECTS: [&str; 8] = ["b18", "h3", "j-04", "l1", "mb-03", "s-03", "s-04", "tt-09"];

/// The scenarios that show a known deviation of the built-in controllers, with its id.
const KNOWN: [(&str, &str); 11] = [
    ("adoption", "S-05"),
    ("deleted-unseen", "J-09"),
    ("denied-end", "S-12"),
    ("h3", "H3"),
    ("l1", "S-04"),
    ("late-creation", "J-06"),
    ("replaced-after-failures", "J-08"),
    ("replaced-unseen", "J-08"),
    ("s-03", "S-03"),
    ("s-04", "S-04"),
    ("terminating-namespace", "H2"),
];

/// Scenarios that need a clock that stops, several clocks, or several API servers.
const NOT_ON_LIVE: [&str; 8] = [
    "backoff-delay",
    "deadline",
    "deadline-removed",
    "other-server",
    "ttl",
    "ttl-raised",
    "ttl-slow-clock",
    "unscheduled",
];

/// Scenarios that need other settings of the built-in controllers, or would take minutes with their delays.
const NOT_ON_BUILTIN: [&str; 4] = ["full-lists", "per-index-rollback", "rollout", "story-maximum"];

fn library() -> Vec<PathBuf> {
    let entries = fs::read_dir(scenarios()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    let defects = DEFECTS.map(|name| scenarios().join(format!("defects/{name}.yaml")));
    files.into_iter().chain(defects).collect()
}

/// The names with this result on a target, in order.
fn with<'a>(report: &'a Value, target: &str, result: &str) -> Vec<&'a str> {
    let all = report["scenarios"].as_array().unwrap().iter();
    let fitting = all.filter(|it| it["target"] == target && it["result"] == result);
    let mut names: Vec<&str> = fitting.map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_library_holds_with_ours_and_differs_with_the_built_in_where_that_is_known() {
    let home = Folder::new();
    let files = library();
    let mut command = binary();
    command.env("JOBCHECK_HOME", home.path("")).args(["run", "--target", "live,builtin", "-ojson"]);
    // A loaded machine must not make the test fail.
    command.args(["--parallel", "16", "--patience", "5m0s"]).args(&files);
    let run = finish(&mut command, b"");
    let report = run.json();
    assert_eq!(run.code, 1, "{}\nTo skip live tests: cargo test -- --skip live::", run.err);
    schema::check(&report);

    let mut not_run: Vec<&str> = NOT_ON_LIVE.to_vec();
    assert_eq!(with(&report, "live", "notRun"), not_run);
    assert_eq!(odd_results(&report, "live"), BTreeMap::new());
    not_run.extend(NOT_ON_BUILTIN);
    not_run.sort_unstable();
    assert_eq!(with(&report, "builtin", "notRun"), not_run);
    let mut unexpected = odd_results(&report, "builtin");
    let broken = |name: &str| unexpected.remove(name).is_some_and(|it| it.starts_with("broken"));
    assert_eq!(KNOWN.map(|(name, _)| name).map(broken), [true; KNOWN.len()], "{KNOWN:?}");
    assert_eq!(unexpected, BTreeMap::new());
    let known = BTreeMap::from(KNOWN);
    for it in report["scenarios"].as_array().unwrap().iter().filter(|it| it["result"] == "broken") {
        assert_eq!(it["known"].as_str(), known.get(it["name"].as_str().unwrap()).copied(), "{it}");
    }
    let compared = report["comparisons"].as_array().unwrap().iter();
    let l1 = compared.clone().find(|it| it["name"] == "l1").unwrap();
    assert_eq!(l1["differences"][0]["forbiddenBy"], "S-04", "{l1}");
    assert_eq!(compared.count(), files.len());
    for folder in ["clusters", "runs"] {
        let left = fs::read_dir(home.path(folder)).into_iter().flatten().flatten();
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// The results on a target that do not hold, with their reasons, by name.
fn odd_results(report: &Value, target: &str) -> BTreeMap<String, String> {
    let all = report["scenarios"].as_array().unwrap().iter().filter(|it| it["target"] == target);
    let odd = all.filter(|it| it["result"] != "holds" && it["result"] != "notRun");
    odd.map(|it| (text(&it["name"]), format!("{} {}", text(&it["result"]), it["why"]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The names of the namespaces and nodes that runs have made.
async fn left(client: &Client) -> Vec<String> {
    let labelled = ListParams::default().labels("jobcheck.dev/run");
    let namespaces = Api::<Namespace>::all(client.clone()).list(&labelled).await.unwrap().items;
    let nodes = Api::<Node>::all(client.clone()).list(&labelled).await.unwrap().items;
    let names = namespaces.into_iter().map(|it| it.metadata).chain(nodes.into_iter().map(|it| it.metadata));
    names.filter_map(|metadata| metadata.name).collect()
}

/// Waits until runs have a namespace.
async fn begun(client: &Client) {
    for _ in 0..600 {
        if left(client).await.len() > 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no run has begun after a minute");
}

/// The Node of the runs says again that it is ready, as a kubelet does.
async fn beats(client: &Client) {
    let (mut last, labelled) = (None, ListParams::default().labels("jobcheck.dev/run"));
    for _ in 0..600 {
        let nodes = Api::<Node>::all(client.clone()).list(&labelled).await.unwrap().items;
        let conditions = nodes.into_iter().filter_map(|it| it.status?.conditions).flatten();
        let ready = conditions.into_iter().find(|it| it.type_ == "Ready" && it.status == "True");
        let beat = ready.expect("a Node that is ready").last_heartbeat_time;
        if last.is_some() && beat != last {
            return;
        }
        last = beat;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the Node of the runs shows no sign of life for a minute");
}

/// The pods of the runs pass the Pod Security level `restricted`.
async fn meet_the_strictest_standard(client: &Client) {
    let strict = json!({
        "metadata": {"name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    });
    let strict: Namespace = serde_json::from_value(strict).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &strict).await.unwrap();
    for _ in 0..600 {
        let jobs = Api::<Job>::all(client.clone()).list(&ListParams::default()).await.unwrap().items;
        if let Some(spec) = jobs.into_iter().find_map(|it| it.spec?.template.spec) {
            let pod = json!({"metadata": {"name": "pod"}, "spec": spec});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            Api::namespaced(client.clone(), "strict").create(&dry, &pod).await.unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no run has made a Job after a minute");
}

#[tokio::test]
async fn whoever_runs_somewhere_else_is_judged_by_watches_and_nothing_is_left_whatever_ends_the_run() {
    let clusters = Clusters::new();
    up(&clusters, &["--with", "collectors"]);
    let cluster = clusters.one("default");
    let (client, kubeconfig) = (clusters.client("default").await, cluster["kubeconfig"].as_str().unwrap());
    let run = |arguments: &[&str], scenario: &str| {
        let mut command = binary();
        command.env("JOBCHECK_HOME", clusters.home()).args(["run", "-ojson"]).args(arguments);
        command.arg(scenarios().join(scenario));
        command
    };

    let mut controller = binary();
    controller.args(["controller", "--managed-by", "example.com/runner", "--kubeconfig", kubeconfig]);
    let _controller = Controller(controller.stderr(Stdio::null()).spawn().unwrap());
    let saved = Folder::new();
    let mut external = run(&["--target", "external", "--managed-by", "example.com/runner"], "indexed.yaml");
    external.args(["--kubeconfig", kubeconfig]).arg("--save").arg(saved.path(""));
    let external = finish(&mut external, b"");
    assert_eq!(external.code, 0, "{external:?}");
    let recording = fs::read_to_string(saved.path("indexed-external.jsonl")).unwrap();
    assert!(recording.contains("{\"watched\":") && recording.contains("example.com/runner"), "{recording}");
    assert_eq!(left(&client).await, Vec::<String>::new());

    // Killed: what it had goes with the next start. Interrupted: it goes at once.
    let start = |scenario: &str| -> Child {
        let mut command = run(&["--target", "live", "--cluster", "default"], scenario);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut killed = start("suspend-resume.yaml");
    begun(&client).await;
    meet_the_strictest_standard(&client).await;
    beats(&client).await;
    kill(killed.id(), Signal::KILL);
    killed.wait().unwrap();
    assert_ne!(left(&client).await, Vec::<String>::new());
    let next = finish(&mut run(&["--target", "live", "--cluster", "default"], "defects/mb-03.yaml"), b"");
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(left(&client).await, Vec::<String>::new());
    let mut interrupted = start("suspend-resume.yaml");
    begun(&client).await;
    kill(interrupted.id(), Signal::INT);
    assert_eq!(interrupted.wait().unwrap().code(), Some(4));
    assert_eq!(left(&client).await, Vec::<String>::new());
}
