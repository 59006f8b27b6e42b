//! The process of a Job's manager: its possible knowledge, and its failures.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use serde::{Deserialize, Serialize};

use super::backoff::BackoffRecord;
use super::frontier::Frontier;
use super::history::Position;
use super::late::LateRequests;
use super::observed::{Bounds, Sight};
use super::own_write::OwnWrite;
use super::setbacks::{Refused, Setbacks};

/// Writes with a server error that may have been committed: for each pod its state after the write, and the write.
pub type Uncertain = BTreeMap<Uid, (Option<Pod>, OwnWrite)>;

/// The process of a Job's manager. The pods in its cache are a position in the [`super::history::History`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Process {
    /// The views that explain all its writes so far.
    pub frontier: Frontier,
    /// The progress of its caches, if the trace shows it.
    pub sight: Sight,
    /// The views that this progress allows.
    pub bounds: Bounds,
    /// The global backoff record.
    pub backoff: BackoffRecord,
    /// The position at which the sync before the current one began.
    pub previous_sync: Position,
    /// The beginning of a sync whose status write had a server error. Its client may have sent the write again.
    pub retried_from: Option<Position>,
    /// Number of status writes for which the refusals of their sync still count.
    pub excused_writes: u32,
    /// Refused writes to pods in the current sync.
    pub refused: Refused,
    /// Writes with a server error that may have been committed.
    pub uncertain: Uncertain,
    /// Failures that it met.
    pub setbacks: Setbacks,
    /// Requests that may come from the process before it.
    pub late: LateRequests,
}
