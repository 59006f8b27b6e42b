//! Creations of pods with a server error that were stored. Their responses name no pods, and the controller may see them before
//! the trace shows them.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{parsed, validated_lines};
use serde_json::{Value, json};

use crate::judge_truncated_events::{recordings, wrong_after};

/// The response of an API server whose request to etcd has timed out.
fn times_out(line: &mut Value) {
    let status = json!({"metadata": {}, "status": "Failure", "reason": "Timeout", "code": 504,
        "message": "Timeout: request did not complete within requested timeout - context deadline exceeded"});
    line["responseObject"] = status.clone();
    line["responseObject"]["kind"] = json!("Status");
    line["responseObject"]["apiVersion"] = json!("v1");
    line["responseStatus"] = status;
}

/// A write that timed out and was stored makes no recording wrong. Returns the number of edits.
fn never_violates(writes: impl Fn(&Value) -> bool) -> usize {
    let (wrong, traces) = wrong_after(|line| {
        let is_it = line["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300) && writes(line);
        if is_it {
            times_out(line);
        }
        is_it
    });
    assert_eq!(wrong, []);
    traces
}

#[test]
fn a_creation_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let creates = |line: &Value| {
        let target = &line["objectRef"];
        line["verb"] == "create" && target["resource"] == "pods" && target["subresource"].is_null()
    };
    assert!(never_violates(creates) > 60);
}

/// A Job controller goes on in another way after an error. Writes of others change nothing that it has heard.
#[test]
fn a_write_of_somebody_else_to_a_pod_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let changes = |line: &Value| {
        let is_controllers = line["userAgent"].as_str().is_some_and(|it| it.ends_with("job-controller"));
        line["objectRef"]["resource"] == "pods" && !is_controllers
    };
    assert!(never_violates(changes) > 100);
}

#[test]
fn a_write_to_a_job_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    assert!(never_violates(|line| line["objectRef"]["resource"] == "jobs") > 100);
}

/// A count that no number of lost creations explains stays wrong.
#[test]
fn a_lost_creation_explains_one_pod() {
    let (_, whole) =
        recordings().into_iter().find(|(name, _)| name == "backoff-limit-exceeded.audit").unwrap();
    let mut trace = whole;
    let number = trace.iter().position(|it| it["verb"] == "create" && it["objectRef"]["resource"] == "pods");
    times_out(&mut trace[number.unwrap()]);
    let text: Vec<String> = trace.iter().map(Value::to_string).collect();
    let text = text.join("\n").replace("\"active\":2", "\"active\":9");
    assert_eq!(validated_lines(&parsed(&text)).outcome(), Outcome::Violates);
}
