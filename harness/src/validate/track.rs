//! One Job from its creation to its end: what etcd held, what the manager may have seen, what was counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jobcheck_model::guards::counting::Ledger;
use jobcheck_model::job::{Job, Text};
use jobcheck_model::pod::Pod;
use jobcheck_model::view::{Reading, View};
use jobcheck_model::{Broken, Findings, Req, Said, Time, Uid};
use jobcheck_traces::Place;
use rustc_hash::FxHashSet;

use super::actor::ActorId;
use super::backoff::BackoffRecord;
use super::event::Event;
use super::frontier::{DeletesFailed, Explained, Frontier, Setting, Versions};
use super::history::{History, OwnWrite, Position};
use super::owed::Trouble;
use super::settings::Settings;
use super::verdict::{JobVerdict, Outcome, Owed, ViewRefusal, Violation};

/// Entries of the history whose times are remembered.
const RECENT: usize = 64;
/// Lines of a Job's story that are kept for an explanation.
const STORY_LINES: usize = 24;
/// Violations that are reported for one Job; the first is the verdict.
const VIOLATIONS_KEPT: usize = 20;
/// Status writes for which a failed deletion excuses a dropped decision: both writes of one sync (TC-08).
const WRITES_OF_A_SYNC: u32 = 2;

/// A Job under judgement.
#[derive(Debug)]
pub struct Track {
    /// UID.
    pub uid: Uid,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// The Job as etcd holds it.
    pub stored: Option<Arc<Job>>,
    /// Its resourceVersion.
    pub version: Option<u64>,
    /// A version that was replaced lately, and when (TT-06).
    pub replaced: Option<(Arc<Job>, i64)>,
    /// Whether all pods that it ever had are known: its creation was seen, and no gap since.
    pub complete: bool,
    /// `spec.managedBy`.
    pub managed_by: Option<Text>,
    /// Who manages it, where that is not the built-in.
    pub manager: Option<ActorId>,
    /// Whether its manager creates pods (judging.md 1).
    pub executor: bool,
    /// The pods.
    pub history: History,
    /// The views.
    pub frontier: Frontier,
    /// What was counted.
    pub counted: CountedPods,
    /// The global backoff record.
    pub backoff: BackoffRecord,
    /// Where the sync before the current one began.
    pub previous_sync: Position,
    /// Status writes for which the refusals of their sync still count.
    pub excused_writes: u32,
    /// Writes to pods that were refused in the current sync.
    pub refused: Refused,
    /// Writes of the manager that may have been made although the answer was a server error: what they would
    /// have left in etcd, and what the manager did.
    pub uncertain: BTreeMap<Uid, (Option<Pod>, OwnWrite)>,
    /// When the latest entries of the history were made, in microseconds.
    recent: VecDeque<(Position, i64)>,
    /// Writes on which a guard was evaluated.
    pub judged: u64,
    /// Requirements whose premise was met.
    pub premises: Findings,
    /// Violations so far.
    pub violations: Vec<Violation>,
    /// Why the verdict is inconclusive.
    pub doubts: Vec<String>,
    /// Broken advice.
    pub warnings: Vec<(Place, String)>,
    /// The last lines of its story.
    pub story: VecDeque<(Place, String)>,
    /// Last time of a change, in microseconds.
    pub changed: Option<i64>,
    /// Last time of an event of its pods, in microseconds.
    pub pods_changed: Option<i64>,
    /// Requests that were refused, for what is owed at the end.
    pub trouble: Trouble,
}

/// The counters' contents.
#[derive(Debug, Default)]
pub struct CountedPods {
    /// UIDs in a counter.
    pub counted: FxHashSet<Uid>,
    /// UIDs that were adopted after they had been counted.
    pub readopted: FxHashSet<Uid>,
    /// UIDs that the manager created or adopted.
    pub made: FxHashSet<Uid>,
}

/// Writes to pods that were refused in one sync.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refused {
    /// Deletions, and removals of a finalizer.
    pub deletions: u32,
    /// Deletions that found no pod.
    pub deletions_of_nothing: u32,
    /// Creations.
    pub creations: u32,
}

/// A refused write to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedWrite {
    /// TC-08.
    Deletion,
    /// Answered with 404.
    DeletionOfNothing,
    /// PC-12, PC-13.
    Creation,
}

impl Refused {
    /// H2, H3, H4: refused writes that 1.36 reports as if they had been made, if that is all that is wrong and
    /// there were enough of them.
    fn misreport(self, broken: &[Broken]) -> Option<Req> {
        let explained = |broken: &Broken| {
            let (Said::Number(expected), Said::Number(found)) = (&broken.expected, &broken.found) else {
                return None;
            };
            let by = |count: u32, off: i64| off > 0 && off <= i64::from(count);
            match broken.req {
                Req::PC01 => by(self.creations, found - expected).then_some(Req::H02),
                Req::PC03 => by(self.deletions, expected - found).then_some(Req::H03),
                Req::PC02 => by(self.deletions_of_nothing, found - expected).then_some(Req::H04),
                _ => None,
            }
        };
        let labels: Option<Vec<Req>> = broken.iter().map(explained).collect();
        labels?.first().copied()
    }
}

impl Ledger for CountedPods {
    fn is_counted(&self, uid: Uid) -> bool {
        self.counted.contains(&uid)
    }

    fn was_readopted(&self, uid: Uid) -> bool {
        self.readopted.contains(&uid)
    }
}

impl Track {
    /// A Job that is seen for the first time; `complete` if this is its creation.
    #[must_use]
    pub fn new(job: Arc<Job>, version: Option<u64>, complete: bool) -> Track {
        let mut frontier = Frontier::default();
        frontier.restart(job.clone(), 0);
        Track {
            uid: job.uid,
            namespace: job.namespace.clone(),
            name: job.name.clone(),
            managed_by: job.spec.managed_by.clone(),
            stored: Some(job),
            version,
            replaced: None,
            complete,
            manager: None,
            executor: false,
            history: History::default(),
            frontier,
            counted: CountedPods::default(),
            backoff: BackoffRecord::default(),
            previous_sync: 0,
            excused_writes: 0,
            refused: Refused::default(),
            uncertain: BTreeMap::new(),
            recent: VecDeque::new(),
            judged: 0,
            premises: Findings::new(),
            violations: Vec::new(),
            doubts: Vec::new(),
            warnings: Vec::new(),
            story: VecDeque::new(),
            changed: None,
            pods_changed: None,
            trouble: Trouble::default(),
        }
    }

    /// Whether the built-in manages it.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.managed_by.as_deref().is_none_or(|manager| manager == jobcheck_model::job::BUILT_IN)
    }

    /// Adds a line to the story.
    pub fn tell(&mut self, place: Place, line: String) {
        if self.story.len() == STORY_LINES {
            self.story.pop_front();
        }
        self.story.push_back((place, line));
    }

    /// Something happened that the trace does not show: nothing can be counted on any more.
    pub fn doubt(&mut self, reason: String) {
        if self.complete || self.doubts.is_empty() {
            self.doubts.push(reason);
        }
        self.complete = false;
        self.resync();
    }

    /// Every view shows what etcd holds.
    pub fn resync(&mut self) {
        self.history.settle();
        if let Some(job) = self.stored.clone() {
            self.frontier.restart(job, self.history.end());
        }
    }

    /// Records a pod's new state in etcd. `own` is what the manager did, if it was the manager.
    pub fn pod_changed(&mut self, uid: Uid, after: Option<Pod>, own: Option<OwnWrite>) {
        let end = self.history.end();
        self.history.push(uid, after, own, end);
    }

    /// A pod is gone from etcd. Its removal carries no version of its own: what overlaps with it may have come
    /// before or after.
    pub fn pod_removed(&mut self, event: &Event, uid: Uid) {
        let end = self.history.end();
        let received = event.when.map_or(i64::MAX, |when| when.received);
        let overlapping = self.recent.iter().find(|(_, done)| *done > received).map_or(end, |(position, _)| *position);
        self.uncertain.remove(&uid);
        self.history.push(uid, None, None, if event.version.is_some() { end } else { overlapping });
    }

    /// Notes when the entry that comes next is made.
    pub fn note_time(&mut self, event: &Event) {
        let Some(when) = event.when else { return };
        self.pods_changed = self.pods_changed.max(Some(when.done));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((self.history.end(), when.done));
    }

    /// The same where it may have been the manager's doing, which the form does not show.
    pub fn pod_changed_perhaps(&mut self, uid: Uid, after: Option<Pod>, write: OwnWrite) {
        let early = self.frontier.earliest();
        self.history.push_perhaps(uid, after, write, early);
    }

    /// Judges a write by the views; reports a violation where none explains it.
    pub fn judge_by_views(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &str,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        if !self.complete {
            return true;
        }
        self.judged += 1;
        match self.explain(settings, versions, latest, Reading::Ideal, judge) {
            Explained::Yes(mut findings) => {
                self.premises.absorb(&mut findings);
                true
            }
            Explained::Capped => {
                self.doubt(format!("{write}: more candidate views than are tried"));
                true
            }
            Explained::No(views) => {
                if self.explains_without_backoff(event, settings, versions, latest, &views, judge)
                    || self.explains_as_committed(settings, versions, latest, judge)
                {
                    return true;
                }
                let known = self.known_reading(settings, versions, latest, judge);
                self.report_views(event, settings, write, views, known);
                false
            }
        }
    }

    fn explain(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        reading: Reading,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Explained {
        let setting = Setting {
            latest,
            deletes_failed: match (settings.has_actors, self.refused.deletions > 0) {
                (false, _) => DeletesFailed::Unknown,
                (true, true) => DeletesFailed::Yes,
                (true, false) => DeletesFailed::No,
            },
            backoff: &self.backoff,
            constants: &settings.constants,
            reading,
        };
        let explained = self.frontier.explain(&mut self.history, versions, setting, judge);
        if !matches!(explained, Explained::No(_)) {
            return explained;
        }
        // What follows the first status write of a sync rests on what that write rested on.
        let sync_start = self.history.sync_start();
        self.history.set_sync_start(self.previous_sync);
        let second = self.frontier.explain(&mut self.history, versions, setting, judge);
        self.history.set_sync_start(sync_start);
        if matches!(second, Explained::Yes(_)) { second } else { explained }
    }

    /// S-01, S-02: whether the built-in's way to read a flipped failure explains the write.
    fn known_reading(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Option<Req> {
        if !self.is_built_in() {
            return None;
        }
        let indexed = self.stored.as_ref().is_some_and(|job| job.spec.is_indexed());
        match self.explain(settings, versions, latest, Reading::FlippedFailure, judge) {
            Explained::Yes(_) => Some(if indexed { Req::S02 } else { Req::S01 }),
            Explained::No(_) | Explained::Capped => None,
        }
    }

    /// BO-05: a restart loses the backoff record. It is admitted with a sign of it (judging.md 1).
    fn explains_without_backoff(
        &mut self,
        event: &Event,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        views: &[ViewRefusal],
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        let only_delay = views.iter().any(|view| view.broken.iter().all(|broken| broken.req == Req::BO01));
        let sign = settings.restart_sign(event, self.backoff.last_failure());
        if !only_delay || !sign.admits() {
            return false;
        }
        let kept = std::mem::take(&mut self.backoff);
        match self.explain(settings, versions, latest, Reading::Ideal, judge) {
            Explained::Yes(mut findings) => {
                self.premises.absorb(&mut findings);
                if let Some(warning) = sign.warning() {
                    self.warnings.push((event.place, warning));
                }
                true
            }
            Explained::No(_) | Explained::Capped => {
                self.backoff = kept;
                false
            }
        }
    }

    /// A write that was answered with a server error may have been committed (judging.md 3).
    fn explains_as_committed(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        if self.uncertain.is_empty() {
            return false;
        }
        for (uid, (after, write)) in std::mem::take(&mut self.uncertain) {
            self.pod_changed(uid, after, Some(write));
        }
        self.history.end_sync();
        matches!(self.explain(settings, versions, latest, Reading::Ideal, judge), Explained::Yes(_))
    }

    /// After a status write that a view explains: the record of that view is the controller's.
    pub fn keep_backoff(&mut self, settings: &Settings) {
        let before = self.backoff.clone();
        let setting = Setting {
            latest: None,
            deletes_failed: DeletesFailed::No,
            backoff: &before,
            constants: &settings.constants,
            reading: Reading::Ideal,
        };
        let record = &mut self.backoff;
        self.frontier.with_earliest(&mut self.history, setting, &mut |view| record.keep(view));
    }

    /// Whether some view that explains everything so far lacks pods of an earlier sync (PC-27).
    #[must_use]
    pub fn awaits_pods(&self) -> bool {
        !self.history.shows_earlier_gains(self.frontier.earliest())
    }

    /// The manager tried to write the status: a sync has come to an end, or to its middle.
    pub fn status_tried(&mut self) {
        self.previous_sync = self.history.sync_start();
        self.history.end_sync();
        self.excused_writes = self.excused_writes.saturating_sub(1);
        if self.excused_writes == 0 {
            self.refused = Refused::default();
        }
    }

    /// A write to a pod was refused in this sync.
    pub fn pod_write_refused(&mut self, what: RefusedWrite) {
        self.excused_writes = WRITES_OF_A_SYNC;
        match what {
            RefusedWrite::Deletion => self.refused.deletions += 1,
            RefusedWrite::DeletionOfNothing => self.refused.deletions_of_nothing += 1,
            RefusedWrite::Creation => self.refused.creations += 1,
        }
    }

    /// Takes over what guards on the truth found.
    pub fn take(&mut self, event: &Event, write: &str, mut findings: Findings) {
        self.judged += u64::from(findings.premises().next().is_some());
        let broken = std::mem::take(&mut findings.broken);
        self.premises.absorb(&mut findings);
        for broken in broken {
            self.report(event, write, broken, Vec::new());
        }
    }

    fn report_views(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &str,
        views: Vec<ViewRefusal>,
        known: Option<Req>,
    ) {
        let Some(first) = views.first().and_then(|view| view.broken.first()).cloned() else { return };
        let broken = match known {
            Some(req) => Broken { req, known: Some(req), ..first },
            None => Broken { known: self.misreport(settings, &views[0].broken), ..first },
        };
        self.report(event, write, broken, views);
        self.resync();
    }

    /// H2, H3, H4, by the refusals of the sync. A watch shows none: there H2 is told by its value, the number of
    /// pods that were wanted.
    fn misreport(&self, settings: &Settings, broken: &[Broken]) -> Option<Req> {
        if settings.has_actors {
            return self.refused.misreport(broken);
        }
        let [Broken { req: Req::PC01, found: Said::Number(found), expected: Said::Number(expected), .. }] = broken else {
            return None;
        };
        let job = self.stored.as_ref()?;
        let wanted = job.spec.completions.map_or(i64::MAX, |completions| i64::from(completions - job.status.succeeded));
        let wanted = wanted.clamp(0, i64::from(job.spec.parallelism_count()));
        (found > expected && *found <= wanted).then_some(Req::H02)
    }

    /// Reports a violation. A deviation is KNOWN of the built-in alone.
    pub fn report(&mut self, event: &Event, write: &str, broken: Broken, views: Vec<ViewRefusal>) {
        if !broken.req.entry().judged.by_trace() && broken.known.is_none() {
            debug_assert!(false, "{} is reported but catalogued as not judged by traces", broken.req);
        }
        let known = broken.known.filter(|_| self.is_built_in());
        if self.violations.len() < VIOLATIONS_KEPT {
            self.violations.push(Violation {
                broken: Broken { known, ..broken },
                place: event.place,
                write: write.to_owned(),
                story: self.story.iter().cloned().collect(),
                world: self.describe(),
                views,
            });
        }
    }

    /// The world in words: the Job's status and its pods.
    fn describe(&self) -> Vec<String> {
        const PODS_SHOWN: usize = 20;
        let mut lines = vec![super::story::status(self.stored.as_deref())];
        lines.extend(self.history.stored.iter().take(PODS_SHOWN).map(super::story::pod));
        if self.history.stored.len() > PODS_SHOWN {
            lines.push(format!("… and {} more pods", self.history.stored.len() - PODS_SHOWN));
        }
        lines
    }

    /// A debt that is overdue at the end of the trace.
    pub fn overdue(&mut self, place: Option<Place>, broken: Broken) {
        let place = place.unwrap_or(Place { file: 0, line: 0 });
        self.violations.push(Violation {
            broken,
            place,
            write: "end of the trace".to_owned(),
            story: self.story.iter().cloned().collect(),
            world: self.describe(),
            views: Vec::new(),
        });
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(self, owed: Vec<Owed>) -> JobVerdict {
        let outcome = match () {
            () if !self.violations.is_empty() => Outcome::Violates,
            () if !self.doubts.is_empty() || self.judged == 0 => Outcome::Inconclusive,
            () => Outcome::Conforms,
        };
        JobVerdict {
            job: format!("{}/{}", self.namespace, self.name),
            uid: self.uid.to_string(),
            managed_by: self.managed_by.map(|manager| manager.to_string()),
            profile: if self.executor { "executor" } else { "mirror" },
            outcome,
            judged: self.judged,
            violations: self.violations,
            doubts: self.doubts,
            warnings: self.warnings,
            owed,
        }
    }
}
