//! Objects that are new in a trace: the first version of a Job, and creations.

use std::sync::Arc;

use jobcheck_spec::Uid;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_traces::{Form, Verb};

use super::actor::Role;
use super::event::Event;
use super::job_writes;
use super::router::Judge;
use super::track::Track;

impl Judge {
    /// Begins to judge a Job.
    pub(super) fn first_sight(&mut self, event: &Event, uid: Uid, job: Arc<Job>, role: Role) {
        let created = event.verb == Some(Verb::Create);
        let born = created && !event.arrival.late || (event.form == Form::Watch && self.is_new(&job));
        let key = (job.namespace.clone(), job.name.clone());
        self.names.insert(key, uid);
        let mut track = Track::new(job.clone(), event, born, self.settings.keeps_story);
        track.times.changed = event.when.map(|when| when.done);
        track.times.written = event.when.map(|when| when.received);
        track.id.namesake = self.departures.has(&job.namespace, &job.name);
        let former = self.departures.times(&job.namespace, &job.name);
        track.begin_mirror(&job, born, former, self.settings.profile);
        track.occasions.unseen.version = event.version.unwrap_or(0);
        if born {
            job_writes::created(&mut track, event, &job, &self.settings);
        } else if created {
            track.doubt("the log is out of order by more than the reorder window".to_owned());
        } else {
            track.tell(event, &"first seen after its creation");
        }
        if self.settings.explained.has_any(&job.namespace, &job.name) {
            track.keep_life(event);
        }
        let is_built_in = track.is_built_in();
        self.tracks.insert(uid, Box::new(track));
        if event.is_status && is_built_in {
            self.by(event, role, uid, true);
        }
    }

    /// Returns `true` if the first version of a Job in a watch can be its creation. A watch that began later shows an
    /// untouched Job in the same way, and nothing distinguishes the two cases.
    fn is_new(&self, job: &Job) -> bool {
        let untouched = job.status == JobStatus::default() && !job.deleting;
        untouched && job.generation == 1 && !self.pods.early.contains(&job.uid)
    }
}
