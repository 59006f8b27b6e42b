//! `jobcheck replay`: judges recorded traces.

mod args;
mod clock;
mod fold;
mod ids;
mod junit;
mod life;
mod progress;
mod text;
mod violation;

use std::io::IsTerminal;

use jobcheck_judge::replay::{consistent, group, judge};
use jobcheck_judge::report::Exit;

pub use self::args::ReplayArgs;
use self::progress::Progress;
use crate::format::Format;
use crate::global::Global;
use crate::output;

/// Judges the traces, and prints the report. Returns the exit code.
pub fn run(args: &ReplayArgs, global: &Global) -> Exit {
    if let Err(message) = consistent(&args.assume) {
        output::error(format!("--assume: {message}"));
        return Exit::Unreadable;
    }
    if !global.quiet && std::io::stderr().is_terminal() {
        args.pipes().for_each(|file| {
            output::note(format!("{} is a pipe; reading it waits for a writer", output::clean(&file)));
        });
    }
    let progress = Progress::new(!global.quiet);
    let show = &mut |read, total| progress.show(read, total);
    let traces = group(args.inputs(), args.group.into(), show);
    let report = judge(&traces, &args.judging(), show);
    progress.finish();
    for error in &report.errors {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        output::error(format!("{}{line}: {}", output::clean(&error.file), output::clean(&error.message)));
    }
    if let Some(job) = args.unexplained(&report) {
        output::note(format!("--explain={} fits no Job of the report", output::clean(job)));
    }
    let rendered = match args.output {
        Format::Junit => Ok(junit::render(&report)),
        other => other.render(|| text::render(&report, text::Style::new(args, global)), || &report),
    };
    output::print_report(rendered, args.output, report.exit_code)
}
