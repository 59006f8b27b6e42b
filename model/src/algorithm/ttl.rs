//! The algorithm of the TTL-after-finished controller (KEP-592), one API call at a time: a cache that lags, a
//! work queue with delays, a fresh GET, and a DELETE.
//!
//! It is a small [`System`] of its own: of a Job it sees the end and the TTL alone, and it shares no decision
//! with [`crate::guards::ttl`], which judge every DELETE that the server commits.
//!
//! # Caveats
//!
//! That a Job is gone at last (TT-14) is looked at where nothing moves by itself any more, not on cycles. The two
//! clocks differ by a constant and tick together. The Job controller is reduced to "decides, then finishes". A
//! request of a dead process does not reach the server later.

use std::sync::Arc;

use crate::catalogue::Req;
use crate::explore::engine::{End, Limits, Run, System, explore};
use crate::guards::ttl::{JobDeletion, judge_ttl_deletion};
use crate::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus};
use crate::requirement::Findings;
use crate::scopes::many;
use crate::time::Time;
use crate::uid::Uid;

/// A known defect of TTL controllers (bugs.md B48, B49).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// B48 a: it decides by its cache, without a fresh GET.
    TrustsCache,
    /// B48 b: the DELETE has no UID as precondition.
    NoUidPrecondition,
    /// B48 c: an interim condition is taken for the end.
    InterimIsFinished,
    /// B48 d: an end in the future is taken for now.
    ClampsFutureFinish,
    /// B48 e: background instead of foreground.
    DeletesInBackground,
    /// TT-09: it does not look whether the Job is being deleted.
    DeletesAgain,
    /// B49: a Job that is not expired yet is not queued again.
    DoesNotRequeue,
}

/// What no TTL controller can promise (bugs.md B48): judged so, a controller without a defect fails too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ideal {
    /// Not before the expiry by the API server's clock.
    OneClock,
    /// Not before the expiry of the Job as it is stored when the DELETE is committed, whatever was read (TT-06).
    NoWindow,
}

/// A small world of the TTL controller.
#[derive(Clone, Debug, Default)]
pub struct TtlScope {
    /// By how many seconds the controller's clock may differ from the API server's, either way.
    pub skew: i64,
    /// Seconds that pass by the API server's clock.
    pub ticks: i64,
    /// `ttlSecondsAfterFinished` of the Jobs.
    pub ttl: i64,
    /// What the user sets it to, once.
    pub edit: Option<i64>,
    /// Whether the user once deletes the Job, and may create another of its name at once.
    pub recreates: bool,
    /// Requests that fail, answers that are lost and crashes, together.
    pub faults: u8,
    /// What is wrong with the controller.
    pub defect: Option<Defect>,
    /// A requirement whose guard is switched off.
    pub without: Option<Req>,
    /// More than the specification asks for.
    pub ideal: Option<Ideal>,
}

/// How far a Job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    Running,
    Decided(i64),
    Finished(i64),
}

/// A version of the Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Version {
    uid: u8,
    fate: Fate,
    ttl: i64,
    deleting: bool,
}

/// Where the sync is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Get,
    /// The UID that was read, and the versions that etcd held since (TT-06's window).
    Delete(u8, Vec<Version>),
}

/// The state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlState {
    now: i64,
    skew: i64,
    stored: Option<Version>,
    cache: Option<Version>,
    queued: bool,
    wake: Option<i64>,
    phase: Phase,
    edited: bool,
    recreated: bool,
    faults: u8,
    objection: Option<Req>,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlStep {
    /// A sync begins.
    Sync,
    /// The request under way is handled.
    Call,
    /// It fails.
    Fail,
    /// It is handled, and the answer is lost.
    Lose,
    /// The process dies and is started again.
    Crash,
    /// The cache shows what is stored.
    Show,
    /// The Job controller takes the Job one step to its end.
    Advance,
    /// The garbage collector is done with the pods.
    Remove,
    /// The user sets the TTL.
    Edit,
    /// The user deletes the Job and creates another of its name.
    Recreate,
    /// The user deletes the Job in the foreground.
    Delete,
    /// A second passes.
    Tick,
}

impl Version {
    fn new(uid: u8, ttl: i64) -> Version {
        Version { uid, fate: Fate::Running, ttl, deleting: false }
    }

    /// The Job as guards see it.
    fn job(&self) -> Job {
        let ttl = i32::try_from(self.ttl).ok();
        let (kind, time) = match self.fate {
            Fate::Running => (None, 0),
            Fate::Decided(time) => (Some(ConditionKind::SuccessCriteriaMet), time),
            Fate::Finished(time) => (Some(ConditionKind::Complete), time),
        };
        let condition = |kind| Condition {
            kind,
            status: ConditionStatus::True,
            reason: "".into(),
            message: "".into(),
            last_transition_time: Some(Time(time)),
        };
        Job {
            uid: Uid(u128::from(self.uid)),
            name: "job".into(),
            namespace: "default".into(),
            generation: 1,
            created: Time(0),
            deleting: self.deleting,
            finalizers: Vec::new(),
            metadata_digest: 0,
            spec: Arc::new(JobSpec { ttl_seconds_after_finished: ttl, ..many(1, 1) }),
            status: JobStatus {
                conditions: kind.into_iter().map(condition).collect(),
                ..JobStatus::default()
            },
        }
    }
}

impl TtlState {
    /// The TTL controller's clock.
    fn clock(&self) -> i64 {
        self.now + self.skew
    }

    fn store(&mut self, version: Option<Version>) {
        self.stored = version;
        if let (Phase::Delete(_, window), Some(version)) = (&mut self.phase, version) {
            window.push(version);
        }
    }
}

impl TtlScope {
    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// When the controller takes the Job for expired; `None` where it is no candidate (TT-01, TT-02).
    fn due(&self, version: Version, clock: i64) -> Option<i64> {
        let finish = match version.fate {
            _ if version.deleting && !self.has(Defect::DeletesAgain) => return None,
            Fate::Finished(time) => time,
            Fate::Decided(time) if self.has(Defect::InterimIsFinished) => time,
            Fate::Running | Fate::Decided(_) => return None,
        };
        let clamped = if self.has(Defect::ClampsFutureFinish) { finish.min(clock) } else { finish };
        Some(clamped + version.ttl)
    }

    /// Whether a version is expired; one that will be is queued for then (TT-04).
    fn is_expired(&self, state: &mut TtlState, version: Option<Version>) -> bool {
        let clock = state.clock();
        let Some(due) = version.and_then(|version| self.due(version, clock)) else { return false };
        if due > clock && !self.has(Defect::DoesNotRequeue) {
            state.wake = Some(state.wake.map_or(due, |wake| wake.min(due)));
        }
        due <= clock
    }

    fn sync(&self, state: &mut TtlState) {
        state.queued = false;
        state.wake = state.wake.filter(|wake| *wake > state.clock());
        let cached = state.cache;
        if !self.is_expired(state, cached) {
            return;
        }
        state.phase = match (cached, state.stored) {
            (Some(cached), stored) if self.has(Defect::TrustsCache) => {
                Phase::Delete(cached.uid, stored.into_iter().collect())
            }
            _ => Phase::Get,
        };
    }

    /// The server handles the request (TT-05, TT-06).
    fn call(&self, state: &mut TtlState) {
        match std::mem::replace(&mut state.phase, Phase::Idle) {
            Phase::Idle => {}
            Phase::Get => {
                let fresh = state.stored;
                if let Some(version) = fresh.filter(|_| self.is_expired(state, fresh)) {
                    state.phase = Phase::Delete(version.uid, vec![version]);
                }
            }
            Phase::Delete(uid, window) => self.delete(state, uid, &window),
        }
    }

    fn delete(&self, state: &mut TtlState, uid: u8, window: &[Version]) {
        let checked = !self.has(Defect::NoUidPrecondition);
        let Some(stored) = state.stored.filter(|stored| !checked || stored.uid == uid) else {
            // NotFound and Conflict are errors (TT-07).
            state.queued = true;
            return;
        };
        let policy = if self.has(Defect::DeletesInBackground) { "Background" } else { "Foreground" };
        let deletion = JobDeletion {
            propagation: Some(policy.to_owned()),
            uid_precondition: checked.then_some(Uid(u128::from(uid))),
            request_known: true,
            latest: Some(Time(if self.ideal == Some(Ideal::OneClock) { state.now } else { state.clock() })),
        };
        let seen = if self.ideal == Some(Ideal::NoWindow) { std::slice::from_ref(&stored) } else { window };
        let jobs: Vec<Job> = seen.iter().map(Version::job).collect();
        let mut findings = Findings::new();
        // That the Job is being deleted since it was read nobody can know; such a DELETE changes nothing.
        let overtaken = stored.deleting && window.iter().any(|version| !version.deleting);
        if !overtaken {
            judge_ttl_deletion(&jobs.iter().collect::<Vec<_>>(), &deletion, &mut findings);
        }
        let broken = findings.broken.iter().map(|broken| broken.req).find(|req| Some(*req) != self.without);
        state.objection = state.objection.or(broken);
        state.stored = Some(Version { deleting: true, ..stored });
    }

    fn show(&self, state: &mut TtlState) {
        state.cache = state.stored;
        let clock = state.clock();
        state.queued |= state.cache.is_some_and(|version| self.due(version, clock).is_some());
    }

    fn environment(&self, state: &mut TtlState, step: TtlStep) {
        let Some(stored) = state.stored else { return };
        match step {
            TtlStep::Advance => {
                let fate = match stored.fate {
                    Fate::Running => Fate::Decided(state.now),
                    Fate::Decided(_) | Fate::Finished(_) => Fate::Finished(state.now),
                };
                state.store(Some(Version { fate, ..stored }));
            }
            TtlStep::Edit => {
                state.edited = true;
                state.store(Some(Version { ttl: self.edit.unwrap_or(stored.ttl), ..stored }));
            }
            TtlStep::Recreate => {
                state.recreated = true;
                state.store(Some(Version::new(stored.uid + 1, self.ttl)));
            }
            TtlStep::Delete => {
                state.recreated = true;
                state.store(Some(Version { deleting: true, ..stored }));
            }
            _ => state.store(None),
        }
    }

    /// TT-14: nothing is going to happen by itself, and an expired Job is still there.
    fn is_forgotten(state: &TtlState, steps: &[TtlStep]) -> bool {
        let by_itself = |step: &TtlStep| {
            !matches!(
                step,
                TtlStep::Edit
                    | TtlStep::Recreate
                    | TtlStep::Delete
                    | TtlStep::Crash
                    | TtlStep::Fail
                    | TtlStep::Lose
            )
        };
        let expired = |stored: Version| match stored.fate {
            Fate::Finished(time) => !stored.deleting && time + stored.ttl <= state.clock(),
            Fate::Running | Fate::Decided(_) => false,
        };
        !steps.iter().any(by_itself) && state.stored.is_some_and(expired)
    }

    /// Explores it.
    #[must_use]
    pub fn explore(&self) -> Run<TtlScope> {
        explore(self, &Limits::none(1))
    }

    /// The requirement that a search found broken.
    #[must_use]
    pub fn broken(run: &Run<TtlScope>) -> Option<Req> {
        match run.end {
            End::Broken { state, .. } => Some(run.store.state(state).objection.unwrap_or(Req::TT14)),
            End::Exhausted | End::Cut(_) => None,
        }
    }
}

impl System for TtlScope {
    type State = TtlState;
    type Step = TtlStep;
    type Scratch = ();

    const KINDS: usize = 12;

    fn scratch(&self) {}

    fn initial(&self, (): &mut ()) -> Vec<TtlState> {
        let job = Some(Version::new(1, self.ttl));
        let at = |skew| TtlState {
            now: 0,
            skew,
            stored: job,
            cache: job,
            queued: false,
            wake: None,
            phase: Phase::Idle,
            edited: false,
            recreated: false,
            faults: 0,
            objection: None,
        };
        (-self.skew..=self.skew).map(at).collect()
    }

    fn steps(&self, (): &mut (), state: &TtlState, steps: &mut Vec<TtlStep>) {
        let idle = state.phase == Phase::Idle;
        let faulty = state.faults < self.faults;
        let awake = state.queued || state.wake.is_some_and(|wake| wake <= state.clock());
        let stored = state.stored;
        let live = stored.filter(|stored| !stored.deleting);
        let all = [
            (TtlStep::Sync, idle && awake),
            (TtlStep::Call, !idle),
            (TtlStep::Fail, !idle && faulty),
            (TtlStep::Lose, !idle && faulty),
            (TtlStep::Crash, faulty && (!idle || state.queued || state.wake.is_some())),
            (TtlStep::Show, state.cache != stored),
            (TtlStep::Advance, live.is_some_and(|live| !matches!(live.fate, Fate::Finished(_)))),
            (TtlStep::Remove, stored.is_some_and(|stored| stored.deleting)),
            (TtlStep::Edit, live.is_some() && self.edit.is_some() && !state.edited),
            (TtlStep::Recreate, live.is_some() && self.recreates && !state.recreated),
            (TtlStep::Delete, live.is_some() && self.recreates && !state.recreated),
            (TtlStep::Tick, stored.is_some() && state.now < self.ticks),
        ];
        steps.extend(all.into_iter().filter(|(_, possible)| *possible).map(|(step, _)| step));
    }

    fn apply(&self, (): &mut (), state: &TtlState, step: &TtlStep) -> TtlState {
        let mut next = state.clone();
        match step {
            TtlStep::Sync => self.sync(&mut next),
            TtlStep::Call => self.call(&mut next),
            TtlStep::Lose => {
                self.call(&mut next);
                (next.phase, next.queued) = (Phase::Idle, true);
            }
            TtlStep::Fail => (next.phase, next.queued) = (Phase::Idle, true),
            TtlStep::Crash => {
                (next.phase, next.wake) = (Phase::Idle, None);
                let clock = next.clock();
                next.queued = next.cache.is_some_and(|version| self.due(version, clock).is_some());
            }
            TtlStep::Show => self.show(&mut next),
            TtlStep::Tick => next.now += 1,
            _ => self.environment(&mut next, *step),
        }
        if matches!(step, TtlStep::Fail | TtlStep::Lose | TtlStep::Crash) {
            next.faults += 1;
        }
        next
    }

    fn look(&self, (): &mut (), state: &TtlState, steps: &[TtlStep]) -> Option<usize> {
        match state.objection {
            Some(_) => Some(0),
            None => TtlScope::is_forgotten(state, steps).then_some(1),
        }
    }

    fn kind(&self, step: &TtlStep) -> usize {
        *step as usize
    }
}

#[cfg(test)]
mod tests;
