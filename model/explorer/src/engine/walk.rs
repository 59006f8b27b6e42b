//! Random walks, for systems that are too large for a search.

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
        let mut random = Random(walks.seed.wrapping_add(met.walks.wrapping_mul(0xd134_2543_de82_ef95)));
        met.walks += 1;
        one(system, walks.depth, &mut random, &mut met);
    }
    met.finished = true;
    met
}

fn one<S: System>(system: &S, depth: usize, random: &mut Random, met: &mut Walked<S>) {
    let mut initial = system.initial(&mut met.scratch);
    let mut state = initial.swap_remove(random.below(initial.len()));
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
            let step = steps.swap_remove(random.below(steps.len()));
            state = system.apply(&mut met.scratch, &state, &step);
            met.coverage[system.kind(&step)].taken += 1;
            met.steps += 1;
            met.last.push(step);
        }
    }
}

/// SplitMix64: a small generator that is the same on all platforms.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize {
        usize::try_from((u128::from(self.next()) * count as u128) >> 64).unwrap_or(0)
    }
}
