//! Creating pods.

use super::{DecisionContext, Manager};
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::guards::birth::judge_newborn;
use jobcheck_spec::guards::creation::{judge_creation, judge_retry};
use jobcheck_spec::incarnation;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::FailureAction;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;

/// The pods whose creation is admitted within the scope's bound on pods.
pub fn admitted(context: &DecisionContext<'_>) -> Vec<Pod> {
    if is_full(context) { Vec::new() } else { wanted(context) }
}

/// Returns true if a creation is admitted, but exceeds the scope's bound on pods.
pub fn pod_bound_reached(context: &DecisionContext<'_>) -> bool {
    is_full(context) && !wanted(context).is_empty()
}

fn is_full(context: &DecisionContext<'_>) -> bool {
    context.job_state.ghost.pods.len() >= context.scope.pods
}

fn wanted(context: &DecisionContext<'_>) -> Vec<Pod> {
    let mut pods = candidates(context);
    pods.retain(|pod| context.scope.admits(&judge(context, pod)));
    pods
}

/// Pods of every index up to one beyond the last, with every failure count up to one too many.
fn candidates(context: &DecisionContext<'_>) -> Vec<Pod> {
    let Some(job) = &context.cached else { return Vec::new() };
    let completions = job.spec.completion_count().unwrap_or(0);
    let indexes: Vec<Option<Index>> =
        if job.spec.is_indexed() { (0..=completions).map(Some).collect() } else { vec![None] };
    let per_index = job.spec.backoff_limit_per_index.and_then(|limit| u32::try_from(limit).ok());
    let failures = per_index.map_or(0, |limit| limit + 1);
    let so_far = u32::try_from(context.job_state.ghost.pods.len()).unwrap_or(u32::MAX);
    // BI-02: a rule may ignore the failures of all pods so far.
    let ignored = if per_index.is_some() && may_ignore(context) { so_far + 1 } else { 0 };
    let mut pods = Vec::new();
    for index in indexes {
        for failure_count in 0..=failures {
            for ignored_failure_count in 0..=ignored {
                pods.push(Pod { index, failure_count, ignored_failure_count, ..newborn(context) });
            }
        }
    }
    pods
}

fn may_ignore(context: &DecisionContext<'_>) -> bool {
    let policy = context.cached.as_ref().and_then(|job| job.spec.pod_failure_policy.as_ref());
    policy.is_some_and(|policy| policy.rules.iter().any(|rule| rule.action == FailureAction::Ignore))
}

fn newborn(context: &DecisionContext<'_>) -> Pod {
    Pod {
        finalizer: true,
        scheduled: !context.scope.unscheduled,
        incarnation: incarnation::of(context.cached.as_deref()),
        created: context.scope.stamp(context.now),
        ..Pod::new(context.job_state.ghost.next_uid())
    }
}

/// Judges a creation.
pub fn judge(context: &DecisionContext<'_>, pod: &Pod) -> Findings {
    let Some(view) = context.cached_view() else { return super::out_of_reach("creation of a pod") };
    let mut findings = Findings::new();
    judge_newborn(context.cached.as_deref(), pod, &mut findings);
    if let Some(refused) = context.refused {
        judge_retry(context.now.since(refused), false, &mut findings);
    }
    judge_creation(&view, pod, &mut findings);
    findings
}

/// Creates a pod.
pub fn apply(job_state: &mut JobState, manager: &Manager, pod: &Pod, scope: &Scope) {
    // BO-05: a crash loses the backoff record.
    let remembers = job_state.faults.crashes == 0;
    let first_delay = if remembers { scope.constants.pod_failure_backoff_ms / 1000 } else { 0 };
    let (job, fresh) = (manager.job.as_deref(), manager.fresh);
    let always = scope.constants.pod_failure_backoff_ms / 1000;
    job_state.ghost.check_retry(pod, job, fresh, always, &job_state.pods);
    job_state.ghost.created(pod, job, fresh, first_delay, &job_state.pods);
    job_state.write_pod(pod.clone(), scope.lag);
}
