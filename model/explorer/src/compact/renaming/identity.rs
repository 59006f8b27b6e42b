//! Permutations of Jobs with equal specifications.

use std::sync::Arc;

use crate::compact::parts::{JobPart, Rest};
use crate::knowledge::Knowledge;
use crate::process::read::Read;
use crate::process::state::{Process, Sync, UnseenJob};
use crate::world::{Driver, JobState, World};
use jobcheck_spec::job::{Job, JobSpec};

/// The fields in which Jobs with equal specifications differ.
#[derive(Clone, Debug)]
pub struct Identity(Arc<Job>);

impl Identity {
    /// The identities of the Jobs of a state. All Jobs exist.
    pub fn of_all(world: &World) -> Vec<Identity> {
        let World { now: _, position: _, job_states } = world;
        job_states.iter().filter_map(|job_state| job_state.job.clone()).map(Identity).collect()
    }

    /// The Job with this identity.
    pub fn job_part(&self, part: &JobPart) -> JobPart {
        JobPart(part.0.as_ref().map(|job| self.job(job)))
    }

    /// The selector and the template also contain the UID and the name, but no step changes them.
    fn job(&self, job: &Arc<Job>) -> Arc<Job> {
        let (uid, name, own) = (self.0.uid, self.0.name.clone(), &self.0.spec);
        let (selector, template) = (own.selector.clone(), own.template.clone());
        let spec = Arc::new(JobSpec { selector, template, ..JobSpec::clone(&job.spec) });
        Arc::new(Job { uid, name, spec, ..Job::clone(job) })
    }

    /// The whole state of the Job with this identity.
    #[must_use]
    pub fn job_state(&self, job_state: &JobState) -> JobState {
        let job = job_state.job.as_ref().map(|job| self.job(job));
        let driver = match &job_state.driver {
            Driver::Specification(knowledge) => Driver::Specification(self.knowledge(knowledge)),
            Driver::Processes { processes, delayed } => Driver::Processes {
                processes: processes.iter().map(|process| self.process(process)).collect(),
                delayed: delayed.clone(),
            },
        };
        JobState { job, driver, ..job_state.clone() }
    }

    /// A process of the Job with this identity.
    fn process(&self, process: &Process) -> Process {
        Process {
            knowledge: self.knowledge(&process.knowledge),
            sync: process.sync.as_ref().map(|sync| self.sync(sync)),
            ..self.idle(process)
        }
    }

    /// A process without its knowledge and its sync.
    pub fn idle(&self, process: &Process) -> Process {
        let unseen = |it: &UnseenJob| UnseenJob {
            before: it.before.as_ref().map(|before| self.job(before)),
            own: it.own,
        };
        Process { job_behind: process.job_behind.iter().map(unseen).collect(), ..process.clone() }
    }

    /// The current sync.
    pub fn sync(&self, sync: &Sync) -> Sync {
        let job = |job: &Option<Arc<Job>>| job.as_ref().map(|job| self.job(job));
        let read = Read { job: job(&sync.read.job), ..sync.read.clone() };
        Sync { read, written: job(&sync.written), ..sync.clone() }
    }

    /// The fields that change rarely.
    pub fn rest(&self, rest: &Rest) -> Rest {
        Rest { others: rest.others.iter().map(|process| self.process(process)).collect(), ..rest.clone() }
    }

    /// The knowledge of the Job's manager. Its cache may contain another version.
    pub fn knowledge(&self, knowledge: &Knowledge) -> Knowledge {
        let old_job = knowledge.old_job.as_ref().map(|job| self.job(job));
        Knowledge { old_job, ..knowledge.clone() }
    }
}
