//! The shortest way to a world, found breadth first.
//!
//! Independent of the checker in [`crate::check`]: worlds are told apart by another hash, so that equal counts
//! of both say something.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::properties::{PROPERTIES, STANDSTILL, standstill};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;
use crate::world::World;

/// A search through a scope.
#[derive(Debug)]
pub struct Search {
    /// Different worlds that were found.
    pub states: usize,
    /// Steps that were tried.
    pub generated: usize,
    /// Steps to the farthest world.
    pub depth: usize,
    /// Whether every world that was found was looked at.
    pub exhausted: bool,
    /// The first world in which something is broken, and the way there.
    pub found: Option<Found>,
}

/// Something that is broken.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which property, in words.
    pub property: &'static str,
    /// Number of the property in [`PROPERTIES`]; `None` for a standstill.
    pub number: Option<usize>,
    /// What is wrong.
    pub why: String,
    /// The steps that lead there.
    pub path: Vec<Step>,
}

/// How each world was reached first: from which one, and by which step.
struct Origins(Vec<(u32, Option<Step>)>);

impl Origins {
    fn add(&mut self, parent: u32, step: Option<Step>) -> u32 {
        self.0.push((parent, step));
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    fn path(&self, mut world: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        while let (parent, Some(step)) = &self.0[world as usize] {
            steps.push(step.clone());
            world = *parent;
        }
        steps.reverse();
        steps
    }
}

/// Searches until a property of `wanted` is broken, everything was seen, or `max_states` were.
#[must_use]
pub fn search(scope: &Scope, wanted: &dyn Fn(Option<usize>) -> bool, max_states: usize) -> Search {
    let mut origins = Origins(Vec::new());
    let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
    let mut queue = VecDeque::new();
    let first = initial(scope);
    seen.insert(fingerprint(&first), origins.add(0, None));
    queue.push_back((first, 0u32, 0usize));
    let mut result = Search { states: 1, generated: 1, depth: 0, exhausted: false, found: None };
    while let Some((world, number, depth)) = queue.pop_front() {
        result.depth = result.depth.max(depth);
        let steps = world.enabled(scope);
        if let Some((number_of, property, why)) = broken(&world, &steps, scope, wanted) {
            result.found = Some(Found { property, number: number_of, why, path: origins.path(number) });
            return result;
        }
        for step in steps {
            let next = world.apply(&step, scope);
            result.generated += 1;
            if let std::collections::hash_map::Entry::Vacant(entry) = seen.entry(fingerprint(&next)) {
                let reached = origins.add(number, Some(step));
                entry.insert(reached);
                queue.push_back((next, reached, depth + 1));
            }
        }
        result.states = seen.len();
        if result.states > max_states {
            return result;
        }
    }
    result.exhausted = true;
    result
}

fn broken(
    world: &World,
    steps: &[Step],
    scope: &Scope,
    wanted: &dyn Fn(Option<usize>) -> bool,
) -> Option<(Option<usize>, &'static str, String)> {
    for (number, property) in PROPERTIES.iter().enumerate().filter(|(number, _)| wanted(Some(*number))) {
        if let Some(why) = world.lives.iter().find_map(|life| (property.broken)(life)) {
            return Some((Some(number), property.name, why));
        }
    }
    let stuck = standstill(world, steps, scope).filter(|_| wanted(None))?;
    Some((None, STANDSTILL, stuck))
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
