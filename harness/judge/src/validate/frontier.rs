//! The views that may explain a write (`docs/reference/judging.md`, *View and truth*).
//!
//! A view is a version of the Job and a position in the history of its pods. Overlapping requests have no order, so a
//! view may also contain entries behind its position. Views only advance. It is therefore enough to keep the earliest
//! explanations so far: a small set of points of which none precedes another.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Job;
use jobcheck_spec::time::Clocks;
use jobcheck_spec::view::{Backoff, Interpretation, View};
use jobcheck_spec::{Binds, Findings, Time, Uid};
use serde::{Deserialize, Serialize};

use super::backoff::BackoffRecord;
use super::clock::{self, Clock, Written, not_before};
use super::history::{History, Position};
use super::job_version::Version;
use super::observed::{Bounds, Reach, Seen};
use super::point::{Point, earliest};
use super::verdict::ViewRefusal;

/// Maximum number of evaluations for one write. Beyond it the verdict is inconclusive.
pub const VIEW_CAP: usize = 100_000;
/// Number of reorderable entries whose combinations are all tried. For more entries: each prefix.
const COMBINED: usize = 4;

/// The earliest views that explain all writes so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Frontier {
    /// The Job versions that a view may contain; the last one is stored.
    versions: VecDeque<Version>,
    /// The manager writes the status without a `resourceVersion`, so a write gives no lower bound for its decision.
    writes_blindly: bool,
    /// The time that the manager's clock had shown by an earlier write.
    clock: Option<Time>,
    /// Number of the last version that the process wrote itself.
    own: Option<u64>,
    /// The Job is gone; the last version is its end.
    is_over: bool,
    /// A request was examined for knowledge about this end.
    end_is_known: bool,
    /// The value of `own` when the current sync began, if the trace shows what the sync had read.
    own_before: Option<u64>,
    /// Number of the first kept version.
    start: u64,
    /// The earliest points.
    minimal: Vec<Point>,
}

/// The facts that all candidate views of a write share.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Upper bound for the time of the write.
    pub latest: Option<jobcheck_spec::Time>,
    /// A deletion may have failed in this sync.
    pub deletes_failed: DeletesFailed,
    /// A creation was refused because the namespace is being deleted.
    pub namespace_goes: bool,
    /// Number of pods whose finalizer the sync has removed without recording them.
    pub finalizers_removed: usize,
    /// The backoff record before the sync.
    pub backoff: &'a BackoffRecord,
    /// The pods whose finalizer the sync has removed.
    pub let_go: &'a [Uid],
    /// The constants of the controller.
    pub constants: &'a Constants,
    /// The interpretation of the caches: the ideal one, or a known way to misread them.
    pub reading: Interpretation,
    /// The feature gates of the process.
    pub gates: Gates,
    /// The views that the trace itself allows.
    pub bounds: Bounds,
    /// The search ends as at its limit once this is true.
    pub stop: &'a AtomicBool,
}

/// The deletion of an active pod may have failed (TC-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletesFailed {
    /// The trace shows refusals, and there was one.
    Yes,
    /// The trace shows refusals, and there was none.
    No,
    /// The trace shows no refusals; one is assumed if a pod stays active.
    Unknown,
}

/// The Job versions that a decision may rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// The stored version: a status write contains its `resourceVersion` (SY-04).
    Stored,
    /// Any version that the Job cache may contain.
    Any,
}

/// The result of a search.
#[derive(Debug)]
pub enum Explained {
    /// A view explains the write; the findings of its guards.
    Yes(Findings),
    /// No view explains the write; the closest ones come first.
    No(Vec<ViewRefusal>),
    /// The search reached its limit.
    Capped,
}

impl Frontier {
    /// Makes the stored Job the only version that a view may contain.
    pub fn restart(&mut self, job: Arc<Job>, number: Option<u64>, position: Position) {
        self.start += self.versions.len() as u64;
        self.versions.clear();
        self.versions.push_back(Version::first(job, number));
        (self.own, self.own_before, self.clock, self.is_over) = (None, None, None, false);
        self.minimal = vec![Point::new(self.start, position)];
    }

    /// Changes the Jobs of the versions.
    pub fn replace_jobs(&mut self, replace: impl FnMut(&mut Arc<Job>)) {
        self.versions.iter_mut().map(|version| &mut version.job).for_each(replace);
    }

    /// Adds a version of the Job. All later views contain a version that the process wrote itself. If the trace shows
    /// what the current sync had read, the rest of the sync is excepted.
    pub fn push(
        &mut self,
        job: Arc<Job>,
        (number, written): (Option<u64>, Written),
        own: bool,
        is_read: bool,
    ) {
        self.versions.push_back(Version::behind(self.versions.back(), job, (number, written), own));
        if own {
            self.own = Some(self.last());
            if !is_read {
                self.show_own();
            }
        }
        self.forget();
    }

    /// Notes that the manager wrote the status without a `resourceVersion`.
    pub fn is_written_blindly(&mut self) {
        self.writes_blindly = true;
    }

    /// The deadline, if all versions that a view may contain have the same one, and the manager's clock has not shown
    /// it yet.
    #[must_use]
    pub fn unseen_deadline(&self) -> Option<Time> {
        let mut deadlines = self.versions.iter().map(|version| clock::deadline(&version.job));
        let first = deadlines.next()??;
        let is_seen = self.clock.is_some_and(|clock| clock >= first);
        (!is_seen && deadlines.all(|other| other == Some(first))).then_some(first)
    }

    /// Notes a time that the manager's clock has shown.
    pub fn clock_shows(&mut self, time: Time) {
        self.clock = self.clock.max(Some(time));
    }

    /// Forgets the clock of a replaced process.
    pub fn forget_clock(&mut self) {
        self.clock = None;
    }

    /// Begins a sync, which knows all earlier writes of its process.
    pub fn sync_begins(&mut self) {
        self.own_before = self.own;
        self.show_own();
        self.forget();
    }

    /// Removes views that lack a write of the process itself.
    fn show_own(&mut self) {
        let Some(own) = self.own else { return };
        let known = |point: Point| Point { version: point.version.max(own), ..point };
        self.minimal = earliest(std::mem::take(&mut self.minimal).into_iter().map(known));
    }

    /// The Job versions that a view may contain.
    pub fn versions(&self) -> impl Iterator<Item = &Job> {
        self.versions.iter().map(|version| &*version.job)
    }

    /// The earliest position of a view.
    #[must_use]
    pub fn earliest(&self) -> Position {
        self.minimal.iter().map(|point| point.position).min().unwrap_or(0)
    }

    /// The versions in a cache that had come this far. The first version is not a change, so there is always one.
    #[must_use]
    pub fn reach(&self, seen: Seen) -> Reach {
        let changes = self.versions.iter().skip(1).map(|version| version.number);
        Reach::behind(changes, self.start, seen)
    }

    /// The numbers of the versions that a view may contain.
    fn versions_in(&self, versions: Versions, bounds: Bounds) -> RangeInclusive<u64> {
        let last = self.last();
        if versions == Versions::Stored {
            return last..=last;
        }
        let Some(reach) = bounds.versions else { return self.start..=last };
        // A process knows its own writes without its cache, but the rest of the same sync may still rest on what it had
        // read.
        let own = self.own.unwrap_or(self.start);
        let known = if reach.to.is_some() { self.own_before.unwrap_or(self.start) } else { own };
        let to = reach.to.unwrap_or(last).max(own).clamp(self.start, last);
        reach.from.max(known).clamp(self.start, to)..=to
    }

    /// The positions that a view of this version may have; `None` if an earlier write excludes the version.
    fn positions_in(
        &self,
        version: u64,
        bounds: Bounds,
        history: &History,
    ) -> Option<RangeInclusive<Position>> {
        let (start, end) = (history.start(), history.end());
        let least = match bounds.versions {
            Some(Reach { to: Some(_), .. }) => self.lower_bound(version).or(Some(self.earliest())),
            _ => self.lower_bound(version),
        };
        match bounds.positions {
            None => least.map(|least| least..=end),
            Some(Reach { from, to: None }) => least.map(|least| least.max(from)..=end),
            Some(Reach { from, to: Some(to) }) => {
                let to = to.clamp(start, end);
                Some(from.clamp(start, to)..=to)
            }
        }
    }

    fn last(&self) -> u64 {
        self.start + self.versions.len() as u64 - 1
    }

    fn forget(&mut self) {
        let first = self.minimal.iter().map(|point| point.version).min().unwrap_or(self.start);
        while self.start < first && self.versions.len() > 1 {
            self.versions.pop_front();
            self.start += 1;
        }
    }

    /// Searches the views that explain a write. On success only they and later views remain.
    pub fn explain(
        &mut self,
        history: &mut History,
        versions: Versions,
        setting: Setting<'_>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Explained {
        let mut search = Search {
            setting,
            judge,
            tried: 0,
            best: Vec::new(),
            nearest: None,
            end: history.end(),
            last: self.last(),
            read: None,
            shown: self.clock,
        };
        let mut found: Vec<Point> = Vec::new();
        // The trace shows what the sync has read, or any earlier view precedes this one.
        let is_read = setting.bounds.is_read();
        let follows = |point: &Point| is_read || self.minimal.iter().any(|it| it.precedes(point));
        let mut accepted = None;
        for version in self.versions_in(versions, setting.bounds) {
            let Some(positions) = self.positions_in(version, setting.bounds, history) else { continue };
            let (from, to) = positions.into_inner();
            let whole = found.iter().filter(|point| point.ahead.is_empty());
            let bound = whole.map(|point| point.position).min().unwrap_or(search.end + 1);
            let shown = &self.versions[(version - self.start) as usize];
            let job = setting.gates.read(&shown.job);
            search.read = shown.read.filter(|_| !self.writes_blindly);
            for position in from..bound.min(to + 1) {
                history.seek(position);
                for (point, findings) in search.try_position(history, &job, version, &follows) {
                    if !found.iter().any(|it| it.precedes(&point)) {
                        found.push(point);
                        accepted.get_or_insert(findings);
                    }
                }
                if found.contains(&Point::new(version, position)) {
                    break;
                }
                if search.tried > VIEW_CAP || setting.stop.load(Ordering::Relaxed) {
                    return Explained::Capped;
                }
            }
        }
        match accepted {
            Some(findings) => {
                if !setting.bounds.beside {
                    self.minimal = found;
                    self.forget();
                }
                Explained::Yes(findings)
            }
            None => Explained::No(search.closest()),
        }
    }

    /// Calls `show` with the earliest view.
    pub fn with_earliest(
        &self,
        history: &mut History,
        setting: Setting<'_>,
        show: &mut dyn FnMut(&View<'_>),
    ) {
        let Some(point) = self.minimal.first() else { return };
        history.seek(point.position);
        history.pull(&point.ahead);
        let job = setting.gates.read(&self.versions[(point.version - self.start) as usize].job);
        let search = Search {
            setting,
            judge: &|_, _| {},
            tried: 0,
            best: Vec::new(),
            nearest: None,
            end: 0,
            last: 0,
            read: None,
            shown: None,
        };
        show(&search.view(setting.backoff, history, &job));
        history.pull(&[]);
    }

    fn lower_bound(&self, version: u64) -> Option<Position> {
        self.minimal.iter().filter(|point| point.version <= version).map(|point| point.position).min()
    }
}

struct Search<'a> {
    setting: Setting<'a>,
    judge: &'a dyn Fn(&View<'_>, &mut Findings),
    tried: usize,
    best: Vec<ViewRefusal>,
    nearest: Option<ViewRefusal>,
    end: Position,
    last: u64,
    /// Lower bound for the clock of a sync that knows the version, in microseconds.
    read: Option<i64>,
    /// The time that the clock of the process had shown before.
    shown: Option<Time>,
}

impl Search<'_> {
    /// Tries a position with every combination of reorderable entries. Returns the smallest combinations that explain
    /// the write.
    fn try_position(
        &mut self,
        history: &mut History,
        job: &Arc<Job>,
        version: u64,
        follows: &dyn Fn(&Point) -> bool,
    ) -> Vec<(Point, Findings)> {
        let (position, floating) = (history.position(), history.floating());
        let mut explained: Vec<(Point, Findings)> = Vec::new();
        for pulled in combinations(&floating) {
            // A view that need not contain an entry, since its sender is not shown, need not contain it later.
            let ahead = pulled.iter().copied().filter(|entry| !history.is_unattributed(*entry)).collect();
            let point = Point { version, position, ahead };
            if !follows(&point) || explained.iter().any(|(it, _)| it.precedes(&point)) {
                continue;
            }
            history.pull(&pulled);
            self.tried += 1;
            let findings = self.evaluate(history, job);
            if findings.is_clean() {
                explained.push((point, findings));
            } else {
                self.remember(findings, position, version);
            }
        }
        history.pull(&[]);
        explained
    }

    fn clock(&self, history: &History) -> Clock {
        Clock { written: self.read.max(history.written()), shown: self.shown }
    }

    fn view<'v>(&'v self, record: &BackoffRecord, history: &'v History, job: &'v Arc<Job>) -> View<'v> {
        let left_active = history.post().sums().active > 0;
        let mut view = View {
            job,
            cache: history.cache(),
            post: history.post(),
            ownerless: Some(history.post_ownerless()),
            settled: Some(&history.settled),
            expectations_met: history.shows_earlier_gains(history.position()),
            deletion_unseen: history.lacks_earlier_deletions(history.position()),
            deletes_failed: match self.setting.deletes_failed {
                DeletesFailed::Yes => true,
                DeletesFailed::No => false,
                DeletesFailed::Unknown => left_active,
            },
            namespace_terminating: self.setting.namespace_goes,
            earliest: self.setting.bounds.began,
            finalizers_removed: self.setting.finalizers_removed,
            not_before: not_before(self.clock(history), self.setting.bounds, job),
            latest: self.setting.latest,
            backoff: Backoff::default(),
            constants: self.setting.constants,
            gates: self.setting.gates,
            interpretation: self.setting.reading,
            clocks: Clocks::Several,
        };
        view.backoff = record.in_view(&view, self.setting.let_go);
        view
    }

    /// Evaluates the guards with each backoff record that the process may have.
    fn evaluate(&self, history: &History, job: &Arc<Job>) -> Findings {
        let record = self.setting.backoff;
        let findings = self.evaluate_by(record, history, job);
        match record.other() {
            Some(other) if !findings.is_clean() => {
                Some(self.evaluate_by(other, history, job)).filter(Findings::is_clean).unwrap_or(findings)
            }
            _ => findings,
        }
    }

    fn evaluate_by(&self, record: &BackoffRecord, history: &History, job: &Arc<Job>) -> Findings {
        let view = self.view(record, history, job);
        let mut findings = Findings::new();
        (self.judge)(&view, &mut findings);
        if self.setting.bounds.is_read() {
            // Internal rules such as PC-27 bind nobody. They only help to find the view of the sync.
            findings.broken.retain(|broken| broken.req.entry().binds != Binds::Internal);
        }
        findings
    }

    /// Keeps the closest refusals: those with the fewest false guards, then the latest views. Beside them, the one with the nearest
    /// numbers is kept if nothing but numbers is false.
    fn remember(&mut self, findings: Findings, position: Position, version: u64) {
        const KEPT: usize = 3;
        let refusal = ViewRefusal {
            job_lag: self.last - version,
            pod_lag: self.end - position,
            broken: findings.broken,
        };
        if let Some(off) = refusal.distance() {
            let nearest = self.nearest.as_ref().and_then(ViewRefusal::distance);
            if nearest.is_none_or(|nearest| off < nearest) {
                self.nearest = Some(refusal.clone());
            }
        }
        // A rule that no trace shows, such as PC-27, cannot be the reported one.
        let hidden =
            |it: &ViewRefusal| it.broken.first().is_some_and(|broken| !broken.req.entry().judged.by_trace());
        let rank = |it: &ViewRefusal| (hidden(it), it.broken.len(), it.job_lag + it.pod_lag);
        let at = self.best.partition_point(|kept| rank(kept) <= rank(&refusal));
        if at < KEPT {
            self.best.insert(at, refusal);
            self.best.truncate(KEPT);
        }
    }

    /// The closest refusals.
    fn closest(self) -> Vec<ViewRefusal> {
        let nearest = self.nearest.filter(|it| self.best.iter().all(|kept| kept.broken != it.broken));
        self.best.into_iter().chain(nearest).collect()
    }
}

/// The subsets of reorderable entries that are tried, small ones first.
fn combinations(floating: &[Position]) -> Vec<Vec<Position>> {
    if floating.len() > COMBINED {
        return (0..=floating.len()).map(|count| floating[..count].to_vec()).collect();
    }
    let mut choices: Vec<u32> = (0..1u32 << floating.len()).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    let chosen = |choice: u32| {
        let entries = floating.iter().enumerate().filter(move |(bit, _)| choice >> bit & 1 == 1);
        entries.map(|(_, entry)| *entry).collect()
    };
    choices.into_iter().map(chosen).collect()
}

mod extent;
#[cfg(test)]
mod tests;
