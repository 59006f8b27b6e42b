//! Random delays, so that replicas and retries do not run at the same times.

use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A sequence of pseudo-random numbers, fixed by its seed: runs can be repeated, and replicas, whose
/// identities differ, are spread.
#[derive(Clone, Debug)]
pub struct Jitter(SplitMix64);

impl Jitter {
    /// Returns the sequence of this name.
    #[must_use]
    pub fn seeded(name: &str) -> Jitter {
        // FNV-1a.
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Jitter(SplitMix64::seed_from_u64(seed))
    }

    /// Returns a time between `period` and `period · (1 + factor)`.
    pub fn spread(&mut self, period: Duration, factor: f64) -> Duration {
        period.saturating_add(period.mul_f64(self.fraction() * factor.max(0.0)))
    }

    /// Returns a number from 0 to 1, exclusive.
    fn fraction(&mut self) -> f64 {
        // 53 bits are what an f64 holds exactly.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_in_the_range_and_differ() {
        let mut jitter = Jitter::seeded("replica-0");
        let times: Vec<Duration> = (0..100).map(|_| jitter.spread(Duration::from_secs(2), 1.2)).collect();
        assert!(times.iter().all(|time| (2.0..4.4).contains(&time.as_secs_f64())));
        assert!(
            times.iter().any(|time| time.as_secs_f64() < 2.5)
                && times.iter().any(|time| time.as_secs_f64() > 3.9)
        );
    }

    #[test]
    fn the_name_determines_the_sequence() {
        let first = |name: &str| Jitter::seeded(name).spread(Duration::from_secs(1), 1.0);
        assert_eq!(first("a"), first("a"));
        assert_eq!(first("a").as_nanos(), 1_371_730_963);
        assert_ne!(first("a"), first("b"));
        assert_eq!(Jitter::seeded("a").spread(Duration::from_secs(1), 0.0), Duration::from_secs(1));
    }
}
