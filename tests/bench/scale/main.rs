//! Measures the cost of the shipped controllers at scale (family SC), on the embedded API server.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench scale -- calls growth --gate
//! ```
//!
//! This process serves the API and plays the kubelet. The controllers run in a child process, so that CPU and memory
//! are theirs alone. Each measurement has a server and a child process of its own, and is compared with the aims of
//! family SC. The results are in `docs/results/scale.md`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod bench;
mod cases;
mod controller;
mod jobs;
mod kubelet;
mod observer;
mod report;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use jobcheck_bench::{Result, arguments, controller::run_child, exit_code};

use crate::cases::{Case, Sizes};
use crate::report::Report;

const NAME: &str = "scale";

/// Measures the cost of the shipped controllers, on the embedded API server.
#[derive(Debug, Parser)]
#[command(name = NAME, after_help = AFTER_HELP)]
struct Cli {
    /// Cases to measure. The default is all.
    #[arg(value_enum, value_name = "CASE")]
    cases: Vec<Case>,
    /// Minimum number of pods of a Job, in the cases `calls` and `per-index`.
    #[arg(long, value_name = "N", default_value_t = 10)]
    least: u32,
    /// Maximum number of pods of a Job. A smaller one gives first figures in a minute.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    most: u32,
    /// Seconds of a measurement in the case `qps`, at each rate.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    window: u64,
    /// Format of the result on standard output.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Fail if an aim is missed that is met according to the documentation.
    #[arg(long)]
    gate: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Tables in Markdown.
    Table,
    /// One JSON object.
    Json,
}

const AFTER_HELP: &str = "\
All cases take about twenty minutes on two cores. The child processes end with this process.

Exit codes:
  0  measured
  1  with --gate: a claim of the documentation does not hold
  2  wrong usage
  4  a measurement could not be made";

fn main() -> ExitCode {
    exit_code(NAME, run_child().unwrap_or_else(run))
}

fn run() -> Result<()> {
    let cli = Cli::parse_from(arguments());
    let mut report = Report::default();
    let measured = measure(&cli, &mut report);
    let claims = report.claims();
    match cli.output {
        Output::Table => println!("{}\n{}", report.table(), claims.table()),
        Output::Json => println!("{:#}", serde_json::json!(report)),
    }
    measured?;
    Ok(claims.verdict(cli.gate)?)
}

fn measure(cli: &Cli, report: &mut Report) -> Result<()> {
    let all = Case::value_variants();
    for case in if cli.cases.is_empty() { all } else { &cli.cases } {
        eprintln!("{case:?}");
        case.measure(&Sizes { least: cli.least, most: cli.most, window: cli.window }, report)?;
    }
    Ok(())
}
