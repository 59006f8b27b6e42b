//! Compares the explorer's search with stateright's, breadth first and depth first, on the same models in one run.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench explore_speed -- --gate
//! ```
//!
//! Two-phase commit measures the search alone. The scopes of the specification measure its guards, too. The ratio is
//! that of stateright's breadth-first search to each search, with as many threads.
//!
//! # Caveats
//!
//! stateright checks fewer properties than the explorer: no premises, no deadlocks, no coverage.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod specification;
mod two_phase;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use jobcheck_bench::{Claims, Result, arguments, exit_code};
use jobcheck_explorer::check::{Bounds, explore};
use jobcheck_explorer::engine::{Limits, explore as search};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use stateright::{Checker, Model};

use crate::specification::Specification;
use crate::two_phase::TwoPhase;

const NAME: &str = "explore_speed";

/// Scopes whose search takes long enough to be measured.
const SCOPES: [&str; 6] = [
    "elastic",
    "replace-terminating",
    "replace-failed-indexes",
    "backoff-delay",
    "job-deletion",
    "stale-pods",
];

/// Compares the explorer's search with stateright's, on the same models.
#[derive(Debug, Parser)]
#[command(name = NAME, after_help = AFTER_HELP)]
struct Cli {
    /// Scopes to search. The default is two-phase commit and six scopes.
    #[arg(value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Fail if a ratio that the documentation claims does not hold. Scopes that are not named are left out.
    #[arg(long)]
    gate: bool,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  measured
  1  with --gate: a claim of the documentation does not hold
  2  wrong usage
  4  there is no such scope";

fn main() -> ExitCode {
    exit_code(NAME, run(&Cli::parse_from(arguments())))
}

fn run(cli: &Cli) -> Result<()> {
    let default: &[&str] = if cli.gate { &[] } else { &SCOPES };
    let names = cli.scopes.iter().map(String::as_str);
    let names: Vec<&str> = if cli.scopes.is_empty() { default.to_vec() } else { names.collect() };
    let chosen =
        names.iter().map(|name| scopes::named(name).ok_or_else(|| format!("no scope {name}").into()));
    let chosen: Vec<Scope> = chosen.collect::<Result<_>>()?;
    println!(
        "{:<24} {:<18} {:>7} {:>9} {:>9} {:>10} {:>6} {:>7}",
        "model", "search", "threads", "states", "seconds", "states/s", "ratio", "B/state"
    );
    let mut claims = Claims::default();
    for threads in [1, 2] {
        if cli.scopes.is_empty() {
            two_phase(7, threads);
            let ratio = two_phase(8, threads);
            if threads == 1 {
                let text = "two-phase commit 8, one thread: the explorer's speed to stateright's";
                claims.at_least("docs/results/speed.md", text, ratio, 2.5);
            }
        }
        for scope in &chosen {
            search_scope(scope, threads);
        }
    }
    println!("\n{}", claims.table());
    Ok(claims.verdict(cli.gate)?)
}

/// The cost of a search.
struct Timed {
    states: usize,
    seconds: f64,
    bytes: Option<usize>,
}

fn timed(search: impl FnOnce() -> (usize, Option<usize>)) -> Timed {
    let start = Instant::now();
    let (states, bytes) = search();
    Timed { states, seconds: start.elapsed().as_secs_f64(), bytes }
}

fn print(model: &str, threads: usize, lines: &[(&str, Timed)]) {
    let base = &lines[0].1;
    for (search, it) in lines {
        let bytes = it.bytes.map_or("-".to_owned(), |bytes| (bytes / it.states.max(1)).to_string());
        println!(
            "{model:<24} {search:<18} {threads:>7} {:>9} {:>9.2} {:>10.0} {:>6.2} {bytes:>7}",
            it.states,
            it.seconds,
            it.states as f64 / it.seconds,
            base.seconds / it.seconds
        );
    }
}

/// Returns the ratio of the explorer's speed to stateright's.
fn two_phase(managers: u8, threads: usize) -> f64 {
    let model = TwoPhase(managers);
    let lines = [
        (
            "stateright BFS",
            timed(|| (model.checker().threads(threads).spawn_bfs().join().unique_state_count(), None)),
        ),
        (
            "stateright DFS",
            timed(|| (model.checker().threads(threads).spawn_dfs().join().unique_state_count(), None)),
        ),
        (
            "ours",
            timed(|| {
                let run = search(&model, &Limits::none(threads));
                (run.store.len(), Some(run.store.bytes()))
            }),
        ),
    ];
    print(&format!("two-phase commit {managers}"), threads, &lines);
    lines[0].1.seconds / lines[2].1.seconds
}

fn search_scope(scope: &Scope, threads: usize) {
    let model = || Specification(scope.clone()).checker().threads(threads);
    let explorer = |symmetry: bool| {
        let found = explore(scope, &Bounds { symmetry, ..Bounds::none(threads) });
        (found.states, Some(found.bytes))
    };
    let lines = [
        ("stateright BFS", timed(|| (model().spawn_bfs().join().unique_state_count(), None))),
        ("stateright DFS", timed(|| (model().spawn_dfs().join().unique_state_count(), None))),
        ("explorer", timed(|| explorer(false))),
        ("explorer, symmetry", timed(|| explorer(true))),
    ];
    print(scope.name, threads, &lines);
}
