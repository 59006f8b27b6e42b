//! Small worlds, and what makes them harder.

use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::reference::run_by_the_algorithm;
use crate::scopes::{policy, scope};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::{
    FailureAction, JobSpec, PodFailureRule, RestartPolicy, SuccessPolicy, SuccessRule, Template,
};

/// One Job, managed by the algorithm, in a world where nothing goes wrong.
pub fn small(spec: JobSpec, pods: usize) -> Scope {
    run_by_the_algorithm(scope("mutant", "the smallest world that shows a known defect", spec, pods), 0)
}

/// The Pod cache lags by so many changes.
pub fn lagging(lag: usize, scope: Scope) -> Scope {
    Scope { lag, ..scope }
}

/// The process dies, and its request may still be handled.
pub fn crashing(spec: JobSpec) -> Scope {
    let faults = Faults { crashes: 1, ..Faults::default() };
    Scope { faults, delayed_requests: true, ..small(spec, 2) }
}

/// So many requests fail.
pub fn failing(failures: u8) -> Faults {
    Faults { failures, ..Faults::default() }
}

/// The lists hold one UID.
pub fn capped(scope: Scope) -> Scope {
    Scope { constants: Constants { max_uncounted_pods: 1, ..scope.constants }, ..scope }
}

/// Replacements wait for a second.
pub fn delayed(scope: Scope) -> Scope {
    let constants = Constants { pod_failure_backoff_ms: 1000, ..scope.constants };
    Scope { constants, ticks: 2, ..scope }
}

/// `backoffLimit`.
pub fn retries(limit: i32, spec: JobSpec) -> JobSpec {
    JobSpec { backoff_limit: Some(limit), ..spec }
}

pub(crate) use crate::scopes::limited_per_index as per_index;

/// Containers restart in their pods, which counts towards `backoffLimit` (BO-13).
pub fn on_failure(spec: JobSpec) -> JobSpec {
    let template = Template { restart_policy: RestartPolicy::OnFailure, ..spec.template };
    JobSpec { template, ..spec }
}

/// Exit code 42 fails the Job, whose `backoffLimit` alone would not.
pub fn fails_at_42(spec: JobSpec) -> JobSpec {
    retries(
        5,
        JobSpec {
            pod_failure_policy: policy(vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42)]),
            ..spec
        },
    )
}

/// Exit code 3 is ignored.
pub fn ignores_3(spec: JobSpec) -> JobSpec {
    JobSpec {
        pod_failure_policy: policy(vec![PodFailureRule::on_exit_code(FailureAction::Ignore, 3)]),
        ..spec
    }
}

/// Index 0 is enough.
pub fn wins_with_0(spec: JobSpec) -> JobSpec {
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    JobSpec { success_policy: Some(SuccessPolicy { rules: vec![rule] }), ..spec }
}
