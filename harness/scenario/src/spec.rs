//! The `spec` of a Job in a scenario: the fields of `batch/v1` that requirements use.

use jobcheck_spec::job::{
    CompletionMode, ConditionPattern, FailureAction, JobSpec, OnExitCodes, PodFailurePolicy, PodFailureRule,
    PodReplacementPolicy, RestartPolicy, Selector, SuccessPolicy, SuccessRule, Template,
};
use serde::{Deserialize, Serialize};

/// The fields of a Job's `spec` that are set. The pods have one container, `main`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecExcerpt {
    /// `parallelism`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<i32>,
    /// `completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<i32>,
    /// `completionMode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_mode: Option<ModeEntry>,
    /// `backoffLimit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    /// `backoffLimitPerIndex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit_per_index: Option<i32>,
    /// `maxFailedIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_failed_indexes: Option<i32>,
    /// `activeDeadlineSeconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// `ttlSecondsAfterFinished`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// `suspend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// `podReplacementPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_replacement_policy: Option<ReplacementEntry>,
    /// `podFailurePolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_policy: Option<FailurePolicyEntry>,
    /// `successPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_policy: Option<SuccessPolicyEntry>,
    /// `managedBy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// `template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateEntry>,
}

/// `completionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModeEntry {
    /// Any `completions` successes.
    NonIndexed,
    /// One success for each index.
    Indexed,
}

/// `podReplacementPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplacementEntry {
    /// As soon as a pod is being deleted or has failed.
    TerminatingOrFailed,
    /// Once it has failed.
    Failed,
}

impl From<ReplacementEntry> for PodReplacementPolicy {
    fn from(entry: ReplacementEntry) -> PodReplacementPolicy {
        match entry {
            ReplacementEntry::Failed => PodReplacementPolicy::Failed,
            ReplacementEntry::TerminatingOrFailed => PodReplacementPolicy::TerminatingOrFailed,
        }
    }
}

impl ReplacementEntry {
    /// The entry for a policy, if the format has one.
    #[must_use]
    pub fn of(policy: PodReplacementPolicy) -> Option<ReplacementEntry> {
        match policy {
            PodReplacementPolicy::Failed => Some(ReplacementEntry::Failed),
            PodReplacementPolicy::TerminatingOrFailed => Some(ReplacementEntry::TerminatingOrFailed),
            PodReplacementPolicy::Unknown => None,
        }
    }
}

/// `podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailurePolicyEntry {
    /// The rules. The first match applies.
    pub rules: Vec<FailureRuleEntry>,
}

/// A rule of a pod failure policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureRuleEntry {
    /// The action of a match.
    pub action: ActionEntry,
    /// `onExitCodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exit_codes: Option<ExitCodesEntry>,
    /// `onPodConditions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_pod_conditions: Vec<PatternEntry>,
}

/// `action` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionEntry {
    /// The Job fails.
    FailJob,
    /// The pod's index fails.
    FailIndex,
    /// The failure is not counted.
    Ignore,
    /// The failure is counted.
    Count,
}

/// `onExitCodes` of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExitCodesEntry {
    /// `containerName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    /// `operator`.
    pub operator: OperatorEntry,
    /// `values`.
    pub values: Vec<i32>,
}

/// `operator` of `onExitCodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorEntry {
    /// One of the values.
    In,
    /// None of the values, and not 0.
    NotIn,
}

/// An entry of `onPodConditions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternEntry {
    /// `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `status`. The default is `True`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// `successPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessPolicyEntry {
    /// The rules. One met rule is enough.
    pub rules: Vec<SuccessRuleEntry>,
}

/// A rule of a success policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuccessRuleEntry {
    /// `succeededIndexes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded_indexes: Option<String>,
    /// `succeededCount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded_count: Option<i32>,
}

/// `template`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateEntry {
    /// `template.spec`.
    pub spec: PodSpecEntry,
}

/// `template.spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSpecEntry {
    /// `restartPolicy`. The default is `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartEntry>,
}

/// `restartPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartEntry {
    /// A failed container terminates the pod.
    Never,
    /// A failed container is restarted in its pod.
    OnFailure,
}

impl SpecExcerpt {
    /// Returns the specification that the user sends.
    #[must_use]
    pub fn to_model(&self) -> JobSpec {
        let restart = self.template.as_ref().and_then(|template| template.spec.restart_policy);
        let restart_policy = match restart {
            Some(RestartEntry::OnFailure) => RestartPolicy::OnFailure,
            Some(RestartEntry::Never) | None => RestartPolicy::Never,
        };
        JobSpec {
            parallelism: self.parallelism,
            completions: self.completions,
            active_deadline_seconds: self.active_deadline_seconds,
            backoff_limit: self.backoff_limit,
            backoff_limit_per_index: self.backoff_limit_per_index,
            max_failed_indexes: self.max_failed_indexes,
            ttl_seconds_after_finished: self.ttl_seconds_after_finished,
            completion_mode: self.completion_mode.map(|mode| match mode {
                ModeEntry::NonIndexed => CompletionMode::NonIndexed,
                ModeEntry::Indexed => CompletionMode::Indexed,
            }),
            suspend: self.suspend,
            manual_selector: None,
            pod_replacement_policy: self.pod_replacement_policy.map(PodReplacementPolicy::from),
            pod_failure_policy: self.pod_failure_policy.as_ref().map(|policy| PodFailurePolicy {
                rules: policy.rules.iter().map(FailureRuleEntry::to_model).collect(),
            }),
            success_policy: self.success_policy.as_ref().map(SuccessPolicyEntry::to_model),
            managed_by: self.managed_by.as_deref().map(Into::into),
            selector: Selector::default(),
            template: Template {
                container_names: vec!["main".into()],
                restart_policy,
                ..Template::default()
            },
        }
    }

    /// Returns the excerpt of a specification.
    #[must_use]
    pub fn of(spec: &JobSpec) -> SpecExcerpt {
        let restarts = spec.template.restart_policy == RestartPolicy::OnFailure;
        let restart_policy = restarts.then_some(RestartEntry::OnFailure);
        SpecExcerpt {
            parallelism: spec.parallelism,
            completions: spec.completions,
            completion_mode: spec.is_indexed().then_some(ModeEntry::Indexed),
            backoff_limit: spec.backoff_limit,
            backoff_limit_per_index: spec.backoff_limit_per_index,
            max_failed_indexes: spec.max_failed_indexes,
            active_deadline_seconds: spec.active_deadline_seconds,
            ttl_seconds_after_finished: spec.ttl_seconds_after_finished,
            suspend: spec.suspend,
            pod_replacement_policy: (spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed))
                .then_some(ReplacementEntry::Failed),
            pod_failure_policy: spec.pod_failure_policy.as_ref().map(|policy| FailurePolicyEntry {
                rules: policy.rules.iter().filter_map(FailureRuleEntry::of).collect(),
            }),
            success_policy: spec.success_policy.as_ref().map(SuccessPolicyEntry::of),
            managed_by: spec.managed_by.as_deref().map(str::to_owned),
            template: restart_policy
                .map(|policy| TemplateEntry { spec: PodSpecEntry { restart_policy: Some(policy) } }),
        }
    }
}

impl FailureRuleEntry {
    fn to_model(&self) -> PodFailureRule {
        let pattern = |entry: &PatternEntry| ConditionPattern {
            kind: entry.kind.as_str().into(),
            status: entry.status.as_deref().unwrap_or("True").into(),
        };
        PodFailureRule {
            action: match self.action {
                ActionEntry::FailJob => FailureAction::FailJob,
                ActionEntry::FailIndex => FailureAction::FailIndex,
                ActionEntry::Ignore => FailureAction::Ignore,
                ActionEntry::Count => FailureAction::Count,
            },
            on_exit_codes: self.on_exit_codes.as_ref().map(|codes| OnExitCodes {
                container_name: codes.container_name.as_deref().map(Into::into),
                is_in: Some(codes.operator == OperatorEntry::In),
                values: codes.values.clone(),
            }),
            on_pod_conditions: self.on_pod_conditions.iter().map(pattern).collect(),
        }
    }

    /// `None` where its action is none of the API.
    fn of(rule: &PodFailureRule) -> Option<FailureRuleEntry> {
        let action = match rule.action {
            FailureAction::FailJob => ActionEntry::FailJob,
            FailureAction::FailIndex => ActionEntry::FailIndex,
            FailureAction::Ignore => ActionEntry::Ignore,
            FailureAction::Count => ActionEntry::Count,
            FailureAction::Unknown => return None,
        };
        let operator = |is_in| if is_in == Some(false) { OperatorEntry::NotIn } else { OperatorEntry::In };
        let pattern = |pattern: &ConditionPattern| PatternEntry {
            kind: pattern.kind.to_string(),
            status: Some(pattern.status.to_string()).filter(|status| status != "True"),
        };
        Some(FailureRuleEntry {
            action,
            on_exit_codes: rule.on_exit_codes.as_ref().map(|codes| ExitCodesEntry {
                container_name: codes.container_name.as_deref().map(str::to_owned),
                operator: operator(codes.is_in),
                values: codes.values.clone(),
            }),
            on_pod_conditions: rule.on_pod_conditions.iter().map(pattern).collect(),
        })
    }
}

impl SuccessPolicyEntry {
    fn to_model(&self) -> SuccessPolicy {
        let rule = |rule: &SuccessRuleEntry| SuccessRule {
            succeeded_indexes: rule.succeeded_indexes.as_deref().map(Into::into),
            succeeded_count: rule.succeeded_count,
        };
        SuccessPolicy { rules: self.rules.iter().map(rule).collect() }
    }

    fn of(policy: &SuccessPolicy) -> SuccessPolicyEntry {
        let rule = |rule: &SuccessRule| SuccessRuleEntry {
            succeeded_indexes: rule.succeeded_indexes.as_deref().map(str::to_owned),
            succeeded_count: rule.succeeded_count,
        };
        SuccessPolicyEntry { rules: policy.rules.iter().map(rule).collect() }
    }
}
