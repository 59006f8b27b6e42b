//! Requests whose sender was replaced while they were in flight (SY-01; `docs/reference/judging.md`, *In the
//! explorer*).
//!
//! A mark shows such a replacement shortly before the request was received. Without marks only times show it: the actor
//! was silent for a second or more, and then sent other requests before this one was answered.

use jobcheck_spec::Uid;
use serde::{Deserialize, Serialize};

use super::delivery::Sender;
use super::event::Event;
use super::history::Position;
use super::own_write::OwnWrite;
use super::setbacks::RefusedWrite;
use super::track::Track;

/// Possible requests of a replaced process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LateRequests {
    /// There may have been one since the last explained status write. Its sender may have seen more than the successor.
    pub possible: bool,
    /// The last event that is treated as one.
    last: Option<u64>,
    /// Writes to pods that may be such requests, with their positions.
    writes: Vec<(Uid, Position)>,
    /// Only times show the replacement for one of these writes.
    by_silence: bool,
}

impl LateRequests {
    /// Forgets them after a status write that a view explains, since its process knows all the writes that it rests on.
    pub fn settle(&mut self) {
        self.possible = false;
        self.writes.clear();
        self.by_silence = false;
    }
}

impl LateRequests {
    /// Notes that the sender of this request was replaced while it was in flight.
    pub fn is_by_predecessor(&mut self, event: &Event) {
        self.last = Some(event.order);
    }

    /// Returns `true` if marks show the replacement for each of these writes.
    #[must_use]
    pub fn is_told(&self) -> bool {
        !self.by_silence
    }

    /// Returns `true` if earlier writes may come from a replaced process.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }
}

impl Track {
    /// The write, if the manager knows about it without its caches.
    #[must_use]
    pub fn heard(&mut self, event: &Event, uid: Uid, write: OwnWrite) -> Option<OwnWrite> {
        if event.may_be_late() || event.delivery.sender == Sender::JustStarted {
            self.process.late.writes.push((uid, self.history.end()));
            self.process.late.by_silence |= event.may_be_late();
        }
        if !self.unheard(event) {
            return Some(write);
        }
        if matches!(write, OwnWrite::Delete | OwnWrite::RemoveFinalizer) {
            self.misses_answer(event);
        }
        None
    }

    /// TC-08: a sender without a response treats a write to a pod as one that may have failed.
    pub fn misses_answer(&mut self, event: &Event) {
        if self.unheard(event) && !event.is_posthumous() {
            self.pod_write_refused(RefusedWrite::Unheard);
        }
    }

    /// Returns `true` if the current process does not know about this request.
    #[must_use]
    pub fn unheard(&self, event: &Event) -> bool {
        event.is_unheard() || self.process.late.last == Some(event.order)
    }

    /// Treats the writes that may come from a replaced process as such. Returns their pods.
    pub(super) fn unhear_late_writes(&mut self) -> Vec<Uid> {
        let writes = std::mem::take(&mut self.process.late.writes);
        for (uid, position) in &writes {
            self.history.unhear(*uid, *position);
        }
        writes.into_iter().map(|(uid, _)| uid).collect()
    }
}
