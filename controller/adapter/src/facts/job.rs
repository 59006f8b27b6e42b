//! Facts of a Job.

use std::sync::Arc;

use jobcheck_controller::job::observed::{
    CompletionMode, ExitCodeOperator, JobFacts, PodConditionPattern, PodFailureAction, PodFailureMatch,
    PodFailureRule, PodReplacementPolicy, SpecFacts, SuccessRule,
};
use jobcheck_controller::values::{Text, Uid};
use jobcheck_spec::job;

use super::{status, time, version};
use crate::names::Names;

/// The facts of a Job.
#[must_use]
pub fn facts(job: &job::Job, names: &Names) -> JobFacts {
    JobFacts {
        namespace: job.namespace.clone(),
        name: job.name.clone(),
        uid: uid(job),
        resource_version: version(),
        deletion: job.deleting.then(|| time(job.created)),
        spec: spec(&job.spec),
        status: status::facts(&job.status, names),
    }
}

/// The UID of a Job.
#[must_use]
pub fn uid(job: &job::Job) -> Uid {
    Uid(Text::from(format!("job-{}", job.uid.0)))
}

/// SP-01: the API server has set defaults. Other fields without a value get the zero value of their type.
fn spec(spec: &job::JobSpec) -> SpecFacts {
    SpecFacts {
        parallelism: spec.parallelism.unwrap_or(1),
        completions: spec.completions,
        completion_mode: completion_mode(spec.completion_mode),
        backoff_limit: spec.backoff_limit.unwrap_or(i32::MAX),
        backoff_limit_per_index: spec.backoff_limit_per_index,
        max_failed_indexes: spec.max_failed_indexes,
        active_deadline_seconds: spec.active_deadline_seconds,
        suspend: spec.suspend.unwrap_or(false),
        ttl_seconds_after_finished: spec.ttl_seconds_after_finished,
        pod_replacement_policy: spec.pod_replacement_policy.map(replacement_policy),
        pod_failure_policy: spec
            .pod_failure_policy
            .as_ref()
            .map(|policy| Arc::new(policy.rules.iter().map(failure_rule).collect())),
        success_policy: spec
            .success_policy
            .as_ref()
            .map(|policy| Arc::new(policy.rules.iter().map(success_rule).collect())),
        managed_by: spec.managed_by.clone(),
        restarts_on_failure: spec.template.restart_policy == job::RestartPolicy::OnFailure,
    }
}

fn completion_mode(mode: Option<job::CompletionMode>) -> CompletionMode {
    match mode {
        None | Some(job::CompletionMode::NonIndexed) => CompletionMode::NonIndexed,
        Some(job::CompletionMode::Indexed) => CompletionMode::Indexed,
        Some(job::CompletionMode::Unknown) => CompletionMode::Unknown,
    }
}

fn replacement_policy(policy: job::PodReplacementPolicy) -> PodReplacementPolicy {
    match policy {
        job::PodReplacementPolicy::TerminatingOrFailed => PodReplacementPolicy::TerminatingOrFailed,
        job::PodReplacementPolicy::Failed => PodReplacementPolicy::Failed,
        job::PodReplacementPolicy::Unknown => PodReplacementPolicy::Unknown,
    }
}

fn failure_rule(rule: &job::PodFailureRule) -> PodFailureRule {
    let on = match &rule.on_exit_codes {
        Some(codes) => exit_codes(codes),
        None if rule.on_pod_conditions.is_empty() => PodFailureMatch::Nothing,
        None => PodFailureMatch::PodConditions(rule.on_pod_conditions.iter().map(pattern).collect()),
    };
    PodFailureRule { action: action(rule.action), on }
}

fn exit_codes(codes: &job::OnExitCodes) -> PodFailureMatch {
    let operator = match codes.is_in {
        Some(true) => ExitCodeOperator::In,
        Some(false) => ExitCodeOperator::NotIn,
        None => ExitCodeOperator::Unknown,
    };
    let (container, values) = (codes.container_name.clone(), codes.values.clone());
    PodFailureMatch::ExitCodes { container, operator, values }
}

fn pattern(pattern: &job::ConditionPattern) -> PodConditionPattern {
    PodConditionPattern { kind: pattern.kind.clone(), status: pattern.status.clone() }
}

fn action(action: job::FailureAction) -> PodFailureAction {
    match action {
        job::FailureAction::FailJob => PodFailureAction::FailJob,
        job::FailureAction::FailIndex => PodFailureAction::FailIndex,
        job::FailureAction::Ignore => PodFailureAction::Ignore,
        job::FailureAction::Count => PodFailureAction::Count,
        job::FailureAction::Unknown => PodFailureAction::Unknown,
    }
}

fn success_rule(rule: &job::SuccessRule) -> SuccessRule {
    SuccessRule { succeeded_indexes: rule.succeeded_indexes.clone(), succeeded_count: rule.succeeded_count }
}
