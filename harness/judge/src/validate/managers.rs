//! Finds out who writes to a Job, for the guards that decide who may.

use jobcheck_spec::guards::mirror::is_of_suspender;
use jobcheck_spec::guards::ownership::{
    judge_intrusion, judge_metadata, judge_permission, judge_refused_main_write, judge_spec_of_status_write,
    judge_status_writer,
};
use jobcheck_spec::guards::ttl::judge_ttl_write;
use jobcheck_spec::job::{Condition, ConditionKind, Job, JobStatus, Text};
use jobcheck_spec::{Findings, Uid};
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::actor::{ActorId, Role};
use super::event::{Event, JobEvent};
use super::job_writes::{self, By};
use super::mirror::{self, Mirror, Profile};
use super::router::Judge;
use super::settings::Settings;
use super::track::Track;

/// The facts about the manager of a Job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Manager {
    /// The manager, if it is not the built-in controller.
    pub actor: Option<ActorId>,
    /// Only refused writes show that it is the manager.
    pub is_presumed: bool,
    /// It creates pods (`docs/reference/judging.md`, *Identifying the controller*).
    pub executor: bool,
    /// Another actor has written the status.
    pub foreign_status: bool,
    /// Further facts about it, if it writes status alone.
    pub mirror: Mirror,
}

/// Actors that manage Jobs with `managedBy`.
#[derive(Debug, Default)]
pub struct Managers {
    values: FxHashMap<ActorId, Text>,
}

impl Managers {
    /// Notes that this actor manages a Job with this `spec.managedBy`.
    pub fn note(&mut self, actor: ActorId, value: &Text) {
        self.values.entry(actor).or_insert_with(|| value.clone());
    }

    /// Returns `true` if this actor manages Jobs with this `spec.managedBy`.
    #[must_use]
    pub fn manages(&self, actor: ActorId, value: Option<&Text>) -> bool {
        value.is_some() && self.values.get(&actor) == value
    }

    /// Judges a status write by a controller that manages other Jobs by `managedBy`. Any other
    /// writer of a status is part of the environment (`docs/reference/judging.md`, *Identifying the controller*).
    pub fn judge(&self, track: &mut Track, event: &Event) {
        let Some(value) = event.actor.and_then(|actor| self.values.get(&actor)) else { return };
        let mut findings = Findings::new();
        judge_status_writer(track.id.managed_by.as_ref(), value, &mut findings);
        track.take(event, &"status write", findings);
    }
}

impl Track {
    /// Notes evidence that this actor manages the Job. If another one was presumed to, because of refused writes alone,
    /// these were nobody's who is bound by the contract. `is_named`: the user of the judge names the manager.
    fn presumption_ends(&mut self, actor: ActorId, is_named: bool) {
        let is_another = self.manager.actor != Some(actor);
        if is_another && (self.manager.is_presumed || is_named) {
            let former = self.manager.actor.take();
            self.results.violations.retain(|violation| former.is_none() || violation.actor != former);
        }
        self.manager.is_presumed &= is_another;
    }
}

impl Judge {
    /// The role of an actor towards a Job. Learns the manager of the Job.
    pub(super) fn by(&mut self, event: &Event, role: Role, uid: Uid, manages: bool) -> By {
        let named = self.settings.named_controller;
        let Some(track) = self.tracks.get_mut(&uid) else { return By::Other };
        let Some(actor) = event.actor else { return By::Manager };
        if role == Role::Manager && manages {
            track.declare_manager(Profile::Mirror);
        }
        let built_in = track.is_built_in();
        // The user agent of an upgraded manager has another version.
        let former = track.manager.actor.filter(|it| *it != actor && self.settings.is_one_actor(*it, actor));
        if let Some(former) = former.filter(|_| !built_in) {
            let work = self.end.managers.get(&former).copied().unwrap_or_default();
            let own = self.end.managers.entry(actor).or_default();
            own.total = own.total.max(work.total);
            track.manager.actor = Some(actor);
        }
        let is_manager = match role {
            // UG-14: without the gate the field does not exist.
            Role::JobController => built_in || !self.settings.gates.job_managed_by,
            Role::Other | Role::Manager if !built_in || !named => {
                let is_named = !built_in && role == Role::Manager;
                let is_known =
                    is_named || !built_in && self.managers.manages(actor, track.id.managed_by.as_ref());
                if manages && (role == Role::Manager || event.is_accepted()) {
                    track.presumption_ends(actor, role == Role::Manager);
                }
                if (manages || is_known) && track.manager.actor.is_none() {
                    track.manager.actor = Some(actor);
                    track.manager.is_presumed = !built_in && !is_known && !event.is_accepted();
                }
                let is_it = is_named || track.manager.actor == Some(actor);
                let shows_it = manages && is_it && !track.manager.is_presumed && !built_in;
                if let Some(value) = track.id.managed_by.as_ref().filter(|_| shows_it) {
                    self.managers.note(actor, value);
                }
                is_it
            }
            Role::Other
            | Role::Manager
            | Role::TtlController
            | Role::GarbageCollector
            | Role::PodGc
            | Role::Kubelet => false,
        };
        if is_manager {
            if let (Role::Other | Role::Manager, Some(when)) = (role, event.when) {
                let work = self.end.managers.entry(actor).or_default();
                work.at(when.done);
                track.manager.mirror.now = work.total;
            }
            track.manager.executor |= built_in;
            track.enter_sync(event, &self.settings);
            let is_built_in = role == Role::JobController;
            track.reads_caches(event, &self.settings, is_built_in && track.is_built_in());
            if is_built_in {
                self.reading = Some((uid, actor));
            }
            track.note_work(event, &self.settings);
        }
        if is_manager && event.is_accepted() {
            track.trouble.server_error = false;
            track.trouble.refusal.accepted(event);
        }
        job_writes::by(role, is_manager, built_in)
    }
}

/// Judges a refusal of the authorizer. Refusals by admission, by a quota, or in a namespace that is being deleted have
/// other messages.
pub fn judge_forbidden(track: &mut Track, event: &Event, message: Option<&str>, by: By) {
    let unauthorized =
        message.is_some_and(|message| message.contains(" cannot ") && message.contains(" resource "));
    if by != By::Manager
        || track.is_built_in()
        || event.code != 403
        || !unauthorized
        || event.delivery.injected
    {
        return;
    }
    let mut findings = Findings::new();
    judge_permission(message.unwrap_or_default(), &mut findings);
    track.take(event, &"refused request", findings);
    mirror::forbidden(track, event, message.unwrap_or_default());
}

/// Judges the spec after a write to the status subresource. Only a PUT on the stored version proves that no other write
/// came between.
pub fn judge_spec(track: &mut Track, event: &Event, base: Option<u64>, before: &Job, after: &Job) {
    if event.is_status && base.is_some() && base == track.coverage.version {
        let mut findings = Findings::new();
        judge_spec_of_status_write(before, after, &mut findings);
        track.take(event, &"status write", findings);
    }
}

/// Judges a write of a Job by the TTL controller.
pub fn judge_ttl(track: &mut Track, event: &Event, by: By) {
    if by != By::Ttl {
        return;
    }
    let mut findings = Findings::new();
    judge_ttl_write(event.verb == Some(Verb::Delete), &mut findings);
    track.take(event, &"write of the Job", findings);
}

/// Judges spec and metadata after a write of the Job controller to a Job that it manages. Without the version on which
/// a status write was made, another write may have come between.
pub fn judge_own_metadata(
    track: &mut Track,
    event: &Event,
    it: &JobEvent,
    (before, after): (&Job, &Job),
    by: By,
    settings: &Settings,
) {
    let direct = if event.is_status { it.base.is_some() } else { true };
    let is_newest = it.base.is_none() || it.base == track.coverage.version;
    let changes = before.spec != after.spec
        || before.metadata != after.metadata
        || before.finalizers != after.finalizers;
    if !changes || !direct || !is_newest || !is_by_the_built_in(track, event, by, settings) {
        return;
    }
    let mut findings = Findings::new();
    judge_metadata(before, after, &mut findings);
    track.take(event, &"write of the Job", findings);
}

/// Judges a refused write of the Job controller to the main resource of a Job that it manages.
pub fn judge_refused_write(track: &mut Track, event: &Event, by: By, settings: &Settings) {
    let is_write = matches!(event.verb, Some(Verb::Update | Verb::Patch)) && !event.is_status;
    if is_write && is_by_the_built_in(track, event, by, settings) {
        let mut findings = Findings::new();
        judge_refused_main_write(&mut findings);
        track.take(event, &"refused write of the Job", findings);
    }
}

/// Returns whether the Job controller sent a write to a Job without another manager. An unnamed controller may share its
/// account with a user.
fn is_by_the_built_in(track: &Track, event: &Event, by: By, settings: &Settings) -> bool {
    by == By::Manager && track.is_built_in() && settings.named_controller && event.actor.is_some()
}

/// Judges a write of the built-in controller to a Job of another manager.
pub fn intrusion(track: &Track, by: By, what: &'static str, findings: &mut Findings) {
    judge_intrusion(by == By::Intruder, !track.is_built_in(), what, findings);
}

/// The role of the sender of a status write. A watch does not show the sender. There the environment gets the writes that
/// no Job controller makes. They change conditions of unknown types alone, or only remove `startTime` of a suspended Job.
pub fn whose_status(event: &Event, by: By, old: &Job, new: &JobStatus) -> By {
    let is_anothers = differ_in_strange_conditions(&old.status, new) || is_of_suspender(old, new);
    if by == By::Manager && event.actor.is_none() && is_anothers { By::Other } else { by }
}

/// Returns `true` if two statuses differ only in conditions that no Job controller sets.
pub fn differ_in_strange_conditions(old: &JobStatus, new: &JobStatus) -> bool {
    let has_another_owner = |condition: &Condition| matches!(condition.kind, ConditionKind::Other(_));
    if !old.conditions.iter().chain(&new.conditions).any(has_another_owner) {
        return false;
    }
    let known = |status: &JobStatus| {
        let conditions = status.conditions.iter().filter(|it| !has_another_owner(it)).cloned().collect();
        JobStatus { conditions, ..status.clone() }
    };
    old != new && known(old) == known(new)
}
