//! Requests of a process that was replaced while they were under way (SY-01, judging.md 6), where a log tells that by
//! the times of requests alone: the actor was silent for a second or more, and heard of again before the answer.

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

/// What is known of such requests.
#[derive(Debug, Default)]
pub struct LateRequests {
    /// Whether there may have been one since the last status write that a view explains. What its sender had seen, its
    /// successor need not have.
    pub possible: bool,
    /// The last event that is taken for one.
    last: Option<u64>,
    /// Writes to pods that may have been such requests, and where they stand.
    writes: Vec<(Uid, Position)>,
}

impl LateRequests {
    /// A view explains a status write: its process knows of all that it rests on.
    pub fn settle(&mut self) {
        self.possible = false;
        self.writes.clear();
    }
}

impl Track {
    /// What the manager knows of its write without its caches.
    #[must_use]
    pub fn heard(&mut self, event: &Event, uid: Uid, write: OwnWrite) -> Option<OwnWrite> {
        if event.overlapped {
            self.late.writes.push((uid, self.history.end()));
        }
        if !self.unheard(event) {
            return Some(write);
        }
        if matches!(write, OwnWrite::Delete | OwnWrite::Release) {
            self.misses_answer(event);
        }
        None
    }

    /// TC-08: who is not answered takes a write to a pod for one that may have failed.
    pub fn misses_answer(&mut self, event: &Event) {
        if self.unheard(event) && !event.posthumous {
            self.pod_write_refused(RefusedWrite::Unheard);
        }
    }

    /// Whether the process that works now does not know of this request.
    #[must_use]
    pub fn unheard(&self, event: &Event) -> bool {
        event.unheard || self.late.last == Some(event.order)
    }

    /// SY-01: no view of the process that works now explains the write, and its sender may have been another one.
    pub(super) fn is_late(&mut self, event: &Event, write: &dyn Display) -> bool {
        if event.overlapped {
            self.late.last = Some(event.order);
            self.warn_of_late_request(event, write);
        }
        event.overlapped
    }

    /// SY-01: requests before this one seemed to be its sender's, and may have been those of its predecessor.
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
            "SY-01: {write}: only a request of a process that was replaced while it was under way explains it, and \
             nothing but a silence of a second or more hints at one"
        );
        self.warnings.push((event.place, advice));
    }
}
