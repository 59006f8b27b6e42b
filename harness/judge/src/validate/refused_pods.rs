//! Judges refused writes to the pods of a Job. They change nothing, and are judged as if they had been accepted.

use std::fmt::Formatter;

use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::Verb;

use super::event::{Event, PodEvent};
use super::job_writes::By;
use super::managers::judge_forbidden;
use super::own_write::OwnWrite;
use super::pod_records::Fact;
use super::pod_writes;
use super::process::Uncertain;
use super::setbacks::{RefusedWrite, refused_creation};
use super::settings::Settings;
use super::story::{self, Words};
use super::track::Track;
use super::verdict::Note;

/// Judges a refused write to a pod of this Job.
pub fn refused(
    track: &mut Track,
    event: &Event,
    it: &PodEvent,
    uid: Option<Uid>,
    by: By,
    settings: &Settings,
) {
    if by != By::Manager {
        if event.has_server_error() {
            uncertain_of_others(track, event, uid);
        }
        return;
    }
    judge_forbidden(track, event, it.message.as_deref(), by);
    judge_wish(track, event, it, uid, settings);
    track.trouble.refused(event);
    track.trouble.refusal.refused(event, it.message.as_deref());
    track.came_to_nothing(event);
    if let Some(uid) = uid.filter(|_| event.code == 404) {
        // FT-26: a released pod does not matter to the Job any more.
        let releases = it.names_owner == Some(true);
        track.acknowledges(uid, if releases { OwnWrite::Release } else { OwnWrite::Miss });
    }
    if let Some(uid) = uid.filter(|_| event.code == 404 && !event.delivery.injected) {
        let text = format!("the API server answers 404 to a write of pod {uid}, which exists");
        track.trouble.refusal.missing.insert(uid, Note::on(event, text));
    }
    match (event.verb, event.code) {
        (Some(Verb::Delete), 404) => track.pod_write_refused(RefusedWrite::DeletionOfNothing),
        (Some(Verb::Patch), 404) => {
            track.process.refused.add(RefusedWrite::RemovalWithoutEffect);
            let listed = |uid: &Uid| track.stored.as_ref().is_some_and(|job| job.status.is_recorded(*uid));
            uid.filter(listed).into_iter().for_each(|uid| track.pods.note(uid, Fact::Vanished));
        }
        // A refused finalizer removal keeps a surplus pod alive, just like a refused deletion.
        (Some(Verb::Delete | Verb::Patch), _) => {
            track.pod_write_refused(RefusedWrite::Deletion);
            let listed = track.stored.as_ref().map_or(0, |job| job.status.recorded());
            track.process.setbacks.pod_write_refused(event, listed);
            uid.into_iter().for_each(|uid| note_clean_up(track, event, uid));
            if event.has_server_error() {
                uncertain(track, event, it, uid);
            }
        }
        (Some(Verb::Create | Verb::Update | Verb::DeleteCollection) | None, _) => {}
    }
    let verb = event.verb.map_or("write", jobcheck_traces::Verb::name);
    track.tell(event, &format_args!("{verb} of pod {} refused with {}", event.name, event.code));
}

/// Notes the refused finalizer removal of a clean-up, which is part of no sync: the Job has finished or goes (FT-22).
fn note_clean_up(track: &mut Track, event: &Event, uid: Uid) {
    let is_over = track.stored.as_ref().is_none_or(|job| job.status.is_finished() || job.deleting);
    if event.verb == Some(Verb::Patch) && is_over {
        let again = track.pods.has(uid, Fact::CleanUpRefused);
        track.pods.note(uid, if again { Fact::CleanUpRepeated } else { Fact::CleanUpRefused });
    }
}

/// Judges the request as if it had been accepted.
fn judge_wish(track: &mut Track, event: &Event, it: &PodEvent, uid: Option<Uid>, settings: &Settings) {
    // With a 404 the cache may show any earlier state of the pod. Behind a shared account the sender is unknown.
    let is_told = event.code != 404 && event.actor.is_some();
    let Some(pod) = uid.filter(|_| is_told).and_then(|uid| track.history.stored.get(uid)).cloned() else {
        return;
    };
    // A conflict of UIDs: the request was meant for another pod of this name.
    if it.message.as_deref().is_some_and(|message| message.contains("Precondition failed")) {
        return;
    }
    // The orphan path, which is part of no sync, may have decided before it saw the adoption (FT-22, FT-29).
    let of_sync = !track.pods.has(pod.uid, Fact::AdoptedOwnerless);
    let names_finalizer_alone = it.names_finalizers == Some(true) && it.names_owner != Some(true);
    let removes_finalizer = names_finalizer_alone && pod.finalizer && of_sync;
    match event.verb {
        Some(Verb::Delete) => {
            let write = Words(|f: &mut Formatter<'_>| write!(f, "refused deletion of {}", story::pod(&pod)));
            pod_writes::judge_deleted(track, event, &pod, &write, settings);
        }
        Some(Verb::Patch) if removes_finalizer && !event.is_status => {
            pod_writes::finalizer_removed(track, event, &pod, By::Manager, settings);
        }
        Some(Verb::Patch | Verb::Create | Verb::Update | Verb::DeleteCollection) | None => {}
    }
}

/// Keeps a write with a server error, which may have been committed.
fn uncertain(track: &mut Track, event: &Event, it: &PodEvent, uid: Option<Uid>) {
    let Some(pod) = uid.and_then(|uid| track.history.stored.get(uid).cloned()) else { return };
    let uid = pod.uid;
    let (after, own) = match event.verb {
        Some(Verb::Delete) => (Some(Pod { deleting: true, ..pod }), OwnWrite::Delete),
        _ if it.names_owner == Some(true) => (None, OwnWrite::Release),
        _ => (Some(Pod { finalizer: false, ..pod }), OwnWrite::RemoveFinalizer),
    };
    track.process.uncertain.insert(uid, Uncertain::Effect { after, own: Some(own) });
}

/// Keeps a write of somebody else with a server error. A kubelet and a user may change anything but the owner.
pub fn uncertain_of_others(track: &mut Track, event: &Event, uid: Option<Uid>) {
    let Some(pod) = uid.and_then(|uid| track.history.stored.get(uid).cloned()) else { return };
    let uid = pod.uid;
    let what = match event.verb {
        Some(Verb::Delete) => Uncertain::Effect { after: Some(Pod { deleting: true, ..pod }), own: None },
        _ => Uncertain::Anything,
    };
    track.process.uncertain.insert(uid, what);
}

/// Judges a refused creation, which adds no pod (PC-12, PC-13).
pub fn creation_refused(track: &mut Track, event: &Event, it: &PodEvent, settings: &Settings) {
    judge_forbidden(track, event, it.message.as_deref(), By::Manager);
    track.trouble.refused(event);
    track.trouble.refusal.refused(event, it.message.as_deref());
    track.occasions.unseen.creates(None);
    track.late_work.creation_fails();
    if let Some(asked) = &it.attempted {
        // The pod would have been created at this time (BO-09).
        let pod = Pod { created: event.end().unwrap_or(asked.created), ..(**asked).clone() };
        let write = "refused creation of a pod";
        pod_writes::judge_new_pod(track, event, it.birth.as_deref(), &pod, &write, settings);
    }
    if let Some(stored) = &it.stored {
        let write = Uncertain::Effect { after: Some((**stored).clone()), own: None };
        track.process.uncertain.insert(stored.uid, write);
    }
    let message = it.message.as_deref().unwrap_or_default();
    track.process.setbacks.creation_refused(event, message);
    track.pod_write_refused(refused_creation(message));
    track.tell(event, &format_args!("creation of a pod refused with {}", event.code));
}
