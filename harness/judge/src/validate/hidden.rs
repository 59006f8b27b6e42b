//! Requests whose response the trace does not show: a record without a body is unknown, never absent
//! (`docs/reference/judging.md`, *Verdict and exit code*).
//!
//! The body of the request shows the removal of a finalizer. Whatever else such a request did is unknown, so the verdict
//! on its Job is inconclusive.

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::Verb;

use super::actor::Role;
use super::contents::no_pod;
use super::event::{Event, PodEvent};
use super::router::Judge;

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
            None if event.verb == Some(Verb::Create) => self.hidden_creation(event, it),
            None => {}
        }
    }

    /// A pod that is being deleted vanishes with its last finalizer, unless it runs on a node.
    fn finalizer_removed_unseen(&mut self, event: &Event, it: &PodEvent, pod: Pod, job: Uid, role: Role) {
        let after = Pod { finalizer: false, ..pod };
        let gone = after.deleting && after.goes_at_once();
        self.pod_of(event, &PodEvent { uid: it.uid, gone, ..no_pod() }, &after, job, role);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.saw(event, Some(after.uid));
        }
    }

    /// A pod that the trace does not show. Only the owner in the request shows its Job.
    fn hidden_creation(&mut self, event: &Event, it: &PodEvent) {
        let reason = "the audit level hides the creation of a pod";
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

    fn hides(&mut self, event: &Event, job: Uid, reason: &str) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.doubt(reason.to_owned());
            track.coverage.gap = Some(event.order);
        }
    }
}
