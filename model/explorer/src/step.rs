//! One atomic transition of a [`World`]: a write of a controller, or something that the environment does.

mod kind;

pub use kind::StepKind;

use crate::alphabet::{self, Write};
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::UserStep;
use crate::env::{caches, clock, collector, crashes, disruption, kubelet, rollouts, user};
use crate::process::informer;
use crate::process::steps as processes;
use crate::process::steps::ProcessStep;
use crate::reference::ttl as ttl_controller;
use crate::reference::ttl::TtlStep;
use crate::scope::Scope;
use crate::script::lags;
use crate::ttl;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::requirement::Broken;
use jobcheck_spec::uid::Uid;

/// One atomic transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The manager of a Job writes.
    Write(JobId, Write),
    /// The TTL controller deletes a Job.
    Expire(JobId),
    /// The kubelet changes a pod.
    Kubelet(JobId, Uid, KubeletStep),
    /// A pod is evicted, loses its node, or is deleted by force.
    Disrupt(JobId, Uid, DisruptionStep),
    /// The user changes a Job or a pod; the number is that of the action in the scope.
    User(JobId, u8, UserStep),
    /// The garbage collector deletes a pod whose Job is being deleted or gone.
    Collect(JobId, Uid),
    /// A Job goes that was deleted, and has no pods any more, or whose namespace is being deleted.
    RemoveJob(JobId),
    /// The oldest change that the Pod cache lacks reaches it.
    ShowPod(JobId),
    /// The stored Job reaches the Job cache.
    ShowJob(JobId),
    /// The process that manages the Job dies, and another takes over; where the specification manages it.
    Crash(JobId),
    /// Another process takes over, with the scope's next gates.
    Rollout(JobId),
    /// A process of the Job does something, or something happens to it.
    Process(JobId, u8, ProcessStep),
    /// The TTL controller does something about the Job, or something happens to it; where it is an algorithm.
    Ttl(JobId, TtlStep),
    /// The request of a dead process reaches the server.
    HandleDelayed(JobId),
    /// A second passes.
    Tick,
    /// The scope's script goes on, without anything else.
    Proceed,
}

impl Step {
    /// The Job that it concerns; `None` where it concerns all.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self {
            Step::Write(job, _)
            | Step::Expire(job)
            | Step::Kubelet(job, ..)
            | Step::Disrupt(job, ..)
            | Step::User(job, ..)
            | Step::Collect(job, _)
            | Step::RemoveJob(job)
            | Step::ShowPod(job)
            | Step::ShowJob(job)
            | Step::Crash(job)
            | Step::Rollout(job)
            | Step::Process(job, ..)
            | Step::Ttl(job, _)
            | Step::HandleDelayed(job) => Some(*job),
            Step::Tick | Step::Proceed => None,
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        kind::kind(self)
    }
}

impl World {
    /// All steps that may be taken here: what the environment can do, and what the specification admits.
    #[must_use]
    pub fn enabled(&self, scope: &Scope) -> Vec<Step> {
        let mut steps = Vec::new();
        for (job, _) in self.numbered() {
            self.admitted_of(job, scope, &mut steps);
            self.happenings_of(job, scope, &mut steps);
        }
        self.happenings(scope, &mut steps);
        match &scope.script {
            None => steps,
            Some(script) => script.allow(self, steps),
        }
    }

    /// The steps of [`World::enabled`] that the specification admits for the manager of one Job.
    pub fn admitted_of(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        if scope.algorithm.processes == 0 {
            alphabet::enabled(self, job, scope, steps);
        }
    }

    /// The steps of [`World::enabled`] that concern one Job, but for those of its manager.
    pub fn happenings_of(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        let (alone, _) = self.processes_of(job, scope, steps);
        if !alone {
            self.environment_of(job, scope, steps);
        }
    }

    /// Of [`World::happenings_of`], those of the Job's processes. Whether nothing else of the Job may happen now, and
    /// whether the scope's bound on pods holds a creation back.
    pub fn processes_of(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) -> (bool, bool) {
        let job_state = self.job_state(job);
        if processes::choices(job_state, job, steps) {
            return (true, false);
        }
        processes::enabled(self, job, scope, steps);
        (false, processes::holds_back(job_state, scope))
    }

    /// Of [`World::happenings_of`], those of anybody else.
    pub fn environment_of(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        let job_state = self.job_state(job);
        ttl::enabled(self, job, scope, steps);
        ttl_controller::enabled(self, job, scope, steps);
        kubelet::enabled(job, job_state, scope, steps);
        disruption::enabled(job, job_state, scope, steps);
        collector::enabled(job, job_state, scope, steps);
        user::enabled(job, job_state, scope, steps);
        caches::enabled(job, job_state, steps);
        crashes::enabled(job, job_state, scope, steps);
        rollouts::enabled(job, job_state, scope, steps);
    }

    /// The steps of [`World::enabled`] that concern no single Job.
    pub fn happenings(&self, scope: &Scope, steps: &mut Vec<Step>) {
        clock::enabled(self, scope, steps);
    }

    /// The world after a step. Total: a step that makes no sense here changes nothing.
    #[must_use]
    pub fn apply(&self, step: &Step, scope: &Scope) -> World {
        let mut next = self.clone();
        match step {
            Step::Write(job, write) => alphabet::apply(&mut next, *job, write, scope),
            Step::Expire(job) => ttl::apply(&mut next, *job, scope),
            Step::Kubelet(job, uid, what) => kubelet::apply(&mut next, *job, *uid, *what, scope),
            Step::Disrupt(job, uid, what) => disruption::apply(&mut next, *job, *uid, *what, scope),
            Step::User(job, number, what) => user::apply(&mut next, *job, *number, what, scope),
            Step::Collect(job, uid) => collector::collect(next.job_state_mut(*job), *uid, self.now, scope),
            Step::RemoveJob(job) => collector::remove_job(next.job_state_mut(*job), scope),
            Step::ShowPod(job) => caches::show_pod(next.job_state_mut(*job)),
            Step::ShowJob(job) => caches::show_job(next.job_state_mut(*job)),
            Step::Crash(job) => crashes::apply(next.job_state_mut(*job)),
            Step::Rollout(job) => rollouts::apply(next.job_state_mut(*job), scope),
            Step::Process(job, number, what) => processes::apply(&mut next, *job, *number, *what, scope),
            Step::Ttl(job, what) => ttl_controller::apply(&mut next, *job, *what, scope),
            Step::HandleDelayed(job) => processes::handle_delayed(&mut next, *job, scope),
            Step::Tick => clock::tick(&mut next),
            Step::Proceed => {}
        }
        let advances = scope.script.as_ref().is_some_and(|script| script.advances(self, step));
        next.position += u16::from(advances);
        let (now, lags) = (next.now, lags(&next, scope));
        for (before, job_state) in self.job_states.iter().zip(&mut next.job_states) {
            let JobState { ttl, job, .. } = job_state;
            if let Some(ttl) = ttl.as_mut().filter(|_| *job != before.job) {
                ttl.note(before.job.as_ref(), job.as_ref());
            }
            informer::settle(job_state, now, lags, &scope.algorithm.mutations);
        }
        next
    }
}

/// Whether the specification admits a step in a world; the first requirement that it breaks otherwise. What
/// the environment does is always admitted.
pub fn admits(world: &World, step: &Step, scope: &Scope) -> Result<(), Broken> {
    let findings = match step {
        Step::Write(job, write) => alphabet::judge(world, *job, write, scope),
        Step::Expire(job) => ttl::judge(world, *job),
        Step::Kubelet(..)
        | Step::Disrupt(..)
        | Step::User(..)
        | Step::Collect(..)
        | Step::RemoveJob(_)
        | Step::ShowPod(_)
        | Step::ShowJob(_)
        | Step::Crash(_)
        | Step::Rollout(_)
        | Step::Process(..)
        | Step::Ttl(..)
        | Step::HandleDelayed(_)
        | Step::Tick
        | Step::Proceed => return Ok(()),
    };
    scope.verdict(findings).map_or(Ok(()), Err)
}
