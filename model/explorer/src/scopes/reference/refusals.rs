//! Scopes in which the API server refuses a request every time: quotas and webhooks (B16, PC-13, TC-08).

use crate::env::refusals::Refusal;
use crate::env::user::UserAction;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, policy, scope};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::job::{FailureAction, JobSpec, PodFailureRule};
use jobcheck_spec::uid::Uid;

use super::run_by_the_algorithm;

const FIRST: Uid = Uid(1);

/// All scopes of this module. Both caches lag by one.
#[must_use]
pub fn refusals() -> Vec<Scope> {
    let all = [quota(), quota_and_endless_pods(), no_pods(), kept_pod(), kept_index(), status()];
    let deletions = [kept_while_suspended(), kept_while_failing(), kept_by_fail_job(), kept_surplus()];
    let gone = [Propagation::Background, Propagation::Foreground, Propagation::Orphan].map(kept_of_deleted);
    let all = all.into_iter().chain(deletions).chain(gone);
    all.map(|scope| run_by_the_algorithm(scope, 1)).collect()
}

/// The scope in which pods may run forever, so that only the manager of their Job stops them.
fn endless(scope: Scope) -> Scope {
    Scope { endless: true, ..scope }
}

fn quota() -> Scope {
    let about = "a quota allows one pod at a time; the two completions come one after the other";
    scope("refused/quota", about, many(2, 2), 3).refusing(Refusal::PodsBeyond(1))
}

fn quota_and_endless_pods() -> Scope {
    let about = "a quota allows one of two pods, which may run forever; the status reports the pod";
    endless(scope("refused/quota-endless", about, many(2, 2), 2).refusing(Refusal::PodsBeyond(1)))
}

fn no_pods() -> Scope {
    let about = "a quota allows no pod; a user suspends and resumes the Job";
    let base = scope("refused/no-pods", about, many(1, 1), 1);
    Scope { user: vec![UserAction::SUSPEND, UserAction::RESUME], ..base }.refusing(Refusal::PodsBeyond(0))
}

fn kept_pod() -> Scope {
    let about = "a webhook refuses to remove the finalizer of one pod; the other pods are counted, and the Job does not finish";
    let spec = JobSpec { backoff_limit: Some(1), ..many(2, 2) };
    scope("refused/kept-pod", about, spec, 3).refusing(Refusal::Patch(FIRST))
}

fn kept_index() -> Scope {
    let about = "a webhook refuses to remove the finalizer of one pod; the other indexes complete";
    let spec = JobSpec { backoff_limit: Some(1), ..many_indexes(2, 2) };
    scope("refused/kept-index", about, spec, 4).refusing(Refusal::Patch(FIRST))
}

fn status() -> Scope {
    let about = "a webhook refuses all status writes after the first; no pod is counted, and none loses its finalizer";
    scope("refused/status", about, many(2, 1), 2).refusing(Refusal::Status)
}

fn kept_while_suspended() -> Scope {
    let about = "a webhook refuses the deletion of one pod of a suspended Job; the other pods are deleted";
    let base = scope("refused/suspend", about, many(2, 2), 2);
    endless(Scope { user: vec![UserAction::SUSPEND], ..base }.refusing(Refusal::Deletion(FIRST)))
}

fn kept_while_failing() -> Scope {
    let about = "a webhook refuses the deletion of one pod of a failing Job; terminated pods are counted";
    let spec = JobSpec { backoff_limit: Some(0), ..many(3, 3) };
    endless(scope("refused/backoff-limit", about, spec, 3).refusing(Refusal::Deletion(FIRST)))
}

fn kept_by_fail_job() -> Scope {
    let about = "a webhook refuses the deletion of one pod while a FailJob rule fails the Job; terminated pods are counted";
    let rules = vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42)];
    let spec = JobSpec { pod_failure_policy: policy(rules), ..many(2, 2) };
    let base = scope("refused/fail-job", about, spec, 2);
    endless(Scope { exit_codes: &[42], ..base }.refusing(Refusal::Deletion(FIRST)))
}

fn kept_surplus() -> Scope {
    let about = "a webhook refuses the deletion of a surplus pod; terminated pods are counted";
    let base = scope("refused/scale", about, many(3, 2), 3);
    endless(Scope { user: vec![UserAction::scale(1)], ..base }.refusing(Refusal::Deletion(FIRST)))
}

fn kept_of_deleted(asked: Propagation) -> Scope {
    let about = "a webhook refuses to remove the finalizer of one pod, and a user deletes the Job; the other pods lose their finalizers";
    let name = match asked {
        Propagation::Background => "refused/deleted-in-background",
        Propagation::Foreground => "refused/deleted-in-foreground",
        Propagation::Orphan => "refused/deleted-leaving-pods",
    };
    let base = scope(name, about, many(2, 2), 2);
    Scope { user: vec![UserAction::DeleteJob(asked)], ..base }.refusing(Refusal::Patch(FIRST))
}
