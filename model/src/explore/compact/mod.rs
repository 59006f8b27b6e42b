//! The specification in a scope, as a [`System`] of compact states.

mod parts;
mod renaming;
mod symmetry;
mod table;

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use self::parts::{JOB, KNOWLEDGE, KnownParts, PARTS, PAST, PODS, Packed, Tables, ids_of};
pub use self::renaming::{Identity, Renaming};
pub use self::symmetry::is_sound;
use self::symmetry::{Finder, Group, Memory};
use self::table::{Id, Known, Table};
use super::engine::System;
use crate::guards::counting::Ledger;
use crate::manager::is_held_back;
use crate::past::Past;
use crate::properties::{PROPERTIES, Situation, standstill};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::{Step, StepKind};
use crate::world::{JobId, World};

/// Numbers for the worlds of a scope with so many Jobs.
pub const fn width(jobs: usize) -> usize {
    1 + jobs * PARTS
}

/// The number by which [`System::look`] names a standstill.
pub const STANDSTILL_NUMBER: usize = PROPERTIES.len();

/// The specification in a scope.
pub struct Specification<'a, const N: usize> {
    scope: &'a Scope,
    tables: Tables,
    /// What all threads together have found out about managers.
    managed: RwLock<FxHashMap<Read, Arc<Managed>>>,
    shown: Table<Shown>,
    /// Whether to ask for each property, and last for a standstill.
    wanted: Vec<bool>,
    /// What makes worlds the same, if that is not asked to be told apart.
    group: Option<Group>,
}

impl<'a, const N: usize> Specification<'a, N> {
    /// The specification in this scope, with the properties that are `wanted`; `None` is a standstill.
    pub fn new(scope: &'a Scope, wanted: &dyn Fn(Option<usize>) -> bool) -> Specification<'a, N> {
        let wanted = (0..PROPERTIES.len()).map(Some).chain([None]).map(wanted).collect();
        Specification {
            scope,
            tables: Tables::new(),
            managed: RwLock::default(),
            shown: Table::new(),
            wanted,
            group: None,
        }
    }

    /// The same, in which worlds that differ by names alone are one ([`symmetry`]).
    #[must_use]
    pub fn up_to_symmetry(mut self) -> Specification<'a, N> {
        self.group = Some(Group::new(self.scope, &initial(self.scope)));
        self
    }

    /// How many different parts the worlds are made of.
    pub fn parts(&self) -> usize {
        self.tables.len()
    }

    /// The world of a state.
    pub fn world(&self, scratch: &mut Scratch<N>, state: &Packed<N>) -> World {
        scratch.parts.unpack(&self.tables, state)
    }
}

/// What one thread remembers.
pub struct Scratch<const N: usize> {
    parts: KnownParts,
    symmetry: Memory,
    /// The world that was asked for last.
    current: Option<(Packed<N>, World)>,
    managers: FxHashMap<Read, Arc<Managed>>,
    shown: Known<Shown>,
    shown_by: FxHashMap<Id, Id>,
    environment: Vec<Step>,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// Whether creations were held back by the scope's bound on pods.
    pub held_back: bool,
}

/// What the steps of a manager depend on: its Job's number, the frame, the Job, the pods, the manager, and what
/// is shown of the past.
type Read = [Id; 6];

/// The steps of a manager.
#[derive(Debug)]
struct Managed {
    steps: Vec<Arc<Step>>,
    held_back: bool,
}

/// What the specification of managers is shown of the past: which pods there were, and which of them were
/// counted. Nothing else of the past has a bearing on what a manager may do, and nothing of what the user has
/// done already; the test `memory_changes_nothing` compares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shown(Vec<bool>);

impl Shown {
    fn of(past: &Past) -> Shown {
        Shown(past.numbered().map(|(uid, _)| past.is_counted(uid)).collect())
    }
}

impl<const N: usize> Scratch<N> {
    fn load(&mut self, tables: &Tables, state: &Packed<N>) {
        if self.current.as_ref().is_none_or(|(loaded, _)| loaded != state) {
            let world = self.parts.unpack(tables, state);
            self.current = Some((*state, world));
        }
    }
}

impl<const N: usize> Specification<'_, N> {
    /// How often the specification was asked what a manager may do.
    pub fn judged(&self) -> usize {
        self.managed.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn shown(&self, scratch: &mut Scratch<N>, past: Id) -> Id {
        if let Some(shown) = scratch.shown_by.get(&past) {
            return *shown;
        }
        let part = Shown::of(scratch.parts.pasts.part(&self.tables.pasts, past));
        let shown = scratch.shown.id_of(&self.shown, part);
        scratch.shown_by.insert(past, shown);
        shown
    }

    /// What the manager of a Job may do in the world that was loaded.
    fn managed(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Arc<Managed> {
        let ids = ids_of(state, job);
        let shown = self.shown(scratch, ids[PAST]);
        let number = Id::try_from(job).unwrap_or(Id::MAX);
        let read = [number, state[0], ids[JOB], ids[PODS], ids[KNOWLEDGE], shown];
        if let Some(managed) = scratch.managers.get(&read) {
            return managed.clone();
        }
        let known = self.managed.read().unwrap_or_else(PoisonError::into_inner).get(&read).cloned();
        let managed = known.unwrap_or_else(|| {
            let (_, world) =
                scratch.current.as_ref().expect("the world is loaded before its steps are asked for");
            let managed = Arc::new(Managed::of(world, job, self.scope));
            self.managed.write().unwrap_or_else(PoisonError::into_inner).insert(read, managed.clone());
            managed
        });
        scratch.managers.insert(read, managed.clone());
        managed
    }
}

impl Managed {
    fn of(world: &World, job: usize, scope: &Scope) -> Managed {
        let job = JobId(u8::try_from(job).unwrap_or(u8::MAX));
        let mut steps = Vec::new();
        world.admitted_of(job, scope, &mut steps);
        Managed {
            steps: steps.into_iter().map(Arc::new).collect(),
            held_back: is_held_back(world, job, scope),
        }
    }
}

impl<const N: usize> System for Specification<'_, N> {
    type State = Packed<N>;
    type Step = Arc<Step>;
    type Scratch = Scratch<N>;

    const KINDS: usize = StepKind::ALL.len();

    fn scratch(&self) -> Scratch<N> {
        Scratch {
            parts: KnownParts::new(),
            symmetry: Memory::new(),
            current: None,
            managers: FxHashMap::default(),
            shown: Known::new(),
            shown_by: FxHashMap::default(),
            environment: Vec::new(),
            reached: vec![false; PROPERTIES.len()],
            held_back: false,
        }
    }

    fn initial(&self, scratch: &mut Scratch<N>) -> Vec<Packed<N>> {
        vec![scratch.parts.pack(&self.tables, initial(self.scope), None)]
    }

    fn steps(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &mut Vec<Arc<Step>>) {
        scratch.load(&self.tables, state);
        let mut environment = std::mem::take(&mut scratch.environment);
        for job in 0..self.scope.jobs.len() {
            let managed = self.managed(scratch, state, job);
            steps.extend_from_slice(&managed.steps);
            scratch.held_back |= managed.held_back;
            let (_, world) = scratch.current.as_ref().expect("it was just loaded");
            world.happenings_of(JobId(u8::try_from(job).unwrap_or(u8::MAX)), self.scope, &mut environment);
            steps.extend(environment.drain(..).map(Arc::new));
        }
        let (_, world) = scratch.current.as_ref().expect("it was just loaded");
        world.happenings(self.scope, &mut environment);
        steps.extend(environment.drain(..).map(Arc::new));
        scratch.environment = environment;
    }

    fn apply(&self, scratch: &mut Scratch<N>, state: &Packed<N>, step: &Arc<Step>) -> Packed<N> {
        scratch.load(&self.tables, state);
        let Scratch { parts, current, .. } = scratch;
        let (_, world) = current.as_ref().expect("it was just loaded");
        parts.pack(&self.tables, world.apply(step, self.scope), Some((world, state)))
    }

    fn look(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &[Arc<Step>]) -> Option<usize> {
        scratch.load(&self.tables, state);
        let Scratch { reached, current, .. } = scratch;
        let (_, world) = current.as_ref().expect("it was just loaded");
        let scope = self.scope;
        for (property, reached) in PROPERTIES.iter().zip(reached) {
            *reached = *reached
                || world.lives.iter().any(|life| (property.premise)(&Situation { world, life, scope }));
        }
        let broken = (0..PROPERTIES.len())
            .filter(|number| self.wanted[*number])
            .find(|number| world.lives.iter().any(|life| (PROPERTIES[*number].broken)(life).is_some()));
        let stuck = || steps.is_empty() && standstill(world, &[], scope).is_some();
        broken.or_else(|| (self.wanted[STANDSTILL_NUMBER] && stuck()).then_some(STANDSTILL_NUMBER))
    }

    fn kind(&self, step: &Arc<Step>) -> usize {
        step.kind() as usize
    }

    fn representative(&self, scratch: &mut Scratch<N>, state: Packed<N>) -> Packed<N> {
        let Some(group) = &self.group else { return state };
        let Scratch { parts, symmetry, .. } = scratch;
        Finder { group, tables: &self.tables, parts, memory: symmetry }.representative(state)
    }
}
