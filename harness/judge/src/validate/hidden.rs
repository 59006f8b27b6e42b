//! Requests whose response the trace does not show: a record without a body is unknown, never absent
//! (`docs/reference/judging.md`, *Verdict and exit code*).
//!
//! The body of the request shows the removal of a finalizer. Whatever else such a request did is unknown, so the verdict
//! on its Job is inconclusive.

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::{Resource, Verb};

use super::actor::Role;
use super::contents::no_pod;
use super::event::{Event, PodEvent};
use super::router::Judge;
use super::track::Track;

impl Judge {
    /// Takes an accepted write of a pod without its response.
    pub(super) fn hidden_pod_write(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let known = it.uid.map_or_else(|| self.named_pod(event), |uid| self.owned_pod(uid));
        // Others may remove their own finalizers with the same request, and a pod may vanish with its last one.
        let removes_only_ours = |pod: &Pod| {
            it.removes_finalizer
                && (matches!(role, Role::JobController | Role::Manager) || !pod.other_finalizers)
        };
        match known {
            Some((job, pod)) if removes_only_ours(&pod) => {
                self.finalizer_removed_unseen(event, it, pod, job, role)
            }
            Some((job, _)) => self.hides(event, job, "the audit level hides a write of a pod"),
            None if event.verb == Some(Verb::Create) => {
                self.hidden_gain(event, it, "the audit level hides the creation of a pod")
            }
            None => self.hidden_write_of_ownerless(event, it, role),
        }
    }

    /// A pod that no Job controls, as far as the trace shows.
    fn hidden_write_of_ownerless(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let named = || self.pods.names.get(&(event.namespace.clone(), event.name.clone()));
        let uid = it.uid.or_else(named);
        let known = uid.and_then(|uid| self.pods.ownerless.get(&uid).cloned());
        if let Some(pod) = known.filter(|_| it.removes_finalizer && it.names_owner == Some(false)) {
            let after = Pod { finalizer: false, ..pod };
            let gone = is_gone(&after);
            self.ownerless_changed(event, &PodEvent { uid, gone, ..no_pod() }, &after, role);
            match gone {
                true => drop(self.pods.ownerless.remove(&after.uid)),
                false => drop(self.pods.ownerless.insert(after.uid, after)),
            }
            return;
        }
        if let Some(former) = uid.and_then(|uid| self.pods.former.get(&uid)).copied() {
            self.hides(event, former, "the audit level hides a write of a pod");
        }
        if may_adopt(event, it, role) {
            self.hidden_gain(event, it, "the audit level hides a write of a pod, which may be its adoption");
        }
    }

    fn finalizer_removed_unseen(&mut self, event: &Event, it: &PodEvent, pod: Pod, job: Uid, role: Role) {
        let after = Pod { finalizer: false, ..pod };
        let gone = is_gone(&after);
        self.pod_of(event, &PodEvent { uid: it.uid, gone, ..no_pod() }, &after, job, role);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.saw(event, Some(after.uid));
        }
    }

    /// A pod that no Job had before, as far as the trace shows. Only the owner in the request shows its Job.
    fn hidden_gain(&mut self, event: &Event, it: &PodEvent, reason: &str) {
        let owner = it.metadata.as_ref().and_then(|asked| asked.controller.as_ref()).map(|owner| owner.uid);
        let is_concerned = |job: &Uid, namespace: &Text| match owner {
            Some(owner) => *job == owner,
            None => *namespace == event.namespace,
        };
        let jobs: Vec<Uid> = self
            .tracks
            .awake()
            .filter(|(job, track)| is_concerned(job, &track.id.namespace))
            .filter(|(_, track)| track.stored.as_ref().is_some_and(|job| !job.status.is_finished()))
            .map(|(job, _)| *job)
            .collect();
        for job in jobs {
            self.hides(event, job, reason);
        }
    }

    /// Notes that this event may have deleted each Job of its namespace, or each pod.
    pub(super) fn gap_in(&mut self, event: &Event, resource: Resource, reason: &str) {
        let is_concerned = |track: &&mut Track| track.id.namespace == event.namespace;
        for track in self.tracks.awake_mut().filter(is_concerned) {
            track.coverage.gap = Some(event.order);
            if !track.is_finished() {
                track.doubt(reason.to_owned());
            }
        }
        if resource == Resource::Jobs {
            self.tracks.gap_in(&event.namespace, event.order, reason);
        }
    }

    fn hides(&mut self, event: &Event, job: Uid, reason: &str) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.doubt(reason.to_owned());
            track.coverage.gap = Some(event.order);
        }
    }
}

/// A pod that is being deleted vanishes with its last finalizer, unless a node has to stop it first.
fn is_gone(pod: &Pod) -> bool {
    let is_free = !pod.finalizer && !pod.other_finalizers;
    pod.deleting && is_free && (pod.forced || pod.needs_no_stop())
}

/// Returns `true` if the request may make a pod one of a Job. The body of a PATCH shows if it names an owner.
fn may_adopt(event: &Event, it: &PodEvent, role: Role) -> bool {
    let adopts = matches!(role, Role::JobController | Role::Manager);
    adopts && matches!(event.verb, Some(Verb::Patch | Verb::Update)) && it.names_owner != Some(false)
}
