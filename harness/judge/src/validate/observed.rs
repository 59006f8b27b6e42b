//! What a native trace says that a controller had seen (`observed`), as bounds of its views.
//!
//! A line that names a Job begins a sync: the sync reads the caches as the line says, no older and no newer. A line
//! that names none says how far a cache had come at least. What the process wrote itself it knows in any case.

use std::collections::VecDeque;

use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Observed, Resource};
use rustc_hash::FxHashMap;

use super::actor::Actor;
use super::event::Event;
use super::history::Position;
use super::mishaps::is_called;
use super::own_write::OwnWrite;
use super::sequence::WINDOW_MICROS;
use super::setbacks::Refused;
use super::settings::Settings;
use super::track::Track;

/// How long a line is remembered, in microseconds, behind the one that follows it and behind what was judged last: a
/// request that was received before and is judged later lies in the reorder window, however long the trace is silent then.
const KEPT: i64 = 2 * WINDOW_MICROS;
/// So many lines of one cache are remembered at most.
const LINES: usize = 1 << 16;
/// So many caches are remembered before those are dropped of which nothing was said lately.
const CACHES: usize = 1024;

/// So many of the latest resourceVersions of pods are remembered.
const VERSIONS: usize = 4096;

/// How lines call the Job controller.
const JOB_CONTROLLER: &str = "job-controller";

/// A controller that lines are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observer(u16);

/// The lines so far.
#[derive(Debug, Default)]
pub struct Observations {
    /// The controllers, as the lines name them.
    names: Vec<String>,
    caches: FxHashMap<Cache, VecDeque<Line>>,
    /// How many caches were left when they were last gone through.
    left: usize,
    /// When what was judged last was done, in microseconds.
    judged: i64,
    /// The latest resourceVersions of objects that a native trace has shown.
    shown: VecDeque<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cache {
    observer: Observer,
    resource: Resource,
    /// `NAMESPACE/NAME` of the Job whose syncs read it.
    job: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    at: i64,
    version: u64,
}

/// What a cache had shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The last resourceVersion.
    pub version: u64,
    /// When the sync that reads it began, in microseconds; where none did, the cache may have shown more.
    pub sync: Option<i64>,
}

/// What a controller had seen when it decided something about a Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Of Jobs.
    pub jobs: Option<Seen>,
    /// Of pods.
    pub pods: Option<Seen>,
}

impl Sight {
    /// When the sync began, as far as the trace says so.
    #[must_use]
    pub fn sync(self) -> Option<i64> {
        self.jobs.and_then(|seen| seen.sync).max(self.pods.and_then(|seen| seen.sync))
    }

    /// The earliest second in which it began, where both caches say so.
    fn began(self) -> Option<Time> {
        let (jobs, pods) = (self.jobs?.sync?, self.pods?.sync?);
        Some(Time(jobs.min(pods).div_euclid(1_000_000)))
    }
}

impl Observations {
    /// The last resourceVersion that any cache of the Job controller is said to have had of a resource.
    #[must_use]
    pub fn reached(&self, resource: Resource) -> u64 {
        let is_meant = |cache: &Cache| {
            let name = self.names.get(usize::from(cache.observer.0));
            cache.resource == resource && name.is_some_and(|name| is_called(JOB_CONTROLLER, name, name))
        };
        let of_it = self.caches.iter().filter(|(cache, _)| is_meant(cache));
        of_it.filter_map(|(_, lines)| lines.back()).map(|line| line.version).max().unwrap_or(0)
    }

    /// The trace says what a cache had shown. One that does not say when bounds nothing.
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

    /// What was done then has been judged, and so has what was done before, but for a reorder window.
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

    /// An object was shown with this resourceVersion.
    pub fn shows(&mut self, version: u64) {
        if self.shown.len() == VERSIONS {
            self.shown.pop_front();
        }
        self.shown.push_back(version);
    }

    /// Whether an object had this resourceVersion, as far back as is remembered.
    fn has_shown(&self, version: u64) -> bool {
        let forgotten =
            self.shown.len() == VERSIONS && self.shown.front().is_some_and(|first| version < *first);
        version == 0 || forgotten || self.shown.contains(&version)
    }

    /// Whether no line bounds anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Which of the controllers this client is.
    #[must_use]
    pub fn observer(&self, client: &Actor) -> Option<Observer> {
        let number = self.names.iter().position(|name| is_called(name, &client.user, &client.agent))?;
        u16::try_from(number).ok().map(Observer)
    }

    /// What a controller had seen when a request was received that it sent about a Job.
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

/// Numbers of versions, or positions, of which a view may have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The earliest.
    pub from: u64,
    /// The latest, where the trace tells.
    pub to: Option<u64>,
}

impl Reach {
    /// Where a cache stands that has shown everything up to a resourceVersion. Position `start + n` stands behind the
    /// first `n` of these changes, which came with these resourceVersions; where one is not shown, either may be.
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

/// The views that a trace leaves possible: all where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Numbers of versions of the Job.
    pub versions: Option<Reach>,
    /// Positions in the pods' history.
    pub positions: Option<Reach>,
    /// When the sync began at the earliest.
    pub began: Option<Time>,
    /// Whether the write is none of a sync: what it shows of the caches, a sync under way need not have seen.
    pub beside: bool,
}

impl Bounds {
    /// What bounds the orphan path of the same process, which may have seen more (FT-22).
    #[must_use]
    pub fn beside(self) -> Bounds {
        let open = |reach: Reach| Reach { to: None, ..reach };
        let (versions, positions) = (self.versions.map(open), self.positions.map(open));
        Bounds { versions, positions, began: None, beside: true }
    }

    /// The same for a write that may be of an earlier sync.
    #[must_use]
    pub fn of_any_sync(self) -> Bounds {
        Bounds { began: None, beside: true, ..self }
    }

    /// Whether the write is none of a sync, or the trace says what its sync has read.
    #[must_use]
    pub fn tells_sync(self) -> bool {
        self.beside || [self.versions, self.positions].iter().flatten().any(|reach| reach.to.is_some())
    }

    /// Whether the trace says which pods the sync has read.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.positions.is_some_and(|reach| reach.to.is_some())
    }
}

impl Track {
    /// The version that the sync of its manager had read of the pods, if no pod was ever shown with it: a write is
    /// missing, unless it is that of a removal, which is shown without.
    #[must_use]
    pub fn read_unseen(&self, settings: &Settings) -> Option<u64> {
        let read = self.sight.pods.filter(|seen| seen.sync.is_some() && self.bounds.is_read())?;
        let reach = self.bounds.positions?;
        let removal = reach.to.is_some_and(|to| to > reach.from);
        (!removal && !settings.observations.has_shown(read.version)).then_some(read.version)
    }

    /// Its manager sent this: what it has seen may be told, and a sync may have begun. Who is dead was in another one.
    pub fn enter_sync(&mut self, event: &Event, settings: &Settings) {
        let (Some(observer), Some(when)) = (event.observer, event.when) else { return };
        let sight = settings.observations.sight(observer, &self.namespace, &self.name, when.received);
        if event.posthumous || sight == self.sight || sight.sync() < self.sight.sync() {
            return;
        }
        if sight.sync() > self.sight.sync() {
            self.sync_ends();
            self.frontier.sync_begins();
            (self.excused_writes, self.refused) = (0, Refused::default());
        }
        self.sight = sight;
        self.bounds = Bounds {
            versions: sight.jobs.map(|seen| self.frontier.reach(seen)),
            positions: sight.pods.map(|seen| self.history.reach(seen)),
            began: sight.began(),
            beside: false,
        };
    }

    /// How far the pods were that the sync had read which sent this; none where the trace does not tell, or where that is
    /// forgotten by now.
    #[must_use]
    pub fn reach_of_sender(&self, event: &Event, settings: &Settings) -> Option<Position> {
        let (observer, when) = event.observer.zip(event.when)?;
        let sight = settings.observations.sight(observer, &self.namespace, &self.name, when.received);
        let seen =
            sight.pods.filter(|seen| seen.sync.is_some() && Some(seen.version) >= self.history.forgotten)?;
        Some(self.history.reach(seen).from)
    }

    /// Whether the trace says that the sync under way began when the Job was being deleted already.
    #[must_use]
    pub fn began_after_deletion(&self) -> bool {
        let began = self.sight.sync();
        began.zip(self.deleting_since).is_some_and(|(began, since)| since < began)
    }

    /// A write of its manager to a pod changed nothing, and the answer says why. Where the trace does not tell what was
    /// read, a view may be as new as that in any case.
    pub fn acknowledges(&mut self, uid: Uid, write: OwnWrite) {
        if self.sight.sync().is_some() {
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
        // Nothing was judged yet: a request may rest on any of them.
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
