//! The work queue: the keys to sync, and their times.
//!
//! # Guarantees
//!
//! They are those of client-go's work queue (SY-01):
//!
//! - A key has one worker at a time. If it is added meanwhile, it returns to the queue when that worker has finished.
//! - A waiting key is in the queue once, however often it is added.
//! - The earliest of several delays of a key applies, so that a delay batches events and never postpones a sync.
//! - Keys are served in the order of their addition. A large Job, whose syncs are bounded, does not starve small ones
//!   (KEP-2307, SC-02).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::metrics::QueueMetrics;
use super::retry::RetryLimiter;

/// A queue. Clones share it.
#[derive(Debug)]
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        WorkQueue { shared: Arc::clone(&self.shared) }
    }
}

#[derive(Debug)]
struct Shared<K> {
    state: Mutex<State<K>>,
    /// Notified when a key may be ready.
    changed: Notify,
    metrics: QueueMetrics,
}

#[derive(Debug)]
struct State<K> {
    /// The ready keys in their order, with the time since which they are ready.
    ready: VecDeque<(K, Instant)>,
    /// The keys that need a sync: those in `ready`, and those that were added during their sync.
    dirty: BTreeSet<K>,
    /// The keys of running syncs, with their start.
    running: BTreeMap<K, Instant>,
    /// The delayed keys by the time at which they become ready. The number keeps the order of additions.
    delayed: BTreeMap<(Instant, u64), K>,
    /// The entry of each key in `delayed`.
    due: BTreeMap<K, (Instant, u64)>,
    additions: u64,
    retries: RetryLimiter<K>,
    closed: bool,
}

impl<K: Ord + Clone> WorkQueue<K> {
    /// Returns an empty queue.
    #[must_use]
    pub fn new(retries: RetryLimiter<K>, metrics: QueueMetrics) -> WorkQueue<K> {
        let state = State {
            ready: VecDeque::new(),
            dirty: BTreeSet::new(),
            running: BTreeMap::new(),
            delayed: BTreeMap::new(),
            due: BTreeMap::new(),
            additions: 0,
            retries,
            closed: false,
        };
        WorkQueue { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new(), metrics }) }
    }

    /// Adds a key that needs a sync now.
    pub fn add(&self, key: K) {
        let mut state = self.state();
        if !state.closed {
            state.add(key, Instant::now(), &self.shared.metrics);
            drop(state);
            self.shared.changed.notify_one();
        }
    }

    /// Adds a key that needs a sync after a delay. An earlier delay of the key takes precedence.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        // The clock cannot represent very long delays.
        let now = Instant::now();
        let at = now.checked_add(delay).unwrap_or_else(|| now + LONGEST);
        let mut state = self.state();
        if !state.closed && state.delay(key, at) {
            drop(state);
            self.shared.changed.notify_one();
        }
    }

    /// Adds a key whose sync failed, with a delay that grows with each failure. Returns the delay.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        let delay = self.state().retries.failed(&key, Instant::now());
        self.shared.metrics.retries.inc();
        self.add_after(key, delay);
        delay
    }

    /// Resets the failures of a key.
    pub fn forget(&self, key: &K) {
        self.state().retries.forget(key);
    }

    /// The number of failures of a key since the last reset.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.state().retries.failures(key)
    }

    /// The number of ready keys.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.state().ready.len()
    }

    /// Waits for a ready key, and returns it; none after the queue is closed.
    pub async fn next(&self) -> Option<Running<K>> {
        loop {
            // The waiter is registered before the state is read, so that it misses no addition in between.
            let changed = self.shared.changed.notified();
            let wake = {
                let now = Instant::now();
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                state.admit_delayed(now, &self.shared.metrics);
                if let Some(key) = state.take(now, &self.shared.metrics) {
                    if !state.ready.is_empty() {
                        self.shared.changed.notify_one();
                    }
                    return Some(Running { key, queue: self.clone() });
                }
                state.delayed.first_key_value().map(|((at, _), _)| *at)
            };
            let timer = async {
                match wake {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = timer => {}
            }
        }
    }

    /// Closes the queue: it accepts and returns no more keys, and all waiting workers wake.
    pub fn close(&self) {
        self.state().closed = true;
        self.shared.changed.notify_waiters();
        // `notify_waiters` does not reach a worker that is about to wait.
        self.shared.changed.notify_one();
    }

    /// Drops all waiting keys and all failures. Running syncs are not affected.
    pub fn clear(&self) {
        let mut state = self.state();
        let ready = std::mem::take(&mut state.ready);
        state.dirty.clear();
        state.delayed.clear();
        state.due.clear();
        state.retries.forget_all();
        for _ in ready {
            self.shared.metrics.depth.dec();
        }
    }

    /// Updates the gauges that grow during a sync.
    pub fn observe_running(&self) {
        let now = Instant::now();
        let state = self.state();
        let since: Vec<f64> =
            state.running.values().map(|at| now.saturating_duration_since(*at).as_secs_f64()).collect();
        self.shared.metrics.unfinished.set(since.iter().sum());
        self.shared.metrics.longest.set(since.iter().copied().fold(0.0, f64::max));
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // No method panics while it changes the state, so the state of a poisoned lock is valid.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self, key: &K) {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(since) = state.running.remove(key) {
            self.shared.metrics.work.observe(now.saturating_duration_since(since).as_secs_f64());
        }
        if state.dirty.contains(key) && !state.closed {
            state.ready.push_back((key.clone(), now));
            self.shared.metrics.depth.inc();
            drop(state);
            self.shared.changed.notify_one();
        }
    }
}

/// The maximum delay. It has no effect in practice, because each event and each start adds the key again.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

impl<K: Ord + Clone> State<K> {
    fn add(&mut self, key: K, now: Instant, metrics: &QueueMetrics) {
        if !self.dirty.insert(key.clone()) {
            return;
        }
        metrics.adds.inc();
        if !self.running.contains_key(&key) {
            self.ready.push_back((key, now));
            metrics.depth.inc();
        }
    }

    /// Returns whether the key is now the first to become ready.
    fn delay(&mut self, key: K, at: Instant) -> bool {
        if let Some(place) = self.due.get(&key) {
            if place.0 <= at {
                return false;
            }
            self.delayed.remove(place);
        }
        self.additions += 1;
        let place = (at, self.additions);
        self.due.insert(key.clone(), place);
        self.delayed.insert(place, key);
        self.delayed.first_key_value().is_some_and(|(first, _)| *first == place)
    }

    fn admit_delayed(&mut self, now: Instant, metrics: &QueueMetrics) {
        while let Some(entry) = self.delayed.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.add(key, now, metrics);
        }
    }

    fn take(&mut self, now: Instant, metrics: &QueueMetrics) -> Option<K> {
        let (key, since) = self.ready.pop_front()?;
        metrics.depth.dec();
        metrics.wait.observe(now.saturating_duration_since(since).as_secs_f64());
        self.dirty.remove(&key);
        self.running.insert(key.clone(), now);
        Some(key)
    }
}

/// A key whose sync runs until this value is dropped.
#[derive(Debug)]
pub struct Running<K: Ord + Clone> {
    /// The key to sync.
    pub key: K,
    queue: WorkQueue<K>,
}

impl<K: Ord + Clone> Drop for Running<K> {
    fn drop(&mut self) {
        self.queue.done(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::metrics::Metrics;

    fn queue() -> WorkQueue<&'static str> {
        WorkQueue::new(RetryLimiter::of_jobs(), Metrics::new().queue("job"))
    }

    async fn nothing_within(queue: &WorkQueue<&'static str>, time: Duration) -> bool {
        timeout(time, queue.next()).await.is_err()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn keys_are_taken_once_in_the_order_of_their_addition() {
        let queue = queue();
        for key in ["b", "a", "b", "c", "a"] {
            queue.add(key);
        }
        assert_eq!(queue.depth(), 3);
        for expected in ["b", "a", "c"] {
            assert_eq!(queue.next().await.unwrap().key, expected);
        }
        assert!(nothing_within(&queue, SECOND).await);
    }

    /// SY-01.
    #[tokio::test(start_paused = true)]
    async fn a_key_has_one_worker_at_a_time_and_returns_if_added_meanwhile() {
        let queue = queue();
        queue.add("a");
        let running = queue.next().await.unwrap();
        queue.add("a");
        queue.add("a");
        assert!(nothing_within(&queue, SECOND).await);
        drop(running);
        let again = queue.next().await.unwrap();
        assert_eq!(again.key, "a");
        drop(again);
        assert!(nothing_within(&queue, SECOND).await);
    }

    /// SY-01: the batching delay is not a debounce.
    #[tokio::test(start_paused = true)]
    async fn the_earliest_of_several_delays_applies() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after("a", 5 * SECOND);
        queue.add_after("a", 2 * SECOND);
        queue.add_after("a", 9 * SECOND);
        assert_eq!(queue.next().await.unwrap().key, "a");
        assert_eq!(start.elapsed().as_secs(), 2);
        assert!(nothing_within(&queue, 20 * SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_delay_wakes_a_worker_that_waits_for_a_later_one() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after("late", 60 * SECOND);
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await.map(|running| running.key) }
        });
        tokio::time::sleep(SECOND).await;
        queue.add_after("soon", 3 * SECOND);
        assert_eq!(waiting.await.unwrap(), Some("soon"));
        assert_eq!(start.elapsed().as_secs(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn an_immediate_addition_leaves_a_timer_in_place() {
        let queue = queue();
        queue.add_after("a", 10 * SECOND);
        queue.add("a");
        drop(queue.next().await.unwrap());
        assert!(nothing_within(&queue, 9 * SECOND).await);
        assert_eq!(queue.next().await.unwrap().key, "a");
    }

    /// SC-02: a key that is added again is behind all waiting keys.
    #[tokio::test(start_paused = true)]
    async fn a_busy_key_does_not_starve_others() {
        let queue = queue();
        queue.add("huge");
        let mut order = Vec::new();
        for round in 0..3 {
            let running = queue.next().await.unwrap();
            order.push(running.key);
            if round == 0 {
                queue.add("small");
            }
            queue.add("huge");
        }
        assert_eq!(order, ["huge", "small", "huge"]);
    }

    #[tokio::test(start_paused = true)]
    async fn several_workers_share_the_keys() {
        let queue: WorkQueue<u32> = WorkQueue::new(RetryLimiter::of_jobs(), Metrics::new().queue("job"));
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    let mut done = Vec::new();
                    while let Some(running) = queue.next().await {
                        tokio::time::sleep(SECOND).await;
                        done.push(running.key);
                    }
                    done
                })
            })
            .collect();
        (0..8).for_each(|key| queue.add(key));
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        queue.close();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.await.unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_retried_with_growing_delays_until_forgotten() {
        let queue = queue();
        let mut waits = Vec::new();
        for _ in 0..3 {
            let start = Instant::now();
            queue.add_rate_limited("a");
            drop(queue.next().await.unwrap());
            waits.push(start.elapsed().as_secs());
        }
        assert_eq!(waits, [1, 2, 4]);
        assert_eq!(queue.failures(&"a"), 3);
        queue.forget(&"a");
        assert_eq!(queue.add_rate_limited("a"), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_queue_wakes_its_workers_and_accepts_no_keys() {
        let queue = queue();
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await.is_none() }
        });
        tokio::time::sleep(SECOND).await;
        queue.close();
        assert!(waiting.await.unwrap());
        queue.add("a");
        assert!(queue.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cleared_queue_has_no_keys_timers_and_failures() {
        let queue = queue();
        queue.add("ready");
        queue.add_after("delayed", SECOND);
        queue.add_rate_limited("failed");
        queue.clear();
        assert!(nothing_within(&queue, 100 * SECOND).await);
        assert_eq!((queue.depth(), queue.failures(&"failed")), (0, 0));
        queue.add("ready");
        assert_eq!(queue.next().await.unwrap().key, "ready");
    }
}
