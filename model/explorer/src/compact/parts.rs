//! Taking worlds apart, and putting them together again.
//!
//! A world falls into a frame, which is everything but its Jobs, and the parts of each Job. They are whole values of
//! the model: a field that is added inside one of them needs nothing here, and one that is added to a [`JobState`] or a
//! [`World`] does not compile until it was decided here where it belongs. Parts differ much less often than worlds
//! do, so that each is kept once.

use std::sync::Arc;

use super::table::{Id, Known, Table};
use crate::ghost::GhostHistory;
use crate::knowledge::Knowledge;
use crate::process::state::{Process, Sync};
use crate::process::steps::{DelayedRequest, Faults};
use crate::world::{Driver, JobState, TtlDriver, World};
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;

/// Numbers for the parts of one Job.
pub const PARTS: usize = 8;
/// Position of the number of the Job among those.
pub const JOB: usize = 0;
/// Position of the pods.
pub const PODS: usize = 1;
/// Position of what the first process knows, or else the manager.
pub const KNOWLEDGE: usize = 2;
/// Position of the past.
pub const GHOST: usize = 3;
/// Position of the sync of the first process.
pub const SYNC: usize = 4;
/// Position of the first process without what it knows and without its sync.
pub const IDLE: usize = 5;
/// Position of the request of a dead process.
pub const DELAYED: usize = 6;
/// Position of the rest.
pub const REST: usize = 7;

/// The numbers of one Job's parts.
pub type Ids = [Id; PARTS];

/// A world as the numbers of its parts: the frame, then [`PARTS`] for each Job. Two worlds are equal exactly if
/// their numbers are.
pub type Packed<const N: usize> = [Id; N];

/// Stands for a part that is not known.
pub const UNKNOWN: Id = Id::MAX;

/// Where the numbers of a Job begin.
pub fn offset(job: usize) -> usize {
    1 + job * PARTS
}

/// The numbers of a Job's parts.
pub fn ids_of<const N: usize>(packed: &Packed<N>, job: usize) -> Ids {
    let mut ids = [0; PARTS];
    ids.copy_from_slice(&packed[offset(job)..offset(job) + PARTS]);
    ids
}

/// A Job as it is stored, `None` once it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobPart(pub Option<Arc<Job>>);

/// The pods of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodsPart(pub Arc<Pods>);

impl From<Pods> for PodsPart {
    fn from(pods: Pods) -> PodsPart {
        PodsPart(Arc::new(pods))
    }
}

/// What changes seldom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rest {
    pub ttl: TtlDriver,
    pub faults: Faults,
    pub rollouts: u8,
    pub used: u16,
    /// Processes after the first.
    pub others: Vec<Process>,
}

/// All parts of the worlds of a scope.
#[derive(Debug)]
pub struct Tables {
    pub frames: Table<World>,
    pub jobs: Table<JobPart>,
    pub pods: Table<PodsPart>,
    pub knowledge: Table<Knowledge>,
    pub ghosts: Table<GhostHistory>,
    pub syncs: Table<Option<Sync>>,
    pub idle: Table<Option<Process>>,
    pub delayed: Table<Option<DelayedRequest>>,
    pub rests: Table<Rest>,
}

/// What a thread knows of [`Tables`].
#[derive(Debug)]
pub struct KnownParts {
    pub frames: Known<World>,
    pub jobs: Known<JobPart>,
    pub pods: Known<PodsPart>,
    pub knowledge: Known<Knowledge>,
    pub ghosts: Known<GhostHistory>,
    pub syncs: Known<Option<Sync>>,
    pub idle: Known<Option<Process>>,
    pub delayed: Known<Option<DelayedRequest>>,
    pub rests: Known<Rest>,
}

impl Tables {
    /// No parts yet.
    pub fn new() -> Tables {
        Tables {
            frames: Table::new(),
            jobs: Table::new(),
            pods: Table::new(),
            knowledge: Table::new(),
            ghosts: Table::new(),
            syncs: Table::new(),
            idle: Table::new(),
            delayed: Table::new(),
            rests: Table::new(),
        }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        let shared = self.frames.len() + self.jobs.len() + self.pods.len() + self.ghosts.len();
        let own = self.knowledge.len() + self.syncs.len() + self.idle.len();
        shared + own + self.delayed.len() + self.rests.len()
    }
}

impl KnownParts {
    /// Nothing is known yet.
    pub fn new() -> KnownParts {
        KnownParts {
            frames: Known::new(),
            jobs: Known::new(),
            pods: Known::new(),
            knowledge: Known::new(),
            ghosts: Known::new(),
            syncs: Known::new(),
            idle: Known::new(),
            delayed: Known::new(),
            rests: Known::new(),
        }
    }

    /// Puts a world together.
    pub fn unpack<const N: usize>(&mut self, tables: &Tables, packed: &Packed<N>) -> World {
        let mut world = World::clone(self.frames.part(&tables.frames, packed[0]));
        for ids in packed[1..].chunks_exact(PARTS) {
            world.job_states.push(self.unpack_job_state(tables, ids));
        }
        world
    }

    fn unpack_job_state(&mut self, tables: &Tables, ids: &[Id]) -> JobState {
        let Rest { ttl, faults, rollouts, used, others } =
            Rest::clone(self.rests.part(&tables.rests, ids[REST]));
        let knowledge = Knowledge::clone(self.knowledge.part(&tables.knowledge, ids[KNOWLEDGE]));
        let idle = Option::clone(self.idle.part(&tables.idle, ids[IDLE]));
        let driver = match idle {
            None => Driver::Specification(knowledge),
            Some(idle) => {
                let sync = Option::clone(self.syncs.part(&tables.syncs, ids[SYNC]));
                let first = Process { knowledge, sync, ..idle };
                Driver::Processes {
                    processes: std::iter::once(first).chain(others).collect(),
                    delayed: Option::clone(self.delayed.part(&tables.delayed, ids[DELAYED])),
                }
            }
        };
        JobState {
            job: self.jobs.part(&tables.jobs, ids[JOB]).0.clone(),
            pods: self.pods.part(&tables.pods, ids[PODS]).0.clone(),
            driver,
            ttl,
            faults,
            rollouts,
            ghost: GhostHistory::clone(self.ghosts.part(&tables.ghosts, ids[GHOST])),
            used,
        }
    }

    /// Takes a world apart, as far as its numbers are not `known`. `before` is a world that it shares parts with, as a
    /// step leaves most as they were; the numbers of that world are looked at first.
    pub fn pack<const N: usize>(
        &mut self,
        tables: &Tables,
        mut world: World,
        known: &Packed<N>,
        before: Option<(&World, &Packed<N>)>,
    ) -> Packed<N> {
        let mut packed = *known;
        let job_states = std::mem::take(&mut world.job_states);
        if packed[0] == UNKNOWN {
            let old = before.map(|(_, ids)| ids[0]);
            let old = old.filter(|id| **self.frames.part(&tables.frames, *id) == world);
            packed[0] = old.unwrap_or_else(|| self.frames.id_of(&tables.frames, world));
        }
        for (number, job_state) in job_states.into_iter().enumerate() {
            let from = offset(number);
            let old = before.map(|(world, ids)| (&world.job_states[number], ids_of(ids, number)));
            let ids = self.pack_job_state(tables, job_state, ids_of(known, number), old);
            packed[from..from + PARTS].copy_from_slice(&ids);
        }
        packed
    }

    fn pack_job_state(
        &mut self,
        tables: &Tables,
        job_state: JobState,
        given: Ids,
        before: Option<(&JobState, Ids)>,
    ) -> Ids {
        let JobState { job, pods, driver, ttl, faults, rollouts, ghost, used } = job_state;
        let DriverParts { knowledge, sync, idle, delayed, others } = DriverParts::of(driver);
        let rest = Rest { ttl, faults, rollouts, used, others };
        // A part that may have been left as it was is compared with what it was first.
        let known = |part: usize, is_same: &mut dyn FnMut(&JobState, Id) -> bool| {
            let old = || before.filter(|(old, ids)| is_same(old, ids[part])).map(|(_, ids)| ids[part]);
            Some(given[part]).filter(|id| *id != UNKNOWN).or_else(old)
        };
        let same_job = |old: &JobState| match (&old.job, &job) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let old_sync =
            |old: &JobState| old.processes().first().and_then(|it| it.sync.as_ref()) == sync.as_ref();
        let known = [
            known(JOB, &mut |old, _| same_job(old)),
            known(PODS, &mut |old, _| Arc::ptr_eq(&old.pods, &pods)),
            known(KNOWLEDGE, &mut |old, _| *knowledge_of(old) == knowledge),
            known(GHOST, &mut |old, _| old.ghost == ghost),
            known(SYNC, &mut |old, _| old_sync(old)),
            known(IDLE, &mut |_, id| **self.idle.part(&tables.idle, id) == idle),
            known(DELAYED, &mut |old, _| old.delayed() == delayed.as_ref()),
            known(REST, &mut |_, id| **self.rests.part(&tables.rests, id) == rest),
        ];
        [
            known[JOB].unwrap_or_else(|| self.jobs.id_of(&tables.jobs, JobPart(job))),
            known[PODS].unwrap_or_else(|| self.pods.id_of(&tables.pods, PodsPart(pods))),
            known[KNOWLEDGE].unwrap_or_else(|| self.knowledge.id_of(&tables.knowledge, knowledge)),
            known[GHOST].unwrap_or_else(|| self.ghosts.id_of(&tables.ghosts, ghost)),
            known[SYNC].unwrap_or_else(|| self.syncs.id_of(&tables.syncs, sync)),
            known[IDLE].unwrap_or_else(|| self.idle.id_of(&tables.idle, idle)),
            known[DELAYED].unwrap_or_else(|| self.delayed.id_of(&tables.delayed, delayed)),
            known[REST].unwrap_or_else(|| self.rests.id_of(&tables.rests, rest)),
        ]
    }
}

/// A driver, taken apart.
struct DriverParts {
    knowledge: Knowledge,
    sync: Option<Sync>,
    idle: Option<Process>,
    delayed: Option<DelayedRequest>,
    others: Vec<Process>,
}

impl DriverParts {
    fn of(driver: Driver) -> DriverParts {
        match driver {
            Driver::Specification(knowledge) => {
                DriverParts { knowledge, sync: None, idle: None, delayed: None, others: Vec::new() }
            }
            Driver::Processes { mut processes, delayed } => {
                let mut first = processes.remove(0);
                let (knowledge, sync) = (std::mem::take(&mut first.knowledge), first.sync.take());
                DriverParts { knowledge, sync, idle: Some(first), delayed, others: processes }
            }
        }
    }
}

/// A Job's part [`KNOWLEDGE`].
fn knowledge_of(job_state: &JobState) -> &Knowledge {
    match &job_state.driver {
        Driver::Specification(knowledge) => knowledge,
        Driver::Processes { processes, .. } => &processes[0].knowledge,
    }
}
