//! Audit events without their bodies. With `--audit-log-truncate-enabled` the API server omits both bodies of a large event, and
//! says so in an annotation. The bodies are then unknown, and not absent.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, lines, validated_lines};
use serde_json::{Value, json};

use crate::corpus;

/// The audit logs of the corpus.
pub fn recordings() -> Vec<(String, Vec<Value>)> {
    corpus::recordings(".audit")
}

fn is_read(line: &Value) -> bool {
    ["get", "list", "watch"].contains(&line["verb"].as_str().unwrap_or_default())
}

/// A recording that is wrong after an edit: its name, the number of the edited line, and what is broken.
pub type Wrong = (String, usize, Vec<String>);

/// Edits one event of a recording, for each event that the edit concerns. Returns the wrong ones, and the number of edits.
pub fn wrong_after(edit: impl Fn(&mut Value) -> bool) -> (Vec<Wrong>, usize) {
    let (mut wrong, mut traces) = (Vec::new(), 0);
    for (name, whole) in recordings() {
        for number in 0..whole.len() {
            let mut trace = whole.clone();
            if is_read(&trace[number]) || !edit(&mut trace[number]) {
                continue;
            }
            traces += 1;
            let found = validated_lines(&trace);
            if found.outcome() == Outcome::Violates {
                wrong.push((name.clone(), number + 1, broken(&found)));
            }
        }
    }
    (wrong, traces)
}

/// No edit of one event of a recording makes it wrong.
fn never_violates(edit: impl Fn(&mut Value) -> bool) -> usize {
    let (wrong, traces) = wrong_after(edit);
    assert_eq!(wrong, []);
    traces
}

fn truncate(line: &mut Value) -> bool {
    let event = line.as_object_mut().unwrap();
    event.remove("requestObject");
    event.remove("responseObject");
    line["annotations"]["audit.k8s.io/truncated"] = json!("true");
    true
}

#[test]
fn a_truncated_event_makes_no_recording_wrong() {
    assert!(never_violates(truncate) > 400);
}

#[test]
fn an_omitted_response_makes_no_recording_wrong() {
    let without = |line: &mut Value| {
        let writes = ["create", "update", "patch"].contains(&line["verb"].as_str().unwrap());
        writes && line.as_object_mut().unwrap().remove("responseObject").is_some()
    };
    assert!(never_violates(without) > 300);
}

/// A user may remove finalizers of others with the same request, so that the pod is gone.
#[test]
fn a_write_of_a_user_without_its_response_makes_no_recording_wrong() {
    let hides = |line: &mut Value| {
        let is_users = line["user"]["username"] == "admin" && line["objectRef"]["resource"] == "pods";
        line["level"] = json!("Request");
        is_users && line.as_object_mut().unwrap().remove("responseObject").is_some()
    };
    assert!(never_violates(hides) > 0);
}

/// A name in an object is no annotation of the event.
#[test]
fn nobody_can_truncate_an_event_from_within() {
    let mut trace = lines("invalid/FT-03--released-before-recorded.audit.jsonl");
    for line in &mut trace {
        for part in ["requestObject", "responseObject"] {
            if line[part]["metadata"].is_object() {
                line[part]["metadata"]["annotations"]["audit.k8s.io/truncated"] = json!("true");
            }
        }
    }
    assert_eq!(validated_lines(&trace).outcome(), Outcome::Violates);
}
