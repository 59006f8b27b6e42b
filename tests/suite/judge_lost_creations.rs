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

/// Recordings that are wrong all the same, with the number of the line. The lost pod matters for more than a number of pods
/// (`docs/results/attacks.md`, *Open*).
const OPEN: [(&str, usize); 4] = [
    ("max-failed-indexes.audit", 3),
    ("max-failed-indexes.audit", 5),
    ("per-index-backoff.audit", 8),
    ("success-policy.audit", 4),
];

#[test]
fn a_creation_that_timed_out_and_was_stored_makes_no_recording_wrong() {
    let (wrong, traces) = wrong_after(|line| {
        let target = &line["objectRef"];
        let creates =
            line["verb"] == "create" && target["resource"] == "pods" && target["subresource"].is_null();
        let is_it = creates && line["responseStatus"]["code"] == 201;
        if is_it {
            times_out(line);
        }
        is_it
    });
    assert!(traces > 60, "{traces}");
    let places: Vec<(&str, usize)> = wrong.iter().map(|(name, line, _)| (name.as_str(), *line)).collect();
    assert_eq!(places, OPEN, "{wrong:#?}");
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
