//! Symmetry reduction: one representative for all states that differ only in names.
//!
//! # The group
//!
//! The pods of a Job are created one after another, and `Uid(n)` is the n-th. A permutation of the UIDs
//! applies to everything that names pods ([`Renaming`]):
//!
//! - stored and cached pods, and the ghost history,
//! - the lists in every version of the status, and the texts of its conditions,
//! - the backoff record.
//!
//! Jobs with equal specifications may also swap places. Each then takes the UID and the name of the other
//! ([`Identity`]).
//!
//! # Soundness
//!
//! A renamed state need not be reachable. For example, pod 2 may have terminated in it before pod 1 was
//! created.
//!
//! The reduction is sound if steps and properties are equivariant in all states. A step leads from `w` to `v`
//! exactly if the renamed step leads from the renamed `w` to the renamed `v`. By induction on the length of paths, the representatives that the search finds are those of the reachable
//! states. Each one is found at the depth of the nearest state that it represents. A counterexample is
//! therefore as short as without the reduction.
//!
//! The steps and properties are equivariant for these reasons:
//!
//! - A creation takes `Uid(k + 1)`, which no permutation of the first k UIDs moves, and appends to the
//!   history.
//! - No other step chooses by UID. Responses to an algorithm arrive in any order, and the choice among equal
//!   pods is arbitrary ([`crate::process::io`]). PC-09 and BI-08 allow every pod of a tie.
//! - The lists of the status are sorted when they are written, and renaming sorts them again. Views, tallies
//!   and sums count. A first pod is chosen only for texts.
//! - In one place, a first pod determines which requirement a broken guard names: a violated delay is BO-04
//!   or RP-10. This matters only if such a guard is switched off, so [`is_sound`] then refuses the reduction.
//! - Properties search for any pod, or count. The UID that they find is only reported.
//!
//! Tests compare with the unreduced search: the verdict, the depth, the number of representatives and of
//! orbits, and `enabled` of renamed states.

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

/// With more pods there would be too many permutations, so these are not renamed.
const MOST_PODS: usize = 6;

/// Returns true if the reduction is sound in a scope.
#[must_use]
pub fn is_sound(scope: &Scope) -> bool {
    let by_first_pod = [Req::BO01, Req::BO04, Req::BO10, Req::RP10];
    // The TTL-after-finished controller keeps versions of the Job that are not renamed. Pods of previous Jobs
    // are not renamed. A script or a refusal names pods. A subject that depends on the order of UIDs
    // distinguishes equal pods.
    let distinguishes_pods = |algorithm: &Algorithm| {
        algorithm.ttl != TtlSubject::Specification || algorithm.decisions.reads_uids()
    };
    let is_renamed = !scope.algorithm().is_some_and(distinguishes_pods)
        && !scope.recreates()
        && scope.script.is_none()
        && scope.refused.iter().all(|refusal| refusal.pod().is_none());
    is_renamed && !scope.without.iter().any(|req| by_first_pod.contains(req))
}

/// The symmetry group of a scope.
#[derive(Debug)]
pub struct Group {
    /// The permutations, by number of pods.
    renamings: Vec<Vec<Renaming>>,
    identities: Vec<Identity>,
    /// For each Job, the first Job with an equal specification.
    classes: Vec<usize>,
    /// The parts of a Job that name pods, without the history.
    naming: &'static [usize],
}

impl Group {
    /// The symmetry group of a scope with this initial state.
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

/// The representatives that a thread remembers.
#[derive(Debug)]
pub struct Memory {
    /// For a history, its representative and the permutations that lead to it.
    ghosts: FxHashMap<Id, (Id, Arc<[u16]>)>,
    /// For a part and a permutation, the renamed part.
    renamed: FxHashMap<Key, Id>,
    placed: FxHashMap<(usize, Id, usize), Id>,
}

/// The kind of the part, its number, the number of pods, and the number of the permutation.
type Key = (u8, Id, u8, u16);

impl Memory {
    /// An empty memory.
    pub fn new() -> Memory {
        Memory { ghosts: FxHashMap::default(), renamed: FxHashMap::default(), placed: FxHashMap::default() }
    }
}

/// Computes representatives.
pub struct Finder<'a> {
    pub group: &'a Group,
    pub tables: &'a Tables,
    pub parts: &'a mut KnownParts,
    pub memory: &'a mut Memory,
}

/// The order of Jobs.
type Rank = [(u64, Id); PARTS];

impl Finder<'_> {
    /// The representative of a state.
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
        // The Jobs of a class are sorted into the places of the class.
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

    /// The first of all renamed states of a Job, ordered by the history and then by each other part.
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

    /// The first of the renamed histories in which the pods' histories are sorted, with every permutation
    /// that leads to it.
    fn of_ghost(&mut self, ghost: Id) -> (Id, Arc<[u16]>) {
        if let Some((first, renamings)) = self.memory.ghosts.get(&ghost) {
            return (*first, renamings.clone());
        }
        let part = self.parts.ghosts.part(&self.tables.ghosts, ghost).clone();
        let mut best: Option<((u64, Id), Vec<u16>)> = None;
        let known: &[Renaming] = self.group.renamings.get(part.pods.len()).map_or(&[], |all| all);
        // The other permutations cannot lead to the first history.
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
        // Without pods, a history represents itself. The first permutation is the identity.
        let ((_, first), renamings) = best.unwrap_or(((0, ghost), vec![0]));
        let found = (first, Arc::from(renamings));
        self.memory.ghosts.insert(ghost, found.clone());
        found
    }

    /// The part of a Job after a permutation. The first permutation is the identity.
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

    /// A Job in the place of another one.
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
