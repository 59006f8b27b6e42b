//! Removing the tracking finalizer.

use super::{DecisionContext, Manager};
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::counting::CountingHistory;
use jobcheck_spec::guards::finalizer_removal::{
    judge_fail_job, judge_finalizer_removal, may_remove_finalizer_by_truth,
};
use jobcheck_spec::guards::without_interim::job_with_unwritten_decision;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::uid::Uid;

/// The pods whose finalizer may be removed.
pub fn admitted(context: &DecisionContext<'_>) -> Vec<Uid> {
    let candidates = context.job_state.pods.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid);
    candidates.filter(|uid| context.scope.admits(&judge(context, *uid))).collect()
}

/// Judges a finalizer removal.
pub fn judge(context: &DecisionContext<'_>, uid: Uid) -> Findings {
    let mut findings = Findings::new();
    let Some(pod) = context.job_state.pods.get(uid) else {
        return super::out_of_reach("removal of a finalizer");
    };
    if !pod.controlled && context.seen.ownerless.get(uid).is_some() {
        // FT-21: an ownerless pod is never counted.
        findings.premise(Req::FT21);
        return findings;
    }
    let stored = context.stored.as_deref();
    // A change that the manager cannot have seen yet is no reason.
    let read = context.seen.cache.get(uid).unwrap_or(pod);
    if let Some(job) = stored {
        judge_fail_job(job, read, || false, &mut findings);
    }
    if may_remove_finalizer_by_truth(stored, pod, &|uid| context.job_state.ghost.is_counted(uid)) {
        return findings;
    }
    let silent = !context.gates.delays_terminal_condition();
    let read = if silent { context.cached_view() } else { None };
    let in_mind = read.and_then(|view| job_with_unwritten_decision(&view, context.now));
    if let Some(view) = in_mind.as_ref().or(context.cached.as_deref()).map(|job| context.view(job)) {
        // No other actor removes finalizers here. A sync does not know the unfinished work of an earlier one.
        let chosen = |uid| !context.in_sync || view.cache.get(uid).is_some_and(|pod| pod.finalizer);
        judge_finalizer_removal(&view, pod, &chosen, &mut findings);
    }
    findings
}

/// Removes the finalizer of a pod.
pub fn apply(job_state: &mut JobState, manager: &Manager, uid: Uid, scope: &Scope) {
    let Some(pod) = job_state.pods.get(uid).cloned() else { return };
    let seen = super::pod_cache(job_state).and_then(|seen| seen.post.get(uid).cloned());
    let (job, fresh) = (manager.job.as_deref(), manager.fresh);
    job_state.ghost.finalizer_removed(&pod, seen.as_ref(), job, fresh, &job_state.pods);
    job_state.write_pod(Pod { finalizer: false, ..pod }, scope.lag);
}
