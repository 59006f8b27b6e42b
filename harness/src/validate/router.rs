//! Leads every event to the Job that it is about.

use std::collections::VecDeque;
use std::sync::Arc;

use jobcheck_model::apiserver::RuleSet;
use jobcheck_model::constants::Constants;
use jobcheck_model::job::{Job, Text};
use jobcheck_model::pod::Pod;
use jobcheck_model::{Req, Uid};
use jobcheck_traces::{Record, Verb};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::{Actors, Role};
use super::event::{Body, Event, JobEvent, PodEvent};
use super::job_writes::{self, By};
use super::managers::Managers;
use super::normalize::{Normalizer, has_actors};
use super::owed::{End, owed};
use super::pod_api::judge_pod_deletion;
use super::pod_writes;
use super::sequence::Sequencer;
use super::settings::Settings;
use super::track::Track;
use super::verdict::{JobVerdict, Outcome, Unreadable};
use crate::project::PodObject;

/// How many Jobs and pods that went are remembered.
const DEPARTED: usize = 256;

/// What a validation is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The API server's rules.
    pub rules: RuleSet,
    /// The subject's constants.
    pub constants: Constants,
    /// Who plays which role, from `--actor ROLE=USER`.
    pub actors: Vec<(Role, String)>,
}

impl Default for Options {
    fn default() -> Options {
        Options { rules: RuleSet::V1_36, constants: Constants::V1_36, actors: Vec::new() }
    }
}

/// Judges a trace as it is read.
#[derive(Debug)]
pub struct Validator {
    normalizer: Normalizer,
    sequencer: Sequencer,
    judge: Judge,
}

/// What the validation of a trace comes to.
#[derive(Debug)]
pub struct Summary {
    /// The verdict on each Job, in the order in which they appeared.
    pub jobs: Vec<JobVerdict>,
    /// Requirements that were judged, with the number of Jobs in which their premise was met.
    pub premises: Vec<(Req, u64)>,
    /// Writes on which a guard was evaluated.
    pub judged: u64,
    /// Events that were read.
    pub events: u64,
    /// Whether actors and refusals were shown.
    pub has_actors: bool,
    /// Requests whose answer the trace's level hides.
    pub hidden: u64,
    /// Doubts about the trace as a whole.
    pub doubts: Vec<String>,
}

#[derive(Debug)]
struct Judge {
    settings: Settings,
    tracks: FxHashMap<Uid, Track>,
    names: FxHashMap<(Text, Text), Uid>,
    owners: FxHashMap<Uid, Uid>,
    strays: FxHashMap<Uid, Pod>,
    pod_names: FxHashMap<(Text, Text), Uid>,
    /// Pods that went lately, and their Jobs: a late DELETE names them.
    departed: VecDeque<((Text, Text), Uid)>,
    /// Jobs that went lately: another may come under such a name (BO-06).
    departed_jobs: VecDeque<(Text, Text)>,
    verdicts: Vec<JobVerdict>,
    premises: FxHashMap<Req, u64>,
    end: End,
    events: u64,
    any_actors: bool,
    doubts: Vec<String>,
    managers: Managers,
}

impl Validator {
    /// A validator that has read nothing.
    #[must_use]
    pub fn new(options: Options) -> Validator {
        Validator {
            normalizer: Normalizer::new(Actors::new(options.actors)),
            sequencer: Sequencer::default(),
            judge: Judge {
                settings: Settings::new(options.rules, options.constants),
                tracks: FxHashMap::default(),
                names: FxHashMap::default(),
                owners: FxHashMap::default(),
                strays: FxHashMap::default(),
                pod_names: FxHashMap::default(),
                departed: VecDeque::new(),
                departed_jobs: VecDeque::new(),
                verdicts: Vec::new(),
                premises: FxHashMap::default(),
                end: End::default(),
                events: 0,
                any_actors: false,
                doubts: Vec::new(),
                managers: Managers::default(),
            },
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    ///
    /// An object in it has a field of a wrong type.
    pub fn feed(&mut self, record: &Record<'_>) -> Result<(), Unreadable> {
        let Some(event) = self.normalizer.event(record)? else { return Ok(()) };
        let (judge, actors) = (&mut self.judge, &self.normalizer.actors);
        self.sequencer.push(event, &mut |event| judge.event(&event, actors));
        Ok(())
    }

    /// The trace has ended.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        let (judge, actors) = (&mut self.judge, &self.normalizer.actors);
        self.sequencer.flush(&mut |event| judge.event(&event, actors));
        self.judge.finish(self.normalizer.hidden)
    }
}

impl Judge {
    fn event(&mut self, event: &Event, actors: &Actors) {
        self.events += 1;
        self.settings.has_actors = has_actors(event.form);
        self.any_actors |= self.settings.has_actors;
        let role = event.actor.map_or(Role::Other, |actor| actors.get(actor).role);
        self.note_time(event, role);
        self.settings.heard(event);
        if event.relisted {
            self.gap("the watch began again, and what lies between is not shown");
        }
        match &event.body {
            Body::Job(it) => self.job(event, it, role),
            Body::Pod(it) => self.pod(event, it, role),
            Body::PodCollection(pods) => {
                for pod in pods {
                    self.collected(event, pod);
                }
            }
            Body::JobCollection(jobs) => {
                for job in jobs {
                    self.collected_job(event, job, role);
                }
            }
            Body::Evicted => self.evicted(event),
            Body::Bound => self.bound(event),
            Body::Gap(reason) => self.gap(reason),
            Body::Restart => self.restart(event),
        }
    }

    fn note_time(&mut self, event: &Event, role: Role) {
        let Some(when) = event.when else { return };
        self.end.last = self.end.last.max(Some(when.done));
        match role {
            Role::JobController => {
                self.settings.named_controller = true;
                self.end.job_controller = Some(when.done);
            }
            Role::TtlController => self.end.ttl_controller = Some(when.done),
            Role::GarbageCollector | Role::PodGc | Role::Kubelet | Role::Other => {}
        }
    }

    fn gap(&mut self, reason: &str) {
        self.doubts.push(reason.to_owned());
        for track in self.tracks.values_mut() {
            if track.stored.as_ref().is_none_or(|job| !job.status.is_finished()) {
                track.doubt(reason.to_owned());
            }
            track.stale = true;
        }
    }

    fn restart(&mut self, event: &Event) {
        self.settings.restarted(event.when.map(|when| when.done));
        for track in self.tracks.values_mut() {
            track.backoff.lose();
        }
    }

    /// The part that an actor plays for a Job; learns who manages it.
    fn by(&mut self, event: &Event, role: Role, uid: Uid, manages: bool) -> By {
        let named = self.settings.named_controller;
        let Some(track) = self.tracks.get_mut(&uid) else { return By::Other };
        let Some(actor) = event.actor else { return By::Manager };
        let built_in = track.is_built_in();
        let is_manager = match role {
            Role::JobController => built_in,
            Role::Other if !built_in || !named => {
                if manages && track.manager.is_none() {
                    track.manager = Some(actor);
                    if let Some(value) = track.managed_by.as_ref().filter(|_| !built_in) {
                        self.managers.note(actor, value);
                    }
                }
                track.manager == Some(actor)
            }
            Role::Other | Role::TtlController | Role::GarbageCollector | Role::PodGc | Role::Kubelet => false,
        };
        if is_manager && built_in {
            track.executor = true;
        }
        if is_manager && event.is_accepted() {
            track.trouble.server_error = false;
        }
        job_writes::by(role, is_manager, built_in)
    }

    fn job(&mut self, event: &Event, it: &JobEvent, role: Role) {
        let key = (event.namespace.clone(), event.name.clone());
        let uid = it.uid.or_else(|| self.names.get(&key).copied());
        let Some(uid) = uid else { return };
        if event.is_accepted() && it.hidden && it.after.is_none() && !it.gone {
            if let Some(track) = self.tracks.get_mut(&uid) {
                track.doubt("the trace's level hides a write of the Job".to_owned());
                track.stale = true;
            }
            return;
        }
        if !self.tracks.contains_key(&uid) {
            if let Some(job) = it.after.clone().filter(|_| event.is_accepted()) {
                self.first_sight(event, uid, job, role);
            }
            if !it.gone {
                return;
            }
        }
        let by = self.by(event, role, uid, event.is_status);
        let strange = self.strange_pods(it, uid);
        let Some(track) = self.tracks.get_mut(&uid) else { return };
        track.counted.strange = strange;
        if event.actor.is_none() && track.is_built_in() {
            track.executor = true;
        }
        if by == By::Other && role == Role::Other && event.is_status && event.is_accepted() {
            self.managers.judge(track, event);
        }
        match (event.is_accepted(), event.verb) {
            (false, _) => job_writes::refused(track, event, it, by, &self.settings),
            (true, Some(Verb::Delete)) => job_writes::deleted(track, event, it, by, &self.settings),
            (true, _) if it.metadata.is_some() => metadata_written(track, it),
            (true, _) if event.version.is_none() && !it.gone => {}
            (true, _) => {
                job_writes::updated(track, event, it, by, &self.settings);
            }
        }
        if it.gone && event.is_accepted() {
            self.job_gone(event, uid);
        } else if let Some(track) = self.tracks.get_mut(&uid) {
            track.rest();
        }
    }

    /// Pods in the lists of this write that another Job controls (PC-29).
    fn strange_pods(&self, it: &JobEvent, job: Uid) -> FxHashSet<Uid> {
        let Some(after) = &it.after else { return FxHashSet::default() };
        let listed = after.status.uncounted_succeeded().iter().chain(after.status.uncounted_failed());
        listed.copied().filter(|uid| self.owners.get(uid).is_some_and(|owner| *owner != job)).collect()
    }

    fn first_sight(&mut self, event: &Event, uid: Uid, job: Arc<Job>, role: Role) {
        let created = event.verb == Some(Verb::Create);
        let fresh = job.status == jobcheck_model::job::JobStatus::default() && !job.deleting;
        let born = created || (event.actor.is_none() && fresh);
        let key = (job.namespace.clone(), job.name.clone());
        self.names.insert(key, uid);
        let mut track = Track::new(job.clone(), event.version, born);
        track.changed = event.when.map(|when| when.done);
        track.namesake = self.departed_jobs.iter().any(|key| key.0 == job.namespace && key.1 == job.name);
        if born {
            job_writes::created(&mut track, event, &job, &self.settings);
        } else {
            track.tell(event.place, "first seen in mid-life".to_owned());
        }
        self.tracks.insert(uid, track);
        if event.is_status {
            self.by(event, role, uid, true);
        }
    }

    fn job_gone(&mut self, event: &Event, uid: Uid) {
        let Some(track) = self.tracks.get_mut(&uid) else { return };
        if track.stored.is_some() {
            job_writes::gone(track, event);
        }
        let key = (track.namespace.clone(), track.name.clone());
        if self.names.get(&key) == Some(&uid) {
            self.names.remove(&key);
        }
        if self.departed_jobs.len() == DEPARTED {
            self.departed_jobs.pop_front();
        }
        self.departed_jobs.push_back(key);
        self.close_if_over(uid);
    }

    /// A Job that is gone, and whose pods are gone or released, has no more story.
    fn close_if_over(&mut self, uid: Uid) {
        let over = self
            .tracks
            .get(&uid)
            .is_some_and(|track| track.stored.is_none() && !track.history.stored.iter().any(|pod| pod.finalizer));
        if over {
            if let Some(track) = self.tracks.remove(&uid) {
                for pod in track.history.stored.iter() {
                    self.owners.remove(&pod.uid);
                }
                self.close(track);
            }
        }
    }

    fn pod(&mut self, event: &Event, it: &PodEvent, role: Role) {
        if !event.is_accepted() {
            return self.pod_refused(event, it, role);
        }
        let Some(uid) = it.uid else { return };
        let owner = self.owners.get(&uid).copied();
        if it.hidden && it.after.is_none() {
            if let Some(track) = owner.and_then(|job| self.tracks.get_mut(&job)) {
                track.doubt("the trace's level hides a write of a pod".to_owned());
            }
            return;
        }
        match (&it.after, &it.metadata) {
            (Some(pod), _) => {
                let controller = job_controller(pod.controller.as_ref());
                self.pod_state(event, it, &pod.pod, &pod.labels, controller, role);
            }
            (None, Some(metadata)) => self.pod_metadata(event, it, metadata, role),
            (None, None) => {
                if event.verb == Some(Verb::Delete) {
                    self.pod_gone(event, uid);
                }
            }
        }
    }

    fn pod_refused(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let creator = it.metadata.as_ref().and_then(|asked| job_controller(asked.controller.as_ref()));
        let key = (event.namespace.clone(), event.name.clone());
        let uid = it.uid.or_else(|| self.pod_names.get(&key).copied());
        let late = || self.departed.iter().find(|(name, _)| *name == key).map(|(_, job)| *job);
        let owner = uid.and_then(|uid| self.owners.get(&uid).copied()).or_else(late);
        let Some(job) = creator.or(owner) else { return };
        let by = self.by(event, role, job, creator.is_some());
        let Some(track) = self.tracks.get_mut(&job) else { return };
        if creator.is_some() && by == By::Manager {
            pod_writes::creation_refused(track, event, it, &self.settings);
        } else {
            pod_writes::refused(track, event, it, uid, by);
        }
    }

    fn pod_metadata(&mut self, event: &Event, it: &PodEvent, metadata: &crate::project::PartialMetadata, role: Role) {
        let uid = metadata.uid;
        let owner = self.owners.get(&uid).copied();
        let known = owner
            .and_then(|job| self.tracks.get(&job))
            .and_then(|track| track.history.stored.get(uid))
            .or_else(|| self.strays.get(&uid));
        let Some(known) = known.cloned() else { return };
        let tracking = |name: &Text| &**name == jobcheck_model::pod::TRACKING_FINALIZER;
        let pod = Pod {
            finalizer: metadata.finalizers.iter().any(tracking),
            other_finalizers: metadata.finalizers.iter().any(|name| !tracking(name)),
            deleting: metadata.deletion_timestamp.is_some(),
            ..known
        };
        let controller = job_controller(metadata.controller.as_ref());
        self.pod_state(event, it, &pod, &metadata.labels, controller, role);
    }

    fn pod_state(
        &mut self,
        event: &Event,
        it: &PodEvent,
        pod: &Pod,
        labels: &[(Text, Text)],
        controller: Option<Uid>,
        role: Role,
    ) {
        let owner = self.owners.get(&pod.uid).copied();
        match (owner, controller) {
            (Some(old), Some(new)) if old == new => self.pod_of(event, it, pod, old, role),
            (Some(old), new) => {
                self.pod_leaves(event, it, pod, labels, old, role);
                if let Some(new) = new {
                    self.pod_arrives(event, it, pod, labels, new, role);
                }
            }
            (None, Some(new)) => self.pod_arrives(event, it, pod, labels, new, role),
            (None, None) => {
                if it.gone {
                    self.strays.remove(&pod.uid);
                } else if pod.finalizer || event.verb == Some(Verb::Create) || event.actor.is_none() {
                    self.strays.insert(pod.uid, pod.clone());
                }
            }
        }
    }

    fn pod_of(&mut self, event: &Event, it: &PodEvent, pod: &Pod, job: Uid, role: Role) {
        let released = !pod.finalizer || it.gone;
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.note_time(event);
            if let (Some(before), Some(after)) = (track.history.stored.get(pod.uid).cloned(), &it.after) {
                judge_pod_deletion(track, event, &before, after);
            }
            pod_writes::updated(track, event, pod, it.gone, by, &self.settings);
            track.history.forget_before(track.frontier.earliest());
            if released {
                track.rest();
            }
        }
        if it.gone {
            self.departs(event, pod.uid, job);
        }
        self.close_if_over(job);
    }

    fn departs(&mut self, event: &Event, uid: Uid, job: Uid) {
        self.owners.remove(&uid);
        let key = (event.namespace.clone(), event.name.clone());
        if self.pod_names.get(&key) == Some(&uid) {
            self.pod_names.remove(&key);
        }
        if self.departed.len() == DEPARTED {
            self.departed.pop_front();
        }
        self.departed.push_back((key, job));
    }

    fn pod_leaves(&mut self, event: &Event, it: &PodEvent, pod: &Pod, labels: &[(Text, Text)], job: Uid, role: Role) {
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            pod_writes::given_up(track, event, Some(pod), pod.uid, labels, by);
        }
        self.owners.remove(&pod.uid);
        if !it.gone {
            self.strays.insert(pod.uid, pod.clone());
        }
        self.close_if_over(job);
    }

    fn pod_arrives(&mut self, event: &Event, it: &PodEvent, pod: &Pod, labels: &[(Text, Text)], job: Uid, role: Role) {
        if it.gone {
            // A late answer to the DELETE of a pod that went in the meantime.
            let by = self.by(event, role, job, false);
            if let Some(track) = self.tracks.get_mut(&job) {
                pod_writes::updated(track, event, pod, true, by, &self.settings);
            }
            return;
        }
        if !self.tracks.contains_key(&job) {
            return;
        }
        let stray = self.strays.remove(&pod.uid);
        self.pod_names.insert((event.namespace.clone(), event.name.clone()), pod.uid);
        let created = event.verb == Some(Verb::Create) || (event.actor.is_none() && stray.is_none());
        let by = self.by(event, role, job, created);
        self.owners.insert(pod.uid, job);
        let Some(track) = self.tracks.get_mut(&job) else { return };
        // What a watch shows of a Job in mid-life may have been there before it began.
        if created && (event.actor.is_some() || track.complete) {
            pod_writes::created(track, event, it, pod, by, &self.settings);
        } else {
            pod_writes::adopted(track, event, stray.as_ref(), pod, labels, by);
        }
    }

    fn collected(&mut self, event: &Event, object: &PodObject) {
        let uid = object.pod.uid;
        let Some(job) = self.owners.get(&uid).copied() else { return };
        let Some(track) = self.tracks.get_mut(&job) else { return };
        let Some(before) = track.history.stored.get(uid).cloned() else { return };
        let pod = Pod { deleting: true, ..before };
        let at_once = !pod.scheduled || pod.is_terminated();
        let gone = object.finalizers.is_empty() && at_once;
        pod_writes::updated(track, event, &pod, gone, By::Other, &self.settings);
        if gone {
            self.owners.remove(&uid);
        }
    }

    /// A Job of a deletecollection: it goes at once unless a finalizer, its own or that of its propagation
    /// policy, holds it; later events tell.
    fn collected_job(&mut self, event: &Event, job: &Job, role: Role) {
        let held = !job.finalizers.is_empty();
        let by = self.by(event, role, job.uid, false);
        let Some(track) = self.tracks.get_mut(&job.uid) else { return };
        let Some(stored) = track.stored.clone() else { return };
        let after = Arc::new(Job { deleting: true, generation: 0, ..(*stored).clone() });
        let it = JobEvent::state(after);
        job_writes::updated(track, event, &it, by, &self.settings);
        if !held {
            self.job_gone(event, job.uid);
        }
    }

    fn named_pod(&mut self, event: &Event) -> Option<(Uid, Pod)> {
        let uid = *self.pod_names.get(&(event.namespace.clone(), event.name.clone()))?;
        let job = *self.owners.get(&uid)?;
        self.tracks.get(&job)?.history.stored.get(uid).map(|pod| (job, pod.clone()))
    }

    /// An eviction is answered with a Status: the pod is being deleted from now on.
    fn evicted(&mut self, event: &Event) {
        let Some((job, pod)) = self.named_pod(event).filter(|_| event.is_accepted()) else { return };
        let gone = !pod.finalizer && !pod.other_finalizers && (!pod.scheduled || pod.is_terminated());
        let after = Pod { deleting: true, ..pod };
        if let Some(track) = self.tracks.get_mut(&job) {
            pod_writes::updated(track, event, &after, gone, By::Other, &self.settings);
        }
    }

    fn bound(&mut self, event: &Event) {
        let Some((job, pod)) = self.named_pod(event).filter(|_| event.is_accepted()) else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            let after = Pod { scheduled: true, ..pod };
            pod_writes::updated(track, event, &after, false, By::Other, &self.settings);
        }
    }

    fn pod_gone(&mut self, event: &Event, uid: Uid) {
        self.strays.remove(&uid);
        if let Some(job) = self.owners.get(&uid).copied() {
            if let Some(track) = self.tracks.get_mut(&job) {
                pod_writes::gone(track, event, uid);
            }
            self.departs(event, uid, job);
            self.close_if_over(job);
        }
    }

    fn close(&mut self, mut track: Track) {
        let owed = owed(&track, &self.settings);
        let (overdue, pending): (Vec<_>, Vec<_>) = owed.into_iter().partition(|it| it.is_overdue(self.end));
        let place = track.story.back().map(|(place, _)| *place);
        for debt in overdue {
            track.overdue(place, debt.broken());
        }
        for req in track.premises.premises() {
            *self.premises.entry(req).or_default() += 1;
        }
        self.verdicts.push(track.verdict(pending));
    }

    fn finish(mut self, hidden: u64) -> Summary {
        let mut tracks: Vec<Track> = std::mem::take(&mut self.tracks).into_values().collect();
        tracks.sort_by(|a, b| (&a.namespace, &a.name, a.uid).cmp(&(&b.namespace, &b.name, b.uid)));
        for track in tracks {
            self.close(track);
        }
        let mut premises: Vec<(Req, u64)> = self.premises.into_iter().collect();
        premises.sort_unstable();
        Summary {
            judged: self.verdicts.iter().map(|verdict| verdict.judged).sum(),
            jobs: self.verdicts,
            premises,
            events: self.events,
            has_actors: self.any_actors,
            hidden,
            doubts: self.doubts,
        }
    }
}

impl Summary {
    /// The verdict on the trace.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let worst = self.jobs.iter().map(|job| job.outcome).max().unwrap_or(Outcome::Inconclusive);
        if worst == Outcome::Conforms && (self.judged == 0 || !self.doubts.is_empty()) {
            return Outcome::Inconclusive;
        }
        worst
    }
}

/// The Job that controls a pod.
fn job_controller(owner: Option<&crate::project::OwnerRef>) -> Option<Uid> {
    owner.filter(|owner| &*owner.kind == "Job" && &*owner.api_version == "batch/v1").map(|owner| owner.uid)
}

fn metadata_written(track: &mut Track, it: &JobEvent) {
    let (Some(metadata), Some(stored)) = (&it.metadata, track.stored.clone()) else { return };
    let job = Job {
        finalizers: metadata.finalizers.clone(),
        deleting: metadata.deletion_timestamp.is_some(),
        ..(*stored).clone()
    };
    track.version = metadata.resource_version.or(track.version);
    track.stored = Some(Arc::new(job.clone()));
    track.frontier.push(Arc::new(job), false);
}
