//! The guide for operators and the rules for Prometheus agree with each other and with the metrics of the shipped
//! controllers. `live::metrics` compares them with those of Kubernetes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use jobcheck_controller_runtime::metrics::{Metrics, SyncLabels};
use serde::Deserialize;

const RULES: &str = "deploy/monitoring/rules.yaml";
const TESTS: [&str; 2] = ["deploy/monitoring/rules-test.yaml", "deploy/monitoring/rules-test-weeks.yaml"];
const GUIDE: &str = "docs/guide/operators.md";

/// The metrics of kube-state-metrics, which nothing here can compare.
const OF_KUBE_STATE_METRICS: [&str; 1] = ["kube_cronjob_status_active"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Rule {
    Record {
        #[expect(dead_code, reason = "the field distinguishes the two kinds of rules")]
        record: String,
        expr: String,
    },
    Alert {
        alert: String,
        expr: String,
        #[serde(rename = "for")]
        pending: String,
        labels: Labels,
        annotations: Annotations,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    severity: String,
    requirement: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    summary: String,
    description: String,
    runbook_url: String,
}

impl Rule {
    fn expression(&self) -> &str {
        match self {
            Rule::Record { expr, .. } | Rule::Alert { expr, .. } => expr,
        }
    }
}

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn rules() -> Vec<Rule> {
    let rules: Rules = serde_saphyr::from_str(&file(RULES)).unwrap();
    let names: BTreeSet<&str> = rules.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names.len(), rules.groups.len(), "two groups have one name");
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// The names of metrics in a text: the words that begin like one. A name with a colon is that of a recorded rule.
fn metrics_in(text: &str) -> BTreeSet<String> {
    const PREFIXES: [&str; 7] = [
        "job_controller_",
        "ttl_after_finished_controller_",
        "workqueue_",
        "rest_client_",
        "process_",
        "apiserver_",
        "kube_",
    ];
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| PREFIXES.iter().any(|it| word.starts_with(it))).map(str::to_owned).collect()
}

/// The names in an exposition in the text format of Prometheus.
pub fn exposed(text: &str) -> BTreeSet<String> {
    let series = text.lines().filter(|line| !line.starts_with('#'));
    series.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// All metrics that the rules and the guide name, without patterns such as `workqueue_*`, and without the metric of
/// KEP-592 that no version has.
pub fn named() -> BTreeSet<String> {
    let rules: String = rules().iter().map(|rule| rule.expression().to_owned() + "\n").collect();
    let guide = file(GUIDE);
    let mut named = metrics_in(&rules);
    named.extend(metrics_in(&guide).into_iter().filter(|name| !name.ends_with('_')));
    assert!(named.remove("ttl_after_finished_controller_rate_limiter_use"));
    // A histogram without the suffix of a series.
    named.into_iter().map(|name| if name.ends_with("_seconds") { histogram(name) } else { name }).collect()
}

fn histogram(name: String) -> String {
    if name == "process_start_time_seconds" { name } else { format!("{name}_bucket") }
}

/// Returns true for a metric of the API server.
pub fn of_the_api_server(name: &str) -> bool {
    name.starts_with("apiserver_")
}

/// Returns true for a metric of a controller.
pub fn of_a_controller(name: &str) -> bool {
    !of_the_api_server(name) && !OF_KUBE_STATE_METRICS.contains(&name)
}

/// Metrics with a value in each family.
fn ours() -> BTreeSet<String> {
    let metrics = Metrics::new();
    metrics.synced(SyncLabels { completion_mode: "Indexed", success: true, action: "tracking" }, 0.1);
    metrics.job_finished("Indexed", true, "CompletionsReached");
    metrics.pods_finished("Indexed", true, 1);
    metrics.indexes_finished(true, true, 1);
    metrics.pods_created("new", true, 1);
    metrics.pod_failures_handled("Count", 1);
    metrics.terminated_pod_with_finalizer(true);
    metrics.job_by_external_controller("acme.example.com/mirror");
    metrics.stale_sync_skipped("pods");
    metrics.ttl_deleted(0.1);
    metrics.requested("GET", "200");
    let queue = metrics.queue("job");
    queue.adds.inc();
    queue.retries.inc();
    queue.wait.observe(0.1);
    queue.work.observe(0.1);
    exposed(&metrics.text())
}

#[test]
fn every_metric_of_a_controller_in_the_rules_and_the_guide_is_one_of_ours() {
    let ours = ours();
    let named = named();
    assert!(named.contains("job_controller_job_syncs_total") && named.len() > 15, "{named:?}");
    let unknown: Vec<_> =
        named.iter().filter(|name| of_a_controller(name) && !ours.contains(*name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no metrics of {ours:#?}");
}

#[test]
fn every_alert_has_a_section_in_the_guide_and_a_test() {
    let (guide, tests) = (file(GUIDE), TESTS.map(file).concat());
    for rule in rules() {
        let Rule::Alert { alert, pending, labels, annotations, .. } = rule else { continue };
        assert!(guide.contains(&format!("\n### {alert}\n")), "{alert} has no section");
        assert!(
            tests.contains(&format!("alertname: {alert}\n        exp_alerts:")),
            "{alert} fires in no test"
        );
        assert_eq!(annotations.runbook_url, format!("{GUIDE}#{}", alert.to_lowercase()));
        assert!(["info", "warning", "critical"].contains(&&*labels.severity), "{alert}");
        let row = guide.lines().find(|line| line.starts_with(&format!("| [{}]", labels.requirement)));
        assert!(row.is_some_and(|row| row.contains(&format!("[{alert}]"))), "{alert} is not in its row");
        assert!(pending.ends_with(['m', 'h']) && annotations.summary.ends_with('.'), "{alert}");
        assert!(annotations.description.ends_with('.'), "{alert}");
    }
}

#[test]
fn every_signal_of_the_keps_has_a_row_in_the_guide() {
    let guide = file(GUIDE);
    let missing: Vec<&str> = jobcheck_spec::CATALOGUE
        .iter()
        .map(|entry| entry.id)
        .filter(|id| id.starts_with("OP-") || *id == "UG-18")
        .filter(|id| !guide.contains(&format!("\n| [{id}](")))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// `promtool` is in the distribution's package `prometheus`, which `.ci/run` installs.
#[test]
fn prometheus_accepts_the_rules_and_each_alert_fires_in_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for arguments in [vec!["check", "rules", RULES], [&["test", "rules"][..], &TESTS].concat()] {
        let run = match Command::new("promtool").args(&arguments).current_dir(&root).output() {
            Ok(run) => run,
            Err(error) => {
                crate::support::not_run(&format!(
                    "promtool {}: {error}; install prometheus",
                    arguments.join(" ")
                ));
                continue;
            }
        };
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
}
