//! What runs of scenarios came to, and the report for programs: docs/run.schema.json.

use std::path::Path;
use std::time::Duration;

use jobcheck_harness::report::{API_VERSION, Exit};
use jobcheck_harness::scenario::model::ModelRun;
use jobcheck_harness::scenario::{Scenario, ScenarioError};
use jobcheck_model::Req;
use jobcheck_model::check::{Cut, Outcome};
use jobcheck_model::explore::story;
use jobcheck_model::script::AT_REST;
use serde::Serialize;

use super::Report;
use super::args::RunArgs;

/// What a scenario came to on a target.
pub enum Came {
    /// On the model.
    Model(Box<ModelRun>),
    /// On the embedded API server.
    Sim(SimRun),
}

/// Runs of a scenario with many seeds.
pub struct SimRun {
    /// Runs that were made: they end with the first that is wrong.
    pub runs: u64,
    /// Requests of all of them.
    pub requests: usize,
    /// The first run that is wrong.
    pub wrong: Option<Box<SimFound>>,
}

/// A run that is wrong.
pub struct SimFound {
    /// What it came to.
    pub outcome: jobcheck_sim::Outcome,
    /// The requirement that is broken; none where something did not happen as the scenario says.
    pub requirement: Option<Req>,
    /// What is wrong.
    pub why: String,
}

/// A scenario, and what it came to.
pub struct Run {
    /// The file, or `-`.
    pub file: String,
    /// The scenario.
    pub scenario: Scenario,
    /// What it came to.
    pub came: Came,
    /// How long that took.
    pub elapsed: Duration,
}

/// A bound that was reached, so that nothing is proved.
const POD_BOUND: &str = "the bound on pods, which the scenario does not set itself (bounds.pods)";

impl Run {
    /// What it came to on the model, if that was the target.
    pub fn on_model(&self) -> Option<&ModelRun> {
        match &self.came {
            Came::Model(came) => Some(came),
            Came::Sim(_) => None,
        }
    }

    /// What it came to on the embedded API server, if that was the target.
    pub fn on_sim(&self) -> Option<&SimRun> {
        match &self.came {
            Came::Model(_) => None,
            Came::Sim(came) => Some(came),
        }
    }

    /// The limit that keeps it from being finished.
    pub fn limit(&self) -> Option<&'static str> {
        let exploration = &self.on_model()?.exploration;
        match &exploration.outcome {
            Outcome::NotFinished(Cut::States) => Some("the number of states"),
            Outcome::NotFinished(Cut::Memory) => Some("memory"),
            Outcome::NotFinished(Cut::Time) => Some("time"),
            Outcome::Broken(found) if found.property != AT_REST => None,
            // More pods might have come, and a step that waits in vain might have become possible.
            Outcome::Holds | Outcome::Broken(_) => {
                (exploration.pods_bound_reached && !self.bounds_pods()).then_some(POD_BOUND)
            }
        }
    }

    fn bounds_pods(&self) -> bool {
        self.scenario.bounds.as_ref().is_some_and(|bounds| bounds.pods.is_some())
    }

    /// What it comes to alone.
    pub fn exit(&self) -> Exit {
        match &self.came {
            Came::Model(_) if self.limit().is_some() => Exit::Inconclusive,
            Came::Model(came) if came.found().is_some() => Exit::Violates,
            Came::Model(_) => Exit::Conforms,
            Came::Sim(came) => came.wrong.as_ref().map_or(Exit::Conforms, |wrong| wrong.outcome.exit()),
        }
    }

    /// The requirement that is broken.
    pub fn requirement(&self) -> Option<Req> {
        match &self.came {
            Came::Model(came) => came.requirement,
            Came::Sim(came) => came.wrong.as_ref().and_then(|wrong| wrong.requirement),
        }
    }

    /// What is wrong.
    pub fn why(&self) -> Option<&str> {
        match &self.came {
            Came::Model(came) => came.found().map(|found| found.why.as_str()),
            Came::Sim(came) => came.wrong.as_ref().map(|wrong| wrong.why.as_str()),
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
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods_bound_reached: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
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
        target: args.target.name(),
        mutant: args.mutant.map(|mutant| mutant.id),
        scenarios: report.runs.iter().map(scenario).collect(),
        errors: &report.problems,
    }
}

fn scenario(run: &Run) -> ScenarioReport<'_> {
    let model = run.on_model();
    let found = model.and_then(|came| came.found());
    let told = |came: &ModelRun| found.map(|found| story::tell(&came.scope, &found.path));
    let lines = model.and_then(told).unwrap_or_default();
    let exploration = model.map(|came| &came.exploration);
    let sim = run.on_sim();
    ScenarioReport {
        file: &run.file,
        name: &run.scenario.name,
        about: &run.scenario.about,
        requirements: run.scenario.requirements.iter().map(|id| id.0.id()).collect(),
        result: run.result(),
        limit: run.limit(),
        requirement: run.requirement().map(Req::id),
        property: found.map(|found| found.property),
        why: run.why(),
        turn: found.and_then(|found| found.turn),
        states: exploration.map(|it| it.states),
        depth: exploration.map(|it| it.depth),
        pods_bound_reached: exploration.map(|it| it.pods_bound_reached),
        runs: sim.map(|it| it.runs),
        requests: sim.map(|it| it.requests),
        seed: sim.and_then(|it| it.wrong.as_ref()).map(|it| it.outcome.seed),
        seconds: run.elapsed.as_secs_f64(),
        story: lines
            .into_iter()
            .map(|line| StoryLine { who: line.who, what: line.what, status: line.status })
            .collect(),
    }
}
