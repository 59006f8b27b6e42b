//! The load of an audit webhook: what may be in memory at the same time, and what was refused.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The maximum size of a body in bytes. By default an API server sends at most 10 MiB.
pub(super) const MAX_BODY: usize = 64 << 20;
/// The number of bodies of this size that can be in memory at the same time. Further requests wait.
pub(super) const BODIES: usize = 8;
/// A body must fit into a place, however little memory there is.
const LEAST_BODIES: usize = 16 << 20;
/// The maximum size of waiting events in bytes, if the memory has no limit.
const MAX_WAITING: usize = 1 << 30;
/// The unit of places, in bytes: a semaphore counts to 2^32.
const PLACE: usize = 1 << 10;

/// The limits of an audit webhook, and what it has refused. The webhook and its owner share it.
#[derive(Debug)]
pub struct Load {
    bodies: Semaphore,
    /// The number of all places of `bodies`.
    places: usize,
    most_body: usize,
    most_waiting: usize,
    waiting: AtomicUsize,
    refused: AtomicU64,
    lost: AtomicU64,
    is_full: AtomicBool,
    is_ending: AtomicBool,
}

impl Load {
    /// The limits for a process that may use this memory, in bytes. A sixteenth is for the bodies that are received, because
    /// each is there several times while it is parsed. An eighth is for events that wait for older ones.
    #[must_use]
    pub fn of(memory: Option<u64>) -> Load {
        let share =
            |part: u64| memory.map_or(usize::MAX, |all| usize::try_from(all / part).unwrap_or(usize::MAX));
        let bodies = share(16).clamp(LEAST_BODIES, BODIES * MAX_BODY);
        Load {
            bodies: Semaphore::new(bodies / PLACE),
            places: bodies / PLACE,
            most_body: bodies.min(MAX_BODY),
            most_waiting: share(8).min(MAX_WAITING),
            waiting: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
        }
    }

    /// From now on no event is accepted, or events are accepted again. The owner knows what else needs memory.
    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Returns whether no event is accepted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// The number of requests that were refused, for whatever reason.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of requests of API servers whose events were refused. They may have been sent again.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The size in bytes of the events that wait for older ones.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn set_waiting(&self, bytes: usize) {
        self.waiting.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn most_waiting(&self) -> usize {
        self.most_waiting
    }

    pub(super) fn most_body(&self) -> usize {
        self.most_body
    }

    pub(super) fn refuse(&self) {
        self.count(&self.refused);
    }

    /// Counts a request whose events are lost, unless it comes again.
    pub(super) fn lose(&self) {
        self.count(&self.lost);
    }

    fn count(&self, counter: &AtomicU64) {
        // A request that is refused at the end of a recording is not part of it.
        if !self.is_ending() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// From now on no request begins.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Returns whether no body is in memory.
    pub(super) fn is_idle(&self) -> bool {
        self.bodies.available_permits() == self.places
    }

    /// A place for a body of this size, as soon as there is one within this time.
    pub(super) async fn place(&self, bytes: usize, time: Duration) -> Option<SemaphorePermit<'_>> {
        let places = u32::try_from(bytes.min(self.most_body) / PLACE).unwrap_or(u32::MAX).max(1);
        timeout(time, self.bodies.acquire_many(places)).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bodies_share_a_part_of_the_memory() {
        let (little, much) = (Load::of(Some(64 << 20)), Load::of(None));
        assert_eq!((little.most_body(), little.most_waiting()), (16 << 20, 8 << 20));
        assert_eq!((much.most_body(), much.most_waiting()), (MAX_BODY, 1 << 30));
        let time = Duration::from_secs(1);
        let whole = little.place(MAX_BODY, time).await.unwrap();
        assert!(little.place(1, time).await.is_none() && !little.is_idle());
        drop(whole);
        assert!(little.is_idle());
        let mut places = Vec::new();
        for _ in 0..BODIES {
            places.push(much.place(MAX_BODY, time).await.unwrap());
        }
        assert!(much.place(1, time).await.is_none());
    }

    #[test]
    fn what_is_refused_at_the_end_does_not_count() {
        let load = Load::of(None);
        for _ in 0..2 {
            load.refuse();
            load.lose();
            load.end();
        }
        assert_eq!((load.refused(), load.lost()), (1, 1));
    }
}
