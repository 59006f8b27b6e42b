//! Faults of the requests and watches of the controller under test, drawn from a seed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::Server;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults as Decide};
use jobcheck_apiserver::request::{Reply, Request, Verb};
use jobcheck_apiserver::watch::{Gate, WatchInfo};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use crate::recording::{Recorded, Recording};

/// The faults of the controller under test. Rates are per mille of its writes.
///
/// ```
/// use std::time::Duration;
/// use jobcheck_testserver::Faults;
///
/// let faults = Faults { errors: 50, watch_lag: Duration::from_secs(3), ..Faults::none() };
/// assert_eq!(faults.conflicts, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Updates and patches that get 409 before they reach the server, and change nothing.
    pub conflicts: u32,
    /// Writes that get 500, and change nothing.
    pub errors: u32,
    /// Writes that are carried out, and whose response is lost.
    pub lost_responses: u32,
    /// The longest time by which a watch lags. Each watch draws its lag anew every second.
    pub watch_lag: Duration,
}

impl Faults {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Faults {
        Faults { conflicts: 0, errors: 0, lost_responses: 0, watch_lag: Duration::ZERO }
    }

    /// Some of everything: 5 % of the writes fail in one of three ways, and watches lag by up to two seconds.
    #[must_use]
    pub fn some() -> Faults {
        Faults { conflicts: 20, errors: 20, lost_responses: 10, watch_lag: Duration::from_secs(2) }
    }
}

/// A sequence of pseudo-random numbers.
pub(crate) struct Draws(SplitMix64);

impl Draws {
    pub(crate) fn of(seed: u64) -> Draws {
        Draws(SplitMix64::seed_from_u64(seed))
    }

    /// Returns true in this many of a thousand cases.
    fn in_a_thousand(&mut self, cases: u32) -> bool {
        self.0.next_u64() % 1000 < u64::from(cases)
    }

    /// Returns a number up to `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.0.next_u64() % most.saturating_add(1)
    }
}

/// The faults of one user.
pub(crate) struct Drawn {
    pub(crate) recording: Recording,
    pub(crate) faults: Faults,
    pub(crate) user: String,
    pub(crate) draws: Draws,
}

impl Drawn {
    fn concerns(&self, request: &Request) -> bool {
        request.verb.writes() && request.user == self.user
    }
}

impl Decide for Drawn {
    fn before(&mut self, _: Timestamp, request: &Request) -> Option<Fault> {
        if !self.concerns(request) {
            return None;
        }
        let changes = matches!(request.verb, Verb::Update(_) | Verb::Patch { .. });
        if self.draws.in_a_thousand(self.faults.conflicts) && changes {
            let name = request.name.as_deref().unwrap_or_default();
            // The stored object has not changed, so the server itself would have accepted the write.
            return Some(Fault::Intercept(ApiError::modified(request.resource, name)));
        }
        let fails = self.draws.in_a_thousand(self.faults.errors);
        fails.then(|| Fault::Answer(ApiError::internal("a fault of the test server")))
    }

    fn after(&mut self, _: Timestamp, request: &Request, outcome: &Result<Reply, ApiError>) -> Option<Fault> {
        let is_lost =
            self.concerns(request) && outcome.is_ok() && self.draws.in_a_thousand(self.faults.lost_responses);
        is_lost.then(|| {
            self.recording.add(Recorded::LostResponse);
            Fault::Drop
        })
    }

    /// A watch begins with what its client has listed.
    fn watch_gate(&mut self, watch: &WatchInfo) -> Gate {
        let lags = watch.user == self.user && !self.faults.watch_lag.is_zero();
        if lags { Gate::UpTo(watch.cursor) } else { Gate::Open }
    }
}

/// Lets watches go on after their lag.
pub(crate) struct Lag {
    longest: Duration,
    user: String,
    draws: Draws,
    /// The newest revision at each time, oldest first.
    past: Vec<(Timestamp, u64)>,
}

impl Lag {
    pub(crate) fn new(faults: Faults, user: &str, seed: u64) -> Lag {
        Lag {
            longest: faults.watch_lag,
            user: user.to_owned(),
            draws: Draws::of(seed ^ 0x1a6),
            past: Vec::new(),
        }
    }

    /// Opens the watches of the user up to a revision that is as old as a drawn lag.
    pub(crate) fn go_on(&mut self, server: &mut Server, now: Timestamp) {
        if self.longest.is_zero() {
            return;
        }
        self.past.push((now, server.revision()));
        let longest = SignedDuration::try_from(self.longest).unwrap_or(SignedDuration::ZERO);
        let kept = self.past.iter().rposition(|(time, _)| now.duration_since(*time) >= longest).unwrap_or(0);
        self.past.drain(..kept);
        let lagging = server.watches().infos().filter(|watch| watch.user == self.user);
        let lagging: Vec<(_, Gate)> = lagging.map(|watch| (watch.id, watch.gate)).collect();
        for (id, gate) in lagging {
            let Gate::UpTo(shown) = gate else { continue };
            let place = self.draws.up_to(self.past.len() as u64 - 1);
            let (_, revision) = self.past[usize::try_from(place).unwrap_or(0)];
            server.watches().set_gate(id, Gate::UpTo(revision.max(shown)));
        }
    }
}
