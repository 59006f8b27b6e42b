//! The way through the graph of a scope: a tree of steps in which each step of the graph is taken once.
//!
//! From each world that was not met before all its steps are taken; a step to one that was met is taken as well, and ends
//! the path there. So the paths, from the root to where they end, take every step between every two worlds of the graph,
//! each once, and a prefix that several share is replayed once. Worlds are told apart by a hash of 64 bits: where two have
//! the same, what follows the second is left out.
//!
//! Where there are more steps than may be taken, they are divided between the branches of each world; a branch that gets
//! few goes on, one step at each world, until it ends. Chance, from a seed, decides in which order branches come.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_model::scope::{Algorithm, Scope};
use jobcheck_model::scopes::initial;
use jobcheck_model::step::Step;
use jobcheck_model::world::World;
use rustc_hash::FxHashSet;

use super::bench::{Bench, Stop};
use super::compare::compare;
use super::step::replay;
use super::{Difference, Rig, Walked, kinds};
use crate::rng::Rng;

/// A branch that gets no more steps than these takes one at each world.
const NARROW: usize = 40;
/// Steps of a path after which it is given up: no scope is so deep.
const LONGEST: usize = 400;

/// Walks through a scope, with so many steps at most.
///
/// # Errors
///
/// The API server refuses what the scope begins with.
pub fn walk(scope: &Scope, seed: u64, most: usize, rig: Rig, stop: &AtomicBool) -> Result<Walked, String> {
    let lazy_caches = !scope.progress;
    let scope = Scope { algorithm: Algorithm { lazy_caches, ..scope.algorithm.clone() }, ..scope.clone() };
    let world = initial(&scope);
    let bench = Bench::new(&scope, &world, seed)?;
    let mut walker = Walker {
        scope: &scope,
        rig,
        rng: Rng::seeded(seed),
        seen: FxHashSet::default(),
        path: Vec::new(),
        walked: Walked::of(scope.name),
        stop,
    };
    for (id, _) in world.numbered() {
        if let Err(Stop::Differs(why)) = compare(&bench, id, &world, &scope, &mut walker.rig) {
            walker.differs(why);
            return Ok(walker.walked);
        }
    }
    walker.seen.insert(hash(&world));
    walker.walked.complete = true;
    walker.branch(bench, &world, most);
    Ok(walker.walked)
}

struct Walker<'a> {
    scope: &'a Scope,
    rig: Rig,
    rng: Rng,
    seen: FxHashSet<u64>,
    path: Vec<Step>,
    walked: Walked,
    stop: &'a AtomicBool,
}

impl Walker<'_> {
    fn is_stopped(&self) -> bool {
        self.walked.difference.is_some() || self.stop.load(Ordering::Relaxed)
    }

    fn differs(&mut self, why: String) {
        self.walked.difference = Some(Difference { path: self.path.clone(), why });
    }

    /// Takes the steps of a world, and what follows them; how many of those that may be taken are left.
    fn branch(&mut self, bench: Bench, world: &World, most: usize) -> usize {
        let mut steps = world.enabled(self.scope);
        if steps.is_empty() || self.path.len() >= LONGEST {
            self.walked.complete &= steps.is_empty();
            self.walked.paths += 1;
            return most;
        }
        for place in (1..steps.len()).rev() {
            steps.swap(place, self.rng.below(place + 1));
        }
        let (mut left, mut bench) = (most, Some(bench));
        let count = steps.len();
        for (place, step) in steps.into_iter().enumerate() {
            if left == 0 || self.is_stopped() {
                self.walked.complete = false;
                break;
            }
            let rest = count - place;
            let share = if left <= NARROW { left } else { (left / rest).max(NARROW.min(left)) };
            let last = rest == 1;
            let own = if last { bench.take() } else { bench.as_ref().map(Bench::fork) };
            let Some(own) = own else { break };
            let unused = self.take(own, world, step, share);
            left -= share - unused;
        }
        left
    }

    /// Takes a step, and what follows; how many are left.
    fn take(&mut self, mut bench: Bench, world: &World, step: Step, most: usize) -> usize {
        let after = world.apply(&step, self.scope);
        self.walked.steps += 1;
        let came = replay(&mut bench, &step, (world, &after), self.scope, &mut self.rig);
        let kind = kinds::kind(&step);
        self.path.push(step);
        let left = most - 1;
        let left = match came {
            Ok(()) => {
                if let Some(kind) = kind {
                    self.walked.taken[kind] += 1;
                }
                if self.seen.insert(hash(&after)) {
                    if left == 0 {
                        self.walked.paths += 1;
                    }
                    self.branch(bench, &after, left)
                } else {
                    self.walked.paths += 1;
                    left
                }
            }
            Err(Stop::Cut(why)) => {
                self.walked.paths += 1;
                *self.walked.cut.entry(why).or_default() += 1;
                left
            }
            Err(Stop::Differs(why)) => {
                self.walked.paths += 1;
                self.differs(why);
                left
            }
        };
        self.path.pop();
        left
    }
}

fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
