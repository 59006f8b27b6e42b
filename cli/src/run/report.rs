//! What runs of scenarios came to, and the report for programs: docs/reference/schemas/run.schema.json.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_explorer::check::{Cut, Outcome};
use jobcheck_explorer::narrative;
use jobcheck_explorer::script::AT_REST;
use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_scenario::model::ModelRun;
use jobcheck_scenario::runtime::QuiescentState;
use jobcheck_scenario::{Scenario, ScenarioError};
use jobcheck_spec::Req;
use serde::Serialize;

use super::Report;
use super::args::RunArgs;
use super::compare::{Comparison, compare};
use super::target::Target;

/// What a scenario came to on a target.
pub enum Came {
    /// On the model.
    Model(Box<ModelRun>),
    /// On the embedded API server.
    Sim(SimRun),
    /// On a real API server.
    Live(Box<jobcheck_live::Outcome>),
    /// It cannot be run on that target, and why.
    NotRun(String),
    /// It was not run, since something failed.
    Failed {
        /// What.
        why: String,
        /// What that comes to.
        exit: Exit,
    },
}

/// Runs of a scenario with many seeds.
pub struct SimRun {
    /// Runs that were made: they end with the first that is wrong.
    pub runs: u64,
    /// Requests of all of them.
    pub requests: usize,
    /// What stood at each rest of the first run.
    pub rests: Vec<QuiescentState>,
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
    pub scenario: Arc<Scenario>,
    /// What ran it.
    pub target: Target,
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
            Came::Sim(_) | Came::Live(_) | Came::NotRun(_) | Came::Failed { .. } => None,
        }
    }

    /// What it came to on the embedded API server, if that was the target.
    pub fn on_sim(&self) -> Option<&SimRun> {
        match &self.came {
            Came::Sim(came) => Some(came),
            Came::Model(_) | Came::Live(_) | Came::NotRun(_) | Came::Failed { .. } => None,
        }
    }

    /// What it came to on a real API server, if that was the target.
    pub fn on_live(&self) -> Option<&jobcheck_live::Outcome> {
        match &self.came {
            Came::Live(came) => Some(came),
            Came::Model(_) | Came::Sim(_) | Came::NotRun(_) | Came::Failed { .. } => None,
        }
    }

    /// The minor version of Kubernetes whose rules a recording was judged by.
    pub fn kubernetes(&self) -> Option<&str> {
        let report = match &self.came {
            Came::Sim(came) => came.wrong.as_ref().map(|wrong| &wrong.outcome.report),
            Came::Live(came) => Some(&came.report),
            Came::Model(_) | Came::NotRun(_) | Came::Failed { .. } => None,
        };
        Some(&*report?.traces.first()?.kubernetes)
    }

    /// What stood at each rest, where a run and not a search was made.
    pub fn rests(&self) -> Option<&[QuiescentState]> {
        match &self.came {
            Came::Sim(came) => Some(&came.rests),
            Came::Live(came) => Some(&came.states),
            Came::Model(_) | Came::NotRun(_) | Came::Failed { .. } => None,
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
            Came::Live(came) => came.exit(),
            Came::NotRun(_) => Exit::Inconclusive,
            Came::Failed { exit, .. } => *exit,
        }
    }

    /// The requirement that is broken.
    pub fn requirement(&self) -> Option<Req> {
        match &self.came {
            Came::Model(came) => came.requirement,
            Came::Sim(came) => came.wrong.as_ref().and_then(|wrong| wrong.requirement),
            Came::Live(came) => came.found().and_then(|found| found.requirement),
            Came::NotRun(_) | Came::Failed { .. } => None,
        }
    }

    /// The documented deviation of the built-in controllers that it is.
    pub fn known(&self) -> Option<Req> {
        self.on_live()?.found()?.known
    }

    /// What is wrong.
    pub fn why(&self) -> Option<String> {
        match &self.came {
            Came::Model(came) => came.found().map(|found| found.why.clone()),
            Came::Sim(came) => came.wrong.as_ref().map(|wrong| wrong.why.clone()),
            Came::Live(came) => came.found().map(|found| found.why),
            Came::NotRun(why) | Came::Failed { why, .. } => Some(why.clone()),
        }
    }

    /// The same in a word.
    pub fn result(&self) -> &'static str {
        match (&self.came, self.exit()) {
            (Came::NotRun(_), _) => "notRun",
            (Came::Failed { .. }, _) => "failed",
            (_, Exit::Violates) => "broken",
            (_, Exit::Conforms) => "holds",
            (Came::Live(_), _) => "inconclusive",
            _ => "notFinished",
        }
    }

    /// The same for people, with the documented deviation that it is.
    pub fn word(&self) -> String {
        match (self.known(), self.result()) {
            (Some(known), _) => format!("KNOWN {known}"),
            (None, "notFinished") => "not finished".to_owned(),
            (None, "notRun") => "not run".to_owned(),
            (None, word) => word.to_owned(),
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
    targets: Vec<&'static str>,
    not_run_on: Vec<&'static str>,
    mutant: Option<&'static str>,
    scenarios: Vec<ScenarioReport<'a>>,
    comparisons: Vec<Comparison<'a>>,
    errors: &'a [InputProblem],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScenarioReport<'a> {
    file: &'a str,
    name: &'a str,
    about: &'a str,
    target: &'static str,
    requirements: Vec<&'static str>,
    result: &'static str,
    limit: Option<&'static str>,
    requirement: Option<&'static str>,
    property: Option<&'static str>,
    known: Option<&'static str>,
    why: Option<String>,
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
    kubernetes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rests: Option<usize>,
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
        targets: args.targets.iter().map(|target| target.name()).collect(),
        not_run_on: left_out(args).into_iter().map(Target::name).collect(),
        mutant: args.mutant.map(|mutant| mutant.id),
        scenarios: report.runs.iter().map(scenario).collect(),
        comparisons: compare(report),
        errors: &report.problems,
    }
}

/// The targets that were not asked for.
pub fn left_out(args: &RunArgs) -> Vec<Target> {
    Target::ALL.into_iter().filter(|target| !args.targets.contains(target)).collect()
}

fn scenario(run: &Run) -> ScenarioReport<'_> {
    let model = run.on_model();
    let found = model.and_then(|came| came.found());
    let told = |came: &ModelRun| found.map(|found| narrative::tell(&came.scope, &found.path));
    let lines = model.and_then(told).unwrap_or_default();
    let exploration = model.map(|came| &came.exploration);
    let sim = run.on_sim();
    ScenarioReport {
        file: &run.file,
        name: &run.scenario.name,
        about: &run.scenario.about,
        target: run.target.name(),
        requirements: run.scenario.requirements.iter().map(|id| id.0.id()).collect(),
        result: run.result(),
        limit: run.limit(),
        requirement: run.requirement().map(Req::id),
        property: found.map(|found| found.property),
        known: run.known().map(Req::id),
        why: run.why(),
        turn: found.and_then(|found| found.turn),
        states: exploration.map(|it| it.states),
        depth: exploration.map(|it| it.depth),
        pods_bound_reached: exploration.map(|it| it.pods_bound_reached),
        runs: sim.map(|it| it.runs),
        requests: sim.map(|it| it.requests).or_else(|| run.on_live().map(|it| it.records)),
        kubernetes: run.kubernetes(),
        rests: run.rests().map(<[QuiescentState]>::len),
        seed: sim.and_then(|it| it.wrong.as_ref()).map(|it| it.outcome.seed),
        seconds: run.elapsed.as_secs_f64(),
        story: lines
            .into_iter()
            .map(|line| StoryLine { who: line.who, what: line.what, status: line.status })
            .collect(),
    }
}
