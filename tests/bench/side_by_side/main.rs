//! The shipped controllers beside those of kube-controller-manager, on one real control plane in one run.
//!
//! ```text
//! cargo run --release -p jobcheck-live --example side_by_side -- --pods 100,1000
//! ```
//!
//! In turn, each is started as a process of its own, gets an Indexed Job, and is ended; this process plays the kubelet, which
//! ends pods as fast as they appear. What was measured is in `docs/results/side-by-side.md`. Needs Go, once.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod bench;
mod controller;
mod kubelet;
mod measure;
mod plot;
mod report;
mod requests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::bench::Bench;
use crate::controller::Who;
use crate::measure::{Case, Fate};
use crate::report::Report;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures the shipped controllers beside those of kube-controller-manager, on one real control plane.
#[derive(Debug, Parser)]
#[command(after_help = AFTER_HELP)]
struct Cli {
    /// Pods of a Job.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "100,1000,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pods: Vec<u32>,
    /// Requests a second that a controller may send; 0 for no limit.
    #[arg(long, value_name = "QPS,...", value_delimiter = ',', default_value = "0,100")]
    qps: Vec<u32>,
    /// Pods of a Job of which each fails.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    failing: Vec<u32>,
    /// Times that each measurement is made; the medians are reported.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Write side-by-side.json and side-by-side.svg to this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
The table goes to standard output. Nothing is left behind: the control plane and the controllers end with this process.

Exit codes:
  0  measured
  2  wrong usage
  4  a measurement could not be made, or a file not be written (the message says why)";

impl Cli {
    fn cases(&self) -> Vec<Case> {
        let of = |qps: u32, sizes: &[u32], fate: Fate| -> Vec<Case> {
            sizes.iter().map(|pods| Case { pods: *pods, qps, fate }).collect()
        };
        let all = self.qps.iter().flat_map(|qps| {
            [of(*qps, &self.pods, Fate::Succeed), of(*qps, &self.failing, Fate::Fail)].concat()
        });
        all.collect()
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == controller::WORD) {
        return ended(controller::run(&words[1..]));
    }
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ended(Err(error.into())),
    };
    ended(runtime.block_on(measure_all(&cli)))
}

fn ended(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("side_by_side: {error}");
            ExitCode::from(4)
        }
    }
}

async fn measure_all(cli: &Cli) -> Result<()> {
    let mut bench = Bench::start().await?;
    let mut report = Report::default();
    for case in cli.cases() {
        for round in 0..cli.rounds {
            // Each is first as often as the other.
            let turns = if round % 2 == 0 { [Who::Ours, Who::BuiltIn] } else { [Who::BuiltIn, Who::Ours] };
            for who in turns {
                let figures = bench.measure(who, case).await?;
                report.take(who, case, figures);
            }
        }
    }
    bench.stop()?;
    println!("{}", report.table());
    if let Some(folder) = &cli.save {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("side-by-side.json"), report.json()? + "\n")?;
        std::fs::write(folder.join("side-by-side.svg"), plot::svg(&report))?;
    }
    Ok(())
}
