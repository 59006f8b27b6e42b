//! One Job from its creation to its end: the state of etcd, the knowledge of the manager, and the counts.

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
use super::fates::Fates;
use super::frontier::Frontier;
use super::gaps::{Sighting, Undeleted};
use super::history::{History, Position};
use super::known_pods::Occasions;
use super::late::LateRequests;
use super::life::Life;
use super::names::Names;
use super::observed::{Bounds, Sight};
use super::owed::Trouble;
use super::own_write::OwnWrite;
use super::primary;
use super::setbacks::{Refused, RefusedWrite, Setbacks};
use super::standing::Standing;
use super::verdict::{Note, ViewRefusal, Violation};

/// Number of history entries whose times are kept.
const RECENT: usize = 64;
/// Number of preceding lines that are kept for an explanation.
const STORY_LINES: usize = 24;
/// Maximum number of reported violations of a Job. The first is the verdict.
const VIOLATIONS_KEPT: usize = 20;
/// Maximum number of reasons about single writes.
const RESERVATIONS_KEPT: usize = 5;
/// Number of status writes for which a refused deletion excuses a dropped decision: both writes of one sync (TC-08).
const WRITES_OF_A_SYNC: u32 = 2;

/// Writes with a server error that may have been committed: for each pod its state after the write, and the write.
pub type Uncertain = BTreeMap<Uid, (Option<Pod>, OwnWrite)>;

/// A Job under judgement.
#[derive(Debug)]
pub struct Track {
    /// UID.
    pub uid: Uid,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// The Job in etcd.
    pub stored: Option<Arc<Job>>,
    /// Its `resourceVersion`.
    pub version: Option<u64>,
    /// Its latest versions, with the numbers of the events that showed them.
    pub versions_seen: VecDeque<(u64, u64)>,
    /// The highest `resourceVersion` of the Job and its pods.
    pub latest_version: u64,
    /// The latest response to a request for the Job or its pods, in microseconds.
    pub latest_answer: i64,
    /// The last event of each pod.
    pub pods_seen: FxHashMap<Uid, Sighting>,
    /// Pods that are being deleted without a DELETE in the trace so far.
    pub undeleted: BTreeMap<Uid, Undeleted>,
    /// Requests that may come from a replaced process.
    pub late: LateRequests,
    /// A pod that terminated without having been ready: the number of its last event before, and the position from
    /// which the history is complete again.
    pub skipped: Option<(u64, Position)>,
    /// Versions that refused writes were made on and that the trace has not shown, with the numbers of preceding
    /// events.
    pub unseen_bases: BTreeMap<u64, u64>,
    /// The number of the last event before which a write is missing.
    pub gap: Option<u64>,
    /// A write is missing, so etcd may hold a newer version than `stored`.
    pub stale: bool,
    /// The response to the deletion of the Job, in microseconds, if the trace shows its time.
    pub deleting_since: Option<i64>,
    /// A recently replaced version, and the time of the replacement (TT-06).
    pub replaced: Option<(Arc<Job>, i64)>,
    /// All pods of the Job are known: its creation was seen, without a gap since.
    pub complete: bool,
    /// The Job was first seen after its creation.
    pub in_mid_life: bool,
    /// `spec.managedBy`.
    pub managed_by: Option<Text>,
    /// The manager, if it is not the built-in controller.
    pub manager: Option<ActorId>,
    /// The manager creates pods (`docs/reference/judging.md`, *Identifying the controller*).
    pub executor: bool,
    /// The pods.
    pub history: History,
    /// The views.
    pub frontier: Frontier,
    /// The progress of the manager's caches, if the trace shows it.
    pub sight: Sight,
    /// The views that this progress allows.
    pub bounds: Bounds,
    /// The counts.
    pub counted: CountedPods,
    /// Occasions of known deviations.
    pub occasions: Occasions,
    /// The global backoff record.
    pub backoff: BackoffRecord,
    /// The position at which the sync before the current one began.
    pub previous_sync: Position,
    /// The beginning of a sync whose status write had a server error. Its client may have sent the write again.
    pub retried_from: Option<Position>,
    /// Number of status writes for which the refusals of their sync still count.
    pub excused_writes: u32,
    /// Refused writes to pods in the current sync.
    pub refused: Refused,
    /// Writes of the manager with a server error that may have been committed: the pod that they would have left, and
    /// the write.
    pub uncertain: Uncertain,
    /// Failures that the manager met.
    pub setbacks: Setbacks,
    /// A Job with the same name existed before (BO-06).
    pub namesake: bool,
    /// The times of the latest history entries, in microseconds.
    recent: VecDeque<(Position, i64)>,
    /// Number of writes on which a guard was evaluated.
    pub judged: u64,
    /// Requirements whose premise was met.
    pub premises: Findings,
    /// The violations so far.
    pub violations: Vec<Violation>,
    /// Reasons why the verdict is inconclusive.
    pub doubts: Vec<String>,
    /// Writes that only an assumption without a sign explains. They make the verdict inconclusive.
    pub reservations: Vec<Note>,
    /// Broken recommendations.
    pub warnings: Vec<Note>,
    /// The last lines about the Job.
    pub story: VecDeque<Note>,
    /// Its life, if it is explained.
    pub life: Option<Box<Life>>,
    /// The ends of its pods.
    pub fates: Fates,
    /// The names of its pods.
    pub names: Names,
    /// Numbers of reasons and of warnings that contain names already.
    pub named: (usize, usize),
    /// Keeps these lines.
    pub keeps_story: bool,
    /// Another actor has written the status.
    pub foreign_status: bool,
    /// Lower bound for the request of the stored version, in microseconds.
    pub written: Option<i64>,
    /// The last change, in microseconds.
    pub changed: Option<i64>,
    /// The last event of a pod, in microseconds.
    pub pods_changed: Option<i64>,
    /// Obligations that have been open for a while.
    pub standing: Standing,
    /// Refused requests, for open obligations at the end.
    pub trouble: Trouble,
}

impl Track {
    /// Begins to judge a Job. `complete`: this event is its creation.
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
            in_mid_life: !complete,
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
            retried_from: None,
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
            reservations: Vec::new(),
            warnings: Vec::new(),
            story: VecDeque::new(),
            life: None,
            fates: Fates::default(),
            names: Names::default(),
            named: (0, 0),
            keeps_story,
            foreign_status: false,
            written: None,
            changed: None,
            pods_changed: None,
            standing: Standing::default(),
            trouble: Trouble::default(),
        }
    }

    /// Returns `true` if the built-in controller manages the Job.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.managed_by.as_deref().is_none_or(|manager| manager == jobcheck_spec::job::BUILT_IN)
    }

    /// Notes a new version of the Job.
    pub fn has_version(&mut self, version: u64, order: u64) {
        if self.versions_seen.len() == RECENT {
            self.versions_seen.pop_front();
        }
        self.versions_seen.push_back((version, order));
        self.unseen_bases.remove(&version);
        self.version = Some(version);
    }

    /// Returns `true` if the Job had this version.
    #[must_use]
    pub fn has_seen(&self, version: u64) -> bool {
        self.versions_seen.iter().any(|(seen, _)| *seen == version)
    }

    /// Adds a warning.
    pub fn warn(&mut self, event: &Event, text: String) {
        self.warnings.push(Note::on(event, text));
    }

    /// Keeps a line about the Job.
    pub fn tell(&mut self, event: &Event, line: &dyn Display) {
        if !self.keeps_story {
            return;
        }
        if self.story.len() == STORY_LINES {
            self.story.pop_front();
        }
        let line = self.names.write(&line.to_string());
        self.story.push_back(Note::on(event, line));
    }

    /// The Job in etcd, if the trace shows it.
    #[must_use]
    pub fn shown(&self) -> Option<Arc<Job>> {
        self.stored.clone().filter(|_| !self.stale)
    }

    /// Makes the verdict inconclusive for this reason. From now on counts and decisions are not judged.
    pub fn doubt(&mut self, reason: String) {
        if self.complete || self.doubts.is_empty() {
            self.doubts.push(reason);
        }
        self.complete = false;
        self.resync();
    }

    /// Makes the verdict inconclusive for this reason, which concerns one write. The rest is judged all the same.
    pub fn reserve(&mut self, note: Note) {
        let is_known = self.reservations.iter().any(|known| known.text == note.text);
        if self.reservations.len() < RESERVATIONS_KEPT && !is_known {
            self.reservations.push(note);
        }
    }

    /// Makes every view contain the state of etcd.
    pub fn resync(&mut self) {
        self.history.settle();
        if let Some(job) = self.stored.clone() {
            self.frontier.restart(job, self.version, self.history.end());
        }
        self.bounds = Bounds::default();
    }

    /// Ends the current sync.
    pub fn sync_ends(&mut self) {
        self.previous_sync = self.retried_from.take().unwrap_or(self.history.sync_start());
        self.history.end_sync();
        self.setbacks.sync_ended();
    }

    /// Records a new state of a pod in etcd. `own` is the write of the manager, if it was the manager's.
    pub fn pod_changed(&mut self, uid: Uid, after: Option<Pod>, own: Option<OwnWrite>) {
        let end = self.history.end();
        self.note_fate(uid, after.as_ref());
        self.history.push(uid, after, own, end);
    }

    /// Records the removal of a pod, which has no version of its own. Overlapping requests may have come before or
    /// after it.
    pub fn pod_removed(&mut self, event: &Event, uid: Uid) {
        let end = self.history.end();
        let received = event.when.map_or(i64::MAX, |when| when.received);
        let overlapping =
            self.recent.iter().find(|(_, done)| *done > received).map_or(end, |(position, _)| *position);
        self.uncertain.remove(&uid);
        self.live_pod_gone(event, uid);
        self.name_leaves(uid);
        self.history.push(uid, None, None, if event.version.is_some() { end } else { overlapping });
    }

    /// Notes the time of the next history entry.
    pub fn note_time(&mut self, event: &Event) {
        let Some(when) = event.when else { return };
        self.pods_changed = self.pods_changed.max(Some(when.done));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((self.history.end(), when.done));
    }

    /// The last event of the Job or its pods, in microseconds.
    #[must_use]
    pub fn last_event(&self) -> Option<i64> {
        self.changed.max(self.recent.back().map(|(_, done)| *done))
    }

    /// The last event, or the last failed removal, or the last server error.
    #[must_use]
    pub fn last_setback(&self) -> Option<i64> {
        self.last_event().max(self.setbacks.pod_write).max(self.setbacks.server_error)
    }

    /// Records a new state of a pod that may be the manager's doing, in a form without actors.
    pub fn pod_changed_perhaps(&mut self, uid: Uid, after: Option<Pod>, write: OwnWrite) {
        let early = self.frontier.earliest();
        self.note_fate(uid, after.as_ref());
        self.history.push_perhaps(uid, after, write, early);
    }

    /// Returns `true` if a view that explains all writes so far lacks pods of an earlier sync (PC-27).
    #[must_use]
    pub fn awaits_pods(&self) -> bool {
        !self.history.shows_earlier_gains(self.frontier.earliest())
    }

    /// Notes an attempted status write, which ends a sync or its first half.
    pub fn status_tried(&mut self) {
        if self.sight.sync().is_some() {
            // The trace shows where syncs begin.
            return;
        }
        self.sync_ends();
        self.excused_writes = self.excused_writes.saturating_sub(1);
        if self.excused_writes == 0 {
            self.refused = Refused::default();
        }
    }

    /// Notes a refused write to a pod in this sync.
    pub fn pod_write_refused(&mut self, what: RefusedWrite) {
        self.excused_writes = WRITES_OF_A_SYNC;
        self.refused.add(what);
    }

    /// Adds the findings of guards on the true state.
    pub fn take(&mut self, event: &Event, write: &dyn Display, mut findings: Findings) {
        self.judged += u64::from(findings.premises().next().is_some());
        let mut broken = std::mem::take(&mut findings.broken);
        primary::sort(&mut broken);
        self.premises.absorb(&mut findings);
        for broken in broken {
            self.report(event, write, broken, Vec::new());
        }
    }

    /// Reports a violation. Only the built-in controller has known deviations.
    pub fn report(&mut self, event: &Event, write: &dyn Display, broken: Broken, views: Vec<ViewRefusal>) {
        // Only native traces show feature gates.
        let by_trace = broken.req.entry().judged.by_trace() || broken.req.id().starts_with("UG-");
        if !by_trace && broken.known.is_none() {
            debug_assert!(false, "{} is reported but catalogued as not judged by traces", broken.req);
        }
        let known = broken.known.filter(|_| self.is_built_in());
        if self.violations.len() < VIOLATIONS_KEPT {
            let write = write.to_string();
            self.violations.push(Violation {
                names: self.names_in(event, &write, &broken, &views),
                broken: Broken { known, ..broken },
                place: event.place,
                order: event.order,
                done: event.when.map(|when| when.done),
                actor: event.actor,
                write,
                story: self.story.iter().cloned().collect(),
                world: self.describe(),
                views,
            });
        }
    }

    /// A description of the state: the Job's status, then its pods.
    fn describe(&self) -> Vec<String> {
        const PODS_SHOWN: usize = 20;
        let mut lines = vec![super::story::status(self.stored.as_deref())];
        lines.extend(self.history.stored.iter().take(PODS_SHOWN).map(super::story::pod));
        if self.history.stored.len() > PODS_SHOWN {
            lines.push(format!("… and {} more pods", self.history.stored.len() - PODS_SHOWN));
        }
        lines.iter().map(|line| self.names.write(line)).collect()
    }

    /// Frees the memory of a finished Job whose pods have lost their finalizers, so that memory is bounded by living
    /// objects.
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
        self.forget_names();
        self.recent = VecDeque::new();
        self.story.drain(..self.story.len().saturating_sub(LINES_AT_REST));
        self.story.shrink_to_fit();
    }

    /// Reports an overdue obligation at the end of the trace.
    pub fn overdue(&mut self, place: Option<Place>, broken: Broken) {
        let place = place.unwrap_or(Place { file: 0, line: 0 });
        self.violations.push(Violation {
            names: self.holding(),
            broken,
            place,
            order: u64::MAX,
            done: None,
            actor: None,
            write: "end of the trace".to_owned(),
            story: self.story.iter().cloned().collect(),
            world: self.describe(),
            views: Vec::new(),
        });
    }
}
