//! The way through the graph of a scope: a tree of steps in which each step of the graph is taken once.
//!
//! From each world all its steps are taken, by the first path that comes there; a path that comes to a world of which all
//! steps were taken ends there. So the paths, from the root to where they end, take every step between every two worlds of
//! the graph, each once, and a prefix that several share is replayed once. Worlds are told apart by a hash of 64 bits: where
//! two have the same, some steps of the second are left out.
//!
//! Where the graph has more steps than may be taken, they are divided between the branches of each world; a branch that gets
//! few goes on, one step at each world, until it ends. Chance, from a seed, decides in which order branches come.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bench::{Bench, Stop};
use super::compare::compare;
use super::step::replay;
use super::{Difference, Rig, Walked};
use crate::rng::Rng;

/// A branch that gets no more steps than these takes one at each world.
const NARROW: usize = 40;
/// Steps of a path after which it is given up: no scope is so deep.
const LONGEST: usize = 400;

/// Walks through a scope, with so many steps at most, and until it is to stop.
///
/// # Errors
///
/// The API server refuses what the scope begins with.
pub fn walk(
    scope: &Scope,
    seed: u64,
    most: usize,
    rig: Rig,
    stop: &dyn Fn() -> bool,
) -> Result<Walked, String> {
    let lazy_caches = !scope.progress;
    let scope = scope.clone().with_algorithm(|algorithm| algorithm.lazy_caches = lazy_caches);
    let world = initial(&scope);
    let bench = Bench::new(&scope, &world, seed)?;
    let mut walker = Walker {
        scope: &scope,
        rig,
        seed,
        taken: FxHashMap::default(),
        path: Vec::new(),
        walked: Walked::of(scope.name),
        graph: size(&scope, &world, most),
        stop,
    };
    for (id, _) in world.numbered() {
        if let Err(Stop::Differs(why)) = compare(&bench, id, &world, &scope, &mut walker.rig) {
            walker.differs(why);
            return Ok(walker.walked);
        }
    }
    walker.branch(bench, &world, most);
    walker.walked.graph = walker.graph;
    Ok(walker.walked)
}

struct Walker<'a> {
    scope: &'a Scope,
    rig: Rig,
    seed: u64,
    /// How many steps of each world were taken, by its hash.
    taken: FxHashMap<u64, u16>,
    path: Vec<Step>,
    walked: Walked,
    /// How many steps the graph has, where all may be taken.
    graph: Option<usize>,
    stop: &'a dyn Fn() -> bool,
}

impl Walker<'_> {
    fn is_stopped(&self) -> bool {
        self.walked.difference.is_some() || (self.stop)()
    }

    fn differs(&mut self, why: String) {
        self.walked.difference = Some(Difference { path: self.path.clone(), why });
    }

    /// Takes the steps of a world that were not taken yet, and what follows them; how many of those that may be taken are
    /// left.
    fn branch(&mut self, bench: Bench, world: &World, most: usize) -> usize {
        let key = hash(world);
        let steps = if self.path.len() < LONGEST { self.steps(world, key) } else { Vec::new() };
        let (mut left, mut bench, mut goes_on) = (most, Some(bench), false);
        while left > 0 && !self.is_stopped() {
            // What follows may come back here, and take some.
            let taken = self.taken.entry(key).or_default();
            let Some(step) = steps.get(usize::from(*taken)) else { break };
            *taken += 1;
            let rest = steps.len() - usize::from(*taken) + 1;
            let own = if rest == 1 { bench.take() } else { bench.as_ref().map(Bench::fork) };
            let Some(own) = own else { break };
            let divided = if self.graph.is_some() { left } else { left / rest };
            let share = divided.max(NARROW.min(left));
            let unused = self.take(own, world, step.clone(), share);
            (left, goes_on) = (left - (share - unused), true);
        }
        self.walked.paths += usize::from(!goes_on);
        left
    }

    /// The steps of a world, in an order that depends on the seed and the world alone.
    fn steps(&self, world: &World, key: u64) -> Vec<Step> {
        let mut steps = world.enabled(self.scope);
        let mut rng = Rng::seeded(self.seed ^ key);
        for place in (1..steps.len()).rev() {
            steps.swap(place, rng.below(place + 1));
        }
        steps
    }

    /// Takes a step, and what follows; how many are left.
    fn take(&mut self, mut bench: Bench, world: &World, step: Step, most: usize) -> usize {
        let after = world.apply(&step, self.scope);
        self.walked.steps += 1;
        let came = replay(&mut bench, &step, (world, &after), self.scope, &mut self.rig);
        let kind = came.is_ok().then(|| step.kind());
        self.path.push(step);
        let left = match came {
            Ok(()) => self.branch(bench, &after, most - 1),
            Err(stop) => {
                self.end(stop);
                most - 1
            }
        };
        if let Some(kind) = kind {
            self.walked.taken[kind as usize] += 1;
        }
        self.path.pop();
        left
    }

    /// The path does not go on.
    fn end(&mut self, stop: Stop) {
        self.walked.paths += 1;
        match stop {
            Stop::Cut(why) => *self.walked.cut.entry(why).or_default() += 1,
            Stop::Differs(why) => self.differs(why),
        }
    }
}

/// How many steps the graph of a scope has, if there are no more than so many.
fn size(scope: &Scope, root: &World, most: usize) -> Option<usize> {
    let (mut seen, mut open, mut count) = (FxHashSet::from_iter([hash(root)]), vec![root.clone()], 0);
    while let Some(world) = open.pop() {
        for step in world.enabled(scope) {
            count += 1;
            if count > most {
                return None;
            }
            let after = world.apply(&step, scope);
            if seen.insert(hash(&after)) {
                open.push(after);
            }
        }
    }
    Some(count)
}

fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
