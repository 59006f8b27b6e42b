//! The report for people.

use std::path::Path;
use std::sync::Arc;

use anstyle::Style;
use jobcheck_conform::{Cluster, Scenario as Listed, Settings, missing};
use jobcheck_report::runs::Folded;
use jobcheck_report::types::Outcome;
use jobcheck_report::{ConformanceReport, Scenario};
use jobcheck_traces::parse_micros;

use crate::output::count;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::{Text, clean, of_path, short};

/// The scenarios of the suite.
pub fn list(scenarios: &[&'static Listed]) -> String {
    let mut out = Text::default();
    for scenario in scenarios {
        let (stage, about) = (scenario.stage.to_string(), scenario.about);
        let _ = writeln!(out, "{:<36}  {stage:<11}  {about} {DIM}{}{DIM:#}", scenario.id, aims(scenario));
    }
    out.finish()
}

fn aims(scenario: &Listed) -> String {
    let ids: Vec<&str> = scenario.requirements.iter().map(|req| req.id()).collect();
    ids.join(", ")
}

/// The scenarios of the library, each with a sentence about it.
pub fn list_library(scenarios: &[(String, String)]) -> String {
    let mut out = Text::default();
    for (name, about) in scenarios {
        let _ = writeln!(out, "{:<30}  {}", clean(name), clean(about));
    }
    out.finish()
}

/// The scenarios that would be run, and the clusters.
pub fn dry_run(
    scenarios: &[&'static Listed],
    clusters: &[Arc<Cluster>],
    settings: &Settings,
    repeat: u32,
) -> String {
    let mut out = Text::default();
    for cluster in clusters {
        let _ =
            writeln!(out, "{:<12}  Kubernetes {}, all permissions", cluster.name, clean(&cluster.kubernetes));
    }
    for scenario in scenarios {
        let times = if repeat > 1 { format!("run {repeat} times") } else { "run".to_owned() };
        let would = missing(scenario, settings).map_or(times, |why| format!("skip: {why}"));
        let _ = writeln!(out, "{:<36}  {would}", scenario.id);
    }
    out.finish()
}

/// The report.
pub fn render(report: &ConformanceReport, out: &Path, quiet: bool) -> String {
    let mut text = Text::default();
    let scenarios = report.folded();
    if !quiet {
        let _ = writeln!(text, "{BOLD}{:<36}  {:<11} {:>7}  outcome{BOLD:#}", "scenario", "stage", "time");
        scenarios.iter().for_each(|it| line(it, &mut text));
    }
    scenarios.iter().filter(|it| !it.has_passed()).for_each(|it| evidence(&it.scenario, &mut text));
    summary(report, &scenarios, out, &mut text);
    text.finish()
}

fn line(folded: &Folded<'_>, out: &mut Text) {
    let it = &*folded.scenario;
    let (id, stage, paint) = (clean(&it.id), it.stage.to_string(), paint(it.outcome));
    let ids: Vec<&str> = it.evidence.iter().map(|it| &*it.requirement).collect();
    let outcome = folded.tally().unwrap_or_else(|| format!("{} {}", it.outcome, ids.join(", ")));
    let (time, outcome) = (seconds(it), clean(outcome.trim_end()));
    let _ = writeln!(out, "{id:<36}  {stage:<11} {time:>7}  {paint}{outcome}{paint:#}");
}

/// The duration of a scenario that was run.
fn seconds(it: &Scenario) -> String {
    let time = |text: &Option<String>| parse_micros(text.as_deref()?);
    let lasted = time(&it.end_time).zip(time(&it.start_time)).map(|(end, start)| end - start);
    lasted.map_or("-".to_owned(), |micros| format!("{}.{}s", micros / 1_000_000, micros / 100_000 % 10))
}

fn paint(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Pass => GOOD,
        Outcome::Fail | Outcome::Error => BAD,
        Outcome::Skip | Outcome::Disabled | Outcome::Inconclusive => OPEN,
    }
}

fn evidence(it: &Scenario, out: &mut Text) {
    let paint = paint(it.outcome);
    let _ = writeln!(out, "\n{paint}{}: {}{paint:#} {}", clean(&it.id), it.outcome, short(&it.reason));
    for found in &it.evidence {
        let _ = write!(out, "  {}: {}", clean(&found.requirement), short(&found.sentence));
        if let (Some(trace), Some(line)) = (&found.trace, found.lines.first()) {
            let _ = write!(out, " ({}, line {line})", clean(trace));
        }
        let _ = writeln!(out);
    }
}

fn summary(report: &ConformanceReport, scenarios: &[Folded<'_>], folder: &Path, out: &mut Text) {
    let all = count(scenarios.len(), "scenario");
    let times = report.run.repeat.map(|number| format!(", {number} runs each")).unwrap_or_default();
    let _ = write!(out, "\n{all} of {}{times}: {}", clean(&report.run.profile.name), report.result);
    for outcome in Outcome::ALL {
        let number = scenarios.iter().filter(|it| it.scenario.outcome == outcome).count();
        let paint = paint(outcome);
        if number > 0 {
            let _ = write!(out, ", {paint}{number} {outcome}{paint:#}");
        }
    }
    let flaky = scenarios.iter().filter(|it| it.is_flaky()).count();
    if flaky > 0 {
        let _ = write!(out, ", {OPEN}{flaky} flaky{OPEN:#}");
    }
    let _ = writeln!(out, "; the report is in {}", of_path(folder));
}
