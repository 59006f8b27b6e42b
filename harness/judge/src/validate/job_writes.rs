//! Judges writes to a Job.

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use jobcheck_spec::apiserver::{
    validate_base, validate_create, validate_delete, validate_removal, validate_spec_update,
    validate_status_update,
};
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::contract::{judge_condition_statuses, judge_spec_after_finish};
use jobcheck_spec::guards::counting::{added, judge_counting_truth};
use jobcheck_spec::guards::finalizer_removal;
use jobcheck_spec::guards::mirror::is_of_suspender;
use jobcheck_spec::guards::mirror_metadata::judge_deletion;
use jobcheck_spec::guards::ownership::judge_own_deletion;
use jobcheck_spec::guards::status::{
    judge_list_size, judge_none_active, judge_status_shape, judge_terminal_truth,
};
use jobcheck_spec::guards::suspend::judge_resumption_time;
use jobcheck_spec::guards::times::{Bounds, judge_times};
use jobcheck_spec::guards::ttl::judge_ttl_deletion;
use jobcheck_spec::job::{ConditionKind, Job, JobStatus};
use jobcheck_spec::view::View;
use jobcheck_spec::{Findings, Req, Time, Uid};
use jobcheck_traces::Verb;

use super::actor::Role;
use super::clock::Written;
use super::contents::propagation;
use super::event::{Event, JobEvent};
use super::frontier::Versions;
use super::known;
use super::managers::{self, intrusion};
use super::mirror;
use super::mirror_metadata;
use super::own_deletions;
use super::pod_records::Fact;
use super::settings::Settings;
use super::story::{self, Words};
use super::times;
use super::track::Track;
use super::without_interim;

/// The role of the sender of a write towards a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The manager of the Job.
    Manager,
    /// The built-in controller, for a Job of another manager.
    Intruder,
    /// The TTL controller.
    Ttl,
    /// Any other actor: the environment.
    Other,
}

/// Judges the creation of a Job (SP, PC-15).
pub fn created(track: &mut Track, event: &Event, job: &Job, settings: &Settings) {
    let mut findings = Findings::new();
    validate_create(&settings.rules, job, &mut findings);
    let name = format!("creation of Job {}", job.name);
    if !job.is_managed_by_built_in() {
        // MB-03: there is a Job that the built-in controller must leave alone.
        findings.premise(Req::MB03);
        findings.premise(Req::MB02);
    }
    track.take(event, &name, findings);
    track.tell(event, &name);
}

/// Judges an accepted write that gave the Job a new state.
pub fn updated(track: &mut Track, event: &Event, it: &JobEvent, by: By, settings: &Settings) {
    let (Some(after), Some(before)) = (it.after.clone(), track.stored.clone()) else { return };
    if track.coverage.stale {
        // The old state is not known, so the change cannot be judged.
        store(track, event, after, false);
        track.resync();
        track.coverage.stale = false;
        return;
    }
    track.pods.note_completions(&before);
    let status_changed = before.status != after.status;
    let by = managers::whose_status(event, by, &before, &after.status);
    let spec_changed = before.spec != after.spec;
    judge_base(track, event, it);
    track.pods.policy_changed |= before.spec.pod_replacement_policy != after.spec.pod_replacement_policy;
    managers::judge_ttl(track, event, by);
    managers::judge_spec(track, event, it.base, &before, &after);
    if status_changed && !is_main_write(event) {
        mirror::note_setter(track, event, &before.status, &after.status);
        track.note_base(it, by);
        let since = times::written(track).filter(|_| it.base.is_some() && it.base == track.coverage.version);
        status_written(track, event, (&before, &after), since, by, settings);
    } else {
        let mut findings = Findings::new();
        if event.is_status {
            validate_status_update(&settings.rules, &before, &after, &mut findings);
        } else {
            validate_spec_update(&settings.rules, &before, &after, &mut findings);
        }
        if status_changed {
            foreign(track, event, (&before, &after), settings);
        }
        mirror::wrote_no_status(track, event, it, by, (&before, &after));
        mirror::main_write(track, event, by, (&before, &after), &mut findings);
        let what = if spec_changed { "change of the spec" } else { "change of the Job's metadata" };
        intrusion(track, by, what, &mut findings);
        if by == By::Manager && track.manager.executor && event.actor.is_some() {
            judge_spec_after_finish(&before, &after, &mut findings);
        }
        track.take(event, &what, findings);
        track.tell(event, &what);
    }
    managers::judge_own_metadata(track, event, it, (&before, &after), by, settings);
    mirror_metadata::judge_metadata(track, event, it, (&before, &after), by, settings);
    store(track, event, after, by == By::Manager && status_changed && !track.unheard(event));
}

/// Returns `true` for a write to the main resource, which leaves the status alone (SS-32). A watch does not show the
/// resource.
fn is_main_write(event: &Event) -> bool {
    !event.is_status && matches!(event.verb, Some(Verb::Update | Verb::Patch))
}

fn store(track: &mut Track, event: &Event, after: Arc<Job>, own_status: bool) {
    track.live_job(event, &after);
    let before = track.stored.take();
    if let Some(before) = &before {
        let by = event.actor.filter(|_| !track.coverage.stale);
        track.manager.mirror.job_changed(before, &after, by);
    }
    // A change of the metadata alone concerns no obligation.
    let is_idle = before.as_ref().is_some_and(|before| track.standing.job_changed(before, &after));
    if let (Some(before), Some(when)) = (before, event.when) {
        track.times.replaced = Some((before, when.done));
    }
    track.stored = Some(after.clone());
    if after.deleting && track.times.deleting_since.is_none() {
        track.times.deleting_since = event.when.map(|when| when.done);
    }
    if let Some(version) = event.version {
        track.coverage.has_version(version, event.order);
    }
    // J-06: an event of the finished Job triggers its clean-up.
    track.pods.forget_all(Fact::Late);
    if !is_idle {
        track.times.changed = event.when.map(|when| when.done).or(track.times.changed);
    }
    track.times.written = event.when.map(|when| when.received);
    let is_read = track.process.bounds.is_read();
    track.process.frontier.push(after, (event.version, Written::by(event)), own_status, is_read);
    track.history.forget_before(track.process.frontier.earliest());
}

/// Judges the version on which a write was made.
fn judge_base(track: &mut Track, event: &Event, it: &JobEvent) {
    let (Some(base), Some(stored)) = (it.base, track.coverage.version) else { return };
    let mut findings = Findings::new();
    validate_base(event.verb == Some(Verb::Update), base, stored, &mut findings);
    track.take_uncounted(event, &"write of the Job", findings);
}

fn status_written(
    track: &mut Track,
    event: &Event,
    (before, after): (&Arc<Job>, &Arc<Job>),
    since: Option<Time>,
    by: By,
    settings: &Settings,
) {
    let write =
        Words(|f: &mut Formatter<'_>| write!(f, "status write: {}", story::status_fields(&after.status)));
    let mut findings = Findings::new();
    validate_status_update(&settings.rules, before, after, &mut findings);
    match by {
        By::Manager => {
            track.occasions.denied_itself |=
                event.actor.is_some() && known::denies_the_end(&before.status, &after.status);
            let (gates, read) = (settings.gates, settings.gates.read(before));
            known::note_flips(track, &before.status);
            let truth = |before: &Job, new: &JobStatus, findings: &mut Findings| {
                executor_truth(track, before, new, gates, findings);
            };
            without_interim::judge_truth(track, gates, &read, &after.status, &truth, &mut findings);
            let cap = settings.constants.max_uncounted_pods;
            judge_list_size(&after.status, cap, &mut findings);
            if track.manager.executor {
                let until = event.latest();
                let bounds = Bounds { read: since, until, are_own: !track.manager.foreign_status };
                let is_named = event.actor.is_some();
                judge_times(before, &after.status, bounds, is_named, &mut findings);
                judge_condition_statuses(&before.status, &after.status, is_named, &mut findings);
                let statuses = (&before.status, &after.status);
                own_deletions::judge_counts(track, event, statuses, &mut findings);
                if since.is_some() {
                    mirror::judge_conditions_of_others(track, event, statuses, settings, &mut findings);
                }
                known::check_full_lists(track, before, after, cap, &mut findings);
                known::check_labels(track, after, &mut findings);
                known::unhear_counted_twice(track, &after.status, &findings);
            } else {
                mirror::written(track, event, (before, after), settings, &mut findings);
            }
        }
        By::Intruder => intrusion(track, by, "status write", &mut findings),
        By::Ttl | By::Other => {}
    }
    rank(&mut findings);
    // A known deviation excuses nothing else in the write.
    let excuses = track.is_built_in();
    let broken = findings.broken.iter().any(|broken| broken.known.is_none() || !excuses);
    track.take(event, &write, findings);
    match by {
        By::Manager if track.manager.executor => {
            track.trouble.refused_for = None;
            track.standing.status_changed(&before.status, &after.status);
            if let Some(when) = event.when {
                track.standing.lists(&before.status, &after.status, when.done);
            }
            track.retries_lost_requests(event);
            track.enter_sync_of_another(event, settings);
            executor_decision(track, event, after, &write, broken, settings);
            track.confirm_lost_requests(event, after);
            track.judge_ownership_at_end(event, after);
            count(track, &before.status, &after.status);
            track.ends_sync_with(event, after, settings);
            track.status_tried();
        }
        By::Manager => {}
        By::Intruder | By::Ttl | By::Other => foreign(track, event, (before, after), settings),
    }
    track.tell(event, &write);
}

/// Sorts known deviations behind other findings: their patterns are the weakest evidence of another error.
fn rank(findings: &mut Findings) {
    findings.broken.sort_by_key(|broken| broken.known.is_some());
}

pub(super) fn executor_truth(
    track: &Track,
    before: &Job,
    new: &JobStatus,
    gates: Gates,
    findings: &mut Findings,
) {
    let old = &before.status;
    judge_status_shape(&before.spec, old, new, &track.pods, findings);
    if !before.spec.is_suspended() {
        judge_resumption_time(old, new, times::written(track), findings);
    }
    let pods = &track.history.stored;
    let gone = |uid: Uid| match track.history.known(uid) {
        Some(_) if track.process.uncertain.contains_key(&uid) || track.is_unsure(uid) => None,
        Some(pod) => Some(!pod.finalizer),
        None => track.coverage.complete.then_some(!track.pods.has(uid, Fact::BecameOwnerless)),
    };
    judge_counting_truth(old, new, before.spec.is_indexed(), &track.pods, &gone, findings);
    let is_sure = |uid| !track.process.uncertain.contains_key(&uid);
    let made = |uid| track.pods.has(uid, Fact::Made) && is_sure(uid);
    match track.coverage.complete {
        true if gates.delays_terminal_condition() => judge_terminal_truth(old, new, pods, &made, findings),
        true => judge_none_active(old, new, pods, &made, findings),
        false => {}
    }
}

/// Judges the decisions of a status write against the views. They are not judged if the write is wrong already.
fn executor_decision(
    track: &mut Track,
    event: &Event,
    after: &Arc<Job>,
    write: &dyn Display,
    broken: bool,
    settings: &Settings,
) {
    if broken || after.deleting && !track.coverage.complete {
        track.resync();
        return;
    }
    let new = after.status.clone();
    if track.stored.as_ref().is_some_and(|job| job.status.is_finished()) {
        return;
    }
    let old = track.stored.clone();
    let latest = latest_of(event, old.as_ref().map(|job| &job.status), &new);
    // A pod that is recorded again was reported as such; the rest of the write is judged as the manager saw it.
    let settled: BTreeSet<Uid> =
        track.history.settled.iter().copied().filter(|uid| !new.is_recorded(*uid)).collect();
    let explained =
        track.judge_by_views(event, settings, write, Versions::Stored, latest, &|view, findings| {
            without_interim::judge_decision(&View { settled: Some(&settled), ..*view }, &new, findings);
        });
    if explained && !event.may_be_late() {
        track.process.late.settle();
    }
    // A terminated process has no backoff record.
    if explained && track.coverage.complete && !event.is_posthumous() {
        let heard = !track.unheard(event);
        track.keep_backoff(event, heard, settings);
    }
}

/// Upper bound for the time of a status write: its response, or the condition that it sets. A condition that was set
/// before is older.
fn latest_of(event: &Event, old: Option<&JobStatus>, new: &JobStatus) -> Option<Time> {
    let transition = [ConditionKind::FailureTarget, ConditionKind::SuccessCriteriaMet]
        .iter()
        .filter(|kind| old.is_none_or(|old| old.condition(kind) != new.condition(kind)))
        .filter_map(|kind| new.condition(kind))
        .filter_map(|condition| condition.last_transition_time)
        .max();
    event.latest().or(transition)
}

/// Moves the UIDs that left the lists into the counters.
fn count(track: &mut Track, old: &JobStatus, new: &JobStatus) {
    let left = added(new.uncounted_succeeded(), old.uncounted_succeeded())
        .chain(added(new.uncounted_failed(), old.uncounted_failed()));
    left.for_each(|uid| track.pods.note(uid, Fact::Counted));
}

/// Notes a status write by another actor. The counters are then not the manager's.
fn foreign(track: &mut Track, event: &Event, (before, after): (&Job, &Job), settings: &Settings) {
    track.manager.mirror.past.idle = 0;
    if is_of_suspender(before, &after.status) {
        return;
    }
    track.manager.foreign_status = true;
    let counts = |status: &JobStatus| JobStatus { conditions: Vec::new(), ..status.clone() };
    if counts(&before.status) != counts(&after.status) {
        let writer = event.actor.and_then(|actor| settings.actor(actor));
        let name = writer.map_or_else(String::new, |it| match &*it.agent {
            "" => format!(", {},", it.user),
            agent => format!(", {} with user agent {agent},", it.user),
        });
        track.doubt(format!("another actor{name} wrote counters of this Job's status"));
    }
}

/// Judges a DELETE of a Job.
pub fn deleted(track: &mut Track, event: &Event, it: &JobEvent, by: By, settings: &Settings) {
    let write = "deletion of the Job";
    let mut findings = Findings::new();
    if let (By::Ttl, Some(deletion), Some(stored)) = (by, &it.deletion, track.shown()) {
        let earlier = readable_before(track, event);
        let versions: Vec<&Job> = earlier.iter().map(AsRef::as_ref).chain([stored.as_ref()]).collect();
        judge_ttl_deletion(&versions, deletion, &mut findings);
    }
    if by == By::Manager && event.actor.is_some() && track.is_built_in() {
        judge_own_deletion(&mut findings);
    }
    let is_of_somebody_else =
        track.manager.mirror.creator.is_some_and(|creator| !settings.is_sent_by(event, creator));
    if let (By::Manager, true, Some(stored)) = (by, track.is_mirrored() && is_of_somebody_else, track.shown())
    {
        judge_deletion(&stored, &mut findings);
    }
    intrusion(track, by, "deletion of the Job", &mut findings);
    let is_whole = !track.find_missing_finalizers(event, it);
    if let (Some(deletion), Some(before), true) = (&it.deletion, &track.shown(), is_whole) {
        let asked = propagation(deletion);
        match &it.after {
            Some(after) if deletion.request_known => validate_delete(asked, before, after, &mut findings),
            None if deletion.request_known && it.gone && !it.hidden => {
                validate_removal(asked, before, &mut findings);
            }
            Some(_) | None => {}
        }
    }
    track.take(event, &write, findings);
    track.tell(event, &write);
    if let Some(after) = it.after.clone() {
        updated(track, event, it, by, settings);
        track.stored = Some(after);
        if by == By::Ttl {
            // TT-09: a read after the own DELETE shows the deletion.
            track.times.replaced = None;
        }
    }
    if it.gone {
        gone(track, event);
    }
}

/// The versions that a GET just before this request may have returned (TT-06).
fn readable_before(track: &Track, event: &Event) -> Vec<Arc<Job>> {
    const WINDOW: i64 = 1_000_000;
    match (&track.times.replaced, event.when) {
        (Some((job, until)), Some(when)) if *until >= when.received - WINDOW => vec![job.clone()],
        _ => Vec::new(),
    }
}

/// Notes that the Job is gone; its pods may remain.
pub fn gone(track: &mut Track, event: &Event) {
    track
        .may_have_come_earlier(event, "deletion of the Job", &|it| it.broken.what == finalizer_removal::WHAT);
    track.note_last_counts();
    track.manager.mirror.job_gone(track.stored.as_ref());
    if let Some(job) = track.stored.take() {
        track.process.frontier.ends(&job, Written::end(event));
    }
    track.times.changed = event.when.map(|when| when.done).or(track.times.changed);
    track.tell(event, &"the Job is gone");
}

/// The role of an actor towards a Job.
#[must_use]
pub fn by(role: Role, is_manager: bool, built_in: bool) -> By {
    match role {
        _ if is_manager => By::Manager,
        Role::JobController if !built_in => By::Intruder,
        Role::TtlController => By::Ttl,
        Role::JobController
        | Role::GarbageCollector
        | Role::PodGc
        | Role::Kubelet
        | Role::Manager
        | Role::Other => By::Other,
    }
}
