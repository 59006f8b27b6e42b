//! The report for people. Its text may change; the JSON report is stable.

use jobcheck_explorer::narrative::Narrative;
use jobcheck_judge::report::{Exit, with_aliases};
use jobcheck_scenario::Expected;
use jobcheck_scenario::model::ModelRun;

use super::args::RunArgs;
use super::compare::{Difference, compare};
use super::report::{ClusterRun, Execution, Report, Run, SimRun, others};
use super::target::Target;
use crate::check;
use crate::global::Global;
use crate::output::count as counted;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::{Text, clean, quoted};

/// The report.
pub fn render(report: &Report, args: &RunArgs, global: &Global) -> String {
    let mut out = Text::default();
    for (number, target) in args.targets.iter().enumerate() {
        if !global.quiet && report.on(*target).next().is_some() {
            if number > 0 {
                let _ = writeln!(out);
            }
            table(*target, report, &mut out);
        }
    }
    report.runs.iter().for_each(|run| evidence(run, args, &mut out));
    failed(report, &mut out);
    not_run(report, &mut out);
    if args.targets.len() > 1 {
        side_by_side(report, args, &mut out);
    }
    summary(report, args, &mut out);
    out.finish()
}

fn table(target: Target, report: &Report, out: &mut Text) {
    let (first, second) = match target {
        Target::Model => ("states", "depth"),
        Target::Sim => ("requests", "runs"),
        Target::Live | Target::BuiltIn | Target::External => ("requests", "rests"),
    };
    let title = if report.runs.iter().all(|run| run.target == target) { "scenario" } else { target.name() };
    let _ = writeln!(
        out,
        "{BOLD}{title:<24} {first:>8} {second:>6} {:>8}  {:<12} about{BOLD:#}",
        "time", "result"
    );
    report.on(target).for_each(|run| row(run, out));
}

fn row(run: &Run, out: &mut Text) {
    let paint = paint(run);
    let (size, depth, bound) = match &run.execution {
        Execution::Model(model) => {
            let it = &model.exploration;
            let bound = if it.pods_bound_reached { " (bound on pods reached)" } else { "" };
            (it.states.to_string(), it.depth.to_string(), bound)
        }
        Execution::Sim(sim) => (sim.requests.to_string(), sim.runs.to_string(), ""),
        Execution::Cluster(it) => (it.requests.to_string(), it.rests.len().to_string(), ""),
        Execution::NotRun(_) | Execution::Failed { .. } => ("-".to_owned(), "-".to_owned(), ""),
    };
    let _ = writeln!(
        out,
        "{:<24} {size:>8} {depth:>6} {:>7.2}s  {paint}{:<12}{paint:#} {DIM}{}{bound}{DIM:#}",
        run.scenario.name,
        run.elapsed.as_secs_f64(),
        run.word(),
        clean(&run.scenario.about)
    );
}

fn paint(run: &Run) -> anstyle::Style {
    match run.exit() {
        Exit::Conforms => GOOD,
        Exit::Inconclusive => OPEN,
        _ => BAD,
    }
}

/// The evidence for a result that does not hold.
fn evidence(run: &Run, args: &RunArgs, out: &mut Text) {
    match &run.execution {
        Execution::Model(model) => model_evidence(run, model, out),
        Execution::Sim(sim) => sim_evidence(run, sim, args, out),
        Execution::Cluster(it) => cluster_evidence(run, it, out),
        Execution::NotRun(_) | Execution::Failed { .. } => {}
    }
    let broken = args.mutant.zip(run.requirement());
    if let Some(note) =
        broken.and_then(|(mutant, req)| check::other_requirement(mutant.id, mutant.requirement(), req))
    {
        let _ = writeln!(out, "  {note}");
    }
}

fn model_evidence(run: &Run, model: &ModelRun, out: &mut Text) {
    if let Some(limit) = run.limit() {
        let _ =
            writeln!(out, "\n{OPEN}{}: not finished{OPEN:#}: a limit was reached: {limit}", clean(&run.file));
    }
    let Some(found) = model.found() else { return };
    let req = model.requirement.map_or(String::new(), |req| format!("{req} "));
    let _ =
        writeln!(out, "\n{BAD}{}: {req}{}{BAD:#}: {}", clean(&run.file), found.property, clean(&found.why));
    check::narrative(&Narrative::of(&model.scope, found, model.requirement), out);
}

fn sim_evidence(run: &Run, sim: &SimRun, args: &RunArgs, out: &mut Text) {
    let Some(failure) = &sim.failure else { return };
    let req = failure.requirement.map_or(String::new(), |req| format!("{req} "));
    let seed = failure.outcome.seed;
    let _ = writeln!(out, "\n{BAD}{}: {req}{}{BAD:#}", clean(&run.file), clean(&failure.why));
    let defect = args.mutant.map(|mutant| format!(" --mutant {}", mutant.id)).unwrap_or_default();
    let version = args.kubernetes.map(|it| format!(" --kubernetes {it}")).unwrap_or_default();
    let again = format!(
        "jobcheck run --target sim{version} --runs 1 --seed {seed}{defect} --save DIR {}",
        quoted(&run.file)
    );
    // A trace does not hold the expectations of its scenario, so that replay cannot explain a broken one.
    let then = if failure.requirement.is_some() { ", then jobcheck replay --explain" } else { "" };
    let _ = writeln!(out, "  again: {again}{then}");
}

fn cluster_evidence(run: &Run, it: &ClusterRun, out: &mut Text) {
    if run.result() == "deviates" {
        return;
    }
    if let (Some(Expected::Missing(_)), Some(why)) = (run.expected(), run.why()) {
        let _ =
            writeln!(out, "\n{OPEN}{} on {}: {}{OPEN:#}", clean(&run.file), run.target.name(), clean(&why));
    }
    let Some(found) = &it.found else { return };
    let req = found.requirement.map_or(String::new(), |req| format!("{req} "));
    let known = found.known.map_or(String::new(), |it| format!("KNOWN {}, ", with_aliases(it)));
    let (paint, target) = (paint(run), run.target.name());
    let line = found.line.map(|line| format!(" (line {line} of the recording)")).unwrap_or_default();
    let _ = writeln!(
        out,
        "\n{paint}{} on {target}: {known}{req}{}{line}{paint:#}",
        clean(&run.file),
        clean(&found.why)
    );
    // A violation often is the reason why an expectation was not met.
    if let (Some(unmet), true) = (&it.unmet, found.requirement.is_some()) {
        let _ = writeln!(out, "  {}", clean(unmet));
    }
}

/// The errors, each with the number of its scenarios: an error of the cluster concerns all of them.
fn failed(report: &Report, out: &mut Text) {
    let mut errors: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for run in &report.runs {
        let Execution::Failed { why, .. } = &run.execution else { continue };
        let error = (run.target.name(), why.as_str());
        match errors.iter_mut().find(|(known, _)| *known == error) {
            Some((_, files)) => files.push(&run.file),
            None => errors.push((error, vec![&run.file])),
        }
    }
    for ((target, why), files) in errors {
        let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
        // An error of a cluster quotes the end of a log.
        let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
        let (file, first) = (clean(files[0]), clean(first));
        let _ = writeln!(out, "\n{BAD}{file}{more} on {target}: {first}{BAD:#}");
        for line in rest.lines() {
            let _ = writeln!(out, "  {}", clean(line));
        }
    }
}

/// The scenarios that were not run, with the reasons.
fn not_run(report: &Report, out: &mut Text) {
    let mut is_first = true;
    for run in &report.runs {
        let Execution::NotRun(why) = &run.execution else { continue };
        if is_first {
            let _ = writeln!(out, "\n{BOLD}not run{BOLD:#}");
            is_first = false;
        }
        let _ =
            writeln!(out, "{:<8} {:<24}  {DIM}{}{DIM:#}", run.target.name(), run.scenario.name, clean(why));
    }
}

/// The targets side by side.
fn side_by_side(report: &Report, args: &RunArgs, out: &mut Text) {
    let names: String = args.targets.iter().map(|target| format!(" {:<12}", target.name())).collect();
    let _ = writeln!(out, "\n{BOLD}{:<24}{names} first difference{BOLD:#}", "compared");
    for it in compare(report) {
        let verdict = |target: &Target| {
            let of_it = it.verdicts.iter().find(|verdict| verdict.target == target.name());
            format!(" {:<12}", of_it.map_or("-", |verdict| &*verdict.verdict))
        };
        let verdicts: String = args.targets.iter().map(verdict).collect();
        let differences: Vec<String> = it.differences.iter().map(Difference::sentence).collect();
        let _ =
            writeln!(out, "{}", format!("{:<24}{verdicts} {}", it.name, differences.join("; ")).trim_end());
    }
}

fn summary(report: &Report, args: &RunArgs, out: &mut Text) {
    if args.targets.len() > 1 || args.targets.iter().any(|target| target.is_real()) {
        let _ = writeln!(out);
    }
    let defect = args.mutant.map(|mutant| format!(" with the defect {}", mutant.id)).unwrap_or_default();
    for (number, target) in args.targets.iter().enumerate() {
        let problems = if number == 0 { report.problems.len() } else { 0 };
        let count = |fits: &dyn Fn(&Run) -> bool| report.on(*target).filter(|run| fits(run)).count();
        let is =
            |result: &'static str| count(&move |run: &Run| run.known().is_none() && run.result() == result);
        let deviates = |run: &Run| run.result() == "deviates";
        let all = count(&|_| true) + problems;
        let (all, on) = (counted(all, "scenario"), name(*target));
        let version = version(*target, report, args);
        let _ = write!(out, "{all} on {on}{version}{defect}: {GOOD}{} hold{GOOD:#}", is("holds"));
        for (count, paint, what) in [
            (count(&deviates), GOOD, "deviate as expected"),
            (count(&|run| run.known().is_some() && !deviates(run)), OPEN, "KNOWN"),
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
        let _ = if number + 1 < args.targets.len() { writeln!(out) } else { write!(out, "; ") };
    }
    let not_run: Vec<&str> = others(args).into_iter().map(Target::name).collect();
    match not_run.as_slice() {
        [] => {
            let _ = writeln!(out, "run on every target");
        }
        targets => {
            let _ = writeln!(out, "not run on {}", targets.join(", "));
        }
    }
}

/// The minor version of the API server, if it is not the default.
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
