//! The caches of the Job controller, as far as its decisions about all Jobs show them.
//!
//! A process has one cache of Jobs and one of pods, which advance in etcd's order (SY-10). A decision about one Job therefore
//! shows how far they have come for every other Job. A sync reads them when it begins, so a decision rests on at
//! least what they had shown before its sync. Only the Job controller has one process at a time; other managers may
//! share their Jobs among several.

use std::collections::VecDeque;

use jobcheck_spec::view::Interpretation;
use jobcheck_spec::{Time, Uid};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::actor::ActorId;
use super::delivery::Sender;
use super::event::Event;
use super::explain::Question;
use super::frontier::Explained;
use super::router::Judge;
use super::settings::Settings;
use super::track::Track;
use super::verdict::Note;

/// Time by which clocks may differ, in microseconds.
const SECOND: i64 = 1_000_000;
/// Time in which a process takes in a list, object by object in any order, in microseconds.
const LIST: i64 = 5 * SECOND;
/// Time after the removal of a Job after which nobody takes it for existing, in microseconds.
const LONG: i64 = 120 * SECOND;
/// Number of observations that are kept for one cache.
const KEPT: usize = 4096;
/// Minimum time between two of them, in microseconds.
const BETWEEN: i64 = SECOND / 10;

/// The least extent of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// It contains each change up to this `resourceVersion`.
    pub version: u64,
    /// It contains each change that was answered by this time, in microseconds.
    pub answered: i64,
}

impl Extent {
    /// The extent of a cache with a version of an object that the API server received at this time.
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

impl Shown {
    /// Returns `true` if the cache contains a version that the API server received at this time. Versions may start again when
    /// etcd is restored.
    #[must_use]
    pub fn contains(self, version: u64, received: Option<i64>) -> bool {
        version <= self.extent.version && received.is_some_and(|received| received < self.at)
    }

    /// Returns `true` if a request that stored this version came behind it, so that both are of one counter. A trace may show several
    /// clusters.
    fn is_of_the_counter_of(self, request: &Event) -> bool {
        request.version.is_none_or(|version| version > self.extent.version)
    }
}

/// The extents of both caches, as a request shows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sighting {
    /// The cache of Jobs.
    jobs: Option<Shown>,
    /// The cache of pods.
    pods: Option<Shown>,
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

    /// The last one that was answered by this time.
    #[must_use]
    pub fn last_before(self, received: i64) -> Option<i64> {
        [self.last, self.before].into_iter().flatten().find(|done| *done <= received)
    }

    /// The current sync began no earlier than that. A sync writes the status twice at most before the next one begins, and no
    /// request that needs a view follows both of its writes.
    #[must_use]
    pub fn sync_began(self) -> Option<i64> {
        self.before
    }
}

/// The caches of all senders.
#[derive(Debug, Default)]
pub struct Caches {
    jobs: FxHashMap<ActorId, Progress>,
    pods: FxHashMap<ActorId, Progress>,
}

/// The extents of a cache, as the requests of its sender have shown them.
#[derive(Debug, Default)]
struct Progress(VecDeque<Shown>);

impl Caches {
    /// Notes what a request of this sender shows.
    fn note(&mut self, actor: ActorId, sighting: Sighting) {
        for (progress, shown) in [(&mut self.jobs, sighting.jobs), (&mut self.pods, sighting.pods)] {
            shown.into_iter().for_each(|shown| progress.entry(actor).or_default().note(shown));
        }
    }
}

impl Progress {
    fn note(&mut self, shown: Shown) {
        let Progress(all) = self;
        let Some(last) = all.back() else { return all.push_back(shown) };
        let extent = last.extent.and(shown.extent);
        if extent == last.extent || shown.at < last.at + BETWEEN {
            return;
        }
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(Shown { extent, ..shown });
    }

    /// The extent that a sync has read if it began at this time, or later.
    fn before(&self, began: i64) -> Option<Shown> {
        let later = self.0.partition_point(|shown| shown.at.saturating_add(LIST) <= began);
        later.checked_sub(1).map(|last| self.0[last])
    }
}

impl Settings {
    /// The extents of the sender's caches when the sync of this request began, which was no earlier than `began`.
    fn caches_at_sync(&self, event: &Event, began: Option<i64>) -> Sighting {
        let nothing = Sighting::default();
        if event.is_displaced() {
            return nothing;
        }
        let Some((actor, began)) = event.actor.zip(began) else { return nothing };
        let of = |progress: &FxHashMap<ActorId, Progress>| {
            progress.get(&actor)?.before(began).filter(|shown| shown.is_of_the_counter_of(event))
        };
        Sighting { jobs: of(&self.caches.jobs), pods: of(&self.caches.pods) }
    }
}

impl Judge {
    /// Notes what the current request of the Job controller shows of its caches.
    pub(super) fn note_caches(&mut self) {
        let Some((job, actor)) = self.reading.take() else { return };
        let sighting = self.tracks.get_mut(&job).map(|track| std::mem::take(&mut track.process.sighting));
        self.settings.caches.note(actor, sighting.unwrap_or_default());
    }

    /// Finds a pod that the Job controller creates although its cache no longer contains the Job.
    pub(super) fn find_late_birth(&mut self, event: &Event, job: Uid) {
        let shown = self.settings.caches_at_sync(event, self.settings.began_after_silence(event)).jobs;
        let is_read = shown.is_some_and(|shown| self.departures.is_in(job, shown.extent));
        if is_read || self.is_long_gone(job, event) {
            self.totals.doubt("a Job controller creates pods of a Job that its cache no longer contains");
        }
    }

    /// Returns `true` if a Job was gone long before a request. Its sender can have read a list that shows the Job only if its watch
    /// has hung since.
    pub(super) fn is_long_gone(&self, job: Uid, event: &Event) -> bool {
        let gone = self.departures.answered(job);
        gone.zip(event.when).is_some_and(|(gone, when)| when.received > gone.saturating_add(LONG))
    }
}

impl Track {
    /// Limits the views of a manager's request to those that its caches had, and its clock, when the sync began. Only the Job
    /// controller shares its caches among all Jobs.
    pub(super) fn reads_caches(&mut self, event: &Event, settings: &Settings, are_shared: bool) {
        if event.delivery.observer.is_some() {
            return;
        }
        let known = self.process.status_writes.sync_began().filter(|_| are_shared);
        if are_shared {
            self.limit_views(settings.caches_at_sync(event, known));
        }
        let matters = are_shared || self.has_deadline();
        let began = matters.then(|| settings.began_after_silence(event)).flatten();
        let is_later = are_shared && began > known;
        self.begins_after_silence(began, is_later.then(|| settings.caches_at_sync(event, began)));
        // Within its sync, a client may send such a write again.
        if let Some(when) = event.when.filter(|_| event.is_status && !event.may_be_sent_again()) {
            self.process.status_writes.add(when.done);
        }
    }

    /// Limits the clock, and the caches if they are known, to a sync that began no earlier than at this time. The trace may lack
    /// what has delayed the client, such as its requests in other namespaces.
    pub(super) fn begins_after_silence(&mut self, began: Option<i64>, caches: Option<Sighting>) {
        self.process.bounds.after_silence = None;
        let wider = self.process.bounds;
        if let Some(caches) = caches {
            self.limit_views(caches);
        }
        let began = began.filter(|_| self.has_deadline());
        self.process.bounds.after_silence = began.map(|micros| Time(micros.div_euclid(SECOND)));
        self.process.wider = (self.process.bounds != wider).then_some(wider);
    }

    /// Returns `true` if a version of the Job has a deadline. Nothing else depends on the clock.
    fn has_deadline(&self) -> bool {
        self.process.frontier.versions().any(|job| job.spec.active_deadline_seconds.is_some())
    }

    fn limit_views(&mut self, Sighting { jobs, pods }: Sighting) {
        self.process.bounds.versions = jobs.map(|shown| self.process.frontier.versions_shown(shown));
        self.process.bounds.positions = pods.map(|shown| self.history.shown(shown));
    }

    /// Searches a view that explains a write. If only a sync that began before the last silence of its client has such a view, the
    /// trace does not decide. The views that the write shows rest on nothing but certain bounds.
    pub(super) fn explain_by_any_sync(&mut self, question: &Question<'_>) -> Explained {
        let Some(wider) = self.process.wider.take() else {
            return self.explain(question, Interpretation::Ideal);
        };
        let frontier = self.process.frontier.clone();
        let after_silence = self.explain(question, Interpretation::Ideal);
        self.process.bounds = wider;
        self.process.frontier = frontier;
        let explained = self.explain(question, Interpretation::Ideal);
        if matches!((&after_silence, &explained), (Explained::No(_), Explained::Yes(_))) {
            let write = question.write;
            self.reserve(Note::on(
                question.event,
                format!(
                    "SY-10: {write}: only a sync that began before its client was idle, and was delayed for seconds, explains it. The \
                     trace does not show what has delayed it"
                ),
            ));
        }
        // A search that reached its limit found nothing against the view.
        match (after_silence, explained) {
            (Explained::Yes(findings), Explained::Capped) => Explained::Yes(findings),
            (_, explained) => explained,
        }
    }

    /// Notes what an explained write shows of the caches, unless a request with a server error may explain it as well.
    pub(super) fn shows_caches(&mut self, event: &Event) {
        let is_certain = self.process.uncertain.is_empty() && self.process.setbacks.lost_creations == 0;
        let is_alive = event.delivery.sender == Sender::Alive && !self.process.late.possible;
        if let Some(when) = event.when.filter(|_| is_certain && is_alive) {
            let shown = |extent| Shown { at: when.received, extent };
            let pods = self.history.extent_before(self.process.frontier.earliest());
            self.process.sighting =
                Sighting { jobs: self.process.frontier.extent().map(shown), pods: pods.map(shown) };
        }
    }

    /// Notes that the sender knows that the Job is gone.
    pub(super) fn shows_end(&mut self, event: &Event) {
        let extent = self.process.frontier.extent_at_end().filter(|_| event.delivery.sender == Sender::Alive);
        if let (Some(when), Some(extent)) = (event.when, extent) {
            self.process.sighting.jobs = Some(Shown { at: when.received, extent });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(at: i64, version: u64) -> Shown {
        Shown { at, extent: Extent::with(version, at) }
    }

    #[test]
    fn a_sync_has_read_what_was_shown_long_enough_before_it() {
        let mut progress = Progress::default();
        [(0, 5), (SECOND, 9), (2 * SECOND, 7)].into_iter().for_each(|(at, it)| progress.note(shown(at, it)));
        let version = |began: i64| progress.before(began).map(|it| it.extent.version);
        assert_eq!(version(LIST - 1), None);
        assert_eq!(version(LIST), Some(5));
        assert_eq!(version(LIST + SECOND), Some(9));
        // A cache never goes back.
        assert_eq!(version(LIST + 2 * SECOND), Some(9));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut progress = Progress::default();
        (0..3 * KEPT as i64).for_each(|it| progress.note(shown(it * SECOND, it.unsigned_abs())));
        assert_eq!(progress.0.len(), KEPT);
        progress.note(shown(3 * KEPT as i64 * SECOND - SECOND + 1, u64::MAX));
        assert_eq!(progress.0.len(), KEPT);
    }

    #[test]
    fn a_restored_etcd_counts_anew() {
        let shown = shown(100, 50);
        assert!(shown.contains(50, Some(99)) && !shown.contains(51, Some(99)));
        assert!(!shown.contains(40, Some(100)) && !shown.contains(40, None));
    }

    #[test]
    fn two_status_writes_show_the_beginning_of_a_sync() {
        let mut writes = StatusWrites::default();
        assert_eq!(writes.sync_began(), None);
        [3, 3, 5].into_iter().for_each(|done| writes.add(done));
        assert_eq!(writes.sync_began(), Some(3));
    }
}
