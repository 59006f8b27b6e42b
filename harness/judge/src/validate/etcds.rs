//! Jobs and pods in different etcds (`--etcd-servers-overrides`), so that their versions cannot be compared.
//!
//! The judge orders all writes by version. If a write with a higher version was done long before one of the other
//! resource was received, the versions belong to two counters. A clock that jumps shows itself within one resource, too.

use jobcheck_traces::Interval;

use super::event::{Body, Event};

/// Time by which two writes contradict their versions, in microseconds. Clocks that NTP keeps differ by less.
const CONTRADICTS: i64 = 1_000_000;
/// The number of contradictions that show two counters.
const ENOUGH: u32 = 3;
/// The reason why a verdict is inconclusive.
const REASON: &str = "the versions of Jobs and pods contradict their times, as if they were in different etcds. \
    Their writes cannot be ordered";

/// The order of the versions of Jobs and pods.
#[derive(Clone, Copy, Debug, Default)]
pub struct Etcds {
    /// The latest receipt of a write with a version: of Jobs, and of pods.
    received: [Option<i64>; 2],
    /// The writes that contradict the order of the other resource.
    contradictions: u32,
    /// The writes that contradict the order of their own resource.
    jumps: u32,
}

impl Etcds {
    /// Notes a write. Writes come in the order of their versions.
    pub fn note(&mut self, event: &Event, when: Interval) {
        let own = match event.body {
            Body::Job(_) => 0,
            Body::Pod(_) => 1,
            _ => return,
        };
        if event.version.is_none() || event.arrival.late {
            return;
        }
        let is_before = |received: Option<i64>| {
            received.is_some_and(|received| when.done.saturating_add(CONTRADICTS) < received)
        };
        self.jumps += u32::from(is_before(self.received[own]));
        self.contradictions += u32::from(is_before(self.received[1 - own]));
        self.received[own] = self.received[own].max(Some(when.received));
    }

    /// The reason why the whole trace is inconclusive.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        (self.contradictions >= ENOUGH && self.jumps == 0).then(|| REASON.to_owned())
    }
}
