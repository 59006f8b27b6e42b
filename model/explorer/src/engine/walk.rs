//! Random walks, for systems that are too large for a search.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Coverage, System};

/// The parameters of random walks.
pub struct Walks<'a> {
    /// The number of walks.
    pub count: u64,
    /// The largest number of steps of a walk.
    pub depth: usize,
    /// The seed of the choices. The same seed gives the same walks.
    pub seed: u64,
    /// Returns true if the walks must stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// The result of random walks.
pub struct Walked<S: System> {
    /// The number of walks that began.
    pub walks: u64,
    /// The number of steps.
    pub steps: u64,
    /// The number of walks that ended early, because no step was enabled.
    pub ended: u64,
    /// True if all walks were made.
    pub finished: bool,
    /// For each kind, the number of steps. The number of new states is unknown.
    pub coverage: Vec<Coverage>,
    /// The first broken property, with the path to it.
    pub broken: Option<(usize, Vec<S::Step>)>,
    /// The last walk.
    pub last: Vec<S::Step>,
    /// The memory of the thread.
    pub scratch: S::Scratch,
}

/// Walks from the initial states. Each step is chosen at random among the enabled ones.
pub fn walk<S: System>(system: &S, walks: &Walks<'_>) -> Walked<S> {
    let mut met = Walked {
        walks: 0,
        steps: 0,
        ended: 0,
        finished: false,
        coverage: vec![Coverage::default(); S::KINDS],
        broken: None,
        last: Vec::new(),
        scratch: system.scratch(),
    };
    while met.walks < walks.count && met.broken.is_none() {
        if (walks.stop)() {
            return met;
        }
        let seed = walks.seed.wrapping_add(met.walks.wrapping_mul(0xd134_2543_de82_ef95));
        let mut random = SplitMix64::seed_from_u64(seed);
        met.walks += 1;
        one(system, walks.depth, &mut random, &mut met);
    }
    met.finished = true;
    met
}

fn one<S: System>(system: &S, depth: usize, random: &mut SplitMix64, met: &mut Walked<S>) {
    let mut initial = system.initial(&mut met.scratch);
    let mut state = initial.swap_remove(below(random, initial.len()));
    met.last.clear();
    let mut steps = Vec::new();
    for taken in 0..=depth {
        steps.clear();
        system.steps(&mut met.scratch, &state, &mut steps);
        if let Some(property) = system.look(&mut met.scratch, &state, &steps) {
            met.broken = Some((property, met.last.clone()));
            return;
        }
        if steps.is_empty() {
            met.ended += 1;
            return;
        }
        if taken < depth {
            let step = steps.swap_remove(below(random, steps.len()));
            state = system.apply(&mut met.scratch, &state, &step);
            met.coverage[system.kind(&step)].taken += 1;
            met.steps += 1;
            met.last.push(step);
        }
    }
}

/// A number below `count`, which is not 0.
fn below(random: &mut SplitMix64, count: usize) -> usize {
    usize::try_from((u128::from(random.next_u64()) * count as u128) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_a_walk() {
        let mut random = SplitMix64::seed_from_u64(42);
        let chosen: Vec<usize> = (0..8).map(|_| below(&mut random, 10)).collect();
        assert_eq!(chosen, [7, 1, 2, 3, 0, 8, 2, 8]);
    }
}
