//! Pseudo-random numbers. A seed decides the sequence, so that a run can be repeated.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A sequence of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    /// Returns the sequence of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Rng {
        Rng(SplitMix64::seed_from_u64(seed))
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `count`. 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        // The remainder is below `count`, which is a usize.
        usize::try_from(self.next() % count as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_one_others() {
        let numbers = |seed| {
            let mut rng = Rng::seeded(seed);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        // Seeds in reports and in tests identify runs.
        assert_eq!(numbers(7), [0x63cb_e1e4_5932_0dd7, 0x044c_3cd7_f43c_661c, 0xe698_4080_bab1_2a02]);
        let mut rng = Rng::seeded(0);
        assert!((0..1000).all(|_| rng.below(3) < 3));
        assert_eq!(rng.below(0), 0);
    }
}
