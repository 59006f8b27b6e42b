//! Measures how fast traces are read: `cargo run --release -p jobcheck-traces --example read_speed -- 20 FILE..`

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use jobcheck_traces::{Input, Reader};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let rounds: Option<u32> = arguments.next().and_then(|count| count.parse().ok());
    let inputs: Vec<Input> = arguments.map(|name| Input::from_argument(&name)).collect();
    let (Some(rounds), false) = (rounds, inputs.is_empty()) else {
        eprintln!("usage: read_speed ROUNDS FILE..");
        return ExitCode::from(2);
    };
    match measure(rounds, &inputs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measure(rounds: u32, inputs: &[Input]) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let (mut bytes, mut lines, mut records) = (0, 0, 0);
    for _ in 0..rounds {
        let mut reader = Reader::open(inputs);
        while reader.next()?.is_some() {}
        for file in reader.files() {
            (bytes, lines, records) = (bytes + file.bytes, lines + file.lines, records + file.records);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = |count: u64| count as f64 / seconds;
    writeln!(
        std::io::stdout(),
        "{:.0} MB/s, {:.0} lines/s ({bytes} bytes, {lines} lines, {records} records, {seconds:.2} s)",
        rate(bytes) / 1e6,
        rate(lines)
    )?;
    Ok(())
}
