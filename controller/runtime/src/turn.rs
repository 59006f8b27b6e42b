//! The turn of a sync: the requests that it may send while other Jobs wait for a worker.
//!
//! A sync of a large Job has hundreds of requests, and holds its worker until the rate limit has let all of them pass.
//! A few such Jobs would delay all others by minutes. The rest of a plan is therefore left to the next sync if others wait
//! (KEP-2307, SC-02). No decision depends on this: a plan may end after any call (FT-02).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jobcheck_controller::answer::Failure;

/// The requests of a turn. With the default rate of 50 requests per second, five workers end their turns within 5 s.
pub const REQUESTS: usize = 50;

/// The failure of a request that is left to the next sync.
#[must_use]
pub fn left_over() -> Failure {
    Failure::NotSent("other Jobs wait, and the next sync continues".to_owned())
}

/// The turn of one sync.
pub struct Turn<'a> {
    others_wait: &'a (dyn Fn() -> bool + Sync),
    sent: AtomicUsize,
    is_over: AtomicBool,
}

impl<'a> Turn<'a> {
    /// Begins a turn. `others_wait` says whether a Job waits for a worker now.
    pub fn new(others_wait: &'a (dyn Fn() -> bool + Sync)) -> Turn<'a> {
        Turn { others_wait, sent: AtomicUsize::new(0), is_over: AtomicBool::new(false) }
    }

    /// Returns true if one more request may be sent. After the first refusal, there is none in this turn.
    pub fn admits(&self) -> bool {
        let sent = self.sent.fetch_add(1, Ordering::Relaxed);
        if sent >= REQUESTS && (self.others_wait)() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        !self.is_over()
    }

    /// True if a request was not sent for the sake of other Jobs.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_no_end_while_nobody_waits() {
        let turn = Turn::new(&|| false);
        assert!((0..10 * REQUESTS).all(|_| turn.admits()));
    }

    #[test]
    fn a_turn_ends_after_its_requests_if_others_wait() {
        let turn = Turn::new(&|| true);
        assert_eq!((0..10 * REQUESTS).filter(|_| turn.admits()).count(), REQUESTS);
        assert!(turn.is_over());
    }

    #[test]
    fn a_turn_that_is_over_stays_over() {
        let wait = AtomicBool::new(true);
        let others = || wait.load(Ordering::Relaxed);
        let turn = Turn::new(&others);
        assert_eq!((0..=REQUESTS).filter(|_| turn.admits()).count(), REQUESTS);
        wait.store(false, Ordering::Relaxed);
        assert!(!turn.admits());
    }
}
