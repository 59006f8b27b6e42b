//! Bounds for views from the `observed` lines of a native trace.
//!
//! A line with a Job begins a sync, which reads the caches exactly as stated. A line without a Job gives a lower bound
//! for a cache. In both cases the process also knows its own writes.

use std::collections::VecDeque;

use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Observed, Resource};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::actor::Actor;
use super::event::Event;
use super::history::Position;
use super::mishaps::is_called;
use super::own_write::OwnWrite;
use super::sequence::WINDOW_MICROS;
use super::settings::Settings;
use super::track::Track;

/// Time for which a line is kept, in microseconds, behind its successor and behind the last judged event. A request
/// that was received earlier and is judged later lies in the reorder window, however long the trace is silent.
const KEPT: i64 = 2 * WINDOW_MICROS;
/// Maximum number of lines for one cache.
const LINES: usize = 1 << 16;
/// Number of caches from which on those without recent lines are dropped.
const CACHES: usize = 1024;

/// Number of the latest pod versions that are kept.
const VERSIONS: usize = 4096;

/// The name of the Job controller in the lines.
const JOB_CONTROLLER: &str = "job-controller";

/// A controller with `observed` lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observer(pub(super) u16);

/// The lines so far.
#[derive(Debug, Default)]
pub struct Observations {
    /// The names of the controllers.
    names: Vec<String>,
    caches: FxHashMap<Cache, VecDeque<Line>>,
    /// Number of caches after the last clean-up.
    left: usize,
    /// End of the last judged event, in microseconds.
    judged: i64,
    /// The latest versions of objects in a native trace.
    shown: VecDeque<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cache {
    observer: Observer,
    resource: Resource,
    /// `NAMESPACE/NAME` of the Job whose syncs read the cache.
    job: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    at: i64,
    version: u64,
}

/// The progress of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The last `resourceVersion` in the cache.
    pub version: u64,
    /// The time at which a sync that reads the cache began, in microseconds. Without a sync, the cache may contain
    /// more.
    pub sync: Option<i64>,
}

/// The progress of both caches at a decision about a Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// The Job cache.
    pub jobs: Option<Seen>,
    /// The Pod cache.
    pub pods: Option<Seen>,
}

impl Sight {
    /// The beginning of the sync, if the trace shows it.
    #[must_use]
    pub fn sync(self) -> Option<i64> {
        self.jobs.and_then(|seen| seen.sync).max(self.pods.and_then(|seen| seen.sync))
    }

    /// The earliest second in which the sync began, if the trace shows it for both caches.
    fn began(self) -> Option<Time> {
        let (jobs, pods) = (self.jobs?.sync?, self.pods?.sync?);
        Some(Time(jobs.min(pods).div_euclid(1_000_000)))
    }
}

impl Observations {
    /// The last `resourceVersion` of a resource in any cache of the Job controller.
    #[must_use]
    pub fn reached(&self, resource: Resource) -> u64 {
        let is_meant = |cache: &Cache| {
            let name = self.names.get(usize::from(cache.observer.0));
            cache.resource == resource && name.is_some_and(|name| is_called(JOB_CONTROLLER, name, name))
        };
        let of_it = self.caches.iter().filter(|(cache, _)| is_meant(cache));
        of_it.filter_map(|(_, lines)| lines.back()).map(|line| line.version).max().unwrap_or(0)
    }

    /// Adds a line. A line without a time gives no bound.
    pub fn take(&mut self, observed: &Observed) {
        let Some(at) = observed.at else { return };
        let Some(observer) = self.named(&observed.actor) else { return };
        let cache = Cache { observer, resource: observed.resource, job: observed.job.clone() };
        let lines = self.caches.entry(cache).or_default();
        lines.push_back(Line { at, version: observed.version });
        let old = at.min(self.judged) - KEPT;
        while lines.len() > LINES || lines.get(1).is_some_and(|next| next.at < old) {
            lines.pop_front();
        }
        if self.caches.len() > CACHES.max(2 * self.left) {
            self.caches.retain(|_, lines| lines.back().is_some_and(|last| last.at >= old));
            self.left = self.caches.len();
        }
    }

    /// Notes that events up to this time were judged, except for the reorder window.
    pub fn judged(&mut self, done: i64) {
        self.judged = self.judged.max(done);
    }

    fn named(&mut self, actor: &str) -> Option<Observer> {
        let number = self.names.iter().position(|name| name == actor).unwrap_or(self.names.len());
        let observer = u16::try_from(number).ok().map(Observer)?;
        if number == self.names.len() {
            self.names.push(actor.to_owned());
        }
        Some(observer)
    }

    /// Notes a version of an object.
    pub fn shows(&mut self, version: u64) {
        if self.shown.len() == VERSIONS {
            self.shown.pop_front();
        }
        self.shown.push_back(version);
    }

    /// Returns `true` if an object had this version, as far as versions are kept.
    fn has_shown(&self, version: u64) -> bool {
        let forgotten =
            self.shown.len() == VERSIONS && self.shown.front().is_some_and(|first| version < *first);
        version == 0 || forgotten || self.shown.contains(&version)
    }

    /// Returns `true` if no line gives a bound.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The controller that this client is.
    #[must_use]
    pub fn observer(&self, client: &Actor) -> Option<Observer> {
        let number = self.names.iter().position(|name| is_called(name, &client.user, &client.agent))?;
        u16::try_from(number).ok().map(Observer)
    }

    /// The progress of the caches of a controller when its request for a Job was received.
    #[must_use]
    pub fn sight(&self, observer: Observer, namespace: &str, name: &str, received: i64) -> Sight {
        let job = format!("{namespace}/{name}");
        let latest = |resource: Resource, job: Option<String>| {
            let lines = self.caches.get(&Cache { observer, resource, job })?;
            lines.iter().rev().find(|line| line.at <= received).copied()
        };
        let seen = |resource: Resource| {
            let of_sync = latest(resource, Some(job.clone()));
            let of_sync = of_sync.map(|line| Seen { version: line.version, sync: Some(line.at) });
            of_sync.or_else(|| latest(resource, None).map(|line| Seen { version: line.version, sync: None }))
        };
        Sight { jobs: seen(Resource::Jobs), pods: seen(Resource::Pods) }
    }
}

/// A range of version numbers or positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The earliest.
    pub from: u64,
    /// The latest, if there is an upper bound.
    pub to: Option<u64>,
}

impl Reach {
    /// The range of a cache that had come this far. Position `start + n` lies behind the first `n` of these changes,
    /// with their versions. A change without a version may or may not be included.
    pub fn behind(
        changes: impl DoubleEndedIterator<Item = Option<u64>> + Clone,
        start: u64,
        seen: Seen,
    ) -> Reach {
        let numbered = || (start..).zip(changes.clone());
        let shown = |(position, version): (u64, Option<u64>)| version.map(|version| (position, version));
        let mut known = numbered().filter_map(shown);
        let from = known.clone().filter(|(_, version)| *version <= seen.version).map(|(at, _)| at + 1).last();
        let to = known.find(|(_, version)| *version > seen.version).map(|(at, _)| at);
        let end = start + changes.count() as u64;
        let from = from.unwrap_or(start);
        Reach { from, to: seen.sync.map(|_| to.unwrap_or(end).max(from)) }
    }
}

/// The views that a trace allows; all of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Version numbers of the Job.
    pub versions: Option<Reach>,
    /// Positions in the history of the pods.
    pub positions: Option<Reach>,
    /// Lower bound for the beginning of the sync, if the trace states it.
    pub began: Option<Time>,
    /// Lower bound for the clock of a sync that begins after the last silence of its client.
    pub after_silence: Option<Time>,
    /// The write belongs to no sync, so it gives no bound for the current sync.
    pub beside: bool,
}

impl Bounds {
    /// The bounds for the orphan path of the same process, which may have seen more (FT-22).
    #[must_use]
    pub fn beside(self) -> Bounds {
        let open = |reach: Reach| Reach { to: None, ..reach };
        let (versions, positions) = (self.versions.map(open), self.positions.map(open));
        Bounds { versions, positions, beside: true, ..Bounds::default() }
    }

    /// The bounds for a write that may belong to an earlier sync.
    #[must_use]
    pub fn of_any_sync(self) -> Bounds {
        Bounds { began: None, beside: true, ..self }
    }

    /// Returns `true` if the write belongs to no sync, or the trace shows what its sync has read.
    #[must_use]
    pub fn tells_sync(self) -> bool {
        self.beside || [self.versions, self.positions].iter().flatten().any(|reach| reach.to.is_some())
    }

    /// Returns `true` if the trace shows which pods the sync has read.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.positions.is_some_and(|reach| reach.to.is_some())
    }
}

impl Track {
    /// The pod version that the current sync has read, if no pod was ever shown with it: a write is missing. Removals
    /// are excluded, since the trace shows them without a version.
    #[must_use]
    pub fn read_unseen(&self, settings: &Settings) -> Option<u64> {
        let read =
            self.process.sight.pods.filter(|seen| seen.sync.is_some() && self.process.bounds.is_read())?;
        let reach = self.process.bounds.positions?;
        let removal = reach.to.is_some_and(|to| to > reach.from);
        (!removal && !settings.observations.has_shown(read.version)).then_some(read.version)
    }

    /// Begins a sync if the trace shows one at this request of the manager. A terminated process belongs to another
    /// sync.
    pub fn enter_sync(&mut self, event: &Event, settings: &Settings) {
        let (Some(observer), Some(when)) = (event.delivery.observer, event.when) else { return };
        let sight = settings.observations.sight(observer, &self.id.namespace, &self.id.name, when.received);
        if event.is_posthumous() || sight == self.process.sight || sight.sync() < self.process.sight.sync() {
            return;
        }
        if sight.sync() > self.process.sight.sync() {
            self.sync_ends();
            self.process.frontier.sync_begins();
            self.process.forget_refusals();
        }
        self.process.sight = sight;
        self.process.bounds = Bounds {
            versions: sight.jobs.map(|seen| self.process.frontier.reach(seen)),
            positions: sight.pods.map(|seen| self.history.reach(seen)),
            began: sight.began(),
            ..Bounds::default()
        };
    }

    /// Begins a sync of which the trace shows nothing, if another process has sent this status write. The trace shows the caches
    /// of one process alone, with all its requests.
    pub fn enter_sync_of_another(&mut self, event: &Event, settings: &Settings) {
        if event.actor.is_some() || settings.observations.is_empty() {
            return;
        }
        self.sync_ends();
        self.process.frontier.sync_begins();
        self.process.forget_refusals();
        self.process.sight = Sight::default();
        self.process.bounds = Bounds::default();
    }

    /// The position in the pods' history that the sender's sync had read; `None` if the trace does not show it, or it
    /// was dropped.
    #[must_use]
    pub fn reach_of_sender(&self, event: &Event, settings: &Settings) -> Option<Position> {
        let (observer, when) = event.delivery.observer.zip(event.when)?;
        let sight = settings.observations.sight(observer, &self.id.namespace, &self.id.name, when.received);
        let seen = sight
            .pods
            .filter(|seen| seen.sync.is_some() && Some(seen.version) >= self.history.dropped_version())?;
        Some(self.history.reach(seen).from)
    }

    /// Returns `true` if the trace shows that the current sync began after the deletion of the Job.
    #[must_use]
    pub fn began_after_deletion(&self) -> bool {
        let began = self.process.sight.sync();
        began.zip(self.times.deleting_since).is_some_and(|(began, since)| since < began)
    }

    /// Notes a write of the manager to a pod that changed nothing, if the trace shows what the sync had read. Otherwise
    /// a view may contain the effect in any case.
    pub fn acknowledges(&mut self, uid: Uid, write: OwnWrite) {
        if self.process.sight.sync().is_some() {
            self.history.acknowledge(uid, write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: i64, job: Option<&str>, version: u64) -> Observed {
        let job = job.map(str::to_owned);
        Observed { at: Some(at), actor: "job-controller".to_owned(), job, resource: Resource::Pods, version }
    }

    #[test]
    fn a_request_rests_on_the_latest_line_before_it() {
        let mut observations = Observations::default();
        for (at, job, version) in
            [(1, None, 5), (3, Some("n/a"), 7), (6, Some("n/a"), 9), (6, Some("n/b"), 8)]
        {
            observations.take(&line(at, job, version));
        }
        let seen = |name: &str, received: i64| {
            observations.sight(Observer(0), "n", name, received).pods.map(|seen| (seen.version, seen.sync))
        };
        assert_eq!(seen("a", 0), None);
        assert_eq!(seen("a", 2), Some((5, None)));
        assert_eq!(seen("a", 5), Some((7, Some(3))));
        assert_eq!(seen("a", 6), Some((9, Some(6))));
        assert_eq!(seen("b", 7), Some((8, Some(6))));
        assert_eq!(seen("c", 7), Some((5, None)));
    }

    #[test]
    fn lines_are_forgotten_once_no_request_can_rest_on_them() {
        let mut observations = Observations::default();
        for at in 0..10 {
            observations.take(&line(at * KEPT, Some("n/a"), 1));
        }
        // Nothing was judged yet, so a request may rest on any of them.
        assert!(observations.caches.values().all(|lines| lines.len() == 10));
        for at in 10..20 {
            observations.judged(at * KEPT);
            observations.take(&line(at * KEPT, Some("n/a"), 1));
        }
        assert!(observations.caches.values().all(|lines| lines.len() <= 3));
        for number in 0..10 * CACHES {
            let at = 20 * KEPT + i64::try_from(number).unwrap() * KEPT;
            observations.judged(at);
            observations.take(&line(at, Some(&format!("n/{number}")), 1));
        }
        assert!(observations.caches.len() <= CACHES + 1);
    }

    #[test]
    fn a_cache_stands_behind_what_it_has_shown_and_before_the_rest() {
        let changes = [Some(3), None, Some(5), Some(8), None];
        let reach = |version: u64, sync: Option<i64>| {
            let reach = Reach::behind(changes.into_iter(), 10, Seen { version, sync });
            (reach.from, reach.to)
        };
        assert_eq!(reach(2, Some(0)), (10, Some(10)));
        assert_eq!(reach(3, Some(0)), (11, Some(12)));
        assert_eq!(reach(5, Some(0)), (13, Some(13)));
        assert_eq!(reach(7, Some(0)), (13, Some(13)));
        assert_eq!(reach(8, Some(0)), (14, Some(15)));
        assert_eq!(reach(5, None), (13, None));
    }
}
