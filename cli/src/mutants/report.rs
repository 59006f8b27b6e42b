//! The reports of `jobcheck mutants`, for people and for programs.

use std::fmt::Write;

use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::narrative::Narrative;
use jobcheck_judge::report::API_VERSION;
use jobcheck_spec::Req;
use serde::Serialize;

use super::{Report, Run};
use crate::check;
use crate::global::Global;
use crate::styles::{BAD, BOLD, GOOD, OPEN};

/// The report for people.
pub fn text(report: &Report, with_counterexamples: bool, global: &Global) -> String {
    let mut out = String::new();
    if !global.quiet {
        let _ = writeln!(
            out,
            "{BOLD}{:<6} {:<19} {:<6} {:>5} {:>7}  {:<21} defect{BOLD:#}",
            "id", "issue", "breaks", "steps", "time", "result"
        );
        for run in &report.runs {
            row(run, &mut out);
        }
    }
    for run in report.runs.iter().filter(|run| with_counterexamples || !run.is_caught()) {
        counterexample(run, &mut out);
    }
    let caught = report.runs.iter().filter(|run| run.is_caught()).count();
    if !report.impossible.is_empty() {
        let ids: Vec<&str> = report.impossible.iter().map(|mutant| mutant.id).collect();
        let _ = writeln!(out, "do not apply to the shipped controllers: {}", ids.join(", "));
    }
    if !report.not_run.is_empty() {
        let _ =
            writeln!(out, "{OPEN}interrupted: {} defects were not looked for{OPEN:#}", report.not_run.len());
    }
    let _ = writeln!(out, "{caught} of {} defects are caught", report.runs.len());
    out
}

fn row(run: &Run, out: &mut String) {
    let paint = if run.is_caught() { GOOD } else { BAD };
    let issue = run.mutant.issues.first().copied().unwrap_or("-");
    let issue = issue.strip_prefix("kubernetes/kubernetes").unwrap_or(issue);
    let broken = run.hunt.requirement.map_or("-", Req::id);
    let steps = run.hunt.found().map_or("-".to_owned(), |found| match found.cycle_start {
        None => found.path.len().to_string(),
        Some(turn) => format!("{turn}+{}", found.path.len() - turn),
    });
    let _ = writeln!(
        out,
        "{:<6} {issue:<19} {broken:<6} {steps:>5} {:>6.2}s  {paint}{:<21}{paint:#} {}",
        run.mutant.id,
        run.elapsed.as_secs_f64(),
        run.result(),
        run.mutant.title
    );
}

fn counterexample(run: &Run, out: &mut String) {
    let Some(found) = run.hunt.found() else { return };
    let _ = writeln!(out, "\n{BOLD}{}: {}{BOLD:#}", run.mutant.id, run.mutant.title);
    check::narrative(&Narrative::of(&run.scope(), found, Some(run.mutant.requirement())), out);
    let _ = writeln!(out);
}

/// The report for programs: docs/reference/schemas/mutants.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MutantsReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    subject: &'static str,
    mutants: Vec<MutantReport>,
    impossible: Vec<&'static str>,
    not_run: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MutantReport {
    id: &'static str,
    title: &'static str,
    issues: &'static [&'static str],
    caught: bool,
    holds_without: bool,
    requirement: Option<&'static str>,
    steps: Option<usize>,
    turn: Option<usize>,
    states: usize,
    seconds: f64,
    counterexample: Option<check::CounterexampleReport>,
}

/// The report for programs.
pub fn whole(report: &Report) -> MutantsReport {
    let ids = |mutants: &[&'static Mutant]| mutants.iter().map(|mutant| mutant.id).collect();
    MutantsReport {
        api_version: API_VERSION,
        kind: "MutantsReport",
        exit_code: report.exit().code(),
        subject: report.subject.name(),
        mutants: report.runs.iter().map(mutant).collect(),
        impossible: ids(&report.impossible),
        not_run: ids(&report.not_run),
    }
}

fn mutant(run: &Run) -> MutantReport {
    let found = run.hunt.found();
    MutantReport {
        id: run.mutant.id,
        title: run.mutant.title,
        issues: run.mutant.issues,
        caught: run.is_caught(),
        holds_without: run.holds_without,
        requirement: run.hunt.requirement.map(Req::id),
        steps: found.map(|found| found.path.len()),
        turn: found.and_then(|found| found.cycle_start),
        states: run.hunt.exploration.states,
        seconds: run.elapsed.as_secs_f64(),
        counterexample: found.map(|found| check::counterexample_report(&run.scope(), found)),
    }
}
