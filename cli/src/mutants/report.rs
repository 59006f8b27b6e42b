//! The reports of `jobcheck mutants`, for people and for programs.

use std::time::Duration;

use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::narrative::Narrative;
use jobcheck_judge::report::API_VERSION;
use jobcheck_spec::Req;
use serde::Serialize;

use super::{Report, Run, Subject, managers};
use crate::check;
use crate::global::Global;
use crate::styles::{BAD, BOLD, GOOD, OPEN};
use crate::text::Text;

/// The report for people.
pub fn text(report: &Report, with_counterexamples: bool, global: &Global) -> String {
    let mut out = Text::default();
    if !global.quiet {
        Row::head(&mut out);
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
    out.finish()
}

fn row(run: &Run, out: &mut Text) {
    let issue = run.mutant.issues.first().copied().unwrap_or("-");
    let row = Row {
        id: run.mutant.id,
        issue: issue.strip_prefix("kubernetes/kubernetes").unwrap_or(issue),
        breaks: run.hunt.requirement,
        steps: run.hunt.found().map(|found| (found.path.len(), found.cycle_start)),
        elapsed: run.elapsed,
        is_caught: run.is_caught(),
        result: run.result(),
        title: run.mutant.title,
    };
    row.write(out);
}

/// A row of the table.
pub struct Row<'a> {
    /// The id of the defect.
    pub id: &'a str,
    /// The issue that reports it.
    pub issue: &'a str,
    /// The broken requirement.
    pub breaks: Option<Req>,
    /// The length of the counterexample, and the number of steps before its cycle.
    pub steps: Option<(usize, Option<usize>)>,
    /// The time that the search took.
    pub elapsed: Duration,
    /// True if the defect is caught as expected.
    pub is_caught: bool,
    /// The result in words.
    pub result: &'a str,
    /// The defect in one line.
    pub title: &'a str,
}

impl Row<'_> {
    /// The head of the table.
    pub fn head(out: &mut Text) {
        let _ = writeln!(
            out,
            "{BOLD}{:<6} {:<19} {:<6} {:>5} {:>7}  {:<21} defect{BOLD:#}",
            "id", "issue", "breaks", "steps", "time", "result"
        );
    }

    /// Adds the row.
    pub fn write(&self, out: &mut Text) {
        let paint = if self.is_caught { GOOD } else { BAD };
        let steps = match self.steps {
            None => "-".to_owned(),
            Some((length, None)) => length.to_string(),
            Some((length, Some(turn))) => format!("{turn}+{}", length - turn),
        };
        let _ = writeln!(
            out,
            "{:<6} {:<19} {:<6} {steps:>5} {:>6.2}s  {paint}{:<21}{paint:#} {}",
            self.id,
            self.issue,
            self.breaks.map_or("-", Req::id),
            self.elapsed.as_secs_f64(),
            self.result,
            self.title
        );
    }
}

fn counterexample(run: &Run, out: &mut Text) {
    let Some(found) = run.hunt.found() else { return };
    let _ = writeln!(out, "\n{BOLD}{}: {}{BOLD:#}", run.mutant.id, run.mutant.title);
    check::narrative(&Narrative::of(&run.scope(), found, Some(run.mutant.requirement())), out);
    let _ = writeln!(out);
}

/// The report for programs: docs/reference/schemas/mutants.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MutantsReport {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) exit_code: u8,
    pub(super) subject: &'static str,
    pub(super) mutants: Vec<MutantReport>,
    pub(super) impossible: Vec<&'static str>,
    pub(super) not_run: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MutantReport {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) issues: &'static [&'static str],
    pub(super) caught: bool,
    pub(super) holds_without: bool,
    pub(super) requirement: Option<&'static str>,
    pub(super) steps: Option<usize>,
    pub(super) turn: Option<usize>,
    pub(super) states: usize,
    pub(super) seconds: f64,
    pub(super) counterexample: Option<check::CounterexampleReport>,
    /// True if `jobcheck explore --mutant` shows it.
    #[serde(skip)]
    pub(super) is_explored: bool,
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
        is_explored: run.subject == Subject::Algorithm,
    }
}

/// The report for programs about defects of managers.
pub fn of_managers(report: &managers::Report) -> MutantsReport {
    MutantsReport {
        api_version: API_VERSION,
        kind: "MutantsReport",
        exit_code: report.exit().code(),
        subject: report.subject.name(),
        mutants: report.runs.iter().map(mutant_of_managers).collect(),
        impossible: Vec::new(),
        not_run: report.not_run.iter().map(|mutant| mutant.id()).collect(),
    }
}

fn mutant_of_managers(run: &managers::Run) -> MutantReport {
    let found = run.exploration.found();
    MutantReport {
        id: run.mutant.id(),
        title: run.mutant.title(),
        issues: &[],
        caught: run.is_caught(),
        holds_without: run.holds_without,
        requirement: found.map(|found| found.req.id()),
        steps: found.map(|found| found.path.len()),
        turn: found.and_then(|found| found.cycle_start),
        states: run.exploration.states,
        seconds: run.elapsed.as_secs_f64(),
        counterexample: found.map(check::counterexample_of_managers),
        is_explored: false,
    }
}
