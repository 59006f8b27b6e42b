//! The Job cache of the Job controller, as far as its decisions about all Jobs show it.
//!
//! A process has one cache for all its Jobs, which advances in etcd's order (SY-10). A decision about one Job therefore
//! shows how far the cache has come for every other Job. A sync reads the cache when it begins, so a decision rests on at
//! least what the cache had shown before its sync. Only the Job controller has one process at a time; other managers may
//! share their Jobs among several.

use std::collections::VecDeque;

use jobcheck_spec::Uid;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::actor::ActorId;
use super::delivery::Sender;
use super::event::Event;
use super::router::Judge;
use super::settings::{Settings, TOO_MANY_REQUESTS};
use super::track::Track;

/// Time by which clocks may differ, in microseconds.
const SECOND: i64 = 1_000_000;
/// Number of observations that are kept for one process, each at least a second later than the one before.
const KEPT: usize = 4096;

/// How far a Job cache has come, at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// It contains each change up to this `resourceVersion`.
    pub version: u64,
    /// It contains each change that was answered by this time, in microseconds.
    pub answered: i64,
}

impl Extent {
    /// The extent of a cache with a version of a Job that the API server received at this time.
    #[must_use]
    pub fn with(version: u64, received: i64) -> Extent {
        Extent { version, answered: received.saturating_sub(SECOND) }
    }

    /// The extent of a cache with both.
    #[must_use]
    pub fn and(self, other: Extent) -> Extent {
        Extent { version: self.version.max(other.version), answered: self.answered.max(other.answered) }
    }
}

/// The extent of a cache no later than at this time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The time.
    pub at: i64,
    /// The extent.
    pub extent: Extent,
}

/// The responses to the last two status writes of a manager, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct StatusWrites {
    last: Option<i64>,
    before: Option<i64>,
}

impl StatusWrites {
    /// Adds one.
    pub fn add(&mut self, done: i64) {
        if self.last != Some(done) {
            (self.before, self.last) = (self.last, Some(done));
        }
    }

    /// The current sync began no earlier than that. A sync writes the status twice at most before the next one begins, and no
    /// request that needs a view follows both of its writes.
    #[must_use]
    pub fn sync_began(self) -> Option<i64> {
        self.before
    }
}

/// The Job caches of all senders.
#[derive(Debug, Default)]
pub struct JobCaches(FxHashMap<ActorId, VecDeque<Shown>>);

impl JobCaches {
    /// Notes what a request of this sender shows.
    pub fn note(&mut self, actor: ActorId, shown: Shown) {
        let all = self.0.entry(actor).or_default();
        let Some(last) = all.back() else { return all.push_back(shown) };
        let extent = last.extent.and(shown.extent);
        if extent == last.extent || shown.at < last.at {
            return;
        }
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(Shown { extent, ..shown });
    }

    /// The extent that a sync of this sender has read if it began at this time, or later. The requests that show it were
    /// received a second earlier at least.
    fn before(&self, actor: ActorId, began: i64) -> Option<Shown> {
        let all = self.0.get(&actor)?;
        let later = all.partition_point(|shown| shown.at.saturating_add(SECOND) <= began);
        later.checked_sub(1).map(|last| all[last])
    }
}

impl Settings {
    /// The extent of the sender's cache when the sync of this request began. `known`: the sync began no earlier than
    /// that.
    #[must_use]
    pub fn cache_at_sync(&self, event: &Event, known: Option<i64>) -> Option<Shown> {
        if event.is_posthumous() || event.may_be_late() || event.arrival.late {
            return None;
        }
        let (actor, when) = event.actor.zip(event.when)?;
        let began = self.began_after_silence(actor, when.received).max(known)?;
        self.job_caches.before(actor, began)
    }
}

impl Judge {
    /// Notes what the current request of the Job controller shows of its cache.
    pub(super) fn note_cache(&mut self) {
        let Some((job, actor)) = self.reading.take() else { return };
        let shown = self.tracks.get_mut(&job).and_then(|track| track.process.shown.take());
        if let Some(shown) = shown {
            self.settings.job_caches.note(actor, shown);
        }
    }

    /// Finds a pod that the Job controller creates although its cache no longer contains the Job.
    pub(super) fn find_late_birth(&mut self, event: &Event, job: Uid) {
        let shown = self.settings.cache_at_sync(event, None);
        if shown.is_some_and(|shown| self.departures.is_in(job, shown.extent)) {
            self.totals.doubt("a Job controller creates pods of a Job that its cache no longer contains");
        }
    }
}

impl Track {
    /// Limits the views of a request of the Job controller to those that its cache had at the beginning of the sync.
    pub(super) fn reads_cache(&mut self, event: &Event, settings: &Settings) {
        if !self.is_built_in() || event.delivery.observer.is_some() {
            return;
        }
        let shown = settings.cache_at_sync(event, self.process.status_writes.sync_began());
        self.process.bounds.versions = shown.map(|shown| self.process.frontier.versions_shown(shown));
        // Within its sync, a client may send such a write again.
        let is_sent_again = event.code == TOO_MANY_REQUESTS || event.has_server_error();
        if let Some(when) = event.when.filter(|_| event.is_status && !is_sent_again) {
            self.process.status_writes.add(when.done);
        }
    }

    /// Notes what an explained write shows of the cache, unless a request whose fate is not known may explain it as well.
    pub(super) fn shows_cache(&mut self, event: &Event) {
        let is_certain = self.process.uncertain.is_empty() && self.process.setbacks.lost_creations == 0;
        let is_alive = event.delivery.sender == Sender::Alive && !self.process.late.possible;
        if let Some(when) = event.when.filter(|_| is_certain && is_alive) {
            let extent = self.process.frontier.extent();
            self.process.shown = extent.map(|extent| Shown { at: when.received, extent });
        }
    }

    /// Notes that the sender knows that the Job is gone.
    pub(super) fn shows_end(&mut self, event: &Event) {
        let extent = self.process.frontier.extent_at_end().filter(|_| event.delivery.sender == Sender::Alive);
        if let (Some(when), Some(extent)) = (event.when, extent) {
            self.process.shown = Some(Shown { at: when.received, extent });
        }
    }
}
