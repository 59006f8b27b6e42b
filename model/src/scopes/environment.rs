//! Scopes of what others do to Jobs and pods, which the twin in TLA+ does not have.

use crate::algorithm::steps::Faults;
use crate::constants::Constants;
use crate::env::disruption::Disruption;
use crate::env::user::UserAction;
use crate::job::{ConditionPattern, FailureAction, JobSpec, PodFailureRule};
use crate::pod::Phase;
use crate::scope::{FoundPod, Scope};

use super::{many, many_indexes, patient, policy, rule, scope};

/// All of them.
pub fn all() -> Vec<Scope> {
    vec![
        eviction(),
        eviction_of_an_index(),
        lost_node(),
        lost_node_patient(),
        force_delete(),
        orphaning(),
        adoption(),
        lost_owner(),
        relabelled_pod(),
        legacy_pods(),
        edited_limits(),
        per_index_delay(),
    ]
}

/// A rule for pods that were evicted, or whose node is gone (PF-04).
pub(crate) fn disrupted(action: FailureAction) -> PodFailureRule {
    let pattern = ConditionPattern { kind: "DisruptionTarget".into(), status: "True".into() };
    PodFailureRule { action, on_exit_codes: None, on_pod_conditions: vec![pattern] }
}

fn eviction() -> Scope {
    let about = "a pod is evicted, which its Job's policy ignores, but for exit code 42";
    let rules = vec![rule(FailureAction::FailJob, 42), disrupted(FailureAction::Ignore)];
    let spec = JobSpec { pod_failure_policy: policy(rules), ..many(2, 2) };
    let base = scope("eviction", about, spec, 3);
    Scope { exit_codes: &[1, 42], disruptions: vec![Disruption::Evict], ..base }
}

fn eviction_of_an_index() -> Scope {
    let about = "an evicted pod fails its index, and so does one that loses its node; others have a retry";
    let spec = JobSpec {
        backoff_limit: None,
        backoff_limit_per_index: Some(1),
        pod_failure_policy: policy(vec![disrupted(FailureAction::FailIndex)]),
        ..many_indexes(2, 1)
    };
    let base = scope("eviction-of-an-index", about, spec, 3);
    Scope { disruptions: vec![Disruption::Evict, Disruption::LoseNode], ..base }
}

fn lost_node() -> Scope {
    let about = "the node of a pod is gone, which counts as a failure";
    let base = scope("lost-node", about, JobSpec { backoff_limit: Some(1), ..many(2, 2) }, 3);
    Scope { disruptions: vec![Disruption::LoseNode], ..base }
}

fn lost_node_patient() -> Scope {
    let about =
        "podReplacementPolicy Failed: a pod that was deleted by force waits for its end, by pod GC too";
    let spec = JobSpec { backoff_limit: Some(1), ..patient(many_indexes(2, 1)) };
    let base = scope("lost-node-patient", about, spec, 3);
    Scope { disruptions: vec![Disruption::ForceDelete, Disruption::LoseNode], ..base }
}

fn force_delete() -> Scope {
    let about = "a pod is deleted by force, and the Job is suspended: the pod may go without an end";
    let base = scope("force-delete", about, JobSpec { backoff_limit: Some(1), ..many(1, 1) }, 3);
    Scope { user: vec![UserAction::Suspend], disruptions: vec![Disruption::ForceDelete], ..base }
}

fn orphaning() -> Scope {
    let about = "the Job is deleted, and its pods stay, without an owner or finalizer";
    Scope { user: vec![UserAction::DeleteOrphaning], ..scope("orphaning", about, many(1, 1), 2) }
}

fn adoption() -> Scope {
    let about = "two pods without an owner that the selector matches, of which one has ended";
    let stray = |phase| FoundPod { controlled: false, phase };
    let base = scope("adoption", about, many(2, 1), 4);
    Scope { found: vec![stray(Phase::Pending), stray(Phase::Succeeded)], ..base }
}

fn lost_owner() -> Scope {
    let about = "a user takes the owner of a pod away, whatever became of it";
    Scope { user: vec![UserAction::StripOwner], ..scope("lost-owner", about, many(2, 1), 4) }
}

fn relabelled_pod() -> Scope {
    let about = "a user changes the labels of a pod, so that the selector does not match it any more";
    Scope { user: vec![UserAction::Relabel], ..scope("relabelled-pod", about, many(2, 2), 4) }
}

fn legacy_pods() -> Scope {
    let about = "two pods of before there was the finalizer, of which one has ended";
    let legacy = |phase| FoundPod { controlled: true, phase };
    let base = scope("legacy-pods", about, many(2, 2), 5);
    Scope { found: vec![legacy(Phase::Pending), legacy(Phase::Succeeded)], ..base }
}

fn edited_limits() -> Scope {
    let about = "a user sets activeDeadlineSeconds and backoffLimit while pods run, on a clock";
    Scope {
        user: vec![UserAction::SetDeadline(1), UserAction::SetBackoffLimit(1)],
        ticks: 2,
        ..scope("edited-limits", about, many(1, 1), 3)
    }
}

fn per_index_delay() -> Scope {
    let about =
        "an index waits 1 s after a failure, on a clock; the manager may die meanwhile, and must not forget";
    let spec = JobSpec { backoff_limit: None, backoff_limit_per_index: Some(1), ..many_indexes(1, 1) };
    let base = scope("per-index-delay", about, spec, 2);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    Scope { ticks: 2, lag: 1, faults: Faults { crashes: 1, ..Faults::default() }, constants, ..base }
}
