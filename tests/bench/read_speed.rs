//! Measures how fast traces are read.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench read_speed -- 20 FILE...
//! ```
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use jobcheck_bench::{Result, arguments, exit_code};
use jobcheck_traces::{Input, Reader};

const NAME: &str = "read_speed";

/// Measures how fast traces are read.
#[derive(Debug, Parser)]
#[command(name = NAME)]
struct Cli {
    /// Number of times that the files are read.
    #[arg(value_name = "ROUNDS")]
    rounds: u32,
    /// Traces; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

fn main() -> ExitCode {
    exit_code(NAME, measure(&Cli::parse_from(arguments())))
}

fn measure(cli: &Cli) -> Result<()> {
    let inputs: Vec<Input> = cli.files.iter().map(|name| Input::from_argument(name)).collect();
    let start = Instant::now();
    let (mut bytes, mut lines, mut records) = (0, 0, 0);
    for _ in 0..cli.rounds {
        let mut reader = Reader::open(&inputs);
        while reader.next()?.is_some() {}
        for file in reader.files() {
            (bytes, lines, records) = (bytes + file.bytes, lines + file.lines, records + file.records);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = |count: u64| count as f64 / seconds;
    let (megabytes, lines_per_second) = (rate(bytes) / 1e6, rate(lines));
    println!("{megabytes:.0} MB/s, {lines_per_second:.0} lines/s");
    println!("({bytes} bytes, {lines} lines, {records} records, {seconds:.2} s)");
    Ok(())
}
