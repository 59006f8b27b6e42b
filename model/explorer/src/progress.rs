//! That Jobs get somewhere: from every reachable world, once users and faults have had enough, each Job comes to its
//! proper end, all finalizers are released, an expired Job is gone, and the controller rests.
//!
//! In TLA+ terms `[]<>Rest` under weak fairness of every process, pod, and collector, and of the clock, and strong
//! fairness of every cache (an event that may come does not wait for ever, though nothing else is asked while a controller
//! takes one of equal pods first), on the unreduced graph of a scope ([`crate::liveness`]). What users do and faults do is not fair: it may happen,
//! and need not. No more of it happens than the scope has, so that every behaviour has its last fault, and
//! "from every reachable world" means with faults spent, left, and not begun.
//!
//! # Premises
//!
//! - Pods end, unless the scope says that they need not: then the numbers are right once no more happens. And those of a Job with a deadline need not, unless they are deleted: its end is the deadline's matter
//!   (SU-10).
//! - The request of a dead process may reach the server, and need not.
//! - What the API server refuses for ever ([`crate::env::refusals`]) may keep a Job from its end. Then everything else is
//!   done: other pods are released and counted, and the numbers are right.
//! - The scope's bounds are not in the way: a Job for which the bound on pods holds a creation back, or which waits
//!   for a time that the scope does not have, need not come to an end.

mod lack;

pub(crate) use self::lack::shortcoming;

use rustc_hash::FxHashMap;

use crate::check::{Bounds, Cut, Exploration, Outcome, Worlds, visit};
use crate::counterexample::Counterexample;
use crate::env::clock::time_is_up;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::refusals::{blocked, is_refused};
use crate::liveness::{Builder, Edge, Fairness, Label, Lasso, Property, check};
use crate::process::io::CallName;
use crate::process::state::Process;
use crate::process::steps::{ProcessStep, RequestOutcome, is_held_back};
use crate::reference::read::REFUSAL_LASTS;
use crate::reference::ttl::TtlStep;
use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// What a report calls it.
pub const PROGRESS: &str = "each Job comes to its end, and its controller to rest";

/// Explores a scope of an algorithm, unreduced: that every property holds, and then that Jobs get somewhere.
#[must_use]
pub fn explore(scope: &Scope, bounds: &Bounds) -> Exploration {
    explore_for(scope, bounds, &|_| true)
}

/// The same for some of the properties alone, see [`crate::check::explore_for`].
#[must_use]
pub fn explore_for(scope: &Scope, bounds: &Bounds, wanted: &dyn Fn(Option<usize>) -> bool) -> Exploration {
    let unreduced = Bounds { symmetry: false, partial_order: false, ..bounds.clone() };
    visit(scope, &unreduced, wanted, &mut |found, worlds| {
        if matches!(found.outcome, Outcome::Holds) {
            look(scope, bounds, found, worlds);
        }
    })
}

/// How many worlds are looked at between two looks at the limits.
const BATCH: u32 = 4096;

/// Looks at the graph of all worlds.
fn look(scope: &Scope, bounds: &Bounds, found: &mut Exploration, worlds: &mut dyn Worlds) {
    let mut actions = Actions { labels: FxHashMap::default(), scope };
    let mut rests = Vec::new();
    let mut builder = Builder::new();
    builder.initial(0);
    for number in 0..worlds.count() {
        if let Some(cut) = (number % BATCH == 0).then(|| limit(bounds)).flatten() {
            found.outcome = Outcome::NotFinished(cut);
            return;
        }
        let world = worlds.world(number);
        rests.push(is_at_rest(&world, scope));
        let leaving = worlds.leaving(number);
        builder.node(leaving.iter().map(|(step, to)| (actions.label(step, &world), *to)));
    }
    let Ok(graph) = builder.finish() else {
        found.outcome = Outcome::NotFinished(Cut::States);
        return;
    };
    found.rests = Some(rests.iter().filter(|rests| **rests).count());
    let at_rest = |node: u32| rests[node as usize];
    if let Err(lasso) = check(&graph, &actions.fairness(), &Property::AlwaysEventually(&at_rest)) {
        found.outcome = Outcome::Broken(Box::new(told(scope, &mut actions, worlds, &lasso)));
    }
}

/// The limit that is reached.
fn limit(bounds: &Bounds) -> Option<Cut> {
    let too_much = |max: u64| (bounds.memory)().is_some_and(|used| used > max);
    match () {
        () if (bounds.stop)() => Some(Cut::Time),
        () if bounds.max_memory.is_some_and(too_much) => Some(Cut::Memory),
        () => None,
    }
}

/// A lasso as steps.
fn told(scope: &Scope, actions: &mut Actions<'_>, worlds: &mut dyn Worlds, lasso: &Lasso) -> Counterexample {
    let mut step = |edge: &Edge| {
        let world = worlds.world(edge.from);
        let mut leaving = worlds.leaving(edge.from).into_iter();
        let (step, _) = leaving
            .find(|(step, to)| *to == edge.to && actions.label(step, &world) == edge.label)
            .expect("each edge of the graph is a step of the scope");
        Step::clone(&step)
    };
    let path: Vec<Step> = lasso.prefix.iter().chain(&lasso.cycle).map(&mut step).collect();
    let world = worlds.world(lasso.turn());
    let (req, why) = missing(&world, scope, !lasso.stutters());
    Counterexample { property: PROGRESS, number: None, req, why, path, turn: Some(lasso.prefix.len()) }
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
    /// A sync of the TTL controller.
    TtlSync(JobId),
    /// A request of the TTL controller is handled.
    TtlRequest(JobId),
    TtlShow(JobId),
    Tick,
    /// What a script says.
    Script,
    /// What need not happen.
    Unfair,
}

impl Action {
    fn of(step: &Step, world: &World, scope: &Scope) -> Action {
        match step {
            Step::Process(job, process, what) => match what {
                ProcessStep::Sync(_) => Action::Sync(*job, *process),
                ProcessStep::Choose(_) | ProcessStep::Call(_, RequestOutcome::Handled) => {
                    Action::Call(*job, *process)
                }
                ProcessStep::Orphan(uid, RequestOutcome::Handled) => Action::Orphan(*job, *process, *uid),
                // What is refused for ever is answered at last, too.
                ProcessStep::Call(call, RequestOutcome::Fails)
                    if is_refused(*call, world.job_state(*job), scope) =>
                {
                    Action::Call(*job, *process)
                }
                ProcessStep::Orphan(uid, RequestOutcome::Fails)
                    if is_refused(CallName::RemoveFinalizer(*uid), world.job_state(*job), scope) =>
                {
                    Action::Orphan(*job, *process, *uid)
                }
                ProcessStep::ShowPod => Action::ShowPod(*job, *process),
                ProcessStep::ShowJob => Action::ShowJob(*job, *process),
                ProcessStep::Call(..)
                | ProcessStep::Orphan(..)
                | ProcessStep::RelistJobs
                | ProcessStep::RelistPods
                | ProcessStep::Crash
                | ProcessStep::CrashInFlight(_)
                | ProcessStep::ElectSecondLeader
                | ProcessStep::StopOldLeader => Action::Unfair,
            },
            Step::Kubelet(_, _, KubeletStep::Ready | KubeletStep::Unready | KubeletStep::Flip) => {
                Action::Unfair
            }
            Step::Kubelet(job, uid, _) if may_run_for_ever(world.job_state(*job), *uid, scope.endless) => {
                Action::Unfair
            }
            Step::Kubelet(job, uid, _) => Action::Pod(*job, *uid),
            Step::Disrupt(job, uid, DisruptionStep::Delete | DisruptionStep::FailByPodGc) => {
                Action::Disrupt(*job, *uid)
            }
            Step::Collect(job, uid) => Action::Collect(*job, *uid),
            Step::RemoveJob(job) => Action::RemoveJob(*job),
            Step::Expire(job) => Action::Expire(*job),
            Step::Ttl(job, what) => match what {
                TtlStep::Sync => Action::TtlSync(*job),
                TtlStep::Get(RequestOutcome::Handled) | TtlStep::Delete(RequestOutcome::Handled) => {
                    Action::TtlRequest(*job)
                }
                TtlStep::Show => Action::TtlShow(*job),
                TtlStep::Get(_) | TtlStep::Delete(_) | TtlStep::Crash => Action::Unfair,
            },
            Step::Tick => Action::Tick,
            Step::Proceed => Action::Script,
            Step::Disrupt(..)
            | Step::HandleDelayed(_)
            | Step::Write(..)
            | Step::User(..)
            | Step::ShowPod(_)
            | Step::ShowJob(_)
            | Step::Crash(_)
            | Step::Rollout(_) => Action::Unfair,
        }
    }
}

/// Whether nothing ends the pod, or the Job's deadline alone.
fn may_run_for_ever(job_state: &JobState, uid: Uid, endless: bool) -> bool {
    let has_deadline = job_state.job.as_ref().is_some_and(|job| job.spec.active_deadline_seconds.is_some());
    (endless || has_deadline) && job_state.pods.get(uid).is_some_and(|pod| pod.is_active())
}

/// The labels of actions, as they come up.
struct Actions<'a> {
    labels: FxHashMap<Action, Label>,
    scope: &'a Scope,
}

impl Actions<'_> {
    fn label(&mut self, step: &Step, world: &World) -> Label {
        let fresh = Label::try_from(self.labels.len()).unwrap_or(Label::MAX);
        let action = match Action::of(step, world, self.scope) {
            // Where there is a script, whatever may happen happens at last.
            Action::Unfair if self.scope.script.is_some() => Action::Script,
            action => action,
        };
        *self.labels.entry(action).or_insert(fresh)
    }

    fn fairness(&self) -> Vec<Fairness> {
        let fair = self.labels.iter().filter(|(action, _)| **action != Action::Unfair);
        let is_event = |action: &Action| matches!(action, Action::ShowPod(..) | Action::ShowJob(..));
        let mut labels: Vec<(Label, bool)> = fair.map(|(action, label)| (*label, is_event(action))).collect();
        labels.sort_unstable();
        let fairness = |(label, strong)| match strong {
            true => Fairness::Strong(vec![label]),
            false => Fairness::Weak(vec![label]),
        };
        labels.into_iter().map(fairness).collect()
    }
}

fn is_at_rest(world: &World, scope: &Scope) -> bool {
    if scope.script.is_some() {
        return world.enabled(scope).is_empty();
    }
    world
        .job_states
        .iter()
        .all(|job_state| is_excused(job_state, world, scope) || is_over(job_state, world, scope))
}

/// Whether a Job has come to its end, and nobody has anything to do.
fn is_over(job_state: &JobState, world: &World, scope: &Scope) -> bool {
    (is_quiet(job_state) || blocked(job_state, scope).is_some())
        && shortcoming(job_state, world, scope).is_none()
}

fn is_quiet(job_state: &JobState) -> bool {
    let quiet = |process: &Process| process.sync.is_none() && !process.queued && process.orphans.is_empty();
    job_state.processes.iter().all(quiet)
        && job_state.ttl.as_ref().is_none_or(|controller| controller.is_quiet())
}

/// The longest time, in seconds, that anything lets a controller wait for: its deadline, the delay after as many failures
/// as there are pods, or PC-12's.
fn longest_wait(job_state: &JobState, scope: &Scope) -> i64 {
    let deadline = job_state.job.as_ref().and_then(|job| job.spec.active_deadline_seconds).unwrap_or(0);
    let delay = scope.constants.backoff_ms(u32::try_from(scope.pods).unwrap_or(u32::MAX)) / 1000;
    deadline.max(delay).max(REFUSAL_LASTS)
}

/// Whether a bound of the scope is what a Job waits for.
pub(crate) fn is_excused(job_state: &JobState, world: &World, scope: &Scope) -> bool {
    let time_is_up = time_is_up(world, scope);
    let finished = job_state.job.as_ref().is_some_and(|job| job.status.is_finished());
    let waits = |wake: Time| !finished && wake.since(world.now) <= longest_wait(job_state, scope);
    let held = |process: &Process| {
        process.sync.iter().flat_map(|sync| sync.calls()).any(|call| is_held_back(job_state, call, scope))
            || (time_is_up && process.wake.is_some_and(waits))
    };
    job_state.processes.iter().any(held)
}

/// What is wrong with the world in which a cycle turns, and whether things go on happening in it.
fn missing(world: &World, scope: &Scope, goes_on: bool) -> (Option<Req>, String) {
    let mut stuck = world
        .job_states
        .iter()
        .filter(|job_state| !is_excused(job_state, world, scope) && !is_over(job_state, world, scope));
    let found = stuck.next().and_then(|job_state| shortcoming(job_state, world, scope));
    let (req, what) = found.unwrap_or((None, "the controller has work".to_owned()));
    let how = if goes_on { ", for ever" } else { "" };
    (req, format!("{what}{how}"))
}

#[cfg(test)]
mod tests;
