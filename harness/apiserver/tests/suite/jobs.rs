//! Jobs: defaults, generated fields, and refusals.

use jobcheck_apiserver::Config;
use jobcheck_apiserver::resource::Resource::Jobs;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use crate::cluster::{Cluster, job, with};

fn created(cluster: &mut Cluster, body: Value) -> Value {
    Value::clone(&cluster.create(Jobs, body).unwrap())
}

#[test]
fn a_new_job_has_defaults_labels_and_a_selector() {
    let mut cluster = Cluster::new();
    let mut body = job("a");
    body["status"] = json!({"active": 3});
    let job = created(&mut cluster, body);
    let (spec, uid) = (&job["spec"], &job["metadata"]["uid"]);
    for (key, value) in [
        ("parallelism", json!(1)),
        ("completions", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        assert_eq!(spec[key], value, "{key}");
    }
    let labels = json!({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "a",
        "controller-uid": uid, "job-name": "a"});
    assert_eq!(spec["template"]["metadata"]["labels"], labels);
    assert_eq!(job["metadata"]["labels"], labels);
    assert_eq!(spec["selector"]["matchLabels"], json!({"batch.kubernetes.io/controller-uid": uid}));
    assert_eq!((&job["metadata"]["generation"], &job["status"]), (&json!(1), &json!({})));
    assert_eq!(spec["template"]["spec"]["containers"][0]["imagePullPolicy"], "Always");
}

#[test]
fn refused_jobs_name_the_field() {
    let mut cluster = Cluster::new();
    for (pointer, value, field) in [
        (
            "/spec/parallelism",
            json!(-1),
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "/spec/template/spec/restartPolicy",
            json!(null),
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
        ),
        ("/spec/template/spec/containers", json!([]), "spec.template.spec.containers: Required value"),
        (
            "/spec/podReplacementPolicy",
            json!("x"),
            "spec.podReplacementPolicy: Unsupported value: \"x\": supported values: \"Failed\", \"TerminatingOrFailed\"",
        ),
        (
            "/spec/backoffLimitPerIndex",
            json!(1),
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ),
    ] {
        let error = cluster.create(Jobs, with(&job("a"), pointer, value)).unwrap_err();
        assert_eq!((error.code, error.message), (422, format!("Job.batch \"a\" is invalid: {field}")));
    }
}

#[test]
fn the_generation_counts_changes_of_the_specification() {
    let mut cluster = Cluster::new();
    let first = created(&mut cluster, job("a"));
    let scaled = cluster.update(Jobs, with(&first, "/spec/parallelism", json!(3))).unwrap();
    assert_eq!(scaled["metadata"]["generation"], 2);
    let started = with(&scaled, "/status/startTime", json!("2026-11-21T00:00:00Z"));
    assert_eq!(cluster.update_status(Jobs, started).unwrap()["metadata"]["generation"], 2);
    let now = cluster.get(Jobs, "a").unwrap();
    let refused = cluster.update(Jobs, with(&now, "/spec/completions", json!(5))).unwrap_err();
    assert_eq!(
        refused.message,
        "Job.batch \"a\" is invalid: spec.completions: Invalid value: 5: field is immutable"
    );
    let image = with(&now, "/spec/template/spec/containers/0/image", json!("other"));
    let refused = cluster.update(Jobs, image).unwrap_err();
    assert!(
        refused.message.starts_with("Job.batch \"a\" is invalid: spec.template: Invalid value:"),
        "{}",
        refused.message
    );
}

#[test]
fn the_status_keeps_its_rules() {
    let mut cluster = Cluster::new();
    let first = created(&mut cluster, job("a"));
    let status = |status: Value| with(&first, "/status", status);
    for (bad, why) in [
        (json!({"ready": 1}), "status.ready: Invalid value: 1: cannot set more ready pods than active"),
        (
            json!({"completionTime": "2026-11-21T00:00:00Z"}),
            "status.completionTime: Invalid value: \"2026-11-21T00:00:00Z\": cannot set completionTime when there is no Complete=True condition",
        ),
        (
            json!({"conditions": [{"type": "Complete", "status": "True"}]}),
            "[status.startTime: Required value: startTime is required for finished job, status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition, status.completionTime: Required value: completionTime is required for Complete jobs]",
        ),
        (
            json!({"uncountedTerminatedPods": {"succeeded": ["x"], "failed": ["x"]}}),
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"x\"",
        ),
    ] {
        let error = cluster.update_status(Jobs, status(bad)).unwrap_err();
        assert_eq!(error.message, format!("Job.batch \"a\" is invalid: {why}"));
    }
    let good = json!({"startTime": "2026-11-21T00:00:00Z", "active": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}});
    let stored = cluster.update_status(Jobs, status(good.clone())).unwrap();
    assert_eq!(stored["status"], good);
    // A status write ignores the specification, but not the labels.
    let mut sneaky = with(&stored, "/spec/parallelism", json!(9));
    sneaky["metadata"]["labels"]["mine"] = json!("1");
    let after = cluster.update_status(Jobs, sneaky).unwrap();
    assert_eq!(
        (&after["spec"]["parallelism"], &after["metadata"]["labels"]["mine"]),
        (&json!(1), &json!("1"))
    );
}

/// SS-09 is one rule with two wordings.
#[test]
fn a_start_time_that_goes_is_refused_in_the_words_of_the_version() {
    for (rules, message) in [
        (RuleSet::V1_35, "Required value: startTime cannot be removed for unsuspended job"),
        (RuleSet::V1_36, "Invalid value: null: field is immutable for unsuspended job once set"),
    ] {
        let mut cluster = Cluster::with(Config { rules, ..Config::default() });
        let job = created(&mut cluster, job("a"));
        let started = with(&job, "/status/startTime", json!("2026-11-21T00:00:00Z"));
        let started = cluster.update_status(Jobs, started).unwrap();
        let refused =
            cluster.update_status(Jobs, with(&started, "/status/startTime", json!(null))).unwrap_err();
        assert!(refused.message.ends_with(&format!("status.startTime: {message}")), "{}", refused.message);
    }
}
