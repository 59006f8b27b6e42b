//! Scopes of disruptions, ownerless pods and user edits. The second specification in TLA+ does not have them.

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

use super::{limited_per_index, many, many_indexes, policy, replacing_failed, scope};

/// All scopes of this module.
pub fn all() -> Vec<Scope> {
    vec![
        eviction(),
        eviction_of_an_index(),
        lost_node(),
        lost_node_patient(),
        out_of_service(),
        edited_template(),
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
        reverted_policy(),
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

/// PF-04: a rule for pods that were evicted or lost their node.
pub(crate) fn disrupted(action: FailureAction) -> PodFailureRule {
    let pattern = ConditionPattern { kind: "DisruptionTarget".into(), status: "True".into() };
    PodFailureRule { action, on_exit_codes: None, on_pod_conditions: vec![pattern] }
}

fn eviction() -> Scope {
    let about = "a pod is evicted; the pod failure policy ignores evictions, and exit code 42 fails the Job";
    let rules =
        vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42), disrupted(FailureAction::Ignore)];
    let spec = JobSpec { pod_failure_policy: policy(rules), ..many(2, 2) };
    let base = scope("eviction", about, spec, 3);
    Scope { exit_codes: &[1, 42], disruptions: vec![Disruption::Evict], ..base }
}

fn eviction_of_an_index() -> Scope {
    let about = "the pod failure policy fails the index of a pod that is evicted or loses its node; other failures have one retry";
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
    let about = "a node is lost; its pod counts as failed";
    let base = scope("lost-node", about, JobSpec { backoff_limit: Some(1), ..many(2, 2) }, 3);
    Scope { disruptions: vec![Disruption::LoseNode], ..base }
}

fn lost_node_patient() -> Scope {
    let about = "podReplacementPolicy Failed: a pod that is deleted by force, or whose node is lost, is replaced once it has terminated";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many_indexes(2, 1)) };
    let base = scope("lost-node-patient", about, spec, 3);
    Scope { disruptions: vec![Disruption::ForceDelete, Disruption::LoseNode], ..base }
}

/// EN-02: the failure has no condition that the pod failure policy could ignore.
fn out_of_service() -> Scope {
    let about = "podReplacementPolicy Failed: a user deletes a pod on a node that is tainted out-of-service; pod GC fails it without DisruptionTarget";
    let spec = JobSpec {
        backoff_limit: Some(0),
        pod_failure_policy: policy(vec![disrupted(FailureAction::Ignore)]),
        ..many_indexes(2, 2)
    };
    let base = scope("out-of-service", about, spec, 3);
    Scope { user: vec![UserAction::DeletePod], disruptions: vec![Disruption::OutOfService], ..base }
}

fn edited_template() -> Scope {
    let about =
        "a user edits the pod template, which the API server accepts while the Job is suspended and idle";
    let user = vec![UserAction::SUSPEND, UserAction::RESUME, UserAction::Edit(SpecEdit::LabelTemplate)];
    Scope { user, ..scope("edited-template", about, JobSpec { suspend: Some(true), ..many(1, 1) }, 2) }
}

fn force_delete() -> Scope {
    let about = "a pod is deleted by force while a user suspends the Job; the pod may disappear without a final phase";
    let base = scope("force-delete", about, JobSpec { backoff_limit: Some(1), ..many(1, 1) }, 3);
    Scope { user: vec![UserAction::SUSPEND], disruptions: vec![Disruption::ForceDelete], ..base }
}

fn second_deletion() -> Scope {
    let about =
        "a user deletes the Job in the foreground, and then again with propagation Background or Orphan";
    let recreated_job = [Propagation::Background, Propagation::Orphan].map(UserAction::DeleteAgain);
    let user = [vec![UserAction::DeleteJob(Propagation::Foreground)], recreated_job.to_vec()].concat();
    Scope { user, ..scope("second-deletion", about, many(1, 1), 2) }
}

fn second_deletion_orphaning() -> Scope {
    let about = "a user deletes the Job with propagation Orphan, and then again in the foreground";
    let first = UserAction::DeleteJob(Propagation::Orphan);
    let user = vec![first, UserAction::DeleteAgain(Propagation::Foreground)];
    Scope { user, ..scope("second-deletion-orphaning", about, many(1, 1), 2) }
}

fn orphaning() -> Scope {
    let about = "a user deletes the Job with propagation Orphan; its pods stay, without owner and finalizer";
    Scope {
        user: vec![UserAction::DeleteJob(Propagation::Orphan)],
        ..scope("orphaning", about, many(1, 1), 2)
    }
}

fn adoption() -> Scope {
    let about = "the selector matches two ownerless pods, an active and a terminated one";
    let ownerless_pod = |phase| FoundPod { controlled: false, phase };
    let base = scope("adoption", about, many(2, 1), 4);
    Scope { found: vec![ownerless_pod(Phase::Pending), ownerless_pod(Phase::Succeeded)], ..base }
}

fn lost_owner() -> Scope {
    let about = "a user removes the owner reference of a pod, active or terminated";
    Scope { user: vec![UserAction::StripOwner], ..scope("lost-owner", about, many(2, 1), 4) }
}

fn relabelled_pod() -> Scope {
    let about = "a user changes the labels of a pod; the selector no longer matches it";
    Scope { user: vec![UserAction::Relabel], ..scope("relabelled-pod", about, many(2, 2), 4) }
}

fn legacy_pods() -> Scope {
    let about =
        "the Job has two pods from before the tracking finalizer existed, an active and a terminated one";
    let legacy = |phase| FoundPod { controlled: true, phase };
    let base = scope("legacy-pods", about, many(2, 2), 5);
    Scope { found: vec![legacy(Phase::Pending), legacy(Phase::Succeeded)], ..base }
}

fn edited_limits() -> Scope {
    let about = "a user sets activeDeadlineSeconds and backoffLimit of a running Job; time passes";
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
    let about = "a failure delays the retry of its index by 1 s; the manager may crash meanwhile, and the delay must survive; time passes";
    let spec = limited_per_index(1, many_indexes(1, 1));
    let base = scope("per-index-delay", about, spec, 2);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    Scope { ticks: 2, lag: 1, faults: Faults { crashes: 1, ..Faults::default() }, constants, ..base }
}

fn denied_condition() -> Scope {
    let about =
        "a user adds the conditions FailureTarget and Failed with status False; the Job fails all the same";
    let user = vec![UserAction::DenyFailureTarget, UserAction::DenyFailed];
    Scope { user, ..scope("denied-condition", about, many(1, 1), 1) }
}

/// Failures delay the next pod by 1 s and by 2 s. A user deletes a pod.
fn dated_from_deletion(name: &'static str, about: &'static str, spec: JobSpec) -> Scope {
    let base = scope(name, about, spec, 3);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    Scope { ticks: 3, user: vec![UserAction::DeletePod], constants, ..base }
}

fn backoff_deletion() -> Scope {
    let about = "delays of 1 s and 2 s start when a pod is deleted, before it has terminated; time passes";
    dated_from_deletion("backoff-deletion", about, JobSpec { backoff_limit: Some(2), ..many(1, 1) })
}

fn per_index_deletion() -> Scope {
    let about = "delays of 1 s and 2 s of one index start when its pod is deleted, before it has terminated; time passes";
    let spec = limited_per_index(2, many_indexes(1, 1));
    dated_from_deletion("per-index-deletion", about, spec)
}

fn unscheduled() -> Scope {
    let about = "pods wait for the scheduler, and a user deletes one; pod GC marks it as failed";
    let base = scope("unscheduled", about, JobSpec { backoff_limit: Some(1), ..many(2, 2) }, 3);
    Scope { unscheduled: true, user: vec![UserAction::DeletePod], ..base }
}

fn unscheduled_patient() -> Scope {
    let about = "podReplacementPolicy Failed: a user deletes an unscheduled pod; it is replaced once pod GC has marked it as failed";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many(1, 1)) };
    let base = scope("unscheduled-patient", about, spec, 3);
    Scope { unscheduled: true, user: vec![UserAction::DeletePod], ..base }
}

fn edited_policy() -> Scope {
    let about = "a user sets podReplacementPolicy to Failed and deletes a pod";
    let spec = JobSpec { backoff_limit: Some(1), ..many(1, 1) };
    let user = vec![
        UserAction::Edit(SpecEdit::SetReplacementPolicy(PodReplacementPolicy::Failed)),
        UserAction::DeletePod,
    ];
    Scope { user, ..scope("edited-policy", about, spec, 3) }
}

/// RP-13: the new policy applies to pods that terminate already.
fn reverted_policy() -> Scope {
    let about = "podReplacementPolicy Failed: a user deletes a pod and sets the policy to TerminatingOrFailed, and back";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many(1, 1)) };
    let set = |policy| UserAction::Edit(SpecEdit::SetReplacementPolicy(policy));
    let user = vec![
        UserAction::DeletePod,
        set(PodReplacementPolicy::TerminatingOrFailed),
        set(PodReplacementPolicy::Failed),
    ];
    Scope { user, ..scope("reverted-policy", about, spec, 3) }
}

fn edited_failed_indexes() -> Scope {
    let about = "backoffLimitPerIndex 0 and maxFailedIndexes 1; a user sets maxFailedIndexes to 0, before or after an index has failed";
    let spec = JobSpec { max_failed_indexes: Some(1), ..limited_per_index(0, many_indexes(2, 1)) };
    let base = scope("edited-failed-indexes", about, spec, 3);
    Scope { user: vec![UserAction::Edit(SpecEdit::SetMaxFailedIndexes(0))], ..base }
}

fn suspended_and_resumed() -> Vec<UserAction> {
    vec![UserAction::SUSPEND, UserAction::RESUME]
}

fn suspend_deadline() -> Scope {
    let about =
        "activeDeadlineSeconds 1; a user suspends and resumes the Job, which restarts the time; time passes";
    let spec = JobSpec { active_deadline_seconds: Some(1), backoff_limit: Some(0), ..many(1, 1) };
    Scope { user: suspended_and_resumed(), ticks: 2, ..scope("suspend-deadline", about, spec, 3) }
}

fn suspend_patient() -> Scope {
    let about =
        "podReplacementPolicy Failed: a user suspends and resumes the Job while its first pod is terminating";
    let spec = JobSpec { backoff_limit: Some(0), ..replacing_failed(many(1, 1)) };
    Scope { user: suspended_and_resumed(), ..scope("suspend-patient", about, spec, 3) }
}

fn suspend_per_index() -> Scope {
    let about = "backoffLimitPerIndex 1; a user suspends and resumes the Job, which clears the failures of its indexes";
    let spec = limited_per_index(1, many_indexes(2, 1));
    Scope { user: suspended_and_resumed(), ..scope("suspend-per-index", about, spec, 4) }
}

fn elastic_per_index() -> Scope {
    let about = "backoffLimitPerIndex 0; a user scales an Indexed Job down to one index and up again";
    let user = vec![UserAction::scale(1), UserAction::scale(2)];
    Scope { user, ..scope("elastic-per-index", about, limited_per_index(0, many_indexes(2, 2)), 3) }
}

fn parallelism() -> Scope {
    let about = "two completions; a user sets parallelism to 1 and to 2 again";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    let user = vec![UserAction::scale(1), UserAction::scale(2)];
    Scope { user, ..scope("parallelism", about, spec, 3) }
}

fn on_failure() -> Scope {
    let about = "restartPolicy OnFailure: backoffLimit 1 counts the container restarts";
    let base = many(1, 1);
    let template = Template { restart_policy: RestartPolicy::OnFailure, ..base.template };
    let spec = JobSpec { template, backoff_limit: Some(1), ..base };
    Scope { restarts: 2, ..scope("on-failure", about, spec, 3) }
}

fn success_policy_deletion() -> Scope {
    let about =
        "a success policy: the success of index 0, one of two, completes the Job; a user deletes a pod";
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    let success_policy = Some(SuccessPolicy { rules: vec![rule] });
    let spec = JobSpec { success_policy, backoff_limit: Some(1), ..many_indexes(2, 2) };
    Scope { user: vec![UserAction::DeletePod], ..scope("success-policy-deletion", about, spec, 3) }
}

fn indexed_parallelism() -> Scope {
    let about = "two indexes; a user sets parallelism to 0 and to 1";
    let spec = JobSpec { backoff_limit: Some(0), ..many_indexes(2, 2) };
    let user = [0, 1].map(|parallelism| UserAction::Edit(SpecEdit::SetParallelism(parallelism)));
    Scope { user: user.to_vec(), ..scope("indexed-parallelism", about, spec, 3) }
}

fn removed_deadline() -> Scope {
    let about = "activeDeadlineSeconds 1; a user removes it, before or after it has passed; time passes";
    let spec = JobSpec { active_deadline_seconds: Some(1), backoff_limit: Some(0), ..many(1, 1) };
    let user = vec![UserAction::Edit(SpecEdit::SetDeadline(None))];
    Scope { user, ticks: 2, ..scope("removed-deadline", about, spec, 2) }
}

fn endless_pods() -> Scope {
    let about = "pods start, become ready, and may run forever";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    Scope { phases: true, endless: true, ..scope("endless-pods", about, spec, 2) }
}

fn unready_pods() -> Scope {
    let about = "pods become ready and stop being ready";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    Scope { phases: true, unready: true, ..scope("unready-pods", about, spec, 2) }
}
