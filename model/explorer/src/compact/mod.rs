//! The transition system of a scope with compact states, as a [`System`].
//!
//! A state is a few numbers, one for each distinct part of a [`World`] ([`parts`]). Threads remember the
//! effects of steps ([`effects`]), the enabled steps ([`possible`]) and the evaluation of properties
//! ([`looks`]). [`symmetry`] merges states that differ only in names.

mod effects;
mod looks;
mod lossy;
mod parts;
mod possible;
mod renaming;
mod symmetry;
pub mod table;

use std::sync::Arc;

use self::effects::{Effects, Facts};
use self::looks::Looks;
use self::parts::{KnownParts, PARTS, Packed, Tables, UNKNOWN};
use self::possible::{Managers, Possible};
pub use self::renaming::{Identity, Renaming};
pub use self::symmetry::is_sound;
use self::symmetry::{Finder, Group, Memory};
use self::table::{Id, Known, Table};
use super::engine::System;
use crate::properties::{PROPERTIES, deadlock};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::{Step, StepKind};
use crate::world::World;

/// The number of numbers in a state with this many Jobs.
pub const fn width(jobs: usize) -> usize {
    1 + jobs * PARTS
}

/// The number that [`System::look`] returns for a deadlock.
pub const DEADLOCK_NUMBER: usize = PROPERTIES.len();

/// A step and its number. Equal steps have equal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    id: Id,
    /// The step.
    pub step: Arc<Step>,
}

/// The transition system of a scope.
pub struct Specification<'a, const N: usize> {
    scope: &'a Scope,
    tables: Tables,
    steps: Table<Step>,
    /// The enabled writes of the specification's managers, shared by all threads.
    managers: Managers,
    /// For each property, true if it is checked. The last entry is about deadlock.
    wanted: Vec<bool>,
    /// The symmetry group, if symmetry reduction is used.
    group: Option<Group>,
}

impl<'a, const N: usize> Specification<'a, N> {
    /// The transition system of this scope, with the `wanted` properties. `None` is deadlock.
    pub fn new(scope: &'a Scope, wanted: &dyn Fn(Option<usize>) -> bool) -> Specification<'a, N> {
        let wanted = (0..PROPERTIES.len()).map(Some).chain([None]).map(wanted).collect();
        Specification {
            scope,
            tables: Tables::new(),
            steps: Table::new(),
            managers: Managers::new(),
            wanted,
            group: None,
        }
    }

    /// The same system with symmetry reduction ([`symmetry`]).
    #[must_use]
    pub fn up_to_symmetry(mut self) -> Specification<'a, N> {
        self.group = Some(Group::new(self.scope, &initial(self.scope)));
        self
    }

    /// The number of distinct parts of all states.
    pub fn parts(&self) -> usize {
        self.tables.len()
    }

    /// The state as a [`World`].
    pub fn world(&self, scratch: &mut Scratch<N>, state: &Packed<N>) -> World {
        scratch.parts.unpack(&self.tables, state)
    }
}

/// The memory of one thread.
pub struct Scratch<const N: usize> {
    parts: KnownParts,
    steps: Known<Step>,
    symmetry: Memory,
    /// The last state that was unpacked.
    current: Option<(Packed<N>, World)>,
    effects: Effects,
    possible: Possible,
    looks: Looks,
    /// For each of [`PROPERTIES`], true if some state satisfied its premise.
    pub reached: Vec<bool>,
    /// True if the scope's bound on pods disabled a creation.
    pub pod_bound_reached: bool,
}

impl<const N: usize> Scratch<N> {
    /// The [`World`] of a state. The last one is reused.
    fn load(&mut self, tables: &Tables, state: &Packed<N>) -> &World {
        if self.current.as_ref().is_none_or(|(loaded, _)| loaded != state) {
            let world = self.parts.unpack(tables, state);
            self.current = Some((*state, world));
        }
        let (_, world) = self.current.as_ref().expect("it was just loaded");
        world
    }
}

impl<const N: usize> Specification<'_, N> {
    /// The number of situations in which the writes of a manager were judged.
    pub fn judged(&self) -> usize {
        self.managers.len()
    }

    /// The state after a step. Remembered parts are not computed again.
    fn applied(
        &self,
        scratch: &mut Scratch<N>,
        state: &Packed<N>,
        known: &Packed<N>,
        step: &Step,
    ) -> Packed<N> {
        let next = scratch.load(&self.tables, state).apply(step, self.scope);
        let Scratch { parts, current, .. } = scratch;
        let before = current.as_ref().map(|(_, world)| (world, state));
        parts.pack(&self.tables, next, known, before)
    }
}

impl<const N: usize> System for Specification<'_, N> {
    type State = Packed<N>;
    type Step = Numbered;
    type Scratch = Scratch<N>;

    const KINDS: usize = StepKind::ALL.len();

    fn scratch(&self) -> Scratch<N> {
        Scratch {
            parts: KnownParts::new(),
            steps: Known::new(),
            symmetry: Memory::new(),
            current: None,
            effects: Effects::new(),
            possible: Possible::new(),
            looks: Looks::new(),
            reached: vec![false; PROPERTIES.len()],
            pod_bound_reached: false,
        }
    }

    fn initial(&self, scratch: &mut Scratch<N>) -> Vec<Packed<N>> {
        vec![scratch.parts.pack(&self.tables, initial(self.scope), &[UNKNOWN; N], None)]
    }

    fn steps(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &mut Vec<Numbered>) {
        self.possible(scratch, state, steps);
    }

    fn apply(&self, scratch: &mut Scratch<N>, state: &Packed<N>, step: &Numbered) -> Packed<N> {
        let Specification { tables, scope, .. } = self;
        let Scratch { effects, parts, .. } = scratch;
        let known = effects.recall(&mut Facts { parts, tables, scope }, state, step);
        if !known.contains(&UNKNOWN) {
            return known;
        }
        let next = self.applied(scratch, state, &known, &step.step);
        let Scratch { effects, parts, .. } = scratch;
        effects.remember(&mut Facts { parts, tables, scope }, (state, &known, &next), step);
        next
    }

    fn look(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &[Numbered]) -> Option<usize> {
        let broken = self.broken(scratch, state);
        let asked = steps.is_empty() && self.wanted[DEADLOCK_NUMBER];
        let mut stuck = || deadlock(scratch.load(&self.tables, state), &[], self.scope).is_some();
        broken.or_else(|| (asked && stuck()).then_some(DEADLOCK_NUMBER))
    }

    fn kind(&self, step: &Numbered) -> usize {
        step.step.kind() as usize
    }

    fn representative(&self, scratch: &mut Scratch<N>, state: Packed<N>) -> Packed<N> {
        let Some(group) = &self.group else { return state };
        let Scratch { parts, symmetry, .. } = scratch;
        Finder { group, tables: &self.tables, parts, memory: symmetry }.representative(state)
    }
}
