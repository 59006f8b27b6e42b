//! The state after a step, and the findings of the guards that judge it.

use jobcheck_spec::apiserver::{validate_status_update, would_refuse_status};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::guards::mirror::{
    MirrorWrite, differs_in_times_alone, judge_idle, judge_mirror, judge_refusal,
};
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;

use crate::executor::{Move, Shown};
use crate::flat::Flat;
use crate::history::{judge_two_clusters, remains};
use crate::protocol::{Base, Request};
use crate::scope::Scope;
use crate::step::{Call, Step, counted};
use crate::subject::Mutation;
use crate::world::{Copied, Local, Manager, Worker, World};

/// The findings about one step. `advice` is what the contract recommends.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Broken rules of the contract.
    pub findings: Findings,
    /// Recommendations that were not followed.
    pub advice: Findings,
}

impl World {
    /// The state after an enabled step.
    #[must_use]
    pub fn apply(&self, step: &Step, scope: &Scope) -> World {
        self.judged(step, scope).0
    }

    /// The state after an enabled step, and the findings.
    #[must_use]
    pub fn judged(&self, step: &Step, scope: &Scope) -> (World, Judged) {
        let mut world = self.clone();
        let mut judged = Judged::default();
        world.take(*step, scope, &mut judged);
        judge_two_clusters(&world, scope, false, &mut judged.findings);
        judge_single_copy(&world, &mut judged.findings);
        world.history.note(&judged.findings, scope);
        if scope.advice {
            world.history.note(&judged.advice, scope);
        }
        (world, judged)
    }

    fn take(&mut self, step: Step, scope: &Scope, judged: &mut Judged) {
        match step {
            Step::Request(caches, call) => {
                *self = self.refreshed(caches);
                self.send(call, scope, judged);
            }
            Step::Execute(worker, it) => self.execute(worker, it),
            Step::Assign(worker) => self.change_local(|local| local.assigned = u8::try_from(worker).ok()),
            Step::Evict => {
                self.left.evictions -= 1;
                self.change_local(|local| local.assigned = None);
            }
            Step::Suspend(suspended) => {
                self.left.suspends -= 1;
                self.tick();
                self.change_local(|local| local.suspended = suspended);
                self.history.suspend_changed = true;
                self.history.refused = 0;
            }
            Step::Delete => {
                self.left.deletions -= 1;
                self.remove_local();
            }
            Step::Expire => self.remove_local(),
            Step::Recreate => {
                self.left.recreations -= 1;
                self.incarnation += 1;
                self.history = self.history.of_the_next();
                let created = self.tick();
                self.local = Some(Local::new(self.incarnation, created));
            }
            Step::SetCondition => {
                self.left.conditions -= 1;
                let now = self.now;
                self.change_local(|local| local.status.other = now);
            }
            Step::DeleteCopy(worker) => {
                self.left.copy_deletions -= 1;
                self.delete_copy(worker);
            }
            Step::ExpireCopy(worker) => {
                if self.is_own(worker) {
                    self.history.change(worker, |record, _| record.expires = true);
                }
                self.delete_copy(worker);
            }
            Step::CreateStranger(worker) => {
                self.left.strangers -= 1;
                self.workers[worker].copy = Some(Copied::new(None, (0, 0)));
            }
            Step::Disconnect(worker) => {
                self.left.disconnections -= 1;
                let copy = self.workers[worker].copy;
                self.workers[worker] = Worker { away: true, before: copy.map(Copied::object), copy };
            }
            Step::Reconnect(worker) => {
                self.workers[worker] = Worker { copy: self.workers[worker].copy, ..Worker::default() };
            }
            Step::Crash => {
                self.left.crashes -= 1;
                self.manager = Manager::STARTED;
            }
        }
    }

    fn change_local(&mut self, change: impl FnOnce(&mut Local)) {
        if let Some(local) = &mut self.local {
            change(local);
        }
    }

    fn remove_local(&mut self) {
        if let Some(local) = self.local.take() {
            self.history.last = Some(local.status);
        }
    }

    /// Returns true if the copy on this worker is one of the current or last local Job.
    fn is_own(&self, worker: usize) -> bool {
        self.workers[worker].copy.is_some_and(|copy| copy.of == Some(self.incarnation))
    }

    fn delete_copy(&mut self, worker: usize) {
        match &mut self.workers[worker].copy {
            Some(copy) if copy.finalizer => copy.deleting = true,
            Some(_) => self.remove_copy(worker),
            None => {}
        }
    }

    fn remove_copy(&mut self, worker: usize) {
        if self.is_own(worker)
            && let Some(copy) = self.workers[worker].copy
        {
            let early = self.local.is_some() && !self.history.ended;
            self.history.change(worker, |record, _| {
                record.gone = Some(remains(&copy.status));
                record.expired = record.expires.then_some(early);
            });
        }
        self.workers[worker].copy = None;
    }

    /// The executor writes the status of a copy.
    fn execute(&mut self, worker: usize, it: Move) {
        let Some(mut copy) = self.workers[worker].copy else { return };
        let old = copy.status;
        let shown = it.apply(&Shown { status: old, hidden: copy.hidden }, self.now);
        (copy.status, copy.hidden) = (shown.status, shown.hidden);
        self.workers[worker].copy = Some(copy);
        if !self.is_own(worker) {
            self.history.foreign |= copy.status.times();
            return;
        }
        let (succeeded, failed) = counted(&old, &copy.status);
        self.history.succeeded += succeeded;
        self.history.failed += failed;
        self.history.pods += u8::from(it == Move::Create);
        self.history.own |= copy.status.times();
        if it == Move::Finish {
            self.history.change(worker, |record, count| record.ended = Some(count));
        }
    }

    /// The API server handles a request of the manager.
    fn send(&mut self, call: Call, scope: &Scope, judged: &mut Judged) {
        let requests = self.requests(scope);
        let request = requests.into_iter().find(|request| Call::of(request) == call);
        let Some(request) = request else { return };
        let cached = call.worker().map(|worker| self.manager.copies[worker]);
        let stored = call.worker().map(|worker| Some(self.workers[worker].copy.map(Copied::object)));
        match request {
            Request::Write(status) => self.write(&status, scope, judged),
            Request::Create(worker, base) => self.create(worker, base, scope),
            // A copy with another UID is not changed.
            Request::Suspend(worker, suspended) => {
                if let Some(copy) = &mut self.workers[worker].copy
                    && copy.of.is_some()
                {
                    copy.suspended = suspended;
                }
            }
            Request::Delete(worker) => {
                if let Some(copy) = self.workers[worker].copy {
                    self.history.deletes_foreign |= copy.of.is_none();
                    self.delete_copy(worker);
                }
            }
            Request::Release(worker) => {
                // The resourceVersion must be that of the cache.
                if cached == stored || scope.subject.has(Mutation::ReleasesUnseen) {
                    self.release(worker);
                }
            }
        }
    }

    fn release(&mut self, worker: usize) {
        let Some(copy) = &mut self.workers[worker].copy else { return };
        copy.finalizer = false;
        if copy.deleting {
            self.remove_copy(worker);
        }
    }

    fn create(&mut self, worker: usize, base: Base, scope: &Scope) {
        self.manager.awaited[worker] = true;
        let Some(Some(local)) = self.manager.local else { return };
        if self.workers[worker].copy.is_some() {
            // AlreadyExists.
            return;
        }
        self.tick();
        let small = |count: i32| u8::try_from(count).unwrap_or(u8::MAX);
        let mut copy = Copied::new(Some(local.incarnation), (small(base.succeeded), small(base.failed)));
        copy.finalizer = !scope.subject.has(Mutation::HasNoFinalizer);
        self.workers[worker].copy = Some(copy);
        if self.is_own(worker) {
            self.history.created(worker);
        }
    }

    /// A status write, if the Job has not changed since the cache showed it. It has the resourceVersion of the cached Job.
    fn write(&mut self, status: &JobStatus, scope: &Scope, judged: &mut Judged) {
        let (Some(local), Some(Some(cached))) = (self.local, self.manager.local) else { return };
        if local != cached {
            return;
        }
        let (old, new) = (local.job(scope), local.with_status(scope, status.clone()));
        let Judged { findings, advice } = judged;
        if let Some(broken) = would_refuse_status(&scope.rules, &old, &new) {
            let again = self.history.refused > 0;
            judge_refusal(broken.to_string(), again, findings);
            self.history.refused = (self.history.refused + 1).min(2);
            return;
        }
        let past = self.history.past(scope);
        let until = Some(Time(i64::from(self.now)));
        let write = MirrorWrite { job: &old, new: status, until, skew: 0, past: &past };
        judge_mirror(&write, findings, advice);
        if old.status == *status {
            judge_idle("nothing", past.idle, findings, advice);
        }
        judge_contract(&old.status, status, false, findings);
        validate_status_update(&scope.rules, &old, &new, findings);
        let flat = Flat::of(status);
        self.judge_headlines(&local.status, &flat, findings);
        let is_idle = differs_in_times_alone(&old.status, status) || old.status == *status;
        self.history.idle = if is_idle { (self.history.idle + 1).min(2) } else { 0 };
        self.history.refused = 0;
        self.history.ended |= flat.is_finished();
        self.change_local(|local| local.status = flat);
        if !scope.lags_own_writes {
            self.manager.local = Some(self.local);
        }
    }

    /// The three headline invariants, which compare the status with what really happened.
    fn judge_headlines(&self, old: &Flat, new: &Flat, findings: &mut Findings) {
        let history = &self.history;
        for (what, most, found) in [
            ("succeeded, and the pods that the copies have counted", history.succeeded, new.succeeded),
            ("failed, and the pods that the copies have counted", history.failed, new.failed),
        ] {
            let expected = format!("at most {most}");
            findings.require(Req::MR30, found <= most, what, expected, i32::from(found));
        }
        if new.is_finished() && !old.is_finished() {
            let living: u8 = self.own_copies().map(|(_, copy)| copy.status.living()).sum();
            let what = "pods of the copy at the end of the Job";
            findings.require(Req::TC04, living == 0, what, 0, i32::from(living));
        }
        let fits = new.end == 0 || new.is(crate::flat::COMPLETE);
        findings.require(Req::TC05, fits, "completionTime", "only with Complete", "another status");
    }
}

/// At most one copy of a Job runs at a time, or the work is done twice (MR-22).
fn judge_single_copy(world: &World, findings: &mut Findings) {
    let running = world.own_copies().filter(|(_, copy)| !copy.deleting).count();
    findings.require(Req::MR22, running <= 1, "copies of the Job that run", "at most 1", running);
}

impl Copied {
    /// A new Job on a worker.
    #[must_use]
    pub fn new(of: Option<u8>, base: (u8, u8)) -> Copied {
        Copied {
            of,
            base,
            suspended: false,
            deleting: false,
            finalizer: false,
            status: Flat::default(),
            hidden: 0,
        }
    }
}
