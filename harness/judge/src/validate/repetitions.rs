//! Recognises audit events that were read before: in rotated logs that overlap, or in a second copy of a log.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use jobcheck_traces::Request;
use rustc_hash::{FxHashSet, FxHasher};

/// Number of the latest events that are recognised.
const REMEMBERED: usize = 65_536;

/// The latest events, by their ids.
#[derive(Debug, Default)]
pub struct Repetitions {
    known: FxHashSet<u64>,
    order: VecDeque<u64>,
}

impl Repetitions {
    /// Returns `true` if this event was read before, and adds it. A client can choose the id (`Audit-ID`), so times and
    /// response must be equal as well.
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
