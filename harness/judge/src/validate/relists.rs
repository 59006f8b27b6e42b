//! Changes that the manager misses between two lists: occasions of J-08 and J-09 (see [`super::known`]). Also the
//! memory that a new process lacks.

use std::collections::VecDeque;

use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::{JobStatus, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::Resource;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::caches::Extent;
use super::event::Event;
use super::pod_records::Fact;
use super::router::{DEPARTED, Judge};
use super::settings::names_job_controller;
use super::track::Track;
use super::tracks::Notice;

/// Time after which 1.36 stops waiting for an expected creation, in microseconds (`ExpectationsTimeout`).
const EXPECTATION: i64 = 300_000_000;

/// Changes that the manager of a Job has missed between two lists.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Unseen {
    /// The `resourceVersion` of the Job's first event.
    pub version: u64,
    /// A list showed this Job in place of the previous one: the end of the delay by the previous Job's backoff record
    /// (J-08).
    in_place: Option<i64>,
    /// The manager has handled the Job.
    attended: bool,
    /// Pods that the current process of the manager has created, with their versions.
    created: FxHashMap<Uid, u64>,
    /// A list first showed a pod while it was being deleted. The time until which the process waits for it, if nothing else happens to the Job (J-09).
    awaited: Option<i64>,
}

impl Unseen {
    /// Notes a request of the manager for the Job or one of its pods: it knows the Job.
    pub fn attended(&mut self) {
        self.attended = true;
    }

    /// Notes a creation by the manager, accepted or not: it waits for nothing.
    pub fn creates(&mut self, pod: Option<(Uid, u64)>) {
        (self.in_place, self.awaited) = (None, None);
        self.created.extend(pod);
    }

    /// Notes that another process manages the Job. It has a list of its own and an empty memory.
    pub fn restarted(&mut self) {
        (self.in_place, self.awaited) = (None, None);
        self.created.clear();
    }

    /// J-08: returns `true` if the backoff record of the previous Job still delays the pods of this one.
    pub fn inherits_delay(&self, now: Option<i64>) -> bool {
        self.in_place.is_some_and(|until| now.is_some_and(|now| now <= until))
    }

    /// J-09: returns `true` if the manager waits for a pod, or did so at the last event that triggers a sync.
    pub fn awaits_creation(&self, last_event: Option<i64>) -> bool {
        self.awaited.is_some_and(|until| last_event.is_some_and(|last| last <= until))
    }
}

/// Jobs that are gone. Another Job may get such a name (BO-06).
#[derive(Debug, Default)]
pub struct Departures(VecDeque<Departure>);

/// A Job that is gone.
#[derive(Debug)]
struct Departure {
    key: (Text, Text),
    uid: Uid,
    /// A process that has seen this version of any Job knows that the Job is gone.
    version: u64,
    /// Upper bound for the time of its end, in microseconds.
    answered: Option<i64>,
    /// The time until which its failures delay pods, by the backoff record of the built-in controller.
    delay: Option<i64>,
    /// The times in its last status.
    times: Vec<Time>,
}

impl Departures {
    /// Adds a Job that is gone since a write with this version, or since a later one than `latest`.
    pub fn add(&mut self, track: &Track, version: Option<u64>, latest: u64, constants: &Constants) {
        if self.0.len() == DEPARTED {
            self.0.pop_front();
        }
        let delay = track.process.backoff.ends(constants).filter(|_| track.is_built_in());
        let key = (track.id.namespace.clone(), track.id.name.clone());
        let version = version.unwrap_or(latest.saturating_add(1));
        let times = track.manager.mirror.last.clone();
        let answered = track.process.frontier.extent_at_end().map(|extent| extent.answered);
        self.0.push_back(Departure { key, uid: track.id.uid, version, answered, delay, times });
    }

    /// Returns `true` if a Job with this name is gone.
    pub fn has(&self, namespace: &Text, name: &Text) -> bool {
        self.0.iter().any(|it| it.key.0 == *namespace && it.key.1 == *name)
    }

    /// The times in the last status of a Job with this name that is gone.
    pub fn times(&self, namespace: &Text, name: &Text) -> Vec<Time> {
        let former = self.0.iter().rev().find(|it| it.key.0 == *namespace && it.key.1 == *name);
        former.map(|it| it.times.clone()).unwrap_or_default()
    }

    /// The namespace and name of a Job that is gone.
    pub fn key_of(&self, job: Uid) -> Option<&(Text, Text)> {
        self.0.iter().find(|it| it.uid == job).map(|it| &it.key)
    }

    /// Returns `true` if a cache with this extent no longer contains the Job.
    pub fn is_in(&self, job: Uid, extent: Extent) -> bool {
        self.answered(job).is_some_and(|answered| answered <= extent.answered)
    }

    /// The time by which a Job was gone.
    pub fn answered(&self, job: Uid) -> Option<i64> {
        self.0.iter().find(|it| it.uid == job).and_then(|it| it.answered)
    }

    /// The last Job of each name.
    fn latest(&self) -> impl Iterator<Item = &Departure> {
        let mut met = FxHashSet::default();
        self.0.iter().rev().filter(move |it| met.insert(&it.key))
    }
}

impl Judge {
    /// Begins another process of the controller with this name. A process of the Job controller has seen everything so
    /// far and has an empty memory.
    pub(super) fn restart(&mut self, event: &Event, name: &str) {
        if names_job_controller(name) {
            self.served = self.served.max(self.latest);
        }
        let at = event.when.map(|when| when.done).or(self.end.last);
        self.settings.restarted(Some(name), at.unwrap_or(i64::MIN));
        self.tracks.notify(Notice::Restart(self.settings.meant(name)));
    }

    /// Notes that the manager has handled a Job, so that it has seen this Job and all earlier ones.
    pub(super) fn attended(&mut self, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.occasions.unseen.attended();
            self.served = self.served.max(track.occasions.unseen.version);
        }
    }

    /// Lists again after a watch of the Job controller ended with 410; both resources if none is named.
    pub(super) fn relist(&mut self, resource: Option<Resource>) {
        if resource != Some(Resource::Pods) {
            self.lists_jobs();
        }
        if resource != Some(Resource::Jobs) {
            let seen = self.settings.observations.reached(Resource::Pods);
            self.tracks.notify(Notice::ListsPods(seen));
        }
    }

    /// J-08: if a list shows another Job under the name of one that is gone, the manager gets no delete event for it.
    fn lists_jobs(&mut self) {
        let seen = self.served.max(self.settings.observations.reached(Resource::Jobs));
        for departure in self.departures.latest().filter(|it| it.version > seen) {
            let heir = self.names.get(&departure.key).and_then(|heir| self.tracks.get_mut(&heir));
            let Some(heir) = heir.filter(|heir| is_unmanaged(heir) && heir.occasions.unseen.version > seen)
            else {
                continue;
            };
            // Later lists show nothing new about the name.
            heir.occasions.unseen.attended = true;
            heir.occasions.unseen.in_place = departure.delay;
            if let Some(track) = self.tracks.get_mut(&departure.uid) {
                track.pods.forget_all(Fact::Held);
                let held = track.history.stored.iter().filter(|pod| pod.finalizer);
                held.for_each(|pod| track.pods.note(pod.uid, Fact::Held));
            }
        }
    }
}

/// J-08: returns `true` if no event shows the manager that the Job of these pods is gone.
pub fn hides_the_end(track: &Track) -> bool {
    let mut held = track.history.stored.iter().filter(|pod| pod.finalizer);
    track.pods.any(Fact::Held) && held.all(|pod| track.pods.has(pod.uid, Fact::Held))
}

/// J-09: the process never observes the creation of a pod that it first sees while the pod is being deleted. If it had
/// seen the deletion before, the status would count it.
pub fn lists_pods(track: &mut Track, seen: u64) {
    let Some(job) = &track.stored else { return };
    let created = &track.occasions.unseen.created;
    let is_unseen = |pod: &&Pod| pod.deleting && created.get(&pod.uid).is_some_and(|version| *version > seen);
    let deleted: Vec<&Pod> = track.history.stored.iter().filter(is_unseen).collect();
    let reported = usize::try_from(job.status.terminating.unwrap_or(0)).unwrap_or(0);
    let Some(created) = deleted.iter().map(|pod| pod.created).max() else { return };
    if deleted.len() > reported && track.awaits_pods() {
        track.occasions.unseen.awaited =
            Some(created.0.saturating_mul(1_000_000).saturating_add(EXPECTATION));
    }
}

/// Returns `true` if the trace shows no sign that a manager has handled the Job.
fn is_unmanaged(track: &Track) -> bool {
    let untouched = track.stored.as_ref().is_some_and(|job| job.status == JobStatus::default());
    untouched && !track.pods.any(Fact::Made) && !track.occasions.unseen.attended
}

#[cfg(test)]
mod tests;
