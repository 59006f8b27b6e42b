//! The corpus of traces: recordings must conform, and invalid traces must be rejected.

use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, Finding, ReplayReport};
use jobcheck_look::escape::html;
use jobcheck_spec::{Level, Req};
use jobcheck_traces::Input;
use serde_json::{Value, json};

use super::{Part, PartName, VerifyArgs};
use crate::interrupt::Interrupt;
use crate::library;
use crate::page::{row, table};
use crate::replay::Limit;
use crate::text::of_path;

/// A trace with its path.
struct Trace {
    path: String,
    input: Input,
}

/// Checks that the recordings of the built-in controller conform.
pub fn recordings(args: &VerifyArgs) -> Part {
    let name = PartName::Recordings;
    let traces = match traces(args.corpus.as_deref(), "recordings") {
        Ok(traces) => traces,
        Err(why) => return Part::not_run(name, why),
    };
    let extent = |judged: u64| format!("{} traces, {judged} writes judged", traces.len());
    let inputs: Vec<Vec<Input>> = traces.iter().map(|trace| vec![trace.input.clone()]).collect();
    let limit = args.limit();
    let report = limited(&inputs, &limit);
    let report = limit.doubted(report);
    let wrong = report.traces.iter().filter(|trace| trace.exit_code != Exit::Conforms);
    let problems = wrong.map(|trace| format!("{}: {:?}", trace.files.join(", "), trace.verdict));
    let problems = problems.chain(limit.reached().map(str::to_owned)).collect();
    let (extent, exit) = (extent(report.judged_writes), report.exit_code);
    let report = serde_json::to_value(&report).ok();
    Part { name, extent, exit, problems, report, page: String::new() }
}

/// Checks that each invalid trace breaks the requirement in its name, such as
/// `FT-03--released-before-recorded.audit.jsonl`.
pub fn invalid(args: &VerifyArgs, interrupt: &Interrupt) -> Part {
    let name = PartName::InvalidTraces;
    let traces = match traces(args.corpus.as_deref(), "invalid") {
        Ok(traces) => traces,
        Err(why) => return Part::not_run(name, why),
    };
    let (mut rejections, limit) = (Vec::new(), args.limit());
    for trace in &traces {
        if interrupt.is_set() {
            return Part::not_run(name, "interrupted".to_owned());
        }
        rejections.push((trace, rejection(trace, &limit)));
        if let Some(why) = limit.reached() {
            return Part::not_run(name, format!("{}: {why}", trace.path));
        }
    }
    let wrong = rejections.iter().filter(|(_, it)| !it.is_expected);
    let problems: Vec<String> = wrong.map(|(trace, it)| format!("{}: {}", trace.path, it.found)).collect();
    let exit = if problems.is_empty() { Exit::Conforms } else { Exit::Violates };
    let extent = format!("{} traces", traces.len());
    let line = |(trace, it): &(&Trace, Rejection)| -> Value {
        json!({ "file": trace.path, "found": it.found, "asExpected": it.is_expected })
    };
    let report = json!({ "traces": rejections.iter().map(line).collect::<Vec<_>>() });
    let rows: Vec<String> = rejections
        .iter()
        .map(|(trace, it)| {
            let class = if it.is_expected { "conforms" } else { "violates" };
            row(&[html(&trace.path), format!("<span class=\"{class}\">{}</span>", html(&it.found))])
        })
        .collect();
    let page = table("", &["trace", "first violation"], &rows);
    Part { name, extent, exit, problems, report: Some(report), page }
}

/// The first violation in a trace, and whether it is the one in its name.
struct Rejection {
    found: String,
    is_expected: bool,
}

/// Judges traces within limits.
fn limited(inputs: &[Vec<Input>], limit: &Limit) -> ReplayReport {
    let judging = Judging { stop: limit.stop(), ..Judging::default() };
    judge(inputs, &judging, &mut |read, total| limit.look(read, total))
}

fn rejection(trace: &Trace, limit: &Limit) -> Rejection {
    let report = limited(&[vec![trace.input.clone()]], limit);
    let file = trace.path.rsplit('/').next().unwrap_or_default();
    let wanted = file.split("--").next().unwrap_or_default();
    let Some(first) = first(&report) else {
        if warns(&report, wanted) {
            return Rejection { found: wanted.to_owned(), is_expected: true };
        }
        return Rejection { found: "conforms, or has no verdict".to_owned(), is_expected: false };
    };
    let id = first.requirement.map_or("advice", |id| id.0.id());
    Rejection { found: id.to_owned(), is_expected: id == wanted || first.also.contains(&wanted) }
}

/// Returns `true` if the trace breaks this recommendation, which gives a warning.
fn warns(report: &ReplayReport, wanted: &str) -> bool {
    let is_advice = Req::parse(wanted).is_some_and(|req| req.entry().level == Level::Should);
    let mut warnings = report.jobs.iter().flat_map(|job| &job.warnings);
    is_advice && warnings.any(|warning| warning.text.starts_with(&format!("{wanted}: ")))
}

/// The violation at the first line.
fn first(report: &ReplayReport) -> Option<&Finding> {
    report.jobs.iter().flat_map(|job| &job.violations).min_by_key(|finding| finding.place.line)
}

/// The traces in a folder of the corpus: of a directory, or of this binary.
fn traces(directory: Option<&Path>, folder: &str) -> Result<Vec<Trace>, String> {
    let Some(directory) = directory else {
        let of_entry = |entry: &library::Entry| Trace {
            path: entry.path.clone(),
            input: Input::Bytes(entry.path.clone(), entry.bytes.clone()),
        };
        return Ok(library::traces(folder).map(of_entry).collect());
    };
    let directory = directory.join(folder);
    let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", of_path(&directory));
    let entries = std::fs::read_dir(&directory).map_err(unreadable)?;
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut files: Vec<PathBuf> =
        files.map_err(unreadable)?.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("there is no trace in {}", of_path(&directory)));
    }
    let of_file =
        |file: PathBuf| Trace { path: file.to_string_lossy().into_owned(), input: Input::Path(file) };
    Ok(files.into_iter().map(of_file).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::global::defaults;

    #[test]
    fn a_limit_that_is_reached_is_no_pass() {
        let args = VerifyArgs { budget: Duration::ZERO, ..defaults() };
        for part in [recordings(&args), invalid(&args, &Interrupt::from(|| false))] {
            assert_eq!(part.exit, Exit::Inconclusive, "{}: {:?}", part.name.text(), part.problems);
            let is_named = part.problems.iter().any(|it| it.contains("the time of 0s ended"));
            assert!(is_named, "{}: {:?}", part.name.text(), part.problems);
        }
    }
}
