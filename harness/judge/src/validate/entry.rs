//! An entry of the history of a Job's pods.

use std::collections::VecDeque;

use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use serde::{Deserialize, Serialize};

use super::clock::Written;
use super::history::Position;
use super::own_write::OwnWrite;

/// A change of a pod in etcd.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The pod.
    pub uid: Uid,
    /// Its state before.
    pub before: Option<Pod>,
    /// Its state after; `None` if it is gone or has another owner.
    pub after: Option<Pod>,
    /// The write, if it was the manager's.
    pub own: Option<OwnWrite>,
    /// The position from which on a view may contain the entry although its place is later. Overlapping requests may
    /// have been committed in either order.
    pub early: Position,
    /// If the trace does not show the sender: the write, in case it was the manager's.
    pub perhaps: Option<OwnWrite>,
    /// `resourceVersion`, if the trace shows requests.
    pub version: Option<u64>,
    /// Lower bound for the time of this entry and of all entries before it, in microseconds.
    pub written: Option<i64>,
}

/// The entries that every view contains.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Dropped {
    /// The last `resourceVersion`.
    pub(super) version: Option<u64>,
    /// Lower bound for their time; `None` if views need not contain them.
    pub(super) written: Option<i64>,
}

/// The next entry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Next {
    /// Its `resourceVersion`.
    pub(super) version: Option<u64>,
    /// Its time.
    pub(super) written: Written,
    /// The position from which on a view may contain it, if that is not its own.
    pub(super) early: Option<Position>,
    /// The positions of entries that were placed as early as possible. A request that was received until a time may have come before.
    pub(super) loose: VecDeque<(Position, i64)>,
}

impl Next {
    /// Notes that the next entries have no version, and are placed as early as they may be. A request that is received until this
    /// time may have come before them. The pieces of one deletion keep their order.
    pub(super) fn places_early(&mut self, end: Position, until: i64) {
        match self.loose.back() {
            Some((_, known)) if *known == until => self.early = None,
            _ => self.loose.push_back((end, until)),
        }
    }

    /// Sets when the request of the next entries was received.
    pub(super) fn receives(&mut self, received: Option<i64>) {
        let Some(received) = received else { return self.early = None };
        while self.loose.front().is_some_and(|(_, until)| *until < received) {
            self.loose.pop_front();
        }
        self.early = self.loose.front().map(|(position, _)| *position);
    }
}
