//! Exploring a scope: every behaviour of the specification in it.
//!
//! # Guarantees
//!
//! A scope passes only if every world that was reached was also looked at, and worlds are told apart by equality
//! ([`crate::engine`]). Nothing that is told depends on the number of threads.

use std::sync::Arc;

pub use crate::compact::is_sound as symmetry_is_sound;
use crate::compact::{Numbered, STANDSTILL_NUMBER, Scratch, Specification, width};
pub use crate::counterexample::Counterexample;
pub use crate::engine::{Coverage, Cut, Progress};
use crate::engine::{End, Limits, Run, System, Walks, explore as search, leaving, path_to, walk as walk_in};
use crate::properties::PROPERTIES;
use crate::scope::{Algorithm, Scope};
use crate::scopes::gates::gates;
use crate::step::Step;
use crate::world::World;

/// What limits an exploration, and how it is made.
#[derive(Clone)]
pub struct Bounds {
    /// Threads.
    pub threads: usize,
    /// The most worlds that are looked at.
    pub max_states: Option<usize>,
    /// The most bytes that the process may use.
    pub max_memory: Option<u64>,
    /// The bytes that the process uses, where that can be found out; else those of the worlds are compared.
    pub memory: Arc<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Says when to give up: the model has no clock.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Hears of the progress.
    pub progress: Arc<dyn Fn(&Progress) + Send + Sync>,
    /// Whether worlds that are the same but for names are one; see [`symmetry_is_sound`].
    pub symmetry: bool,
    /// Whether events are held back until somebody looks ([`crate::process::deliveries`]); always sound.
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

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Different worlds; with symmetry, those that differ by more than names.
    pub states: usize,
    /// Whether worlds that are the same but for names were one.
    pub symmetry: bool,
    /// Steps that led to them, to known ones too.
    pub generated: u64,
    /// Steps to the farthest world.
    pub depth: usize,
    /// Worlds in the largest layer.
    pub widest: usize,
    /// Bytes that hold the worlds and where they were reached from, with what is reserved for more.
    pub bytes: usize,
    /// Parts that the worlds are made of, each of which is kept once besides those bytes.
    pub parts: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// For each of [`crate::step::StepKind::ALL`].
    pub steps: Vec<Coverage>,
    /// Whether creations were held back by the scope's bound on pods.
    pub pods_bound_reached: bool,
    /// In how many of the worlds every Job has come to its end and its controller rests, where progress was checked
    /// ([`crate::progress`]).
    pub rests: Option<usize>,
}

impl Exploration {
    /// What is broken.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        match &self.outcome {
            Outcome::Broken(found) => Some(found),
            Outcome::Holds | Outcome::NotFinished(_) => None,
        }
    }

    /// Whether every world was looked at, and every property holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Holds)
    }
}

/// How an exploration ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Every world was looked at, and every property holds.
    Holds,
    /// A property is broken; one of the shortest ways there.
    Broken(Box<Counterexample>),
    /// A limit was reached: nothing is proved.
    NotFinished(Cut),
}

/// All scopes that have a name: those of the specification, and then those of the algorithm.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    [crate::scopes::all(), gates(), crate::scopes::reference::all()].concat()
}

/// Explores a scope; where it asks for progress, for that, too, and unreduced.
#[must_use]
pub fn explore(scope: &Scope, bounds: &Bounds) -> Exploration {
    if scope.progress {
        crate::progress::explore(scope, bounds)
    } else {
        explore_for(scope, bounds, &|_| true)
    }
}

/// Explores a scope for some of [`PROPERTIES`], by number; `None` is a standstill. Progress is not asked for.
#[must_use]
pub fn explore_for(scope: &Scope, bounds: &Bounds, wanted: &dyn Fn(Option<usize>) -> bool) -> Exploration {
    visit(scope, bounds, wanted, &mut |_, _| {})
}

/// Explores a scope, and then tells all steps between the worlds that were reached: the numbers of both, and the
/// world that the step is taken in.
pub fn graph(scope: &Scope, bounds: &Bounds, tell: &mut dyn FnMut(u32, &World, &Step, u32)) -> Exploration {
    visit(scope, bounds, &|_| true, &mut |_, worlds| {
        for number in 0..worlds.count() {
            let world = worlds.world(number);
            worlds.leaving(number).iter().for_each(|(step, to)| tell(number, &world, step, *to));
        }
    })
}

/// Explores a scope for some of [`PROPERTIES`], and then shows the worlds that were reached to a visitor, who may change
/// what is told of the exploration.
pub fn visit(
    scope: &Scope,
    bounds: &Bounds,
    wanted: &dyn Fn(Option<usize>) -> bool,
    visitor: Visitor<'_>,
) -> Exploration {
    let is_unasked = |number: usize| scope.unasked.contains(&PROPERTIES[number].req);
    let wanted = |number: Option<usize>| wanted(number) && !number.is_some_and(is_unasked);
    by_width(&reduced(scope, bounds), Explore { bounds, wanted: &wanted, visitor })
}

/// Sees what an exploration found, and the worlds.
pub type Visitor<'a> = &'a mut dyn FnMut(&mut Exploration, &mut dyn Worlds);

/// The worlds that an exploration reached, numbered breadth first; 0 is the initial one.
pub trait Worlds {
    /// How many.
    fn count(&self) -> u32;
    /// The world of a number.
    fn world(&mut self, number: u32) -> World;
    /// The steps that may be taken in it, with the numbers of the worlds that they lead to. After an exploration that
    /// was cut, those to worlds that were not kept are left out.
    fn leaving(&mut self, number: u32) -> Vec<(Arc<Step>, u32)>;
}

fn reduced(scope: &Scope, bounds: &Bounds) -> Scope {
    let algorithm =
        Algorithm { lazy_caches: bounds.partial_order && scope.script.is_none(), ..scope.algorithm.clone() };
    Scope { algorithm, ..scope.clone() }
}

/// Something that is done with the specification, however many Jobs there are.
trait Task {
    type Outcome;
    fn with<const N: usize>(self, specification: &Specification<'_, N>, scope: &Scope) -> Self::Outcome;
    fn wanted(&self) -> &dyn Fn(Option<usize>) -> bool;
    fn symmetry(&self) -> bool;
}

/// The size of a packed world is a constant of its type.
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
    // Pods of former Jobs of a name have no place in the renaming.
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
            widest: run.widest,
            bytes: run.store.bytes(),
            parts: specification.parts(),
            outcome: outcome(specification, &run, scope),
            reached: reached(&run.scratches),
            pods_bound_reached: run.scratches.iter().any(|scratch| scratch.held_back),
            steps: run.coverage.clone(),
            rests: None,
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
    (property != STANDSTILL_NUMBER).then_some(property)
}

/// Random walks through a scope.
#[derive(Clone)]
pub struct Walking {
    /// How many.
    pub walks: u64,
    /// The most steps of one.
    pub depth: usize,
    /// The same seed walks the same ways.
    pub seed: u64,
    /// Says when to give up.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// What random walks met.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Walks that were begun.
    pub walks: u64,
    /// Steps that were taken.
    pub steps: u64,
    /// Walks that came to an end before their depth.
    pub ended: u64,
    /// Whether all walks were made, or one of them found something.
    pub finished: bool,
    /// What is broken.
    pub found: Option<Box<Counterexample>>,
    /// The way of the last walk.
    pub last: Vec<Step>,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// For each of [`crate::step::StepKind::ALL`].
    pub coverage: Vec<Coverage>,
}

/// Walks through a scope at random. What is not found is not proved.
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
