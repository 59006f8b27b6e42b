//! Measures speed and peak memory of the judge, on traces of two sizes.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench replay_speed -- --gate
//! ```
//!
//! The audit log is made of copies of the recordings of the corpus. Each copy has names, UIDs, versions, and times of its
//! own. The native trace has the same events. Both are judged, and both at a tenth of the size. Each measurement is a
//! process of its own, so that its peak memory is its own.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use jobcheck_bench::{Claims, Result, arguments, cpu_seconds, exit_code, peak_memory};
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::validate::{Options, Reported, Validator};
use jobcheck_traces::{Body, Header, Input, Reader, Writer};

mod synthetic;

const NAME: &str = "replay_speed";

/// The seconds by which the times of each copy differ from those of the one before.
const COPY_SECONDS: i64 = 600;
/// The same for resource versions.
const COPY_VERSIONS: u64 = 10_000;
/// The numbers of finished Jobs between which the memory of one is measured.
const FINISHED: [usize; 2] = [8_000, 24_000];
/// The pods of a Job whose controller sends a wrong write.
const PODS: usize = 5_000;

/// Measures speed and peak memory of the judge.
#[derive(Debug, Parser)]
#[command(name = NAME, after_help = AFTER_HELP)]
struct Cli {
    /// Size of the audit log in MB.
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..))]
    megabytes: u64,
    /// Number of events in the native trace.
    #[arg(default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(10..))]
    events: u64,
    /// Fail if the cost is not linear, as the documentation claims.
    #[arg(long)]
    gate: bool,
    /// Write the traces into this folder, and keep them.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Judge so many finished Jobs as well. A million take some five minutes.
    #[arg(long, value_name = "NUMBER")]
    finished: Option<usize>,
    /// Judge this trace, and print its figures; - is standard input.
    #[arg(long, value_name = "TRACE", hide = true)]
    measure: Option<PathBuf>,
    /// The trace violates a requirement.
    #[arg(long, hide = true)]
    violates: bool,
}

/// The figures of a measurement.
struct Figures {
    /// Events per second.
    rate: f64,
    seconds: f64,
    /// Peak memory.
    megabytes: f64,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  measured
  1  with --gate: a claim of the documentation does not hold
  2  wrong usage
  4  a measurement could not be made";

fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments());
    let result = match &cli.measure {
        Some(path) => measure(path, cli.violates),
        None => run(&cli),
    };
    exit_code(NAME, result)
}

fn run(cli: &Cli) -> Result<()> {
    let temporary = tempfile::Builder::new().prefix("jobcheck-replay-speed-").tempdir()?;
    let folder = cli.keep.as_deref().unwrap_or(temporary.path());
    let [audit, requests, native, wrong] =
        ["audit.jsonl", "requests.jsonl", "native.jsonl", "wrong.jsonl"].map(|name| folder.join(name));
    println!("| trace | events/s | size | events | Jobs | seconds | MB/s | peak memory |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut rates = [[0.0; 2]; 2];
    for (at, size) in [cli.megabytes / 10, cli.megabytes].into_iter().enumerate() {
        generate(&audit, |bytes, _| bytes < size * 1_000_000)?;
        rates[0][at] = measure_in_child("audit log", &audit, false)?.rate;
    }
    for (at, count) in [cli.events / 10, cli.events].into_iter().enumerate() {
        generate(&requests, |_, lines| lines < count)?;
        convert(&requests, &native)?;
        fs::remove_file(&requests)?;
        rates[1][at] = measure_in_child("native", &native, false)?.rate;
    }
    let mut memory = [0.0; 2];
    for (at, count) in FINISHED.into_iter().enumerate() {
        memory[at] = measure_finished(count)?.megabytes;
    }
    let gigabytes = cli.finished.map(measure_finished).transpose()?.map(|figures| figures.megabytes / 1000.0);
    let alone = seconds_on(&native, 1);
    let several = seconds_on(&native, available_parallelism().map_or(1, NonZero::get));
    synthetic::wrong_write(&wrong, PODS)?;
    let seconds = measure_in_child("one wrong write", &wrong, true)?.seconds;
    let mut claims = Claims::default();
    for (name, [small, large]) in ["audit log", "native"].into_iter().zip(rates) {
        // Noise and the start of the process are less than a factor of two. A quadratic cost is a factor of ten.
        let text = format!("{name}: linear cost, events per second at ten times the size");
        claims.at_least("docs/results/speed.md", text, large / small, 0.5);
    }
    let kilobytes = (memory[1] - memory[0]) * 1000.0 / (FINISHED[1] - FINISHED[0]) as f64;
    claims.at_most("docs/results/speed.md", "KB for each finished Job", kilobytes, 2.0);
    if let (Some(gigabytes), Some(1_000_000)) = (gigabytes, cli.finished) {
        claims.at_most("docs/results/speed.md", "GB for a million finished Jobs", gigabytes, 2.0);
    }
    let text = format!("CPU seconds for a wrong write of a Job with {PODS} pods, and what precedes it");
    claims.at_most("docs/results/speed.md", text, seconds, 5.0);
    println!("\nThe native trace on one thread: {alone:.1} s; on one for each processor: {several:.1} s.");
    println!("\n{}", claims.table());
    Ok(claims.verdict(cli.gate)?)
}

/// Writes copies of the recordings while `is_wanted(bytes, lines)`.
fn generate(path: &Path, is_wanted: impl Fn(u64, u64) -> bool) -> Result<()> {
    let recordings = recordings()?;
    let mut out = BufWriter::new(File::create(path)?);
    let (mut bytes, mut lines, mut copy) = (0u64, 0u64, 0u64);
    while is_wanted(bytes, lines) {
        for text in &recordings {
            for line in text.lines() {
                let line = shift_line(line, copy);
                writeln!(out, "{line}")?;
                bytes += line.len() as u64 + 1;
                lines += 1;
            }
        }
        copy += 1;
    }
    Ok(out.flush()?)
}

fn recordings() -> Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/corpus/recordings");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|it| it.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".audit.jsonl"));
    paths.sort();
    paths.iter().map(|path| Ok(fs::read_to_string(path)?)).collect()
}

/// The line in the copy with this number.
fn shift_line(line: &str, copy: u64) -> String {
    const NAMESPACE: &str = "\"namespace\":\"";
    let namespace = line.split(NAMESPACE).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let line = line.replace(namespace, &format!("c{copy}-{namespace}"));
    let line = replace_each(&line, "\"resourceVersion\":\"", |digits| {
        digits.parse::<u64>().map_or_else(|_| digits.to_owned(), |it| (it + copy * COPY_VERSIONS).to_string())
    });
    let line = shift_uids(&line, copy);
    shift_times(&line, copy)
}

/// Changes each text between `before` and the next quotation mark.
fn replace_each(line: &str, before: &str, change: impl Fn(&str) -> String) -> String {
    let mut parts = line.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (value, rest) = part.split_once('"').unwrap_or((part, ""));
        out.push_str(before);
        out.push_str(&change(value));
        out.push('"');
        out.push_str(rest);
    }
    out
}

/// Adds the number of the copy to the last group of each UUID.
fn shift_uids(line: &str, copy: u64) -> String {
    let bytes = line.as_bytes();
    let mut out = line.as_bytes().to_vec();
    let dashes = [8, 13, 18, 23];
    let mut at = 0;
    while at + 36 <= bytes.len() {
        let is_uuid = dashes.iter().all(|dash| bytes[at + dash] == b'-')
            && bytes[at..at + 36]
                .iter()
                .enumerate()
                .all(|(i, b)| dashes.contains(&i) || b.is_ascii_hexdigit());
        if is_uuid {
            let last = u64::from_str_radix(&line[at + 24..at + 36], 16).unwrap_or(0);
            let shifted = format!("{:012x}", last.wrapping_add(copy.wrapping_mul(7919)) & 0xffff_ffff_ffff);
            out[at + 24..at + 36].copy_from_slice(shifted.as_bytes());
            at += 36;
        } else {
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Shifts times by whole minutes. The recordings are of one day.
fn shift_times(line: &str, copy: u64) -> String {
    let Ok(copy) = i64::try_from(copy) else { return line.to_owned() };
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\"2026-") {
        let stamp = &rest[at + 1..];
        let Some((hour, minute)) = stamp.get(11..13).zip(stamp.get(14..16)) else { break };
        let (Ok(hour), Ok(minute)) = (hour.parse::<i64>(), minute.parse::<i64>()) else { break };
        let minutes = hour * 60 + minute + copy * COPY_SECONDS / 60;
        let day = jobcheck_spec::Time((20_400 + minutes / 1440) * 86_400).to_string();
        out.push_str(&rest[..=at]);
        out.push_str(&format!("{}T{:02}:{:02}", &day[..10], minutes % 1440 / 60, minutes % 60));
        rest = &stamp[16..];
    }
    out.push_str(rest);
    out
}

/// Writes the same events in the native format.
fn convert(from: &Path, to: &Path) -> Result<()> {
    let mut reader = Reader::open(&[Input::Path(from.to_owned())]);
    let header = Header { kubernetes: Some("1.36".to_owned()), ..Header::default() };
    let mut writer = Writer::new(BufWriter::new(File::create(to)?), &header)?;
    while let Some(record) = reader.next()? {
        if let Body::Request(_) = record.body {
            writer.write(&record.body)?;
        }
    }
    writer.finish()?.flush()?;
    Ok(())
}

/// The seconds in which a trace is judged on so many threads.
fn seconds_on(path: &Path, threads: usize) -> f64 {
    let judging = Judging { threads: NonZero::new(threads), ..Judging::default() };
    let start = Instant::now();
    judge(&[vec![Input::Path(path.to_owned())]], &judging, &mut |_, _| {});
    start.elapsed().as_secs_f64()
}

/// Judges a trace in a process of its own.
fn measure_in_child(name: &str, path: &Path, violates: bool) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--measure").arg(path);
    if violates {
        command.arg("--violates");
    }
    figures(name, &command.output()?)
}

/// Judges Jobs that finish, in a process of its own which reads them from a pipe.
fn measure_finished(count: usize) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--measure", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let pipe = child.stdin.take().ok_or("the process has no standard input")?;
    synthetic::finished_jobs(pipe, count)?;
    figures("finished Jobs", &child.wait_with_output()?)
}

/// The figures that a process has printed.
fn figures(name: &str, output: &Output) -> Result<Figures> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let row = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("| {name} | {row}");
    let column = |at: usize| row.split('|').nth(at)?.split_whitespace().next()?.parse().ok();
    match (column(0), column(4), column(6)) {
        (Some(rate), Some(seconds), Some(megabytes)) => Ok(Figures { rate, seconds, megabytes }),
        _ => Err(format!("expected a row of figures, found {row:?}").into()),
    }
}

fn measure(path: &Path, violates: bool) -> Result<()> {
    let start = Instant::now();
    let input = if path == Path::new("-") { Input::Stdin } else { Input::Path(path.to_owned()) };
    let mut reader = Reader::open(&[input]);
    let reported = Reported { keeps_story: false, ..Reported::default() };
    let mut validator = Validator::new(Options { reported, ..Options::default() });
    while let Some(record) = reader.next()? {
        validator.feed(&record).map_err(|error| error.problem)?;
    }
    let summary = validator.finish();
    let size = reader.progress().0 as f64 / 1e6;
    // Other work on the machine does not count.
    let seconds = cpu_seconds(std::process::id()).unwrap_or_else(|| start.elapsed().as_secs_f64());
    let violation = summary.jobs.iter().find_map(|job| job.violations.first());
    if violates && violation.is_none() {
        return Err("the trace violates nothing".into());
    }
    if let Some(violation) = violation.filter(|_| !violates) {
        let place = violation.place.line;
        return Err(
            format!("line {place} of a copy violates {}: {}", violation.req(), violation.write).into()
        );
    }
    println!(
        "{:.0} | {size:.0} MB | {} | {} | {seconds:.1} | {:.0} | {} |",
        summary.events as f64 / seconds,
        summary.events,
        summary.jobs.len(),
        size / seconds,
        peak_memory(std::process::id())
            .map_or("-".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6)),
    );
    Ok(())
}
