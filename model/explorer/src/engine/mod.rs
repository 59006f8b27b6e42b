//! Breadth-first search for any [`System`], with several threads, and random walks.
//!
//! # Guarantees
//!
//! - States are compared by equality, never only by hash.
//! - The result does not depend on the number of threads. States are numbered layer by layer: by the number
//!   of the previous state, and then by the order of its steps. A search ends only between batches of fixed
//!   size.
//! - The first broken state in this order is reported. The path to it is therefore one of the shortest.
//! - A search that reached a limit reports this ([`End::Cut`]). It proves nothing.

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

/// A transition system.
pub trait System: Sync {
    /// A state. It should be small, because every reached state is stored.
    type State: Clone + Eq + Hash + Send + Sync;
    /// A step.
    type Step: Clone;
    /// The memory of one thread. No result may depend on it.
    type Scratch: Send;

    /// The number of kinds of steps.
    const KINDS: usize;

    /// An empty memory for a thread.
    fn scratch(&self) -> Self::Scratch;
    /// The initial states.
    fn initial(&self, scratch: &mut Self::Scratch) -> Vec<Self::State>;
    /// Appends the enabled steps, in an order that depends only on the state.
    fn steps(&self, scratch: &mut Self::Scratch, state: &Self::State, steps: &mut Vec<Self::Step>);
    /// The state after a step.
    fn apply(&self, scratch: &mut Self::Scratch, state: &Self::State, step: &Self::Step) -> Self::State;
    /// Evaluates a state, once for each stored state. Returns the number of a broken property.
    fn look(&self, scratch: &mut Self::Scratch, state: &Self::State, steps: &[Self::Step]) -> Option<usize>;
    /// The kind of a step, below [`System::KINDS`].
    fn kind(&self, step: &Self::Step) -> usize;
    /// The representative of all states that differ only in names.
    ///
    /// # Assumptions
    ///
    /// If two states have the same representative, then their steps lead pairwise to states with the same
    /// representative. Both states break the same properties.
    fn representative(&self, scratch: &mut Self::Scratch, state: Self::State) -> Self::State {
        let _ = scratch;
        state
    }
}

/// The limits of a search. The model has no clock and no operating system, so the caller provides both.
pub struct Limits<'a> {
    /// The number of threads.
    pub threads: usize,
    /// The largest number of visited states.
    pub max_states: Option<usize>,
    /// The largest number of bytes that the process may use.
    pub max_memory: Option<u64>,
    /// The bytes that the process uses. If they are unknown, the bytes of the states count.
    pub memory: &'a (dyn Fn() -> Option<u64> + Sync),
    /// Returns true if the search must stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called with the progress between batches.
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

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of distinct states so far.
    pub states: usize,
    /// The number of these that are not visited yet.
    pub frontier: usize,
    /// The number of steps to the farthest state.
    pub depth: usize,
    /// The estimated final number of states. It assumes that new states keep getting rarer as in the last
    /// batch. `None` if they do not get rarer yet.
    pub estimate: Option<usize>,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was visited.
    Exhausted,
    /// A property is broken.
    Broken {
        /// The number of the property, as [`System::look`] returns it.
        property: usize,
        /// The number of the state.
        state: u32,
    },
    /// A limit was reached.
    Cut(Cut),
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// [`Limits::max_states`], or the largest number of a state.
    States,
    /// [`Limits::max_memory`].
    Memory,
    /// [`Limits::stop`].
    Time,
}

/// The number of steps of one kind, and the number of new states to which they led.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Steps that were enabled in a visited state. Each of them was taken.
    pub taken: u64,
    /// Steps that led to a new state.
    pub fresh: u64,
}

/// The result of a search.
pub struct Run<S: System> {
    /// The end.
    pub end: End,
    /// The states.
    pub store: Store<S::State>,
    /// The number of steps taken, plus the initial states.
    pub generated: u64,
    /// The number of steps to the farthest state.
    pub depth: usize,
    /// The number of states at each depth that the search has begun to visit, from 0.
    pub layers: Vec<usize>,
    /// The coverage of each kind of step.
    pub coverage: Vec<Coverage>,
    /// The memories of the threads.
    pub scratches: Vec<S::Scratch>,
}

#[cfg(test)]
mod tests;
