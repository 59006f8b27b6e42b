//! Claims about a Job and its pods: conditions to wait for, and expectations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::values::{Condition, Id, Quantity};

/// Claims about a Job and its pods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claims {
    /// The Job. Optional if there is only one. In a step, the step names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The requirement from which the claims follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<Id>,
    /// True: the Job exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// True: it is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleting: Option<bool>,
    /// True: it has a terminal condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<bool>,
    /// True: it has `startTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<bool>,
    /// True: it has `completionTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<bool>,
    /// The conditions that are true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The conditions that are not true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_conditions: Vec<Condition>,
    /// The reasons of conditions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<Condition, String>,
    /// `status.active`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Quantity>,
    /// `status.ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<Quantity>,
    /// `status.terminating`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<Quantity>,
    /// `status.succeeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<Quantity>,
    /// `status.failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Quantity>,
    /// The number of UIDs in `status.uncountedTerminatedPods`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<Quantity>,
    /// `status.completedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_indexes: Option<String>,
    /// `status.failedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_indexes: Option<String>,
    /// The pods of the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodClaims>,
}

/// The numbers of pods in each state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodClaims {
    /// All existing pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Quantity>,
    /// Pods that have not terminated and are not being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Quantity>,
    /// Pods that are being deleted and have not terminated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<Quantity>,
    /// Pods in phase `Succeeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<Quantity>,
    /// Pods in phase `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Quantity>,
    /// Pods with the tracking finalizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Quantity>,
    /// Pods that the Job controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled: Option<Quantity>,
    /// All pods that were created so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Quantity>,
}
