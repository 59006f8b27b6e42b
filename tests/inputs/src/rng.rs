//! Pseudo-random numbers. A seed decides the sequence, so that a search can be repeated.

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

    /// Returns a number below `count`. 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        // The remainder is below `count`, which is a usize.
        usize::try_from(self.0.next_u64() % count as u64).unwrap_or(0)
    }

    /// Returns one of these.
    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Returns a range within a length, mostly a short one.
    pub fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let most = if self.below(4) == 0 { most } else { most.min(16) };
        from..(from + self.below(most + 1)).min(length)
    }
}
