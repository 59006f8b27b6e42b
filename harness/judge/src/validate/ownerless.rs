//! Ownerless pods: a Job controlled them, they have no controller now, and they hold its finalizer (FT-20, FT-21,
//! J-05).

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
use super::pod_records::Fact;
use super::router::Judge;
use super::settings::Settings;
use super::story::{self, Words};
use super::track::Track;

impl Judge {
    /// Notes a pod of this Job that lost its controller and holds the finalizer.
    pub(super) fn ownerless_appears(&mut self, uid: Uid, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.pods.note(uid, Fact::BecameOwnerless);
        }
    }

    /// Judges a new state of an ownerless pod.
    pub(super) fn ownerless_changed(&mut self, event: &Event, it: &PodEvent, pod: &Pod, role: Role) {
        let Some(job) = self.pods.former.get(&pod.uid).copied() else { return };
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.ownerless_changed(event, it, pod, by, &self.settings);
        }
        let gone = it.gone;
        if gone || !pod.finalizer {
            self.ownerless_is_free(pod.uid, job);
        }
        if gone {
            self.pods.former.remove(&pod.uid);
        }
    }

    /// Finds a missing creation: an ownerless pod is new to the trace. It holds the tracking finalizer, and has the
    /// labels of a Job whose pods are all known. A late response to a request for a removed pod has no finalizer.
    pub(super) fn find_missing_birth(&mut self, event: &Event, pod: &Pod, labels: &[(Text, Text)]) {
        let known = self.pods.ownerless.contains_key(&pod.uid) || self.pods.former.contains_key(&pod.uid);
        if known || !pod.finalizer || event.verb == Some(Verb::Create) || event.form == Form::Watch {
            return;
        }
        let label = labels.iter().find(|(name, _)| &**name == CONTROLLER_UID_LABEL);
        let Some((_, uid)) = label else { return };
        let Some(track) = self.tracks.get_mut(&Uid::parse(uid)).filter(|track| track.coverage.complete)
        else {
            return;
        };
        let since = Since::Time(pod.created.0.saturating_mul(1_000_000));
        track.lacks(event, "a write of a pod is missing: its creation for the Job in its labels", since);
    }

    /// Removes an ownerless pod whose last state is not shown.
    pub(super) fn ownerless_gone(&mut self, event: &Event, uid: Uid) {
        let Some(job) = self.pods.former.get(&uid).copied() else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            track.pod_removed(event, uid);
        }
        self.ownerless_is_free(uid, job);
        self.pods.former.remove(&uid);
    }

    fn ownerless_is_free(&mut self, uid: Uid, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.pods.forget(uid, Fact::BecameOwnerless);
            track.rest();
        }
        self.tracks.used(job);
        self.close_if_over(job);
    }

    /// Notes that an ownerless pod has a controller again.
    pub(super) fn ownerless_adopted(&mut self, uid: Uid, by: Uid) {
        let Some(job) = self.pods.former.remove(&uid) else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            track.pods.forget(uid, Fact::BecameOwnerless);
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
    fn ownerless_changed(&mut self, event: &Event, it: &PodEvent, pod: &Pod, by: By, settings: &Settings) {
        let own = by == By::Manager && event.actor.is_some();
        let deletes = own && event.verb == Some(Verb::Delete);
        // The sync that releases the pod still counts it as the Job's.
        let releases = own && it.names_owner == Some(true);
        if deletes {
            self.misses_answer(event);
        }
        let Some(before) = self.history.ownerless.get(pod.uid).cloned() else {
            if releases || deletes {
                self.times.note(self.history.end(), event);
            }
            if releases {
                let own = self.heard(event, pod.uid, OwnWrite::Release);
                self.pod_changed(pod.uid, None, own);
            } else if deletes {
                self.pod_changed_perhaps(pod.uid, None, OwnWrite::Delete);
            }
            return;
        };
        self.times.note(self.history.end(), event);
        let after = Some(Pod { controlled: false, ..pod.clone() }).filter(|pod| pod.finalizer && !it.gone);
        let leaves_history = after.is_none();
        if releases {
            let own = self.heard(event, pod.uid, OwnWrite::Release);
            self.pod_changed(pod.uid, after, own);
            return;
        }
        if leaves_history && own {
            self.judge_removal_from_ownerless(event, &before, settings);
        }
        match (deletes, leaves_history && own) {
            (true, _) => self.pod_changed_perhaps(pod.uid, after, OwnWrite::Delete),
            // A sync may do this to a recorded pod (J-05), and so may the orphan path, which is part of no sync
            // (FT-22).
            (false, true) => self.pod_changed_perhaps(pod.uid, after, OwnWrite::RemoveFinalizer),
            (false, false) => self.pod_changed(pod.uid, after, None),
        }
        self.tell(event, &format_args!("ownerless {}", story::pod(pod)));
    }

    /// FT-21: nobody counts ownerless pods. A manager that has not seen the loss of the owner needs another reason.
    fn judge_removal_from_ownerless(&mut self, event: &Event, pod: &Pod, settings: &Settings) {
        let pods = &self.pods;
        if may_remove_finalizer_by_truth(self.stored.as_deref(), pod, &|uid| pods.has(uid, Fact::Counted)) {
            self.results.premises.premise(Req::FT21);
            self.results.judged += 1;
            return;
        }
        let write = Words(|f: &mut Formatter<'_>| {
            write!(f, "removal of the finalizer of ownerless {}", story::pod(pod))
        });
        let chosen = self.history.finalizers_removed_in_sync();
        // The orphan path is part of no sync (FT-22).
        let read = self.process.bounds;
        self.process.bounds = read.beside();
        self.judge_by_views(event, settings, &write, Versions::Any, event.latest(), &|view, findings| {
            if view.ownerless.is_some_and(|ownerless| ownerless.get(pod.uid).is_some()) {
                findings.premise(Req::FT21);
            } else {
                judge_finalizer_removal(view, pod, &|uid| chosen.contains(&uid), findings);
            }
        });
        self.process.bounds = read;
    }
}

/// Puts a pod into the set that it belongs to, and returns its previous state.
pub(super) fn put(owned: &mut Pods, ownerless: &mut Pods, uid: Uid, pod: Option<Pod>) -> Option<Pod> {
    let is_owned = pod.as_ref().is_none_or(|pod| pod.controlled);
    let (own, ownerless_pod) = if is_owned { (pod, None) } else { (None, pod) };
    // Ownerless pods are rare.
    let unused = ownerless.is_empty() && ownerless_pod.is_none();
    let was_ownerless = if unused { None } else { ownerless.set(uid, ownerless_pod) };
    owned.set(uid, own).or(was_ownerless)
}
