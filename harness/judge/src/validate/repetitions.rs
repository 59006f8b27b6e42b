//! Audit events that were read before: rotated logs that overlap, or the same log twice.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use jobcheck_traces::Request;
use rustc_hash::{FxHashSet, FxHasher};

/// How many of the latest events are known again.
const REMEMBERED: usize = 65_536;

/// The latest events, by their ids.
#[derive(Debug, Default)]
pub struct Repetitions {
    known: FxHashSet<u64>,
    order: VecDeque<u64>,
}

impl Repetitions {
    /// Whether this event was read before; it is known from now on. A client can choose the id (`Audit-ID`), so
    /// the same event has the same times and the same answer as well.
    pub fn is_one(&mut self, request: &Request<'_>) -> bool {
        let Some(id) = request.id.filter(|id| !id.is_empty()) else { return false };
        let mut hasher = FxHasher::default();
        (id, request.interval.received, request.interval.done, request.code).hash(&mut hasher);
        (request.namespace, request.name, request.uid, request.version).hash(&mut hasher);
        let key = hasher.finish();
        if !self.known.insert(key) {
            return true;
        }
        let oldest = if self.order.len() == REMEMBERED { self.order.pop_front() } else { None };
        if let Some(oldest) = oldest {
            self.known.remove(&oldest);
        }
        self.order.push_back(key);
        false
    }
}
