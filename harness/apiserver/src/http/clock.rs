//! Where the time of a request comes from.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time of a request.
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// The time of tokio's clock, which tests may pause: it starts at a time of choice.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Timestamp,
    origin: Instant,
}

impl TokioClock {
    /// A clock that shows `start` now. It must be made inside a runtime.
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

/// The time of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
