//! What is measured.

use serde::Serialize;
use serde_json::{Value, json};

/// What becomes of the pods of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// Each succeeds.
    Succeed,
    /// Each fails. An index may not be tried again, since no controller would wait for that as long as another.
    Fail,
}

/// A Job, and how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Requests a second; 0 for no limit.
    pub qps: u32,
    /// What becomes of its pods.
    pub fate: Fate,
    /// How many it has, all at a time.
    pub pods: u32,
}

impl Case {
    /// The Job.
    pub fn job(&self, name: &str) -> Value {
        let container = json!({"name": "main", "image": "example.com/work"});
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {
                "completionMode": "Indexed", "completions": self.pods, "parallelism": self.pods,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        });
        if self.fate == Fate::Fail {
            job["spec"]["backoffLimitPerIndex"] = json!(0);
        }
        job
    }
}

/// What one measurement tells.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// From the creation of the Job to its terminal condition.
    pub seconds: f64,
    /// From the end of the last pod to the terminal condition.
    pub last_seconds: f64,
    /// Requests of the controller for Jobs and pods.
    pub calls: f64,
    /// Seconds of CPU of the controller's process in that time.
    pub cpu_seconds: f64,
    /// The most memory that the process ever had, in MB.
    pub peak_mb: f64,
}

impl Figures {
    /// The median of each figure.
    pub fn median(all: &[Figures]) -> Figures {
        let of = |figure: fn(&Figures) -> f64| {
            let mut sorted: Vec<f64> = all.iter().map(figure).collect();
            sorted.sort_by(f64::total_cmp);
            let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
            (sorted.get(upper).unwrap_or(&0.0) + sorted.get(lower).unwrap_or(&0.0)) / 2.0
        };
        Figures {
            seconds: of(|it| it.seconds),
            last_seconds: of(|it| it.last_seconds),
            calls: of(|it| it.calls),
            cpu_seconds: of(|it| it.cpu_seconds),
            peak_mb: of(|it| it.peak_mb),
        }
    }
}
