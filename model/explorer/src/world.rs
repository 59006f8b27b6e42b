//! The state of the explored cluster: what etcd holds, what drives each Job, and what really happened.
//!
//! # Caveats
//!
//! Names, labels and namespaces are constants, because nothing in this model decides by them.

use std::sync::Arc;

use crate::ghost::GhostHistory;
use crate::knowledge::{Knowledge, OwnWrite, Unseen};
use crate::process::state::Process;
use crate::process::steps::{DelayedRequest, Faults};
use crate::process::ttl::TtlController;
use crate::scope::FoundPod;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// Number of a Job in a [`World`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u8);

/// A state: a cluster, as far as its Jobs are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The one clock, in seconds since the start.
    pub now: Time,
    /// The number of items of the scope's script that are done; 0 without a script.
    pub position: u16,
    /// The Jobs, deleted ones included, in the order of [`Scope::jobs`](crate::scope::Scope::jobs).
    pub job_states: Vec<JobState>,
}

/// One Job with its pods, from its creation until nothing of it is left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobState {
    /// The Job in etcd; `None` once it is gone.
    pub job: Option<Arc<Job>>,
    /// Its pods in etcd.
    pub pods: Arc<Pods>,
    /// The manager of the Job.
    pub driver: Driver,
    /// The deleter of the Job once its TTL has expired.
    pub ttl: TtlDriver,
    /// The faults so far.
    pub faults: Faults,
    /// The number of processes with other gates that have taken over ([`crate::env::rollouts`]).
    pub rollouts: u8,
    /// The history variables: what really happened. No guard reads them.
    pub ghost: GhostHistory,
    /// The actions of users and disruptions that were taken already: one bit for each of the scope's actions.
    pub used: u16,
}

/// The subject that manages a Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// The specification: a manager with this knowledge may make every write that the guards admit.
    Specification(Knowledge),
    /// Processes that run an algorithm.
    Processes {
        /// The processes, at least one; two while two processes lead.
        processes: Vec<Process>,
        /// The request of a terminated process that the server may still handle.
        delayed: Option<DelayedRequest>,
    },
}

/// The subject that deletes expired Jobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TtlDriver {
    /// The specification: every deletion that the guards admit.
    Specification,
    /// A TTL-after-finished controller that runs an algorithm.
    Controller(Box<TtlController>),
}

impl World {
    /// The Job of this number.
    #[must_use]
    pub fn job_state(&self, job: JobId) -> &JobState {
        &self.job_states[usize::from(job.0)]
    }

    /// The Job of this number, mutable.
    pub fn job_state_mut(&mut self, job: JobId) -> &mut JobState {
        &mut self.job_states[usize::from(job.0)]
    }

    /// The Jobs with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (JobId, &JobState)> {
        (0u8..).map(JobId).zip(&self.job_states)
    }
}

impl JobState {
    /// A Job that was just created. The specification manages it.
    #[must_use]
    pub fn new(job: Job) -> JobState {
        let ghost = GhostHistory::new(&job);
        JobState {
            job: Some(Arc::new(job)),
            pods: Arc::new(Pods::new()),
            driver: Driver::Specification(Knowledge::default()),
            ttl: TtlDriver::Specification,
            faults: Faults::default(),
            rollouts: 0,
            ghost,
            used: 0,
        }
    }

    /// The processes that manage the Job; none if the specification manages it.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        self.driver.processes()
    }

    /// The request of a terminated process that the server may still handle.
    #[must_use]
    pub fn delayed(&self) -> Option<&DelayedRequest> {
        match &self.driver {
            Driver::Specification(_) => None,
            Driver::Processes { delayed, .. } => delayed.as_ref(),
        }
    }

    /// The feature gates of the manager.
    #[must_use]
    pub fn gates(&self) -> Gates {
        match &self.driver {
            Driver::Specification(knowledge) => knowledge.gates,
            Driver::Processes { processes, .. } => {
                processes.first().map_or(Gates::ON, |process| process.knowledge.gates)
            }
        }
    }

    /// The Job, with only the fields of features that were enabled in every process so far. Properties make no
    /// statement about the other fields.
    #[must_use]
    pub fn read_job(&self) -> Option<Arc<Job>> {
        self.job.as_ref().map(|job| self.ghost.gates.read(job))
    }

    /// Adds a pod that exists before the first sync. All caches show it.
    pub fn find(&mut self, found: FoundPod) {
        let uid = self.ghost.next_uid();
        let FoundPod { controlled, phase } = found;
        let pod = Pod { controlled, phase, ..Pod::new(uid) };
        let finished = pod.is_terminated().then(Time::default);
        let pod = Pod { finished, ..pod };
        self.ghost.created_unexpectedly(&pod);
        self.ghost.pod_changed(&pod);
        Arc::make_mut(&mut self.pods).set(uid, Some(pod));
    }

    /// Changes the stored Job by a request of an actor other than its manager. Unless `lag` is 0, the specification's
    /// Job cache may still show the version before.
    pub fn set_job(&mut self, job: Option<Job>, lag: usize) {
        let before = self.job.take();
        self.job = job.map(Arc::new);
        self.driver.note_job(before, lag);
    }

    /// Changes or removes a pod in etcd by a request of an actor other than its manager. The specification's Pod cache
    /// lags by at most `lag` changes.
    pub fn set_pod(&mut self, uid: Uid, after: Option<Pod>, lag: usize) {
        let before = Arc::make_mut(&mut self.pods).set(uid, after);
        self.driver.note_pod(Unseen { uid, before, own: None, missed: false }, lag);
    }

    /// Changes or creates a pod by a write of the specification's manager.
    pub fn write_pod(&mut self, after: Pod, lag: usize) {
        let uid = after.uid;
        let before = Arc::make_mut(&mut self.pods).set(uid, Some(after.clone()));
        let own = OwnWrite { after, created: before.is_none(), earlier_sync: false };
        self.driver.note_pod(Unseen { uid, before, own: Some(own), missed: false }, lag);
    }
}

impl Driver {
    /// The processes; none for the specification.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        match self {
            Driver::Specification(_) => &[],
            Driver::Processes { processes, .. } => processes,
        }
    }

    /// The processes, mutable; none for the specification.
    pub fn processes_mut(&mut self) -> &mut [Process] {
        match self {
            Driver::Specification(_) => &mut [],
            Driver::Processes { processes, .. } => processes,
        }
    }

    /// Notes that an actor other than the manager changed the Job, which was `before`.
    fn note_job(&mut self, before: Option<Arc<Job>>, lag: usize) {
        match self {
            Driver::Specification(knowledge) if lag > 0 => knowledge.old_job = before,
            Driver::Specification(_) => {}
            Driver::Processes { processes, delayed } => {
                if let Some(delayed) = delayed {
                    delayed.conflicts = true;
                }
                for process in processes {
                    if let Some(before) = &before {
                        process.note_job(Some(before.clone()), None);
                    }
                }
            }
        }
    }

    /// Notes a change of a pod in etcd.
    fn note_pod(&mut self, unseen: Unseen, lag: usize) {
        match self {
            Driver::Specification(knowledge) => knowledge.note_pod(unseen, lag),
            Driver::Processes { processes, .. } => {
                for process in processes {
                    process.note_pod(unseen.clone());
                }
            }
        }
    }
}

impl TtlDriver {
    /// The TTL-after-finished controller; `None` for the specification.
    #[must_use]
    pub fn controller(&self) -> Option<&TtlController> {
        match self {
            TtlDriver::Specification => None,
            TtlDriver::Controller(controller) => Some(controller),
        }
    }
}
