//! A small seeded generator of random numbers. The same seed gives the same cases on every machine.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A generator of random numbers.
pub struct Random(SplitMix64);

impl Random {
    /// Returns the generator of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(seed))
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number from 0 to `limit - 1`.
    ///
    /// # Panics
    ///
    /// `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() % (limit as u64)).unwrap_or(0)
    }

    /// Returns true with the probability 1/`n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the items.
    ///
    /// # Panics
    ///
    /// There are no items.
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_seed_names_a_case() {
        let mut random = Random::seeded(1_234_567);
        let numbers = [random.bits(), random.bits(), random.bits()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
