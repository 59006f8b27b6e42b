//! The next-state relation: which steps are enabled in a state, and the state that each leads to.

use crate::alphabet;
use crate::env::collector::CollectorStep;
use crate::env::{caches, clock, collector, crashes, disruption, kubelet, rollouts, user};
use crate::process::informer;
use crate::process::steps as processes;
use crate::process::ttl as ttl_controller;
use crate::scope::Scope;
use crate::step::Step;
use crate::ttl;
use crate::world::{JobId, JobState, TtlDriver, World};
use jobcheck_spec::requirement::Broken;

impl World {
    /// The enabled steps: what the environment can do, what the processes can do, and what the specification admits.
    /// The order depends on the state alone.
    #[must_use]
    pub fn enabled(&self, scope: &Scope) -> Vec<Step> {
        let mut steps = Vec::new();
        for (job, _) in self.numbered() {
            self.manager_steps(job, scope, &mut steps);
            self.other_steps(job, scope, &mut steps);
        }
        self.clock_steps(scope, &mut steps);
        match &scope.script {
            None => steps,
            Some(script) => script.allow(self, steps),
        }
    }

    /// Adds the writes that the specification admits for the manager of a Job; none if processes manage the Job.
    pub fn manager_steps(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        steps.extend(alphabet::admitted(self, job, scope).into_iter().map(|write| Step::Write(job, write)));
    }

    /// Adds the steps of a Job's processes and of its environment.
    fn other_steps(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        let ProcessSteps { alone, .. } = self.process_steps(job, scope, steps);
        if !alone {
            self.environment_steps(job, scope, steps);
        }
    }

    /// Adds the steps of a Job's processes.
    pub fn process_steps(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) -> ProcessSteps {
        let job_state = self.job_state(job);
        let before = steps.len();
        processes::choices(job_state, &mut |number, step| steps.push(Step::Process(job, number, step)));
        if steps.len() > before {
            return ProcessSteps { alone: true, pod_bound_reached: false };
        }
        processes::enabled(job_state, scope, &mut |number, step| {
            steps.push(Step::Process(job, number, step));
        });
        if job_state.delayed().is_some() {
            steps.push(Step::HandleDelayed(job));
        }
        ProcessSteps { alone: false, pod_bound_reached: processes::pod_bound_reached(job_state, scope) }
    }

    /// Adds the steps of everybody but the manager that concern a Job.
    pub fn environment_steps(&self, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
        let job_state = self.job_state(job);
        if ttl::is_enabled(self, job, scope) {
            steps.push(Step::Expire(job));
        }
        ttl_controller::enabled(self, job, scope, &mut |step| steps.push(Step::Ttl(job, step)));
        kubelet::enabled(job_state, scope, &mut |uid, step| steps.push(Step::Kubelet(job, uid, step)));
        disruption::enabled(job_state, scope, &mut |uid, step| steps.push(Step::Disrupt(job, uid, step)));
        collector::enabled(job_state, scope, &mut |step| {
            steps.push(match step {
                CollectorStep::Collect(uid) => Step::Collect(job, uid),
                CollectorStep::RemoveJob => Step::RemoveJob(job),
            });
        });
        user::enabled(job_state, scope, &mut |number, step| steps.push(Step::User(job, number, step)));
        for (is_enabled, step) in [
            (caches::lacks_pods(job_state), Step::ShowPod(job)),
            (caches::lacks_job(job_state), Step::ShowJob(job)),
            (crashes::is_enabled(job_state, scope), Step::Crash(job)),
            (rollouts::is_enabled(job_state, scope), Step::Rollout(job)),
        ] {
            if is_enabled {
                steps.push(step);
            }
        }
    }

    /// Adds the steps that concern no single Job.
    pub fn clock_steps(&self, scope: &Scope, steps: &mut Vec<Step>) {
        if clock::is_enabled(self, scope) {
            steps.push(Step::Tick);
        }
    }

    /// The state after a step. Total: a step that is impossible here changes nothing.
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
            if let TtlDriver::Controller(controller) = ttl
                && *job != before.job
            {
                controller.note(before.job.as_ref(), job.as_ref());
            }
            informer::settle(job_state, now, lags, scope.mutations());
        }
        next
    }
}

/// The effect of the steps of a Job's processes on the other steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSteps {
    /// True if no other step of the Job is enabled: a process chooses among equal pods first.
    pub alone: bool,
    /// True if the scope's bound on pods disables a creation.
    pub pod_bound_reached: bool,
}

/// The number of events, of pods and of the Job, by which the caches of a Job may lag.
fn lags(world: &World, scope: &Scope) -> (usize, usize) {
    let paused = scope.script.as_ref().map(|script| script.paused(world)).unwrap_or_default();
    let lag = |paused: bool, lag: usize| if paused { usize::MAX } else { lag };
    (lag(paused.pods, scope.lag), lag(paused.jobs, scope.job_lag))
}

/// Judges a step by the guards of the specification, which always admit a step of the environment.
///
/// # Errors
///
/// The first requirement that the step breaks in this state.
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
