//! Judges writes to the pods of a Job.

use std::fmt::{Display, Formatter};

use jobcheck_spec::birth::{Birth, PodBirth};
use jobcheck_spec::guards::adoption::{judge_adoption, judge_release};
use jobcheck_spec::guards::birth::{differs_from_template, judge_birth, judge_copy};
use jobcheck_spec::guards::creation::judge_creation;
use jobcheck_spec::guards::deletion::judge_deletion;
use jobcheck_spec::guards::finalizer_removal::{
    self, judge_finalizer_removal, may_remove_finalizer_by_truth,
};
use jobcheck_spec::guards::ownership::judge_foreign_finalizer;
use jobcheck_spec::guards::times::judge_by_later_event;
use jobcheck_spec::guards::ttl::judge_ttl_write_of_pod;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Findings, Req, Uid};
use jobcheck_traces::Verb;

use super::event::{Event, PodEvent};
use super::explain::Question;
use super::frontier::{Explained, Versions};
use super::job_writes::By;
use super::managers::intrusion;
use super::own_write::OwnWrite;
use super::pod_records::Fact;
use super::settings::Settings;
use super::story::{self, Words};
use super::track::Track;
use super::verdict::Note;
use super::without_interim::with_the_job_in_mind;
use super::{known, known_pods, uncertain};

/// Judges a new pod with this Job as its controller.
pub fn created(track: &mut Track, event: &Event, it: &PodEvent, pod: &Pod, by: By, settings: &Settings) {
    let write = Words(|f: &mut Formatter<'_>| write!(f, "creation of {}", story::pod(pod)));
    if track.stored.as_ref().is_some_and(|job| job.status.is_finished()) {
        track.pods.note(pod.uid, Fact::Late);
    }
    match by {
        By::Manager => {
            judge_new_pod(track, event, it.birth.as_deref(), pod, &write, settings);
            track.manager.executor = true;
            track.late_work.created += 1;
            // S-08: a sender without a response does not wait for the pod.
            if !track.unheard(event) {
                track.pods.note(pod.uid, Fact::Made);
            }
            track.occasions.unseen.creates(Some((pod.uid, event.version.unwrap_or(u64::MAX))));
            let gain = track.heard(event, pod.uid, OwnWrite::Create(Box::new(pod.clone())));
            track.pod_changed(pod.uid, Some(pod.clone()), gain);
        }
        By::Intruder => {
            let mut findings = Findings::new();
            intrusion(track, by, "creation of a pod", &mut findings);
            track.take(event, &write, findings);
            track.pod_changed(pod.uid, Some(pod.clone()), None);
        }
        By::Ttl => {
            let mut findings = Findings::new();
            judge_ttl_write_of_pod(&mut findings);
            track.take(event, &write, findings);
            track.pod_changed(pod.uid, Some(pod.clone()), None);
        }
        By::Other => track.pod_changed(pod.uid, Some(pod.clone()), None),
    }
    track.tell(event, &write);
}

/// Judges the manager's decision to create `pod`, whether it was accepted or not. `birth` is the pod in the request, if
/// the trace shows it.
pub fn judge_new_pod(
    track: &mut Track,
    event: &Event,
    birth: Option<&Birth>,
    pod: &Pod,
    write: &dyn Display,
    settings: &Settings,
) {
    let mut findings = Findings::new();
    if let (Some(job), Some(birth)) = (track.stored.clone(), birth) {
        judge_birth(&settings.gates.read(&job), pod, birth, &mut findings);
    }
    // Only times within objects show the order of a watch.
    let is_shown_alone = event.when.is_none() && birth.is_some();
    let has_own_times = track.manager.executor && !track.manager.foreign_status;
    if let Some(job) = track.stored.as_ref().filter(|_| is_shown_alone && has_own_times) {
        judge_by_later_event(&job.status, pod.created, &mut findings);
    }
    let warning = track.process.setbacks.judge_retry(event, settings, &mut findings);
    warning.into_iter().for_each(|warning| track.warn(event, warning));
    track.take(event, write, findings);
    if event.when.is_none() {
        track.begins_after_silence(settings.began_before_birth(pod.created), None);
    }
    track.judge_by_views(event, settings, write, Versions::Any, event.latest(), &|view, findings| {
        judge_creation(view, pod, findings);
        if let Some(birth) = birth {
            judge_copy(view.job, birth, findings);
        }
    });
    if let Some(birth) = birth.filter(|birth| birth.asked.is_none()) {
        compare_with_template(track, event, &birth.created, pod, settings);
    }
}

/// Compares a pod with the template if the trace does not show the request. Either the controller or admission has
/// changed a value that differs, so that the verdict is inconclusive.
fn compare_with_template(
    track: &mut Track,
    event: &Event,
    created: &PodBirth,
    pod: &Pod,
    settings: &Settings,
) {
    let is_copy = |view: &View<'_>, findings: &mut Findings| {
        let differs = differs_from_template(view.job, created).is_some();
        findings.require(Req::PC14, !differs, "spec of the created pod", "that of the template", "another");
    };
    let Some(job) = track.stored.clone() else { return };
    let Some(field) = differs_from_template(&job, created) else { return };
    if !track.might(&of_pod(event, settings, &is_copy)) {
        let pod = pod.uid;
        let reason = format!(
            "{field} of pod {pod} differs from the template: the controller or an admission plugin has changed it, and \
             only an audit log shows which of them"
        );
        track.reserve(Note::on(event, reason));
    }
}

/// Judges a new state of a pod of this Job. `gone`: the pod was removed with it.
pub fn updated(track: &mut Track, event: &Event, after: &Pod, gone: bool, by: By, settings: &Settings) {
    let deletes = by == By::Manager && event.verb == Some(Verb::Delete) && event.actor.is_some();
    if by == By::Ttl {
        let mut findings = Findings::new();
        judge_ttl_write_of_pod(&mut findings);
        track.take(event, &format_args!("write of {}", story::pod(after)), findings);
    }
    let Some(before) = track.history.stored.get(after.uid).cloned() else {
        // The response to a DELETE may come after the pod has gone, and its sender knows about it. The pods of a
        // finished Job are not kept.
        if deletes && track.stored.as_ref().is_some_and(|job| job.status.is_finished()) {
            delete(track, event, after, after, by, settings);
            return;
        }
        let own = track.heard(event, after.uid, OwnWrite::Delete).filter(|_| deletes);
        track.pod_changed(after.uid, (!gone).then(|| after.clone()), own);
        return;
    };
    uncertain::judge_count(track, event, after, gone, by);
    track.process.uncertain.remove(&after.uid);
    if after.deleting {
        // The manager removes the finalizer only from a pod that is being deleted (J-08).
        track.pods.forget(after.uid, Fact::Held);
    }
    if !gone {
        track.contradicts_refusal(event, after.uid);
    }
    // A pod that a watch shows as deleted has lost its finalizer, whatever its last state contains.
    let finalizer_left = after.finalizer && !gone;
    let loses_finalizer = before.finalizer && !finalizer_left;
    let deletion = after.deleting && (!before.deleting || deletes);
    let own = by == By::Manager;
    let regains_finalizer = !before.finalizer && finalizer_left && (!own || event.actor.is_none());
    if regains_finalizer && track.pods.has(after.uid, Fact::Counted) {
        track.pods.note(after.uid, Fact::Regained);
        track.history.settled.insert(after.uid);
    }
    let mut state = Pod { finalizer: finalizer_left, ..after.clone() };
    if loses_finalizer {
        // The removal is a write of its own. A change by another actor came before it.
        let mut own_write = None;
        if own {
            track.pods.note(after.uid, Fact::LetGo);
        }
        if own || by == By::Intruder {
            finalizer_removed(track, event, &before, by, settings);
            own_write = track.heard(event, after.uid, OwnWrite::RemoveFinalizer).filter(|_| own);
        }
        let without = Pod { finalizer: false, deleting: before.deleting, ..state.clone() };
        track.pod_changed(after.uid, Some(without), own_write);
    }
    let at_once = gone && !own && event.verb == Some(Verb::Delete) && event.actor.is_some();
    // The API server marks a pod before it removes it at once, and a cache shows the mark for an instant. This state is
    // used only if the trace shows what was read; elsewhere it would explain every case of H4.
    if at_once && deletion && !settings.observations.is_empty() {
        let version = track.history.take_in(None);
        track.pod_changed(after.uid, Some(Pod { deleting: true, ..state.clone() }), None);
        track.history.take_in(version);
    }
    if deletion && !at_once {
        state.deleting = true;
        delete(track, event, &before, &state, by, settings);
    } else if !loses_finalizer && !at_once {
        track.pod_changed(after.uid, Some(state.clone()), None);
        if own && !before.finalizer && event.verb == Some(Verb::Patch) {
            // An earlier process has removed the finalizer.
            match track.unheard(event) {
                true => track.misses_answer(event),
                false => track.acknowledges(after.uid, OwnWrite::RemoveFinalizer),
            }
        }
    }
    if gone {
        track.pod_removed(event, after.uid);
    }
    tell(track, event, &before, after, gone);
}

fn tell(track: &mut Track, event: &Event, before: &Pod, after: &Pod, gone: bool) {
    let end = if gone { ", gone" } else { "" };
    if before != after || gone {
        track.tell(event, &format_args!("{}{end}", story::pod(after)));
    }
}

/// Removes a pod of this Job whose last state is not shown.
pub fn gone(track: &mut Track, event: &Event, uid: Uid) {
    track.pod_removed(event, uid);
    track.tell(event, &format_args!("pod {} is gone", uid));
}

/// Judges a finalizer removal by the manager, accepted or not.
pub fn finalizer_removed(track: &mut Track, event: &Event, before: &Pod, by: By, settings: &Settings) {
    let refused = refused_or_not(event);
    let write = Words(|f: &mut Formatter<'_>| {
        write!(f, "{refused}removal of the finalizer of {}", story::pod(before))
    });
    if by == By::Intruder {
        let mut findings = Findings::new();
        judge_foreign_finalizer(track.stored.is_some(), before.uid, &mut findings);
        track.take(event, &write, findings);
        return;
    }
    let read = |job: std::sync::Arc<Job>| settings.gates.read(&job);
    let stored = track.stored.clone().map(read);
    // The basis of decisions is not known for a Job that was first seen in mid-life (S-03 depends on earlier refusals).
    let had_failed = track.coverage.complete
        && match event.is_posthumous() {
            true => had_seen_it_fail(track, event, before, settings),
            false => !chosen_before_it_failed(track, event, before, settings),
        };
    if had_failed {
        judge_fail_job(track, event, track.shown().map(read).as_deref(), before, &write);
    }
    let pods = &track.pods;
    if may_remove_finalizer_by_truth(stored.as_deref(), before, &|uid| pods.has(uid, Fact::Counted)) {
        for req in [Req::FT03, Req::FT14] {
            track.results.premises.premise(req);
        }
        track.results.judged += 1;
        note_end(track, event, before, settings);
        return;
    }
    let pod = before.clone();
    let chosen = track.history.finalizers_removed_in_sync();
    let explained =
        track.judge_by_views(event, settings, &write, Versions::Any, event.latest(), &|view, findings| {
            with_the_job_in_mind(view, |view| {
                judge_finalizer_removal(view, &pod, &|uid| chosen.contains(&uid), findings);
            });
        });
    if !explained {
        known_pods::of_release(track, event, before);
    }
}

/// Notes that the sender knows that the Job is gone, if nothing else allows the removal of a finalizer. One removal is
/// looked at.
fn note_end(track: &mut Track, event: &Event, pod: &Pod, settings: &Settings) {
    if !track.coverage.complete || !track.process.frontier.has_unknown_end() {
        return;
    }
    let chosen = track.history.finalizers_removed_in_sync();
    let judge = |view: &View<'_>, findings: &mut Findings| {
        findings.require(
            Req::FT20,
            !view.job.deleting,
            "the Job",
            "one that is not being deleted",
            "deleted",
        );
        judge_finalizer_removal(view, pod, &|uid| chosen.contains(&uid), findings);
    };
    if !track.might(&of_pod(event, settings, &judge)) {
        track.shows_end(event);
    }
}

/// FT-16, PF-09: a pod whose finalizer is removed for its deletion may fail before the request arrives. No sync has
/// seen the failure then.
fn chosen_before_it_failed(track: &mut Track, event: &Event, pod: &Pod, settings: &Settings) -> bool {
    if !finalizer_removal::is_fail_job(pod) {
        return false;
    }
    let chosen = track.history.finalizers_removed_in_sync();
    let judge = |view: &View<'_>, findings: &mut Findings| {
        let alive = view.cache.get(pod.uid).is_some_and(|read| !finalizer_removal::is_fail_job(read));
        findings.require(Req::PF09, alive, "the pod", "a pod without a visible failure", pod.uid);
        with_the_job_in_mind(view, |view| {
            judge_finalizer_removal(view, pod, &|uid| chosen.contains(&uid), findings)
        });
    };
    let explained = track.explain(&of_pod(event, settings, &judge), Interpretation::Ideal);
    matches!(explained, Explained::Yes(_))
}

/// Returns `true` if the trace shows that the terminated sender of the request had seen the pod fail.
fn had_seen_it_fail(track: &mut Track, event: &Event, pod: &Pod, settings: &Settings) -> bool {
    let Some(reach) = track.reach_of_sender(event, settings) else { return false };
    track.history.seek(reach);
    track.history.cache().get(pod.uid).is_some_and(finalizer_removal::is_fail_job)
}

/// S-03, PF-09: the decision of a FailJob rule is stored before the finalizer of its pod is removed.
fn judge_fail_job(track: &mut Track, event: &Event, stored: Option<&Job>, pod: &Pod, write: &dyn Display) {
    let Some(job) = stored else { return };
    let occasion = || known::drops_fail_job(track, event, &job.status, pod);
    let mut findings = Findings::new();
    finalizer_removal::judge_fail_job(job, pod, occasion, &mut findings);
    track.take(event, write, findings);
}

/// Judges a deletion of a pod of this Job.
fn delete(track: &mut Track, event: &Event, before: &Pod, after: &Pod, by: By, settings: &Settings) {
    let write = Words(|f: &mut Formatter<'_>| write!(f, "deletion of {}", story::pod(before)));
    match by {
        By::Manager if event.actor.is_none() => {
            // A watch does not show the sender. If the manager had a reason for the deletion, it may know about it
            // without its cache.
            match may_be_the_managers(track, event, before, settings) {
                true => track.pod_changed_perhaps(after.uid, Some(after.clone()), OwnWrite::Delete),
                false => track.pod_changed(after.uid, Some(after.clone()), None),
            }
        }
        By::Manager => {
            judge_deleted(track, event, before, &write, settings);
            let own = track.heard(event, after.uid, OwnWrite::Delete);
            track.pod_changed(after.uid, Some(after.clone()), own);
        }
        By::Intruder => {
            let mut findings = Findings::new();
            intrusion(track, by, "deletion of a pod", &mut findings);
            track.take(event, &write, findings);
            track.pod_changed(after.uid, Some(after.clone()), None);
        }
        By::Ttl | By::Other => track.pod_changed(after.uid, Some(after.clone()), None),
    }
}

/// A decision about a pod, which may rest on any Job version in the cache.
pub(super) fn of_pod<'a>(
    event: &'a Event,
    settings: &'a Settings,
    judge: &'a dyn Fn(&View<'_>, &mut Findings),
) -> Question<'a> {
    let (versions, latest) = (Versions::Any, event.latest());
    Question { event, settings, write: &"write to a pod", versions, latest, judge }
}

/// Returns `true` if some view, or a known deviation, is a reason to delete the pod.
fn may_be_the_managers(track: &mut Track, event: &Event, pod: &Pod, settings: &Settings) -> bool {
    let chosen_before = !pod.finalizer;
    let judge = |view: &View<'_>, findings: &mut Findings| judge_deletion(view, pod, chosen_before, findings);
    !track.coverage.complete || track.might(&of_pod(event, settings, &judge))
}

/// Judges the manager's decision to delete a pod, whether it was accepted or not. `pod` is the state in etcd.
pub fn judge_deleted(track: &mut Track, event: &Event, pod: &Pod, write: &dyn Display, settings: &Settings) {
    // A pod without a finalizer because of a user's write was not chosen by a sync (S-11).
    let was_let_go = !track.coverage.complete || track.pods.has(pod.uid, Fact::LetGo);
    let chosen_before =
        !pod.finalizer && was_let_go && !track.history.finalizers_removed_in_sync().contains(&pod.uid);
    let judge = |view: &View<'_>, findings: &mut Findings| judge_deletion(view, pod, chosen_before, findings);
    if track.judge_by_views(event, settings, write, Versions::Any, event.latest(), &judge) {
        track.note_passed_deadline(event, settings, &judge);
    }
    known_pods::of_deletion(track, event, pod);
}

/// A prefix for the description of a refused write.
fn refused_or_not(event: &Event) -> &'static str {
    if event.is_accepted() { "" } else { "refused " }
}

/// Judges the adoption of an ownerless pod (FT-24).
pub fn adopted(
    track: &mut Track,
    event: &Event,
    before: Option<&Pod>,
    after: &Pod,
    labels: &[(Text, Text)],
    by: By,
    settings: &Settings,
) {
    if by == By::Manager {
        let mut findings = Findings::new();
        let write = Words(|f: &mut Formatter<'_>| write!(f, "adoption of {}", story::pod(after)));
        // A watch of a Job that was first seen in mid-life does not show who adopted a pod, and when.
        let told = event.actor.is_some() || track.coverage.complete;
        match (track.shown(), before.filter(|_| told)) {
            // The Job may have been deleted between the GET and the PATCH.
            (Some(job), Some(before)) if job.deleting && !track.began_after_deletion() => {
                track.judge_by_views(
                    event,
                    settings,
                    &write,
                    Versions::Any,
                    event.latest(),
                    &|view, findings| {
                        judge_adoption(view.job, before, after, labels, findings);
                    },
                );
            }
            (Some(job), Some(before)) => judge_adoption(&job, before, after, labels, &mut findings),
            _ => {}
        }
        if before.is_some_and(|before| before.finalizer) {
            track.pods.note(after.uid, Fact::AdoptedOwnerless);
        }
        if track.pods.has(after.uid, Fact::Counted) {
            track.pods.note(after.uid, Fact::Regained);
            track.history.settled.insert(after.uid);
        }
        track.take(event, &write, findings);
        track.manager.executor = true;
        track.pods.note(after.uid, Fact::Made);
        let gain = track.heard(event, after.uid, OwnWrite::Adopt(Box::new(after.clone())));
        track.pod_changed(after.uid, Some(after.clone()), gain);
    } else {
        if track.process.setbacks.lost_creations > 0 && by == By::Other {
            track.found_lost_creation(after.uid);
        }
        track.pod_changed(after.uid, Some(after.clone()), None);
    }
    track.tell(event, &format_args!("adoption of {}", story::pod(after)));
}

/// Judges the loss of the controller: the manager released the pod (FT-26), or another actor took it.
pub fn released(
    track: &mut Track,
    event: &Event,
    after: Option<&Pod>,
    uid: Uid,
    labels: &[(Text, Text)],
    by: By,
    settings: &Settings,
) {
    let own = by == By::Manager && event.actor.is_some();
    if let Some((job, pod)) = track.stored.as_ref().zip(track.history.stored.get(uid)) {
        track.pods.note_loss(job, pod);
    }
    let ownerless_pod = after.filter(|pod| pod.finalizer).map(|pod| Pod { controlled: false, ..pod.clone() });
    if own {
        let write = Words(|f: &mut Formatter<'_>| write!(f, "release of pod {uid}"));
        let received = event.when.map_or(i64::MAX, |when| when.received);
        let seen = (labels, track.pods.ownership.was_just_restored(uid, received));
        match (track.shown(), after) {
            // The sync may not have seen the deletion of the Job.
            (Some(job), Some(after)) if job.deleting => {
                track.judge_by_views(
                    event,
                    settings,
                    &write,
                    Versions::Any,
                    event.latest(),
                    &|view, findings| {
                        judge_release(view.job, after, seen, findings);
                    },
                );
            }
            (job, after) => {
                let mut findings = Findings::new();
                if let (Some(job), Some(after)) = (job, after) {
                    judge_release(&job, after, seen, &mut findings);
                }
                track.take(event, &write, findings);
            }
        }
        let own = track.heard(event, uid, OwnWrite::Release);
        track.pod_changed(uid, ownerless_pod, own);
    } else if event.actor.is_none() {
        track.pod_changed_perhaps(uid, ownerless_pod, OwnWrite::Release);
    } else {
        track.pod_changed(uid, ownerless_pod, None);
    }
    track.tell(event, &format_args!("pod {} is no longer controlled by the Job", uid));
}
