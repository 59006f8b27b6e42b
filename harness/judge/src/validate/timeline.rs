//! The times of the changes of a Job and its pods, in microseconds.

use std::collections::VecDeque;
use std::sync::Arc;

use jobcheck_spec::job::Job;
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::history::Position;

/// Number of history entries whose times are kept.
const RECENT: usize = 64;

/// Times of changes, in microseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The response to the deletion of the Job, if the trace shows its time.
    pub deleting_since: Option<i64>,
    /// A recently replaced version of the Job, and the time of the replacement (TT-06).
    pub replaced: Option<(Arc<Job>, i64)>,
    /// Lower bound for the request of the stored version.
    pub written: Option<i64>,
    /// The last change.
    pub changed: Option<i64>,
    /// The last event of a pod.
    pub pods_changed: Option<i64>,
    /// The times of the latest history entries.
    recent: VecDeque<(Position, i64)>,
}

impl Timeline {
    /// Notes the time of the history entry at this position.
    pub fn note(&mut self, position: Position, event: &Event) {
        let Some(when) = event.when else { return };
        self.pods_changed = self.pods_changed.max(Some(when.done));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((position, when.done));
    }

    /// The position of the first recent entry that may come after a request received at this time.
    #[must_use]
    pub fn first_after(&self, received: i64) -> Option<Position> {
        self.recent.iter().find(|(_, done)| *done > received).map(|(position, _)| *position)
    }

    /// The last event of the Job or its pods.
    #[must_use]
    pub fn last_event(&self) -> Option<i64> {
        self.changed.max(self.recent.back().map(|(_, done)| *done))
    }

    /// Forgets the times of history entries.
    pub fn forget_entries(&mut self) {
        self.recent = VecDeque::new();
    }
}
