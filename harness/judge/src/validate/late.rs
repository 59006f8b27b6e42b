//! Requests whose sender was replaced while they were in flight (SY-01; `docs/reference/judging.md`, *In the
//! explorer*).
//!
//! A log shows such a replacement only by times. The actor was silent for a second or more, and then sent other
//! requests before this one was answered.

use std::fmt::Display;

use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Findings, Time, Uid};

use super::event::Event;
use super::frontier::{Explained, Versions};
use super::history::Position;
use super::own_write::OwnWrite;
use super::setbacks::RefusedWrite;
use super::settings::Settings;
use super::track::Track;

/// Possible requests of a replaced process.
#[derive(Debug, Default)]
pub struct LateRequests {
    /// There may have been one since the last explained status write. Its sender may have seen more than the successor.
    pub possible: bool,
    /// The last event that is treated as one.
    last: Option<u64>,
    /// Writes to pods that may be such requests, with their positions.
    writes: Vec<(Uid, Position)>,
}

impl LateRequests {
    /// Forgets them after a status write that a view explains, since its process knows all the writes that it rests on.
    pub fn settle(&mut self) {
        self.possible = false;
        self.writes.clear();
    }
}

impl Track {
    /// The write, if the manager knows about it without its caches.
    #[must_use]
    pub fn heard(&mut self, event: &Event, uid: Uid, write: OwnWrite) -> Option<OwnWrite> {
        if event.overlapped {
            self.late.writes.push((uid, self.history.end()));
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
        if self.unheard(event) && !event.posthumous {
            self.pod_write_refused(RefusedWrite::Unheard);
        }
    }

    /// Returns `true` if the current process does not know about this request.
    #[must_use]
    pub fn unheard(&self, event: &Event) -> bool {
        event.unheard || self.late.last == Some(event.order)
    }

    /// SY-01: returns `true`, with a warning, if the sender may have been replaced.
    pub(super) fn is_late(&mut self, event: &Event, write: &dyn Display) -> bool {
        if event.overlapped {
            self.late.last = Some(event.order);
            self.warn_of_late_request(event, write);
        }
        event.overlapped
    }

    /// SY-01: returns `true`, with a warning, if the write is explained once such earlier writes count as those of a
    /// replaced process.
    pub(super) fn explains_beside_late_requests(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &dyn Display,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        if self.late.writes.is_empty() {
            return false;
        }
        for (uid, position) in std::mem::take(&mut self.late.writes) {
            self.history.unhear(uid, position);
            self.counted.made.remove(&uid);
        }
        match self.explain(settings, versions, latest, Interpretation::Ideal, judge) {
            Explained::Yes(mut findings) => {
                self.premises.absorb(&mut findings);
                self.warn_of_late_request(event, write);
                true
            }
            Explained::No(_) | Explained::Capped => false,
        }
    }

    fn warn_of_late_request(&mut self, event: &Event, write: &dyn Display) {
        let advice = format!(
            "SY-01: {write}: only a request whose sender was replaced in flight explains it, and the only sign of a \
             replacement is a silence of a second or more"
        );
        self.warn(event, advice);
    }
}
