//! Pods that a Job controlled, that nobody controls now, and that hold its finalizer (FT-20, FT-21, J-05).

use std::fmt::Formatter;

use jobcheck_spec::apiserver::CONTROLLER_UID_LABEL;
use jobcheck_spec::guards::finalizer_removal::{judge_finalizer_removal, may_remove_finalizer_by_truth};
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::{Req, Uid};
use jobcheck_traces::{Form, Verb};

use super::actor::Role;
use super::event::{Event, PodEvent};
use super::frontier::Versions;
use super::gaps::Since;
use super::job_writes::By;
use super::own_write::OwnWrite;
use super::router::Judge;
use super::settings::Settings;
use super::story::{self, Words};
use super::track::Track;

impl Judge {
    /// A pod that this Job controlled, and that holds its finalizer, is controlled by nobody now.
    pub(super) fn stray_appears(&mut self, uid: Uid, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.counted.strayed.insert(uid);
        }
    }

    /// A pod that nobody controls has a new state.
    pub(super) fn stray_changed(&mut self, event: &Event, it: &PodEvent, pod: &Pod, role: Role) {
        let Some(job) = self.former.get(&pod.uid).copied() else { return };
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.stray_changed(event, it, pod, by, &self.settings);
        }
        let gone = it.gone;
        if gone || !pod.finalizer {
            self.stray_is_free(pod.uid, job);
        }
        if gone {
            self.former.remove(&pod.uid);
        }
    }

    /// A pod that nobody controls, and that was never shown before, has the tracking finalizer and the labels of a Job
    /// whose pods are all known: its creation is missing, and what became of it since. The late answer to a request for
    /// one that went shows it without finalizer.
    pub(super) fn find_missing_birth(&mut self, event: &Event, pod: &Pod, labels: &[(Text, Text)]) {
        let known = self.ownerless.contains_key(&pod.uid) || self.former.contains_key(&pod.uid);
        if known || !pod.finalizer || event.verb == Some(Verb::Create) || event.form == Form::Watch {
            return;
        }
        let label = labels.iter().find(|(name, _)| &**name == CONTROLLER_UID_LABEL);
        let Some((_, uid)) = label else { return };
        let Some(track) = self.tracks.get_mut(&Uid::parse(uid)).filter(|track| track.complete) else {
            return;
        };
        let since = Since::Time(pod.created.0.saturating_mul(1_000_000));
        track.lacks(event, "a write of a pod is missing: how it came to the Job that its labels name", since);
    }

    /// A pod that nobody controls is gone without a last state.
    pub(super) fn stray_gone(&mut self, event: &Event, uid: Uid) {
        let Some(job) = self.former.get(&uid).copied() else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            track.pod_removed(event, uid);
        }
        self.stray_is_free(uid, job);
        self.former.remove(&uid);
    }

    fn stray_is_free(&mut self, uid: Uid, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.counted.strayed.remove(&uid);
            track.rest();
        }
        self.close_if_over(job);
    }

    /// A pod that nobody controls has a controller now: it is no business of another Job any more.
    pub(super) fn stray_adopted(&mut self, uid: Uid, by: Uid) {
        let Some(job) = self.former.remove(&uid) else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            track.counted.strayed.remove(&uid);
            if job != by {
                track.pod_changed(uid, None, None);
            }
        }
        if job != by {
            self.close_if_over(job);
        }
    }
}

impl Track {
    fn stray_changed(&mut self, event: &Event, it: &PodEvent, pod: &Pod, by: By, settings: &Settings) {
        let own = by == By::Manager && event.actor.is_some();
        let deletes = own && event.verb == Some(Verb::Delete);
        // To the sync that gives it up, it is the Job's still.
        let gives_up = own && it.names_owner == Some(true);
        if deletes {
            self.misses_answer(event);
        }
        let Some(before) = self.history.ownerless.get(pod.uid).cloned() else {
            if gives_up || deletes {
                self.note_time(event);
            }
            if gives_up {
                let own = self.heard(event, pod.uid, OwnWrite::GiveUp);
                self.pod_changed(pod.uid, None, own);
            } else if deletes {
                self.pod_changed_perhaps(pod.uid, None, OwnWrite::Delete);
            }
            return;
        };
        self.note_time(event);
        let after = Some(Pod { controlled: false, ..pod.clone() }).filter(|pod| pod.finalizer && !it.gone);
        let release = after.is_none();
        if gives_up {
            let own = self.heard(event, pod.uid, OwnWrite::GiveUp);
            self.pod_changed(pod.uid, after, own);
            return;
        }
        if release && own {
            self.judge_stray_release(event, &before, settings);
        }
        match (deletes, release && own) {
            (true, _) => self.pod_changed_perhaps(pod.uid, after, OwnWrite::Delete),
            // A sync may do it to a pod that it lists (J-05), and the orphan path, of which no sync knows (FT-22).
            (false, true) => self.pod_changed_perhaps(pod.uid, after, OwnWrite::Release),
            (false, false) => self.pod_changed(pod.uid, after, None),
        }
        self.tell(event.place, &format_args!("{}, which nobody controls", story::pod(pod)));
    }

    /// FT-21: what nobody controls nobody counts. Who has not seen that has to have another reason.
    fn judge_stray_release(&mut self, event: &Event, pod: &Pod, settings: &Settings) {
        let counted = &self.counted.counted;
        if may_remove_finalizer_by_truth(self.stored.as_deref(), pod, &|uid| counted.contains(&uid)) {
            self.premises.premise(Req::FT21);
            self.judged += 1;
            return;
        }
        let write = Words(|f: &mut Formatter<'_>| {
            write!(f, "removal of the finalizer of {}, which nobody controls", story::pod(pod))
        });
        let chosen = self.history.released_in_sync();
        // It is no sync that does it (FT-22).
        let read = self.bounds;
        self.bounds = read.beside();
        self.judge_by_views(event, settings, &write, Versions::Any, event.latest(), &|view, findings| {
            if view.ownerless.is_some_and(|ownerless| ownerless.get(pod.uid).is_some()) {
                findings.premise(Req::FT21);
            } else {
                judge_finalizer_removal(view, pod, &|uid| chosen.contains(&uid), findings);
            }
        });
        self.bounds = read;
    }
}

/// Puts a pod where it belongs; its state before. `strays` are those that nobody controls.
pub(super) fn put(owned: &mut Pods, ownerless: &mut Pods, uid: Uid, pod: Option<Pod>) -> Option<Pod> {
    let is_owned = pod.as_ref().is_none_or(|pod| pod.controlled);
    let (own, stray) = if is_owned { (pod, None) } else { (None, pod) };
    // Strays are few.
    let unused = ownerless.is_empty() && stray.is_none();
    let was_stray = if unused { None } else { ownerless.set(uid, stray) };
    owned.set(uid, own).or(was_stray)
}
