//! `jobcheck report`: shows, verifies, compares and merges the reports of conformance runs.

mod args;
mod merge;
mod text;

use std::path::Path;

use jobcheck_judge::report::Exit;
use jobcheck_report::github::{annotations, markdown};
use jobcheck_report::{ConformanceReport, Folder, forms, junit};

pub use self::args::ReportArgs;
use self::args::{DiffArgs, ReportCommand, ShowArgs, ShowForm, VerifyArgs};
use crate::conform::profile_list;
use crate::format::Format;
use crate::global::Global;
use crate::output;
use crate::text::{clean, of_path};

/// Runs the subcommand. Returns the exit code.
pub fn run(args: &ReportArgs, global: &Global) -> Exit {
    let exit = match &args.command {
        ReportCommand::Show(args) => show(args, global),
        ReportCommand::Verify(args) => verify(args, global),
        ReportCommand::Diff(args) => diff(args),
        ReportCommand::Merge(args) => merge::run(args),
    };
    exit.unwrap_or_else(|message| {
        output::error(message);
        Exit::Unreadable
    })
}

/// Reads a report; the error names the file.
fn read(path: &Path) -> Result<ConformanceReport, String> {
    jobcheck_report::read(path).map_err(|error| match std::error::Error::source(&error) {
        Some(why) => format!("{error}: {why}"),
        None => format!("{}: {error}", of_path(path)),
    })
}

fn show(args: &ShowArgs, global: &Global) -> Result<Exit, String> {
    let report = read(&args.report)?;
    let differences = match args.report.is_dir() {
        true => Folder::at(&args.report).differences(&report),
        false => Vec::new(),
    };
    for it in &differences {
        output::error(format!("{}: {}: {}", it.scenario, it.file, it.problem));
    }
    if let Some(why) = text::stale(&report) {
        output::note(why);
    }
    let lacks = profile_list(&report.run.profile.name).objection_to_list(&report);
    if let Some(it) = &lacks {
        output::error(format!("{}: {}", text::word(it.state), it.reason));
    }
    if args.github {
        output::print_to_stderr(&annotations(&report));
    }
    let damaged = if differences.is_empty() { Exit::Conforms } else { Exit::Unreadable };
    let lacks = if lacks.is_none() { Exit::Conforms } else { Exit::Inconclusive };
    let exit = Exit::of_all([report.exit(), damaged, lacks]);
    let form = if args.output == ShowForm::Text { Format::Text } else { Format::Json };
    let rendered = match args.output {
        ShowForm::Text => Ok(text::report(&report, global.verbose)),
        ShowForm::Json => forms::json(&report).map_err(Into::into),
        ShowForm::Yaml => forms::yaml(&report).map_err(Into::into),
        ShowForm::Junit => Ok(junit::Report::from(&report).render()),
        ShowForm::Markdown => Ok(markdown(&report)),
    };
    Ok(output::print_report(rendered, form, exit))
}

fn verify(args: &VerifyArgs, global: &Global) -> Result<Exit, String> {
    if !args.folder.is_dir() {
        return Err(format!("{} is no folder; the traces are beside the report", of_path(&args.folder)));
    }
    let report = read(&args.folder)?;
    let about = |why| format!("{}: {why}", of_path(&args.folder));
    let list = profile_list(&report.run.profile.name);
    let verification =
        jobcheck_report::verify::verify(&Folder::at(&args.folder), &report, &list).map_err(about)?;
    let rendered = args.output.render(|| text::verification(&verification, global.verbose), || &verification);
    Ok(output::print_report(rendered, args.output, verification.exit_code))
}

fn diff(args: &DiffArgs) -> Result<Exit, String> {
    let (before, after) = (with_own_requirements(&args.before)?, with_own_requirements(&args.after)?);
    let diff = jobcheck_report::diff::diff(&before, &after);
    let rendered = args.output.render(|| text::diff(&diff), || &diff);
    Ok(output::print_report(rendered, args.output, diff.exit_code))
}

/// Reads a report, with the requirements that the scenarios of its profile have. Names the scenarios that have others.
fn with_own_requirements(path: &Path) -> Result<ConformanceReport, String> {
    let mut report = read(path)?;
    let wrong = profile_list(&report.run.profile.name).retain_own_requirements(&mut report);
    if let Some(first) = wrong.first() {
        let (path, many, first) = (of_path(path), output::count(wrong.len(), "scenario"), clean(first));
        output::note(format!(
            "{path}: requirements that the profile does not have are not counted: {many}, such as {first}"
        ));
    }
    Ok(report)
}
