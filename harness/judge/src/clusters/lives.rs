//! The Jobs of one cluster, from their creation to their removal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_projection::JobObject;
use jobcheck_spec::Uid;
use jobcheck_spec::apiserver::{ORPHAN, Propagation, finalizers_of_others};
use jobcheck_spec::guards::copies::Micros;
use jobcheck_spec::job::{Job, JobStatus, Text};
use jobcheck_traces::{
    Body as Operand, Input, MarkKind, Place, Reader, Record, Request, Resource, Subresource, Verb,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::replay::{PROGRESS_EVERY, ShowProgress};
use crate::validate::{
    AT_WORK, Contents, JobEvent, ObjectBody, SERVER_ERROR, is_of_environment, propagation,
};

use super::unsettled::Unsettled;

/// The HTTP statuses with which validation refuses a write.
pub(super) const INVALID: [u16; 2] = [400, 422];
/// The user name, or the user agent, of the TTL-after-finished controller ends so.
const TTL_CONTROLLER: &str = "ttl-after-finished-controller";

/// The Jobs of one cluster.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// The Jobs, in the order in which the trace shows them first.
    pub(super) jobs: Vec<Life>,
    positions: FxHashMap<Uid, usize>,
    /// The current Job with each name.
    named: FxHashMap<(Text, Text), Uid>,
    /// The requests of each user.
    worked: FxHashMap<String, Stretches>,
    /// The namespaces and names of Jobs with writes whose content the trace does not show.
    hidden: FxHashSet<(Text, Text)>,
    /// The users with an accepted write of a status.
    pub(super) accepted: FxHashSet<String>,
    /// A watch shows Jobs, or a request writes the status of one. An audit policy may leave those requests out.
    shows_statuses: bool,
    /// Creations of pods show that a Job controller works here.
    has_pods: bool,
    /// The Jobs whose pods the trace shows.
    have_pods: FxHashSet<Uid>,
    /// Each record has a time.
    pub(super) has_times: bool,
    /// A mark shows that records may be missing.
    pub(super) has_gap: bool,
    /// It shows a Job without its creation.
    begins_in_midlife: bool,
    /// The first and the last time in the trace.
    pub(super) span: Option<(Micros, Micros)>,
}

/// The statuses of a Job that the trace of a worker shows. An audit policy may leave out the writes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Statuses {
    /// It shows writes of statuses.
    Shown,
    /// It shows none. There may have been none.
    None,
    /// It shows none, although a Job controller has worked there.
    LeftOut,
}

/// The times at which a user works: stretches of requests without an absence between them.
#[derive(Debug, Default)]
struct Stretches {
    list: Vec<(Micros, Micros)>,
}

impl Stretches {
    /// Adds a request. Requests come almost in the order of time.
    fn at(&mut self, at: Micros) {
        match self.list.last_mut() {
            Some((first, last)) if at <= last.saturating_add(AT_WORK) => {
                (*first, *last) = (at.min(*first), at.max(*last));
            }
            _ => self.list.push((at, at)),
        }
    }

    /// The stretches of several users, without overlaps.
    fn union<'a>(all: impl Iterator<Item = &'a Stretches>) -> Arc<[(Micros, Micros)]> {
        let mut list: Vec<_> = all.flat_map(|it| it.list.iter().copied()).collect();
        list.sort_unstable();
        list.dedup_by(|later, earlier| {
            let overlaps = later.0 <= earlier.1;
            if overlaps {
                earlier.1 = earlier.1.max(later.1);
            }
            overlaps
        });
        list.into()
    }
}

/// A Job.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) uid: Uid,
    pub(super) namespace: Text,
    pub(super) name: Text,
    /// Its creation, or its first appearance if that is not shown.
    pub(super) created: Micros,
    /// The user who created it, if the trace shows it.
    pub(super) creator: Option<String>,
    /// UIDs in its labels and annotations.
    pub(super) stores: Vec<Uid>,
    /// Its versions that differ in status or specification, with their times.
    pub(super) versions: Vec<(u64, Micros, Arc<Job>)>,
    /// The highest version that a record has shown.
    newest: u64,
    /// Its status writes with a server error.
    pub(super) unsettled: Unsettled,
    /// Its deletion or removal, and the user who deleted it.
    pub(super) gone: Option<(Micros, Option<String>)>,
    /// The TTL-after-finished controller has deleted it.
    pub(super) has_expired: bool,
    /// Its removal.
    pub(super) removed: Option<Micros>,
    /// Its creator has deleted it without its pods, which ran.
    pub(super) orphans_pods: bool,
    /// Its finalizers when the trace shows it first, and now, without those of a propagation policy.
    finalizers: [Vec<Text>; 2],
    /// The users who wrote its status.
    pub(super) writers: Vec<String>,
    /// Status writes that validation refused.
    pub(super) refused: Vec<Micros>,
    /// The last accepted status write.
    pub(super) accepted: Option<Micros>,
    /// The requests for it that the environment refused, such as an overloaded server or a webhook, with their senders.
    pub(super) hindered: Vec<(String, Micros)>,
    /// A watch shows the Job, or a request writes its status. An audit policy may leave such requests out.
    shows_status: bool,
    /// The record of its last version.
    pub(super) place: Place,
}

#[derive(Deserialize)]
struct Labelled {
    metadata: Option<Labels>,
}

#[derive(Deserialize)]
struct Labels {
    labels: Option<FxHashMap<String, Option<String>>>,
    annotations: Option<FxHashMap<String, Option<String>>>,
}

impl Life {
    /// Its last version.
    pub(super) fn last(&self) -> Option<&Arc<Job>> {
        self.versions.last().map(|(_, _, job)| job)
    }

    /// The first time from which on a condition of its version holds.
    pub(super) fn first(&self, holds: impl Fn(&Job) -> bool) -> Option<Micros> {
        self.versions.iter().find(|(_, _, job)| holds(job)).map(|(_, at, _)| *at)
    }

    /// The last time at which a part of it changed, be it by its creation.
    pub(super) fn last_change<T: PartialEq>(&self, part: impl Fn(&Job) -> T) -> Option<Micros> {
        let mut changes = self.versions.windows(2).rev();
        changes.find(|pair| part(&pair[0].2) != part(&pair[1].2)).map(|pair| pair[1].1)
    }

    /// Learns from the version on which a request was made what became of a status write with a server error.
    fn settle(&mut self, base: Option<u64>, code: u16) {
        let stored = self.unsettled.settle(base, self.newest, code);
        if let Some(((version, since, status), last)) = stored.zip(self.last().cloned()) {
            self.versions.push((version, since, Arc::new(Job { status, ..(*last).clone() })));
        }
    }

    /// Notes that somebody deletes it so that its pods stay.
    fn orphans(&mut self, user: Option<&str>) {
        let runs = self.last().is_some_and(|job| job.status.active > 0);
        self.orphans_pods |= runs && user.is_some() && user == self.creator.as_deref();
    }

    /// Since when it has been left to its creator: nobody deletes it, or only finalizers of its creation keep it. `None` if it
    /// is removed, or something else keeps it, such as a pod that terminates.
    pub(super) fn left(&self) -> Option<Micros> {
        let Some((deleted, _)) = &self.gone else { return Some(self.created) };
        let [first, now] = &self.finalizers;
        let is_its_own = self.creator.is_some() && !now.is_empty() && now.iter().all(|it| first.contains(it));
        let is_kept = self.removed.is_none() && is_its_own;
        let is_at_rest =
            self.last().is_none_or(|job| job.status.active == 0 && job.status.terminating.unwrap_or(0) == 0);
        let changed = self.last_change(|job| job.status.clone()).unwrap_or(self.created);
        (is_kept && is_at_rest).then(|| changed.max(*deleted))
    }

    /// `startTime` and `completionTime` of all its statuses.
    pub(super) fn times(&self) -> Vec<jobcheck_spec::Time> {
        let of = |status: &JobStatus| [status.start_time, status.completion_time];
        let mut times: Vec<_> =
            self.versions.iter().flat_map(|(_, _, job)| of(&job.status)).flatten().collect();
        times.sort_unstable();
        times.dedup();
        times
    }
}

impl Lives {
    /// Reads the Jobs, until `stop` is true. The judgement of its cluster reports what cannot be read.
    pub(super) fn read(inputs: &[Input], stop: &Arc<AtomicBool>, progress: ShowProgress<'_>) -> Lives {
        let mut lives = Lives { has_times: true, ..Lives::default() };
        let (mut reader, mut contents, mut records) =
            (Reader::open_until(inputs, stop), Contents::default(), 0_u32);
        while !stop.load(Ordering::Relaxed) {
            match reader.next() {
                Ok(None) => break,
                Ok(Some(record)) => lives.take(&record, &mut contents),
                Err(error) => lives.has_gap |= error.reads_on,
            }
            records = records.wrapping_add(1);
            if records.is_multiple_of(PROGRESS_EVERY) {
                let (read, total) = reader.progress();
                progress(read, total);
            }
        }
        lives.begins_in_midlife = lives.jobs.iter().any(|life| life.creator.is_none());
        for life in &mut lives.jobs {
            life.versions.sort_by_key(|(version, _, _)| *version);
            let same = |a: &Job, b: &Job| a.status == b.status && a.spec == b.spec;
            life.versions.dedup_by(|later, earlier| same(&later.2, &earlier.2));
            let accepted = life.accepted.unwrap_or(Micros::MIN);
            life.refused.retain(|at| *at > accepted);
        }
        lives
    }

    /// Returns `true` if the trace begins after this time, and Jobs were there by then: it shows one without its creation.
    pub(super) fn begins_after(&self, at: Micros) -> bool {
        self.begins_in_midlife && self.span.is_some_and(|(first, _)| first > at)
    }

    fn take(&mut self, record: &Record<'_>, contents: &mut Contents) {
        let (at, request) = match &record.body {
            Operand::Request(request) => (Some(request.interval.done), Some(request)),
            Operand::Watched(watched) => (watched.at, None),
            Operand::Mark(mark) => {
                self.has_gap |= matches!(mark.kind, MarkKind::Gap { .. });
                mark.at.into_iter().for_each(|at| self.reaches(at));
                return;
            }
            Operand::Header(_) | Operand::Fault(_) | Operand::Observed(_) | Operand::Expected(_) => return,
        };
        let Some(at) = at else {
            self.has_times = false;
            return;
        };
        self.reaches(at);
        if let Some(request) = request {
            self.worked.entry(request.actor.user.to_owned()).or_default().at(at);
        }
        let creates_pod = |request: &Request<'_>| {
            let is_of_pod = request.resource == Resource::Pods && request.subresource == Subresource::None;
            is_of_pod && request.verb == Verb::Create && request.is_accepted()
        };
        self.has_pods |= request.is_some_and(creates_pod);
        match contents.of(record) {
            Ok(Some(ObjectBody::Job(event))) => self.job(record, &event, at, request),
            Ok(Some(ObjectBody::UnseenCollection(Resource::Jobs, _))) => {
                let within = request.map_or("", |request| request.namespace);
                let concerned = self.jobs.iter().filter(|job| &*job.namespace == within);
                self.hidden.extend(concerned.map(|job| (job.namespace.clone(), job.name.clone())));
            }
            Ok(Some(ObjectBody::Pod(event))) => {
                let owner = event.after.as_ref().and_then(|pod| pod.metadata.controller.as_ref());
                self.have_pods.extend(owner.map(|owner| owner.uid));
            }
            Ok(Some(ObjectBody::JobCollection(jobs))) => {
                let user = request.map(|request| request.actor.user);
                for JobObject { job, .. } in &jobs {
                    self.goes(job.uid, at, request, job.finalizers.is_empty());
                    let life = self.positions.get(&job.uid).map(|position| &mut self.jobs[*position]);
                    if let Some(life) = life.filter(|_| has_orphan(job)) {
                        life.orphans(user);
                    }
                }
            }
            _ => {}
        }
    }

    fn job(&mut self, record: &Record<'_>, event: &JobEvent, at: Micros, request: Option<&Request<'_>>) {
        let user = request.map(|request| request.actor.user);
        if let Some(request) = request.filter(|request| !request.is_accepted()) {
            return self.refused(event, at, request);
        }
        let key = |request: &Request<'_>| (Text::from(request.namespace), Text::from(request.name));
        let is_status = |request: &Request<'_>| request.subresource == Subresource::Status;
        if event.hidden && event.after.is_none() && !event.gone {
            self.hidden.extend(request.map(key));
        }
        let named = || request.and_then(|request| self.named.get(&key(request)).copied());
        let Some(uid) = event.uid.or_else(named) else { return };
        if let Some((position, request)) = self.positions.get(&uid).zip(request) {
            let life = &mut self.jobs[*position];
            life.settle(event.base, request.code);
            life.newest = life.newest.max(request.version.unwrap_or(0));
        }
        if let Some(job) = &event.after {
            self.version(record, job, at, request);
        }
        let is_deleted = event.after.as_ref().is_some_and(|job| job.deleting);
        if event.gone || is_deleted {
            self.goes(uid, at, request, event.gone);
        }
        let Some(life) = self.positions.get(&uid).map(|position| &mut self.jobs[*position]) else { return };
        let asks = |deletion| propagation(deletion) == Some(Propagation::Orphan);
        let is_kept = || event.after.as_ref().is_some_and(|job| has_orphan(job));
        if event.deletion.as_ref().is_some_and(|deletion| asks(deletion) || is_kept()) {
            life.orphans(user);
        }
        let shows_status = request.is_none_or(is_status);
        life.shows_status |= shows_status;
        self.shows_statuses |= shows_status;
        if let Some(request) = request.filter(|request| request.subresource == Subresource::Status) {
            life.accepted = life.accepted.max(Some(at));
            if !self.accepted.contains(request.actor.user) {
                self.accepted.insert(request.actor.user.to_owned());
            }
            add(&mut life.writers, request.actor.user);
        }
    }

    fn refused(&mut self, event: &JobEvent, at: Micros, request: &Request<'_>) {
        let named = self.named.get(&(Text::from(request.namespace), Text::from(request.name))).copied();
        let Some(position) = event.uid.or(named).and_then(|uid| self.positions.get(&uid)) else { return };
        let life = &mut self.jobs[*position];
        life.settle(event.base, request.code);
        if request.subresource == Subresource::Status && request.code >= SERVER_ERROR {
            let status = event.attempted.as_ref().map(|job| job.status.clone());
            life.unsettled.add(request.interval.received, status);
        }
        if is_of_environment(request.code, event.message.as_deref().unwrap_or_default()) {
            life.hindered.push((request.actor.user.to_owned(), at));
        }
        if request.subresource == Subresource::Status {
            add(&mut life.writers, request.actor.user);
            if INVALID.contains(&request.code) {
                life.refused.push(at);
            }
        }
    }

    fn version(&mut self, record: &Record<'_>, job: &Arc<Job>, at: Micros, request: Option<&Request<'_>>) {
        let version = match &record.body {
            Operand::Watched(watched) => watched.version,
            _ => request.and_then(|request| request.version).unwrap_or(0),
        };
        let created = request.filter(|request| request.verb == Verb::Create);
        let position = *self.positions.entry(job.uid).or_insert(self.jobs.len());
        if position == self.jobs.len() {
            let name = (job.namespace.clone(), job.name.clone());
            let former = self.named.insert(name.clone(), job.uid).and_then(|uid| self.positions.get(&uid));
            if former.is_some_and(|at| self.jobs[*at].gone.is_none()) {
                // The trace does not show the deletion of the former Job.
                self.hidden.insert(name);
            }
            self.jobs.push(Life {
                uid: job.uid,
                namespace: job.namespace.clone(),
                name: job.name.clone(),
                created: created.map_or(job.created.0.saturating_mul(1_000_000), |_| at),
                creator: created.map(|request| request.actor.user.to_owned()),
                stores: stored_uids(record),
                versions: Vec::new(),
                newest: 0,
                unsettled: Unsettled::default(),
                gone: None,
                has_expired: false,
                removed: None,
                orphans_pods: false,
                finalizers: [finalizers_of_others(job).cloned().collect(), Vec::new()],
                writers: Vec::new(),
                refused: Vec::new(),
                accepted: None,
                hindered: Vec::new(),
                shows_status: false,
                place: record.place,
            });
        }
        let life = &mut self.jobs[position];
        life.place = record.place;
        life.newest = life.newest.max(version);
        life.unsettled.shown(at);
        life.finalizers[1] = finalizers_of_others(job).cloned().collect();
        let is_known = life
            .versions
            .last()
            .is_some_and(|(_, _, last)| last.status == job.status && last.spec == job.spec);
        if !is_known {
            life.versions.push((version, at, job.clone()));
        }
    }

    /// The times at which one of these users works.
    pub(super) fn work_of<'a>(&self, users: impl Iterator<Item = &'a String>) -> Arc<[(Micros, Micros)]> {
        Stretches::union(users.filter_map(|user| self.worked.get(user)))
    }

    /// Returns `true` if the trace has a request of this user.
    pub(super) fn shows(&self, user: &str) -> bool {
        self.worked.contains_key(user)
    }

    /// Returns `true` if the trace does not show all that became of this Job, or of one with its name.
    pub(super) fn hides(&self, life: &Life) -> bool {
        self.hidden.contains(&(life.namespace.clone(), life.name.clone()))
    }

    /// The statuses of a Job that the trace shows.
    pub(super) fn statuses(&self, life: &Life) -> Statuses {
        let is_shown = life.shows_status || self.shows_statuses && !self.have_pods.contains(&life.uid);
        match (is_shown, self.has_pods || self.shows_statuses) {
            (true, _) => Statuses::Shown,
            (false, false) => Statuses::None,
            (false, true) => Statuses::LeftOut,
        }
    }

    fn reaches(&mut self, at: Micros) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn goes(&mut self, uid: Uid, at: Micros, request: Option<&Request<'_>>, is_removed: bool) {
        let Some(position) = self.positions.get(&uid) else { return };
        let life = &mut self.jobs[*position];
        if life.gone.is_none() {
            life.gone = Some((at, request.map(|request| request.actor.user.to_owned())));
            life.has_expired = request.is_some_and(is_of_ttl_controller);
        }
        if is_removed {
            life.removed.get_or_insert(at);
            self.named.retain(|_, named| *named != uid);
        }
    }
}

/// Returns `true` for a request of the TTL-after-finished controller. Several controllers may share one user, and differ in their
/// agents.
fn is_of_ttl_controller(request: &Request<'_>) -> bool {
    request.actor.user.ends_with(TTL_CONTROLLER) || request.actor.agent.ends_with(TTL_CONTROLLER)
}

fn has_orphan(job: &Job) -> bool {
    job.finalizers.iter().any(|finalizer| &**finalizer == ORPHAN)
}

fn add(users: &mut Vec<String>, user: &str) {
    if !users.iter().any(|known| known == user) {
        users.push(user.to_owned());
    }
}

/// The UIDs in labels and annotations of the Job in a record.
fn stored_uids(record: &Record<'_>) -> Vec<Uid> {
    let object = match &record.body {
        Operand::Request(request) => request.response,
        Operand::Watched(watched) => Some(watched.object),
        _ => None,
    };
    let labelled = object.and_then(|object| object.read::<Labelled>().ok()).and_then(|it| it.metadata);
    let Some(Labels { labels, annotations }) = labelled else { return Vec::new() };
    let values = labels.into_iter().chain(annotations).flatten().filter_map(|(key, value)| {
        // The API server itself stores the UID of a Job in its labels under these keys.
        (!key.ends_with("controller-uid")).then_some(value).flatten()
    });
    let is_uid = |text: &String| text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4;
    values.filter(is_uid).map(|text| Uid::parse(&text)).collect()
}
