//! The report for people. It is no interface: its JSON is.

use std::fmt::Write;

use jobcheck_harness::report::Exit;
use jobcheck_harness::scenario::model::ModelRun;
use jobcheck_model::explore::story::Story;

use super::Report;
use super::args::{RunArgs, Target};
use super::report::{Came, Run};
use crate::args::Global;
use crate::check;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};

/// The report.
pub fn render(report: &Report, args: &RunArgs, global: &Global) -> String {
    let mut out = String::new();
    if !global.quiet && !report.runs.is_empty() {
        let (first, second) = match args.target {
            Target::Model => ("states", "depth"),
            Target::Sim => ("requests", "runs"),
        };
        let _ = writeln!(
            out,
            "{BOLD}{:<24} {first:>8} {second:>6} {:>8}  {:<12} about{BOLD:#}",
            "scenario", "time", "result"
        );
        report.runs.iter().for_each(|run| row(run, &mut out));
    }
    report.runs.iter().for_each(|run| tell(run, args, &mut out));
    summary(report, args, &mut out);
    out
}

fn row(run: &Run, out: &mut String) {
    let (paint, result) = match run.exit() {
        Exit::Conforms => (GOOD, "holds"),
        Exit::Violates => (BAD, "broken"),
        _ => (OPEN, "not finished"),
    };
    let (size, depth, bound) = match &run.came {
        Came::Model(came) => {
            let it = &came.exploration;
            let bound = if it.pods_bound_reached { " (bound on pods reached)" } else { "" };
            (it.states.to_string(), it.depth.to_string(), bound)
        }
        Came::Sim(came) => (came.requests.to_string(), came.runs.to_string(), ""),
    };
    let _ = writeln!(
        out,
        "{:<24} {size:>8} {depth:>6} {:>7.2}s  {paint}{result:<12}{paint:#} {DIM}{}{bound}{DIM:#}",
        run.scenario.name,
        run.elapsed.as_secs_f64(),
        run.scenario.about
    );
}

fn tell(run: &Run, args: &RunArgs, out: &mut String) {
    match &run.came {
        Came::Model(came) => tell_model(run, came, out),
        Came::Sim(came) => {
            let Some(wrong) = &came.wrong else { return };
            let req = wrong.requirement.map_or(String::new(), |req| format!("{req} "));
            let seed = wrong.outcome.seed;
            let _ = writeln!(out, "\n{BAD}{}: {req}{}{BAD:#}", run.file, wrong.why);
            let defect = args.mutant.map(|mutant| format!(" --mutant {}", mutant.id)).unwrap_or_default();
            let again =
                format!("jobcheck run --target sim --runs 1 --seed {seed}{defect} --save DIR {}", run.file);
            // What the trace breaks, it tells; what was expected of it, it does not know.
            let then = if wrong.requirement.is_some() { ", then jobcheck replay --explain" } else { "" };
            let _ = writeln!(out, "  again: {again}{then}");
        }
    }
}

fn tell_model(run: &Run, came: &ModelRun, out: &mut String) {
    if let Some(limit) = run.limit() {
        let _ = writeln!(out, "\n{OPEN}{}: not finished{OPEN:#}: a limit was reached: {limit}", run.file);
    }
    let Some(found) = came.found() else { return };
    let req = came.requirement.map_or(String::new(), |req| format!("{req} "));
    let _ = writeln!(out, "\n{BAD}{}: {req}{}{BAD:#}: {}", run.file, found.property, found.why);
    check::tell(&Story::of(&came.scope, found, came.requirement), out);
}

fn summary(report: &Report, args: &RunArgs, out: &mut String) {
    let count = |exit: Exit| report.runs.iter().filter(|run| run.exit() == exit).count();
    let all = report.runs.len() + report.problems.len();
    let noun = if all == 1 { "scenario" } else { "scenarios" };
    let defect = args.mutant.map(|mutant| format!(" with the defect {}", mutant.id)).unwrap_or_default();
    let _ = write!(
        out,
        "{all} {noun} on {}{defect}: {GOOD}{} hold{GOOD:#}",
        name(args.target),
        count(Exit::Conforms)
    );
    for (count, paint, what) in [
        (count(Exit::Violates), BAD, "broken"),
        (count(Exit::Inconclusive), OPEN, "not finished"),
        (report.problems.len(), BAD, "cannot be run"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {paint}{count} {what}{paint:#}");
        }
    }
    let _ = writeln!(out, "; not run on {}", args.target.others());
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Model => "the model",
        Target::Sim => "sim",
    }
}
