//! Random walks through scopes instead of a search.

use std::time::{Duration, Instant};

use jobcheck_explorer::check::{Walked, Walking, walk};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

use super::args::CheckArgs;
use super::{itf, json, text, write};
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output;
use crate::parse::first_seed;
use crate::text::Text;

/// The walks through one scope.
struct Run<'a> {
    scope: &'a Scope,
    walked: Walked,
    elapsed: Duration,
}

/// Takes random walks, and prints the report. Walks prove nothing, so that the exit code is never 0.
pub fn run(scopes: &[Scope], walks: u64, args: &CheckArgs, global: &Global) -> Exit {
    let seed = first_seed(args.seed, global);
    let stop = Interrupt::listen().or_after(args.budget.map(|budget| Instant::now() + budget));
    let walking = Walking { walks, depth: args.depth, seed, stop };
    let mut runs = Vec::new();
    for scope in scopes {
        let begun = Instant::now();
        let walked = walk(scope, &walking);
        runs.push(Run { scope, walked, elapsed: begun.elapsed() });
    }
    let is_broken = runs.iter().any(|run| run.walked.found.is_some());
    let exit = if is_broken { Exit::Violates } else { Exit::Inconclusive };
    let rendered = args.output.render(|| table(&runs, &walking, global), || report(&runs, &walking, exit));
    let exit = output::print_report(rendered, args.output, exit);
    let found = runs.iter().filter_map(|run| Some((run.scope, run.walked.found.as_deref()?)));
    let found = found.map(|(scope, found)| super::counterexample(scope, found));
    if args.folder().is_some_and(|folder| !crate::save::save(folder, found)) {
        return Exit::Environment;
    }
    let first = runs.iter().find(|run| run.walked.found.is_some()).or(runs.first());
    match (&args.itf, first) {
        (Some(file), Some(run)) if !write(file, &trace(run, &walking)) => Exit::Environment,
        _ => exit,
    }
}

fn trace(run: &Run<'_>, walking: &Walking) -> String {
    match &run.walked.found {
        Some(found) => itf::render(run.scope, found.property, &found.path, found.cycle_start),
        None => {
            let title = format!("walk {} with seed {}", run.walked.walks, walking.seed);
            itf::render(run.scope, &title, &run.walked.last, None)
        }
    }
}

fn table(runs: &[Run<'_>], walking: &Walking, global: &Global) -> String {
    let mut out = Text::default();
    if !global.quiet {
        let _ = writeln!(
            out,
            "{:<36} {:>6} {:>8} {:>6} {:>8}  result",
            "scope", "walks", "steps", "ended", "steps/s"
        );
        for Run { scope, walked, elapsed } in runs {
            let result = match (&walked.found, walked.finished) {
                (Some(_), _) => "broken",
                (None, true) => "nothing",
                (None, false) => "cut",
            };
            let rate = walked.steps as f64 / elapsed.as_secs_f64().max(1e-6);
            let (walks, steps, ended) = (walked.walks, walked.steps, walked.ended);
            let _ =
                writeln!(out, "{:<36} {walks:>6} {steps:>8} {ended:>6} {rate:>8.0}  {result}", scope.name);
        }
    }
    for run in runs {
        if let Some(found) = &run.walked.found {
            text::counterexample(run.scope, found, &mut out);
        }
    }
    let reached = (0..PROPERTIES.len()).filter(|n| runs.iter().any(|run| run.walked.reached[*n])).count();
    let _ = writeln!(
        out,
        "seed {}, at most {} steps each: {reached} of {} properties were put to the test; nothing is proved",
        walking.seed,
        walking.depth,
        PROPERTIES.len()
    );
    out.finish()
}

/// The report for programs: docs/reference/schemas/walks.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WalksReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    seed: u64,
    depth: usize,
    scopes: Vec<ScopeReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeReport {
    scope: &'static str,
    walks: u64,
    steps: u64,
    ended: u64,
    finished: bool,
    seconds: f64,
    counterexample: Option<json::CounterexampleReport>,
}

fn report(runs: &[Run<'_>], walking: &Walking, exit: Exit) -> WalksReport {
    let scope = |Run { scope, walked, elapsed }: &Run<'_>| ScopeReport {
        scope: scope.name,
        walks: walked.walks,
        steps: walked.steps,
        ended: walked.ended,
        finished: walked.finished,
        seconds: elapsed.as_secs_f64(),
        counterexample: walked.found.as_ref().map(|found| json::counterexample(scope, found)),
    };
    WalksReport {
        api_version: API_VERSION,
        kind: "WalksReport",
        exit_code: exit.code(),
        seed: walking.seed,
        depth: walking.depth,
        scopes: runs.iter().map(scope).collect(),
    }
}
