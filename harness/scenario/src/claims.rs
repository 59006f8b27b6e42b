//! What a scenario says of a Job and its pods: conditions to wait for, and expectations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::values::{Condition, Id, Quantity};

/// What is said of a Job and its pods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claims {
    /// The Job; may be left out where there is one only. A step names it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The requirement that asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<Id>,
    /// Whether the Job is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Whether it is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleting: Option<bool>,
    /// Whether it has a terminal condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<bool>,
    /// Whether it has `startTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<bool>,
    /// Whether it has `completionTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<bool>,
    /// Conditions that are true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Conditions that are not true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_conditions: Vec<Condition>,
    /// Reasons of conditions.
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
    /// UIDs in `status.uncountedTerminatedPods`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<Quantity>,
    /// `status.completedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_indexes: Option<String>,
    /// `status.failedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_indexes: Option<String>,
    /// Its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodClaims>,
}

/// How many pods there are of each sort.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodClaims {
    /// All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Quantity>,
    /// Those that have not ended and are not being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Quantity>,
    /// Those that are being deleted and have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<Quantity>,
    /// Those in phase `Succeeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<Quantity>,
    /// Those in phase `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Quantity>,
    /// Those with the tracking finalizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Quantity>,
    /// Those that the Job controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled: Option<Quantity>,
    /// Those that there ever were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Quantity>,
}
