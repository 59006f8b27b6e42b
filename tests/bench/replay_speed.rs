//! Throughput and peak memory of validation: `cargo bench -p jobcheck-bench --bench replay_speed`.
//!
//! Generates an audit log of many namespaces from the recordings of the corpus (each copy with names, UIDs,
//! versions, and times of its own) and a native trace with the same events, replays both, and both at a tenth
//! of the size. Every measurement is a process of its own, so that its peak memory is its own.
//!
//! Arguments: `[MEGABYTES [EVENTS]]`, 1000 and 1000000 unless given.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use jobcheck_judge::validate::{Options, Validator};
use jobcheck_traces::{Body, Header, Input, Reader, Writer};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What each copy of the recordings is moved by.
const COPY_SECONDS: i64 = 600;
const COPY_VERSIONS: u64 = 10_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(path) = arguments.get(1).filter(|_| arguments[0] == "--measure") {
        return measure(Path::new(path));
    }
    let number =
        |at: usize, default: u64| arguments.get(at).and_then(|it| it.parse().ok()).unwrap_or(default);
    let (megabytes, events) = (number(0, 1000), number(1, 1_000_000));
    let folder = std::env::temp_dir().join(format!("jobcheck-replay-speed-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = run(&folder, megabytes, events);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn run(folder: &Path, megabytes: u64, events: u64) -> Result<()> {
    println!("| trace | size | events | Jobs | seconds | MB/s | events/s | peak memory |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for size in [megabytes / 10, megabytes] {
        let path = folder.join("audit.jsonl");
        generate(&path, |bytes, _| bytes < size * 1_000_000)?;
        measure_apart("audit log", &path)?;
    }
    for count in [events / 10, events] {
        let (audit, native) = (folder.join("audit.jsonl"), folder.join("native.jsonl"));
        generate(&audit, |_, lines| lines < count)?;
        convert(&audit, &native)?;
        measure_apart("native", &native)?;
    }
    Ok(())
}

/// Writes copies of the recordings for as long as `wanted(bytes, lines)`.
fn generate(path: &Path, wanted: impl Fn(u64, u64) -> bool) -> Result<()> {
    let recordings = recordings()?;
    let mut out = BufWriter::new(File::create(path)?);
    let (mut bytes, mut lines, mut copy) = (0u64, 0u64, 0u64);
    while wanted(bytes, lines) {
        for text in &recordings {
            for line in text.lines() {
                let line = moved(line, copy);
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/corpus/recordings");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|it| it.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".audit.jsonl"));
    paths.sort();
    paths.iter().map(|path| Ok(fs::read_to_string(path)?)).collect()
}

/// The line as the copy with this number has it.
fn moved(line: &str, copy: u64) -> String {
    const NAMESPACE: &str = "\"namespace\":\"";
    let namespace = line.split(NAMESPACE).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let line = line.replace(namespace, &format!("c{copy}-{namespace}"));
    let line = replaced(&line, "\"resourceVersion\":\"", |digits| {
        digits.parse::<u64>().map_or_else(|_| digits.to_owned(), |it| (it + copy * COPY_VERSIONS).to_string())
    });
    let line = moved_uids(&line, copy);
    moved_times(&line, copy)
}

/// Changes what stands between `before` and the next quotation mark.
fn replaced(line: &str, before: &str, change: impl Fn(&str) -> String) -> String {
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

/// Every UUID gets the copy's number in its last group.
fn moved_uids(line: &str, copy: u64) -> String {
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
            let moved = format!("{:012x}", last.wrapping_add(copy.wrapping_mul(7919)) & 0xffff_ffff_ffff);
            out[at + 24..at + 36].copy_from_slice(moved.as_bytes());
            at += 36;
        } else {
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Times move by whole minutes; the recordings are of one day.
fn moved_times(line: &str, copy: u64) -> String {
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

/// The same events in the native format.
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

fn measure_apart(name: &str, path: &Path) -> Result<()> {
    let output = Command::new(std::env::current_exe()?).arg("--measure").arg(path).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    print!("| {name} {}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn measure(path: &Path) -> Result<()> {
    let size = fs::metadata(path)?.len() as f64 / 1e6;
    let start = Instant::now();
    let mut reader = Reader::open(&[Input::Path(path.to_owned())]);
    let mut validator = Validator::new(Options { keeps_story: false, ..Options::default() });
    while let Some(record) = reader.next()? {
        validator.feed(&record).map_err(|error| error.problem)?;
    }
    let summary = validator.finish();
    let seconds = start.elapsed().as_secs_f64();
    if let Some(violation) = summary.jobs.iter().find_map(|job| job.violations.first()) {
        let place = violation.place.line;
        return Err(
            format!("line {place} of a copy violates {}: {}", violation.req(), violation.write).into()
        );
    }
    println!(
        "| {size:.0} MB | {} | {} | {seconds:.1} | {:.0} | {:.0} | {:.0} MB |",
        summary.events,
        summary.jobs.len(),
        size / seconds,
        summary.events as f64 / seconds,
        peak_megabytes()?
    );
    Ok(())
}

/// Peak resident memory of this process, as Linux accounts it.
fn peak_megabytes() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kilobytes / 1024.0)
}
