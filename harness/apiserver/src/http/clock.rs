//! The source of the time of a request.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// Tokio's clock, which tests can pause, shifted to a chosen start.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Timestamp,
    origin: Instant,
}

impl TokioClock {
    /// Returns a clock that shows `start` now.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> TokioClock {
        TokioClock { start, origin: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::MAX);
        self.start.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
