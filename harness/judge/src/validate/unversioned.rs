//! Deletions of pods whose responses have no version: evictions, and those of collections.
//!
//! Nothing shows when etcd accepted them, but for the times of their API server, whose clock may differ from that of another one. They
//! are placed as early as possible, so that what follows soon may also have come before (`docs/reference/judging.md`, *Order*).

use jobcheck_spec::pod::Pod;

use super::actor::Role;
use super::clocks::CLOCKS_DIFFER;
use jobcheck_projection::PodObject;

use super::event::Event;
use super::router::Judge;
use super::track::Track;
use super::{pod_writes, refused_pods};

impl Judge {
    pub(super) fn collected(&mut self, event: &Event, object: &PodObject, role: Role) {
        let uid = object.pod.uid;
        let Some(job) = self.pods.owners.get(&uid).copied() else { return };
        let by = self.by(event, role, job, false);
        let Some(track) = self.tracks.get_mut(&job) else { return };
        let Some(before) = track.history.stored.get(uid).cloned() else { return };
        let pod = Pod { deleting: true, ..before };
        let at_once = !pod.scheduled || pod.is_terminated();
        let gone = object.metadata.finalizers.is_empty() && at_once;
        places_early(track, event);
        pod_writes::updated(track, event, &pod, gone, by, &self.settings);
        track.history.receives(None);
        if gone {
            self.pods.owners.remove(&uid);
        }
    }

    /// Marks an evicted pod as being deleted. The response is a `Status`.
    pub(super) fn evicted(&mut self, event: &Event, role: Role) {
        let Some((job, pod)) = self.named_pod(event) else { return };
        if !event.is_accepted() {
            if let Some(track) = self.tracks.get_mut(&job).filter(|_| event.has_server_error()) {
                refused_pods::uncertain_of_others(track, event, Some(pod.uid));
            }
            return;
        }
        let by = self.by(event, role, job, false);
        let gone = pod.goes_at_once();
        // The API server sets the condition before the deletion.
        let evict = |pod: Pod| Pod { deleting: true, disrupted: true, ..pod };
        if let Some(track) = self.tracks.get_mut(&job) {
            places_early(track, event);
            // The response shows nothing of the pod, so that an earlier write with a server error stays uncertain.
            let uncertain = track.process.uncertain.remove(&pod.uid);
            pod_writes::updated(track, event, &evict(pod.clone()), gone, by, &self.settings);
            let uncertain = uncertain.map(|write| write.followed_by(&evict));
            track.process.uncertain.extend(uncertain.filter(|_| !gone).map(|write| (pod.uid, write)));
            track.history.receives(None);
        }
    }
}

/// Notes that an event without a version has its earliest place. The clocks of two API servers may differ.
fn places_early(track: &mut Track, event: &Event) {
    if let Some(when) = event.when {
        track.history.receives(Some(when.received));
        track.history.places_early(when.done.saturating_add(CLOCKS_DIFFER));
    }
}
