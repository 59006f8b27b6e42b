//! Compares the explorer with TLC on the second specification (`model/tla`), in one run. Both must find the same states
//! and steps.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench against_tlc -- --rounds 3 --gate job-deletion
//! ```
//!
//! Each scope is searched in turn by TLC, by TLC without invariants, and by the explorer with all of its properties. Each
//! search is a process of its own. The table has the median of the rounds. If the explorer and TLC do not find the same
//! number of states and steps, and the same depth, the run fails. With several workers TLC's depth is not exact, and is
//! not compared.
//!
//! The benchmark needs Java and Python, as does `model/tla/compare`, which downloads TLC. It writes only to cargo's
//! target directory.
//!
//! # Caveats
//!
//! - The JVM compiles during the search, and that time is included. Its start is not included.
//! - TLC keeps a fingerprint of 8 bytes for each state in memory, and its queue on disk. The explorer keeps the states.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod explorer;
mod measure;
mod tlc;

use std::process::ExitCode;

use clap::Parser;
use jobcheck_bench::{Claims, Result, arguments, exit_code};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;

use crate::measure::Measured;
use crate::tlc::{Invariants, Tlc};

const NAME: &str = "against_tlc";

/// Two of the largest scopes of the second specification, and a larger one.
const SCOPES: [&str; 3] = ["job-deletion", "crash-indexed", ENLARGED];

const ENLARGED: &str = "crash-indexed-twice";

const THREADS: [usize; 2] = [1, 2];

/// Compares the explorer with TLC, on the same scopes.
#[derive(Debug, Parser)]
#[command(name = NAME, after_help = AFTER_HELP)]
struct Cli {
    /// Scopes to search. The default is three large ones.
    #[arg(value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Number of times that each scope is searched.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Fail if a ratio that the documentation claims does not hold.
    #[arg(long)]
    gate: bool,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  measured
  1  with --gate: a claim of the documentation does not hold
  2  wrong usage
  4  a measurement could not be made, or the results differ";

fn main() -> ExitCode {
    exit_code(NAME, run())
}

fn run() -> Result<()> {
    let arguments = arguments();
    if let [_, explorer::ONE, name, threads] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
    {
        println!("{}", explorer::search(&scope(name)?, threads.parse()?)?);
        return Ok(());
    }
    let cli = Cli::parse_from(arguments);
    let mut claims = Claims::default();
    compare_all(&cli, &mut claims)?;
    println!("\n{}", claims.table());
    Ok(claims.verdict(cli.gate)?)
}

/// The scope with this name.
fn scope(name: &str) -> Result<Scope> {
    if name == ENLARGED {
        let mut scope = scope("crash-indexed")?;
        (scope.name, scope.faults.crashes) = (ENLARGED, 2);
        return Ok(scope);
    }
    scopes::named(name).ok_or_else(|| format!("the second specification has no scope {name}").into())
}

fn compare_all(cli: &Cli, claims: &mut Claims) -> Result<()> {
    let tlc = Tlc::find()?;
    let names: Vec<&str> =
        if cli.scopes.is_empty() { SCOPES.to_vec() } else { cli.scopes.iter().map(String::as_str).collect() };
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
        for name in &names {
            compare(&tlc, name, threads, cli.rounds, claims)?;
        }
    }
    println!();
    println!(
        "start: seconds until the search begins; ratio: TLC's seconds to those of the search, with as many threads"
    );
    println!("B/state: bytes in memory per state (TLC: a fingerprint)");
    Ok(())
}

/// Measures one scope.
fn compare(tlc: &Tlc, name: &str, threads: usize, rounds: u64, claims: &mut Claims) -> Result<()> {
    let mut runs: [Vec<Measured>; 3] = Default::default();
    for _ in 0..rounds {
        runs[0].push(tlc.search(name, threads, Invariants::Checked)?);
        runs[1].push(tlc.search(name, threads, Invariants::Omitted)?);
        runs[2].push(explorer::measure(name, threads)?);
    }
    let [base, without, explorer] = runs.map(measure::median);
    let depth_is_exact = threads == 1;
    for other in [&base, &without] {
        let same = (other.states, other.steps) == (explorer.states, explorer.steps);
        if !same || (depth_is_exact && other.depth != explorer.depth) {
            return Err(format!("{name}: TLC finds {other:?}, and the explorer {explorer:?}").into());
        }
    }
    for (search, it) in [("TLC", &base), ("TLC, no invariants", &without), ("explorer", &explorer)] {
        println!("{name:<20} {search:<20} {threads:>7} {}", it.row(&base));
    }
    let case = format!("{name}, {threads} threads");
    let ratio = base.seconds / explorer.seconds;
    claims.at_least("docs/results/speed.md", format!("{case}: the explorer's speed to TLC's"), ratio, 10.0);
    let bytes = explorer.bytes as f64 / explorer.states.max(1) as f64;
    claims.at_most("docs/results/speed.md", format!("{case}: bytes per state"), bytes, 57.0);
    Ok(())
}
