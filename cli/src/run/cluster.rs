//! Scenarios on real API servers, several at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::future::join_all;
use jobcheck_cluster::Controllers;
use jobcheck_live::{Error, Plan, TestCluster, needs_process};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Named;
use super::args::RunArgs;
use super::report::{ClusterRun, Execution, Run};
use super::target::Target;
use crate::cluster::Progress;
use crate::global::Global;
use crate::output;
use crate::real_cluster::{self, Attempt, Prepared, Request, Session};

/// Runs the scenarios on a target. Returns the runs in the order of the scenarios.
pub fn run_all(
    session: &Session,
    target: Target,
    scenarios: &[Named],
    args: &RunArgs,
    global: &Global,
) -> Vec<Run> {
    let progress = Progress::new(!global.quiet);
    let shared = Shared {
        permits: Arc::new(Semaphore::new(usize::try_from(args.limits.parallel).unwrap_or(1))),
        done: AtomicUsize::new(0),
        all: scenarios.len(),
        progress: &progress,
    };
    let shared = &shared;
    let parts = parts(target, scenarios, args).into_iter().map(|(controllers, numbers)| async move {
        let named: Vec<Named> = numbers.iter().map(|number| scenarios[*number].clone()).collect();
        let done = Part { target, controllers, args, shared }.run(&named, &session.stop).await;
        let done = done.unwrap_or_else(|error| failures(target, &named, &error));
        numbers.into_iter().zip(done).collect::<Vec<_>>()
    });
    let runs = session.runtime.block_on(join_all(parts));
    let mut runs: Vec<(usize, Run)> = runs.into_iter().flatten().collect();
    runs.sort_by_key(|(number, _)| *number);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The results of scenarios that could not be run, for one reason.
pub fn failures(target: Target, scenarios: &[Named], error: &Error) -> Vec<Run> {
    scenarios.iter().map(|named| failure(target, named, error)).collect()
}

/// The result of a scenario that could not be run.
fn failure(target: Target, (file, scenario): &Named, error: &Error) -> Run {
    let execution = Execution::Failed { why: error.to_string(), exit: real_cluster::exit_of(error) };
    Run { file: file.clone(), scenario: Arc::clone(scenario), target, execution, elapsed: Default::default() }
}

/// The state that all runs of a target share, on whatever cluster they are.
struct Shared<'a> {
    /// The number of concurrent runs.
    permits: Arc<Semaphore>,
    done: AtomicUsize,
    all: usize,
    progress: &'a Progress,
}

/// The scenarios that run on one cluster. A cluster that is started for them gets these controllers.
struct Part<'a> {
    target: Target,
    controllers: Controllers,
    args: &'a RunArgs,
    shared: &'a Shared<'a>,
}

/// The scenarios that run together, by their numbers, with the controllers of their cluster.
///
/// On control planes that are started for the runs, `builtin` has one kube-controller-manager for most scenarios.
/// Scenarios with faults of the controller start one each, on another control plane without it.
fn parts(target: Target, scenarios: &[Named], args: &RunArgs) -> Vec<(Controllers, Vec<usize>)> {
    let all = 0..scenarios.len();
    if target != Target::BuiltIn {
        return vec![(Controllers::Collectors, all.collect())];
    }
    let (alone, together): (Vec<usize>, Vec<usize>) =
        all.partition(|number| !args.connection.is_given() && needs_process(&scenarios[*number].1));
    let both = [(Controllers::BuiltIn, together), (Controllers::Collectors, alone)];
    both.into_iter().filter(|(_, numbers)| !numbers.is_empty()).collect()
}

impl Part<'_> {
    async fn run(&self, scenarios: &[Named], stop: &CancellationToken) -> Result<Vec<Run>, Error> {
        let args = self.args;
        let request = Request {
            target: self.target,
            controllers: self.controllers,
            connection: &args.connection,
            own: &args.own,
            limits: &args.limits,
            version: args.kubernetes.unwrap_or_default(),
            at_once: args.seed,
            is_beside_external: args.targets.contains(&Target::External),
        };
        let mut cluster = Prepared::open(&request, self.shared.progress, stop).await?;
        let (plan, site, halt) = (cluster.plan.clone(), Arc::clone(&cluster.site), stop.child_token());
        let many = Many { target: self.target, plan, site, stop: halt.clone() };
        let mut runs = std::pin::pin!(many.run(scenarios, self.shared));
        let runs = tokio::select! {
            runs = &mut runs => runs,
            error = real_cluster::lost(cluster.own.as_mut()) => {
                output::error_lines(&error);
                halt.cancel();
                runs.await
            }
        };
        cluster.close().await?;
        Ok(runs)
    }
}

/// Several concurrent runs.
struct Many {
    target: Target,
    plan: Plan,
    site: Arc<TestCluster>,
    stop: CancellationToken,
}

impl Many {
    async fn run(&self, scenarios: &[Named], shared: &Shared<'_>) -> Vec<Run> {
        let mut running = JoinSet::new();
        for (number, (file, scenario)) in scenarios.iter().enumerate() {
            let (site, plan, stop) = (Arc::clone(&self.site), self.plan.clone(), self.stop.clone());
            let (file, scenario, target) = (file.clone(), Arc::clone(scenario), self.target);
            let permits = Arc::clone(&shared.permits);
            running.spawn(async move {
                let _permit = permits.acquire_owned().await;
                (number, one(target, (file, scenario), &site, &plan, &stop).await)
            });
        }
        let mut done: Vec<(usize, Run)> = Vec::new();
        while let Some(run) = running.join_next().await {
            done.extend(run.ok());
            let (target, so_far) = (self.target.name(), shared.done.fetch_add(1, Ordering::Relaxed) + 1);
            shared.progress.show(&format!("{target}: {so_far} of {} scenarios", shared.all));
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
    let execution = match real_cluster::play(site, &named.1, plan, stop).await {
        Attempt::Ran(outcome) => Execution::Cluster(Box::new(recorded(*outcome))),
        Attempt::NotRun(why) => Execution::NotRun(why),
        Attempt::Failed(error) => return failure(target, &named, &error),
    };
    let (file, scenario) = named;
    Run { file, scenario, target, execution, elapsed: begun.elapsed() }
}

fn recorded(outcome: jobcheck_live::Outcome) -> ClusterRun {
    let (exit, found) = (outcome.exit(), outcome.found());
    let jobcheck_live::Outcome { unmet, report, trace, records, states: rests } = outcome;
    ClusterRun { exit, found, unmet, report, requests: records, rests, trace }
}
