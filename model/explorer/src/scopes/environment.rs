//! Scopes of what others do to Jobs and pods, which the twin in TLA+ does not have.

use crate::env::disruption::Disruption;
use crate::env::user::{SpecEdit, UserAction};
use crate::process::steps::Faults;
use crate::scope::{FoundPod, Scope};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::{
    ConditionPattern, FailureAction, JobSpec, PodFailureRule, PodReplacementPolicy, RestartPolicy,
    SuccessPolicy, SuccessRule, Template,
};
use jobcheck_spec::pod::Phase;

use super::{limited_per_index, many, many_indexes, patient, policy, scope};

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
        backoff_deletion(),
        per_index_deletion(),
        unscheduled(),
        unscheduled_patient(),
        edited_policy(),
        edited_failed_indexes(),
        suspend_deadline(),
        suspend_patient(),
        suspend_per_index(),
        elastic_per_index(),
        parallelism(),
        on_failure(),
        success_policy_deletion(),
        indexed_parallelism(),
        removed_deadline(),
        unready_pods(),
        endless_pods(),
        second_deletion(),
        second_deletion_orphaning(),
        denied_condition(),
    ]
}

/// A rule for pods that were evicted, or whose node is gone (PF-04).
pub(crate) fn disrupted(action: FailureAction) -> PodFailureRule {
    let pattern = ConditionPattern { kind: "DisruptionTarget".into(), status: "True".into() };
    PodFailureRule { action, on_exit_codes: None, on_pod_conditions: vec![pattern] }
}

fn eviction() -> Scope {
    let about = "a pod is evicted, which its Job's policy ignores, but for exit code 42";
    let rules =
        vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42), disrupted(FailureAction::Ignore)];
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
    Scope { user: vec![UserAction::SUSPEND], disruptions: vec![Disruption::ForceDelete], ..base }
}

fn second_deletion() -> Scope {
    let about =
        "the Job is deleted in the foreground, and once more in the background, or so that its pods stay";
    let again = [Propagation::Background, Propagation::Orphan].map(UserAction::DeleteAgain);
    let user = [vec![UserAction::DeleteJob(Propagation::Foreground)], again.to_vec()].concat();
    Scope { user, ..scope("second-deletion", about, many(1, 1), 2) }
}

fn second_deletion_orphaning() -> Scope {
    let about = "the Job is deleted so that its pods stay, and once more in the foreground, which takes them";
    let first = UserAction::DeleteJob(Propagation::Orphan);
    let user = vec![first, UserAction::DeleteAgain(Propagation::Foreground)];
    Scope { user, ..scope("second-deletion-orphaning", about, many(1, 1), 2) }
}

fn orphaning() -> Scope {
    let about = "the Job is deleted, and its pods stay, without an owner or finalizer";
    Scope {
        user: vec![UserAction::DeleteJob(Propagation::Orphan)],
        ..scope("orphaning", about, many(1, 1), 2)
    }
}

fn adoption() -> Scope {
    let about = "two pods without an owner that the selector matches, of which one has ended";
    let ownerless_pod = |phase| FoundPod { controlled: false, phase };
    let base = scope("adoption", about, many(2, 1), 4);
    Scope { found: vec![ownerless_pod(Phase::Pending), ownerless_pod(Phase::Succeeded)], ..base }
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
        user: vec![
            UserAction::Edit(SpecEdit::SetDeadline(Some(1))),
            UserAction::Edit(SpecEdit::SetBackoffLimit(1)),
        ],
        ticks: 2,
        ..scope("edited-limits", about, many(1, 1), 3)
    }
}

fn per_index_delay() -> Scope {
    let about =
        "an index waits 1 s after a failure, on a clock; the manager may die meanwhile, and must not forget";
    let spec = limited_per_index(1, many_indexes(1, 1));
    let base = scope("per-index-delay", about, spec, 2);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    Scope { ticks: 2, lag: 1, faults: Faults { crashes: 1, ..Faults::default() }, constants, ..base }
}

fn denied_condition() -> Scope {
    let about = "a user adds conditions of the Job's end that are False; its end comes all the same";
    let user = vec![UserAction::DenyFailureTarget, UserAction::DenyFailed];
    Scope { user, ..scope("denied-condition", about, many(1, 1), 1) }
}

/// Failures delay the next pod by a second or two, on a clock; a user deletes a pod.
fn dated_from_deletion(name: &'static str, about: &'static str, spec: JobSpec) -> Scope {
    let base = scope(name, about, spec, 3);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    Scope { ticks: 3, user: vec![UserAction::DeletePod], constants, ..base }
}

fn backoff_deletion() -> Scope {
    let about = "delays of 1 s and 2 s run from the deletion of a pod, until it ends, on a clock";
    dated_from_deletion("backoff-deletion", about, JobSpec { backoff_limit: Some(2), ..many(1, 1) })
}

fn per_index_deletion() -> Scope {
    let about = "an index waits 1 s or 2 s from the deletion of its pod, until that ends, on a clock";
    let spec = limited_per_index(2, many_indexes(1, 1));
    dated_from_deletion("per-index-deletion", about, spec)
}

fn unscheduled() -> Scope {
    let about = "pods wait for the scheduler, and a user deletes one; pod GC gives it an end";
    let base = scope("unscheduled", about, JobSpec { backoff_limit: Some(1), ..many(2, 2) }, 3);
    Scope { unscheduled: true, user: vec![UserAction::DeletePod], ..base }
}

fn unscheduled_patient() -> Scope {
    let about = "podReplacementPolicy Failed: a pod that is deleted before it has a node is replaced once pod GC has marked it";
    let spec = JobSpec { backoff_limit: Some(1), ..patient(many(1, 1)) };
    let base = scope("unscheduled-patient", about, spec, 3);
    Scope { unscheduled: true, user: vec![UserAction::DeletePod], ..base }
}

fn edited_policy() -> Scope {
    let about = "a user sets podReplacementPolicy to Failed, and deletes a pod";
    let spec = JobSpec { backoff_limit: Some(1), ..many(1, 1) };
    let user = vec![
        UserAction::Edit(SpecEdit::SetReplacementPolicy(PodReplacementPolicy::Failed)),
        UserAction::DeletePod,
    ];
    Scope { user, ..scope("edited-policy", about, spec, 3) }
}

fn edited_failed_indexes() -> Scope {
    let about = "no retries; a user sets maxFailedIndexes to 0 while an index has failed, or before";
    let spec = JobSpec { max_failed_indexes: Some(1), ..limited_per_index(0, many_indexes(2, 1)) };
    let base = scope("edited-failed-indexes", about, spec, 3);
    Scope { user: vec![UserAction::Edit(SpecEdit::SetMaxFailedIndexes(0))], ..base }
}

fn suspended_and_resumed() -> Vec<UserAction> {
    vec![UserAction::SUSPEND, UserAction::RESUME]
}

fn suspend_deadline() -> Scope {
    let about = "activeDeadlineSeconds 1, and a user suspends and resumes, on a clock: the time starts anew";
    let spec = JobSpec { active_deadline_seconds: Some(1), backoff_limit: Some(0), ..many(1, 1) };
    Scope { user: suspended_and_resumed(), ticks: 2, ..scope("suspend-deadline", about, spec, 3) }
}

fn suspend_patient() -> Scope {
    let about =
        "podReplacementPolicy Failed: a user suspends and resumes, while the pod of before terminates";
    let spec = JobSpec { backoff_limit: Some(0), ..patient(many(1, 1)) };
    Scope { user: suspended_and_resumed(), ..scope("suspend-patient", about, spec, 3) }
}

fn suspend_per_index() -> Scope {
    let about = "backoffLimitPerIndex 1: a user suspends and resumes, which forgets failures";
    let spec = limited_per_index(1, many_indexes(2, 1));
    Scope { user: suspended_and_resumed(), ..scope("suspend-per-index", about, spec, 4) }
}

fn elastic_per_index() -> Scope {
    let about = "backoffLimitPerIndex 0: an Indexed Job is scaled down to one index, and up again";
    let user = vec![UserAction::scale(1), UserAction::scale(2)];
    Scope { user, ..scope("elastic-per-index", about, limited_per_index(0, many_indexes(2, 2)), 3) }
}

fn parallelism() -> Scope {
    let about =
        "two completions, one after the other and at once: a user sets parallelism to 1, and to 2 again";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    let user = vec![UserAction::scale(1), UserAction::scale(2)];
    Scope { user, ..scope("parallelism", about, spec, 3) }
}

fn on_failure() -> Scope {
    let about = "restartPolicy OnFailure: containers restart in their pods, which backoffLimit 1 counts";
    let base = many(1, 1);
    let template = Template { restart_policy: RestartPolicy::OnFailure, ..base.template };
    let spec = JobSpec { template, backoff_limit: Some(1), ..base };
    Scope { restarts: 2, ..scope("on-failure", about, spec, 3) }
}

fn success_policy_deletion() -> Scope {
    let about = "a success policy that is met by index 0 of two, of which a user deletes a pod";
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    let success_policy = Some(SuccessPolicy { rules: vec![rule] });
    let spec = JobSpec { success_policy, backoff_limit: Some(1), ..many_indexes(2, 2) };
    Scope { user: vec![UserAction::DeletePod], ..scope("success-policy-deletion", about, spec, 3) }
}

fn indexed_parallelism() -> Scope {
    let about = "two indexes at once: a user sets parallelism to 0, and to 1";
    let spec = JobSpec { backoff_limit: Some(0), ..many_indexes(2, 2) };
    let user = [0, 1].map(|parallelism| UserAction::Edit(SpecEdit::SetParallelism(parallelism)));
    Scope { user: user.to_vec(), ..scope("indexed-parallelism", about, spec, 3) }
}

fn removed_deadline() -> Scope {
    let about = "a user removes activeDeadlineSeconds 1, on a clock: before it has passed, or too late";
    let spec = JobSpec { active_deadline_seconds: Some(1), backoff_limit: Some(0), ..many(1, 1) };
    let user = vec![UserAction::Edit(SpecEdit::SetDeadline(None))];
    Scope { user, ticks: 2, ..scope("removed-deadline", about, spec, 2) }
}

fn endless_pods() -> Scope {
    let about = "pods run and become ready, and need not end";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    Scope { phases: true, endless: true, ..scope("endless-pods", about, spec, 2) }
}

fn unready_pods() -> Scope {
    let about = "pods are ready, and cease to be";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    Scope { phases: true, unready: true, ..scope("unready-pods", about, spec, 2) }
}
