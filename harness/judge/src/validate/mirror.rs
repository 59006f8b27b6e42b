//! Managers that write status alone: the facts about such a manager of a Job, and the judgement of its writes by
//! family MR (`docs/reference/managers.md`).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jobcheck_spec::guards::contract::judge_foreign_conditions;
use jobcheck_spec::guards::mirror::{
    MirrorWrite, Past, is_of_suspender, judge_delay, judge_idle, judge_main_write, judge_mirror,
    judge_missing_permission, judge_refusal,
};
use jobcheck_spec::guards::mirror_times::all_times;
use jobcheck_spec::job::{Condition, ConditionKind, Job, JobStatus, Text};
use jobcheck_spec::obligations::mirrored;
use jobcheck_spec::{Findings, Req, Time};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::actor::ActorId;
use super::event::{Event, JobEvent};
use super::job_writes::By;
use super::managers::differ_in_strange_conditions;
use super::mirror_metadata::Entries;
use super::owed::PATIENCE;
use super::settings::Settings;
use super::track::Track;

/// Maximum time between two requests during which a manager works, in microseconds. An absent manager does not work.
pub const AT_WORK: i64 = 60_000_000;
/// Number of conditions whose setters are kept.
const SETTERS: usize = 64;
/// Number of refused contents that are recognised if they are sent again.
const CONTENTS_KEPT: usize = 8;

/// The kind of a manager, as the user of the judge says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// It copies the status of one Job elsewhere.
    Mirror,
    /// It makes one status of several Jobs elsewhere.
    Aggregate,
    /// It creates pods.
    Executor,
}

impl Profile {
    /// The name in `--profile` and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Mirror => "mirror",
            Profile::Aggregate => "aggregate",
            Profile::Executor => "executor",
        }
    }
}

/// Facts about the manager of a Job, if it writes status alone.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Mirror {
    /// The past of the Job, as far as the trace has shown it.
    pub past: Past,
    /// The user says that this kind of manager has the Job, which has no `spec.managedBy`.
    pub declared: Option<Profile>,
    /// The sender who has created the Job.
    pub creator: Option<ActorId>,
    /// The manager has written the status.
    pub reports: bool,
    /// The times in the last status, once the Job is gone.
    pub last: Vec<Time>,
    /// The time that the manager had worked in all at its last request, in microseconds.
    pub now: i64,
    /// The same at the last change of the Job.
    pub worked: i64,
    /// The same when the terminal condition became due (MR-08).
    due: Option<i64>,
    /// The same when the environment refused a request the last time.
    hindered: i64,
    /// The senders who have set the parts of the metadata.
    pub entries: Entries,
    /// The conditions that no Job controller sets, each with somebody who has set it.
    setters: Vec<(ActorId, Text)>,
    /// The manager has not learnt that its last status write was stored, so that it may send it again.
    pub(super) unheard: bool,
    /// The Job as it is stored if the last status write, which a server error answered, was committed.
    pub(super) unsettled: Option<Arc<Job>>,
    refusals: Refusals,
}

/// Status writes that validation has refused.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Refusals {
    /// The contents since the last change of the Job.
    contents: Vec<u64>,
    /// A first refusal, and a repeated one, are reported.
    reported: (bool, bool),
}

/// The time that a manager has worked, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Its last request.
    pub last: i64,
    /// The time between its requests, without absences.
    pub total: i64,
}

impl Work {
    /// Adds a request.
    pub fn at(&mut self, now: i64) {
        if self.last != 0 {
            self.total += (now - self.last).clamp(0, AT_WORK);
        }
        self.last = self.last.max(now);
    }
}

impl Mirror {
    /// Returns `true` if the manager has worked long enough to meet an obligation. That the end follows is due since the
    /// decision (MR-08). Other obligations are those at quiescence, and begin with the last change of the Job.
    #[must_use]
    pub fn has_had_time(&self, req: Req, work: Option<&Work>) -> bool {
        let since = self.due.filter(|_| req == Req::MR08).unwrap_or(self.worked);
        work.is_some_and(|work| work.total - since >= PATIENCE)
    }

    /// The time that the manager has worked since the terminal condition became due, in seconds, at the write that sets
    /// it. Terminating pods that are not reported may have been waited for.
    fn delay(&self, old: &JobStatus, new: &JobStatus) -> Option<i64> {
        let ends = !old.is_finished() && new.is_finished() && old.terminating.is_some();
        self.due.filter(|_| ends).map(|due| (self.now - due.max(self.hindered)) / 1_000_000)
    }

    /// Notes that the Job is gone.
    pub fn job_gone(&mut self, job: Option<&Arc<Job>>) {
        self.unsettled = None;
        self.last = job.map(|job| all_times(&job.status)).unwrap_or_default();
    }

    /// Notes a new version of the Job.
    ///
    /// `by` is the sender of the write; `None` if it is not known, since a write is missing before.
    pub fn job_changed(&mut self, before: &Job, after: &Job, by: Option<ActorId>) {
        self.refusals.contents.clear();
        (self.unsettled, self.unheard) = (None, false);
        if before.metadata != after.metadata || before.finalizers != after.finalizers {
            self.entries.note(before, after, by);
        }
        let is_due = matches!(mirrored(after), Some((Req::MR08, _)));
        self.due = if is_due { self.due.or(Some(self.now)) } else { None };
        if before.spec != after.spec {
            self.past.note_spec(&after.spec);
        }
    }
}

impl Track {
    /// Returns `true` if a manager that writes status alone has the Job, as far as the trace shows it.
    #[must_use]
    pub fn is_mirrored(&self) -> bool {
        !self.manager.executor && !self.is_built_in()
    }

    /// Notes the first sight of a Job, and what the user says about its manager.
    pub fn begin_mirror(
        &mut self,
        job: &Job,
        (is_new, by): (bool, Option<ActorId>),
        former: Vec<Time>,
        profile: Option<Profile>,
    ) {
        self.manager.mirror.past = Past { former, ..Past::begin(&job.spec, is_new) };
        if is_new {
            self.manager.mirror.entries = Entries::of_new(job, by);
            self.manager.mirror.creator = by;
        }
        match profile {
            Some(Profile::Executor) => self.manager.executor |= !self.is_built_in(),
            Some(profile) => self.declare_manager(profile),
            None => {}
        }
    }

    /// Notes that the user names the manager of the Job. `spec.managedBy` takes precedence, and does not say whether it sums
    /// up members.
    pub fn declare_manager(&mut self, profile: Profile) {
        let is_aggregate = profile == Profile::Aggregate && !self.is_built_in();
        if self.id.managed_by.is_none() || is_aggregate {
            self.manager.mirror.declared = Some(profile);
        }
    }

    /// The profile of the manager. The built-in controller is an executor, and another manager is once it has created a pod.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match self.manager.mirror.declared {
            _ if self.manager.executor || self.is_built_in() => Profile::Executor,
            Some(Profile::Aggregate) => Profile::Aggregate,
            _ => Profile::Mirror,
        }
    }

    /// Returns `true` if this status write shows that its sender manages the Job. A write of conditions that no Job
    /// controller sets is a checker's. The first write of a log does not show what it changes.
    #[must_use]
    pub fn shows_manager(&self, event: &Event, it: &JobEvent) -> bool {
        let statuses = self.stored.as_ref().zip(it.after.as_ref());
        let statuses = statuses.map(|(before, after)| (&before.status, &after.status));
        if statuses.is_some_and(|(before, after)| differ_in_strange_conditions(before, after)) {
            return false;
        }
        let changes = statuses.is_none_or(|(before, after)| before != after);
        self.is_built_in() || !event.is_accepted() || changes
    }

    /// Returns `true` if this write is a suspender's, which is no manager.
    #[must_use]
    pub fn is_suspenders(&self, event: &Event, it: &JobEvent) -> bool {
        let statuses = self.stored.as_ref().zip(it.after.as_ref());
        event.is_accepted()
            && self.is_built_in()
            && statuses.is_some_and(|(before, after)| is_of_suspender(before, &after.status))
    }
}

/// Notes who sets conditions that no Job controller sets. A manager may begin with some of its own, as a checker does.
pub fn note_setter(track: &mut Track, event: &Event, before: &JobStatus, after: &JobStatus) {
    let Some(actor) = event.actor else { return };
    for condition in after.conditions.iter().filter(|it| before.condition(&it.kind).is_none()) {
        if let ConditionKind::Other(name) = &condition.kind {
            let setters = &mut track.manager.mirror.setters;
            if setters.len() < SETTERS && !setters.contains(&(actor, name.clone())) {
                setters.push((actor, name.clone()));
            }
        }
    }
}

/// TC-16: judges what an executor leaves of the conditions that somebody else has set in this trace.
pub fn judge_conditions_of_others(
    track: &Track,
    event: &Event,
    (before, after): (&JobStatus, &JobStatus),
    settings: &Settings,
    findings: &mut Findings,
) {
    let setters = &track.manager.mirror.setters;
    let sets = |own: bool, name: &Text| {
        setters.iter().any(|(setter, set)| set == name && settings.is_sent_by(event, *setter) == own)
    };
    let is_own = |name: &Text| sets(true, name) || !sets(false, name);
    judge_foreign_conditions((before, after), Req::TC16, &is_own, findings);
}

/// Judges an accepted status write of a manager that writes status alone.
pub fn written(
    track: &mut Track,
    event: &Event,
    jobs: (&Job, &Job),
    settings: &Settings,
    findings: &mut Findings,
) {
    let mirror = &mut track.manager.mirror;
    let own = mirror.setters.iter().filter(|(setter, _)| settings.is_sent_by(event, *setter));
    mirror.past.own_types.extend(own.map(|(_, name)| name.clone()));
    let advice = judge(track, event, jobs, settings, findings);
    if let Some(delay) = track.manager.mirror.delay(&jobs.0.status, &jobs.1.status) {
        judge_delay(delay, PATIENCE / 1_000_000, findings);
    }
    // Obligations follow from this status.
    if jobs.1.status.is_decided() {
        findings.premise(Req::MR08);
    }
    if jobs.0.spec.suspend.is_some() {
        findings.premise(Req::MR13);
    }
    advise(track, event, &advice);
    let mirror = &mut track.manager.mirror;
    mirror.past.note_status(&jobs.0.status, &jobs.1.status);
    mirror.past.note_size(&jobs.1.spec);
    mirror.reports = true;
}

fn judge(
    track: &Track,
    event: &Event,
    (before, after): (&Job, &Job),
    settings: &Settings,
    findings: &mut Findings,
) -> Findings {
    let mut advice = Findings::new();
    let write = MirrorWrite {
        job: before,
        new: &after.status,
        until: event.latest(),
        skew: settings.skew,
        past: &track.manager.mirror.past,
    };
    judge_mirror(&write, findings, &mut advice);
    advice
}

/// Warns of broken advice.
fn advise(track: &mut Track, event: &Event, advice: &Findings) {
    for broken in &advice.broken {
        let text =
            format!("{}: {} should be {}, found {}", broken.req, broken.what, broken.expected, broken.found);
        track.warn(event, text);
    }
    let mut premises = Findings::new();
    advice.premises().for_each(|req| premises.premise(req));
    track.results.premises.absorb(&mut premises);
}

/// Judges an accepted status write that changed nothing (MR-10).
pub fn wrote_nothing(track: &mut Track, event: &Event, by: By) {
    wrote_idly("no change", track, event, by);
}

/// Judges an accepted write that left every field of the status that a rule reads. A change of `lastProbeTime` alone is
/// stored, and is a write of times alone (MR-10). A write of somebody else ends the quiescence.
pub fn wrote_no_status(
    track: &mut Track,
    event: &Event,
    it: &JobEvent,
    by: By,
    (before, after): (&Job, &Job),
) {
    if it.base.is_some() && it.base == event.version {
        wrote_nothing(track, event, by);
    } else if by != By::Manager {
        track.manager.mirror.past.idle = 0;
    } else if before.probes_digest != after.probes_digest {
        wrote_idly("times alone", track, event, by);
    }
}

fn wrote_idly(changes: &'static str, track: &mut Track, event: &Event, by: By) {
    if by != By::Manager || !event.is_status || !track.is_mirrored() {
        return;
    }
    if std::mem::take(&mut track.manager.mirror.unheard) {
        return track.tell(event, &"the status write is sent again, since a server error answered it");
    }
    let (mut findings, mut advice) = (Findings::new(), Findings::new());
    judge_idle(changes, track.manager.mirror.past.idle, &mut findings, &mut advice);
    track.manager.mirror.past.idle += 1;
    advise(track, event, &advice);
    track.take(event, &"status write", findings);
}

/// Judges a write to the main resource by a manager that writes status alone (MR-15).
pub fn main_write(track: &Track, event: &Event, by: By, jobs: (&Job, &Job), findings: &mut Findings) {
    if by == By::Manager && track.is_mirrored() && event.actor.is_some() {
        judge_main_write(jobs.0, jobs.1, findings);
    }
}

/// Warns of a refused write to the main resource. It is no write of the status, so that it breaks no rule of family MR.
pub fn main_write_refused(track: &mut Track, event: &Event, by: By, message: Option<&str>) {
    let is_invalid = matches!(event.code, 400 | 422) && !event.delivery.injected;
    if by == By::Manager && !event.is_status && is_invalid && track.is_mirrored() {
        let reason = message.map_or_else(|| "no reason is given".to_owned(), shortened);
        track
            .warn(event, format!("the manager's write of the spec is refused with {}: {reason}", event.code));
    }
}

/// Words in the refusals of webhooks, admission policies, and quotas.
const OF_ADMISSION: [&str; 3] = ["denied the request", "denied request: ", "exceeded quota"];

/// Returns `true` for a refusal by the environment, such as an overloaded server, a webhook, or a quota.
pub fn is_of_environment(code: u16, message: &str) -> bool {
    match code {
        429 | 500.. => true,
        400 | 403 | 422 => OF_ADMISSION.iter().any(|words| message.contains(words)),
        _ => false,
    }
}

/// Notes a status write that the environment refused, such as an overloaded server or a webhook. Time for the obligations
/// of its sender begins anew.
pub fn hindered(track: &mut Track, event: &Event, by: By, message: &str) {
    if by == By::Manager
        && event.is_status
        && (is_of_environment(event.code, message) || event.delivery.injected)
    {
        track.manager.mirror.hindered = track.manager.mirror.now;
    }
}

/// A message without the value that validation shows in its middle.
fn shortened(message: &str) -> String {
    let Some((field, rest)) = message.split_once("Invalid value: ") else { return message.to_owned() };
    let reason = rest.rsplit_once(": ").map_or(rest, |(_, reason)| reason);
    format!("{field}{reason}")
}

/// Judges a status write that validation has refused (MR-09). `attempted` is the Job that it would have stored, if the
/// trace shows it, and `cause` the rule and the message of the refusal.
pub fn refused(
    track: &mut Track,
    event: &Event,
    attempted: Option<&Job>,
    cause: String,
    settings: &Settings,
) {
    let content = attempted.map_or_else(|| digest(&cause), |job| digest(&timeless(&job.status)));
    let refusals = &mut track.manager.mirror.refusals;
    let again = refusals.contents.contains(&content);
    if refusals.contents.len() < CONTENTS_KEPT && !again {
        refusals.contents.push(content);
    }
    let reported = if again { &mut refusals.reported.1 } else { &mut refusals.reported.0 };
    if std::mem::replace(reported, true) {
        track.results.judged += 1;
        return;
    }
    let mut findings = Findings::new();
    judge_refusal(cause, again, &mut findings);
    let stored = track.shown().filter(|_| !again);
    if let (Some(before), Some(after)) = (stored, attempted) {
        // Advice about a write that was never stored helps nobody.
        judge(track, event, (&before, after), settings, &mut findings);
    }
    track.take(event, &"refused status write", findings);
}

/// Judges a refusal by the authorizer (MR-09). It is reported once.
pub fn forbidden(track: &mut Track, event: &Event, message: &str) {
    if !event.is_status
        || !track.is_mirrored()
        || std::mem::replace(&mut track.manager.mirror.refusals.reported.0, true)
    {
        return;
    }
    let mut findings = Findings::new();
    judge_missing_permission(message, &mut findings);
    track.take(event, &"refused status write", findings);
}

fn digest(content: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    content.hash(&mut hasher);
    hasher.finish()
}

/// A status without its times. A manager that puts the present time into each retry sends the same content again.
fn timeless(status: &JobStatus) -> JobStatus {
    let without = |condition: &Condition| Condition { last_transition_time: None, ..condition.clone() };
    JobStatus {
        start_time: None,
        completion_time: None,
        conditions: status.conditions.iter().map(without).collect(),
        ..status.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn an_absent_manager_does_not_work() {
        let mut work = Work::default();
        [1, 31, 61, 661].iter().for_each(|second| work.at(second * SECOND));
        assert_eq!(work.total, 120 * SECOND);
        let mirror = Mirror { worked: 10 * SECOND, ..Mirror::default() };
        let req = Req::MR13;
        assert!(!mirror.has_had_time(req, Some(&work)) && !mirror.has_had_time(req, None));
        assert!(Mirror::default().has_had_time(req, Some(&work)));
    }

    #[test]
    fn a_message_is_shown_without_the_value() {
        let message =
            r#"Job.batch "a" is invalid: spec.template: Invalid value: {"a":{"b": 1}}: field is immutable"#;
        assert_eq!(shortened(message), r#"Job.batch "a" is invalid: spec.template: field is immutable"#);
        assert_eq!(shortened("denied"), "denied");
    }

    #[test]
    fn the_same_content_at_another_time_is_the_same() {
        let at = |second| JobStatus { start_time: Some(Time(second)), active: 1, ..JobStatus::default() };
        assert_eq!(digest(&timeless(&at(1))), digest(&timeless(&at(2))));
        assert_ne!(digest(&timeless(&at(1))), digest(&JobStatus::default()));
    }
}
