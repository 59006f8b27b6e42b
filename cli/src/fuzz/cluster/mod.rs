//! `jobcheck fuzz --target live|builtin`: random scenarios on a control plane that is started for them, many at a time.

mod report;
mod restarts;
mod tally;
mod verdict;

use std::sync::Arc;
use std::time::Instant;

use jobcheck_cluster::Controllers;
use jobcheck_judge::report::Exit;
use jobcheck_live::{Error, Plan, TestCluster};
use jobcheck_scenario::{Scenario, read};
use jobcheck_sim::fuzz::Draft;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::tally::{Outcome, Ran, Tally};
use self::verdict::{Verdict, verdict};
use super::args::{Faults, FuzzArgs};
use crate::cluster::Progress;
use crate::global::Global;
use crate::real_cluster::{self, Attempt, ConnectionArgs, Prepared, Request, Session};
use crate::run::Target;
use crate::{memory, output, save};

/// The number of times that a run with a violation is repeated.
const REPEATS: usize = 3;

/// Runs random scenarios, and prints the report. Returns the exit code.
pub fn run(args: &FuzzArgs, seed: u64, global: &Global) -> Exit {
    if args.save.as_ref().is_some_and(|directory| !save::can_make_directory(directory)) {
        return Exit::Environment;
    }
    let begun = Instant::now();
    let mut tally = Tally::default();
    let done = Session::new().and_then(|session| {
        let progress = Progress::new(!global.quiet);
        let search = Search { args, seed, begun, progress: &progress, stop: &session.stop };
        session.runtime.block_on(search.run(&mut tally))
    });
    if let Err(error) = done {
        output::error_lines(&error);
        tally.errors.push((error.to_string(), real_cluster::exit_of(&error)));
    }
    let report = report::Report { tally: &tally, args, seed, elapsed: begun.elapsed() };
    let rendered = args.output.render(|| report.text(), || report.whole());
    output::print_report(rendered, args.output, tally.exit(args.limits.allow_known))
}

/// A search until time or number is used up.
struct Search<'a> {
    args: &'a FuzzArgs,
    seed: u64,
    begun: Instant,
    progress: &'a Progress,
    stop: &'a CancellationToken,
}

impl Search<'_> {
    async fn run(&self, tally: &mut Tally) -> Result<(), Error> {
        let args = self.args;
        // Without faults, all runs can share one kube-controller-manager.
        let is_shared = args.target == Target::BuiltIn && args.faults == Faults::None;
        let request = Request {
            target: args.target,
            controllers: if is_shared { Controllers::BuiltIn } else { Controllers::Collectors },
            connection: &ConnectionArgs::default(),
            own: &args.own,
            limits: &args.limits,
            version: args.version(),
            at_once: 0,
            is_beside_external: false,
        };
        let mut cluster = Prepared::open(&request, self.progress, self.stop).await?;
        let (site, plan) = (Arc::clone(&cluster.site), cluster.plan.clone());
        let (over, halt) = (CancellationToken::new(), self.stop.child_token());
        let restarts = restarts::until(&over, &halt, args, cluster.own.as_mut(), &site);
        let runs = async {
            self.all(tally, &site, &plan, &halt).await;
            over.cancel();
        };
        let (restarts, ()) = tokio::join!(restarts, runs);
        tally.restarts = restarts.made;
        let closed = cluster.close().await;
        restarts.error.map_or(closed, Err)
    }

    /// Runs drafts, several at a time, until `halt` is cancelled.
    async fn all(&self, tally: &mut Tally, site: &Arc<TestCluster>, plan: &Plan, halt: &CancellationToken) {
        let most = usize::try_from(self.args.limits.parallel).unwrap_or(1);
        let (mut running, mut number) = (JoinSet::new(), 0);
        let most_memory = memory::limit(self.args.max_memory);
        loop {
            if let Some(limit) =
                most_memory.filter(|it| tally.errors.is_empty() && memory::is_above(Some(*it)))
            {
                tally.errors.push((memory::reached(limit), Exit::Inconclusive));
            }
            let has_next = !self.is_over(number) && !halt.is_cancelled() && tally.errors.is_empty();
            if has_next && running.len() < most {
                let seed = self.seed.wrapping_add(self.args.position(number));
                number += 1;
                let (site, plan, halt) = (Arc::clone(site), plan.clone(), halt.clone());
                let draft = Draft::of(seed, self.args.menu());
                running.spawn(async move { (seed, one(seed, draft, &site, plan, &halt).await) });
                continue;
            }
            let Some(done) = running.join_next().await else { return };
            let panicked = |_| (self.seed, Outcome::Failed(Error::Internal("a run panicked".to_owned())));
            let (seed, outcome) = done.unwrap_or_else(panicked);
            tally.add(seed, outcome, self.args);
            self.progress.show(&format!("{}: {}", self.args.target.name(), tally.summary()));
        }
    }

    fn is_over(&self, number: u64) -> bool {
        self.args.runs.is_some_and(|runs| self.args.position(number) >= runs)
            || self.begun.elapsed() >= self.args.budget()
    }
}

/// Runs a draft, and repeats it if it breaks a requirement.
async fn one(
    seed: u64,
    draft: Draft,
    site: &Arc<TestCluster>,
    plan: Plan,
    stop: &CancellationToken,
) -> Outcome {
    let scenario = match read(&draft.text("fuzz", "a random scenario")) {
        Ok(scenario) => Arc::new(scenario),
        Err(error) => return Outcome::Failed(Error::Internal(error.to_string())),
    };
    let plan = Plan { at_once: draft.at_once(), ..plan };
    let outcome = match real_cluster::play(site, &scenario, &plan, stop).await {
        Attempt::Ran(outcome) => *outcome,
        Attempt::NotRun(why) => return Outcome::NotRun(why),
        Attempt::Failed(error) => return Outcome::Failed(error),
    };
    let verdict = verdict(&outcome);
    let again = match &verdict {
        Verdict::Violates { .. } => repeated(&verdict, &scenario, site, &plan, stop).await,
        Verdict::Conforms | Verdict::Known(_) | Verdict::Inconclusive { .. } => None,
    };
    let (requests, trace) = (outcome.records, outcome.trace);
    Outcome::Ran(Box::new(Ran { seed, draft, verdict, requests, trace, again }))
}

/// The number of repetitions that break the same requirement, and the number of all repetitions.
async fn repeated(
    first: &Verdict,
    scenario: &Arc<Scenario>,
    site: &Arc<TestCluster>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Option<(usize, usize)> {
    let (mut same, mut made) = (0, 0);
    for _ in 0..REPEATS {
        let Attempt::Ran(outcome) = real_cluster::play(site, scenario, plan, stop).await else { break };
        made += 1;
        same += usize::from(verdict(&outcome).is_like(first));
    }
    Some((same, made))
}
