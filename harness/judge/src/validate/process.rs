//! The process of a Job's manager: its possible knowledge, and its failures.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use serde::{Deserialize, Serialize};

use super::backoff::BackoffRecord;
use super::caches::{Sighting, StatusWrites};
use super::frontier::Frontier;
use super::history::Position;
use super::late::LateRequests;
use super::lost_requests::Suspicions;
use super::observed::{Bounds, Sight};
use super::own_write::OwnWrite;
use super::setbacks::{Refused, Setbacks};

/// A write to a pod with a server error, which may have been committed. The next record of the pod shows whether it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Uncertain {
    /// The request shows its effect.
    Effect {
        /// The pod with the effect; `None` if it is gone or has another owner.
        after: Option<Pod>,
        /// The write, if it was the manager's.
        own: Option<OwnWrite>,
    },
    /// A write of somebody else, with any effect.
    Anything,
}

impl Uncertain {
    /// The same write, if another one that does not show the pod has followed.
    #[must_use]
    pub fn followed_by(self, change: &dyn Fn(Pod) -> Pod) -> Uncertain {
        match self {
            Uncertain::Effect { after, own } => Uncertain::Effect { after: after.map(change), own },
            Uncertain::Anything => Uncertain::Anything,
        }
    }

    /// Returns `true` if the pod may be gone with the write: nothing but a kubelet keeps it then, and the grace period is not
    /// known.
    #[must_use]
    pub fn may_end_the_pod(&self) -> bool {
        let is_free = |pod: &Pod| pod.deleting && !pod.finalizer && !pod.other_finalizers;
        matches!(self, Uncertain::Effect { after: Some(pod), .. } if is_free(pod))
    }
}

/// The process of a Job's manager. The pods in its cache are a position in the [`super::history::History`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Process {
    /// The views that explain all its writes so far.
    pub frontier: Frontier,
    /// The progress of its caches, if the trace shows it.
    pub sight: Sight,
    /// The views that this progress allows.
    pub bounds: Bounds,
    /// The views that it allows if the sync of the current request began before a silence.
    #[serde(skip)]
    pub wider: Option<Bounds>,
    /// The global backoff record.
    pub backoff: BackoffRecord,
    /// The status write that brought the last failure into the record, in microseconds.
    pub recorded: Option<i64>,
    /// The position at which the sync before the current one began.
    pub previous_sync: Position,
    /// The beginning of a sync whose status write had a server error. Its client may have sent the write again.
    pub retried_from: Option<Position>,
    /// Number of status writes for which the refusals of their sync still count.
    pub excused_writes: u32,
    /// Refused writes to pods in the current sync.
    pub refused: Refused,
    /// Writes with a server error that may have been committed, by pod.
    pub uncertain: BTreeMap<Uid, Uncertain>,
    /// Status writes that only lost requests explain.
    pub suspicions: Suspicions,
    /// It is assumed that the namespace is being deleted.
    pub namespace_goes: bool,
    /// Failures that it met.
    pub setbacks: Setbacks,
    /// Requests that may come from the process before it.
    pub late: LateRequests,
    /// The times of its status writes.
    pub status_writes: StatusWrites,
    /// The extents of its caches, as the current request shows them.
    #[serde(skip)]
    pub sighting: Sighting,
}

impl Process {
    /// Begins a sync whose requests have not failed.
    pub fn forget_refusals(&mut self) {
        (self.excused_writes, self.refused) = (0, Refused::default());
    }
}
