//! `podFailurePolicy` and `successPolicy` of a Job.

use super::Text;

/// `podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodFailurePolicy {
    /// The rules in order; the first match wins (PF-01).
    pub rules: Vec<PodFailureRule>,
}

/// A rule of a pod failure policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodFailureRule {
    /// `action`.
    pub action: FailureAction,
    /// `onExitCodes`.
    pub on_exit_codes: Option<OnExitCodes>,
    /// `onPodConditions`; empty if it is unset.
    pub on_pod_conditions: Vec<ConditionPattern>,
}

impl PodFailureRule {
    /// A rule that matches one exit code of any container.
    #[must_use]
    pub fn on_exit_code(action: FailureAction, code: i32) -> PodFailureRule {
        let codes = OnExitCodes { container_name: None, is_in: Some(true), values: vec![code] };
        PodFailureRule { action, on_exit_codes: Some(codes), on_pod_conditions: Vec::new() }
    }
}

/// `action` of a pod failure rule (PF-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FailureAction {
    /// The Job fails.
    FailJob,
    /// The pod's index fails.
    FailIndex,
    /// The failure is not counted.
    Ignore,
    /// The failure is counted.
    Count,
    /// A value of a newer Kubernetes: the rule is skipped (PF-05).
    Unknown,
}

/// `onExitCodes` of a pod failure rule (PF-03).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OnExitCodes {
    /// `containerName`.
    pub container_name: Option<Text>,
    /// `operator`: `true` for `In`, `false` for `NotIn`, `None` for any other value.
    pub is_in: Option<bool>,
    /// `values`.
    pub values: Vec<i32>,
}

/// A pattern of `onPodConditions` (PF-04).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ConditionPattern {
    /// `type`.
    pub kind: Text,
    /// `status`; the API server sets `True` if it is missing.
    pub status: Text,
}

/// `successPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SuccessPolicy {
    /// The rules in order.
    pub rules: Vec<SuccessRule>,
}

/// A rule of a success policy (SX-02).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SuccessRule {
    /// `succeededIndexes`, as text.
    pub succeeded_indexes: Option<Text>,
    /// `succeededCount`.
    pub succeeded_count: Option<i32>,
}
