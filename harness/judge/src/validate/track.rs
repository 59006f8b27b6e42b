//! One Job from its creation to its end: the state of etcd, the knowledge of the manager, and the counts.

use std::fmt::Display;
use std::sync::Arc;

use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Broken, Findings, Req, Time, Uid};
use jobcheck_traces::Place;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::clock::Written;
use super::coverage::Coverage;
use super::event::Event;
use super::history::History;
use super::known_pods::Occasions;
use super::late_work::LateWork;
use super::managers::Manager;
use super::observed::Bounds;
use super::owed::Trouble;
use super::own_write::OwnWrite;
use super::pod_records::{Fact, PodRecords};
use super::primary;
use super::process::Process;
use super::results::Results;
use super::setbacks::{Refused, RefusedWrite};
use super::standing::Standing;
use super::timeline::Timeline;
use super::verdict::{Note, ViewRefusal, Violation};

/// Number of status writes for which a refused deletion excuses a dropped decision: both writes of one sync (TC-08).
const WRITES_OF_A_SYNC: u32 = 2;

/// Identifies a Job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Identity {
    /// UID.
    pub uid: Uid,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// `creationTimestamp`.
    pub created: Time,
    /// `spec.managedBy`.
    pub managed_by: Option<Text>,
    /// A Job with the same name existed before (BO-06).
    pub namesake: bool,
    /// The input that showed it first.
    pub file: u32,
}

/// A Job under judgement. Each part has a file of its own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Track {
    /// The Job.
    pub id: Identity,
    /// Its manager.
    pub manager: Manager,
    /// The Job in etcd.
    pub stored: Option<Arc<Job>>,
    /// The pods in etcd, and every state that a cache may have been in.
    pub history: History,
    /// The part of both that the trace shows.
    pub coverage: Coverage,
    /// The times of changes.
    pub times: Timeline,
    /// The manager's process.
    pub process: Process,
    /// The records of its pods.
    pub pods: PodRecords,
    /// Occasions of known deviations.
    pub occasions: Occasions,
    /// Obligations that have been open for a while.
    pub standing: Standing,
    /// Obligations that were met late.
    pub late_work: LateWork,
    /// Refused requests, for open obligations at the end.
    pub trouble: Trouble,
    /// The results so far.
    pub results: Results,
    /// The background of the results in reports.
    pub account: Account,
}

impl Track {
    /// Begins to judge a Job. `complete`: this event is its creation.
    #[must_use]
    pub fn new(job: Arc<Job>, event: &Event, complete: bool, keeps_story: bool) -> Track {
        let mut process = Process::default();
        process.frontier.restart(job.clone(), event.version, 0);
        if complete {
            process.frontier.is_created(event.version, Written::by(event));
        }
        let id = Identity {
            uid: job.uid,
            namespace: job.namespace.clone(),
            name: job.name.clone(),
            created: job.created,
            managed_by: job.spec.managed_by.clone(),
            namesake: false,
            file: event.place.file,
        };
        Track {
            id,
            manager: Manager::default(),
            stored: Some(job),
            history: History::default(),
            coverage: Coverage::begins(event, complete),
            times: Timeline::default(),
            process,
            pods: PodRecords::default(),
            occasions: Occasions::default(),
            standing: Standing::default(),
            late_work: LateWork::default(),
            trouble: Trouble::default(),
            results: Results::default(),
            account: Account { keeps_story, ..Account::default() },
        }
    }

    /// Returns `true` if the built-in controller manages the Job.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        let is_declared = self.manager.mirror.declared.is_some();
        !is_declared
            && self.id.managed_by.as_deref().is_none_or(|manager| manager == jobcheck_spec::job::BUILT_IN)
    }

    /// Adds a warning.
    pub fn warn(&mut self, event: &Event, text: String) {
        self.results.warnings.push(Note::on(event, text));
    }

    /// Keeps a line about the Job.
    pub fn tell(&mut self, event: &Event, line: &dyn Display) {
        self.account.tell(event, line);
    }

    /// The Job in etcd, if the trace shows it.
    #[must_use]
    pub fn shown(&self) -> Option<Arc<Job>> {
        self.stored.clone().filter(|_| !self.coverage.stale)
    }

    /// Notes that an event with this number may have deleted the Job. The duty to delete it at the end of its TTL may have gone with it.
    pub fn may_be_deleted(&mut self, order: u64, reason: &str) {
        self.coverage.lacks_write(order);
        let stored = self.stored.as_ref().filter(|job| !job.deleting && job.status.is_finished());
        let has_ttl = stored.is_some_and(|job| job.spec.ttl_seconds_after_finished.is_some());
        if has_ttl && !self.results.doubts.iter().any(|doubt| doubt == reason) {
            self.doubt(reason.to_owned());
        }
    }

    /// Makes the verdict inconclusive for this reason. From now on counts and decisions are not judged.
    pub fn doubt(&mut self, reason: String) {
        if self.coverage.complete || self.results.doubts.is_empty() {
            self.results.doubts.push(reason);
        }
        self.coverage.complete = false;
        self.resync();
    }

    /// Makes the verdict inconclusive for this reason, which concerns one write. The rest is judged all the same.
    pub fn reserve(&mut self, note: Note) {
        self.results.reserve(note);
    }

    /// Makes every view contain the state of etcd.
    pub fn resync(&mut self) {
        self.history.settle();
        if let Some(job) = self.stored.clone() {
            self.process.frontier.restart(job, self.coverage.version, self.history.end());
        }
        self.process.bounds = Bounds::default();
    }

    /// Notes that another process manages the Job, which remembers nothing.
    pub fn process_restarted(&mut self) {
        self.process.backoff.lose();
        self.history.forget_misses();
        self.process.frontier.forget_clock();
        self.occasions.inherits = false;
        self.occasions.unseen.restarted();
        self.pods.forget_all(Fact::Held);
    }

    /// Ends the current sync.
    pub fn sync_ends(&mut self) {
        self.process.previous_sync = self.process.retried_from.take().unwrap_or(self.history.sync_start());
        self.history.end_sync();
        self.process.setbacks.sync_ended();
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
        let overlapping = self.times.first_after(received).unwrap_or(end);
        self.process.uncertain.remove(&uid);
        // FT-02: a pod that is gone may be counted.
        let is_of_it = |it: &Violation| it.names.iter().any(|(named, _)| *named == uid);
        self.may_have_come_earlier(event, "removal of a pod", &|it| {
            it.broken.req == Req::FT02 && is_of_it(it)
        });
        self.pods.ownership.forget(uid);
        self.live_pod_gone(event, uid);
        self.name_leaves(uid);
        self.history.push(uid, None, None, if event.version.is_some() { end } else { overlapping });
    }

    /// The time of the last failure, or that of its record, in microseconds. The clock of a node may be ahead.
    #[must_use]
    pub fn failed_or_recorded(&self) -> i64 {
        let failed = self.process.backoff.last_failure().map(|time| time.0.saturating_mul(1_000_000));
        let earliest = failed.into_iter().chain(self.process.recorded).min();
        earliest.unwrap_or(i64::MIN / 2)
    }

    /// The last event, or the last failed removal, or the last server error.
    #[must_use]
    pub fn last_setback(&self) -> Option<i64> {
        let setbacks = &self.process.setbacks;
        self.times.last_event().max(setbacks.pod_write).max(setbacks.server_error)
    }

    /// Records a new state of a pod that may be the manager's doing, in a form without actors.
    pub fn pod_changed_perhaps(&mut self, uid: Uid, after: Option<Pod>, write: OwnWrite) {
        let early = self.process.frontier.earliest();
        self.note_fate(uid, after.as_ref());
        self.history.push_perhaps(uid, after, write, early);
    }

    /// Returns `true` if a view that explains all writes so far lacks pods of an earlier sync (PC-27).
    #[must_use]
    pub fn awaits_pods(&self) -> bool {
        !self.history.shows_earlier_gains(self.process.frontier.earliest())
    }

    /// Notes an attempted status write, which ends a sync or its first half.
    pub fn status_tried(&mut self) {
        if self.process.sight.sync().is_some() {
            // The trace shows where syncs begin.
            return;
        }
        self.sync_ends();
        self.process.excused_writes = self.process.excused_writes.saturating_sub(1);
        if self.process.excused_writes == 0 {
            self.process.refused = Refused::default();
        }
    }

    /// Notes a refused write to a pod in this sync.
    pub fn pod_write_refused(&mut self, what: RefusedWrite) {
        self.process.excused_writes = WRITES_OF_A_SYNC;
        self.process.refused.add(what);
    }

    /// Adds the findings of guards on the true state.
    pub fn take(&mut self, event: &Event, write: &dyn Display, mut findings: Findings) {
        self.results.judged += u64::from(findings.premises().next().is_some());
        let mut broken = std::mem::take(&mut findings.broken);
        primary::sort(&mut broken);
        self.results.premises.absorb(&mut findings);
        for broken in broken {
            self.report(event, write, broken, Vec::new());
        }
    }

    /// Adds findings about a part of a write that counts as judged elsewhere, if it does.
    pub fn take_uncounted(&mut self, event: &Event, write: &dyn Display, findings: Findings) {
        let judged = self.results.judged;
        self.take(event, write, findings);
        self.results.judged = judged;
    }

    /// Reports a violation. Only the built-in controller has known deviations.
    pub fn report(&mut self, event: &Event, write: &dyn Display, broken: Broken, views: Vec<ViewRefusal>) {
        let violation = self.violation(event, write, broken, views);
        self.results.violations.extend(violation);
    }

    /// The violation to report, unless enough are kept.
    pub(super) fn violation(
        &self,
        event: &Event,
        write: &dyn Display,
        broken: Broken,
        views: Vec<ViewRefusal>,
    ) -> Option<Violation> {
        // Only native traces show feature gates.
        let by_trace = broken.req.entry().judged.by_trace() || broken.req.id().starts_with("UG-");
        if !by_trace && broken.known.is_none() {
            debug_assert!(false, "{} is reported but catalogued as not judged by traces", broken.req);
        }
        let known = broken.known.filter(|_| self.is_built_in());
        self.results.takes_more().then(|| {
            let write = write.to_string();
            Violation {
                names: self.names_in(event, &write, &broken, &views),
                broken: Broken { known, ..broken },
                place: event.place,
                order: event.order,
                done: event.when.map(|when| when.done),
                version: event.version.or(event.answered),
                actor: event.actor,
                write,
                story: self.account.story.iter().cloned().collect(),
                world: self.describe(),
                views,
            }
        })
    }

    /// A description of the state: the Job's status, then its pods.
    fn describe(&self) -> Vec<String> {
        const PODS_SHOWN: usize = 20;
        let mut lines = vec![super::story::status(self.stored.as_deref())];
        lines.extend(
            self.history.stored.iter().take(PODS_SHOWN).map(|pod| super::story::pod(pod).to_string()),
        );
        if self.history.stored.len() > PODS_SHOWN {
            lines.push(format!("… and {} more pods", self.history.stored.len() - PODS_SHOWN));
        }
        lines.iter().map(|line| self.account.names.write(line)).collect()
    }

    /// Frees the memory of a finished Job whose pods have lost their finalizers, so that memory is bounded by living
    /// objects.
    pub fn rest(&mut self) {
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
        self.pods = PodRecords::default();
        self.occasions = Occasions::default();
        self.process.backoff.lose();
        self.process.uncertain.clear();
        self.coverage.rest();
        self.forget_names();
        self.times.forget_entries();
        self.account.rest();
    }

    /// Reports an overdue obligation at the end of the trace.
    pub fn overdue(&mut self, place: Option<Place>, broken: Broken) {
        let place = place.unwrap_or(Place { file: 0, line: 0 });
        self.results.violations.push(Violation {
            names: self.holding(),
            broken,
            place,
            order: u64::MAX,
            done: None,
            version: None,
            actor: None,
            write: Violation::END.to_owned(),
            story: self.account.story.iter().cloned().collect(),
            world: self.describe(),
            views: Vec::new(),
        });
    }
}
