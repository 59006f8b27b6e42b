//! The algorithm of the TTL-after-finished controller (KEP-592), one API call at a time: a cache that lags, a work
//! queue with delays, a fresh GET, and a DELETE.
//!
//! It runs beside the Job controller where a scope has it ([`Algorithm::ttl`]), and shares no decision with
//! [`crate::guards::ttl`], which judge every DELETE that the server commits.
//!
//! # Caveats
//!
//! Its clock is a constant number of seconds ahead of the one that the server and the Job controller go by. Its cache
//! shows what is stored, or one version before it: those between are never seen. A request of it that is dead never
//! reaches the server later.
//!
//! [`Algorithm::ttl`]: crate::scope::Algorithm::ttl

use std::sync::Arc;

use crate::job::{ConditionKind, ConditionStatus, Job};
use crate::requirement::Findings;
use crate::scope::Scope;
use crate::step::Step;
use crate::time::Time;
use crate::ttl::{Request, carry_out, judge_request};
use crate::uid::Uid;
use crate::words::or_none;
use crate::world::{JobId, Life, World};

use super::steps::Fortune;
use super::switches::{Switch, Switches};

/// A TTL controller, as far as one Job's key goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlController {
    cache: Cache,
    queued: bool,
    /// When the key is added to the work queue, by its own clock (TT-04).
    wake: Option<Time>,
    phase: Phase,
}

/// What its cache shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cache {
    Stored,
    Before(Option<Arc<Job>>),
}

/// Where its sync is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Get,
    Delete {
        /// The UID that was checked.
        uid: Uid,
        /// The versions that etcd held since they were read (TT-06's window).
        held: Vec<Arc<Job>>,
    },
}

/// What a TTL controller does, or what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TtlStep {
    /// It takes the key from its queue, and looks at its cache.
    Sync,
    /// Its GET is answered.
    Get(Fortune),
    /// Its DELETE is answered.
    Delete(Fortune),
    /// Its cache shows what is stored.
    Show,
    /// It dies, and is started again.
    Crash,
}

impl TtlController {
    /// It was just started, and has listed the Jobs.
    #[must_use]
    pub fn started() -> TtlController {
        TtlController { cache: Cache::Stored, queued: false, wake: None, phase: Phase::Idle }
    }

    /// The Job has changed in etcd: its cache shows what it showed, and what is read may be old by now.
    pub fn note(&mut self, before: Option<&Arc<Job>>, after: Option<&Arc<Job>>) {
        if self.cache == Cache::Stored {
            self.cache = Cache::Before(before.cloned());
        }
        if let (Phase::Delete { held, .. }, Some(after)) = (&mut self.phase, after) {
            held.push(after.clone());
        }
    }

    /// Whether its cache shows what is stored.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.cache == Cache::Stored
    }

    /// Whether it waits for nothing, its own clock apart.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.phase == Phase::Idle && !self.queued && self.cache == Cache::Stored
    }

    fn cached(&self, stored: Option<&Arc<Job>>) -> Option<Arc<Job>> {
        match &self.cache {
            Cache::Stored => stored.cloned(),
            Cache::Before(job) => job.clone(),
        }
    }

    /// Whether a version is expired; one that will be is queued for then (TT-04).
    fn is_expired(&mut self, job: Option<&Arc<Job>>, clock: Time, switches: &Switches) -> bool {
        let Some(due) = job.and_then(|job| due(job, clock, switches)) else { return false };
        if due > clock && !switches.on(Switch::TtlIsNotQueuedAgain) {
            self.wake = Some(self.wake.map_or(due, |wake| wake.min(due)));
        }
        due <= clock
    }

    fn sync(&mut self, stored: Option<&Arc<Job>>, clock: Time, switches: &Switches) {
        self.queued = false;
        self.wake = self.wake.filter(|wake| *wake > clock);
        let cached = self.cached(stored);
        if !self.is_expired(cached.as_ref(), clock, switches) {
            return;
        }
        self.phase = match cached {
            Some(cached) if switches.on(Switch::TtlTrustsItsCache) => {
                Phase::Delete { uid: cached.uid, held: stored.into_iter().cloned().collect() }
            }
            Some(_) | None => Phase::Get,
        };
    }

    /// TT-05: everything is looked at again, on the fresh object.
    fn read(&mut self, stored: Option<&Arc<Job>>, clock: Time, switches: &Switches) {
        self.phase = Phase::Idle;
        if let Some(job) = stored.filter(|_| self.is_expired(stored, clock, switches)) {
            self.phase = Phase::Delete { uid: job.uid, held: vec![job.clone()] };
        }
    }

    fn retry(&mut self) {
        (self.phase, self.queued) = (Phase::Idle, true);
    }

    /// An event of its watch, or the list after a restart (TT-08, TT-14).
    fn look(&mut self, stored: Option<&Arc<Job>>, clock: Time, switches: &Switches) {
        self.queued |= self.cached(stored).is_some_and(|job| due(&job, clock, switches).is_some());
    }
}

/// When a Job expires; `None` where it is no candidate (TT-01, TT-02).
fn due(job: &Job, clock: Time, switches: &Switches) -> Option<Time> {
    if job.deleting && !switches.on(Switch::TtlDeletesAgain) {
        return None;
    }
    let ttl = job.spec.ttl_seconds_after_finished?;
    let end = finish(job, switches)?;
    let end = if switches.on(Switch::TtlClampsFutureEnd) { end.min(clock) } else { end };
    Some(end.plus(i64::from(ttl)))
}

fn finish(job: &Job, switches: &Switches) -> Option<Time> {
    use ConditionKind::{Complete, Failed, FailureTarget, SuccessCriteriaMet};
    let conditions = job.status.conditions.iter();
    let interim = switches.on(Switch::TtlTakesInterimForEnd);
    let ends = |kind: &ConditionKind| match kind {
        Complete | Failed => true,
        SuccessCriteriaMet | FailureTarget => interim,
        _ => switches.on(Switch::TtlTakesAnyConditionForEnd),
    };
    let mut ends = conditions.filter(|it| it.status == ConditionStatus::True && ends(&it.kind));
    ends.next().and_then(|condition| condition.last_transition_time)
}

/// The TTL controller's clock.
#[must_use]
pub fn clock(now: Time, scope: &Scope) -> Time {
    now.plus(scope.algorithm.ttl.unwrap_or_default())
}

/// What can happen in the TTL controller of a Job.
pub fn enabled(world: &World, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
    let life = world.life(job);
    let Some(it) = &life.ttl else { return };
    let fails = life.faults.failures < scope.faults.failures;
    let loses = life.faults.losses < scope.faults.losses;
    let awake = it.queued || it.wake.is_some_and(|wake| wake <= clock(world.now, scope));
    let idle = it.phase == Phase::Idle;
    let remembers = !idle || it.queued || it.wake.is_some();
    let deletes = matches!(it.phase, Phase::Delete { .. });
    let all = [
        (TtlStep::Sync, idle && awake),
        (TtlStep::Get(Fortune::Handled), !idle && !deletes),
        (TtlStep::Get(Fortune::Fails), !idle && !deletes && fails),
        (TtlStep::Delete(Fortune::Handled), deletes),
        (TtlStep::Delete(Fortune::Fails), deletes && fails),
        (TtlStep::Delete(Fortune::AnswerLost), deletes && loses),
        (TtlStep::Show, it.cache != Cache::Stored),
        (TtlStep::Crash, (remembers || scope.script.is_some()) && life.faults.crashes < scope.faults.crashes),
    ];
    steps.extend(all.into_iter().filter(|(_, possible)| *possible).map(|(step, _)| Step::Ttl(job, step)));
}

/// Does it.
pub fn apply(world: &mut World, job: JobId, what: TtlStep, scope: &Scope) {
    let clock = clock(world.now, scope);
    let switches = &scope.algorithm.switches;
    let life = world.life_mut(job);
    let Some(mut it) = life.ttl.take() else { return };
    let stored = life.job.clone();
    let stored = stored.as_ref();
    match what {
        TtlStep::Sync => it.sync(stored, clock, switches),
        TtlStep::Get(Fortune::Handled) => it.read(stored, clock, switches),
        TtlStep::Get(Fortune::Fails | Fortune::AnswerLost) | TtlStep::Delete(Fortune::Fails) => {
            life.faults.failures += 1;
            it.retry();
        }
        TtlStep::Delete(fortune) => {
            let deleted = delete(&it, life, clock, scope);
            it.phase = Phase::Idle;
            life.faults.losses += u8::from(fortune == Fortune::AnswerLost);
            if !deleted || fortune == Fortune::AnswerLost {
                // TT-07: NotFound and Conflict are errors too.
                it.retry();
            }
        }
        TtlStep::Show => {
            it.cache = Cache::Stored;
            it.look(stored, clock, switches);
        }
        TtlStep::Crash => {
            life.faults.crashes += 1;
            *it = TtlController { cache: it.cache.clone(), ..TtlController::started() };
            it.look(stored, clock, switches);
        }
    }
    life.ttl = Some(it);
}

/// TT-06. Whether there was such a Job.
fn delete(it: &TtlController, life: &mut Life, clock: Time, scope: &Scope) -> bool {
    let Phase::Delete { uid, held } = &it.phase else { return false };
    let request = request(*uid, &scope.algorithm.switches);
    carry_out(life, &request, held, clock, scope)
}

/// What the specification says against the DELETE under way.
#[must_use]
pub fn objections(world: &World, job: JobId, scope: &Scope) -> Findings {
    let life = world.life(job);
    let phase = life.ttl.as_ref().map(|it| &it.phase);
    let Some(Phase::Delete { uid, held }) = phase else { return Findings::new() };
    let request = request(*uid, &scope.algorithm.switches);
    if !life.job.as_ref().is_some_and(|job| request.fits(job)) {
        return Findings::new();
    }
    judge_request(&request, held, clock(world.now, scope))
}

fn request(uid: Uid, switches: &Switches) -> Request {
    Request {
        uid: Some(uid).filter(|_| !switches.on(Switch::TtlOmitsUidPrecondition)),
        foreground: !switches.on(Switch::TtlDeletesInBackground),
    }
}

impl TtlController {
    /// What it makes of the Job in its cache, or of the stored one where it reads it: for a story.
    #[must_use]
    pub fn outlook(&self, stored: Option<&Arc<Job>>, fresh: bool, now: Time, scope: &Scope) -> String {
        let job = if fresh { stored.cloned() } else { self.cached(stored) };
        let Some(job) = job else { return "there is none".to_owned() };
        let switches = &scope.algorithm.switches;
        let clock = clock(now, scope);
        let ttl = |job: &Job| job.spec.ttl_seconds_after_finished;
        let older = stored.filter(|stored| ttl(stored) != ttl(&job));
        let stored =
            older.map_or(String::new(), |stored| format!(", where {} is stored", or_none(ttl(stored))));
        let read = format!("ttlSecondsAfterFinished {}{stored}", or_none(ttl(&job)));
        match due(&job, clock, switches) {
            None => format!("{read}: no candidate"),
            Some(due) if due <= clock => format!("{read}: expired"),
            Some(due) => {
                let timer = if switches.on(Switch::TtlIsNotQueuedAgain) { ", and sets no timer" } else { "" };
                format!("{read}: not expired for {} s{timer}", due.since(clock))
            }
        }
    }

    /// The DELETE under way.
    #[must_use]
    pub fn request(&self, switches: &Switches) -> Option<Request> {
        match self.phase {
            Phase::Delete { uid, .. } => Some(request(uid, switches)),
            Phase::Idle | Phase::Get => None,
        }
    }
}
