//! Takes states apart and puts them together again.
//!
//! A state consists of a frame, which is everything except its Jobs, and of the parts of each Job. Parts are
//! whole values of the model. Distinct parts are much rarer than distinct states, so each part is stored
//! once.
//!
//! A new field inside a part needs no change here. A new field of [`JobState`] or [`World`] does not compile
//! until it is assigned to a part.

use std::sync::Arc;

use super::table::{Id, Known, Table};
use crate::ghost::GhostHistory;
use crate::knowledge::Knowledge;
use crate::process::state::{Process, Sync};
use crate::process::steps::{DelayedRequest, Faults};
use crate::world::{Driver, JobState, TtlDriver, World};
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;

/// The number of parts of one Job.
pub const PARTS: usize = 8;
/// The position of the Job.
pub const JOB: usize = 0;
/// The position of the pods.
pub const PODS: usize = 1;
/// The position of the knowledge of the first process, or of the specification's manager.
pub const KNOWLEDGE: usize = 2;
/// The position of the history.
pub const GHOST: usize = 3;
/// The position of the sync of the first process.
pub const SYNC: usize = 4;
/// The position of the first process without its knowledge and its sync.
pub const IDLE: usize = 5;
/// The position of the delayed request.
pub const DELAYED: usize = 6;
/// The position of the remaining fields.
pub const REST: usize = 7;

/// The numbers of the parts of one Job.
pub type Ids = [Id; PARTS];

/// A state as the numbers of its parts: the frame, and then [`PARTS`] numbers for each Job. Two states are
/// equal if and only if their numbers are.
pub type Packed<const N: usize> = [Id; N];

/// The number of an unknown part.
pub const UNKNOWN: Id = Id::MAX;

/// The position of the first part of a Job.
pub fn offset(job: usize) -> usize {
    1 + job * PARTS
}

/// The numbers of the parts of a Job.
pub fn ids_of<const N: usize>(packed: &Packed<N>, job: usize) -> Ids {
    let mut ids = [0; PARTS];
    ids.copy_from_slice(&packed[offset(job)..offset(job) + PARTS]);
    ids
}

/// A Job as stored, `None` if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobPart(pub Option<Arc<Job>>);

/// The pods of a Job, with fields that change with them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodsPart(pub Arc<Pods>);

impl From<Pods> for PodsPart {
    fn from(pods: Pods) -> PodsPart {
        PodsPart(Arc::new(pods))
    }
}

/// The fields that change rarely.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rest {
    pub ttl: TtlDriver,
    pub faults: Faults,
    pub rollouts: u8,
    pub used: u16,
    /// The processes after the first one.
    pub others: Vec<Process>,
}

/// The parts of all states of a scope, shared by all threads.
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

/// The part of [`Tables`] that a thread knows.
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
    /// Empty tables.
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

    /// The number of parts.
    pub fn len(&self) -> usize {
        let shared = self.frames.len() + self.jobs.len() + self.pods.len() + self.ghosts.len();
        let own = self.knowledge.len() + self.syncs.len() + self.idle.len();
        shared + own + self.delayed.len() + self.rests.len()
    }
}

impl KnownParts {
    /// An empty memory.
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

    /// Puts a state together.
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

    /// Takes a state apart, except for the parts whose numbers are `known`. `before` is the state before the
    /// step. Most parts are equal to its parts, so these are compared first.
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
        // A part that may be unchanged is compared with the earlier one first.
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

/// A driver in parts.
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

/// The part [`KNOWLEDGE`] of a Job.
fn knowledge_of(job_state: &JobState) -> &Knowledge {
    match &job_state.driver {
        Driver::Specification(knowledge) => knowledge,
        Driver::Processes { processes, .. } => &processes[0].knowledge,
    }
}
