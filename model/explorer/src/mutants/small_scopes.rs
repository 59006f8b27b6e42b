//! The building blocks of the smallest scopes.

use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::reference::run_by_the_algorithm;
use crate::scopes::{policy, scope};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::{
    FailureAction, JobSpec, PodFailureRule, RestartPolicy, SuccessPolicy, SuccessRule, Template,
};

/// A scope with one Job and the reference algorithm, without lag or faults.
pub fn small(spec: JobSpec, pods: usize) -> Scope {
    run_by_the_algorithm(scope("mutant", "the smallest scope that shows a known defect", spec, pods), 0)
}

/// The scope with this lag of the Pod cache.
pub fn lagging(lag: usize, scope: Scope) -> Scope {
    Scope { lag, ..scope }
}

/// A scope in which the process crashes, and its last request may still be handled.
pub fn crashing(spec: JobSpec) -> Scope {
    let faults = Faults { crashes: 1, ..Faults::default() };
    Scope { faults, delayed_requests: true, ..small(spec, 2) }
}

/// This number of failing requests.
pub fn failing(failures: u8) -> Faults {
    Faults { failures, ..Faults::default() }
}

/// The scope in which the uncounted lists hold one UID.
pub fn capped(scope: Scope) -> Scope {
    Scope { constants: Constants { max_uncounted_pods: 1, ..scope.constants }, ..scope }
}

/// The scope in which failures delay the next pod by one second.
pub fn delayed(scope: Scope) -> Scope {
    let constants = Constants { pod_failure_backoff_ms: 1000, ..scope.constants };
    Scope { constants, ticks: 2, ..scope }
}

/// The specification with this `backoffLimit`.
pub fn retries(limit: i32, spec: JobSpec) -> JobSpec {
    JobSpec { backoff_limit: Some(limit), ..spec }
}

pub(crate) use crate::scopes::limited_per_index as per_index;

/// BO-13: the specification in which container restarts count towards `backoffLimit`.
pub fn on_failure(spec: JobSpec) -> JobSpec {
    let template = Template { restart_policy: RestartPolicy::OnFailure, ..spec.template };
    JobSpec { template, ..spec }
}

/// The specification with a rule that fails the Job on exit code 42. Its `backoffLimit` alone would not.
pub fn fails_at_42(spec: JobSpec) -> JobSpec {
    retries(
        5,
        JobSpec {
            pod_failure_policy: policy(vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42)]),
            ..spec
        },
    )
}

/// The specification with a rule that ignores exit code 3.
pub fn ignores_3(spec: JobSpec) -> JobSpec {
    JobSpec {
        pod_failure_policy: policy(vec![PodFailureRule::on_exit_code(FailureAction::Ignore, 3)]),
        ..spec
    }
}

/// The specification with a success policy that index 0 satisfies.
pub fn wins_with_0(spec: JobSpec) -> JobSpec {
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    JobSpec { success_policy: Some(SuccessPolicy { rules: vec![rule] }), ..spec }
}
