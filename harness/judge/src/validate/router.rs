//! Routes each event to its Job.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Req, Uid};
use jobcheck_traces::{Form, Record, Verb};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::{ActorId, Actors, Role};
use super::bindings::Early;
use super::by_name::ByName;
use super::contents::{Content, Contents};
use super::delivery::Sender;
use super::disorder::Disorder;
use super::event::{Body, Event, Gap, JobEvent};
use super::job_writes::{self, By};
use super::managers::Managers;
use super::mirror;
use super::normalize::{Normalizer, has_actors};
use super::options::Options;
use super::owed::{End, owed};
use super::relists::Departures;
use super::sequence::{INTERRUPTED, Sequencer};
use super::settings::Settings;
use super::summary::Summary;
use super::track::Track;
use super::tracks::{Notice, Tracks};
use super::unlisted::Unlisted;
use super::unlogged::Unlogged;
use super::verdict::{JobVerdict, Owed, Unreadable};
use super::wanted::Others;
use super::{job_metadata, known_pods, pod_writes, refused_status, unsettled};

/// Number of removed Jobs, and of removed pods, that are kept.
pub(super) const DEPARTED: usize = 256;

/// Number of reasons that are listed for a trace that is not conclusive.
const REASONS: usize = 100;

/// Judges a trace while it is read.
#[derive(Debug)]
pub struct Validator {
    contents: Contents,
    normalizer: Normalizer,
    sequencer: Sequencer,
    judge: Judge,
}

/// A removed pod.
#[derive(Debug)]
pub(super) struct Departed {
    /// Its namespace and name.
    pub(super) key: (Text, Text),
    /// Its UID.
    pub(super) pod: Uid,
    /// The UID of its Job.
    pub(super) job: Uid,
}

/// The pods of the whole trace, by Job and by name.
#[derive(Debug, Default)]
pub(super) struct PodIndex {
    /// The Job that controls a pod.
    pub(super) owners: FxHashMap<Uid, Uid>,
    pub(super) ownerless: FxHashMap<Uid, Pod>,
    /// The last Job that controlled an ownerless pod.
    pub(super) former: FxHashMap<Uid, Uid>,
    pub(super) names: ByName,
    /// Recently removed pods, for late requests that name them.
    pub(super) departed: VecDeque<Departed>,
    /// Jobs that were recently named by pods, but not shown yet.
    pub(super) early: VecDeque<Uid>,
}

/// The results for the whole trace.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) verdicts: Vec<JobVerdict>,
    unlisted: Unlisted,
    judged: u64,
    premises: FxHashMap<Req, u64>,
    pub(super) events: u64,
    any_actors: bool,
    pub(super) doubts: Vec<String>,
    others: Others,
    doubtful: BTreeSet<Uid>,
    has_hole: bool,
}

impl Totals {
    /// Notes a reason for which the whole trace is not conclusive, once, and at most [`REASONS`] of them.
    ///
    /// A long recording has any number of gaps. A long gap is marked again behind each object that appears in it.
    pub(super) fn doubt(&mut self, reason: &str) {
        if self.doubts.len() > REASONS || self.doubts.iter().any(|known| known == reason) {
            return;
        }
        let is_full = self.doubts.len() == REASONS;
        self.doubts.push(if is_full { "further gaps are not listed" } else { reason }.to_owned());
    }
}

#[derive(Debug)]
pub(super) struct Judge {
    pub(super) settings: Settings,
    pub(super) tracks: Tracks,
    /// The Jobs by namespace and name.
    pub(super) names: ByName,
    /// Other living Jobs with these names, on other clusters.
    pub(super) namesakes: FxHashMap<(Text, Text), Vec<Uid>>,
    pub(super) pods: PodIndex,
    /// Recently removed Jobs.
    pub(super) departures: Departures,
    /// The Job that the current request of the Job controller concerns, and its sender.
    pub(super) reading: Option<(Uid, ActorId)>,
    /// The highest `resourceVersion` so far.
    pub(super) latest: u64,
    /// A watch does not show all changes before this `resourceVersion`.
    pub(super) interrupted_until: u64,
    /// The highest `resourceVersion` that the Job controller has seen, by the Jobs that it has handled.
    pub(super) served: u64,
    pub(super) end: End,
    pub(super) managers: Managers,
    early_bindings: Early,
    disorder: Disorder,
    pub(super) totals: Totals,
}

impl Validator {
    /// A validator before its first record.
    #[must_use]
    pub fn new(options: Options) -> Validator {
        let mut settings = Settings::new(options.rules, options.constants, options.gates, options.reported);
        (settings.profile, settings.skew, settings.stop) = (options.profile, options.skew, options.stop);
        options.restarted.iter().for_each(|time| settings.restarted(None, *time));
        settings.named_controller = options.actors.iter().any(|(role, _)| *role == Role::JobController);
        Validator {
            contents: Contents::default(),
            normalizer: Normalizer::new(Actors::new(options.actors)),
            sequencer: Sequencer::default(),
            judge: Judge {
                settings,
                tracks: Tracks::new(options.finished_at_hand),
                names: ByName::default(),
                namesakes: FxHashMap::default(),
                pods: PodIndex::default(),
                departures: Departures::default(),
                reading: None,
                latest: 0,
                interrupted_until: 0,
                served: 0,
                end: End { unlogged: Unlogged::of(options.log), ..End::default() },
                managers: Managers::default(),
                early_bindings: Early::default(),
                disorder: Disorder::default(),
                totals: Totals::default(),
            },
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    ///
    /// An object in the record has a field of a wrong type.
    pub fn feed(&mut self, record: &Record<'_>) -> Result<(), Unreadable> {
        let content = self.contents.of(record);
        self.feed_with(record, content)
    }

    /// Takes the next record with its content, which [`Contents`] has computed.
    ///
    /// # Errors
    ///
    /// An object in the record has a field of a wrong type.
    pub fn feed_with(&mut self, record: &Record<'_>, content: Content) -> Result<(), Unreadable> {
        if !self.judge.hears(record) {
            return Ok(());
        }
        let Some(mut event) = self.normalizer.event(record, content)? else { return Ok(()) };
        // Another actor may write before the first request of the controller.
        if let Some(sender) = event.actor.map(|actor| self.normalizer.actors.get(actor)) {
            self.judge.settings.named_controller |= sender.role == Role::JobController;
            let address = record.body.request().map_or("", |it| it.actor.address);
            self.judge.settings.heard(&event, sender, address);
        }
        let observations = &self.judge.settings.observations;
        if let Some(actor) = event.actor.filter(|_| !observations.is_empty()) {
            event.delivery.observer = observations.observer(self.normalizer.actors.get(actor));
        }
        // A list is as new as the last write to any object.
        if let (Form::Native, Some(version)) = (record.form, event.version) {
            self.judge.settings.observations.shows(version);
        }
        let (judge, actors) = (&mut self.judge, &self.normalizer.actors);
        self.sequencer.push(event, &mut |event| judge.event(event, actors));
        // All events before a mark were judged.
        if let jobcheck_traces::Body::Mark(mark) = record.body {
            self.judge
                .settings
                .takes_over(mark)
                .map_err(|problem| Unreadable { place: record.place, problem })?;
        }
        Ok(())
    }

    /// Ends the trace.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        let (judge, actors) = (&mut self.judge, &self.normalizer.actors);
        self.sequencer.flush(&mut |event| judge.event(event, actors));
        let hidden = self.normalizer.hidden;
        self.judge.finish(hidden, self.normalizer.actors)
    }
}

impl Judge {
    fn event(&mut self, mut event: Event, actors: &Actors) {
        if let Body::Gap(Gap { until: Some(until), .. }) = &event.body {
            self.interrupted_until = self.interrupted_until.max(*until);
            return self.gap(INTERRUPTED, self.totals.events + 1);
        }
        self.totals.events += 1;
        event.order = self.totals.events;
        if matches!(event.body, Body::Bound) && event.is_accepted() && self.named_pod(&event).is_none() {
            return self.early_bindings.hold(event);
        }
        // By now, all requests of the sender up to this one have been read.
        if event.delivery.sender == Sender::Alive {
            event.delivery.sender = self.settings.sender_of(&event);
        }
        if event.arrival.late {
            self.disorder.note(&event);
        }
        let event = &event;
        if let Some(when) = event.when {
            self.settings.observations.judged(when.done);
        }
        self.settings.has_actors = has_actors(event.form);
        self.totals.any_actors |= self.settings.has_actors;
        let role = event.actor.map_or(Role::Other, |actor| actors.get(actor).role);
        self.end.note(event, role);
        if self.end.is_time_to_look() {
            self.look_for_late_work();
        }
        self.latest = self.latest.max(event.version.unwrap_or(0));
        if event.arrival.interrupted.is_some() {
            self.gap(INTERRUPTED, event.order);
        }
        match &event.body {
            Body::Job(it) => self.job(event, it, role),
            Body::Pod(it) => self.pod(event, it, role),
            Body::PodCollection(pods) => pods.iter().for_each(|pod| self.collected(event, pod, role)),
            Body::JobCollection(jobs) => jobs.iter().for_each(|it| self.collected_job(event, &it.job, role)),
            Body::Evicted => self.evicted(event, role),
            Body::Bound => self.bound(event),
            Body::Gap(gap) => {
                self.gap(&gap.reason, event.order);
                self.pods.names.forget(&gap.gone);
                gap.gone.iter().for_each(|uid| self.gone_unseen(event, *uid));
            }
            Body::UnseenCollection(resource, reason) => self.gap_in(event, *resource, reason),
            Body::Restart(name) => self.restart(event, name),
            Body::Relist(resource) => self.relist(*resource),
        }
        if let Some(binding) = self.early_bindings.of(event) {
            self.bound(&binding);
        }
        self.note_caches();
    }

    /// Notes that changes are missing before the event with this position.
    fn gap(&mut self, reason: &str, before: u64) {
        self.totals.doubt(reason);
        for track in self.tracks.awake_mut().filter(|track| !track.is_finished()) {
            track.doubt(reason.to_owned());
        }
        self.tracks.notify(Notice::Gap(before));
    }

    fn job(&mut self, event: &Event, it: &JobEvent, role: Role) {
        let Some(uid) = self.job_of(event, it) else { return };
        if event.is_accepted() && it.hidden && it.after.is_none() && !it.gone {
            if let Some(track) = self.tracks.get_mut(&uid) {
                track.withdraw_conflicts();
                track.doubt("the audit level hides a write of the Job".to_owned());
                track.coverage.lacks_write(event.order);
            }
            return;
        }
        if !self.tracks.contains(&uid) {
            if it.gone && event.form == Form::Watch {
                // The end of an unknown Job, or of one that a log has removed, shows nothing.
                return;
            }
            if let Some(job) = it.after.clone().filter(|_| event.is_accepted()) {
                self.first_sight(event, uid, job, role);
            }
            if !it.gone {
                return;
            }
        }
        if self.tracks.get_mut(&uid).is_some_and(|track| track.comes_late(event)) {
            return;
        }
        let is_suspenders = self.tracks.peek(&uid).is_some_and(|track| track.is_suspenders(event, it));
        let manages =
            event.is_status && self.tracks.peek(&uid).is_some_and(|track| track.shows_manager(event, it));
        let by = self.by(event, role, uid, manages && !is_suspenders);
        // A refused write of the previous Job with this name shows nothing about this one.
        if by == By::Manager && it.attempted.as_ref().is_none_or(|job| job.uid == uid) {
            self.attended(uid);
        }
        let strange = self.strange_pods(it, uid);
        let Some(track) = self.tracks.get_mut(&uid) else { return };
        track.pods.strange = strange;
        if event.actor.is_none() && track.is_built_in() {
            track.manager.executor = true;
        }
        if by == By::Other && role == Role::Other && event.is_status && event.is_accepted() && !is_suspenders
        {
            self.managers.judge(track, event);
        }
        let changed = track.times.changed;
        if event.is_accepted() {
            unsettled::settle(track, event, it, &self.settings);
            track.find_missing_write(event, it);
        }
        match (event.is_accepted(), event.verb) {
            (false, _) => refused_status::refused(track, event, it, by, &self.settings),
            (true, Some(Verb::Delete)) => job_writes::deleted(track, event, it, by, &self.settings),
            (true, _) if it.metadata.is_some() => job_metadata::written(track, event, it, by, &self.settings),
            (true, _) if event.version.is_none() && !it.gone && by == By::Manager => {
                track.came_to_nothing(event);
                mirror::wrote_nothing(track, event, by);
            }
            (true, _) if event.version.is_none() && !it.gone => {}
            (true, _) => {
                job_writes::updated(track, event, it, by, &self.settings);
            }
        }
        if track.times.changed != changed {
            track.manager.mirror.worked = self.end.work_of(track.manager.actor).map_or(0, |work| work.total);
        }
        if it.gone && event.is_accepted() {
            self.job_gone(event, uid);
        } else if let Some(track) = self.tracks.get_mut(&uid) {
            track.saw(event, None);
            track.rest();
            self.tracks.used(uid);
        }
    }

    /// The UIDs in the lists of this write that belong to pods of another Job (PC-29).
    fn strange_pods(&self, it: &JobEvent, job: Uid) -> FxHashSet<Uid> {
        let Some(after) = &it.after else { return FxHashSet::default() };
        let listed = after.status.uncounted_succeeded().iter().chain(after.status.uncounted_failed());
        listed.copied().filter(|uid| self.pods.owners.get(uid).is_some_and(|owner| *owner != job)).collect()
    }

    fn job_gone(&mut self, event: &Event, uid: Uid) {
        let Some(track) = self.tracks.get_mut(&uid) else { return };
        if track.stored.is_some() {
            job_writes::gone(track, event);
        }
        let key = (track.id.namespace.clone(), track.id.name.clone());
        self.departures.add(track, event.version, self.latest, &self.settings.constants);
        self.forget_name(&key, uid);
        self.close_if_over(uid);
    }

    /// Removes an object whose deletion fell into a gap. Otherwise a long recording would keep such Jobs to its end.
    fn gone_unseen(&mut self, event: &Event, uid: Uid) {
        if self.tracks.contains(&uid) {
            return self.job_gone(event, uid);
        }
        self.pods.ownerless.remove(&uid);
        self.ownerless_gone(event, uid);
        let Some(job) = self.pods.owners.remove(&uid) else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            pod_writes::gone(track, event, uid);
        }
        self.close_if_over(job);
    }

    /// Ends the judgement of a Job that is gone, and whose pods are gone or without its finalizer.
    pub(super) fn close_if_over(&mut self, uid: Uid) {
        let over = self
            .tracks
            .peek(&uid)
            .is_some_and(|track| track.stored.is_none() && !track.history.holds_finalizers());
        if !over {
            return;
        }
        self.note_caches();
        let Some(track) = self.tracks.remove(&uid) else { return };
        for pod in track.history.stored.iter() {
            self.pods.owners.remove(&pod.uid);
        }
        self.pods.former.retain(|_, job| *job != uid);
        self.close(*track);
    }

    /// Judges a Job of a deletecollection. It goes at once unless a finalizer keeps it, its own or that of the propagation
    /// policy.
    fn collected_job(&mut self, event: &Event, job: &Job, role: Role) {
        let held = !job.finalizers.is_empty();
        let by = self.by(event, role, job.uid, false);
        let Some(track) = self.tracks.get_mut(&job.uid) else { return };
        let Some(stored) = track.stored.clone() else { return };
        let finalizers = job.finalizers.clone();
        let after = Arc::new(Job { deleting: true, generation: 0, finalizers, ..(*stored).clone() });
        let it = JobEvent::state(after);
        job_writes::updated(track, event, &it, by, &self.settings);
        // The version after the deletion is not shown.
        track.coverage.version = None;
        if !held {
            self.job_gone(event, job.uid);
        }
    }

    fn close(&mut self, mut track: Track) {
        self.disorder.judge(&mut track);
        self.end.unlogged.ends(track.id.uid);
        track.settle_conflicts();
        self.totals.doubtful.extend(track.is_doubtful().then_some(track.id.uid));
        self.totals.has_hole |= track.coverage.has_hole;
        if !self.settings.reported.wanted.has(&track.id.namespace, &track.id.name) {
            return self.totals.others.add(&track.id.namespace, &track.id.name);
        }
        if !track.coverage.undeleted.is_empty() {
            self.end.unlogged.shows_deletion(&track.id.namespace);
        }
        track.find_never_shown();
        let owed = owed(&track, &self.settings);
        let is_overdue = |it: &Owed| {
            if track.is_mirrored() && it.is_mirrored() {
                return track.manager.mirror.has_had_time(it.req, self.end.work_of(track.manager.actor));
            }
            it.is_overdue(&self.end, track.manager.actor) || track.has_neglected(it.obligation, self.end.last)
        };
        let (overdue, mut pending): (Vec<_>, Vec<_>) = owed.into_iter().partition(is_overdue);
        let overdue = track.owed_in_each_case(overdue, &mut pending, &self.settings);
        let refusal = &track.trouble.refusal;
        let (excused, overdue): (Vec<_>, Vec<_>) = overdue.into_iter().partition(|it| refusal.excuses(it));
        pending.extend(excused);
        refusal.reason(&pending).into_iter().for_each(|note| track.reserve(note));
        let place = track.account.story.back().map(|note| note.place);
        track.late_work.judged(&overdue);
        for debt in overdue {
            let broken = known_pods::of_debt(&track, debt.broken(), &self.settings.rules, self.end.last);
            track.overdue(place, broken);
        }
        track.warn_of_late_work();
        for req in track.results.premises.premises() {
            *self.totals.premises.entry(req).or_default() += 1;
        }
        let verdict = track.verdict(pending);
        self.totals.judged += verdict.judged;
        match self.settings.reported.kept.has(&verdict) {
            true => self.totals.verdicts.push(verdict),
            false => self.totals.unlisted.add(&verdict),
        }
    }

    fn finish(mut self, hidden: u64, actors: Actors) -> Summary {
        for track in std::mem::replace(&mut self.tracks, Tracks::new(0)).drain() {
            self.close(*track);
        }
        let doubts = self.end.doubts(&mut self.totals.verdicts);
        let mut premises: Vec<(Req, u64)> = self.totals.premises.into_iter().collect();
        premises.sort_unstable();
        Summary {
            judged: self.totals.judged,
            jobs: self.totals.verdicts,
            unlisted: self.totals.unlisted,
            premises,
            events: self.totals.events,
            has_actors: self.totals.any_actors,
            hidden,
            doubts: self.totals.doubts.into_iter().chain(self.disorder.doubt()).chain(doubts).collect(),
            last: self.end.last,
            others: self.totals.others,
            doubtful: self.totals.doubtful,
            has_hole: self.totals.has_hole,
            actors,
        }
    }
}

/// The Job that controls a pod.
pub(super) fn job_controller(owner: Option<&jobcheck_spec::birth::OwnerRef>) -> Option<Uid> {
    owner.filter(|owner| &*owner.kind == "Job" && &*owner.api_version == "batch/v1").map(|owner| owner.uid)
}

#[cfg(test)]
mod tests;
