//! Compares the shipped controllers with those of kube-controller-manager, on one real control plane in one run.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench side_by_side -- --pods 100,1000 --gate
//! cargo bench -p jobcheck-bench --bench side_by_side -- --scale rate,beside,completions
//! ```
//!
//! The controllers are started in turn, each in a process of its own. Each gets an Indexed Job. This process plays the
//! kubelet, which terminates pods as soon as they exist. The results are in `docs/results/side-by-side.md`, and those of family SC in `docs/results/scale.md`. The first
//! run needs Go.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod bench;
mod controller;
mod kubelet;
mod measure;
mod plot;
mod report;
mod requests;
mod scale;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jobcheck_bench::{Result, arguments, controller::run_child, exit_code};

use crate::bench::Bench;
use crate::controller::Controllers;
use crate::measure::{Case, PodResult};
use crate::report::Report;
use crate::scale::{ScaleCase, ScaleReport};

const NAME: &str = "side_by_side";

/// Compares the shipped controllers with those of kube-controller-manager, on one real control plane.
#[derive(Debug, Parser)]
#[command(name = NAME, after_help = AFTER_HELP)]
struct Cli {
    /// Numbers of pods of Jobs whose pods succeed.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "100,1000,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pods: Vec<u32>,
    /// Limits of requests per second; 0 is no limit.
    #[arg(long, value_name = "QPS,...", value_delimiter = ',', default_value = "0,100")]
    qps: Vec<u32>,
    /// Numbers of pods of Jobs whose pods fail.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    failing: Vec<u32>,
    /// Number of times that each case is measured. Medians are reported.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Measure these cases of family SC, once, instead of those above.
    #[arg(long, value_enum, value_name = "CASE,...", value_delimiter = ',')]
    scale: Vec<ScaleCase>,
    /// Seconds of the measurement at each rate, in `--scale rate`.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    window: u64,
    /// Write side-by-side.json and side-by-side.svg to this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Fail if a ratio that the documentation claims does not hold.
    #[arg(long)]
    gate: bool,
}

const AFTER_HELP: &str = "\
The tables are written to standard output. The control plane and the controllers end with this process.

Exit codes:
  0  measured
  1  with --gate: a claim of the documentation does not hold
  2  wrong usage
  4  a measurement could not be made, or a file could not be written";

impl Cli {
    fn cases(&self) -> Vec<Case> {
        let of = |qps: u32, sizes: &[u32], pod_result: PodResult| -> Vec<Case> {
            sizes.iter().map(|pods| Case { pods: *pods, qps, pod_result }).collect()
        };
        let all = self.qps.iter().flat_map(|qps| {
            [of(*qps, &self.pods, PodResult::Succeed), of(*qps, &self.failing, PodResult::Fail)].concat()
        });
        all.collect()
    }
}

fn main() -> ExitCode {
    exit_code(NAME, run_child().unwrap_or_else(run))
}

fn run() -> Result<()> {
    let cli = Cli::parse_from(arguments());
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure_all(&cli))
}

async fn measure_all(cli: &Cli) -> Result<()> {
    let mut bench = Bench::start().await?;
    if !cli.scale.is_empty() {
        return measure_scale(cli, bench).await;
    }
    let mut report = Report::default();
    for case in cli.cases() {
        for round in 0..cli.rounds {
            let mut order = [Controllers::Shipped, Controllers::BuiltIn];
            // Each is first in half of the rounds.
            order.rotate_left(round as usize % 2);
            for controllers in order {
                let figures = bench.measure(controllers, case).await?;
                report.add(controllers, case, figures);
            }
        }
    }
    bench.stop()?;
    let claims = report.claims();
    println!("{}\n{}", report.table(), claims.table());
    if let Some(folder) = &cli.save {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("side-by-side.json"), report.json()? + "\n")?;
        std::fs::write(folder.join("side-by-side.svg"), plot::svg(&report))?;
    }
    Ok(claims.verdict(cli.gate)?)
}

async fn measure_scale(cli: &Cli, mut bench: Bench) -> Result<()> {
    let mut report = ScaleReport::default();
    for case in &cli.scale {
        for controllers in [Controllers::Shipped, Controllers::BuiltIn] {
            case.measure(&mut bench, controllers, cli.window, &mut report).await?;
        }
    }
    bench.stop()?;
    let claims = report.claims();
    println!("{}\n{}", report.table(), claims.table());
    Ok(claims.verdict(cli.gate)?)
}
