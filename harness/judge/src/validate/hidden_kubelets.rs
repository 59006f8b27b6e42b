//! Pods that kubelets may have removed, in a log that hides kubelets (`docs/reference/judging.md`, *Audit logs*).
//!
//! A policy may leave out the group `system:nodes`. A pod that has run then changes without a write, which shows that writes are
//! missing. A pod that never ran is only gone, or has failed if a finalizer keeps it. A write that this explains is wrong if
//! the log shows a kubelet of the Job after all. Otherwise the Job is inconclusive.
//!
//! A kubelet needs a moment. The sync that deletes a pod does not see its removal, and the next one may.

use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::view::Interpretation;
use jobcheck_spec::{Broken, Uid};
use jobcheck_traces::Form;

use super::actor::Role;
use super::explain::Question;
use super::frontier::Explained;
use super::primary::primary;
use super::track::Track;
use super::verdict::ViewRefusal;

/// The shortest time from the deletion of a pod to its removal by a kubelet, in microseconds.
const FAST: i64 = 1_000_000;
const REASON: &str =
    "a write of a pod may be missing: kubelets remove bound pods, and the log has no request of a kubelet";

/// The error of this write, if kubelets may have removed pods before it.
pub(super) fn sign(track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Broken> {
    let may_hide = question.event.form == Form::Audit && !track.coverage.shows_kubelets;
    if !may_hide || pods(track, question).is_empty() {
        return None;
    }
    views.first().and_then(|view| primary(&view.broken))
}

/// The pods that kubelets may have removed: they are bound, and were deleted before they ran.
pub(super) fn pods(track: &Track, question: &Question<'_>) -> Vec<Uid> {
    let is_untouched = |pod: &&Pod| {
        pod.deleting && pod.scheduled && pod.phase == Phase::Pending && pod.ready_changed.is_none()
    };
    let received = question.event.when.map(|when| when.received);
    let untouched: Vec<Uid> = track.history.stored.iter().filter(is_untouched).map(|pod| pod.uid).collect();
    if untouched.is_empty() {
        return untouched;
    }
    let deleted = track.history.deletion_times();
    let synced = received.and_then(|received| track.process.status_writes.last_before(received));
    let is_old = |uid: &Uid| {
        let Some(since) = deleted.get(uid).copied().flatten() else { return true };
        received.is_none_or(|received| received - since >= FAST)
            || synced.is_some_and(|synced| since < synced)
    };
    untouched.into_iter().filter(is_old).collect()
}

/// Searches a view in which kubelets have ended these pods.
pub(super) fn assume_ends(track: &mut Track, question: &Question<'_>) -> Explained {
    let pods = pods(track, question);
    for uid in &pods {
        let early = track.history.end();
        let after = track.history.stored.get(*uid).and_then(ended);
        track.history.push(*uid, after, None, early);
    }
    let explained = track.explain(question, Interpretation::Ideal);
    if matches!(explained, Explained::Yes(_)) {
        pods.iter().for_each(|uid| track.coverage.pods_seen.entry(*uid).or_default().ended = true);
    }
    explained
}

/// The pod after its end by a kubelet; `None` if it is gone. Since 1.27 a kubelet ends each pod before it removes it.
fn ended(pod: &Pod) -> Option<Pod> {
    let is_kept = pod.finalizer || pod.other_finalizers;
    is_kept.then(|| Pod { phase: Phase::Failed, ready: false, ..pod.clone() })
}

impl Track {
    /// Notes the sender of a write to a pod. If it is a kubelet, the log does not hide them.
    pub(super) fn shows_sender(&mut self, role: Role) {
        if role == Role::Kubelet && !self.coverage.shows_kubelets {
            self.coverage.shows_kubelets = true;
            self.results.violations.append(&mut self.results.withheld);
            self.results.violations.sort_by_key(|it| it.order);
        }
    }

    /// At the end: no kubelet has shown itself.
    pub(super) fn settle_hidden_kubelets(&mut self) {
        if !self.results.withheld.is_empty() {
            self.doubt(REASON.to_owned());
        }
    }
}
