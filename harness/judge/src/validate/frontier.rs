//! Which views may explain a write (judging.md 1, view and truth).
//!
//! A view is a version of the Job and a position in the pods' history. Views only advance, so what matters of
//! all explanations found so far are the earliest: a small set of pairs of which none precedes another.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Job;
use jobcheck_spec::view::{Backoff, Interpretation, View};
use jobcheck_spec::{Binds, Findings, Time, Uid};

use super::backoff::BackoffRecord;
use super::clock::{self, Clock, Written, not_before};
use super::history::{History, Position};
use super::observed::{Bounds, Reach, Seen};
use super::verdict::ViewRefusal;

/// Evaluations for one write at most; beyond, the verdict is inconclusive.
pub const VIEW_CAP: usize = 100_000;
/// Early entries whose combinations are all tried; of more, none, all, and all up to each.
const COMBINED: usize = 4;

/// The earliest views that explain everything so far.
#[derive(Clone, Debug, Default)]
pub struct Frontier {
    /// The Job's versions that a view may show; the last is stored.
    versions: VecDeque<Version>,
    /// Whether the manager writes the status whatever it has read: a write tells nothing of when it was decided then.
    writes_blindly: bool,
    /// What the manager's clock has shown, as its writes tell.
    clock: Option<Time>,
    /// Number of the last version that the process wrote itself.
    own: Option<u64>,
    /// The same when the sync began that is under way, where the trace tells what that sync has read.
    own_before: Option<u64>,
    /// Number of the first version that is kept.
    start: u64,
    /// Minimal pairs: version number, position.
    minimal: Vec<(u64, Position)>,
}

/// A version of the Job.
#[derive(Clone, Debug)]
struct Version {
    job: Arc<Job>,
    /// Its resourceVersion.
    number: Option<u64>,
    /// When it was written at the earliest, in microseconds.
    written: Option<i64>,
    /// When a sync that knows it looked at its clock at the earliest. Of what a sync writes it knows itself: it may have
    /// read the version before that.
    read: Option<i64>,
}

/// What is the same in all candidate views of a write.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Latest instant of the write.
    pub latest: Option<jobcheck_spec::Time>,
    /// Whether a deletion may have failed in this sync.
    pub deletes_failed: DeletesFailed,
    /// Whether a creation was refused because the namespace is being deleted.
    pub namespace_goes: bool,
    /// Pods that the sync has released without listing them.
    pub released: usize,
    /// The backoff record before the sync.
    pub backoff: &'a BackoffRecord,
    /// The pods whose finalizers the sync has removed.
    pub let_go: &'a [Uid],
    /// The subject's constants.
    pub constants: &'a Constants,
    /// How counters are read.
    pub reading: Interpretation,
    /// The feature gates of the process.
    pub gates: Gates,
    /// What the trace says that the sync has seen.
    pub bounds: Bounds,
}

/// Whether the deletion of an active pod may have failed (TC-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletesFailed {
    /// The trace shows refusals; there was one.
    Yes,
    /// The trace shows refusals; there was none.
    No,
    /// The trace shows none: possible wherever a pod is left active.
    Unknown,
}

/// Which versions of the Job a decision may have been taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// The stored one: a status write carries its resourceVersion (SY-04).
    Stored,
    /// Any that the Job cache may show.
    Any,
}

/// The outcome of a search.
#[derive(Debug)]
pub enum Explained {
    /// Some view explains the write; what its guards found.
    Yes(Findings),
    /// None does; the ones that come closest first.
    No(Vec<ViewRefusal>),
    /// There were too many to try.
    Capped,
}

impl Frontier {
    /// The Job as it is stored now is the only version that a view may show.
    pub fn restart(&mut self, job: Arc<Job>, number: Option<u64>, position: Position) {
        self.start += self.versions.len() as u64;
        self.versions.clear();
        self.versions.push_back(Version { job, number, written: None, read: None });
        (self.own, self.own_before, self.clock) = (None, None, None);
        self.minimal = vec![(self.start, position)];
    }

    /// The Job has a new version. Where the process wrote it itself, every view from now on shows it; but if the trace
    /// tells what its sync has read, that remains what the rest of the sync may be decided from.
    pub fn push(
        &mut self,
        job: Arc<Job>,
        (number, written): (Option<u64>, Written),
        own: bool,
        is_read: bool,
    ) {
        let before = self.versions.back().and_then(|version| version.written);
        let written = written.behind(before);
        let read = if own { before } else { written };
        self.versions.push_back(Version { job, number, written, read });
        if own {
            self.own = Some(self.last());
            if !is_read {
                self.show_own();
            }
        }
        self.forget();
    }

    /// The manager wrote the status without saying which version it had read.
    pub fn is_written_blindly(&mut self) {
        self.writes_blindly = true;
    }

    /// The deadline that the Job has in every version that a view may show, if it is one, and if the manager's clock is
    /// not known to have shown it.
    #[must_use]
    pub fn unseen_deadline(&self) -> Option<Time> {
        let mut deadlines = self.versions.iter().map(|version| clock::deadline(&version.job));
        let first = deadlines.next()??;
        let is_seen = self.clock.is_some_and(|clock| clock >= first);
        (!is_seen && deadlines.all(|other| other == Some(first))).then_some(first)
    }

    /// The manager's clock has shown this.
    pub fn clock_shows(&mut self, time: Time) {
        self.clock = self.clock.max(Some(time));
    }

    /// Another process takes over, whose clock may be another.
    pub fn forget_clock(&mut self) {
        self.clock = None;
    }

    /// A sync begins: it knows what its process wrote before.
    pub fn sync_begins(&mut self) {
        self.own_before = self.own;
        self.show_own();
        self.forget();
    }

    /// Views show what the process wrote itself.
    fn show_own(&mut self) {
        let Some(own) = self.own else { return };
        if self.minimal.iter().any(|(version, _)| *version < own) {
            let earliest = self.minimal.iter().map(|(_, position)| *position).min().unwrap_or(0);
            self.minimal = vec![(own, earliest)];
        }
    }

    /// The earliest position that a view may have.
    #[must_use]
    pub fn earliest(&self) -> Position {
        self.minimal.iter().map(|(_, position)| *position).min().unwrap_or(0)
    }

    /// Which versions of the Job a cache shows that has come so far. The first is not a change: there is always one.
    #[must_use]
    pub fn reach(&self, seen: Seen) -> Reach {
        let changes = self.versions.iter().skip(1).map(|version| version.number);
        Reach::behind(changes, self.start, seen)
    }

    /// The numbers of the versions that a view may show.
    fn versions_in(&self, versions: Versions, bounds: Bounds) -> RangeInclusive<u64> {
        let last = self.last();
        if versions == Versions::Stored {
            return last..=last;
        }
        let Some(reach) = bounds.versions else { return self.start..=last };
        // What it wrote itself it knows without its cache; in the same sync it may still go by what it read.
        let own = self.own.unwrap_or(self.start);
        let known = if reach.to.is_some() { self.own_before.unwrap_or(self.start) } else { own };
        let to = reach.to.unwrap_or(last).max(own).clamp(self.start, last);
        reach.from.max(known).clamp(self.start, to)..=to
    }

    /// The positions that a view of this version may have; none where an earlier write excludes the version.
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
        let first = self.minimal.iter().map(|(version, _)| *version).min().unwrap_or(self.start);
        while self.start < first && self.versions.len() > 1 {
            self.versions.pop_front();
            self.start += 1;
        }
    }

    /// Searches the views that explain a write; on success only they and their successors remain.
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
            end: history.end(),
            last: self.last(),
            read: None,
            shown: self.clock,
        };
        let mut found: Vec<(u64, Position)> = Vec::new();
        let mut accepted = None;
        for version in self.versions_in(versions, setting.bounds) {
            let Some(positions) = self.positions_in(version, setting.bounds, history) else { continue };
            let (from, to) = positions.into_inner();
            let bound = found.iter().map(|(_, position)| *position).min().unwrap_or(search.end + 1);
            let shown = &self.versions[(version - self.start) as usize];
            let job = setting.gates.read(&shown.job);
            search.read = shown.read.filter(|_| !self.writes_blindly);
            for position in from..bound.min(to + 1) {
                history.seek(position);
                if let Some(findings) = search.try_position(history, &job, version) {
                    found.push((version, position));
                    accepted.get_or_insert(findings);
                    break;
                }
                if search.tried > VIEW_CAP {
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
            None => Explained::No(search.best),
        }
    }

    /// Shows the earliest view.
    pub fn with_earliest(
        &self,
        history: &mut History,
        setting: Setting<'_>,
        show: &mut dyn FnMut(&View<'_>),
    ) {
        let Some((version, position)) = self.minimal.first().copied() else { return };
        history.seek(position);
        let job = setting.gates.read(&self.versions[(version - self.start) as usize].job);
        let search = Search {
            setting,
            judge: &|_, _| {},
            tried: 0,
            best: Vec::new(),
            end: 0,
            last: 0,
            read: None,
            shown: None,
        };
        show(&search.view(setting.backoff, history, &job));
    }

    fn lower_bound(&self, version: u64) -> Option<Position> {
        self.minimal.iter().filter(|(known, _)| *known <= version).map(|(_, position)| *position).min()
    }
}

struct Search<'a> {
    setting: Setting<'a>,
    judge: &'a dyn Fn(&View<'_>, &mut Findings),
    tried: usize,
    best: Vec<ViewRefusal>,
    end: Position,
    last: u64,
    /// When a sync that knows the version looked at its clock at the earliest, in microseconds.
    read: Option<i64>,
    /// What the clock of its process had shown before.
    shown: Option<Time>,
}

impl Search<'_> {
    /// Tries the position with every combination of entries that may have come early.
    fn try_position(&mut self, history: &mut History, job: &Arc<Job>, version: u64) -> Option<Findings> {
        let floating = history.floating();
        for pulled in combinations(&floating) {
            history.pull(&pulled);
            self.tried += 1;
            let findings = self.evaluate(history, job);
            if findings.is_clean() {
                history.pull(&[]);
                return Some(findings);
            }
            self.remember(findings, history.position(), version);
        }
        history.pull(&[]);
        None
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
            ownerless: Some(history.post_strays()),
            expectations_met: history.shows_earlier_gains(history.position()),
            deletion_unseen: history.lacks_earlier_deletions(history.position()),
            deletes_failed: match self.setting.deletes_failed {
                DeletesFailed::Yes => true,
                DeletesFailed::No => false,
                DeletesFailed::Unknown => left_active,
            },
            namespace_terminating: self.setting.namespace_goes,
            earliest: self.setting.bounds.began,
            finalizers_removed: self.setting.released,
            not_before: not_before(self.clock(history), self.setting.bounds, job),
            latest: self.setting.latest,
            backoff: Backoff::default(),
            constants: self.setting.constants,
            gates: self.setting.gates,
            interpretation: self.setting.reading,
        };
        view.backoff = record.in_view(&view, self.setting.let_go);
        view
    }

    /// By each record of failures that the process may keep.
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
            // What is internal to a process binds nobody (PC-27): it is asked to find out which view was read.
            findings.broken.retain(|broken| broken.req.entry().binds != Binds::Internal);
        }
        findings
    }

    /// Keeps the refusals that come closest: fewest false guards, then the freshest view.
    fn remember(&mut self, findings: Findings, position: Position, version: u64) {
        const KEPT: usize = 3;
        let refusal = ViewRefusal {
            job_lag: self.last - version,
            pod_lag: self.end - position,
            broken: findings.broken,
        };
        // What no trace shows, such as unmet expectations (PC-27), is no verdict of its own.
        let hidden =
            |it: &ViewRefusal| it.broken.first().is_some_and(|broken| !broken.req.entry().judged.by_trace());
        let rank = |it: &ViewRefusal| (hidden(it), it.broken.len(), it.job_lag + it.pod_lag);
        let at = self.best.partition_point(|kept| rank(kept) <= rank(&refusal));
        if at < KEPT {
            self.best.insert(at, refusal);
            self.best.truncate(KEPT);
        }
    }
}

/// Which of the entries that may have come early are taken to have done so.
fn combinations(floating: &[Position]) -> Vec<Vec<Position>> {
    if floating.len() > COMBINED {
        return (0..=floating.len())
            .rev()
            .map(|count| floating[..count].to_vec())
            .chain([Vec::new()])
            .collect();
    }
    (0..1u32 << floating.len())
        .map(|choice| {
            floating
                .iter()
                .enumerate()
                .filter(|(bit, _)| choice >> bit & 1 == 1)
                .map(|(_, entry)| *entry)
                .collect()
        })
        .collect()
}
