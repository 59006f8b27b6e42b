//! The scenarios of a report as cases of JUnit.

use crate::junit::{Case, Outcome, Problem, Report, Suite};
use crate::runs::Folded;
use crate::text::clean;
use crate::types::{self, ConformanceReport, Evidence, Scenario, Stage};

/// A suite for each stage. A provisional scenario never fails a build: what went wrong is the reason of its skip.
impl From<&ConformanceReport> for Report {
    fn from(report: &ConformanceReport) -> Report {
        let stages = [Stage::Core, Stage::Extended, Stage::Provisional];
        let suites = stages.map(|stage| Suite {
            name: format!("{} {} {stage}", report.run.profile.name, report.run.profile.version),
            properties: vec![
                ("result", report.result.to_string()),
                ("ruleSet", report.run.judging.rule_set.clone()),
                ("seed", report.run.seed.to_string()),
            ],
            cases: report.of_stage(stage).map(|it| case(report, &it)).collect(),
        });
        let suites = suites.into_iter().filter(|suite| !suite.cases.is_empty()).collect();
        Report { name: "jobcheck conform", suites }
    }
}

fn case(report: &ConformanceReport, folded: &Folded<'_>) -> Case {
    let scenario = &*folded.scenario;
    let runs = folded.tally().map(|it| ("runs", clean(&it)));
    let requirements = scenario.requirements.iter().map(|id| ("requirement", id.clone()));
    Case {
        name: scenario.id.clone(),
        class: Some(format!("jobcheck.{}", report.run.profile.name)),
        properties: std::iter::once(("digest", scenario.digest.clone()))
            .chain(requirements)
            .chain(runs)
            .collect(),
        outcome: outcome(folded),
        ..Case::default()
    }
}

fn outcome(folded: &Folded<'_>) -> Outcome {
    let scenario = &*folded.scenario;
    let headline = headline(folded);
    let problem = |kind: &str| Problem {
        kind: kind.to_owned(),
        message: headline.clone(),
        detail: (!scenario.evidence.is_empty()).then(|| details(scenario)),
    };
    match scenario.outcome {
        // A run that was left out may have failed.
        types::Outcome::Pass if folded.lacks_runs() => Outcome::Skipped(headline),
        types::Outcome::Pass => Outcome::Passed,
        types::Outcome::Skip => Outcome::Skipped(clean(&scenario.reason)),
        types::Outcome::Disabled => Outcome::Skipped(format!("disabled: {}", clean(&scenario.reason))),
        other if scenario.stage == Stage::Provisional => {
            Outcome::Skipped(format!("provisional: {other}: {headline}"))
        }
        types::Outcome::Fail => {
            Outcome::Failed(problem(scenario.evidence.first().map_or("", |it| &it.requirement)))
        }
        other => Outcome::Errored(problem(&other.to_string())),
    }
}

/// The first problem, in one line. The reason has the numbers of several runs, too.
fn headline(folded: &Folded<'_>) -> String {
    let scenario = &*folded.scenario;
    match (scenario.evidence.first(), folded.tally()) {
        (Some(evidence), tally) => {
            let tally = tally.map(|it| format!("{it}; ")).unwrap_or_default();
            clean(&format!("{tally}{}: {}", evidence.requirement, evidence.sentence))
        }
        (None, _) => clean(&scenario.reason),
    }
}

fn details(scenario: &Scenario) -> String {
    let lines = scenario.evidence.iter().map(|it| format!("{} ({})", clean(&it.sentence), place(it)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The requirement and the place of an evidence, such as `MR-20, traces/a.jsonl:3, 17`.
pub(crate) fn place(evidence: &Evidence) -> String {
    let lines: Vec<String> = evidence.lines.iter().map(u64::to_string).collect();
    let place = match (&evidence.trace, &lines[..]) {
        (None, _) => String::new(),
        (Some(trace), []) => format!(", {trace}"),
        (Some(trace), _) => format!(", {trace}:{}", lines.join(", ")),
    };
    clean(&format!("{}{place}", evidence.requirement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, report};
    use types::Outcome as Of;

    #[test]
    fn the_runs_of_a_scenario_are_one_case() {
        let scenarios = repeated("mirror/a", Stage::Core, &[Of::Pass, Of::Fail, Of::Pass]);
        let run = types::Run { repeat: Some(3), ..types::Run::default() };
        let xml = Report::from(&ConformanceReport::new(run, scenarios)).render();
        let tally = "flaky: fails in 1 of 3 runs (MR-20), passes in 2";
        for text in [
            r#"tests="1" skipped="0" failures="1" errors="0">"#.to_owned(),
            format!(r#"<failure message="{tally}; MR-20: expected the end of the copy, found none""#),
            format!(r#"<property name="runs" value="{tally}"/>"#),
        ] {
            assert!(xml.contains(&text), "{text}\n{xml}");
        }
    }

    #[test]
    fn a_report_is_a_suite_for_each_stage() {
        let mut report = report(&[
            (Stage::Core, Of::Pass),
            (Stage::Core, Of::Fail),
            (Stage::Core, Of::Skip),
            (Stage::Core, Of::Error),
            (Stage::Extended, Of::Disabled),
            (Stage::Provisional, Of::Fail),
        ]);
        report.run.profile = types::Profile { name: "mirror".to_owned(), version: "v1alpha1".to_owned() };
        report.scenarios[1].evidence[0].trace = Some("traces/<a>".to_owned());
        report.scenarios[1].evidence[0].lines = vec![3, 17];
        let xml = Report::from(&report).render();
        for text in [
            r#"<testsuites name="jobcheck conform" tests="6" skipped="3" failures="1" errors="1">"#,
            r#"<testsuite name="mirror v1alpha1 core" tests="4" skipped="1" errors="1" failures="1">"#,
            r#"<failure message="MR-20: expected the end of the copy, found none" type="MR-20">"#,
            "expected the end of the copy, found none (MR-20, traces/&lt;a&gt;:3, 17)</failure>",
            r#"<skipped message="as the test wants it"/>"#,
            r#"<error message="as the test wants it" type="error"/>"#,
            r#"<skipped message="disabled: as the test wants it"/>"#,
            r#"<skipped message="provisional: fail: MR-20: expected the end of the copy, found none"/>"#,
        ] {
            assert!(xml.contains(text), "{text}\n{xml}");
        }
    }
}
