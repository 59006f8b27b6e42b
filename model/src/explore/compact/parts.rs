//! Taking worlds apart, and putting them together again.
//!
//! A world falls into a frame, which is everything but its Jobs, and six parts for each Job: the Job, its pods,
//! its manager, its past, the processes of an algorithm, and the rest. The parts are whole values of the model: a field that is added inside
//! one of them needs nothing here, and a field that is added beside them belongs to the frame or to the rest.
//! Parts differ much less often than worlds do, so that each is kept once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::table::{Id, Known, Table, hash_of};
use crate::algorithm::process::{Process, Sync};
use crate::job::Job;
use crate::past::Past;
use crate::pods::Pods;
use crate::world::{Life, Manager, World};

/// Numbers for the parts of one Job.
pub const PARTS: usize = 6;
/// Position of the number of the Job among those.
pub const JOB: usize = 0;
/// Position of the pods.
pub const PODS: usize = 1;
/// Position of the manager.
pub const MANAGER: usize = 2;
/// Position of the past.
pub const PAST: usize = 3;
/// Position of the processes.
pub const PROCESSES: usize = 4;
/// Position of the rest.
pub const REST: usize = 5;

/// A world as the numbers of its parts: the frame, then [`PARTS`] for each Job. Two worlds are equal exactly if
/// their numbers are.
pub type Packed<const N: usize> = [Id; N];

/// Where the numbers of a Job begin.
pub fn offset(job: usize) -> usize {
    1 + job * PARTS
}

/// A Job as it is stored, `None` once it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPart(pub Option<Arc<Job>>);

impl Hash for JobPart {
    /// Leaves out what no step changes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Some(job) = &self.0 else { return state.write_u8(0) };
        (job.uid, job.generation, job.deleting, job.finalizers.len()).hash(state);
        (job.spec.parallelism, job.spec.completions, job.spec.suspend).hash(state);
        job.spec.ttl_seconds_after_finished.hash(state);
        job.status.hash(state);
    }
}

/// The pods of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodsPart(pub Arc<Pods>);

impl Hash for PodsPart {
    /// Leaves out the sums, which follow from the pods.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
        for pod in self.0.iter() {
            pod.hash(state);
        }
    }
}

impl From<Pods> for PodsPart {
    fn from(pods: Pods) -> PodsPart {
        PodsPart(Arc::new(pods))
    }
}

/// All parts of the worlds of a scope.
#[derive(Debug)]
pub struct Tables {
    pub frames: Table<World>,
    pub jobs: Table<JobPart>,
    pub pods: Table<PodsPart>,
    pub managers: Table<Manager>,
    pub pasts: Table<Past>,
    pub processes: Table<Vec<PackedProcess>>,
    pub syncs: Table<Option<Sync>>,
    /// Processes without what they know and without a sync.
    pub idle: Table<Process>,
    pub rests: Table<Life>,
    /// What stands in a rest for the parts that were taken out.
    husk: Life,
}

/// What a thread knows of [`Tables`].
#[derive(Debug)]
pub struct KnownParts {
    pub frames: Known<World>,
    pub jobs: Known<JobPart>,
    pub pods: Known<PodsPart>,
    pub managers: Known<Manager>,
    pub pasts: Known<Past>,
    pub processes: Known<Vec<PackedProcess>>,
    pub syncs: Known<Option<Sync>>,
    pub idle: Known<Process>,
    pub rests: Known<Life>,
}

/// A process as the numbers of its parts: what it knows, its sync, and the rest.
pub type PackedProcess = [Id; 3];

impl Tables {
    /// No parts yet. `husk` is any Job's life.
    pub fn new(husk: &Life) -> Tables {
        let husk =
            Life { job: None, pods: Arc::new(Pods::new()), manager: Manager::default(), ..husk.clone() };
        Tables {
            frames: Table::new(),
            jobs: Table::new(),
            pods: Table::new(),
            managers: Table::new(),
            pasts: Table::new(),
            processes: Table::new(),
            syncs: Table::new(),
            idle: Table::new(),
            rests: Table::new(),
            husk,
        }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        let shared = self.frames.len() + self.jobs.len() + self.pods.len();
        let own = self.managers.len() + self.pasts.len() + self.rests.len();
        shared + own + self.processes.len() + self.syncs.len() + self.idle.len()
    }
}

impl KnownParts {
    /// Nothing is known yet.
    pub fn new() -> KnownParts {
        KnownParts {
            frames: Known::new(),
            jobs: Known::new(),
            pods: Known::new(),
            managers: Known::new(),
            pasts: Known::new(),
            processes: Known::new(),
            syncs: Known::new(),
            idle: Known::new(),
            rests: Known::new(),
        }
    }

    /// Puts a world together.
    pub fn unpack<const N: usize>(&mut self, tables: &Tables, packed: &Packed<N>) -> World {
        let mut world = World::clone(self.frames.part(&tables.frames, packed[0]));
        for ids in packed[1..].chunks_exact(PARTS) {
            let rest = Life::clone(self.rests.part(&tables.rests, ids[REST]));
            world.lives.push(Life {
                job: self.jobs.part(&tables.jobs, ids[JOB]).0.clone(),
                pods: self.pods.part(&tables.pods, ids[PODS]).0.clone(),
                manager: Manager::clone(self.managers.part(&tables.managers, ids[MANAGER])),
                past: Past::clone(self.pasts.part(&tables.pasts, ids[PAST])),
                processes: self.unpack_processes(tables, ids[PROCESSES]),
                ..rest
            });
        }
        world
    }

    /// What orders the processes of one Job ([`Known::rank`]).
    pub fn rank_of_processes(&mut self, tables: &Tables, id: Id) -> (u64, Id) {
        let packed = self.processes.part(&tables.processes, id).clone();
        let ranks: Vec<[u64; 3]> = packed
            .iter()
            .map(|[knowledge, sync, idle]| {
                [
                    self.managers.rank(&tables.managers, *knowledge).0,
                    self.syncs.rank(&tables.syncs, *sync).0,
                    self.idle.rank(&tables.idle, *idle).0,
                ]
            })
            .collect();
        (hash_of(&ranks), id)
    }

    fn unpack_processes(&mut self, tables: &Tables, id: Id) -> Vec<Process> {
        let packed = self.processes.part(&tables.processes, id).clone();
        let unpack = |[knowledge, sync, idle]: &PackedProcess| Process {
            knowledge: Manager::clone(self.managers.part(&tables.managers, *knowledge)),
            sync: Option::clone(self.syncs.part(&tables.syncs, *sync)),
            ..Process::clone(self.idle.part(&tables.idle, *idle))
        };
        packed.iter().map(unpack).collect()
    }

    fn pack_processes(&mut self, tables: &Tables, processes: Vec<Process>) -> Id {
        let pack = |mut process: Process| -> PackedProcess {
            let (knowledge, sync) = (std::mem::take(&mut process.knowledge), process.sync.take());
            [
                self.managers.id_of(&tables.managers, knowledge),
                self.syncs.id_of(&tables.syncs, sync),
                self.idle.id_of(&tables.idle, process),
            ]
        };
        let packed = processes.into_iter().map(pack).collect();
        self.processes.id_of(&tables.processes, packed)
    }

    /// Takes a world apart. `before` is a world that it shares parts with, as a step leaves most as they were;
    /// the numbers of that world are looked at first.
    pub fn pack<const N: usize>(
        &mut self,
        tables: &Tables,
        mut world: World,
        before: Option<(&World, &Packed<N>)>,
    ) -> Packed<N> {
        let mut packed = [0; N];
        let lives = std::mem::take(&mut world.lives);
        let old_frame =
            before.map(|(_, ids)| ids[0]).filter(|id| **self.frames.part(&tables.frames, *id) == world);
        packed[0] = old_frame.unwrap_or_else(|| self.frames.id_of(&tables.frames, world));
        for (number, life) in lives.into_iter().enumerate() {
            let from = offset(number);
            let old = before.map(|(world, ids)| (&world.lives[number], &ids[from..from + PARTS]));
            packed[from..from + PARTS].copy_from_slice(&self.pack_life(tables, life, old));
        }
        packed
    }

    fn pack_life(&mut self, tables: &Tables, life: Life, before: Option<(&Life, &[Id])>) -> [Id; PARTS] {
        let Life { job, pods, manager, past, processes, .. } = &life;
        let same = |position: usize, is_same: &dyn Fn(&Life) -> bool| {
            before.filter(|(old, _)| is_same(old)).map(|(_, ids)| ids[position])
        };
        let same_job = |old: &Life| match (&old.job, job) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let known = [
            same(JOB, &same_job),
            same(PODS, &|old| Arc::ptr_eq(&old.pods, pods)),
            same(MANAGER, &|old| old.manager == *manager),
            same(PAST, &|old| old.past == *past),
            same(PROCESSES, &|old| old.processes == *processes),
        ];
        let Life { job, pods, manager, past, processes, .. } = life;
        let rest = Life {
            job: None,
            pods: tables.husk.pods.clone(),
            manager: Manager::default(),
            past: tables.husk.past.clone(),
            processes: Vec::new(),
            ..life
        };
        let old_rest = before.map(|(_, ids)| ids[REST]);
        let old_rest = old_rest.filter(|id| **self.rests.part(&tables.rests, *id) == rest);
        [
            known[JOB].unwrap_or_else(|| self.jobs.id_of(&tables.jobs, JobPart(job))),
            known[PODS].unwrap_or_else(|| self.pods.id_of(&tables.pods, PodsPart(pods))),
            known[MANAGER].unwrap_or_else(|| self.managers.id_of(&tables.managers, manager)),
            known[PAST].unwrap_or_else(|| self.pasts.id_of(&tables.pasts, past)),
            known[PROCESSES].unwrap_or_else(|| self.pack_processes(tables, processes)),
            old_rest.unwrap_or_else(|| self.rests.id_of(&tables.rests, rest)),
        ]
    }
}
