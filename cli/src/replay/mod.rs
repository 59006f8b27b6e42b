//! `jobcheck replay`: judges recorded traces.

mod args;
mod clock;
mod clusters;
mod fold;
mod ids;
mod judge_args;
mod junit;
mod life;
mod limit;
mod progress;
mod text;
mod unread;
mod violation;

use std::io::IsTerminal;

use jobcheck_judge::replay::{ShowProgress, consistent, group_until, judge, judge_clusters};
use jobcheck_judge::report::{Exit, ReplayReport};

pub use self::args::{Group, ReplayArgs};
pub use self::clusters::{ClusterFile, cluster_file, clusters, paths};
pub use self::judge_args::JudgeArgs;
#[cfg(feature = "cluster")]
pub use self::judge_args::{FailureRule, actor};
pub use self::limit::Limit;
pub use self::progress::Progress;
use crate::format::Format;
use crate::global::Global;
use crate::save::can_write_beside;
use crate::view::{self, Traces};
use crate::{memory, output};

fn judged(args: &ReplayArgs, limit: &Limit, progress: &Progress) -> Result<(Traces, ReplayReport), String> {
    let judging = args.judging(limit.stop());
    let show: ShowProgress<'_> = &mut |read, total| {
        progress.show(read, total);
        limit.look(read, total);
    };
    if args.cluster.is_empty() {
        let inputs = match args.html {
            Some(_) => Traces::kept(args.inputs(), &judging.stop, show)?,
            None => args.inputs(),
        };
        let traces = group_until(inputs, args.group.into(), &judging.stop, show);
        let report = judge(&traces, &judging, show);
        return Ok((Traces::unrelated(traces), report));
    }
    let clusters = clusters(&args.cluster, &judging, show)?;
    let report = judge_clusters(&clusters, &judging, show);
    Ok((Traces::of_clusters(&clusters), report))
}

/// Judges the traces, and prints the report. Returns the exit code.
pub fn run(args: &ReplayArgs, global: &Global) -> Exit {
    if let Err(message) = consistent(&args.judge.assume) {
        output::error(format!("--assume: {message}"));
        return Exit::Unreadable;
    }
    if args.html.as_deref().is_some_and(|file| !can_write_beside(file, paths(&args.files, &args.cluster))) {
        return Exit::Environment;
    }
    if !global.quiet && std::io::stderr().is_terminal() {
        args.pipes().for_each(|file| {
            output::note(format!("{} is a pipe; reading it waits for a writer", file));
        });
    }
    let progress = Progress::new(!global.quiet);
    let limit = Limit::new(memory::limit(args.judge.max_memory), args.makes(), args.judge.budget);
    let judged = judged(args, &limit, &progress);
    progress.finish();
    let (traces, report) = match judged {
        Ok((traces, report)) => (traces, limit.doubted(report)),
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    for error in &report.errors {
        output::error(format!("{}: {}", error.place(), error.message));
    }
    if let Some(job) = args.unexplained(&report) {
        output::note(format!("--explain={} fits no Job of the report", job));
    }
    let steps = limit.steps(jobcheck_view::STEPS);
    let page = || traces.page(&report, steps, limit.again());
    let is_written = args.html.as_deref().is_none_or(|file| view::write(file, &page()));
    let exit = if is_written { report.exit_code } else { Exit::Environment };
    let rendered = match args.output {
        Format::Junit => Ok(junit::render(&report)),
        other => other.render(|| text::render(&report, text::Style::new(args, global)), || &report),
    };
    output::print_report(rendered, args.output, exit)
}
