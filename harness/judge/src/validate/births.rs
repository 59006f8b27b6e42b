//! Objects that are new in a trace: the first version of a Job, and creations.

use std::sync::Arc;

use jobcheck_spec::Uid;
use jobcheck_spec::job::{Job, JobStatus, Text};
use jobcheck_traces::{Form, Verb};

use super::actor::Role;
use super::disorder;
use super::event::{Event, JobEvent};
use super::gaps::Since;
use super::job_writes;
use super::router::{DEPARTED, Judge};
use super::sequence::INTERRUPTED;
use super::track::Track;

impl Judge {
    /// Begins to judge a Job.
    pub(super) fn first_sight(&mut self, event: &Event, uid: Uid, job: Arc<Job>, role: Role) {
        let created = event.verb == Some(Verb::Create);
        let born = created && !event.arrival.late || (event.form == Form::Watch && self.is_new(&job));
        let key = (job.namespace.clone(), job.name.clone());
        if let Some(other) = self.names.insert(&key, uid) {
            self.meet_namesake(key, other, event);
        }
        let mut track = Track::new(job.clone(), event, born, self.settings.reported.keeps_story);
        track.times.changed = event.when.map(|when| when.done);
        track.times.written = event.when.map(|when| when.received);
        track.id.namesake = self.departures.has(&job.namespace, &job.name);
        let former = self.departures.times(&job.namespace, &job.name);
        track.begin_mirror(&job, (born, event.actor), former, self.settings.profile);
        track.occasions.unseen.version = event.version.unwrap_or(0);
        if born {
            job_writes::created(&mut track, event, &job, &self.settings);
        } else if created {
            track.doubt(disorder::REASON.to_owned());
        } else {
            track.tell(event, &"first seen after its creation");
        }
        if self.settings.reported.explained.has_any(&job.namespace, &job.name) {
            track.keep_life(event);
        }
        if event.version.is_some_and(|version| version < self.interrupted_until) {
            track.doubt(INTERRUPTED.to_owned());
            track.coverage.lacks_write(event.order);
        }
        let is_built_in = track.is_built_in();
        self.tracks.insert(track);
        if event.is_status && is_built_in {
            self.by(event, role, uid, true);
        }
    }

    /// Notes a Job that has a name which another living Job has in another input. The inputs show several clusters.
    fn meet_namesake(&mut self, key: (Text, Text), other: Uid, event: &Event) {
        let known = self.tracks.peek(&other).filter(|track| track.stored.is_some());
        let file_of_other = known.map(|track| track.id.file);
        if file_of_other == Some(event.place.file) {
            if event.form == Form::Watch {
                self.lacks_the_end_of(other, event);
            }
        } else if file_of_other.is_some() {
            self.namesakes.entry(key).or_default().push(other);
        }
    }

    /// Notes that the end of a Job is missing: by what a watch has shown it lives, although another one has its name.
    fn lacks_the_end_of(&mut self, former: Uid, event: &Event) {
        if let Some(track) = self.tracks.get_mut(&former) {
            let since = track.coverage.versions_seen.back().map_or(0, |(_, order)| *order);
            track.lacks(event, INTERRUPTED, Since::Order(since));
        }
    }

    /// The Job that an event concerns. The response of a refusal has no UID. If several clusters have Jobs with the name,
    /// the request, the input or the sender decides.
    pub(super) fn job_of(&self, event: &Event, it: &JobEvent) -> Option<Uid> {
        let key = (event.namespace.clone(), event.name.clone());
        let named = || {
            let latest = self.names.get(&key);
            let Some(others) = self.namesakes.get(&key) else { return latest };
            let all = || others.iter().copied().chain(latest);
            let is_it = |test: &dyn Fn(&Track) -> bool| {
                all().find(|uid| self.tracks.peek(uid).is_some_and(|track| test(&track)))
            };
            let sent = it.attempted.as_ref().map(|job| job.uid);
            is_it(&|track| sent == Some(track.id.uid))
                .or_else(|| is_it(&|track| track.stored.is_some() && track.id.file == event.place.file))
                .or_else(|| is_it(&|track| event.actor.is_some() && track.manager.actor == event.actor))
                .or(latest)
        };
        it.uid.or_else(named)
    }

    /// Notes that a Job is gone, so that another one may have its name.
    pub(super) fn forget_name(&mut self, key: &(Text, Text), uid: Uid) {
        if let Some(others) = self.namesakes.get_mut(key) {
            others.retain(|other| *other != uid);
        }
        if self.names.get(key) != Some(uid) {
            return;
        }
        self.names.remove(key);
        if let Some(other) = self.namesakes.get_mut(key).and_then(Vec::pop) {
            self.names.insert(key, other);
        }
        if self.namesakes.get(key).is_some_and(Vec::is_empty) {
            self.namesakes.remove(key);
        }
    }

    /// J-07: the creation was sent for a Job that is gone, and counts as an expectation of the Job that has its name
    /// now.
    pub(super) fn leaves_an_expectation(&mut self, job: Uid) {
        let heir = self.departures.key_of(job).and_then(|key| self.names.get(key));
        if let Some(track) = heir.and_then(|heir| self.tracks.get_mut(&heir)) {
            track.occasions.inherits = true;
        }
    }

    /// Notes a pod whose Job was not shown yet: the Job is older than its first event.
    pub(super) fn names_unseen_job(&mut self, job: Uid) {
        if self.pods.early.contains(&job) {
            return;
        }
        if self.pods.early.len() == DEPARTED {
            self.pods.early.pop_front();
        }
        self.pods.early.push_back(job);
    }

    /// Returns `true` if the first version of a Job in a watch can be its creation. A watch that began later shows an
    /// untouched Job in the same way, and nothing distinguishes the two cases.
    fn is_new(&self, job: &Job) -> bool {
        let untouched = job.status == JobStatus::default() && !job.deleting;
        untouched && job.generation == 1 && !self.pods.early.contains(&job.uid)
    }
}
