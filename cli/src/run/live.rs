//! Scenarios on a real API server: many runs at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anstream::eprintln;
use futures_util::future::join_all;
use jobcheck_cluster::Controllers;
use jobcheck_live::{Error, Plan, TestCluster, needs_process};
use jobcheck_scenario::Scenario;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::args::RunArgs;
use super::report::{Came, Run};
use super::target::Target;
use crate::args::Global;
use crate::cluster::Progress;
use crate::real::{self, Arena, Real, Wish};

/// A scenario, and its file.
pub type Named = (String, Arc<Scenario>);

/// Runs the scenarios on this target, in their order.
pub fn run_all(
    real: &Real,
    target: Target,
    scenarios: &[Named],
    args: &RunArgs,
    global: &Global,
) -> Vec<Run> {
    let progress = Progress::new(!global.quiet);
    let tally = Tally {
        room: Arc::new(Semaphore::new(usize::try_from(args.pace.parallel).unwrap_or(1))),
        done: AtomicUsize::new(0),
        all: scenarios.len(),
        progress: &progress,
    };
    let tally = &tally;
    let parts = parts(target, scenarios, args).into_iter().map(|(controllers, numbers)| async move {
        let named: Vec<Named> = numbers.iter().map(|number| scenarios[*number].clone()).collect();
        let done = Part { target, controllers, args, tally }.run(&named, &real.stop).await;
        let done = done.unwrap_or_else(|error| none(target, &named, &error));
        numbers.into_iter().zip(done).collect::<Vec<_>>()
    });
    let mut runs: Vec<(usize, Run)> = real.runtime.block_on(join_all(parts)).into_iter().flatten().collect();
    runs.sort_by_key(|(number, _)| *number);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The runs that could not be made, for one reason.
pub fn none(target: Target, scenarios: &[Named], error: &Error) -> Vec<Run> {
    scenarios.iter().map(|named| failure(target, named, error)).collect()
}

/// A run that could not be made.
fn failure(target: Target, (file, scenario): &Named, error: &Error) -> Run {
    let came = Came::Failed { why: error.to_string(), exit: real::exit_of(error) };
    Run { file: file.clone(), scenario: Arc::clone(scenario), target, came, elapsed: Default::default() }
}

/// What the runs of a target share, wherever they are.
struct Tally<'a> {
    /// For so many runs at a time.
    room: Arc<Semaphore>,
    done: AtomicUsize,
    all: usize,
    progress: &'a Progress,
}

/// Scenarios that run on one cluster, which has these controllers if it is one of the run's own.
struct Part<'a> {
    target: Target,
    controllers: Controllers,
    args: &'a RunArgs,
    tally: &'a Tally<'a>,
}

/// Which scenarios run together, by their numbers. On a control plane of its own, `builtin` has one kube-controller-manager
/// for all; those in which something happens to it have each one of their own, on another control plane without it.
fn parts(target: Target, scenarios: &[Named], args: &RunArgs) -> Vec<(Controllers, Vec<usize>)> {
    let all = 0..scenarios.len();
    if target != Target::BuiltIn {
        return vec![(Controllers::Collectors, all.collect())];
    }
    let (alone, together): (Vec<usize>, Vec<usize>) =
        all.partition(|number| !args.way.is_given() && needs_process(&scenarios[*number].1));
    let both = [(Controllers::BuiltIn, together), (Controllers::Collectors, alone)];
    both.into_iter().filter(|(_, numbers)| !numbers.is_empty()).collect()
}

impl Part<'_> {
    async fn run(&self, scenarios: &[Named], stop: &CancellationToken) -> Result<Vec<Run>, Error> {
        let args = self.args;
        let wish = Wish {
            target: self.target,
            controllers: self.controllers,
            way: &args.way,
            pace: &args.pace,
            version: args.kubernetes.unwrap_or_default(),
            at_once: args.seed,
            is_beside_external: args.targets.contains(&Target::External),
        };
        let mut arena = Arena::open(&wish, self.tally.progress, stop).await?;
        let (plan, site, halt) = (arena.plan.clone(), Arc::clone(&arena.site), stop.child_token());
        let many = Many { target: self.target, plan, site, stop: halt.clone() };
        let mut runs = std::pin::pin!(many.run(scenarios, self.tally));
        let runs = tokio::select! {
            runs = &mut runs => runs,
            error = real::lost(arena.own.as_mut()) => {
                eprintln!("error: {error}");
                halt.cancel();
                runs.await
            }
        };
        arena.close().await?;
        Ok(runs)
    }
}

/// Many runs at a time.
struct Many {
    target: Target,
    plan: Plan,
    site: Arc<TestCluster>,
    stop: CancellationToken,
}

impl Many {
    async fn run(&self, scenarios: &[Named], tally: &Tally<'_>) -> Vec<Run> {
        let mut under_way = JoinSet::new();
        for (number, (file, scenario)) in scenarios.iter().enumerate() {
            let (site, plan, stop) = (Arc::clone(&self.site), self.plan.clone(), self.stop.clone());
            let (file, scenario, room, target) =
                (file.clone(), Arc::clone(scenario), Arc::clone(&tally.room), self.target);
            under_way.spawn(async move {
                let _room = room.acquire_owned().await;
                (number, one(target, (file, scenario), &site, &plan, &stop).await)
            });
        }
        let mut done: Vec<(usize, Run)> = Vec::new();
        while let Some(run) = under_way.join_next().await {
            done.extend(run.ok());
            let (target, so_far) = (self.target.name(), tally.done.fetch_add(1, Ordering::Relaxed) + 1);
            tally.progress.show(&format!("{target}: {so_far} of {} scenarios", tally.all));
        }
        let mut runs: Vec<Option<Run>> = scenarios.iter().map(|_| None).collect();
        done.into_iter().for_each(|(number, run)| runs[number] = Some(run));
        let panicked = Error::Internal("a run panicked".to_owned());
        let all = scenarios.iter().zip(runs);
        all.map(|(named, run)| run.unwrap_or_else(|| failure(self.target, named, &panicked))).collect()
    }
}

async fn one(
    target: Target,
    named: Named,
    site: &Arc<TestCluster>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Run {
    let begun = Instant::now();
    let came = match real::play(site, &named.1, plan, stop).await {
        real::Came::Ran(outcome) => Came::Live(outcome),
        real::Came::NotRun(why) => Came::NotRun(why),
        real::Came::Failed(error) => return failure(target, &named, &error),
    };
    let (file, scenario) = named;
    Run { file, scenario, target, came, elapsed: begun.elapsed() }
}
