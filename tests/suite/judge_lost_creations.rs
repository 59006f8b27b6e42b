//! Creations of pods with a server error that were stored. Their responses name no pods, and the controller may see them before
//! the trace shows them.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{parsed, validated_lines};
use serde_json::{Value, json};

use crate::judge_truncated_events::{recordings, wrong_after};

/// The response of an API server whose request to etcd has timed out.
pub fn times_out(line: &mut Value) {
    let status = json!({"metadata": {}, "status": "Failure", "reason": "Timeout", "code": 504,
        "message": "Timeout: request did not complete within requested timeout - context deadline exceeded"});
    line["responseObject"] = status.clone();
    line["responseObject"]["kind"] = json!("Status");
    line["responseObject"]["apiVersion"] = json!("v1");
    line["responseStatus"] = status;
}

/// The recordings that are wrong after a write timed out and was stored, with the numbers of the lines, and the number of edits.
fn wrong_after_timeouts(writes: impl Fn(&Value) -> bool) -> (Vec<(String, usize)>, usize) {
    let (wrong, traces) = wrong_after(|line| {
        let is_it = line["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300) && writes(line);
        if is_it {
            times_out(line);
        }
        is_it
    });
    (wrong.into_iter().map(|(name, line, _)| (name, line)).collect(), traces)
}

#[test]
fn a_creation_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let (wrong, traces) = wrong_after_timeouts(|line| {
        let target = &line["objectRef"];
        line["verb"] == "create" && target["resource"] == "pods" && target["subresource"].is_null()
    });
    assert!(traces > 60, "{traces}");
    assert_eq!(wrong, []);
}

/// After an error, a Job controller does something else. Writes of others change nothing that it has heard.
#[test]
fn a_write_of_somebody_else_to_a_pod_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let (wrong, traces) = wrong_after_timeouts(|line| {
        let is_controllers = line["userAgent"].as_str().is_some_and(|it| it.ends_with("job-controller"));
        line["objectRef"]["resource"] == "pods" && !is_controllers
    });
    assert!(traces > 100, "{traces}");
    assert_eq!(wrong, []);
}

#[test]
fn a_write_to_a_job_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let (wrong, traces) = wrong_after_timeouts(|line| line["objectRef"]["resource"] == "jobs");
    assert!(traces > 100, "{traces}");
    assert_eq!(wrong, []);
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
