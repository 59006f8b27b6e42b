//! The part of a Job that the trace shows.

use std::collections::{BTreeMap, VecDeque};

use jobcheck_spec::Uid;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::gaps::{Sighting, Undeleted};
use super::history::Position;

/// Number of versions of the Job that are kept.
const VERSIONS_KEPT: usize = 64;

/// The states of a Job that a trace shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whole {
    /// All of them, as far as it is known.
    #[default]
    Shown,
    /// A write had a server error, and nothing has shown since if it was stored.
    Open,
    /// A write is missing.
    Lacks,
}

/// The versions and events that the trace has shown of a Job and its pods, and the gaps ([`super::gaps`]).
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// All pods of the Job are known: its creation was seen, without a gap since.
    pub complete: bool,
    /// The Job was first seen after its creation.
    pub in_mid_life: bool,
    /// The `resourceVersion` of the Job.
    pub version: Option<u64>,
    /// Its latest versions, with the numbers of the events that showed them.
    pub versions_seen: VecDeque<(u64, u64)>,
    /// The highest `resourceVersion` of the Job and its pods.
    pub latest_version: u64,
    /// The latest response to a request for the Job or its pods, in microseconds.
    pub latest_answer: i64,
    /// The last event of each pod.
    pub pods_seen: FxHashMap<Uid, Sighting>,
    /// A kubelet has written a pod of the Job.
    pub shows_kubelets: bool,
    /// Pods that are being deleted without a DELETE in the trace so far.
    pub undeleted: BTreeMap<Uid, Undeleted>,
    /// A pod that terminated without having been ready: the number of its last event before, and the position from
    /// which the history is complete again.
    pub skipped: Option<(u64, Position)>,
    /// Versions that refused writes were made on and that the trace has not shown, with the numbers of preceding
    /// events.
    pub unseen_bases: BTreeMap<u64, u64>,
    /// The number of the last event before which a write is missing.
    pub gap: Option<u64>,
    /// The trace itself shows that a write of the Job or of a pod is missing.
    pub has_hole: bool,
    /// A write is missing, so etcd may hold a newer version than the trace has shown.
    pub stale: bool,
    /// The states of the Job that the trace shows.
    pub whole: Whole,
    /// The number of a write of somebody else that had a server error, if nothing has shown since what it has stored.
    pub unsettled: Option<u64>,
}

impl Coverage {
    /// Begins with the first event of a Job. `complete`: this event is its creation.
    pub fn begins(event: &Event, complete: bool) -> Coverage {
        let version = event.version;
        Coverage {
            complete,
            in_mid_life: !complete,
            version,
            versions_seen: version.into_iter().map(|version| (version, event.order)).collect(),
            latest_version: version.unwrap_or(0),
            latest_answer: event.when.map_or(i64::MIN, |when| when.done),
            ..Coverage::default()
        }
    }

    /// Notes a new version of the Job.
    pub fn has_version(&mut self, version: u64, order: u64) {
        if self.versions_seen.len() == VERSIONS_KEPT {
            self.versions_seen.pop_front();
        }
        self.versions_seen.push_back((version, order));
        self.unseen_bases.remove(&version);
        self.version = Some(version);
    }

    /// The number of the last event that wrote the Job up to this version; 0 if there is none.
    #[must_use]
    pub fn order_at(&self, version: u64) -> u64 {
        let mut earlier = self.versions_seen.iter().rev().filter(|(seen, _)| *seen <= version);
        earlier.next().map_or(0, |(_, order)| *order)
    }

    /// Returns `true` if the Job had this version.
    #[must_use]
    pub fn has_seen(&self, version: u64) -> bool {
        self.versions_seen.iter().any(|(seen, _)| *seen == version)
    }

    /// Notes that a write before this event is missing, so that the stored Job is not known.
    pub fn lacks_write(&mut self, order: u64) {
        self.gap = Some(order);
        self.is_unknown();
    }

    /// Notes that a write had a server error.
    pub fn may_be_stored(&mut self) {
        if self.whole == Whole::Shown {
            self.whole = Whole::Open;
        }
    }

    /// Notes the stored Job. A write that is missing before it is found next.
    pub fn shows_job(&mut self) {
        if self.whole == Whole::Open {
            self.whole = Whole::Shown;
        }
        self.unsettled = None;
    }

    /// Notes that the stored Job is not known.
    pub fn is_unknown(&mut self) {
        (self.stale, self.whole) = (true, Whole::Lacks);
    }

    /// Returns `true` if no version of the Job was seen since the event with this number.
    #[must_use]
    pub fn is_older_than(&self, order: u64) -> bool {
        self.versions_seen.back().is_none_or(|(_, seen)| *seen < order)
    }

    /// Frees the memory of a Job whose pods have come to rest.
    pub fn rest(&mut self) {
        self.pods_seen = FxHashMap::default();
        self.versions_seen.shrink_to_fit();
    }
}
