//! One Job from its creation to its end: what etcd held, what the manager may have seen, what was counted.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::sync::Arc;

use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Broken, Findings, Uid};
use jobcheck_traces::Place;
use rustc_hash::FxHashMap;

use super::actor::ActorId;
use super::backoff::BackoffRecord;
use super::counted::CountedPods;
use super::event::Event;
use super::frontier::Frontier;
use super::gaps::{Sighting, Undeleted};
use super::history::{History, Position};
use super::known_pods::Occasions;
use super::late::LateRequests;
use super::observed::{Bounds, Sight};
use super::owed::Trouble;
use super::own_write::OwnWrite;
use super::setbacks::{Refused, RefusedWrite, Setbacks};
use super::standing::Standing;
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
    /// Its latest resourceVersions, and the numbers of the events that showed them.
    pub versions_seen: VecDeque<(u64, u64)>,
    /// The highest resourceVersion of the Job and its pods.
    pub latest_version: u64,
    /// The latest answer to a request for the Job and its pods, in microseconds.
    pub latest_answer: i64,
    /// Which event showed each pod last.
    pub pods_seen: FxHashMap<Uid, Sighting>,
    /// Pods that are being deleted by a DELETE that was not shown yet.
    pub undeleted: BTreeMap<Uid, Undeleted>,
    /// Requests that may have been those of a process that had been replaced.
    pub late: LateRequests,
    /// A pod that was never ready was shown as ended: since which event, and where the pods' history is whole again.
    pub skipped: Option<(u64, Position)>,
    /// Versions that refused writes were made on and that were not shown yet, and after which event they came.
    pub unseen_bases: BTreeMap<u64, u64>,
    /// The last event before which something is missing.
    pub gap: Option<u64>,
    /// Whether etcd may hold something newer than `stored`: a write was not shown.
    pub stale: bool,
    /// When the deletion of the Job was answered, in microseconds, where the trace tells.
    pub deleting_since: Option<i64>,
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
    /// What the trace says that the sync of its manager has seen.
    pub sight: Sight,
    /// The views that this leaves possible.
    pub bounds: Bounds,
    /// What was counted.
    pub counted: CountedPods,
    /// What led to deviations that are known, or will.
    pub occasions: Occasions,
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
    /// What went wrong for the manager.
    pub setbacks: Setbacks,
    /// Whether a Job of the same name was there before (BO-06).
    pub namesake: bool,
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
    /// Whether they are kept.
    pub keeps_story: bool,
    /// When the stored version was asked for at the earliest, in microseconds.
    pub written: Option<i64>,
    /// Last time of a change, in microseconds.
    pub changed: Option<i64>,
    /// Last time of an event of its pods, in microseconds.
    pub pods_changed: Option<i64>,
    /// What has been owed for a while.
    pub standing: Standing,
    /// Requests that were refused, for what is owed at the end.
    pub trouble: Trouble,
}

impl Track {
    /// A Job that is seen for the first time; `complete` if this is its creation.
    #[must_use]
    pub fn new(job: Arc<Job>, event: &Event, complete: bool, keeps_story: bool) -> Track {
        let version = event.version;
        let mut frontier = Frontier::default();
        frontier.restart(job.clone(), version, 0);
        Track {
            uid: job.uid,
            namespace: job.namespace.clone(),
            name: job.name.clone(),
            managed_by: job.spec.managed_by.clone(),
            stored: Some(job),
            version,
            versions_seen: version.into_iter().map(|version| (version, event.order)).collect(),
            latest_version: version.unwrap_or(0),
            latest_answer: event.when.map_or(i64::MIN, |when| when.done),
            undeleted: BTreeMap::new(),
            late: LateRequests::default(),
            skipped: None,
            unseen_bases: BTreeMap::new(),
            pods_seen: FxHashMap::default(),
            gap: None,
            stale: false,
            deleting_since: None,
            replaced: None,
            complete,
            manager: None,
            executor: false,
            history: History::default(),
            frontier,
            sight: Sight::default(),
            bounds: Bounds::default(),
            counted: CountedPods::default(),
            occasions: Occasions::default(),
            backoff: BackoffRecord::default(),
            previous_sync: 0,
            excused_writes: 0,
            refused: Refused::default(),
            uncertain: BTreeMap::new(),
            setbacks: Setbacks::default(),
            namesake: false,
            recent: VecDeque::new(),
            judged: 0,
            premises: Findings::new(),
            violations: Vec::new(),
            doubts: Vec::new(),
            warnings: Vec::new(),
            story: VecDeque::new(),
            keeps_story,
            written: None,
            changed: None,
            pods_changed: None,
            standing: Standing::default(),
            trouble: Trouble::default(),
        }
    }

    /// Whether the built-in manages it.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.managed_by.as_deref().is_none_or(|manager| manager == jobcheck_spec::job::BUILT_IN)
    }

    /// The Job has a new resourceVersion.
    pub fn has_version(&mut self, version: u64, order: u64) {
        if self.versions_seen.len() == RECENT {
            self.versions_seen.pop_front();
        }
        self.versions_seen.push_back((version, order));
        self.unseen_bases.remove(&version);
        self.version = Some(version);
    }

    /// Whether the Job had this resourceVersion.
    #[must_use]
    pub fn has_seen(&self, version: u64) -> bool {
        self.versions_seen.iter().any(|(seen, _)| *seen == version)
    }

    /// Adds a line to the story.
    pub fn tell(&mut self, place: Place, line: &dyn Display) {
        if !self.keeps_story {
            return;
        }
        if self.story.len() == STORY_LINES {
            self.story.pop_front();
        }
        self.story.push_back((place, line.to_string()));
    }

    /// The Job as etcd holds it, where the trace shows that.
    #[must_use]
    pub fn shown(&self) -> Option<Arc<Job>> {
        self.stored.clone().filter(|_| !self.stale)
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
            self.frontier.restart(job, self.version, self.history.end());
        }
        self.bounds = Bounds::default();
    }

    /// What the manager did so far belongs to an earlier sync.
    pub fn sync_ends(&mut self) {
        self.previous_sync = self.history.sync_start();
        self.history.end_sync();
        self.setbacks.sync_ended();
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
        let overlapping =
            self.recent.iter().find(|(_, done)| *done > received).map_or(end, |(position, _)| *position);
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

    /// When something last happened to the Job or its pods, in microseconds.
    #[must_use]
    pub fn last_event(&self) -> Option<i64> {
        self.changed.max(self.recent.back().map(|(_, done)| *done))
    }

    /// When something last happened, or a removal or the API server last failed.
    #[must_use]
    pub fn last_setback(&self) -> Option<i64> {
        self.last_event().max(self.setbacks.release).max(self.setbacks.server_error)
    }

    /// The same where it may have been the manager's doing, which the form does not show.
    pub fn pod_changed_perhaps(&mut self, uid: Uid, after: Option<Pod>, write: OwnWrite) {
        let early = self.frontier.earliest();
        self.history.push_perhaps(uid, after, write, early);
    }

    /// Whether some view that explains everything so far lacks pods of an earlier sync (PC-27).
    #[must_use]
    pub fn awaits_pods(&self) -> bool {
        !self.history.shows_earlier_gains(self.frontier.earliest())
    }

    /// The manager tried to write the status: a sync has come to an end, or to its middle.
    pub fn status_tried(&mut self) {
        if self.sight.sync().is_some() {
            // The trace says where a sync begins.
            return;
        }
        self.sync_ends();
        self.excused_writes = self.excused_writes.saturating_sub(1);
        if self.excused_writes == 0 {
            self.refused = Refused::default();
        }
    }

    /// A write to a pod was refused in this sync.
    pub fn pod_write_refused(&mut self, what: RefusedWrite) {
        self.excused_writes = WRITES_OF_A_SYNC;
        self.refused.add(what);
    }

    /// Takes over what guards on the truth found.
    pub fn take(&mut self, event: &Event, write: &dyn Display, mut findings: Findings) {
        self.judged += u64::from(findings.premises().next().is_some());
        let broken = std::mem::take(&mut findings.broken);
        self.premises.absorb(&mut findings);
        for broken in broken {
            self.report(event, write, broken, Vec::new());
        }
    }

    /// Reports a violation. A deviation is KNOWN of the built-in alone.
    pub fn report(&mut self, event: &Event, write: &dyn Display, broken: Broken, views: Vec<ViewRefusal>) {
        // Of gates native traces alone tell.
        let by_trace = broken.req.entry().judged.by_trace() || broken.req.id().starts_with("UG-");
        if !by_trace && broken.known.is_none() {
            debug_assert!(false, "{} is reported but catalogued as not judged by traces", broken.req);
        }
        let known = broken.known.filter(|_| self.is_built_in());
        if self.violations.len() < VIOLATIONS_KEPT {
            self.violations.push(Violation {
                broken: Broken { known, ..broken },
                place: event.place,
                order: event.order,
                done: event.when.map(|when| when.done),
                write: write.to_string(),
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

    /// A finished Job whose pods are released has nothing left to count: what was kept for that goes, so that
    /// memory is bounded by what lives.
    pub fn rest(&mut self) {
        const LINES_AT_REST: usize = 4;
        let finished = self.stored.as_ref().is_some_and(|job| job.status.is_finished());
        if !finished || self.history.holds_finalizers() {
            return;
        }
        let settled: Vec<Uid> =
            self.history.stored.iter().filter(|pod| pod.is_terminated()).map(|pod| pod.uid).collect();
        for uid in settled {
            self.history.push(uid, None, None, self.history.end());
        }
        self.resync();
        self.history.shrink();
        self.counted = CountedPods::default();
        self.occasions = Occasions::default();
        self.backoff.lose();
        self.uncertain.clear();
        self.pods_seen = FxHashMap::default();
        self.recent = VecDeque::new();
        self.story.drain(..self.story.len().saturating_sub(LINES_AT_REST));
        self.story.shrink_to_fit();
    }

    /// A debt that is overdue at the end of the trace.
    pub fn overdue(&mut self, place: Option<Place>, broken: Broken) {
        let place = place.unwrap_or(Place { file: 0, line: 0 });
        self.violations.push(Violation {
            broken,
            place,
            order: u64::MAX,
            done: None,
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
            profile: match (self.executor, self.complete || !self.doubts.is_empty()) {
                (true, true) => "executor",
                (false, true) => "mirror",
                (true, false) => "executor, from mid-life on: its counts and decisions are not judged",
                (false, false) => "mirror, from mid-life on",
            },
            outcome,
            judged: self.judged,
            violations: self.violations,
            doubts: self.doubts,
            warnings: self.warnings,
            owed,
        }
    }
}
