//! `jobcheck replay`: judges recorded traces.

mod args;
mod ids;
mod junit;
mod progress;
mod text;

use std::io::IsTerminal;

use anstream::eprintln;
use anyhow::Context;
use jobcheck_judge::replay::{consistent, group, judge};
use jobcheck_judge::report::{Exit, ReplayReport};

use self::args::Format;
pub use self::args::ReplayArgs;
use self::progress::Progress;
use crate::args::Global;
use crate::output;

/// Judges, prints the report, and returns what it comes to.
pub fn run(args: &ReplayArgs, global: &Global) -> Exit {
    if let Err(message) = consistent(&args.assume) {
        eprintln!("error: --assume: {message}");
        return Exit::Unreadable;
    }
    if !global.quiet && std::io::stderr().is_terminal() {
        args.pipes().for_each(|file| {
            eprintln!("note: {} is a pipe: reading it waits for a writer", output::clean(&file));
        });
    }
    let progress = Progress::new(!global.quiet);
    let show = &mut |read, total| progress.show(read, total);
    let traces = group(args.inputs(), args.group.into(), show);
    let report = judge(&traces, &args.judging(), show);
    progress.finish();
    for error in &report.errors {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        eprintln!("error: {}{line}: {}", output::clean(&error.file), output::clean(&error.message));
    }
    match rendered(&report, args, global) {
        Ok(text) => output::print(&text, report.exit_code),
        Err(error) => {
            eprintln!("internal error, please report it: {error:#}");
            Exit::Internal
        }
    }
}

fn rendered(report: &ReplayReport, args: &ReplayArgs, global: &Global) -> anyhow::Result<String> {
    match args.output {
        Format::Text => Ok(text::render(report, text::Style::new(args.explain, global))),
        Format::Json => {
            let json = serde_json::to_string_pretty(report).context("the report as JSON")?;
            Ok(json + "\n")
        }
        Format::Yaml => serde_saphyr::to_string(report).context("the report as YAML"),
        Format::Junit => junit::render(report).context("the report as JUnit XML"),
    }
}
