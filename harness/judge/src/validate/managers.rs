//! Judges which actors may write to a Job, and which requests must not be refused (MB-09, MB-10, MB-12, MB-14, TT-11).

use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus, Text};
use jobcheck_spec::{Findings, Operand, Req};
use rustc_hash::FxHashMap;

use super::actor::ActorId;
use super::event::Event;
use super::job_writes::By;
use super::track::Track;

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

    /// MB-09, MB-14: a controller that manages Jobs by `managedBy` leaves the status of other Jobs alone. Any other
    /// writer of a status is part of the environment (`docs/reference/judging.md`, *Identifying the controller*).
    pub fn judge(&self, track: &mut Track, event: &Event) {
        let Some(value) = event.actor.and_then(|actor| self.values.get(&actor)) else { return };
        let mut findings = Findings::new();
        let own = track.managed_by.as_ref() == Some(value);
        let req = if own { Req::MB14 } else { Req::MB09 };
        let expected = match (&track.managed_by, own) {
            (_, true) => "status writes of one manager only".to_owned(),
            (Some(other), false) => format!("status writes of {other} only"),
            (None, false) => "status writes of the built-in controller only".to_owned(),
        };
        let found = Operand::Text(format!("a status write by the manager of {value}"));
        findings.require(req, false, "the manager of a Job", expected, found);
        track.take(event, &"status write", findings);
    }
}

/// MB-10: an external executor has the permissions of the built-in controller. Refusals by admission, by a quota, or in
/// a namespace that is being deleted have other messages.
pub fn judge_forbidden(track: &mut Track, event: &Event, message: Option<&str>, by: By) {
    let unauthorized =
        message.is_some_and(|message| message.contains(" cannot ") && message.contains(" resource "));
    if by != By::Manager || track.is_built_in() || event.code != 403 || !unauthorized || event.injected {
        return;
    }
    let mut findings = Findings::new();
    let found = Operand::Text(message.unwrap_or_default().to_owned());
    findings.require(Req::MB10, false, "request of the Job's manager", "granted", found);
    track.take(event, &"refused request", findings);
}

/// MB-12, SS-32: returns `true` if a write to the status subresource changed the spec. Only a PUT on the stored version
/// proves that no other write came between.
pub fn changes_spec_by_status(
    track: &Track,
    event: &Event,
    base: Option<u64>,
    before: &Job,
    after: &Job,
) -> bool {
    let direct = base.is_some() && base == track.version;
    event.is_status && direct && before.spec != after.spec
}

/// TT-11: the TTL controller deletes Jobs and writes none.
pub fn judge_ttl_write(track: &mut Track, event: &Event, by: By) {
    if by != By::Ttl || event.verb == Some(jobcheck_traces::Verb::Delete) {
        return;
    }
    let mut findings = Findings::new();
    findings.require(Req::TT11, false, "write of a Job", "none by the TTL controller", "a write");
    track.take(event, &"write of the Job", findings);
}
/// MB-02, MB-03: the built-in controller leaves Jobs of other managers alone.
pub fn intrusion(track: &Track, by: By, what: &'static str, findings: &mut Findings) {
    if by == By::Intruder && !track.is_built_in() {
        findings.require(
            Req::MB03,
            false,
            "a Job of another manager",
            "no write by the Job controller",
            what,
        );
    }
}

/// The role of the sender of a status write. A watch does not show the sender; there a write that changes only
/// conditions of unknown types is attributed to the environment, since no Job controller makes such writes.
pub fn whose_status(event: &Event, by: By, old: &JobStatus, new: &JobStatus) -> By {
    let is_anothers = by == By::Manager && event.actor.is_none() && differ_in_strange_conditions(old, new);
    if is_anothers { By::Other } else { by }
}

fn differ_in_strange_conditions(old: &JobStatus, new: &JobStatus) -> bool {
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

/// Warns of a mirror's write that breaks a recommendation (SU-14, SS-34).
pub fn advise_mirror(track: &mut Track, event: &Event, after: &Job) {
    let suspended = after.status.condition(&ConditionKind::Suspended).map(|condition| condition.status);
    let should = if after.spec.is_suspended() { ConditionStatus::True } else { ConditionStatus::False };
    if suspended.is_some_and(|status| status != should) && !after.status.is_finished() {
        let advice = format!(
            "SU-14: Suspended is not {should:?} although spec.suspend is {}",
            after.spec.is_suspended()
        );
        track.warn(event, advice);
    }
    if after.spec.completions.is_some_and(|completions| after.status.succeeded > completions) {
        let advice = "SS-34: succeeded exceeds completions".to_owned();
        track.warn(event, advice);
    }
}
