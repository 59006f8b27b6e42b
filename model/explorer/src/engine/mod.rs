//! A breadth-first search of our own, for any [`System`].
//!
//! # Guarantees
//!
//! - States are told apart by equality, never by a hash alone.
//! - The result does not depend on the number of threads: states are numbered layer by layer, by the number of
//!   the parent and then by the order of its steps, and a search ends between two batches of fixed size.
//! - The first broken state in that order is told, so that the way to it is one of the shortest.
//! - A search that was cut says so ([`End::Cut`]); nothing is proved then.

mod graph;
mod layers;
mod path;
mod store;
mod walk;

pub use graph::leaving;
pub use layers::explore;
pub use path::path_to;
pub use store::Store;
pub use walk::{Walks, walk};

use std::hash::Hash;

/// Something that has states, and steps between them.
pub trait System: Sync {
    /// A state, as small as it can be made: every one that was reached is kept.
    type State: Clone + Eq + Hash + Send + Sync;
    /// A step.
    type Step: Clone;
    /// What one thread remembers on its way; nothing that is found may depend on it.
    type Scratch: Send;

    /// How many kinds of steps there are.
    const KINDS: usize;

    /// The memory of a thread that begins.
    fn scratch(&self) -> Self::Scratch;
    /// Where everything starts.
    fn initial(&self, scratch: &mut Self::Scratch) -> Vec<Self::State>;
    /// Adds all steps that may be taken, in an order that depends on the state alone.
    fn steps(&self, scratch: &mut Self::Scratch, state: &Self::State, steps: &mut Vec<Self::Step>);
    /// The state after a step.
    fn apply(&self, scratch: &mut Self::Scratch, state: &Self::State, step: &Self::Step) -> Self::State;
    /// Looks at a state, once for each that is kept; says which property is broken.
    fn look(&self, scratch: &mut Self::Scratch, state: &Self::State, steps: &[Self::Step]) -> Option<usize>;
    /// The kind of a step, below [`System::KINDS`].
    fn kind(&self, step: &Self::Step) -> usize;
    /// The one state that stands for all that are the same but for names.
    ///
    /// # Assumptions
    ///
    /// If two states have the same representative, then so have, one by one, the states after their steps; and
    /// the same properties are broken in both.
    fn representative(&self, scratch: &mut Self::Scratch, state: Self::State) -> Self::State {
        let _ = scratch;
        state
    }
}

/// What limits a search. The model has no clock and knows no operating system, so both are asked for.
pub struct Limits<'a> {
    /// Threads.
    pub threads: usize,
    /// The most states that are looked at.
    pub max_states: Option<usize>,
    /// The most bytes that the process may use.
    pub max_memory: Option<u64>,
    /// The bytes that the process uses, where that is known; else the bytes of the states are compared.
    pub memory: &'a (dyn Fn() -> Option<u64> + Sync),
    /// Says when to give up.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Hears of the progress, between batches.
    pub progress: &'a dyn Fn(&Progress),
}

impl Limits<'_> {
    /// No limit.
    #[must_use]
    pub fn none(threads: usize) -> Limits<'static> {
        Limits {
            threads,
            max_states: None,
            max_memory: None,
            memory: &|| None,
            stop: &|| false,
            progress: &|_| {},
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Different states so far.
    pub states: usize,
    /// Of them, those that were not looked at yet.
    pub frontier: usize,
    /// Steps to the farthest.
    pub depth: usize,
    /// How many there may be in the end, if new ones keep getting rarer as they did in the last batch; `None`
    /// where they do not get rarer yet.
    pub estimate: Option<usize>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was looked at.
    Exhausted,
    /// This property is broken in the state of this number.
    Broken {
        /// The property, as [`System::look`] numbers it.
        property: usize,
        /// The state.
        state: u32,
    },
    /// A limit was reached.
    Cut(Cut),
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// [`Limits::max_states`], or all numbers were used up.
    States,
    /// [`Limits::max_memory`].
    Memory,
    /// [`Limits::stop`].
    Time,
}

/// How often steps of one kind were possible, and how often they led to a new state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Possible in a state that was looked at; each was taken.
    pub taken: u64,
    /// Led to a state that was not known.
    pub fresh: u64,
}

/// What a search found.
pub struct Run<S: System> {
    /// How it ended.
    pub end: End,
    /// The states.
    pub store: Store<S::State>,
    /// Steps that were taken, and the initial states.
    pub generated: u64,
    /// Steps to the farthest state.
    pub depth: usize,
    /// States in the largest layer.
    pub widest: usize,
    /// For each kind of step.
    pub coverage: Vec<Coverage>,
    /// What the threads remember.
    pub scratches: Vec<S::Scratch>,
}

#[cfg(test)]
mod tests;
