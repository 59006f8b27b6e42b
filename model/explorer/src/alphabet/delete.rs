//! Deleting pods.

use super::{DecisionContext, Manager};
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::guards::deletion::judge_deletion;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The pods whose deletion is admitted.
pub fn admitted(context: &DecisionContext<'_>) -> Vec<Uid> {
    let candidates = context.job_state.pods.iter().filter(|pod| !pod.deleting).map(|pod| pod.uid);
    candidates.filter(|uid| context.scope.admits(&judge(context, *uid))).collect()
}

/// Judges a deletion.
pub fn judge(context: &DecisionContext<'_>, uid: Uid) -> Findings {
    let what = "deletion of a pod";
    let (Some(view), Some(pod)) = (context.cached_view(), context.job_state.pods.get(uid)) else {
        return super::out_of_reach(what);
    };
    let mut findings = Findings::new();
    // A sync only finds a pod without finalizer if an earlier sync has removed it.
    let chosen_before = context.in_sync && view.cache.get(uid).is_some_and(|read| !read.finalizer);
    judge_deletion(&view, pod, chosen_before, &mut findings);
    findings
}

/// Deletes a pod, which then terminates.
pub fn apply(job_state: &mut JobState, manager: &Manager, uid: Uid, now: Time, scope: &Scope) {
    let Some(pod) = job_state.pods.get(uid).cloned() else { return };
    job_state.ghost.deleted(&pod, manager.job.as_deref(), manager.fresh, &job_state.pods);
    let mut after = pod;
    after.delete(scope.stamp(now));
    job_state.ghost.pod_changed(&after);
    job_state.write_pod(after, scope.lag);
}
