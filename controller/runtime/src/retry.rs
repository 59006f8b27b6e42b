//! The delay of a key after a failed sync: exponential for each key, with a common rate limit in some queues.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::rate_limit::TokenBucket;

/// The retry delays of one queue.
#[derive(Clone, Debug)]
pub struct RetryLimiter<K> {
    base: Duration,
    max: Duration,
    overall: Option<TokenBucket>,
    failures: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> RetryLimiter<K> {
    /// Returns a limiter with delays of `base · 2^n`, at most `max`. `n` is the number of earlier failures of the key.
    #[must_use]
    pub fn exponential(base: Duration, max: Duration) -> RetryLimiter<K> {
        RetryLimiter { base, max, overall: None, failures: BTreeMap::new() }
    }

    /// Returns the limiter of Jobs and orphan pods: 1 s to 60 s (`docs/reference/built-in.md`).
    #[must_use]
    pub fn of_jobs() -> RetryLimiter<K> {
        RetryLimiter::exponential(Duration::from_secs(1), Duration::from_secs(60))
    }

    /// Returns the limiter of the TTL controller: 5 ms to 1000 s, and ten retries per second after the first hundred
    /// (`docs/reference/built-in.md`, TT-07).
    #[must_use]
    pub fn of_ttl() -> RetryLimiter<K> {
        let mut limiter = RetryLimiter::exponential(Duration::from_millis(5), Duration::from_secs(1000));
        limiter.overall = Some(TokenBucket::new(10.0, 100));
        limiter
    }

    /// Counts a failure of the key, and returns the delay of its next sync.
    pub fn failed(&mut self, key: &K, now: Instant) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let own = exponential(self.base, *failures).min(self.max);
        *failures = failures.saturating_add(1);
        let overall = self.overall.as_mut().map_or(Duration::ZERO, |bucket| bucket.reserve(now));
        own.max(overall)
    }

    /// Resets the failures of the key.
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Resets the failures of all keys.
    pub fn forget_all(&mut self) {
        self.failures.clear();
    }

    /// The number of failures of the key since the last reset.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

fn exponential(base: Duration, doublings: u32) -> Duration {
    2_u32.checked_pow(doublings).and_then(|factor| base.checked_mul(factor)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(limiter: &mut RetryLimiter<&str>, key: &'static str, times: usize) -> Vec<u128> {
        let now = Instant::now();
        (0..times).map(|_| limiter.failed(&key, now).as_millis()).collect()
    }

    #[test]
    fn a_job_waits_one_second_doubled_up_to_a_minute() {
        let mut limiter = RetryLimiter::of_jobs();
        assert_eq!(
            delays(&mut limiter, "a", 8),
            [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
        );
        assert_eq!(delays(&mut limiter, "b", 1), [1_000]);
        limiter.forget(&"a");
        assert_eq!(limiter.failures(&"a"), 0);
        assert_eq!(delays(&mut limiter, "a", 1), [1_000]);
    }

    #[test]
    fn many_failures_do_not_overflow() {
        let mut limiter = RetryLimiter::of_jobs();
        assert_eq!(delays(&mut limiter, "a", 200).last(), Some(&60_000));
    }

    #[test]
    fn retries_of_ttl_share_a_bucket() {
        let mut limiter = RetryLimiter::of_ttl();
        let now = Instant::now();
        let many: Vec<Duration> = (0..110_u32).map(|key| limiter.failed(&key, now)).collect();
        assert_eq!(many[99], Duration::from_millis(5));
        assert_eq!(many[100], Duration::from_millis(100));
        assert_eq!(many[109], Duration::from_secs(1));
    }
}
