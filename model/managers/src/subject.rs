//! The subjects: the mirror protocol, and mutations from it.
//!
//! A mutation changes one decision of the protocol. `kueue` is made of mutations, because its adapter differs from
//! the protocol in four ways. Each of them is a fix that can be switched on by leaving it out.

use std::fmt;

use jobcheck_spec::job::{Condition, ConditionKind, JobStatus};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::protocol::{Base, CopyView, LocalView, Memory, Request, WorkerView, decide};

/// The decisions of a manager that is not the mirror protocol. They must depend on nothing but the arguments.
pub trait Mirror: Send + Sync {
    /// The requests that the manager may send now, as [`crate::protocol::decide`] returns them.
    fn decide(
        &self,
        local: Option<Option<&LocalView>>,
        workers: &[WorkerView],
        memory: &Memory,
        now: Time,
    ) -> Vec<Request>;
}

impl fmt::Debug for dyn Mirror + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("another manager")
    }
}

/// A difference between a manager and the mirror protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// The status of the copy replaces that of the Job, and a new copy starts from nothing.
    CopiesStatusWhole,
    /// A Job of this name on a worker is the copy, if it was created by this manager.
    FindsByName,
    /// Copies have no finalizer of the manager.
    HasNoFinalizer,
    /// No status is written while `spec.suspend` is true.
    SkipsSuspended,
    /// A Job of this name on a worker is the copy, whoever has created it.
    TakesStrangers,
    /// The Job of this name on a worker is deleted, whatever its UID.
    DeletesByName,
    /// A worker whose cache is not filled counts as one without a copy.
    TrustsEmptyCaches,
    /// A creation is not remembered until the cache shows it.
    ForgetsCreations,
    /// The finalizer of a copy is removed before its status is reported.
    ReleasesFirst,
    /// The finalizer is removed from a version of the copy that the cache does not show.
    ReleasesUnseen,
    /// A resumption is passed on before the suspension was reported.
    ResumesFirst,
    /// The terminal condition is copied while pods of the copy are terminating.
    EndsEarly,
    /// `completionTime` is set for a Job that has failed.
    TimesFailures,
    /// Conditions of other actors are dropped.
    DropsConditions,
    /// The failures of the copy are added again with each write.
    CountsAgain,
    /// SuccessCriteriaMet is copied before the successes are counted.
    AcceptsUncounted,
    /// The terminal condition is written without the interim one.
    OmitsInterim,
    /// A decided end is never finished.
    StopsAtInterim,
    /// Copies of a Job that is gone stay.
    LeavesOrphans,
    /// An end that the status shows is not reported.
    HidesTheEnd,
    /// `lastTransitionTime` of every condition is that of the write.
    WritesNow,
    /// A resumed Job keeps its `startTime`.
    KeepsStart,
    /// The status is written although nothing has changed.
    WritesAgain,
    /// Both conditions of the end are written at once.
    EndsAtOnce,
    /// `terminating` is not reported.
    OmitsTerminating,
    /// `active` is twice that of the copy.
    DoublesActive,
    /// The terminal condition is written while the status shows pods.
    EndsLiving,
}

/// A repair of the adapter of Kueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fix {
    /// The status is computed as the protocol does, with the counters of earlier copies, and copies have a finalizer.
    /// Without it, a copy that is decided can be lost.
    KeepsCounters,
    /// The status is computed as the protocol does, and is written while the Job is suspended.
    MirrorsSuspension,
    /// Copies are found by the UID of the local Job.
    FindsByUid,
    /// Copies have a finalizer until their end is reported.
    HasFinalizer,
}

/// A manager: the mirror protocol with mutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name in options and reports.
    pub name: &'static str,
    /// The mutations.
    pub mutations: &'static [Mutation],
}

impl Subject {
    /// The protocol itself.
    pub const MIRROR: Subject = Subject { name: "mirror", mutations: &[] };

    /// The adapter of Kueue 0.19 for `batch/v1` Jobs (`docs/reference/managers.md`, section 4).
    pub const KUEUE: Subject = Subject {
        name: "kueue",
        mutations: &[
            Mutation::CopiesStatusWhole,
            Mutation::FindsByName,
            Mutation::HasNoFinalizer,
            Mutation::SkipsSuspended,
        ],
    };

    /// The same adapter with a repair.
    #[must_use]
    pub const fn kueue_with(fix: Fix) -> Subject {
        let mutations: &[Mutation] = match fix {
            Fix::KeepsCounters => &[Mutation::FindsByName, Mutation::SkipsSuspended],
            Fix::MirrorsSuspension => &[Mutation::FindsByName, Mutation::HasNoFinalizer],
            Fix::FindsByUid => {
                &[Mutation::CopiesStatusWhole, Mutation::HasNoFinalizer, Mutation::SkipsSuspended]
            }
            Fix::HasFinalizer => {
                &[Mutation::CopiesStatusWhole, Mutation::FindsByName, Mutation::SkipsSuspended]
            }
        };
        Subject { name: "kueue with a fix", mutations }
    }

    /// Returns true if the manager departs in this way.
    #[must_use]
    pub fn has(&self, mutation: Mutation) -> bool {
        self.mutations.contains(&mutation)
    }

    /// The requests that the manager may send now.
    #[must_use]
    pub fn decide(
        &self,
        local: Option<Option<&LocalView>>,
        mut workers: Vec<WorkerView>,
        memory: &Memory,
        now: Time,
    ) -> Vec<Request> {
        let forgets = self.has(Mutation::ForgetsCreations);
        let memory = if forgets { Memory::default() } else { memory.clone() };
        workers.iter_mut().for_each(|view| self.misread(local, view));
        let seen = local.flatten().and_then(|local| Some((local, copy_of(local, &workers)?)));
        let mut requests = decide(local, &workers, &memory, now);
        if let Some((local, (worker, copy))) = seen {
            self.change_requests(local, worker, copy, &mut requests);
            self.change_status(local, copy, now, &mut requests);
        }
        let suspended = local.flatten().is_some_and(|local| local.job.spec.is_suspended());
        requests.retain_mut(|request| match request {
            Request::Write(_) => !(suspended && self.has(Mutation::SkipsSuspended)),
            Request::Create(_, base) => {
                if self.has(Mutation::CopiesStatusWhole) {
                    *base = Base::default();
                }
                true
            }
            Request::Delete(_) => !(self.has(Mutation::LeavesOrphans) && local == Some(None)),
            Request::Suspend(..) | Request::Release(_) => true,
        });
        requests
    }

    /// Takes the Job of a worker for the copy, although it belongs to another Job.
    fn misread(&self, local: Option<Option<&LocalView>>, view: &mut WorkerView) {
        if matches!(view, WorkerView::Unknown) && self.has(Mutation::TrustsEmptyCaches) {
            *view = WorkerView::Known(None);
        }
        let WorkerView::Known(Some(copy)) = view else { return };
        let by_name = if copy.origin.is_some() { Mutation::FindsByName } else { Mutation::TakesStrangers };
        let current = local.flatten().map(|local| local.job.uid);
        if self.has(by_name) {
            copy.origin = current.or(copy.origin).or(Some(Uid(1)));
        }
    }

    /// Requests that the protocol sends later, or never.
    fn change_requests(
        &self,
        local: &LocalView,
        worker: usize,
        copy: &CopyView,
        requests: &mut Vec<Request>,
    ) {
        let suspended = local.job.spec.is_suspended();
        if self.has(Mutation::ReleasesFirst) && copy.deleting && copy.finalizer {
            requests.push(Request::Release(worker));
        }
        if self.has(Mutation::ResumesFirst) && copy.suspended && !suspended {
            requests.push(Request::Suspend(worker, false));
        }
    }

    /// A status in place of the protocol's.
    fn change_status(&self, local: &LocalView, copy: &CopyView, now: Time, requests: &mut Vec<Request>) {
        let old = &local.job.status;
        let place = requests.iter().position(|request| matches!(request, Request::Write(_)));
        let mut new = match place.map(|place| requests.remove(place)) {
            Some(Request::Write(status)) => status,
            Some(_) | None => old.clone(),
        };
        if !old.is_finished() {
            for mutation in self.mutations {
                rewrite(*mutation, old, copy, now, &mut new);
            }
        }
        if new != *old || self.has(Mutation::WritesAgain) {
            requests.push(Request::Write(new));
        }
    }
}

/// The copy of the local Job, with its worker.
fn copy_of<'a>(local: &LocalView, workers: &'a [WorkerView]) -> Option<(usize, &'a CopyView)> {
    workers.iter().enumerate().find_map(|(worker, view)| match view {
        WorkerView::Known(Some(copy)) if copy.origin == Some(local.job.uid) => Some((worker, &**copy)),
        WorkerView::Known(_) | WorkerView::Unknown => None,
    })
}

const ENDS: [(ConditionKind, ConditionKind); 2] = [
    (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
    (ConditionKind::FailureTarget, ConditionKind::Failed),
];

fn rewrite(mutation: Mutation, old: &JobStatus, copy: &CopyView, now: Time, new: &mut JobStatus) {
    let theirs = &copy.status;
    match mutation {
        Mutation::CopiesStatusWhole => *new = theirs.clone(),
        Mutation::EndsEarly if ENDS.iter().any(|(interim, _)| old.is_true(interim)) => {
            (new.active, new.terminating) = (0, Some(0));
            end(new, now);
        }
        Mutation::TimesFailures if new.is_true(&ConditionKind::Failed) => new.completion_time = Some(now),
        Mutation::DropsConditions => {
            new.conditions.retain(|it| !matches!(it.kind, ConditionKind::Other(_)));
        }
        Mutation::CountsAgain if new != old => new.failed = old.failed + theirs.failed,
        Mutation::AcceptsUncounted => {
            let accepted = theirs.condition(&ConditionKind::SuccessCriteriaMet);
            new.conditions.extend(accepted.filter(|it| new.condition(&it.kind).is_none()).cloned());
        }
        Mutation::OmitsInterim => {
            let ended = ENDS.iter().find_map(|(_, terminal)| theirs.condition(terminal));
            new.conditions.retain(|it| ENDS.iter().all(|(interim, _)| it.kind != *interim));
            new.conditions.extend(ended.cloned());
            new.completion_time = theirs.completion_time;
        }
        Mutation::KeepsStart
            if old.is_true(&ConditionKind::Suspended) && !new.is_true(&ConditionKind::Suspended) =>
        {
            new.start_time = old.start_time;
        }
        Mutation::EndsAtOnce
            if new.active == 0 && new.terminating.unwrap_or(0) == 0 && theirs.is_finished() =>
        {
            end(new, now);
        }
        Mutation::EndsLiving => end(new, now),
        Mutation::OmitsTerminating => new.terminating = None,
        Mutation::DoublesActive if !new.is_finished() => new.active = theirs.active * 2,
        Mutation::StopsAtInterim if new.is_finished() => *new = old.clone(),
        Mutation::HidesTheEnd if new.is_decided() => *new = old.clone(),
        Mutation::WritesNow if !new.conditions.is_empty() => {
            new.conditions.iter_mut().for_each(|it| it.last_transition_time = Some(now));
        }
        Mutation::FindsByName
        | Mutation::HasNoFinalizer
        | Mutation::SkipsSuspended
        | Mutation::TakesStrangers
        | Mutation::DeletesByName
        | Mutation::TrustsEmptyCaches
        | Mutation::ForgetsCreations
        | Mutation::ReleasesFirst
        | Mutation::ReleasesUnseen
        | Mutation::ResumesFirst
        | Mutation::EndsEarly
        | Mutation::TimesFailures
        | Mutation::CountsAgain
        | Mutation::StopsAtInterim
        | Mutation::LeavesOrphans
        | Mutation::HidesTheEnd
        | Mutation::WritesNow
        | Mutation::KeepsStart
        | Mutation::WritesAgain
        | Mutation::EndsAtOnce
        | Mutation::DoublesActive => {}
    }
}

/// Adds the terminal condition of a decided status.
fn end(new: &mut JobStatus, at: Time) {
    for (interim, terminal) in ENDS {
        if !new.is_finished()
            && let Some(cause) = new.condition(&interim).cloned()
        {
            new.completion_time = (terminal == ConditionKind::Complete).then_some(at);
            new.conditions.push(Condition { kind: terminal, ..cause });
        }
    }
}
