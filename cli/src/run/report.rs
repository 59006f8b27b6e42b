//! The results of scenarios, and the report for programs: docs/reference/schemas/run.schema.json.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_explorer::check::{Cut, Outcome};
use jobcheck_explorer::narrative;
use jobcheck_explorer::properties::SCENARIO_COMPLETES;
use jobcheck_judge::report::{API_VERSION, Exit, ReplayReport};
use jobcheck_scenario::model::ModelRun;
use jobcheck_scenario::runtime::{Finding, QuiescentState};
use jobcheck_scenario::{Expected, Scenario, ScenarioError, Shown};
use jobcheck_spec::Req;
use serde::Serialize;

use super::args::RunArgs;
use super::compare::{Comparison, compare};
use super::target::Target;

/// The results of a call.
#[derive(Default)]
pub struct Report {
    /// The scenarios that were run, target by target.
    pub runs: Vec<Run>,
    /// The scenarios that could not be read or expressed.
    pub problems: Vec<InputProblem>,
}

impl Report {
    /// The exit code: the first that occurs in 5, 4, 2, 1, 3, 0 (docs/reference/judging.md, section "5. Verdict and exit
    /// code").
    pub fn exit(&self) -> Exit {
        let problems = self.problems.iter().map(|_| Exit::Unreadable);
        Exit::of_all(problems.chain(self.runs.iter().map(Run::exit)))
    }

    /// The runs on a target.
    pub fn on(&self, target: Target) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.target == target)
    }
}

/// The result of a scenario on a target.
pub enum Execution {
    /// On the model.
    Model(Box<ModelRun>),
    /// On the embedded API server.
    Sim(SimRun),
    /// On a real API server.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "needs a cluster"))]
    Cluster(Box<ClusterRun>),
    /// The target did not run it, for this reason.
    NotRun(String),
    /// Something failed before there was a result.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "needs a cluster"))]
    Failed {
        /// The error.
        why: String,
        /// Its exit code.
        exit: Exit,
    },
}

/// The runs of a scenario on sim, with consecutive seeds.
pub struct SimRun {
    /// The number of runs. The first failure ends them.
    pub runs: u64,
    /// The number of requests of all runs.
    pub requests: usize,
    /// The states at quiescence of the first run.
    pub rests: Vec<QuiescentState>,
    /// The run that failed.
    pub failure: Option<Box<SimFailure>>,
}

/// A run on sim that breaks a requirement or an expectation.
pub struct SimFailure {
    /// The run.
    pub outcome: jobcheck_sim::Outcome,
    /// The requirement; `None` if an expectation of the scenario is not met.
    pub requirement: Option<Req>,
    /// The evidence.
    pub why: String,
}

/// A run on a real API server.
pub struct ClusterRun {
    /// The exit code.
    pub exit: Exit,
    /// The reason for the exit code, if it is not 0.
    pub found: Option<Finding>,
    /// The step or the expectation that did not come in time.
    pub unmet: Option<String>,
    /// The judged recording.
    pub report: ReplayReport,
    /// The number of requests in the recording.
    pub requests: usize,
    /// The states at quiescence.
    pub rests: Vec<QuiescentState>,
    /// The recording, as a native trace.
    pub trace: Vec<u8>,
}

/// A scenario with its result on a target.
pub struct Run {
    /// The file, `-`, or the name in the library.
    pub file: String,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The target.
    pub target: Target,
    /// The result.
    pub execution: Execution,
    /// The time that it took.
    pub elapsed: Duration,
}

/// The limit of a search that was stopped by the default bound on pods.
const POD_BOUND: &str = "the default bound on pods (a scenario can set bounds.pods)";

impl Run {
    /// The result on the model, if that is the target.
    pub fn on_model(&self) -> Option<&ModelRun> {
        match &self.execution {
            Execution::Model(run) => Some(run),
            Execution::Sim(_) | Execution::Cluster(_) | Execution::NotRun(_) | Execution::Failed { .. } => {
                None
            }
        }
    }

    /// The result on sim, if that is the target.
    pub fn on_sim(&self) -> Option<&SimRun> {
        match &self.execution {
            Execution::Sim(run) => Some(run),
            Execution::Model(_) | Execution::Cluster(_) | Execution::NotRun(_) | Execution::Failed { .. } => {
                None
            }
        }
    }

    /// The result on a real API server, if that is the target.
    pub fn on_cluster(&self) -> Option<&ClusterRun> {
        match &self.execution {
            Execution::Cluster(run) => Some(run),
            Execution::Model(_) | Execution::Sim(_) | Execution::NotRun(_) | Execution::Failed { .. } => None,
        }
    }

    /// The minor version of Kubernetes by whose rules a recording was judged.
    pub fn kubernetes(&self) -> Option<&str> {
        let report = match &self.execution {
            Execution::Sim(run) => run.failure.as_ref().map(|failure| &failure.outcome.report),
            Execution::Cluster(run) => Some(&run.report),
            Execution::Model(_) | Execution::NotRun(_) | Execution::Failed { .. } => None,
        };
        Some(&*report?.traces.first()?.kubernetes)
    }

    /// The states at quiescence, if the scenario was run and not explored.
    pub fn rests(&self) -> Option<&[QuiescentState]> {
        match &self.execution {
            Execution::Sim(run) => Some(&run.rests),
            Execution::Cluster(run) => Some(&run.rests),
            Execution::Model(_) | Execution::NotRun(_) | Execution::Failed { .. } => None,
        }
    }

    /// The limit that has stopped a search before its end.
    pub fn limit(&self) -> Option<&'static str> {
        let exploration = &self.on_model()?.exploration;
        match &exploration.outcome {
            Outcome::NotFinished(Cut::States) => Some("the number of states"),
            Outcome::NotFinished(Cut::Memory) => Some("memory"),
            Outcome::NotFinished(Cut::Time) => Some("time"),
            Outcome::Broken(found) if found.property != SCENARIO_COMPLETES => None,
            // With more pods, a step that is not possible could have become possible.
            Outcome::Holds | Outcome::Broken(_) => {
                (exploration.pods_bound_reached && !self.bounds_pods()).then_some(POD_BOUND)
            }
        }
    }

    fn bounds_pods(&self) -> bool {
        self.scenario.bounds.as_ref().is_some_and(|bounds| bounds.pods.is_some())
    }

    /// The exit code of this run alone.
    pub fn exit(&self) -> Exit {
        match &self.execution {
            Execution::Model(_) if self.limit().is_some() => Exit::Inconclusive,
            Execution::Model(run) if run.found().is_some() => Exit::Violates,
            Execution::Model(_) => Exit::Conforms,
            Execution::Sim(run) => {
                run.failure.as_ref().map_or(Exit::Conforms, |failure| failure.outcome.exit())
            }
            Execution::Cluster(run) => self.exit_of(run),
            Execution::NotRun(_) => Exit::Inconclusive,
            Execution::Failed { exit, .. } => *exit,
        }
    }

    /// The exit code of a recording. If the scenario expects deviations of the target, the recording must show them.
    fn exit_of(&self, run: &ClusterRun) -> Exit {
        match self.expected() {
            Some(Expected::Shown(_)) if self.lacks_instead() => Exit::Inconclusive,
            Some(Expected::Shown(_)) => Exit::Conforms,
            Some(Expected::Missing(_)) => Exit::Inconclusive,
            Some(Expected::Others) | None => run.exit,
        }
    }

    /// The deviations that the scenario expects of the target, shown or missing; `None` if it expects none.
    pub fn expected(&self) -> Option<Expected> {
        let report = &self.on_cluster()?.report;
        let is_judged = matches!(report.exit_code, Exit::Conforms | Exit::Violates | Exit::Inconclusive);
        self.scenario.expected_deviations(self.target.scenarios_name(), report).filter(|_| is_judged)
    }

    /// Returns true if the claims of `instead`, which replace `expect` on this target, were not met.
    fn lacks_instead(&self) -> bool {
        let mut deviations = self.scenario.deviations_on(self.target.scenarios_name());
        let says = deviations.any(|it| it.instead.is_some());
        says && self.on_cluster().is_some_and(|run| run.unmet.is_some())
    }

    /// The requirement that is broken.
    pub fn requirement(&self) -> Option<Req> {
        match &self.execution {
            Execution::Model(run) => run.requirement,
            Execution::Sim(run) => run.failure.as_ref().and_then(|failure| failure.requirement),
            Execution::Cluster(run) => run.found.as_ref().and_then(|found| found.requirement),
            Execution::NotRun(_) | Execution::Failed { .. } => None,
        }
    }

    /// The known deviation of the built-in controllers that the run shows.
    pub fn known(&self) -> Option<Req> {
        self.on_cluster()?.found.as_ref()?.known
    }

    /// The reason for the result, if it does not hold.
    pub fn why(&self) -> Option<String> {
        match &self.execution {
            Execution::Model(run) => run.found().map(|found| found.why.clone()),
            Execution::Sim(run) => run.failure.as_ref().map(|failure| failure.why.clone()),
            Execution::Cluster(run) => match self.expected() {
                Some(Expected::Missing(missing)) => {
                    Some(format!("the recording does not show the expected deviation {}", list(&missing)))
                }
                _ => run.found.as_ref().map(|found| found.why.clone()),
            },
            Execution::NotRun(why) | Execution::Failed { why, .. } => Some(why.clone()),
        }
    }

    /// The result as the report for programs has it.
    pub fn result(&self) -> &'static str {
        match (&self.execution, self.exit()) {
            (Execution::NotRun(_), _) => "notRun",
            (Execution::Failed { .. }, _) => "failed",
            (_, Exit::Violates) => "broken",
            (_, Exit::Conforms) if self.expected().is_some() => "deviates",
            (_, Exit::Conforms) => "holds",
            (Execution::Cluster(_), _) => "inconclusive",
            _ => "notFinished",
        }
    }

    /// The result for people, or the known deviation.
    pub fn word(&self) -> String {
        match (self.known(), self.result()) {
            (_, "deviates") => self.expected().map(|it| told(&it)).unwrap_or_default(),
            (Some(known), _) => format!("KNOWN {known}"),
            (None, "notFinished") => "not finished".to_owned(),
            (None, "notRun") => "not run".to_owned(),
            (None, word) => word.to_owned(),
        }
    }
}

fn told(expected: &Expected) -> String {
    match expected {
        Expected::Shown(all) | Expected::Missing(all) => list(all),
        Expected::Others => String::new(),
    }
}

fn list(all: &[Shown]) -> String {
    if all.is_empty() {
        return "differs".to_owned();
    }
    all.iter().map(Shown::to_string).collect::<Vec<_>>().join(", ")
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
    /// An error in a scenario.
    pub fn of(file: &str, error: &ScenarioError) -> InputProblem {
        let ScenarioError { line, column, message } = error.clone();
        InputProblem { file: file.to_owned(), line, column, message }
    }

    /// A file that cannot be read.
    pub fn unreadable(file: &Path, error: &std::io::Error) -> InputProblem {
        InputProblem::whole(file, &format!("cannot be read: {error}"))
    }

    /// An error of a whole file.
    pub fn whole(file: &Path, message: &str) -> InputProblem {
        let (file, message) = (file.to_string_lossy().into_owned(), message.to_owned());
        InputProblem { file, line: None, column: None, message }
    }

    /// The error with file, line and column.
    pub fn message(&self) -> String {
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

/// The report for programs.
pub fn whole<'a>(report: &'a Report, args: &RunArgs) -> Whole<'a> {
    Whole {
        api_version: API_VERSION,
        kind: "RunReport",
        exit_code: report.exit().code(),
        targets: args.targets.iter().map(|target| target.name()).collect(),
        not_run_on: others(args).into_iter().map(Target::name).collect(),
        mutant: args.mutant.map(|mutant| mutant.id),
        scenarios: report.runs.iter().map(scenario).collect(),
        comparisons: compare(report),
        errors: &report.problems,
    }
}

/// The targets on which nothing was run.
pub fn others(args: &RunArgs) -> Vec<Target> {
    Target::ALL.into_iter().filter(|target| !args.targets.contains(target)).collect()
}

fn scenario(run: &Run) -> ScenarioReport<'_> {
    let (model, sim, cluster) = (run.on_model(), run.on_sim(), run.on_cluster());
    let found = model.and_then(|model| model.found());
    let steps = model.zip(found).map(|(model, found)| narrative::lines(&model.scope, &found.path));
    let exploration = model.map(|model| &model.exploration);
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
        turn: found.and_then(|found| found.cycle_start),
        states: exploration.map(|it| it.states),
        depth: exploration.map(|it| it.depth),
        pods_bound_reached: exploration.map(|it| it.pods_bound_reached),
        runs: sim.map(|it| it.runs),
        requests: sim.map(|it| it.requests).or(cluster.map(|it| it.requests)),
        kubernetes: run.kubernetes(),
        rests: run.rests().map(<[QuiescentState]>::len),
        seed: sim.and_then(|it| it.failure.as_ref()).map(|it| it.outcome.seed),
        seconds: run.elapsed.as_secs_f64(),
        story: steps
            .unwrap_or_default()
            .into_iter()
            .map(|line| StoryLine { who: line.who, what: line.what, status: line.status })
            .collect(),
    }
}
