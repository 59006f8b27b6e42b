//! The cases and figures of a measurement.

use jobcheck_bench::median;
use serde::Serialize;
use serde_json::{Value, json};

/// The result of the pods of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodResult {
    /// Each succeeds.
    Succeed,
    /// Each fails. No index is retried, since controllers would wait for that with different delays.
    Fail,
}

/// A Job, and the limit of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// The limit of requests per second. 0 is no limit.
    pub qps: u32,
    /// The result of its pods.
    pub pod_result: PodResult,
    /// The number of its pods, which all run at once.
    pub pods: u32,
}

impl Case {
    /// The manifest of the Job, without a name.
    pub fn job(&self) -> Value {
        let mut job = indexed(self.pods, self.pods);
        if self.pod_result == PodResult::Fail {
            job["spec"]["backoffLimitPerIndex"] = json!(0);
        }
        job
    }
}

/// The manifest of an Indexed Job, without a name.
pub fn indexed(completions: u32, parallelism: u32) -> Value {
    let container = json!({"name": "main", "image": "example.com/work"});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "spec": {
            "completionMode": "Indexed", "completions": completions, "parallelism": parallelism,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    })
}

/// The figures of one measurement.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The seconds from the creation of the Job to its terminal condition.
    pub seconds: f64,
    /// The seconds from the termination of the last pod to the terminal condition.
    pub last_seconds: f64,
    /// The requests of the controller for Jobs and pods.
    pub calls: f64,
    /// The CPU seconds of the controller's process in that time.
    pub cpu_seconds: f64,
    /// The peak memory of the process in MB.
    pub peak_mb: f64,
}

impl Figures {
    /// The median of each figure.
    pub fn median(all: &[Figures]) -> Figures {
        let of = |figure: fn(&Figures) -> f64| median(all.iter().map(figure));
        Figures {
            seconds: of(|it| it.seconds),
            last_seconds: of(|it| it.last_seconds),
            calls: of(|it| it.calls),
            cpu_seconds: of(|it| it.cpu_seconds),
            peak_mb: of(|it| it.peak_mb),
        }
    }
}
