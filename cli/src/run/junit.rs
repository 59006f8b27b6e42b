//! The report as JUnit XML: a suite for each target, and a case for each scenario.

use std::fmt::Write;

use jobcheck_explorer::narrative;
use jobcheck_judge::report::Exit;
use jobcheck_spec::Req;

use super::args::RunArgs;
use super::report::{Report, Run};
use crate::junit::{self, Case, Outcome, Problem, Suite};
use crate::text::clean;

/// The report as XML.
pub fn render(report: &Report, args: &RunArgs) -> String {
    let suites = args.targets.iter().enumerate().map(|(number, target)| {
        let mut cases: Vec<Case> = report.on(*target).map(case).collect();
        if number == 0 {
            let problems = report.problems.iter();
            cases.extend(problems.map(|it| Case::errored("scenario", "unreadable", it.message())));
        }
        let mutant = args.mutant.map(|mutant| ("mutant", mutant.id.to_owned()));
        Suite { name: target.name().to_owned(), properties: mutant.into_iter().collect(), cases }
    });
    junit::Report { name: "jobcheck run", suites: suites.collect() }.render()
}

fn case(run: &Run) -> Case {
    let mut properties = vec![("file", run.file.clone())];
    if let Some(model) = run.on_model() {
        properties.push(("states", model.exploration.states.to_string()));
    }
    if let Some(sim) = run.on_sim() {
        properties.push(("runs", sim.runs.to_string()));
    }
    properties.extend(run.scenario.requirements.iter().map(|id| ("requirement", id.0.id().to_owned())));
    Case {
        name: run.scenario.name.clone(),
        class: Some("jobcheck.scenario".to_owned()),
        time: Some(run.elapsed),
        properties,
        outcome: outcome(run),
        ..Case::default()
    }
}

fn outcome(run: &Run) -> Outcome {
    match (run.exit(), run.why()) {
        (Exit::Conforms, _) => Outcome::Passed,
        (_, Some(why)) if run.result() == "notRun" => Outcome::Skipped(why),
        (Exit::Violates, Some(why)) => {
            let found = run.on_model().and_then(|model| Some((model, model.found()?)));
            let property = found.map(|(_, found)| format!("{}: ", found.property)).unwrap_or_default();
            let known = run.known().map(|known| format!("KNOWN {known}: ")).unwrap_or_default();
            let steps = found.map(|(model, found)| narrative::lines(&model.scope, &found.path));
            let mut detail = String::new();
            for line in steps.unwrap_or_default() {
                let _ = writeln!(detail, "{} {}", line.who, clean(&line.what));
            }
            Outcome::Failed(Problem {
                kind: run.requirement().map_or("expectation", Req::id).to_owned(),
                message: format!("{known}{property}{why}"),
                detail: Some(detail),
            })
        }
        (_, why) => {
            let limit = run.limit().map(str::to_owned);
            let message = limit.or(why).unwrap_or_else(|| "a limit was reached".to_owned());
            Outcome::Errored(Problem { kind: run.word(), message, detail: None })
        }
    }
}
