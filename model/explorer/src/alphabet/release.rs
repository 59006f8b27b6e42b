//! Removing the tracking finalizer.

use super::Moment;
use crate::scope::Scope;
use crate::world::Life;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::counting::Ledger;
use jobcheck_spec::guards::release::{judge_fail_job, judge_release, may_release_by_truth};
use jobcheck_spec::guards::without_interim::job_in_mind;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::uid::Uid;

/// The pods that may lose their finalizer now.
pub fn admitted(moment: &Moment<'_>) -> Vec<Uid> {
    let candidates = moment.life.pods.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid);
    candidates.filter(|uid| moment.scope.admits(&judge(moment, *uid))).collect()
}

/// The guards of a release.
pub fn judge(moment: &Moment<'_>, uid: Uid) -> Findings {
    let mut findings = Findings::new();
    let Some(pod) = moment.life.pods.get(uid) else { return super::out_of_reach("removal of a finalizer") };
    if !pod.controlled && moment.seen.strays.get(uid).is_some() {
        // FT-21: nobody will count it.
        findings.premise(Req::FT21);
        return findings;
    }
    let stored = moment.stored.as_deref();
    // What the manager cannot have seen yet is no reason.
    let read = moment.seen.cache.get(uid).unwrap_or(pod);
    if let Some(job) = stored {
        judge_fail_job(job, read, || false, &mut findings);
    }
    if may_release_by_truth(stored, pod, &|uid| moment.life.past.is_counted(uid)) {
        return findings;
    }
    let silent = !moment.gates.delay_the_end();
    let read = if silent { moment.cached_view() } else { None };
    let in_mind = read.and_then(|view| job_in_mind(&view, moment.now));
    if let Some(view) = in_mind.as_ref().or(moment.cached.as_deref()).map(|job| moment.view(job)) {
        // Nobody but the manager removes finalizers here; a sync does not know what an earlier one began and did not
        // get done.
        let chosen = |uid| !moment.in_sync || view.cache.get(uid).is_some_and(|pod| pod.finalizer);
        judge_release(&view, pod, &chosen, &mut findings);
    }
    findings
}

/// The finalizer is gone.
pub fn apply(life: &mut Life, uid: Uid, scope: &Scope) {
    let Some(pod) = life.pods.get(uid).cloned() else { return };
    let seen = life.seen().post.get(uid).cloned();
    let fresh = life.manager.old_job.is_none() && life.manager.behind.is_empty();
    let job = life.job.as_ref().map(|job| life.manager.gates.read(job));
    life.past.released(&pod, seen.as_ref(), job.as_deref(), fresh, &life.pods);
    life.write_pod(Pod { finalizer: false, ..pod }, scope.lag);
}
