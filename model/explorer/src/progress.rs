//! Progress: from every reachable state, once users and faults have stopped, each Job reaches its proper end.
//!
//! Its proper end means: all finalizers are removed, an expired Job is gone, and the controllers are quiescent.
//!
//! In TLA+ terms the property is `[]<>Quiescent`. It is checked on the unreduced graph of a scope ([`crate::liveness`])
//! under these assumptions:
//!
//! | fairness | actions |
//! | --- | --- |
//! | weak | every process, pod, and collector, and the clock |
//! | strong | the events of every cache, since an enabled choice among equal pods disables them for a moment |
//! | none | users and faults: their steps may happen, and need not |
//!
//! A scope has a fixed number of faults, so that every behaviour has a last fault. "Every reachable state" includes
//! states before, between and after the faults.
//!
//! # Premises
//!
//! - Pods terminate, with two exceptions. In a scope with [`Scope::endless`] the numbers of the status must be right at
//!   quiescence instead. The pods of a Job with a deadline need not terminate by themselves (SU-10).
//! - The request of a terminated process may reach the server, and need not.
//! - A request that the API server always refuses ([`crate::env::refusals`]) may keep a Job from finishing. The rest of
//!   its obligations remain: other finalizers are removed, other pods are counted, and the numbers are right.
//! - A Job need not finish if it waits for a pod or a time beyond the scope's bounds.

use rustc_hash::FxHashMap;

use crate::counterexample::Counterexample;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::refusals::{blocked, is_refused};
use crate::exploration::{Bounds, Cut, Exploration, Outcome, Worlds, visit};
use crate::liveness::{Builder, Edge, Fairness, Label, Lasso, Property, check};
use crate::obligations::{Obligation, controllers_are_idle, open_obligation, waits_for_a_bound};
use crate::process::io::CallName;
use crate::process::steps::{ProcessStep, RequestOutcome};
use crate::process::ttl::TtlStep;
use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::uid::Uid;

/// The name of the property in reports.
pub const PROGRESS: &str = "each Job reaches its end, and its controller becomes quiescent";

/// Explores a scope without reductions: for every safety property, and then for progress.
#[must_use]
pub fn explore(scope: &Scope, bounds: &Bounds) -> Exploration {
    explore_for(scope, bounds, &|_| true)
}

/// Explores a scope without reductions: for the `wanted` properties, as [`crate::check::explore_for`] does, and then for
/// progress.
#[must_use]
pub fn explore_for(scope: &Scope, bounds: &Bounds, wanted: &dyn Fn(Option<usize>) -> bool) -> Exploration {
    let unreduced = Bounds { symmetry: false, partial_order: false, ..bounds.clone() };
    visit(scope, &unreduced, wanted, &mut |found, worlds| {
        if matches!(found.outcome, Outcome::Holds) {
            check_graph(scope, bounds, found, worlds);
        }
    })
}

/// The number of states between two checks of the limits.
const BATCH: u32 = 4096;

/// Checks progress on the graph of all states, and writes the result to `found`.
fn check_graph(scope: &Scope, bounds: &Bounds, found: &mut Exploration, worlds: &mut dyn Worlds) {
    let mut actions = Actions { labels: FxHashMap::default(), scope };
    let mut quiescent = Vec::new();
    let mut builder = Builder::new();
    builder.initial(0);
    for number in 0..worlds.count() {
        if let Some(cut) = (number % BATCH == 0).then(|| limit(bounds)).flatten() {
            found.outcome = Outcome::NotFinished(cut);
            return;
        }
        let world = worlds.world(number);
        quiescent.push(is_quiescent(&world, scope));
        let leaving = worlds.leaving(number);
        builder.node(leaving.iter().map(|(step, to)| (actions.label(step, &world), *to)));
    }
    let Ok(graph) = builder.finish() else {
        found.outcome = Outcome::NotFinished(Cut::States);
        return;
    };
    found.quiescent_states = Some(quiescent.iter().filter(|quiescent| **quiescent).count());
    let goal = |node: u32| quiescent[node as usize];
    if let Err(lasso) = check(&graph, &actions.fairness(), &Property::AlwaysEventually(&goal)) {
        found.outcome = Outcome::Broken(Box::new(counterexample(scope, &mut actions, worlds, &lasso)));
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

/// The steps of a lasso, and what its cycle lacks.
fn counterexample(
    scope: &Scope,
    actions: &mut Actions<'_>,
    worlds: &mut dyn Worlds,
    lasso: &Lasso,
) -> Counterexample {
    let mut step = |edge: &Edge| {
        let world = worlds.world(edge.from);
        let mut leaving = worlds.leaving(edge.from).into_iter();
        let (step, _) = leaving
            .find(|(step, to)| *to == edge.to && actions.label(step, &world) == edge.label)
            .expect("each edge of the graph is a step of the scope");
        Step::clone(&step)
    };
    let path: Vec<Step> = lasso.prefix.iter().chain(&lasso.cycle).map(&mut step).collect();
    let world = worlds.world(lasso.cycle_start());
    let Obligation { requirement, why } = overdue(&world, scope);
    let why = if lasso.stutters() { why } else { format!("{why}, forever") };
    Counterexample {
        property: PROGRESS,
        number: None,
        req: requirement,
        why,
        path,
        cycle_start: Some(lasso.prefix.len()),
    }
}

/// An action: the steps that share one fairness assumption.
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
    /// A sync of the TTL-after-finished controller.
    TtlSync(JobId),
    /// A request of the TTL-after-finished controller that the server handles.
    TtlRequest(JobId),
    TtlShow(JobId),
    Tick,
    /// Any step of a scope with a script.
    Script,
    /// Steps without a fairness assumption.
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
                // A request that is always refused gets its response eventually, too.
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
            Step::Kubelet(job, uid, _) if may_run_forever(world.job_state(*job), *uid, scope.endless) => {
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

/// Returns true if the pod need not terminate by itself.
fn may_run_forever(job_state: &JobState, uid: Uid, endless: bool) -> bool {
    let has_deadline = job_state.job.as_ref().is_some_and(|job| job.spec.active_deadline_seconds.is_some());
    (endless || has_deadline) && job_state.pods.get(uid).is_some_and(|pod| pod.is_active())
}

/// The labels of actions, in the order in which the actions appear.
struct Actions<'a> {
    labels: FxHashMap<Action, Label>,
    scope: &'a Scope,
}

impl Actions<'_> {
    fn label(&mut self, step: &Step, world: &World) -> Label {
        let fresh = Label::try_from(self.labels.len()).unwrap_or(Label::MAX);
        let action = match Action::of(step, world, self.scope) {
            // In a scope with a script, every enabled step happens eventually.
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

/// Returns true if every Job has reached its end, or is waiting for a bound of the scope, and every controller is idle.
fn is_quiescent(world: &World, scope: &Scope) -> bool {
    if scope.script.is_some() {
        return world.enabled(scope).is_empty();
    }
    world
        .job_states
        .iter()
        .all(|job_state| waits_for_a_bound(job_state, world, scope) || needs_nothing(job_state, world, scope))
}

/// Returns true if a Job has no open obligation and its controllers have nothing to do.
fn needs_nothing(job_state: &JobState, world: &World, scope: &Scope) -> bool {
    (controllers_are_idle(job_state) || blocked(job_state, scope).is_some())
        && open_obligation(job_state, world, scope).is_none()
}

/// The obligation that the states of a cycle never meet.
#[must_use]
pub fn overdue(world: &World, scope: &Scope) -> Obligation {
    let is_stuck = |job_state: &&JobState| {
        !waits_for_a_bound(job_state, world, scope) && !needs_nothing(job_state, world, scope)
    };
    let stuck = world.job_states.iter().find(is_stuck);
    let obligation = stuck.and_then(|job_state| open_obligation(job_state, world, scope));
    obligation.unwrap_or_else(|| Obligation {
        requirement: None,
        why: "the controller always has work to do".to_owned(),
    })
}
