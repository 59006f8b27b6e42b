//! Deleting pods.

use super::Moment;
use crate::scope::Scope;
use crate::world::Life;
use jobcheck_spec::guards::deletion::judge_deletion;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The pods that may be deleted now.
pub fn admitted(moment: &Moment<'_>) -> Vec<Uid> {
    let candidates = moment.life.pods.iter().filter(|pod| !pod.deleting).map(|pod| pod.uid);
    candidates.filter(|uid| moment.scope.admits(&judge(moment, *uid))).collect()
}

/// The guards of a deletion.
pub fn judge(moment: &Moment<'_>, uid: Uid) -> Findings {
    let what = "deletion of a pod";
    let (Some(view), Some(pod)) = (moment.cached_view(), moment.life.pods.get(uid)) else {
        return super::out_of_reach(what);
    };
    let mut findings = Findings::new();
    // A sync finds the pod without finalizer only if an earlier one has removed it.
    let chosen_before = moment.in_sync && view.cache.get(uid).is_some_and(|read| !read.finalizer);
    judge_deletion(&view, pod, chosen_before, &mut findings);
    findings
}

/// The pod is asked to end.
pub fn apply(life: &mut Life, uid: Uid, now: Time, scope: &Scope) {
    let Some(pod) = life.pods.get(uid) else { return };
    let pod = pod.clone();
    let fresh = life.manager.old_job.is_none() && life.manager.behind.is_empty();
    let job = life.job.as_ref().map(|job| life.manager.gates.read(job));
    life.past.deleted(&pod, job.as_deref(), fresh, &life.pods);
    let mut after = pod;
    after.delete(scope.stamp(now));
    life.past.pod_changed(&after);
    life.write_pod(after, scope.lag);
}
