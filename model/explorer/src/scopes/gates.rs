//! Scopes in which processes with other feature gates take over. See the requirements UG-01 to UG-15
//! (`docs/reference/requirements/ug.md`).

use super::{limited_per_index, many, many_indexes, policy, replacing_failed, scope};
use crate::env::user::UserAction;
use crate::scope::Scope;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::{FailureAction, JobSpec, PodFailureRule, SuccessPolicy, SuccessRule};

/// The scopes that the specification can be explored in too.
#[must_use]
pub fn gates() -> Vec<Scope> {
    let about =
        "the manager that spec.managedBy names writes the status, and the built-in controller does nothing";
    let beside = two_managers("gates/beside-another-manager", about, Vec::new());
    vec![pod_replacement_policy(), replaced_index(), per_index(), success_policy(), managed_by(), beside]
}

/// The scopes without interim conditions, for algorithms only. No state shows what their managers have
/// decided.
#[must_use]
pub fn without_interim_conditions() -> Vec<Scope> {
    vec![at_once(), in_turns()]
}

/// UG-05: `JobPodReplacementPolicy` is off.
pub const WITHOUT_REPLACEMENT: Gates = Gates { job_pod_replacement_policy: false, ..Gates::ON };
/// UG-09: `JobBackoffLimitPerIndex` is off.
pub const WITHOUT_LIMITS: Gates = Gates { job_backoff_limit_per_index: false, ..Gates::ON };
/// `JobSuccessPolicy` is off.
pub const WITHOUT_SUCCESS_POLICY: Gates = Gates { job_success_policy: false, ..Gates::ON };
/// `JobManagedBy` is off.
pub const WITHOUT_MANAGED_BY: Gates = Gates { job_managed_by: false, ..Gates::ON };
/// UG-07: the two gates are off that each ask for interim conditions.
pub const WITHOUT_DELAY: Gates =
    Gates { job_managed_by: false, job_pod_replacement_policy: false, ..Gates::ON };
/// These two gates are off, and `JobSuccessPolicy` is.
pub const WITHOUT_ANY_INTERIM: Gates = Gates { job_success_policy: false, ..WITHOUT_DELAY };

/// S-29: the rules of an API server that accepts a Job with or without an interim condition.
pub const LENIENT: RuleSet = RuleSet { job_managed_by: false, ..RuleSet::V1_36 };

fn off_and_on(scope: Scope, off: Gates) -> Scope {
    Scope { gates: vec![Gates::ON, off, Gates::ON], ..scope }
}

fn pod_replacement_policy() -> Scope {
    let about = "JobPodReplacementPolicy is turned off and on; podReplacementPolicy Failed applies only while it is on";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many(1, 1)) };
    let base = scope("gates/pod-replacement-policy", about, spec, 2);
    off_and_on(Scope { user: vec![UserAction::DeletePod], ..base }, WITHOUT_REPLACEMENT)
}

fn replaced_index() -> Scope {
    let about = "JobPodReplacementPolicy is turned off and on; an Indexed Job has a pod failure policy, which also requires replacement after termination (S-31)";
    let pod_failure_policy = policy(vec![PodFailureRule::on_exit_code(FailureAction::Count, 1)]);
    let spec = JobSpec { backoff_limit: Some(1), pod_failure_policy, ..replacing_failed(many_indexes(1, 1)) };
    let base = scope("gates/pod-failure-policy", about, spec, 2);
    off_and_on(Scope { user: vec![UserAction::DeletePod], ..base }, WITHOUT_REPLACEMENT)
}

fn per_index() -> Scope {
    let about = "JobBackoffLimitPerIndex is turned off and on; failed indexes run again while it is off";
    let spec = limited_per_index(0, many_indexes(2, 1));
    off_and_on(scope("gates/backoff-limit-per-index", about, spec, 3), WITHOUT_LIMITS)
}

fn success_policy() -> Scope {
    let about = "JobSuccessPolicy is turned off and on";
    off_and_on(scope("gates/success-policy", about, wins_with_0(), 3), WITHOUT_SUCCESS_POLICY)
}

fn wins_with_0() -> JobSpec {
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    JobSpec { success_policy: Some(SuccessPolicy { rules: vec![rule] }), ..many_indexes(2, 2) }
}

/// A Job that names another manager.
#[must_use]
pub fn external() -> JobSpec {
    JobSpec { managed_by: Some("example.com/mirror".into()), ..many(1, 1) }
}

fn managed_by() -> Scope {
    let about =
        "JobManagedBy is turned off; the built-in controller takes over a Job whose manager no longer runs";
    let base = scope("gates/managed-by", about, external(), 2);
    Scope { gates: vec![Gates::ON, WITHOUT_MANAGED_BY], ..base }
}

/// A scope in which another manager and built-in processes with these gates write the status of the Job.
#[must_use]
pub fn two_managers(name: &'static str, about: &'static str, gates: Vec<Gates>) -> Scope {
    let user = vec![UserAction::MirrorStarts, UserAction::MirrorAnnounces, UserAction::MirrorFinishes];
    Scope { user, gates, ..scope(name, about, external(), 2) }
}

fn at_once() -> Scope {
    let about = "JobManagedBy and JobPodReplacementPolicy are off; Jobs finish without interim conditions and without waiting for pods";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    let base = scope("gates/without-delay", about, spec, 3);
    let rules = RuleSet { pod_replacement_policy: false, ..LENIENT };
    Scope { user: vec![UserAction::DeletePod], gates: vec![WITHOUT_DELAY], rules, ..base }
}

fn in_turns() -> Scope {
    let about = "JobManagedBy and JobPodReplacementPolicy are turned off and on; the API server accepts Jobs with and without interim conditions";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    let base = scope("gates/delay-in-turns", about, spec, 3);
    off_and_on(Scope { user: vec![UserAction::DeletePod], rules: LENIENT, ..base }, WITHOUT_DELAY)
}
