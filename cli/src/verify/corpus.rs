//! The corpus: what was recorded conforms, and what was made wrong is found.

use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, Finding, ReplayReport};
use jobcheck_traces::Input;
use serde_json::{Value, json};

use super::Part;

/// Recordings of the built-in controller conform.
pub fn recordings(directory: &Path) -> Part {
    let name = "recordings";
    let files = match traces(directory) {
        Ok(files) => files,
        Err(why) => return Part::not_run(name, why),
    };
    let inputs: Vec<Vec<Input>> = files.iter().map(|file| vec![Input::Path(file.clone())]).collect();
    let report = judge(&inputs, &Judging::default(), &mut |_, _| {});
    let wrong = report.traces.iter().filter(|trace| trace.exit_code != Exit::Conforms);
    let wrong = wrong.map(|trace| format!("{}: {:?}", trace.files.join(", "), trace.verdict)).collect();
    let extent = format!("{} traces, {} writes judged", files.len(), report.judged_writes);
    let exit = report.exit_code;
    Part { name, extent, exit, wrong, report: serde_json::to_value(&report).ok() }
}

/// Each invalid trace breaks the requirement that its name begins with, `FT-03--released-before-recorded.audit.jsonl`.
pub fn invalid(directory: &Path) -> Part {
    let name = "invalid traces";
    let files = match traces(directory) {
        Ok(files) => files,
        Err(why) => return Part::not_run(name, why),
    };
    let judged: Vec<(&PathBuf, Rejection)> = files.iter().map(|file| (file, rejected(file))).collect();
    let wrong = judged.iter().filter(|(_, it)| !it.fits);
    let wrong: Vec<String> = wrong.map(|(file, it)| format!("{}: {}", file.display(), it.found)).collect();
    let exit = if wrong.is_empty() { Exit::Conforms } else { Exit::Violates };
    let extent = format!("{} traces", files.len());
    let line = |(file, it): &(&PathBuf, Rejection)| -> Value {
        json!({ "file": file.display().to_string(), "found": it.found, "asExpected": it.fits })
    };
    let report = json!({ "traces": judged.iter().map(line).collect::<Vec<_>>() });
    Part { name, extent, exit, wrong, report: Some(report) }
}

/// What is found first in a trace, and whether that is what its name says.
struct Rejection {
    found: String,
    fits: bool,
}

fn rejected(file: &Path) -> Rejection {
    let report = judge(&[vec![Input::Path(file.to_owned())]], &Judging::default(), &mut |_, _| {});
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let wanted = name.split("--").next().unwrap_or_default();
    let Some(first) = first(&report) else {
        return Rejection { found: "conforms, or cannot be judged".to_owned(), fits: false };
    };
    let id = first.requirement.map_or("advice", |id| id.0.id());
    Rejection { found: id.to_owned(), fits: id == wanted || first.also.contains(&wanted) }
}

/// The first violation in order.
fn first(report: &ReplayReport) -> Option<&Finding> {
    report.jobs.iter().flat_map(|job| &job.violations).min_by_key(|finding| finding.line)
}

/// The traces of a directory.
fn traces(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| {
        format!("{} cannot be read: {error}; --corpus DIR says where the traces are", directory.display())
    };
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut files: Vec<PathBuf> =
        files.map_err(unreadable)?.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    if files.is_empty() { Err(format!("there is no trace in {}", directory.display())) } else { Ok(files) }
}
