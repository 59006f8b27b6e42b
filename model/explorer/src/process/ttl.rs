//! The process of the TTL-after-finished controller (KEP-592): a lagging cache, a work queue with delays, a
//! fresh GET, and a DELETE.
//!
//! It runs beside the Job controller in scopes with [`TtlSubject::Controller`]. The guards
//! [`jobcheck_spec::guards::ttl`] judge each DELETE that the server commits.
//!
//! # Caveats
//!
//! - The controller's clock differs from that of the server and the Job controller by a constant number of
//!   seconds.
//! - The cache shows the stored Job or one older version. It skips the versions in between.
//! - A request is never delayed beyond the end of its process.
//!
//! [`TtlSubject::Controller`]: crate::scope::TtlSubject::Controller

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

/// A TTL-after-finished controller, as far as the key of one Job is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlController {
    cache: Cache,
    queued: bool,
    /// The time at which the key enters the work queue again, by the controller's clock (TT-04).
    wake: Option<Time>,
    phase: Phase,
}

/// The contents of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cache {
    Stored,
    Before(Option<Arc<Job>>),
}

/// The position of the controller in a sync.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Get,
    Delete {
        /// The request.
        request: Request,
        /// The versions that etcd has held since the Job was read (TT-06).
        held: Vec<Arc<Job>>,
    },
}

/// A step of a TTL-after-finished controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TtlStep {
    /// Takes the key from the queue, and looks at the cached Job.
    Sync,
    /// Gets the response to the GET.
    Get(RequestOutcome),
    /// Gets the response to the DELETE.
    Delete(RequestOutcome),
    /// Gets the event that shows the stored Job.
    Show,
    /// Crashes and restarts.
    Crash,
}

impl TtlController {
    /// A controller that has just started and listed the Jobs.
    #[must_use]
    pub fn started() -> TtlController {
        TtlController { cache: Cache::Stored, queued: false, wake: None, phase: Phase::Idle }
    }

    /// Notes a change of the Job in etcd. The cache still shows the old version, and a version that was read
    /// may be old.
    pub fn note(&mut self, before: Option<&Arc<Job>>, after: Option<&Arc<Job>>) {
        if self.cache == Cache::Stored {
            self.cache = Cache::Before(before.cloned());
        }
        if let (Phase::Delete { held, .. }, Some(after)) = (&mut self.phase, after) {
            held.push(after.clone());
        }
    }

    /// Returns true if the cache shows the stored Job.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.cache == Cache::Stored
    }

    /// Returns true if the controller has nothing to do, apart from a timer.
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

    /// TT-05: decides again about the Job that was just read.
    fn read(&mut self, stored: Option<&Arc<Job>>, clock: Time, algorithm: &Algorithm) {
        self.phase = Phase::Idle;
        if let Some(job) = stored {
            self.act(&TtlRead { job, fresh: true, clock }, stored, algorithm);
        }
    }

    /// Carries out the decision.
    fn act(&mut self, read: &TtlRead<'_>, stored: Option<&Arc<Job>>, algorithm: &Algorithm) {
        let mutations = &algorithm.mutations;
        match algorithm.decisions.ttl(read, mutations) {
            TtlDecision::Leave => {}
            // TT-04: the key enters the queue again when the TTL expires.
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

    /// Handles an event of the watch, or the list after a restart (TT-08, TT-14).
    fn look(&mut self, stored: Option<&Arc<Job>>, clock: Time, algorithm: &Algorithm) {
        let decide = |job: &Arc<Job>| {
            algorithm.decisions.ttl(&TtlRead { job, fresh: false, clock }, &algorithm.mutations)
        };
        self.queued |= self.cached(stored).is_some_and(|job| decide(&job) != TtlDecision::Leave);
    }
}

/// The enabled steps of the TTL-after-finished controller of a Job.
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

/// Takes a step.
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

/// TT-06: sends the DELETE. Returns whether the server found the Job.
fn delete(it: &TtlController, job_state: &mut JobState, clock: Time, scope: &Scope) -> bool {
    let Phase::Delete { request, held } = &it.phase else { return false };
    carry_out(job_state, request, held, clock, scope)
}

/// The requirements that the current DELETE breaks.
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
    /// The decision about the cached Job, or about the stored one if `fresh`, as text.
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
        match algorithm.decisions.ttl(&TtlRead { job: &job, fresh, clock }, &algorithm.mutations) {
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

    /// The current DELETE.
    #[must_use]
    pub fn request(&self) -> Option<Request> {
        match self.phase {
            Phase::Delete { request, .. } => Some(request),
            Phase::Idle | Phase::Get => None,
        }
    }

    /// Returns true if the server will carry out the current DELETE.
    #[must_use]
    pub fn fits(&self, stored: &Job) -> bool {
        match &self.phase {
            Phase::Delete { request, held } => request.fits(stored, held),
            Phase::Idle | Phase::Get => false,
        }
    }
}
