//! The steps, and when they are enabled.

use crate::executor::{Move, Task};
use crate::flat::Flat;
use crate::history::COPIES;
use crate::protocol::Request;
use crate::scope::Scope;
use crate::subject::Mutation;
use crate::world::{Copied, WORKERS, World};
use jobcheck_spec::time::Time;

/// A step. The number is that of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Caches of the manager show the newest version, the manager sends a request, and the API server handles it.
    Request(Caches, Call),
    /// The executor writes the status of the copy.
    Execute(usize, Move),
    /// The dispatcher chooses a worker.
    Assign(usize),
    /// The dispatcher takes the Job away from its worker.
    Evict,
    /// The user changes `spec.suspend`.
    Suspend(bool),
    /// The user deletes the local Job.
    Delete,
    /// The user creates the Job again.
    Recreate,
    /// Another actor sets its condition on the local Job.
    SetCondition,
    /// Somebody deletes the copy on the worker.
    DeleteCopy(usize),
    /// Somebody creates a Job of this name on the worker.
    CreateStranger(usize),
    /// The TTL controller of the manager cluster deletes the Job.
    Expire,
    /// The TTL controller of the worker deletes the copy.
    ExpireCopy(usize),
    /// The worker becomes unreachable.
    Disconnect(usize),
    /// The worker is reachable again.
    Reconnect(usize),
    /// The manager stops, and a new process starts with empty caches.
    Crash,
}

/// The caches that become up to date before a decision. A bit for each worker, and [`Caches::LOCAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caches(pub u8);

impl Caches {
    /// The cache of the manager cluster.
    pub const LOCAL: u8 = 1 << WORKERS;
    /// All caches.
    pub const ALL: Caches = Caches((1 << (WORKERS + 1)) - 1);

    /// Returns true if the cache of this worker is among them.
    #[must_use]
    pub fn has(self, worker: usize) -> bool {
        self.0 >> worker & 1 == 1
    }
}

/// A request without its content, which follows from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// [`Request::Write`].
    Write,
    /// [`Request::Create`].
    Create(usize),
    /// [`Request::Suspend`].
    Suspend(usize),
    /// [`Request::Delete`].
    Delete(usize),
    /// [`Request::Release`].
    Release(usize),
}

impl Call {
    /// The call of a request.
    #[must_use]
    pub fn of(request: &Request) -> Call {
        match request {
            Request::Write(_) => Call::Write,
            Request::Create(worker, _) => Call::Create(*worker),
            Request::Suspend(worker, _) => Call::Suspend(*worker),
            Request::Delete(worker) => Call::Delete(*worker),
            Request::Release(worker) => Call::Release(*worker),
        }
    }

    /// The worker to which the request is sent; `None` for the manager cluster.
    #[must_use]
    pub fn worker(self) -> Option<usize> {
        match self {
            Call::Write => None,
            Call::Create(worker) | Call::Suspend(worker) | Call::Delete(worker) | Call::Release(worker) => {
                Some(worker)
            }
        }
    }
}

impl Step {
    /// The names of the kinds, by [`Step::kind`].
    pub const KINDS: [&'static str; 19] = [
        "the manager writes the status",
        "the manager creates the copy",
        "the manager suspends or resumes the copy",
        "the manager deletes the copy",
        "the manager removes its finalizer",
        "the executor writes the status of the copy",
        "the dispatcher chooses a worker",
        "the dispatcher takes the Job away",
        "the user changes suspend",
        "the user deletes the Job",
        "the user creates the Job again",
        "another actor sets its condition",
        "somebody deletes the copy",
        "somebody creates a Job of this name on the worker",
        "the Job expires",
        "the copy expires",
        "a worker becomes unreachable",
        "a worker is reachable again",
        "the manager crashes",
    ];

    /// The number of the kind.
    #[must_use]
    pub fn kind(&self) -> usize {
        match self {
            Step::Request(_, Call::Write) => 0,
            Step::Request(_, Call::Create(_)) => 1,
            Step::Request(_, Call::Suspend(_)) => 2,
            Step::Request(_, Call::Delete(_)) => 3,
            Step::Request(_, Call::Release(_)) => 4,
            Step::Execute(..) => 5,
            Step::Assign(_) => 6,
            Step::Evict => 7,
            Step::Suspend(_) => 8,
            Step::Delete => 9,
            Step::Recreate => 10,
            Step::SetCondition => 11,
            Step::DeleteCopy(_) => 12,
            Step::CreateStranger(_) => 13,
            Step::Expire => 14,
            Step::ExpireCopy(_) => 15,
            Step::Disconnect(_) => 16,
            Step::Reconnect(_) => 17,
            Step::Crash => 18,
        }
    }

    /// Returns true if the step is an event of the environment: not the work of the manager or of the
    /// executor.
    #[must_use]
    pub fn is_event(&self) -> bool {
        !matches!(self, Step::Request(..) | Step::Execute(..))
    }
}

/// The requests that a manager sends, each with the fewest caches that have to be up to date for it. `stale` has a bit for each
/// cache that is not, and `sent` returns the requests once some of these are.
pub(crate) fn with_fewest_caches<R: PartialEq>(stale: u8, sent: impl Fn(u8) -> Vec<R>) -> Vec<(u8, R)> {
    let mut all: Vec<(u8, R)> = Vec::new();
    for caches in (0..=stale).filter(|caches| caches & !stale == 0) {
        for request in sent(caches) {
            if !all.iter().any(|(less, same)| less & !caches == 0 && *same == request) {
                all.push((caches, request));
            }
        }
    }
    all
}

impl World {
    /// The steps that may happen.
    #[must_use]
    pub fn enabled(&self, scope: &Scope) -> Vec<Step> {
        let mut steps = Vec::new();
        steps.extend(
            self.sent(scope).into_iter().map(|(caches, request)| Step::Request(caches, Call::of(&request))),
        );
        self.steps_of_users(&mut steps);
        for worker in 0..scope.workers {
            self.steps_of_worker(worker, scope, &mut steps);
        }
        if self.left.crashes > 0 {
            steps.push(Step::Crash);
        }
        steps
    }

    /// The requests that change something, each with the fewest caches that have to be up to date for it.
    ///
    /// A request that changes nothing, such as a conflict, is no step. A cache that became up to date for nothing is as
    /// good as one that becomes up to date later.
    fn sent(&self, scope: &Scope) -> Vec<(Caches, Request)> {
        let with_effect = |caches| {
            let world = self.refreshed(Caches(caches));
            let mut requests = world.requests(scope);
            requests.retain(|request| world.has_effect(request, scope));
            requests
        };
        let sent = with_fewest_caches(self.stale_caches(scope).0, with_effect);
        sent.into_iter().map(|(caches, request)| (Caches(caches), request)).collect()
    }

    /// The requests that the manager sends once all caches are up to date.
    #[must_use]
    pub fn due(&self, scope: &Scope) -> Vec<Call> {
        self.refreshed(self.stale_caches(scope)).requests(scope).iter().map(Call::of).collect()
    }

    /// Returns true if the API server changes something for this request.
    fn has_effect(&self, request: &Request, scope: &Scope) -> bool {
        let worker = Call::of(request).worker();
        let stored = worker.and_then(|worker| self.workers[worker].copy);
        let is_current =
            worker.is_none_or(|worker| self.manager.copies[worker] == Some(stored.map(Copied::object)));
        let is_reached = worker.is_none_or(|worker| !self.workers[worker].away);
        is_reached
            && match request {
                Request::Write(_) => self.manager.local == Some(self.local),
                Request::Create(..) => stored.is_none() && self.history.count() < COPIES,
                Request::Suspend(_, suspended) => {
                    stored.is_some_and(|copy| copy.of.is_some() && copy.suspended != *suspended)
                }
                Request::Delete(_) => {
                    let cached = worker.and_then(|worker| self.manager.copies[worker].flatten());
                    let is_same = cached.map(|copy| copy.of) == stored.map(|copy| copy.of);
                    let may = is_same || scope.subject.has(Mutation::DeletesByName);
                    may && stored.is_some_and(|copy| !copy.deleting)
                }
                Request::Release(_) => {
                    let may = is_current || scope.subject.has(Mutation::ReleasesUnseen);
                    may && stored.is_some_and(|copy| copy.finalizer)
                }
            }
    }

    /// The caches that can show another version than they do.
    #[must_use]
    pub fn stale_caches(&self, scope: &Scope) -> Caches {
        let differs =
            |worker: &usize| self.newest(*worker).is_some_and(|it| Some(it) != self.manager.copies[*worker]);
        let awaits = |worker: &usize| self.manager.awaited[*worker] && !self.workers[*worker].away;
        let workers = (0..scope.workers).filter(|worker| differs(worker) || awaits(worker));
        let local = if self.manager.local == Some(self.local) { 0 } else { Caches::LOCAL };
        Caches(workers.map(|worker| 1 << worker).sum::<u8>() | local)
    }

    /// The newest version that the manager can see. The cache of a worker that is away may still get what happened before.
    /// A new process cannot fill its cache then.
    fn newest(&self, number: usize) -> Option<Option<Copied>> {
        let worker = &self.workers[number];
        if !worker.away {
            return Some(worker.copy.map(Copied::object));
        }
        self.manager.copies[number].map(|_| worker.before)
    }

    /// The state in which these caches are up to date.
    #[must_use]
    pub fn refreshed(&self, caches: Caches) -> World {
        let mut world = self.clone();
        if caches.0 & Caches::LOCAL != 0 {
            world.manager.local = Some(self.local);
        }
        for worker in (0..WORKERS).filter(|worker| caches.has(*worker)) {
            world.manager.copies[worker] = self.newest(worker);
            world.manager.awaited[worker] = false;
        }
        world
    }

    /// The requests that the manager may send.
    #[must_use]
    pub fn requests(&self, scope: &Scope) -> Vec<Request> {
        let (local, workers, memory) = self.views(scope);
        let local = local.as_ref().map(Option::as_ref);
        let now = Time(i64::from(self.now));
        match &scope.mirror {
            Some(mirror) => mirror.decide(local, &workers, &memory, now),
            None => scope.subject.decide(local, workers, &memory, now),
        }
    }

    fn steps_of_users(&self, steps: &mut Vec<Step>) {
        let Some(local) = self.local else {
            steps.extend((self.left.recreations > 0).then_some(Step::Recreate));
            return;
        };
        let ended = local.status.is_finished();
        if !ended && self.left.suspends > 0 {
            steps.push(Step::Suspend(!local.suspended));
        }
        if self.left.deletions > 0 {
            steps.push(Step::Delete);
        }
        if !ended && local.assigned.is_some() && self.left.evictions > 0 {
            steps.push(Step::Evict);
        }
        if local.status.other == 0 && self.left.conditions > 0 {
            steps.push(Step::SetCondition);
        }
    }

    fn steps_of_worker(&self, number: usize, scope: &Scope, steps: &mut Vec<Step>) {
        let worker = &self.workers[number];
        if let Some(local) = self.local {
            if local.assigned.is_none() && !local.suspended && !local.status.is_finished() {
                steps.push(Step::Assign(number));
            }
            if scope.ttl && number == 0 && local.status.is_finished() {
                steps.push(Step::Expire);
            }
        }
        if worker.away {
            steps.push(Step::Reconnect(number));
        } else if self.left.disconnections > 0 {
            steps.push(Step::Disconnect(number));
        }
        let Some(copy) = worker.copy else {
            steps.extend((self.left.strangers > 0).then_some(Step::CreateStranger(number)));
            return;
        };
        if copy.of.is_some() {
            let task = self.task(&copy, scope);
            let moves = Move::ALL.into_iter().filter(|it| it.is_enabled(&task, &copy.shown()));
            steps.extend(moves.map(|it| Step::Execute(number, it)));
        }
        if !copy.deleting && self.left.copy_deletions > 0 {
            steps.push(Step::DeleteCopy(number));
        }
        if scope.ttl && !copy.deleting && copy.status.is_finished() {
            steps.push(Step::ExpireCopy(number));
        }
    }

    /// The parts of a copy that its executor reads.
    #[must_use]
    pub fn task(&self, copy: &Copied, scope: &Scope) -> Task {
        // The pods of a former Job end without new ones.
        let is_current = copy.of == Some(self.incarnation);
        Task {
            completions: scope.size.0.saturating_sub(copy.base.0),
            parallelism: scope.size.1,
            pods_left: if is_current { scope.pods - self.history.pods } else { 0 },
            suspended: copy.suspended,
            deleting: copy.deleting,
        }
    }
}

/// The pods that a move has counted: succeeded and failed.
#[must_use]
pub fn counted(old: &Flat, new: &Flat) -> (u8, u8) {
    (new.succeeded - old.succeeded, new.failed - old.failed)
}
