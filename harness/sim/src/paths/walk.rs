//! The traversal of the graph of a scope: a tree of steps that contains each step of the graph once.
//!
//! The first path that reaches a state takes all its steps, and a later path ends there. So the paths together take
//! every step of the graph exactly once. A common prefix is replayed once. States are identified by a hash of 64
//! bits: after a collision some steps are omitted.
//!
//! If the graph has more steps than the limit, the limit is divided between the branches of each state. A branch with
//! a small share takes one step in each state until it ends. A seed decides the order of branches.

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

/// The limit at which a branch takes only one step in each state.
const NARROW: usize = 40;
/// The maximum length of a path. No scope is so deep.
const LONGEST: usize = 400;

/// Replays the paths of a scope, up to a maximum number of steps, and until `stop` returns true.
///
/// # Errors
///
/// The API server refuses the initial objects.
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
    /// The number of replayed steps of each state, by its hash.
    taken: FxHashMap<u64, u16>,
    path: Vec<Step>,
    walked: Walked,
    /// The number of steps of the graph. `None`: more than the limit.
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

    /// Replays the remaining steps of a state, with all that follows. Returns the rest of the limit.
    fn branch(&mut self, bench: Bench, world: &World, most: usize) -> usize {
        let key = hash(world);
        let steps = if self.path.len() < LONGEST { self.steps(world, key) } else { Vec::new() };
        let (mut left, mut bench, mut goes_on) = (most, Some(bench), false);
        while left > 0 && !self.is_stopped() {
            // The following steps may return to this state and take some.
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

    /// The steps of a state, in an order that depends only on the seed and the state.
    fn steps(&self, world: &World, key: u64) -> Vec<Step> {
        let mut steps = world.enabled(self.scope);
        let mut rng = Rng::seeded(self.seed ^ key);
        for place in (1..steps.len()).rev() {
            steps.swap(place, rng.below(place + 1));
        }
        steps
    }

    /// Replays a step, with all that follows. Returns the rest of the limit.
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

    /// Ends a path.
    fn end(&mut self, stop: Stop) {
        self.walked.paths += 1;
        match stop {
            Stop::Cut(why) => *self.walked.cut.entry(why).or_default() += 1,
            Stop::Differs(why) => self.differs(why),
        }
    }
}

/// The number of steps of the graph of a scope. `None`: more than `most`.
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
