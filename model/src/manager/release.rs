//! Removing the tracking finalizer.

use super::Moment;
use crate::catalogue::Req;
use crate::guards::counting::Ledger;
use crate::guards::creation::want_active;
use crate::guards::decision::Tally;
use crate::guards::deletion::Causes;
use crate::guards::release::{judge_release, may_release_by_truth};
use crate::job::Job;
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::requirement::{Findings, Said};
use crate::scope::Scope;
use crate::uid::Uid;
use crate::view::View;
use crate::world::Life;

/// The pods that may lose their finalizer now.
pub fn admitted(moment: &Moment<'_>) -> Vec<Uid> {
    let candidates = moment.life.pods.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid);
    candidates.filter(|uid| moment.scope.admits(&judge(moment, *uid))).collect()
}

/// The guards of a release.
pub fn judge(moment: &Moment<'_>, uid: Uid) -> Findings {
    let mut findings = Findings::new();
    let Some(pod) = moment.life.pods.get(uid) else { return super::out_of_reach("removal of a finalizer") };
    let stored = moment.life.job.as_deref();
    // What the manager cannot have seen yet is no reason.
    let read = moment.seen.cache.get(uid).unwrap_or(pod);
    judge_fail_job(stored, read, &mut findings);
    if may_release_by_truth(stored, pod, &|uid| moment.life.past.is_counted(uid)) {
        return findings;
    }
    if let Some(view) = moment.cached_view() {
        judge_release(&view, pod, &mut findings);
        judge_surplus(&view, pod, &mut findings);
    }
    findings
}

/// FT-16, PC-04: of the pods that are wanted none loses its finalizer, so surplus is what is left of it after
/// the pods that were chosen already.
fn judge_surplus(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    let Some(seen) = view.post.get(pod.uid).filter(|seen| seen.is_active()) else { return };
    let causes = Causes::of(view, seen);
    if !causes.surplus || causes.suspended || causes.bad_index {
        return;
    }
    let chosen = view.post.iter().filter(|other| other.is_active() && !other.finalizer).count();
    let surplus = i64::from(view.post.sums().active) - want_active(view, &Tally::of(view));
    findings.require(
        Req::FT16,
        i64::try_from(chosen).is_ok_and(|chosen| chosen < surplus),
        "active pods without finalizer",
        Said::Text(format!("fewer than the surplus of {surplus}")),
        chosen,
    );
}

/// S-03, PF-09: the verdict of a FailJob rule is stored before the pod that it rests on is released. Without
/// faults this follows from TC-14, since the pod is recorded in no earlier write.
fn judge_fail_job(stored: Option<&Job>, pod: &Pod, findings: &mut Findings) {
    let Some(job) = stored.filter(|job| !job.deleting) else { return };
    if pod.phase != Phase::Failed || !matches!(pod.policy, PolicyMatch::FailJob(_)) {
        return;
    }
    let expected = "FailureTarget stored before the pod that matches a FailJob rule is released";
    findings.require(Req::PF09, job.status.is_decided(), "conditions", expected, "no interim condition");
}

/// The finalizer is gone.
pub fn apply(life: &mut Life, uid: Uid, scope: &Scope) {
    let Some(pod) = life.pods.get(uid).cloned() else { return };
    let seen = life.seen().post.get(uid).cloned();
    let fresh = life.manager.old_job.is_none() && life.manager.behind.is_empty();
    life.past.released(&pod, seen.as_ref(), life.job.as_deref(), fresh, &life.pods);
    life.write_pod(Pod { finalizer: false, ..pod }, scope.lag);
}
