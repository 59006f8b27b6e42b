//! The Jobs of the measurements.

use serde_json::{Value, json};

/// The namespace of all Jobs.
pub const NAMESPACE: &str = "default";

/// A NonIndexed Job.
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

/// An Indexed Job.
pub fn indexed(name: &str, completions: u32, parallelism: u32) -> Value {
    let mut job = plain(name, completions, parallelism);
    job["spec"]["completionMode"] = json!("Indexed");
    job
}

/// An Indexed Job with a backoff limit per index.
pub fn per_index(name: &str, completions: u32, parallelism: u32) -> Value {
    let mut job = indexed(name, completions, parallelism);
    if let Some(spec) = job["spec"].as_object_mut() {
        spec.remove("backoffLimit");
    }
    job["spec"]["backoffLimitPerIndex"] = json!(1);
    job
}

/// A suspended Job.
pub fn suspended(name: &str) -> Value {
    let mut job = indexed(name, 10, 10);
    job["spec"]["suspend"] = json!(true);
    job
}
