//! `jobcheck fuzz --target live|builtin`: random scenarios on a real control plane of their own, many at a time.

mod disturb;
mod report;
mod tally;
mod verdict;

use std::sync::Arc;
use std::time::Instant;

use anstream::eprintln;
use jobcheck_cluster::Controllers;
use jobcheck_judge::report::Exit;
use jobcheck_live::{Error, Plan, TestCluster};
use jobcheck_scenario::{Scenario, read};
use jobcheck_sim::fuzz::Draft;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::tally::{Outcome, Ran, Tally};
use self::verdict::{Verdict, verdict};
use super::args::{Faults, Format, FuzzArgs};
use crate::args::Global;
use crate::cluster::Progress;
use crate::real::{self, Arena, Came, Real, WayArgs, Wish};
use crate::run::Target;
use crate::{check, save};

/// How often a run that is wrong is repeated.
const REPEATS: usize = 3;

/// Runs random scenarios, prints what they come to, and returns that.
pub fn run(args: &FuzzArgs, seed: u64, global: &Global) -> Exit {
    if args.save.as_ref().is_some_and(|directory| !save::can_be_made(directory)) {
        return Exit::Environment;
    }
    let begun = Instant::now();
    let mut tally = Tally::default();
    let done = Real::new().and_then(|real| {
        let progress = Progress::new(!global.quiet);
        let search = Search { args, seed, begun, progress: &progress, stop: &real.stop };
        real.runtime.block_on(search.run(&mut tally))
    });
    if let Err(error) = done {
        eprintln!("error: {error}");
        tally.trouble.push((error.to_string(), real::exit_of(&error)));
    }
    let told = report::Told { tally: &tally, args, seed, elapsed: begun.elapsed() };
    let rendered = match args.output {
        Format::Text => Ok(told.text()),
        Format::Json => check::to_json(&told.whole()),
        Format::Yaml => check::to_yaml(&told.whole()),
    };
    check::print(rendered, tally.exit(args.pace.allow_known))
}

/// Runs until time or number is over.
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
        // Where nothing happens to it, one kube-controller-manager is enough for all runs.
        let is_shared = args.target == Target::BuiltIn && args.faults == Faults::None;
        let wish = Wish {
            target: args.target,
            controllers: if is_shared { Controllers::BuiltIn } else { Controllers::Collectors },
            way: &WayArgs::default(),
            pace: &args.pace,
            version: args.version(),
            at_once: 0,
            is_beside_external: false,
        };
        let mut arena = Arena::open(&wish, self.progress, self.stop).await?;
        let (site, plan) = (Arc::clone(&arena.site), arena.plan.clone());
        let (over, halt) = (CancellationToken::new(), self.stop.child_token());
        let restarts = disturb::until(&over, &halt, args, arena.own.as_mut(), &site);
        let runs = async {
            self.all(tally, &site, &plan, &halt).await;
            over.cancel();
        };
        let (restarts, ()) = tokio::join!(restarts, runs);
        tally.restarts = restarts.made;
        let closed = arena.close().await;
        restarts.error.map_or(closed, Err)
    }

    /// Runs drafts, so many at a time, until `halt` is cancelled.
    async fn all(&self, tally: &mut Tally, site: &Arc<TestCluster>, plan: &Plan, halt: &CancellationToken) {
        let most = usize::try_from(self.args.pace.parallel).unwrap_or(1);
        let (mut under_way, mut number) = (JoinSet::new(), 0);
        loop {
            let goes_on = !self.is_over(number) && !halt.is_cancelled() && tally.trouble.is_empty();
            if goes_on && under_way.len() < most {
                let seed = self.seed.wrapping_add(number);
                number += 1;
                let (site, plan, halt) = (Arc::clone(site), plan.clone(), halt.clone());
                let draft = Draft::of(seed, self.args.menu());
                under_way.spawn(async move { (seed, one(seed, draft, &site, plan, &halt).await) });
                continue;
            }
            let Some(done) = under_way.join_next().await else { return };
            let panicked = |_| (self.seed, Outcome::Failed(Error::Internal("a run panicked".to_owned())));
            let (seed, outcome) = done.unwrap_or_else(panicked);
            tally.take(seed, outcome, self.args);
            self.progress.show(&format!("{}: {}", self.args.target.name(), tally.so_far()));
        }
    }

    fn is_over(&self, number: u64) -> bool {
        self.args.runs.is_some_and(|runs| number >= runs) || self.begun.elapsed() >= self.args.budget()
    }
}

/// Runs a draft; one that is wrong, some times more.
async fn one(
    seed: u64,
    draft: Draft,
    site: &Arc<TestCluster>,
    plan: Plan,
    stop: &CancellationToken,
) -> Outcome {
    let scenario = match read(&draft.text("fuzz", "found by chance")) {
        Ok(scenario) => Arc::new(scenario),
        Err(error) => return Outcome::Failed(Error::Internal(error.to_string())),
    };
    let plan = Plan { at_once: draft.at_once(), ..plan };
    let outcome = match real::play(site, &scenario, &plan, stop).await {
        Came::Ran(outcome) => *outcome,
        Came::NotRun(why) => return Outcome::NotRun(why),
        Came::Failed(error) => return Outcome::Failed(error),
    };
    let verdict = verdict(&outcome);
    let again = match &verdict {
        Verdict::Violates { .. } => repeated(&verdict, &scenario, site, &plan, stop).await,
        Verdict::Conforms | Verdict::Known(_) | Verdict::Inconclusive { .. } => None,
    };
    let (requests, trace) = (outcome.records, outcome.trace);
    Outcome::Ran(Box::new(Ran { seed, draft, verdict, requests, trace, again }))
}

/// How many repetitions break the same requirement, of how many that were made.
async fn repeated(
    first: &Verdict,
    scenario: &Arc<Scenario>,
    site: &Arc<TestCluster>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Option<(usize, usize)> {
    let (mut same, mut made) = (0, 0);
    for _ in 0..REPEATS {
        let Came::Ran(outcome) = real::play(site, scenario, plan, stop).await else { break };
        made += 1;
        same += usize::from(verdict(&outcome).is_like(first));
    }
    Some((same, made))
}
