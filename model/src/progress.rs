//! That Jobs get somewhere: from every reachable world, once users and faults have had enough, each Job comes to its
//! proper end, all finalizers are released, and the controller rests.
//!
//! In TLA+ terms `[]<>Rest` under weak fairness of every process, cache, pod, and collector, and of the clock, on the
//! unreduced graph of a scope ([`crate::explore::progress`]). What users do and faults do is not fair: it may happen,
//! and need not.
//!
//! # Premises
//!
//! Pods end, and the scope's bounds are not in the way: a Job for which the bound on pods holds a creation back, or
//! which waits for a time that the scope does not have, need not come to an end.

use rustc_hash::FxHashMap;

use crate::algorithm::process::Process;
use crate::algorithm::steps::{Fortune, ProcessStep, is_held_back};
use crate::env::disruption::DisruptionStep;
use crate::explore::progress::{Fairness, Incomplete, Label, Property, Round, ScopeGraph, check};
use crate::scope::Scope;
use crate::step::Step;
use crate::uid::Uid;
use crate::world::{JobId, Life, World};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Worlds of the scope.
    pub states: usize,
    /// A way on which a Job does not come to rest, for ever.
    pub stuck: Option<Round>,
}

/// Checks a scope of an algorithm.
///
/// # Errors
///
/// Where it has more worlds than `max_states`.
pub fn check_progress(scope: &Scope, max_states: usize) -> Result<Progress, Incomplete> {
    let mut actions = Actions::default();
    let mut rests = Vec::new();
    let look = &mut |_, world: &World, _: &[Step]| rests.push(is_at_rest(world, scope));
    let graph = ScopeGraph::explore(scope, &mut |step| actions.label(step), look, max_states)?;
    let at_rest = |node: u32| rests[node as usize];
    let result = check(&graph.graph, &actions.fairness(), &Property::AlwaysEventually(&at_rest));
    let stuck = result.err().map(|lasso| graph.steps(scope, &mut |step| actions.label(step), &lasso));
    Ok(Progress { states: rests.len(), stuck })
}

/// What is fair for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    Sync(JobId, u8),
    Call(JobId, u8),
    Orphan(JobId, u8, Uid),
    ShowPod(JobId, u8),
    ShowJob(JobId, u8),
    Pod(JobId, Uid),
    Disrupt(JobId, Uid),
    Collect(JobId, Uid),
    RemoveJob(JobId),
    Expire(JobId),
    Land(JobId),
    Tick,
    /// What need not happen.
    Unfair,
}

impl Action {
    fn of(step: &Step) -> Action {
        match step {
            Step::Process(job, process, what) => match what {
                ProcessStep::Sync(_) => Action::Sync(*job, *process),
                ProcessStep::Choose(_) | ProcessStep::Call(_, Fortune::Handled) => {
                    Action::Call(*job, *process)
                }
                ProcessStep::Orphan(uid, Fortune::Handled) => Action::Orphan(*job, *process, *uid),
                ProcessStep::ShowPod => Action::ShowPod(*job, *process),
                ProcessStep::ShowJob => Action::ShowJob(*job, *process),
                ProcessStep::Call(..)
                | ProcessStep::Orphan(..)
                | ProcessStep::Crash
                | ProcessStep::CrashInFlight(_)
                | ProcessStep::Usurp
                | ProcessStep::Resign => Action::Unfair,
            },
            Step::Kubelet(job, uid, _) => Action::Pod(*job, *uid),
            Step::Disrupt(job, uid, DisruptionStep::Delete | DisruptionStep::GiveUp) => {
                Action::Disrupt(*job, *uid)
            }
            Step::Collect(job, uid) => Action::Collect(*job, *uid),
            Step::RemoveJob(job) => Action::RemoveJob(*job),
            Step::Expire(job) => Action::Expire(*job),
            Step::Land(job) => Action::Land(*job),
            Step::Tick => Action::Tick,
            Step::Disrupt(..)
            | Step::Write(..)
            | Step::User(..)
            | Step::ShowPod(_)
            | Step::ShowJob(_)
            | Step::Crash(_) => Action::Unfair,
        }
    }
}

/// The labels of actions, as they come up.
#[derive(Default)]
struct Actions(FxHashMap<Action, Label>);

impl Actions {
    fn label(&mut self, step: &Step) -> Label {
        let fresh = Label::try_from(self.0.len()).unwrap_or(Label::MAX);
        *self.0.entry(Action::of(step)).or_insert(fresh)
    }

    fn fairness(&self) -> Vec<Fairness> {
        let fair = self.0.iter().filter(|(action, _)| **action != Action::Unfair);
        let mut labels: Vec<Label> = fair.map(|(_, label)| *label).collect();
        labels.sort_unstable();
        labels.into_iter().map(|label| Fairness::Weak(vec![label])).collect()
    }
}

fn is_at_rest(world: &World, scope: &Scope) -> bool {
    let time_is_up = scope.ticks > 0 && world.now.0 >= scope.ticks;
    world.lives.iter().all(|life| is_excused(life, time_is_up, scope) || has_come_to_its_end(life))
}

/// Finished or gone, or suspended and quiet; nothing is held, and nobody has anything to do.
fn has_come_to_its_end(life: &Life) -> bool {
    let quiet = life.processes.iter().all(is_quiet);
    match &life.job {
        None => quiet && life.pods.iter().all(|pod| !pod.finalizer),
        Some(job) if job.status.is_finished() => {
            quiet && !job.deleting && life.pods.iter().all(|pod| !pod.finalizer)
        }
        Some(job) => quiet && !job.deleting && (job.spec.is_suspended() || job.spec.parallelism_count() == 0),
    }
}

fn is_quiet(process: &Process) -> bool {
    process.sync.is_none() && !process.queued && process.orphans.is_empty()
}

/// Whether a bound of the scope is what a Job waits for.
fn is_excused(life: &Life, time_is_up: bool, scope: &Scope) -> bool {
    let held = |process: &Process| {
        process.sync.iter().flat_map(|sync| sync.calls()).any(|call| is_held_back(life, call, scope))
            || (time_is_up && process.wake.is_some())
    };
    life.processes.iter().any(held)
}
