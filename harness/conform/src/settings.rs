//! The settings that all runs share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jobcheck_report::types::JudgingOptions;
use jobcheck_spec::time::CLOCK_SKEW;
use serde_json::{Map, Value};

/// A command that only the author of the manager knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// The settings that all runs share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `spec.managedBy` of every Job. Without it, the profile says who manages the Jobs.
    pub managed_by: Option<String>,
    /// Objects that are created in the namespace on the cluster of the manager, before the Job.
    pub objects: Vec<Value>,
    /// Objects that are created in the namespace on each other cluster, before the Job.
    pub worker_objects: Vec<Value>,
    /// A custom resource with the field `spec.managedBy`, for the profile field.
    pub resource: Option<Value>,
    /// Labels of every Job.
    pub labels: Map<String, Value>,
    /// Annotations of every Job.
    pub annotations: Map<String, Value>,
    /// The hooks by name.
    pub hooks: BTreeMap<String, Hook>,
    /// The longest wait of a step.
    pub patience: Duration,
    /// The folder for the traces.
    pub out: PathBuf,
    /// Keeps the namespace of a run that does not pass.
    pub keeps_failed: bool,
    /// The options of the judge, which the report has, too.
    pub judging: JudgingOptions,
}

impl Settings {
    /// The time by which the judge lets the clocks of two clusters differ.
    pub(crate) fn skew(&self) -> Duration {
        let seconds = self.judging.skew.unwrap_or(CLOCK_SKEW);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }
}
