//! The fields of Jobs and pods that a page shows, each as a name and a text.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Fields with their values.
pub type Fields = BTreeMap<String, String>;

/// The number of characters of a value.
const LONGEST: usize = 600;
/// The parts of metadata that are on no page: they say nothing, or the lane says it.
const HIDDEN: [&str; 8] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "name",
    "namespace",
    "generateName",
    "selfLink",
    "deletionGracePeriodSeconds",
];

/// The fields of an object, or of a part of one.
pub fn fields(object: &Value, is_pod: bool) -> Fields {
    let mut out = Fields::new();
    let Some(object) = object.as_object() else { return out };
    if let Some(Value::Object(metadata)) = object.get("metadata") {
        of_metadata(metadata, &mut out);
    }
    if let Some(Value::Object(spec)) = object.get("spec") {
        for (key, value) in spec {
            let is_shown = if is_pod {
                matches!(key.as_str(), "nodeName" | "schedulingGates")
            } else {
                !matches!(key.as_str(), "template" | "selector")
            };
            if is_shown {
                put(&mut out, format!("spec.{key}"), value);
            }
        }
    }
    if let Some(Value::Object(status)) = object.get("status") {
        of_status(status, &mut out);
    }
    out
}

fn of_metadata(metadata: &Map<String, Value>, out: &mut Fields) {
    for (key, value) in metadata.iter().filter(|(key, _)| !HIDDEN.contains(&key.as_str())) {
        match (key.as_str(), value) {
            ("labels" | "annotations", Value::Object(all)) => {
                for (name, value) in all {
                    put(out, format!("metadata.{key} {name}"), value);
                }
            }
            ("ownerReferences", Value::Array(owners)) => {
                let owner = owners.iter().find(|it| it["controller"] == true);
                let word = |owner: &Value, key: &str| owner[key].as_str().unwrap_or_default().to_owned();
                if let Some(owner) = owner {
                    let name = format!("{} {}", word(owner, "kind"), word(owner, "name"));
                    out.insert("metadata.controller".to_owned(), cut(name));
                }
            }
            _ => put(out, format!("metadata.{key}"), value),
        }
    }
}

fn of_status(status: &Map<String, Value>, out: &mut Fields) {
    for (key, value) in status {
        match (key.as_str(), value) {
            ("conditions", Value::Array(all)) => {
                for condition in all {
                    let word = |key: &str| condition[key].as_str().unwrap_or_default();
                    let why = [word("reason"), word("message")];
                    let why: Vec<&str> = why.into_iter().filter(|it| !it.is_empty()).collect();
                    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(": ")) };
                    out.insert(
                        format!("status.condition {}", word("type")),
                        cut(format!("{}{why}", word("status"))),
                    );
                }
            }
            ("uncountedTerminatedPods", Value::Object(lists)) => {
                for list in ["succeeded", "failed"] {
                    if let Some(value) = lists.get(list) {
                        put(out, format!("status.uncountedTerminatedPods.{list}"), value);
                    }
                }
            }
            ("containerStatuses" | "initContainerStatuses", Value::Array(all)) => {
                for container in all {
                    let name = container["name"].as_str().unwrap_or_default();
                    out.insert(format!("status.container {name}"), of_container(&container["state"]));
                }
            }
            ("podIP" | "podIPs" | "hostIP" | "hostIPs" | "qosClass" | "observedGeneration", _) => {}
            _ => put(out, format!("status.{key}"), value),
        }
    }
}

/// The state of a container: `running`, `waiting (ImagePullBackOff)`, `exit 1`.
fn of_container(state: &Value) -> String {
    let Some((name, state)) = state.as_object().and_then(|it| it.iter().next()) else { return String::new() };
    match (state.get("exitCode"), state.get("reason").and_then(Value::as_str)) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(reason)) => cut(format!("{name} ({reason})")),
        (None, None) => name.clone(),
    }
}

/// Adds a value, unless it is empty: for the API, that is the same as absence.
fn put(out: &mut Fields, name: String, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Object(members) if members.is_empty() => return,
        other => other.to_string(),
    };
    if !text.is_empty() {
        out.insert(name, cut(text));
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns `true` if no rule is about changes of this field.
pub fn is_quiet(field: &str) -> bool {
    const QUIET: [&str; 8] = [
        "metadata.labels ",
        "metadata.annotations ",
        "metadata.generation",
        "metadata.creationTimestamp",
        "spec.nodeName",
        "status.container ",
        "status.startTime",
        "status.condition Pod",
    ];
    QUIET.iter().any(|start| field.starts_with(start))
        || ["status.condition Initialized", "status.condition ContainersReady"].contains(&field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_is_shown_by_its_status_and_the_settings_that_rules_read() {
        let job = json!({
            "metadata": {"name": "a", "resourceVersion": "7", "finalizers": ["x", "y"], "annotations": {"k": "v"},
                "ownerReferences": [{"kind": "CronJob", "name": "c", "controller": true}]},
            "spec": {"parallelism": 2, "template": {"spec": {}}, "selector": {}},
            "status": {"active": 1, "uncountedTerminatedPods": {"failed": ["u1", "u2"]},
                "conditions": [{"type": "Failed", "status": "True", "reason": "R", "message": "M"}]}
        });
        let shown = fields(&job, false);
        let shown: Vec<(&str, &str)> =
            shown.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("metadata.annotations k", "v"),
                ("metadata.controller", "CronJob c"),
                ("metadata.finalizers", "x y"),
                ("spec.parallelism", "2"),
                ("status.active", "1"),
                ("status.condition Failed", "True (R: M)"),
                ("status.uncountedTerminatedPods.failed", "u1 u2"),
            ]
        );
    }

    #[test]
    fn a_pod_is_shown_by_what_a_controller_looks_at() {
        let pod = json!({
            "spec": {"nodeName": "n", "containers": [{"env": "secret"}]},
            "status": {"phase": "Failed", "podIP": "10.0.0.1",
                "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]}
        });
        let shown = fields(&pod, true);
        assert_eq!(shown.keys().collect::<Vec<_>>(), ["spec.nodeName", "status.container c", "status.phase"]);
        assert_eq!(shown["status.container c"], "exit 3");
        assert!(is_quiet("status.container c") && is_quiet("spec.nodeName") && !is_quiet("status.phase"));
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = fields(&json!({"metadata": {"annotations": {"k": "ä".repeat(5_000)}}}), false);
        assert_eq!(long["metadata.annotations k"].chars().count(), LONGEST + 1);
    }
}
