//! How fast the explorer is: against TLC on the twin (`model/tla`), in one run, with the same states and steps.
//!
//! `cargo bench -p jobcheck-bench --bench against_tlc -- [--rounds N] [SCOPE...]`
//!
//! For one thread and for two, each scope is searched by TLC, by TLC without invariants, and by the explorer with all
//! of its properties, in turn; of several rounds the median is told. Each search is a process of its own. A run in
//! which the two do not find the same number of states, of steps, and the same depth measures nothing, and fails.
//! (Of TLC with several workers the depth is not compared: it is not exact then.)
//!
//! Java and Python are needed, as for `model/tla/compare`, which gets TLC. Nothing is written outside the directory
//! that cargo builds in.
//!
//! # Caveats
//!
//! A JVM compiles while it runs, which belongs to its searches; that it starts and parses is told apart. What TLC keeps
//! of a state is a fingerprint of 8 bytes in memory, and the states in its queue on disk; the explorer keeps the states.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example that reports")]

mod measure;
mod ours;
mod tlc;

use std::process::ExitCode;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;

use crate::measure::Measured;
use crate::tlc::{Invariants, Tlc};

/// Two of the largest scopes of the twin, and one that is larger.
const SCOPES: [&str; 3] = ["job-deletion", "crash-indexed", ENLARGED];

const ENLARGED: &str = "crash-indexed-twice";

const THREADS: [usize; 2] = [1, 2];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [ours::ONE, name, threads] => one(name, threads),
        ["--rounds", rounds, names @ ..] => match rounds.parse() {
            Ok(rounds) if rounds > 0 => all(rounds, names),
            _ => Err(format!("expected a number of rounds, found {rounds:?}")),
        },
        names => all(1, names),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// A scope that is in the twin, too.
fn scope(name: &str) -> Result<Scope, String> {
    if name == ENLARGED {
        let mut scope = scope("crash-indexed")?;
        (scope.name, scope.faults.crashes) = (ENLARGED, 2);
        return Ok(scope);
    }
    scopes::named(name).ok_or_else(|| format!("the twin has no scope {name}"))
}

fn one(name: &str, threads: &str) -> Result<(), String> {
    let threads = threads.parse().map_err(|_| format!("expected a number of threads, found {threads:?}"))?;
    println!("{}", ours::search(&scope(name)?, threads)?);
    Ok(())
}

fn all(rounds: usize, names: &[&str]) -> Result<(), String> {
    let tlc = Tlc::get()?;
    let names = if names.is_empty() { &SCOPES } else { names };
    names.iter().try_for_each(|name| scope(name).map(drop))?;
    println!(
        "{:<20} {:<20} {:>7} {:>8} {:>8} {:>6} {:>8} {:>8} {:>6} {:>7} {:>8} {:>7}",
        "scope",
        "search",
        "threads",
        "states",
        "steps",
        "start",
        "seconds",
        "states/s",
        "ratio",
        "B/state",
        "peak MB",
        "disk MB"
    );
    for threads in THREADS {
        for name in names {
            pair(&tlc, name, threads, rounds)?;
        }
    }
    println!();
    println!("start: seconds until the search begins; ratio: of its seconds, to TLC with as many threads");
    println!("B/state: what is kept of each state in memory (TLC: a fingerprint)");
    Ok(())
}

/// Measures one scope, all searches in turn.
fn pair(tlc: &Tlc, name: &str, threads: usize, rounds: usize) -> Result<(), String> {
    let mut runs: [Vec<Measured>; 3] = Default::default();
    for _ in 0..rounds {
        runs[0].push(tlc.search(name, threads, Invariants::Checked)?);
        runs[1].push(tlc.search(name, threads, Invariants::LeftOut)?);
        runs[2].push(ours::measure(name, threads)?);
    }
    let [base, bare, own] = runs.map(measure::median);
    let depth_is_exact = threads == 1;
    for other in [&base, &bare] {
        let same = (other.states, other.steps) == (own.states, own.steps);
        if !same || (depth_is_exact && other.depth != own.depth) {
            return Err(format!("{name}: TLC finds {other:?}, and the explorer {own:?}"));
        }
    }
    for (search, it) in [("TLC", &base), ("TLC, no invariants", &bare), ("ours", &own)] {
        println!("{name:<20} {search:<20} {threads:>7} {}", it.row(&base));
    }
    Ok(())
}
