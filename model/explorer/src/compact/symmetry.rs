//! One world for all that are the same but for names.
//!
//! # The group
//!
//! A Job's pods are created one after the other, and `Uid(n)` is the n-th. Of a Job that has had k pods so far,
//! any permutation of `Uid(1)` to `Uid(k)` may be applied, to everything that names them: the pods in etcd and in
//! caches, the lists in every version of the status, the backoff record, texts of conditions, and the ghost
//! history, in which a pod's place is its UID ([`Renaming`]). Jobs with equal specifications may change places,
//! each taking on the UID and the name of the Job in whose place it comes ([`Identity`]).
//!
//! # Why it is sound
//!
//! A renamed world need not be reachable: in it, pod 2 may have ended before pod 1 was created. It need not be
//! either. What is needed is that steps and properties are equivariant, in all worlds: `s` leads from `w` to `v`
//! exactly if the renamed `s` leads from the renamed `w` to the renamed `v`. Then, by induction on the length of
//! ways, the representatives that are reached are exactly those of the reachable worlds, each at the depth of the
//! nearest of them; so that the nearest broken one is as near as without the reduction.
//!
//! - A creation takes `Uid(k + 1)`, which no permutation of the first k moves, and appends to the history.
//! - Nobody else chooses by UID. An algorithm is answered in any order, and chooses by chance
//!   ([`crate::process::io`]). The order of PC-09 and the last failure of BI-08 know ties, and allow every pod
//!   of a tie. Lists of the status are sets that are written in order, and the renamed ones are sorted again.
//!   Views, tallies, and sums count. What takes a first pod (messages, the first broken sentence) ends in texts.
//! - Which *id* a broken guard names may depend on a first pod in one place: a delay that is not kept is BO-04 or
//!   RP-10 by the first of the pods that failed last. This shows only where such a guard is switched off, so
//!   that symmetry is refused then ([`is_sound`]).
//! - Properties ask for some pod, or count; the UID that they find is only told.
//!
//! The tests compare with the unreduced search: the same verdict at the same depth, and as many representatives
//! as orbits; and `enabled` of renamed worlds with renamed steps.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::parts::{
    DELAYED, GHOST, IDLE, Ids, JOB, KNOWLEDGE, KnownParts, PARTS, PODS, Packed, REST, SYNC, Tables, ids_of,
    offset,
};
use super::renaming::{Identity, Renaming};
use super::table::{Id, hash_of};
use crate::scope::{Algorithm, Scope, Subject, TtlSubject};
use crate::world::World;
use jobcheck_spec::catalogue::Req;

/// Pods of more are not renamed: there would be too many permutations.
const MOST_PODS: usize = 6;

/// Returns true if the reduction is sound in a scope.
#[must_use]
pub fn is_sound(scope: &Scope) -> bool {
    let by_first_pod = [Req::BO01, Req::BO04, Req::BO10, Req::RP10];
    // The TTL controller keeps versions of the Job, which are not renamed.
    // Nor are pods that no Job of the present has; and a script names pods, as a refusal may.
    // A subject that reads the order of UIDs tells pods apart by their names.
    let tells_pods_apart =
        |algorithm: &Algorithm| algorithm.ttl != TtlSubject::Specification || algorithm.decisions.reads_uids;
    let is_renamed = !scope.algorithm().is_some_and(tells_pods_apart)
        && !scope.recreates()
        && scope.script.is_none()
        && scope.refused.iter().all(|refusal| refusal.pod().is_none());
    is_renamed && !scope.without.iter().any(|req| by_first_pod.contains(req))
}

/// The permutations, and which Jobs may change places.
#[derive(Debug)]
pub struct Group {
    /// By number of pods.
    renamings: Vec<Vec<Renaming>>,
    identities: Vec<Identity>,
    /// For each Job, the first one with an equal specification.
    classes: Vec<usize>,
    /// The parts of a Job that name pods, but for the past.
    naming: &'static [usize],
}

impl Group {
    /// The group of a scope that begins with this world.
    pub fn new(scope: &Scope, first: &World) -> Group {
        let most = scope.pods.min(MOST_PODS);
        let class = |job: usize| scope.jobs.iter().position(|other| *other == scope.jobs[job]).unwrap_or(job);
        Group {
            renamings: (0..=most).map(Renaming::all).collect(),
            identities: Identity::of_all(first),
            classes: (0..scope.jobs.len()).map(class).collect(),
            naming: match scope.subject {
                Subject::Specification => &[PODS, JOB, KNOWLEDGE],
                Subject::Algorithm(_) => &[PODS, JOB, KNOWLEDGE, SYNC, IDLE, DELAYED, REST],
            },
        }
    }

    fn has_equal_jobs(&self) -> bool {
        self.classes.iter().enumerate().any(|(job, class)| job != *class)
    }
}

/// What a thread knows of representatives.
#[derive(Debug)]
pub struct Memory {
    /// For a past, the one that stands for it, and the renamings that lead there.
    ghosts: FxHashMap<Id, (Id, Arc<[u16]>)>,
    /// A part, after a renaming of so many pods.
    renamed: FxHashMap<Key, Id>,
    placed: FxHashMap<(usize, Id, usize), Id>,
}

/// Kind of a part, its number, how many pods there are, and the renaming's number.
type Key = (u8, Id, u8, u16);

impl Memory {
    /// Nothing is known yet.
    pub fn new() -> Memory {
        Memory { ghosts: FxHashMap::default(), renamed: FxHashMap::default(), placed: FxHashMap::default() }
    }
}

/// Finds representatives.
pub struct Finder<'a> {
    pub group: &'a Group,
    pub tables: &'a Tables,
    pub parts: &'a mut KnownParts,
    pub memory: &'a mut Memory,
}

/// What Jobs are ordered by.
type Rank = [(u64, Id); PARTS];

impl Finder<'_> {
    /// The representative of a world.
    pub fn representative<const N: usize>(&mut self, mut packed: Packed<N>) -> Packed<N> {
        if !self.group.has_equal_jobs() {
            for job in 0..self.group.classes.len() {
                let ids = self.of_job_state(ids_of(&packed, job));
                packed[offset(job)..offset(job) + PARTS].copy_from_slice(&ids);
            }
            return packed;
        }
        let mut job_states: Vec<(usize, Rank, Ids)> = Vec::new();
        for (job, class) in self.group.classes.iter().copied().enumerate() {
            let placed = self.placed(ids_of(&packed, job), class);
            let ids = self.of_job_state(placed);
            job_states.push((class, self.rank(ids), ids));
        }
        // Jobs of one class are sorted into the places that the class has.
        for class in 0..job_states.len() {
            let places: Vec<usize> =
                (0..job_states.len()).filter(|job| job_states[*job].0 == class).collect();
            let mut members: Vec<(Rank, Ids)> =
                places.iter().map(|job| (job_states[*job].1, job_states[*job].2)).collect();
            members.sort_unstable_by_key(|(rank, _)| *rank);
            for (place, (_, ids)) in places.into_iter().zip(members) {
                let from = offset(place);
                packed[from..from + PARTS].copy_from_slice(&self.placed(ids, place));
            }
        }
        packed
    }

    /// The first of all renamed lives: by the past, then by one part after the other.
    fn of_job_state(&mut self, mut ids: Ids) -> Ids {
        let (ghost, renamings) = self.of_ghost(ids[GHOST]);
        let pods = self.parts.ghosts.part(&self.tables.ghosts, ghost).pods.len();
        ids[GHOST] = ghost;
        let mut left: Vec<u16> = renamings.to_vec();
        for kind in self.group.naming {
            if let [only] = left[..] {
                ids[*kind] = self.renamed(*kind, ids[*kind], pods, only);
                continue;
            }
            let mut first: Option<((u64, Id), Vec<u16>)> = None;
            for number in left {
                let id = self.renamed(*kind, ids[*kind], pods, number);
                let rank = self.rank_of(*kind, id);
                match &mut first {
                    Some((other, numbers)) if *other == rank => numbers.push(number),
                    Some((other, _)) if *other < rank => {}
                    first => *first = Some((rank, vec![number])),
                }
            }
            let Some(((_, id), numbers)) = first else { return ids };
            (ids[*kind], left) = (id, numbers);
        }
        ids
    }

    /// The first of the renamed pasts in which the pods' histories are sorted, and every renaming that leads
    /// to it.
    fn of_ghost(&mut self, ghost: Id) -> (Id, Arc<[u16]>) {
        if let Some((first, renamings)) = self.memory.ghosts.get(&ghost) {
            return (*first, renamings.clone());
        }
        let part = self.parts.ghosts.part(&self.tables.ghosts, ghost).clone();
        let mut best: Option<((u64, Id), Vec<u16>)> = None;
        let known: &[Renaming] = self.group.renamings.get(part.pods.len()).map_or(&[], |all| all);
        // Only those that sort the pods' histories: of the others none leads to the first.
        let keys: Vec<u64> = part.pods.iter().map(hash_of).collect();
        for (number, renaming) in (0u16..).zip(known).filter(|(_, renaming)| renaming.sorts(&keys)) {
            let id = self.parts.ghosts.id_of(&self.tables.ghosts, renaming.ghost(&part));
            let rank = self.parts.ghosts.rank(&self.tables.ghosts, id);
            match &mut best {
                Some((other, renamings)) if *other == rank => renamings.push(number),
                Some((other, _)) if *other < rank => {}
                best => *best = Some((rank, vec![number])),
            }
        }
        // Without any renaming a past stands for itself, by the first, which changes nothing.
        let ((_, first), renamings) = best.unwrap_or(((0, ghost), vec![0]));
        let found = (first, Arc::from(renamings));
        self.memory.ghosts.insert(ghost, found.clone());
        found
    }

    /// The part of a Job after a renaming; the first of them changes nothing.
    fn renamed(&mut self, kind: usize, id: Id, pods: usize, number: u16) -> Id {
        if number == 0 {
            return id;
        }
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let key = (small(kind), id, small(pods), number);
        if let Some(known) = self.memory.renamed.get(&key) {
            return *known;
        }
        let group = self.group;
        let renaming = &group.renamings[pods][usize::from(number)];
        let (parts, tables) = (&mut *self.parts, self.tables);
        let renamed = match kind {
            JOB => {
                let part = renaming.job_part(parts.jobs.part(&tables.jobs, id));
                parts.jobs.id_of(&tables.jobs, part)
            }
            PODS => {
                let part = renaming.pods(&parts.pods.part(&tables.pods, id).0);
                parts.pods.id_of(&tables.pods, part.into())
            }
            SYNC => {
                let part = parts.syncs.part(&tables.syncs, id).as_ref().as_ref();
                let part = part.map(|sync| renaming.sync(sync));
                parts.syncs.id_of(&tables.syncs, part)
            }
            IDLE => {
                let part = parts.idle.part(&tables.idle, id).as_ref().as_ref();
                let part = part.map(|process| renaming.idle(process));
                parts.idle.id_of(&tables.idle, part)
            }
            DELAYED => {
                let part = parts.delayed.part(&tables.delayed, id).as_ref().as_ref();
                let part = part.map(|delayed| renaming.delayed(delayed));
                parts.delayed.id_of(&tables.delayed, part)
            }
            REST => {
                let part = renaming.rest(parts.rests.part(&tables.rests, id));
                parts.rests.id_of(&tables.rests, part)
            }
            _ => {
                let part = renaming.knowledge(parts.knowledge.part(&tables.knowledge, id));
                parts.knowledge.id_of(&tables.knowledge, part)
            }
        };
        self.memory.renamed.insert(key, renamed);
        renamed
    }

    /// A Job in the place of another.
    fn placed(&mut self, mut ids: Ids, place: usize) -> Ids {
        for kind in [JOB, KNOWLEDGE, SYNC, IDLE, REST] {
            ids[kind] = self.part_in_place(kind, ids[kind], place);
        }
        ids
    }

    fn part_in_place(&mut self, kind: usize, id: Id, place: usize) -> Id {
        if let Some(known) = self.memory.placed.get(&(kind, id, place)) {
            return *known;
        }
        let group = self.group;
        let identity = &group.identities[place];
        let (parts, tables) = (&mut *self.parts, self.tables);
        let placed = match kind {
            JOB => {
                let part = identity.job_part(parts.jobs.part(&tables.jobs, id));
                parts.jobs.id_of(&tables.jobs, part)
            }
            SYNC => {
                let part = parts.syncs.part(&tables.syncs, id).as_ref().as_ref();
                let part = part.map(|sync| identity.sync(sync));
                parts.syncs.id_of(&tables.syncs, part)
            }
            IDLE => {
                let part = parts.idle.part(&tables.idle, id).as_ref().as_ref();
                let part = part.map(|process| identity.idle(process));
                parts.idle.id_of(&tables.idle, part)
            }
            REST => {
                let part = identity.rest(parts.rests.part(&tables.rests, id));
                parts.rests.id_of(&tables.rests, part)
            }
            _ => {
                let part = identity.knowledge(parts.knowledge.part(&tables.knowledge, id));
                parts.knowledge.id_of(&tables.knowledge, part)
            }
        };
        self.memory.placed.insert((kind, id, place), placed);
        placed
    }

    fn rank(&mut self, ids: Ids) -> Rank {
        [GHOST, PODS, JOB, KNOWLEDGE, SYNC, IDLE, DELAYED, REST].map(|kind| self.rank_of(kind, ids[kind]))
    }

    fn rank_of(&mut self, kind: usize, id: Id) -> (u64, Id) {
        let (parts, tables) = (&mut *self.parts, self.tables);
        match kind {
            GHOST => parts.ghosts.rank(&tables.ghosts, id),
            PODS => parts.pods.rank(&tables.pods, id),
            JOB => parts.jobs.rank(&tables.jobs, id),
            SYNC => parts.syncs.rank(&tables.syncs, id),
            IDLE => parts.idle.rank(&tables.idle, id),
            DELAYED => parts.delayed.rank(&tables.delayed, id),
            REST => parts.rests.rank(&tables.rests, id),
            _ => parts.knowledge.rank(&tables.knowledge, id),
        }
    }
}
