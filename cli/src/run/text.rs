//! The report for people. It is no interface: its JSON is.

use std::fmt::Write;

use jobcheck_explorer::narrative::Narrative;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::model::ModelRun;

use super::Report;
use super::args::RunArgs;
use super::compare::{Difference, compare};
use super::report::{Came, Run, left_out};
use super::target::Target;
use crate::args::Global;
use crate::check;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};

/// The report.
pub fn render(report: &Report, args: &RunArgs, global: &Global) -> String {
    let mut out = String::new();
    for (number, target) in args.targets.iter().enumerate() {
        if !global.quiet && report.on(*target).next().is_some() {
            if number > 0 {
                out.push('\n');
            }
            table(*target, report, &mut out);
        }
    }
    report.runs.iter().for_each(|run| tell(run, args, &mut out));
    failed(report, &mut out);
    not_run(report, &mut out);
    if args.targets.len() > 1 {
        side_by_side(report, args, &mut out);
    }
    summary(report, args, &mut out);
    out
}

fn table(target: Target, report: &Report, out: &mut String) {
    let (first, second) = match target {
        Target::Model => ("states", "depth"),
        Target::Sim => ("requests", "runs"),
        Target::Live | Target::BuiltIn | Target::External => ("requests", "rests"),
    };
    let named = if report.runs.iter().all(|run| run.target == target) { "scenario" } else { target.name() };
    let _ = writeln!(
        out,
        "{BOLD}{named:<24} {first:>8} {second:>6} {:>8}  {:<12} about{BOLD:#}",
        "time", "result"
    );
    report.on(target).for_each(|run| row(run, out));
}

fn row(run: &Run, out: &mut String) {
    let paint = paint(run);
    let (size, depth, bound) = match &run.came {
        Came::Model(came) => {
            let it = &came.exploration;
            let bound = if it.pods_bound_reached { " (bound on pods reached)" } else { "" };
            (it.states.to_string(), it.depth.to_string(), bound)
        }
        Came::Sim(came) => (came.requests.to_string(), came.runs.to_string(), ""),
        Came::Live(came) => (came.records.to_string(), came.states.len().to_string(), ""),
        Came::NotRun(_) | Came::Failed { .. } => ("-".to_owned(), "-".to_owned(), ""),
    };
    let _ = writeln!(
        out,
        "{:<24} {size:>8} {depth:>6} {:>7.2}s  {paint}{:<12}{paint:#} {DIM}{}{bound}{DIM:#}",
        run.scenario.name,
        run.elapsed.as_secs_f64(),
        run.word(),
        run.scenario.about
    );
}

fn paint(run: &Run) -> anstyle::Style {
    match run.exit() {
        Exit::Conforms => GOOD,
        Exit::Inconclusive => OPEN,
        _ => BAD,
    }
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
            let version = args.kubernetes.map(|it| format!(" --kubernetes {it}")).unwrap_or_default();
            let again = format!(
                "jobcheck run --target sim{version} --runs 1 --seed {seed}{defect} --save DIR {}",
                run.file
            );
            // What the trace breaks, it tells; what was expected of it, it does not know.
            let then = if wrong.requirement.is_some() { ", then jobcheck replay --explain" } else { "" };
            let _ = writeln!(out, "  again: {again}{then}");
        }
        Came::Live(came) => {
            let Some(found) = came.found() else { return };
            let req = found.requirement.map_or(String::new(), |req| format!("{req} "));
            let known = found.known.map_or(String::new(), |known| format!("KNOWN {known}, "));
            let (paint, target) = (paint(run), run.target.name());
            let line = found.line.map(|line| format!(" (line {line} of the recording)")).unwrap_or_default();
            let _ =
                writeln!(out, "\n{paint}{} on {target}: {known}{req}{}{line}{paint:#}", run.file, found.why);
            // Where a documented deviation has stopped a Job, what was expected did not come, either.
            if let (Some(unmet), true) = (&came.unmet, found.requirement.is_some()) {
                let _ = writeln!(out, "  {unmet}");
            }
        }
        Came::NotRun(_) | Came::Failed { .. } => {}
    }
}

/// What has failed: where it is the cluster, for all scenarios.
fn failed(report: &Report, out: &mut String) {
    let why = |run: &Run| match &run.came {
        Came::Failed { why, .. } => Some((run.target.name(), why.clone())),
        Came::Model(_) | Came::Sim(_) | Came::Live(_) | Came::NotRun(_) => None,
    };
    let mut told: Vec<((&str, String), Vec<&str>)> = Vec::new();
    for run in &report.runs {
        let Some(why) = why(run) else { continue };
        match told.iter_mut().find(|(known, _)| *known == why) {
            Some((_, files)) => files.push(&run.file),
            None => told.push((why, vec![&run.file])),
        }
    }
    for ((target, why), files) in told {
        let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
        let _ = writeln!(out, "\n{BAD}{}{more} on {target}: {why}{BAD:#}", files[0]);
    }
}

/// What was not run, and why: many scenarios have the same reason.
fn not_run(report: &Report, out: &mut String) {
    let why = |run: &Run| match &run.came {
        Came::NotRun(why) => Some((run.target, run.scenario.name.clone(), why.clone())),
        Came::Model(_) | Came::Sim(_) | Came::Live(_) | Came::Failed { .. } => None,
    };
    for (number, (target, name, why)) in report.runs.iter().filter_map(why).enumerate() {
        if number == 0 {
            let _ = writeln!(out, "\n{BOLD}not run{BOLD:#}");
        }
        let _ = writeln!(out, "{:<8} {name:<24} {DIM}{why}{DIM:#}", target.name());
    }
}

/// The targets beside each other.
fn side_by_side(report: &Report, args: &RunArgs, out: &mut String) {
    let names: String = args.targets.iter().map(|target| format!(" {:<12}", target.name())).collect();
    let _ = writeln!(out, "\n{BOLD}{:<24}{names} first difference{BOLD:#}", "compared");
    for it in compare(report) {
        let verdict = |target: &Target| {
            let of_it = it.verdicts.iter().find(|verdict| verdict.target == target.name());
            format!(" {:<12}", of_it.map_or("-", |verdict| &*verdict.verdict))
        };
        let verdicts: String = args.targets.iter().map(verdict).collect();
        let told: Vec<String> = it.differences.iter().map(Difference::told).collect();
        let _ = writeln!(out, "{}", format!("{:<24}{verdicts} {}", it.name, told.join("; ")).trim_end());
    }
}

fn tell_model(run: &Run, came: &ModelRun, out: &mut String) {
    if let Some(limit) = run.limit() {
        let _ = writeln!(out, "\n{OPEN}{}: not finished{OPEN:#}: a limit was reached: {limit}", run.file);
    }
    let Some(found) = came.found() else { return };
    let req = came.requirement.map_or(String::new(), |req| format!("{req} "));
    let _ = writeln!(out, "\n{BAD}{}: {req}{}{BAD:#}: {}", run.file, found.property, found.why);
    check::tell(&Narrative::of(&came.scope, found, came.requirement), out);
}

fn summary(report: &Report, args: &RunArgs, out: &mut String) {
    if args.targets.len() > 1 || args.targets.iter().any(|target| target.is_real()) {
        out.push('\n');
    }
    let defect = args.mutant.map(|mutant| format!(" with the defect {}", mutant.id)).unwrap_or_default();
    for (number, target) in args.targets.iter().enumerate() {
        let problems = if number == 0 { report.problems.len() } else { 0 };
        let count = |fits: &dyn Fn(&Run) -> bool| report.on(*target).filter(|run| fits(run)).count();
        let is =
            |result: &'static str| count(&move |run: &Run| run.known().is_none() && run.result() == result);
        let all = count(&|_| true) + problems;
        let noun = if all == 1 { "scenario" } else { "scenarios" };
        let (on, version) = (name(*target), version(*target, report, args));
        let _ = write!(out, "{all} {noun} on {on}{version}{defect}: {GOOD}{} hold{GOOD:#}", is("holds"));
        for (count, paint, what) in [
            (count(&|run| run.known().is_some()), OPEN, "KNOWN"),
            (is("broken"), BAD, "broken"),
            (is("notFinished"), OPEN, "not finished"),
            (is("inconclusive"), OPEN, "inconclusive"),
            (is("notRun"), OPEN, "not run"),
            (is("failed"), BAD, "failed"),
            (problems, BAD, "cannot be run"),
        ] {
            if count > 0 {
                let _ = write!(out, ", {paint}{count} {what}{paint:#}");
            }
        }
        out.push_str(if number + 1 < args.targets.len() { "\n" } else { "; " });
    }
    let others: Vec<&str> = left_out(args).into_iter().map(Target::name).collect();
    match others.as_slice() {
        [] => out.push_str("run on every target\n"),
        others => {
            let _ = writeln!(out, "not run on {}", others.join(", "));
        }
    }
}

/// Of which minor version the API server was, if not of the usual one.
fn version(target: Target, report: &Report, args: &RunArgs) -> String {
    let asked = args.kubernetes.map(|version| version.minor());
    let judged = report.on(target).find_map(Run::kubernetes).map(str::to_owned);
    let other = judged.or(asked).filter(|it| it != "1.36");
    other.map(|it| format!(" of {it}")).unwrap_or_default()
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Model => "the model",
        Target::Sim | Target::Live | Target::BuiltIn | Target::External => target.name(),
    }
}
