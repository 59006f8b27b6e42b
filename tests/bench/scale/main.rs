//! What the shipped controllers cost at scale (family SC), on the embedded API server.
//!
//! ```text
//! cargo run --release -p jobcheck-sim --example scale -- calls growth
//! ```
//!
//! This process serves the API and plays the kubelet; the controllers run in a child, so that CPU and memory are
//! theirs alone. Every measurement has a server and a child of its own. What was measured is in
//! `docs/results/scale.md`.
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

use crate::cases::Case;
use crate::report::Report;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures what the shipped controllers cost, on the embedded API server.
#[derive(Debug, Parser)]
#[command(after_help = AFTER_HELP)]
struct Cli {
    /// What to measure; all of it unless named.
    #[arg(value_enum, value_name = "CASE")]
    cases: Vec<Case>,
    /// Fewest pods of a Job, in the cases `calls` and `per-index`: leaves their smaller sizes out.
    #[arg(long, value_name = "N", default_value_t = 10)]
    least: u32,
    /// Most pods of a Job: smaller sizes give a first look in a minute.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    most: u32,
    /// Seconds that the case `qps` measures, at each rate.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    window: u64,
    /// Form of the result, on standard output.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Tables in Markdown.
    Table,
    /// One JSON object.
    Json,
}

const AFTER_HELP: &str = "\
All of it takes some twenty minutes on two cores. Nothing is left behind: the child ends with this process.

Exit codes:
  0  measured; whether an aim is met is in the table, and is no error
  2  wrong usage
  4  a measurement could not be made (the message says why)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == controller::WORD) {
        return ended(controller::run(&words[1..]));
    }
    let cli = Cli::parse();
    let mut report = Report::default();
    let measured = measure(&cli, &mut report);
    match cli.output {
        Output::Table => println!("{}", report.table()),
        Output::Json => println!("{:#}", serde_json::json!(report)),
    }
    ended(measured)
}

fn ended(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::from(4)
        }
    }
}

fn measure(cli: &Cli, report: &mut Report) -> Result<()> {
    let all = Case::value_variants();
    for case in if cli.cases.is_empty() { all } else { &cli.cases } {
        eprintln!("{case:?}");
        case.measure(&cases::Sizes { least: cli.least, most: cli.most, window: cli.window }, report)?;
    }
    Ok(())
}
