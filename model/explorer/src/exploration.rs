//! Exploring a scope: every behaviour of its subject, held against the properties.
//!
//! # Guarantees
//!
//! - A scope passes only if every reachable state was visited. States are compared by equality, never by a
//!   hash alone ([`crate::engine`]).
//! - The result does not depend on the number of threads.

use std::sync::Arc;

use crate::compact::{DEADLOCK_NUMBER, Numbered, Scratch, Specification, width};
use crate::counterexample::Counterexample;
pub use crate::engine::{Coverage, Cut, Progress};
use crate::engine::{End, Limits, Run, System, Walks, explore as search, leaving, path_to, walk as walk_in};
use crate::properties::PROPERTIES;
use crate::scope::Scope;
use crate::step::Step;
use crate::world::World;

/// The limits of an exploration, and its reductions.
#[derive(Clone)]
pub struct Bounds {
    /// The number of threads.
    pub threads: usize,
    /// The most states that are visited.
    pub max_states: Option<usize>,
    /// The most bytes that the process may use.
    pub max_memory: Option<u64>,
    /// The bytes that the process uses. `None` if the platform does not show them; then the bytes of the
    /// states are compared with the limit.
    pub memory: Arc<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Returns true once the exploration must stop. A pure crate has no clock of its own.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Called with the progress between batches of states.
    pub progress: Arc<dyn Fn(&Progress) + Send + Sync>,
    /// True if states that differ only in the names of pods and Jobs are equal. See
    /// [`symmetry_is_sound`](crate::check::symmetry_is_sound).
    pub symmetry: bool,
    /// True if events wait until a sync reads the caches ([`crate::process::deliveries`]). This reduction is
    /// always sound.
    pub partial_order: bool,
}

impl Bounds {
    /// No limit, and no reduction.
    #[must_use]
    pub fn none(threads: usize) -> Bounds {
        Bounds {
            threads,
            max_states: None,
            max_memory: None,
            memory: Arc::new(|| None),
            stop: Arc::new(|| false),
            progress: Arc::new(|_| {}),
            symmetry: false,
            partial_order: false,
        }
    }
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The number of states; with symmetry reduction, of classes of states.
    pub states: usize,
    /// True if symmetry reduction was used.
    pub symmetry: bool,
    /// The number of transitions that were taken, including those to known states.
    pub generated: u64,
    /// The number of steps to the most distant state.
    pub depth: usize,
    /// The number of states at each depth that the search has begun to visit, from 0. After a search to the end, their sum
    /// is `states`.
    pub layers: Vec<usize>,
    /// The bytes that hold the states and their predecessors, with reserved capacity.
    pub bytes: usize,
    /// The number of distinct parts that states consist of. Each part is stored once, in addition to `bytes`.
    pub parts: usize,
    /// The outcome of the exploration.
    pub outcome: Outcome,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// For each of [`crate::step::StepKind::ALL`], how often it was taken.
    pub steps: Vec<Coverage>,
    /// True if the scope's bound on pods disabled a creation.
    pub pods_bound_reached: bool,
    /// The number of quiescent states, in which every Job has reached its end and every controller is idle.
    /// `None` unless progress was checked ([`crate::progress`]).
    pub quiescent_states: Option<usize>,
}

impl Exploration {
    /// The counterexample, if a property is broken.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        match &self.outcome {
            Outcome::Broken(found) => Some(found),
            Outcome::Holds | Outcome::NotFinished(_) => None,
        }
    }

    /// Returns true if every state was visited and every property holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Holds)
    }
}

/// The end of an exploration.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Every state was visited, and every property holds.
    Holds,
    /// A property is broken. The counterexample is one of the shortest.
    Broken(Box<Counterexample>),
    /// A limit was reached, so that nothing is proved.
    NotFinished(Cut),
}

/// Explores a scope for the [`PROPERTIES`] of the `wanted` numbers; `None` is deadlock. Progress is not
/// checked.
#[must_use]
pub fn explore_for(scope: &Scope, bounds: &Bounds, wanted: &dyn Fn(Option<usize>) -> bool) -> Exploration {
    visit(scope, bounds, wanted, &mut |_, _| {})
}

/// Explores a scope, and then calls `visit_transition` for each transition. The arguments are the number of
/// the state, the state, the step, and the number of the next state.
pub fn graph(
    scope: &Scope,
    bounds: &Bounds,
    visit_transition: &mut dyn FnMut(u32, &World, &Step, u32),
) -> Exploration {
    visit(scope, bounds, &|_| true, &mut |_, worlds| {
        for number in 0..worlds.count() {
            let world = worlds.world(number);
            worlds.leaving(number).iter().for_each(|(step, to)| visit_transition(number, &world, step, *to));
        }
    })
}

/// Explores a scope for the `wanted` properties, and then passes the result and the states to the visitor,
/// which may change the result.
pub fn visit(
    scope: &Scope,
    bounds: &Bounds,
    wanted: &dyn Fn(Option<usize>) -> bool,
    visitor: Visitor<'_>,
) -> Exploration {
    let is_unasked = |number: usize| scope.not_checked.contains(&PROPERTIES[number].req);
    let wanted = |number: Option<usize>| wanted(number) && !number.is_some_and(is_unasked);
    by_width(&reduced(scope, bounds), Explore { bounds, wanted: &wanted, visitor })
}

/// A function that receives the result of an exploration and the states.
pub type Visitor<'a> = &'a mut dyn FnMut(&mut Exploration, &mut dyn Worlds);

/// The states that an exploration reached, numbered breadth first. The initial state has the number 0.
pub trait Worlds {
    /// The number of states.
    fn count(&self) -> u32;
    /// The state of this number.
    fn world(&mut self, number: u32) -> World;
    /// The steps that are enabled in the state of this number, each with the number of the next state. After
    /// an exploration that was cut, steps to states that were not stored are missing.
    fn leaving(&mut self, number: u32) -> Vec<(Arc<Step>, u32)>;
}

fn reduced(scope: &Scope, bounds: &Bounds) -> Scope {
    let lazy_caches = bounds.partial_order && scope.script.is_none();
    scope.clone().with_algorithm(|algorithm| algorithm.lazy_caches = lazy_caches)
}

/// A task that is independent of the number of Jobs.
trait Task {
    type Outcome;
    fn with<const N: usize>(self, specification: &Specification<'_, N>, scope: &Scope) -> Self::Outcome;
    fn wanted(&self) -> &dyn Fn(Option<usize>) -> bool;
    fn symmetry(&self) -> bool;
}

/// Runs a task with the width of a packed state as a constant of its type.
fn by_width<T: Task>(scope: &Scope, task: T) -> T::Outcome {
    match scope.jobs.len() {
        1 => sized::<{ width(1) }, T>(scope, task),
        2 => sized::<{ width(2) }, T>(scope, task),
        3 => sized::<{ width(3) }, T>(scope, task),
        4 => sized::<{ width(4) }, T>(scope, task),
        count => unreachable!("scopes have one to four Jobs, and {} has {count}", scope.name),
    }
}

fn sized<const N: usize, T: Task>(scope: &Scope, task: T) -> T::Outcome {
    let specification = Specification::<N>::new(scope, task.wanted());
    // The renaming has no place for the pods of previous Jobs.
    let reduces = task.symmetry() && !scope.recreates();
    let specification = if reduces { specification.up_to_symmetry() } else { specification };
    task.with(&specification, scope)
}

struct Explore<'a, 'b> {
    bounds: &'a Bounds,
    wanted: &'a dyn Fn(Option<usize>) -> bool,
    visitor: Visitor<'b>,
}

struct Reached<'a, 'b, const N: usize> {
    specification: &'a Specification<'b, N>,
    run: &'a Run<Specification<'b, N>>,
    scratch: Scratch<N>,
}

impl<const N: usize> Worlds for Reached<'_, '_, N> {
    fn count(&self) -> u32 {
        u32::try_from(self.run.store.len()).unwrap_or(u32::MAX)
    }

    fn world(&mut self, number: u32) -> World {
        self.specification.world(&mut self.scratch, self.run.store.state(number))
    }

    fn leaving(&mut self, number: u32) -> Vec<(Arc<Step>, u32)> {
        let leaving = leaving(self.specification, self.run, &mut self.scratch, number);
        leaving.into_iter().map(|(numbered, to)| (numbered.step, to)).collect()
    }
}

impl Task for Explore<'_, '_> {
    type Outcome = Exploration;

    fn with<const N: usize>(self, specification: &Specification<'_, N>, scope: &Scope) -> Exploration {
        let Bounds { threads, max_states, max_memory, memory, stop, progress, symmetry, .. } = self.bounds;
        let limits = Limits {
            threads: *threads,
            max_states: *max_states,
            max_memory: *max_memory,
            memory: &**memory,
            stop: &**stop,
            progress: &**progress,
        };
        let run = search(specification, &limits);
        let mut exploration = Exploration {
            states: run.store.len(),
            symmetry: *symmetry && !scope.recreates(),
            generated: run.generated,
            depth: run.depth,
            layers: run.layers.clone(),
            bytes: run.store.bytes(),
            parts: specification.parts(),
            outcome: outcome(specification, &run, scope),
            reached: reached(&run.scratches),
            pods_bound_reached: run.scratches.iter().any(|scratch| scratch.pod_bound_reached),
            steps: run.coverage.clone(),
            quiescent_states: None,
        };
        let scratch = specification.scratch();
        (self.visitor)(&mut exploration, &mut Reached { specification, run: &run, scratch });
        exploration
    }

    fn wanted(&self) -> &dyn Fn(Option<usize>) -> bool {
        self.wanted
    }

    fn symmetry(&self) -> bool {
        self.bounds.symmetry
    }
}

fn reached<const N: usize>(scratches: &[Scratch<N>]) -> Vec<bool> {
    (0..PROPERTIES.len()).map(|number| scratches.iter().any(|scratch| scratch.reached[number])).collect()
}

fn outcome<'a, const N: usize>(
    specification: &Specification<'a, N>,
    run: &Run<Specification<'a, N>>,
    scope: &Scope,
) -> Outcome {
    match run.end {
        End::Exhausted => Outcome::Holds,
        End::Cut(cut) => Outcome::NotFinished(cut),
        End::Broken { property, state } => {
            let path = path_to(specification, run, state);
            let steps = path.iter().map(|numbered| Step::clone(&numbered.step)).collect();
            Outcome::Broken(Box::new(Counterexample::at_the_end_of(scope, number(property), steps)))
        }
    }
}

fn number(property: usize) -> Option<usize> {
    (property != DEADLOCK_NUMBER).then_some(property)
}

/// The parameters of random walks through a scope.
#[derive(Clone)]
pub struct Walking {
    /// The number of walks.
    pub walks: u64,
    /// The most steps of one walk.
    pub depth: usize,
    /// The seed; the same seed takes the same paths.
    pub seed: u64,
    /// Returns true once the walks must stop.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The result of random walks.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The number of walks that were started.
    pub walks: u64,
    /// The number of steps that were taken.
    pub steps: u64,
    /// The number of walks that ended before the depth limit, in a state without enabled steps.
    pub ended: u64,
    /// True if all walks were made, or one of them found a counterexample.
    pub finished: bool,
    /// The counterexample, if one was found.
    pub found: Option<Box<Counterexample>>,
    /// The path of the last walk.
    pub last: Vec<Step>,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// For each of [`crate::step::StepKind::ALL`], how often it was taken.
    pub coverage: Vec<Coverage>,
}

/// Walks through a scope at random. A walk that finds nothing proves nothing.
#[must_use]
pub fn walk(scope: &Scope, walking: &Walking) -> Walked {
    by_width(scope, Walk { walking })
}

struct Walk<'a> {
    walking: &'a Walking,
}

impl Task for Walk<'_> {
    type Outcome = Walked;

    fn with<const N: usize>(self, specification: &Specification<'_, N>, scope: &Scope) -> Walked {
        let Walking { walks, depth, seed, stop } = self.walking;
        let met = walk_in(specification, &Walks { count: *walks, depth: *depth, seed: *seed, stop: &**stop });
        let plain = |steps: Vec<Numbered>| steps.iter().map(|numbered| Step::clone(&numbered.step)).collect();
        let found = |(property, steps)| Counterexample::at_the_end_of(scope, number(property), plain(steps));
        Walked {
            walks: met.walks,
            steps: met.steps,
            ended: met.ended,
            finished: met.finished,
            found: met.broken.map(found).map(Box::new),
            last: plain(met.last),
            reached: met.scratch.reached,
            coverage: met.coverage,
        }
    }

    fn wanted(&self) -> &dyn Fn(Option<usize>) -> bool {
        &|_| true
    }

    fn symmetry(&self) -> bool {
        false
    }
}
