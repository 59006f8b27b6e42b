//! The algorithm of the TTL-after-finished controller (KEP-592), one API call at a time: a cache that lags, a work
//! queue with delays, a fresh GET, and a DELETE.
//!
//! It runs beside the Job controller where a scope has it ([`Algorithm::ttl`]), and shares no decision with
//! [`jobcheck_spec::guards::ttl`], which judge every DELETE that the server commits.
//!
//! # Caveats
//!
//! Its clock is a constant number of seconds ahead of the one that the server and the Job controller go by. Its cache
//! shows what is stored, or one older version, from which it goes to what is stored: those between are never seen. A request of it that is dead never
//! reaches the server later.
//!
//! [`Algorithm::ttl`]: crate::scope::Algorithm::ttl

use std::sync::Arc;

use crate::process::decisions::{TtlDecision, TtlRead};
use crate::scope::{Algorithm, Scope};
use crate::ttl::{Request, carry_out, judge_request};
use crate::world::{JobId, JobState, TtlDriver, World};
use jobcheck_spec::job::Job;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::words::or_none;

use crate::mutations::Mutation;
use crate::process::steps::RequestOutcome;

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
        /// What is asked for.
        request: Request,
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
    Get(RequestOutcome),
    /// Its DELETE is answered.
    Delete(RequestOutcome),
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
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle && !self.queued && self.cache == Cache::Stored
    }

    fn cached(&self, stored: Option<&Arc<Job>>) -> Option<Arc<Job>> {
        match &self.cache {
            Cache::Stored => stored.cloned(),
            Cache::Before(job) => job.clone(),
        }
    }

    fn sync(&mut self, stored: Option<&Arc<Job>>, clock: Time, algorithm: &Algorithm) {
        self.queued = false;
        self.wake = self.wake.filter(|wake| *wake > clock);
        if let Some(cached) = self.cached(stored) {
            let read = TtlRead { job: &cached, fresh: false, clock };
            self.act(&read, stored, algorithm);
        }
    }

    /// TT-05: everything is looked at again, on the fresh object.
    fn read(&mut self, stored: Option<&Arc<Job>>, clock: Time, algorithm: &Algorithm) {
        self.phase = Phase::Idle;
        if let Some(job) = stored {
            self.act(&TtlRead { job, fresh: true, clock }, stored, algorithm);
        }
    }

    /// Does what is decided.
    fn act(&mut self, read: &TtlRead<'_>, stored: Option<&Arc<Job>>, algorithm: &Algorithm) {
        let mutations = &algorithm.mutations;
        match (algorithm.decisions.ttl)(read, mutations) {
            TtlDecision::Leave => {}
            // TT-04.
            TtlDecision::WaitUntil(due) if !mutations.on(Mutation::TtlIsNotQueuedAgain) => {
                self.wake = Some(self.wake.map_or(due, |wake| wake.min(due)));
            }
            TtlDecision::WaitUntil(_) => {}
            TtlDecision::Fetch => self.phase = Phase::Get,
            TtlDecision::Delete(request) => {
                self.phase = Phase::Delete { request, held: stored.into_iter().cloned().collect() };
            }
            TtlDecision::Retry => self.retry(),
        }
    }

    fn retry(&mut self) {
        (self.phase, self.queued) = (Phase::Idle, true);
    }

    /// An event of its watch, or the list after a restart (TT-08, TT-14).
    fn look(&mut self, stored: Option<&Arc<Job>>, clock: Time, algorithm: &Algorithm) {
        let decide = |job: &Arc<Job>| {
            (algorithm.decisions.ttl)(&TtlRead { job, fresh: false, clock }, &algorithm.mutations)
        };
        self.queued |= self.cached(stored).is_some_and(|job| decide(&job) != TtlDecision::Leave);
    }
}

/// What can happen in the TTL controller of a Job.
pub fn enabled(world: &World, job: JobId, scope: &Scope, add: &mut dyn FnMut(TtlStep)) {
    let job_state = world.job_state(job);
    let TtlDriver::Controller(it) = &job_state.ttl else { return };
    let fails = job_state.faults.failures < scope.faults.failures;
    let loses = job_state.faults.losses < scope.faults.losses;
    let awake = it.queued || it.wake.is_some_and(|wake| wake <= scope.ttl_clock(world.now));
    let idle = it.phase == Phase::Idle;
    let remembers = !idle || it.queued || it.wake.is_some();
    let deletes = matches!(it.phase, Phase::Delete { .. });
    let all = [
        (TtlStep::Sync, idle && awake),
        (TtlStep::Get(RequestOutcome::Handled), !idle && !deletes),
        (TtlStep::Get(RequestOutcome::Fails), !idle && !deletes && fails),
        (TtlStep::Delete(RequestOutcome::Handled), deletes),
        (TtlStep::Delete(RequestOutcome::Fails), deletes && fails),
        (TtlStep::Delete(RequestOutcome::ResponseLost), deletes && loses),
        (TtlStep::Show, it.cache != Cache::Stored),
        (
            TtlStep::Crash,
            (remembers || scope.script.is_some()) && job_state.faults.crashes < scope.faults.crashes,
        ),
    ];
    all.into_iter().filter(|(_, possible)| *possible).for_each(|(step, _)| add(step));
}

/// Does it.
pub fn apply(world: &mut World, job: JobId, what: TtlStep, scope: &Scope) {
    let Some(algorithm) = scope.algorithm() else { return };
    let clock = algorithm.ttl_clock(world.now);
    let job_state = world.job_state_mut(job);
    let TtlDriver::Controller(mut it) = std::mem::replace(&mut job_state.ttl, TtlDriver::Specification)
    else {
        return;
    };
    let stored = job_state.job.clone();
    let stored = stored.as_ref();
    match what {
        TtlStep::Sync => it.sync(stored, clock, algorithm),
        TtlStep::Get(RequestOutcome::Handled) => it.read(stored, clock, algorithm),
        TtlStep::Get(RequestOutcome::Fails | RequestOutcome::ResponseLost)
        | TtlStep::Delete(RequestOutcome::Fails) => {
            job_state.faults.failures += 1;
            it.retry();
        }
        TtlStep::Delete(outcome) => {
            let deleted = delete(&it, job_state, clock, scope);
            it.phase = Phase::Idle;
            job_state.faults.losses += u8::from(outcome == RequestOutcome::ResponseLost);
            if !deleted || outcome == RequestOutcome::ResponseLost {
                // TT-07: NotFound and Conflict are errors too.
                it.retry();
            }
        }
        TtlStep::Show => {
            it.cache = Cache::Stored;
            it.look(stored, clock, algorithm);
        }
        TtlStep::Crash => {
            job_state.faults.crashes += 1;
            *it = TtlController { cache: it.cache.clone(), ..TtlController::started() };
            it.look(stored, clock, algorithm);
        }
    }
    job_state.ttl = TtlDriver::Controller(it);
}

/// TT-06. Whether there was such a Job.
fn delete(it: &TtlController, job_state: &mut JobState, clock: Time, scope: &Scope) -> bool {
    let Phase::Delete { request, held } = &it.phase else { return false };
    carry_out(job_state, request, held, clock, scope)
}

/// What the specification says against the DELETE under way.
#[must_use]
pub fn objections(world: &World, job: JobId, scope: &Scope) -> Findings {
    let job_state = world.job_state(job);
    let phase = job_state.ttl.controller().map(|it| &it.phase);
    let Some(Phase::Delete { request, held }) = phase else { return Findings::new() };
    if !job_state.job.as_ref().is_some_and(|job| request.fits(job, held)) {
        return Findings::new();
    }
    judge_request(request, held, scope.ttl_clock(world.now))
}

impl TtlController {
    /// What it makes of the Job in its cache, or of the stored one where it reads it: for a story.
    #[must_use]
    pub fn explain(
        &self,
        stored: Option<&Arc<Job>>,
        fresh: bool,
        now: Time,
        algorithm: &Algorithm,
    ) -> String {
        let job = if fresh { stored.cloned() } else { self.cached(stored) };
        let Some(job) = job else { return "there is none".to_owned() };
        let clock = algorithm.ttl_clock(now);
        let ttl = |job: &Job| job.spec.ttl_seconds_after_finished;
        let older = stored.filter(|stored| ttl(stored) != ttl(&job));
        let stored =
            older.map_or(String::new(), |stored| format!(", where {} is stored", or_none(ttl(stored))));
        let read = format!("ttlSecondsAfterFinished {}{stored}", or_none(ttl(&job)));
        match (algorithm.decisions.ttl)(&TtlRead { job: &job, fresh, clock }, &algorithm.mutations) {
            TtlDecision::Leave => format!("{read}: no candidate"),
            TtlDecision::Fetch | TtlDecision::Delete(_) => format!("{read}: expired"),
            TtlDecision::WaitUntil(due) => {
                let forgets = algorithm.mutations.on(Mutation::TtlIsNotQueuedAgain);
                let timer = if forgets { ", and sets no timer" } else { "" };
                format!("{read}: not expired for {} s{timer}", due.since(clock))
            }
            TtlDecision::Retry => format!("{read}: cannot be judged"),
        }
    }

    /// The DELETE under way.
    #[must_use]
    pub fn request(&self) -> Option<Request> {
        match self.phase {
            Phase::Delete { request, .. } => Some(request),
            Phase::Idle | Phase::Get => None,
        }
    }

    /// Whether the server carries the DELETE under way out.
    #[must_use]
    pub fn fits(&self, stored: &Job) -> bool {
        match &self.phase {
            Phase::Delete { request, held } => request.fits(stored, held),
            Phase::Idle | Phase::Get => false,
        }
    }
}
