//! What runs of scenarios came to, and the report for programs: docs/run.schema.json.

use std::path::Path;
use std::time::Duration;

use jobcheck_harness::report::{API_VERSION, Exit};
use jobcheck_harness::scenario::model::ModelRun;
use jobcheck_harness::scenario::{Scenario, ScenarioError};
use jobcheck_model::Req;
use jobcheck_model::check::{Cut, Outcome};
use jobcheck_model::explore::story;
use serde::Serialize;

use super::Report;
use super::args::RunArgs;

/// A scenario, and what it came to.
pub struct Run {
    /// The file, or `-`.
    pub file: String,
    /// The scenario.
    pub scenario: Scenario,
    /// What it came to.
    pub came: ModelRun,
    /// How long that took.
    pub elapsed: Duration,
}

/// A bound that was reached, so that nothing is proved.
const POD_BOUND: &str = "the bound on pods, which the scenario does not set itself (bounds.pods)";

impl Run {
    /// The limit that keeps it from being finished.
    pub fn limit(&self) -> Option<&'static str> {
        match &self.came.exploration.outcome {
            Outcome::NotFinished(Cut::States) => Some("the number of states"),
            Outcome::NotFinished(Cut::Memory) => Some("memory"),
            Outcome::NotFinished(Cut::Time) => Some("time"),
            Outcome::Holds if self.came.exploration.pods_bound_reached && !self.bounds_pods() => {
                Some(POD_BOUND)
            }
            Outcome::Holds | Outcome::Broken(_) => None,
        }
    }

    fn bounds_pods(&self) -> bool {
        self.scenario.bounds.as_ref().is_some_and(|bounds| bounds.pods.is_some())
    }

    /// What it comes to alone.
    pub fn exit(&self) -> Exit {
        match (&self.came.exploration.outcome, self.limit()) {
            (Outcome::Broken(_), _) => Exit::Violates,
            (_, Some(_)) => Exit::Inconclusive,
            (Outcome::Holds | Outcome::NotFinished(_), None) => Exit::Conforms,
        }
    }

    /// The same in a word.
    pub fn result(&self) -> &'static str {
        match self.exit() {
            Exit::Violates => "broken",
            Exit::Conforms => "holds",
            _ => "notFinished",
        }
    }
}

/// A scenario that cannot be run.
#[derive(Serialize)]
pub struct InputProblem {
    file: String,
    line: Option<u64>,
    column: Option<u64>,
    message: String,
}

impl InputProblem {
    /// Something that is wrong with a scenario.
    pub fn of(file: &str, error: &ScenarioError) -> InputProblem {
        let ScenarioError { line, column, message } = error.clone();
        InputProblem { file: file.to_owned(), line, column, message }
    }

    /// A file that cannot be read.
    pub fn unreadable(file: &Path, error: &std::io::Error) -> InputProblem {
        InputProblem::whole(file, &format!("it cannot be read: {error}"))
    }

    /// Something that is wrong with a whole file.
    pub fn whole(file: &Path, message: &str) -> InputProblem {
        let (file, message) = (file.display().to_string(), message.to_owned());
        InputProblem { file, line: None, column: None, message }
    }

    /// File, line, column, and what is wrong.
    pub fn told(&self) -> String {
        let place = |number: Option<u64>| number.map(|number| format!(":{number}")).unwrap_or_default();
        format!("{}{}{}: {}", self.file, place(self.line), place(self.column), self.message)
    }
}

/// The report for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Whole<'a> {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    target: &'static str,
    mutant: Option<&'static str>,
    scenarios: Vec<ScenarioReport<'a>>,
    errors: &'a [InputProblem],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScenarioReport<'a> {
    file: &'a str,
    name: &'a str,
    about: &'a str,
    requirements: Vec<&'static str>,
    result: &'static str,
    limit: Option<&'static str>,
    requirement: Option<&'static str>,
    property: Option<&'static str>,
    why: Option<&'a str>,
    turn: Option<usize>,
    states: usize,
    depth: usize,
    pods_bound_reached: bool,
    seconds: f64,
    story: Vec<StoryLine>,
}

#[derive(Serialize)]
struct StoryLine {
    who: &'static str,
    what: String,
    status: Option<String>,
}

/// The report.
pub fn whole<'a>(report: &'a Report, args: &RunArgs) -> Whole<'a> {
    Whole {
        api_version: API_VERSION,
        kind: "RunReport",
        exit_code: report.exit().code(),
        target: "model",
        mutant: args.mutant.map(|mutant| mutant.id),
        scenarios: report.runs.iter().map(scenario).collect(),
        errors: &report.problems,
    }
}

fn scenario(run: &Run) -> ScenarioReport<'_> {
    let found = run.came.found();
    let lines = found.map(|found| story::tell(&run.came.scope, &found.path)).unwrap_or_default();
    let it = &run.came.exploration;
    ScenarioReport {
        file: &run.file,
        name: &run.scenario.name,
        about: &run.scenario.about,
        requirements: run.scenario.requirements.iter().map(|id| id.0.id()).collect(),
        result: run.result(),
        limit: run.limit(),
        requirement: run.came.requirement.map(Req::id),
        property: found.map(|found| found.property),
        why: found.map(|found| found.why.as_str()),
        turn: found.and_then(|found| found.turn),
        states: it.states,
        depth: it.depth,
        pods_bound_reached: it.pods_bound_reached,
        seconds: run.elapsed.as_secs_f64(),
        story: lines
            .into_iter()
            .map(|line| StoryLine { who: line.who, what: line.what, status: line.status })
            .collect(),
    }
}
