//! What the manager of a Job does not see, because it lists anew: occasions of J-08 and J-09 (see [`super::known`]). And what
//! a new process does not know any more.

use std::collections::VecDeque;

use jobcheck_spec::Uid;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::{JobStatus, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_traces::Resource;
use rustc_hash::{FxHashMap, FxHashSet};

use super::event::Event;
use super::router::{DEPARTED, Judge};
use super::track::Track;

/// After so many microseconds 1.36 waits for no creation any more that it expects (`ExpectationsTimeout`).
const EXPECTATION: i64 = 300_000_000;

/// What new lists hid from the manager of a Job.
#[derive(Debug, Default)]
pub struct Unseen {
    /// The resourceVersion with which the trace first shows the Job.
    pub version: u64,
    /// Pods that held the finalizer when a list showed another Job in the place of this one, and at which nothing has
    /// happened since that releases them (J-08).
    held: FxHashSet<Uid>,
    /// A list has shown this Job in the place of another: until when the record of the other delays its pods (J-08).
    in_place: Option<i64>,
    /// The manager has had to do with the Job.
    attended: bool,
    /// Pods that the process which manages the Job now has created, with the resourceVersions of then.
    created: FxHashMap<Uid, u64>,
    /// A list has shown a pod for the first time when it was being deleted: until when the process waits for it, if nothing
    /// happens to the Job after that (J-09).
    awaited: Option<i64>,
}

impl Unseen {
    /// The manager has asked for something about the Job or a pod of it: it knows of the Job.
    pub fn attended(&mut self) {
        self.attended = true;
    }

    /// The manager has tried to do something with a pod. What it writes to the status, it may until the list arrives.
    pub fn pod_attended(&mut self) {
        self.held.clear();
    }

    /// The manager has created a pod, or tried to: it waits for nothing.
    pub fn creates(&mut self, pod: Option<(Uid, u64)>) {
        (self.in_place, self.awaited) = (None, None);
        self.created.extend(pod);
    }

    /// Another process manages the Job, which has a list of its own and no memory.
    pub fn restarted(&mut self) {
        (self.in_place, self.awaited) = (None, None);
        self.held.clear();
        self.created.clear();
    }

    /// A pod has changed. One that is being deleted is released then, one that is not is left alone.
    pub fn pod_changed(&mut self, pod: &Pod) {
        if pod.deleting {
            self.held.remove(&pod.uid);
        }
    }

    /// J-08: nothing tells the manager of these pods that their Job is gone.
    pub fn hides_the_end(&self, mut held: impl Iterator<Item = Uid>) -> bool {
        !self.held.is_empty() && held.all(|uid| self.held.contains(&uid))
    }

    /// J-08: the record of failures of another Job still delays the pods of this one.
    pub fn inherits_delay(&self, now: Option<i64>) -> bool {
        self.in_place.is_some_and(|until| now.is_some_and(|now| now <= until))
    }

    /// J-09: the manager waits for a pod, or did when something last happened that makes it look.
    pub fn awaits_creation(&self, last_event: Option<i64>) -> bool {
        self.awaited.is_some_and(|until| last_event.is_some_and(|last| last <= until))
    }
}

/// Jobs that went lately: another may come under such a name (BO-06).
#[derive(Debug, Default)]
pub struct Departures(VecDeque<Departure>);

/// A Job that is gone.
#[derive(Debug)]
struct Departure {
    key: (Text, Text),
    uid: Uid,
    /// Whoever has seen this resourceVersion of a Job knows that it is gone.
    version: u64,
    /// Until when its failures delay pods, by the record of the built-in controller.
    delay: Option<i64>,
}

impl Departures {
    /// A Job is gone, by a write with this resourceVersion, or by one after `latest`.
    pub fn add(&mut self, track: &Track, version: Option<u64>, latest: u64, constants: &Constants) {
        if self.0.len() == DEPARTED {
            self.0.pop_front();
        }
        let delay = track.backoff.ends(constants).filter(|_| track.is_built_in());
        let key = (track.namespace.clone(), track.name.clone());
        let version = version.unwrap_or(latest.saturating_add(1));
        self.0.push_back(Departure { key, uid: track.uid, version, delay });
    }

    /// Whether a Job of this name went.
    pub fn has(&self, namespace: &Text, name: &Text) -> bool {
        self.0.iter().any(|it| it.key.0 == *namespace && it.key.1 == *name)
    }

    /// The namespace and name of a Job that went.
    pub fn key_of(&self, job: Uid) -> Option<&(Text, Text)> {
        self.0.iter().find(|it| it.uid == job).map(|it| &it.key)
    }

    /// Of each name the Job that went last.
    fn latest(&self) -> impl Iterator<Item = &Departure> {
        let mut met = FxHashSet::default();
        self.0.iter().rev().filter(move |it| met.insert(&it.key))
    }
}

impl Judge {
    /// Another process takes over, which has seen all that is there, and remembers nothing.
    pub(super) fn restart(&mut self, event: &Event) {
        self.served = self.served.max(self.latest);
        self.settings.restarted(event.when.map(|when| when.done));
        for track in self.tracks.values_mut() {
            track.backoff.lose();
            track.history.forget_misses();
            track.frontier.forget_clock();
            track.occasions.inherits = false;
            track.occasions.unseen.restarted();
        }
    }

    /// The manager has to do with a Job: it has seen it, and all Jobs before it.
    pub(super) fn attended(&mut self, job: Uid) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.occasions.unseen.attended();
            self.served = self.served.max(track.occasions.unseen.version);
        }
    }

    /// A watch of the Job controller has ended with 410; that of both resources, if none is named.
    pub(super) fn relist(&mut self, resource: Option<Resource>) {
        if resource != Some(Resource::Pods) {
            self.lists_jobs();
        }
        if resource != Some(Resource::Jobs) {
            let seen = self.settings.observations.reached(Resource::Pods);
            self.tracks.values_mut().for_each(|track| lists_pods(track, seen));
        }
    }

    /// J-08: of a Job that is gone, and in whose place the list shows another, the manager does not hear.
    fn lists_jobs(&mut self) {
        let seen = self.served.max(self.settings.observations.reached(Resource::Jobs));
        for departure in self.departures.latest().filter(|it| it.version > seen) {
            let heir = self.names.get(&departure.key).and_then(|heir| self.tracks.get_mut(heir));
            let Some(heir) = heir.filter(|heir| is_unmanaged(heir) && heir.occasions.unseen.version > seen)
            else {
                continue;
            };
            // No list after the first shows anything else in its place.
            heir.occasions.unseen.attended = true;
            heir.occasions.unseen.in_place = departure.delay;
            if let Some(track) = self.tracks.get_mut(&departure.uid) {
                let held = track.history.stored.iter().filter(|pod| pod.finalizer);
                track.occasions.unseen.held = held.map(|pod| pod.uid).collect();
            }
        }
    }
}

/// J-09: no creation is observed of a pod that the process has created, and sees for the first time when it is being deleted.
/// Had its deletion been shown before, the status would count it.
fn lists_pods(track: &mut Track, seen: u64) {
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

/// Whether no manager has looked at a Job yet, as far as the trace tells.
fn is_unmanaged(track: &Track) -> bool {
    let untouched = track.stored.as_ref().is_some_and(|job| job.status == JobStatus::default());
    untouched && track.counted.made.is_empty() && !track.occasions.unseen.attended
}
