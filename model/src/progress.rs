//! That Jobs get somewhere: from every reachable world, once users and faults have had enough, each Job comes to its
//! proper end, all finalizers are released, an expired Job is gone, and the controller rests.
//!
//! In TLA+ terms `[]<>Rest` under weak fairness of every process, pod, and collector, and of the clock, and strong
//! fairness of every cache (an event that may come does not wait for ever, though nothing else is asked while a controller
//! takes one of equal pods first), on the unreduced graph of a scope ([`crate::explore::progress`]). What users do and faults do is not fair: it may happen,
//! and need not. No more of it happens than the scope has, so that every behaviour has its last fault, and
//! "from every reachable world" means with faults spent, left, and not begun.
//!
//! # Premises
//!
//! - Pods end, unless the scope says that they need not: then the numbers are right once no more happens. And those of a Job with a deadline need not, unless they are deleted: its end is the deadline's matter
//!   (SU-10).
//! - The request of a dead process may reach the server, and need not.
//! - The scope's bounds are not in the way: a Job for which the bound on pods holds a creation back, or which waits
//!   for a time that the scope does not have, need not come to an end.

use rustc_hash::FxHashMap;

use crate::algorithm::process::Process;
use crate::algorithm::read::REFUSAL_LASTS;
use crate::algorithm::steps::{Fortune, ProcessStep, is_held_back};
use crate::algorithm::ttl::{TtlStep, clock};
use crate::catalogue::Req;
use crate::check::{Bounds, Cut, Exploration, Outcome, Worlds, visit};
use crate::env::clock::time_is_up;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::explore::found::Found;
use crate::explore::progress::{Builder, Edge, Fairness, Label, Lasso, Property, check};
use crate::guards::ttl::expiry;
use crate::job::{Job, JobStatus};
use crate::pod::{Phase, Pod};
use crate::scope::Scope;
use crate::step::Step;
use crate::time::Time;
use crate::uid::Uid;
use crate::world::{JobId, Life, World};

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
    let mut actions =
        Actions { scripted: scope.script.is_some(), endless: scope.endless, ..Actions::default() };
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
fn told(scope: &Scope, actions: &mut Actions, worlds: &mut dyn Worlds, lasso: &Lasso) -> Found {
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
    Found { property: PROGRESS, number: None, req, why, path, turn: Some(lasso.prefix.len()) }
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
    fn of(step: &Step, world: &World, endless: bool) -> Action {
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
                | ProcessStep::RelistJobs
                | ProcessStep::RelistPods
                | ProcessStep::Crash
                | ProcessStep::CrashInFlight(_)
                | ProcessStep::Usurp
                | ProcessStep::Resign => Action::Unfair,
            },
            Step::Kubelet(_, _, KubeletStep::Ready | KubeletStep::Unready | KubeletStep::Flip) => {
                Action::Unfair
            }
            Step::Kubelet(job, uid, _) if may_run_for_ever(world.life(*job), *uid, endless) => Action::Unfair,
            Step::Kubelet(job, uid, _) => Action::Pod(*job, *uid),
            Step::Disrupt(job, uid, DisruptionStep::Delete | DisruptionStep::GiveUp) => {
                Action::Disrupt(*job, *uid)
            }
            Step::Collect(job, uid) => Action::Collect(*job, *uid),
            Step::RemoveJob(job) => Action::RemoveJob(*job),
            Step::Expire(job) => Action::Expire(*job),
            Step::Ttl(job, what) => match what {
                TtlStep::Sync => Action::TtlSync(*job),
                TtlStep::Get(Fortune::Handled) | TtlStep::Delete(Fortune::Handled) => {
                    Action::TtlRequest(*job)
                }
                TtlStep::Show => Action::TtlShow(*job),
                TtlStep::Get(_) | TtlStep::Delete(_) | TtlStep::Crash => Action::Unfair,
            },
            Step::Tick => Action::Tick,
            Step::Proceed => Action::Script,
            Step::Disrupt(..)
            | Step::Land(_)
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
fn may_run_for_ever(life: &Life, uid: Uid, endless: bool) -> bool {
    let has_deadline = life.job.as_ref().is_some_and(|job| job.spec.active_deadline_seconds.is_some());
    (endless || has_deadline) && life.pods.get(uid).is_some_and(|pod| pod.is_active())
}

/// The labels of actions, as they come up.
#[derive(Default)]
struct Actions {
    labels: FxHashMap<Action, Label>,
    /// Whether there is a script, so that whatever may happen happens at last.
    scripted: bool,
    /// Whether pods need not end.
    endless: bool,
}

impl Actions {
    fn label(&mut self, step: &Step, world: &World) -> Label {
        let fresh = Label::try_from(self.labels.len()).unwrap_or(Label::MAX);
        let action = match Action::of(step, world, self.endless) {
            Action::Unfair if self.scripted => Action::Script,
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
    world.lives.iter().all(|life| is_excused(life, world, scope) || is_over(life, world, scope))
}

/// Whether a Job has come to its end, and nobody has anything to do.
fn is_over(life: &Life, world: &World, scope: &Scope) -> bool {
    is_quiet(life) && shortcoming(life, world, scope).is_none()
}

fn is_quiet(life: &Life) -> bool {
    let quiet = |process: &Process| process.sync.is_none() && !process.queued && process.orphans.is_empty();
    life.processes.iter().all(quiet) && life.ttl.as_ref().is_none_or(|controller| controller.is_quiet())
}

/// What keeps a Job from its end, and the requirement that asks for it, where one does.
pub(crate) fn shortcoming(life: &Life, world: &World, scope: &Scope) -> Option<(Option<Req>, String)> {
    let (req, what) = lack(life, world, scope)?;
    let told = match req {
        // The numbers say it better.
        Some(Req::PC01 | Req::PC03 | Req::RP08) => {
            life.job.as_ref().and_then(|job| numbers(&job.status, life))
        }
        _ => None,
    };
    Some((req, told.unwrap_or_else(|| what.to_owned())))
}

/// The numbers of a status that are not those of the pods.
fn numbers(status: &JobStatus, life: &Life) -> Option<String> {
    let sums = life.pods.sums();
    let ready = life.pods.iter().filter(|pod| pod.is_ready()).count();
    let counts = [
        ("active", status.active, i64::from(sums.active)),
        ("ready", status.ready.unwrap_or(0), i64::try_from(ready).unwrap_or(i64::MAX)),
        ("terminating", status.terminating.unwrap_or(0), i64::from(sums.terminating)),
    ];
    let wrong = counts.iter().find(|(_, said, is)| i64::from(*said) != *is);
    wrong.map(|(name, said, is)| format!("status.{name} is {said}, and {is} pods are {name}"))
}

fn lack(life: &Life, world: &World, scope: &Scope) -> Option<(Option<Req>, &'static str)> {
    let left = life.pods.iter().any(|pod| pod.finalizer && !life.past.owns(pod));
    if left {
        return Some((Some(Req::FT20), "a pod of a former Job of the name keeps its finalizer"));
    }
    let held = life.pods.iter().any(|pod| pod.finalizer);
    let Some(job) = &life.job else {
        return held.then_some((Some(Req::FT20), "the Job is gone, and a pod keeps its finalizer"));
    };
    let finished = job.status.is_finished();
    match () {
        () if finished && held && job.deleting => {
            Some((Some(Req::TT15), "the finished Job is being deleted, and a pod keeps its finalizer"))
        }
        () if finished && held => {
            Some((Some(Req::FT23), "the Job is finished, and a pod keeps its finalizer"))
        }
        () if job.deleting && held => {
            Some((Some(Req::FT19), "the Job is being deleted, and a pod keeps its finalizer"))
        }
        () if job.deleting => Some((None, "the Job is being deleted, and does not go")),
        () if finished && has_expired(job, world, scope) => {
            Some((Some(Req::TT14), "the Job has expired, and is not deleted"))
        }
        () if finished => None,
        // MB-11: for the Job of another manager nobody need do anything.
        () if !is_own(life) => None,
        () if life.past.refused.is_some() => {
            Some((life.past.refused, "the Job is not finished, and the server refuses its status"))
        }
        () if job.spec.is_suspended() || job.spec.parallelism_count() == 0 => idle_lack(job, life),
        () if is_late(job, world) => {
            Some((Some(Req::SU10), "the deadline has passed, and the Job does not fail"))
        }
        () if is_forgotten(life) => {
            Some((Some(Req::PC11), "the Job is not finished, has no pod, and no retry is due"))
        }
        () if scope.endless && life.pods.iter().any(Pod::is_active) => untrue(&job.status, life),
        () => Some((None, "the Job is not finished")),
    }
}

/// What a Job lacks that wants no pods now, and that need not finish before it does.
fn idle_lack(job: &Job, life: &Life) -> Option<(Option<Req>, &'static str)> {
    // BI-08: the last failed pod of an index waits for a replacement.
    let waits = |pod: &Pod| job.spec.backoff_limit_per_index.is_some() && pod.phase == Phase::Failed;
    let unaccounted = |pod: &Pod| pod.finalizer && pod.is_terminated() && !waits(pod);
    match () {
        () if job.status.is_decided() => Some((None, "the end of the Job is announced, and does not come")),
        () if life.pods.iter().any(unaccounted) => {
            Some((Some(Req::FT01), "the Job wants no pods, and one that has ended keeps its finalizer"))
        }
        () if job.status.listed() > 0 => {
            Some((Some(Req::FT02), "the Job wants no pods, and pods are listed that no counter has"))
        }
        () if job.spec.is_suspended()
            && life.pods.iter().any(|pod| life.past.owns(pod) && pod.is_active()) =>
        {
            Some((Some(Req::SU01), "the Job is suspended, and a pod is active"))
        }
        () if life.pods.iter().any(|pod| life.past.owns(pod) && pod.is_active()) => {
            Some((Some(Req::PC04), "the Job wants no pods, and a pod is active"))
        }
        () => untrue(&job.status, life),
    }
}

fn is_own(life: &Life) -> bool {
    life.job.as_ref().is_some_and(|job| life.manager.gates.read(job).is_managed_by_built_in())
}

/// PC-11: pods are wanted, none is there, and nothing will wake the controller.
fn is_forgotten(life: &Life) -> bool {
    let wakes = life.processes.iter().any(|process| process.wake.is_some());
    is_quiet(life) && !wakes && life.pods.iter().all(Pod::is_terminated)
}

/// PC-01 to PC-03, RP-08: the numbers at rest are those of the pods.
fn untrue(status: &JobStatus, life: &Life) -> Option<(Option<Req>, &'static str)> {
    let count = |which: fn(&Pod) -> bool| {
        i32::try_from(life.pods.iter().filter(|pod| life.past.owns(pod) && which(pod)).count())
            .unwrap_or(i32::MAX)
    };
    match () {
        () if status.active != count(Pod::is_active) => {
            Some((Some(Req::PC01), "active is not the number of active pods"))
        }
        () if status.ready.unwrap_or(0) != count(Pod::is_ready) => {
            Some((Some(Req::PC03), "ready is not the number of ready pods"))
        }
        () if status.terminating.unwrap_or(0) != count(Pod::is_terminating) => {
            Some((Some(Req::RP08), "terminating is not the number of terminating pods"))
        }
        () => None,
    }
}

/// By the clock of whoever deletes expired Jobs.
fn has_expired(job: &Job, world: &World, scope: &Scope) -> bool {
    expiry(job).is_some_and(|end| clock(world.now, scope) >= end)
}

fn is_late(job: &Job, world: &World) -> bool {
    let started = job.status.start_time.zip(job.spec.active_deadline_seconds);
    started.is_some_and(|(start, deadline)| world.now.since(start) >= deadline)
}

/// The longest time, in seconds, that anything lets a controller wait for: its deadline, the delay after as many failures
/// as there are pods, or PC-12's.
fn longest_wait(life: &Life, scope: &Scope) -> i64 {
    let deadline = life.job.as_ref().and_then(|job| job.spec.active_deadline_seconds).unwrap_or(0);
    let delay = scope.constants.backoff_ms(u32::try_from(scope.pods).unwrap_or(u32::MAX)) / 1000;
    deadline.max(delay).max(REFUSAL_LASTS)
}

/// Whether a bound of the scope is what a Job waits for.
pub(crate) fn is_excused(life: &Life, world: &World, scope: &Scope) -> bool {
    let time_is_up = time_is_up(world, scope);
    let finished = life.job.as_ref().is_some_and(|job| job.status.is_finished());
    let waits = |wake: Time| !finished && wake.since(world.now) <= longest_wait(life, scope);
    let held = |process: &Process| {
        process.sync.iter().flat_map(|sync| sync.calls()).any(|call| is_held_back(life, call, scope))
            || (time_is_up && process.wake.is_some_and(waits))
    };
    life.processes.iter().any(held)
}

/// What is wrong with the world in which a cycle turns, and whether things go on happening in it.
fn missing(world: &World, scope: &Scope, goes_on: bool) -> (Option<Req>, String) {
    let mut stuck =
        world.lives.iter().filter(|life| !is_excused(life, world, scope) && !is_over(life, world, scope));
    let found = stuck.next().and_then(|life| shortcoming(life, world, scope));
    let (req, what) = found.unwrap_or((None, "the controller has work".to_owned()));
    let how = if goes_on { ", for ever" } else { "" };
    (req, format!("{what}{how}"))
}

#[cfg(test)]
mod tests;
