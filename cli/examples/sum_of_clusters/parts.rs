//! The parts of a Job, and what is remembered of those that are gone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The label with the UID of the Job.
const ORIGIN: &str = "example.com/origin";
/// The annotation with the manager of the Job.
const MANAGER: &str = "example.com/manager";
/// The annotation of a Job with the counts of parts that have left.
pub const COUNTED: &str = "example.com/counted";
/// The finalizer, which keeps a part until it was counted.
const FINALIZER: &str = "example.com/counted";

/// The UID.
pub fn uid(part: &Value) -> &str {
    part["metadata"]["uid"].as_str().unwrap_or_default()
}

/// The manager that has created a part.
pub fn manager(part: &Value) -> Option<&str> {
    part["metadata"]["annotations"][MANAGER].as_str()
}

/// Returns true if it is a part of this Job, and not of its predecessor.
pub fn is_of(part: &Value, local: &Value) -> bool {
    part["metadata"]["labels"][ORIGIN] == local["metadata"]["uid"]
}

/// Returns true if it is being deleted.
pub fn is_leaving(part: &Value) -> bool {
    !part["metadata"]["deletionTimestamp"].is_null()
}

/// Successes and failures of the parts that have left, by their UIDs.
pub fn counted(local: &Value) -> BTreeMap<String, (i64, i64)> {
    let text = local["metadata"]["annotations"][COUNTED].as_str().unwrap_or("{}");
    serde_json::from_str(text).unwrap_or_default()
}

/// The successes that no part will have.
pub fn left(local: &Value, parts: &[&Value]) -> i64 {
    let open = |part: &&Value| number(&part["spec"], "completions") - number(&part["status"], "succeeded");
    let succeeded = number(&local["status"], "succeeded");
    number(&local["spec"], "completions") - succeeded - parts.iter().map(open).sum::<i64>()
}

/// A part of a Job that needs this many successes.
pub fn part_of(local: &Value, share: i64, manager: &str) -> Value {
    let mut spec = local["spec"].clone();
    for field in ["managedBy", "selector", "manualSelector"] {
        spec.as_object_mut().and_then(|it| it.remove(field));
    }
    spec["completions"] = json!(share);
    spec["parallelism"] = json!(share.min(number(&local["spec"], "parallelism")));
    // The API server of the member sets the labels of the part.
    spec["template"]["metadata"] = json!({});
    let metadata = &local["metadata"];
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": spec,
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"],
            "labels": {ORIGIN: metadata["uid"]}, "annotations": {MANAGER: manager}, "finalizers": [FINALIZER],
        },
    })
}

/// A number; 0 if it is not there.
pub fn number(of: &Value, field: &str) -> i64 {
    of[field].as_i64().unwrap_or(0)
}
