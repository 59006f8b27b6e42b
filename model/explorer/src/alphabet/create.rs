//! Creating pods.

use super::Moment;
use crate::scope::Scope;
use crate::world::Life;
use jobcheck_spec::guards::creation::judge_creation;
use jobcheck_spec::incarnation;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::FailureAction;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;

/// The pods that may be created now.
pub fn admitted(moment: &Moment<'_>) -> Vec<Pod> {
    if is_full(moment) { Vec::new() } else { wanted(moment) }
}

/// Whether nothing but the scope's bound holds a creation back.
pub fn is_held_back(moment: &Moment<'_>) -> bool {
    is_full(moment) && !wanted(moment).is_empty()
}

fn is_full(moment: &Moment<'_>) -> bool {
    moment.life.past.pods.len() >= moment.scope.pods
}

fn wanted(moment: &Moment<'_>) -> Vec<Pod> {
    let mut pods = candidates(moment);
    pods.retain(|pod| moment.scope.admits(&judge(moment, pod)));
    pods
}

/// Pods of every index, one beyond the last included, and with every failure count up to one too many.
fn candidates(moment: &Moment<'_>) -> Vec<Pod> {
    let Some(job) = &moment.cached else { return Vec::new() };
    let completions = job.spec.completion_count().unwrap_or(0);
    let indexes: Vec<Option<Index>> =
        if job.spec.is_indexed() { (0..=completions).map(Some).collect() } else { vec![None] };
    let per_index = job.spec.backoff_limit_per_index.and_then(|limit| u32::try_from(limit).ok());
    let failures = per_index.map_or(0, |limit| limit + 1);
    let so_far = u32::try_from(moment.life.past.pods.len()).unwrap_or(u32::MAX);
    // A rule may ignore the failure of every pod so far (BI-02).
    let ignored = if per_index.is_some() && may_ignore(moment) { so_far + 1 } else { 0 };
    let mut pods = Vec::new();
    for index in indexes {
        for failure_count in 0..=failures {
            for ignored_failure_count in 0..=ignored {
                pods.push(Pod { index, failure_count, ignored_failure_count, ..newborn(moment) });
            }
        }
    }
    pods
}

fn may_ignore(moment: &Moment<'_>) -> bool {
    let policy = moment.cached.as_ref().and_then(|job| job.spec.pod_failure_policy.as_ref());
    policy.is_some_and(|policy| policy.rules.iter().any(|rule| rule.action == FailureAction::Ignore))
}

fn newborn(moment: &Moment<'_>) -> Pod {
    Pod {
        finalizer: true,
        scheduled: !moment.scope.unscheduled,
        incarnation: incarnation::of(moment.cached.as_deref()),
        created: moment.scope.stamp(moment.now),
        ..Pod::new(moment.life.past.next_uid())
    }
}

/// The guards of a creation.
pub fn judge(moment: &Moment<'_>, pod: &Pod) -> Findings {
    let Some(view) = moment.cached_view() else { return super::out_of_reach("creation of a pod") };
    let mut findings = Findings::new();
    judge_creation(&view, pod, &mut findings);
    findings
}

/// The pod exists.
pub fn apply(life: &mut Life, pod: &Pod, scope: &Scope) {
    let fresh = life.manager.old_job.is_none() && life.manager.behind.is_empty();
    // BO-05: the record of failures is lost with the process.
    let remembers = life.faults.crashes == 0;
    let first_delay = if remembers { scope.constants.pod_failure_backoff_ms / 1000 } else { 0 };
    let job = life.job.as_ref().map(|job| life.manager.gates.read(job));
    let always = scope.constants.pod_failure_backoff_ms / 1000;
    life.past.retries(pod, job.as_deref(), fresh, always, &life.pods);
    life.past.created(pod, job.as_deref(), fresh, first_delay, &life.pods);
    life.write_pod(pod.clone(), scope.lag);
}
