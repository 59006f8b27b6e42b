//! The Jobs that are measured.

use serde_json::{Value, json};

/// Where they are.
pub const NAMESPACE: &str = "default";

/// A Job of so many pods, of which so many run at a time.
pub fn plain(name: &str, completions: u32, parallelism: u32) -> Value {
    let container = json!({"name": "main", "image": "example.com/work"});
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "completions": completions, "parallelism": parallelism, "backoffLimit": 1_000_000,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    })
}

/// The same, Indexed.
pub fn indexed(name: &str, completions: u32, parallelism: u32) -> Value {
    let mut job = plain(name, completions, parallelism);
    job["spec"]["completionMode"] = json!("Indexed");
    job
}

/// The same, with a limit for each index.
pub fn per_index(name: &str, completions: u32, parallelism: u32) -> Value {
    let mut job = indexed(name, completions, parallelism);
    if let Some(spec) = job["spec"].as_object_mut() {
        spec.remove("backoffLimit");
    }
    job["spec"]["backoffLimitPerIndex"] = json!(1);
    job
}

/// A Job that waits.
pub fn suspended(name: &str) -> Value {
    let mut job = indexed(name, 10, 10);
    job["spec"]["suspend"] = json!(true);
    job
}
