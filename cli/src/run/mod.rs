//! `jobcheck run`: runs scenarios on targets, and compares the targets.
//!
//! | module | content |
//! | --- | --- |
//! | `args`, `target`, `files` | the arguments, the targets, and the scenarios |
//! | `cluster` | runs on real API servers |
//! | `report`, `text`, `junit`, `compare` | results and their reports |

mod args;
#[cfg(feature = "cluster")]
mod cluster;
mod compare;
mod files;
mod junit;
mod report;
mod target;
mod text;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jobcheck_explorer::check::{Bounds, Cut, Outcome};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::{Scenario, model};
use jobcheck_traces::format_duration;

pub use self::args::RunArgs;
#[cfg(feature = "cluster")]
pub use self::report::{Execution, Run};
#[cfg(not(feature = "cluster"))]
use self::report::{Execution, Run};
use self::report::{InputProblem, Report, SimFailure, SimRun};
pub use self::target::Target;
use crate::format::Format;
use crate::global::Global;
use crate::interrupt::Interrupt;
#[cfg(feature = "cluster")]
use crate::real_cluster::Session;
use crate::save::{Folder, Saved};
use crate::text::{Text, clean};
use crate::{check, memory, output};

/// A scenario with its file, or its name in the library.
type Named = (String, Arc<Scenario>);

/// Runs scenarios, and prints the report. Returns the exit code.
pub fn run(args: &RunArgs, global: &Global) -> Exit {
    let on_sim = args.mutant.filter(|_| args.targets.contains(&Target::Sim));
    if let Some(why) = args.objection().or_else(|| on_sim.and_then(check::not_in_the_plan)) {
        output::error(why);
        return Exit::Unreadable;
    }
    if args.list {
        return list(args);
    }
    let report = run_all(args, global, None);
    for problem in &report.problems {
        output::error(problem.message());
    }
    let rendered = match args.output {
        Format::Junit => Ok(junit::render(&report, args)),
        other => other.render(|| text::render(&report, args, global), || report::whole(&report, args)),
    };
    let exit = output::print_report(rendered, args.output, report.exit());
    match args.folder() {
        Some(folder) if !save(folder, &report.runs) => Exit::Environment,
        Some(_) | None => exit,
    }
}

/// Prints the name and the subject of each scenario.
fn list(args: &RunArgs) -> Exit {
    let (mut text, mut exit) = (Text::default(), Exit::Conforms);
    for source in files::collect(&args.scenarios) {
        match source.and_then(|source| Ok((source.read()?, source.name))) {
            Ok((scenario, name)) => {
                let _ = writeln!(text, "{:<30}  {}", clean(&name), clean(&scenario.about));
            }
            Err(problem) => {
                output::error(problem.message());
                exit = Exit::Unreadable;
            }
        }
    }
    output::print_text(&text.finish(), exit)
}

/// The results of scenarios on sim.
pub struct OnSim {
    /// The number of scenarios.
    pub scenarios: usize,
    /// The number of runs.
    pub runs: u64,
    /// The number of requests of all runs.
    pub requests: usize,
    /// The exit code.
    pub exit: Exit,
    /// The problems, a line each.
    pub problems: Vec<String>,
    /// The report for programs.
    pub report: anyhow::Result<serde_json::Value>,
}

/// Runs scenarios on sim. The traces of failures are written to a directory.
pub fn on_sim(args: &RunArgs, directory: &Path, interrupt: &Interrupt) -> OnSim {
    let report = run_all(args, &Global::silent(), Some(interrupt));
    let sims = || report.runs.iter().filter_map(Run::on_sim);
    let problem = |run: &Run| Some(format!("{}: {}", run.file, run.why()?));
    let unreadable = report.problems.iter().map(InputProblem::message);
    let problems: Vec<String> = report.runs.iter().filter_map(problem).chain(unreadable).collect();
    if !problems.is_empty() && !interrupt.is_set() {
        save(Folder { directory, redacts: args.redact, pages: true }, &report.runs);
    }
    OnSim {
        scenarios: report.runs.len() + report.problems.len(),
        runs: sims().map(|it| it.runs).sum(),
        requests: sims().map(|it| it.requests).sum(),
        exit: report.exit(),
        problems,
        report: serde_json::to_value(report::whole(&report, args)).map_err(anyhow::Error::from),
    }
}

/// Runs scenarios on the target external, without a report.
#[cfg(feature = "cluster")]
pub fn on_external(args: &RunArgs, global: &Global) -> Vec<Run> {
    run_all(args, global, None).runs
}

/// Writes counterexamples and recordings as native traces. Returns whether that succeeded.
pub fn save(folder: Folder<'_>, runs: &[Run]) -> bool {
    let counterexamples = runs.iter().filter_map(|run| {
        let model = run.on_model()?;
        let found = model.found()?;
        Some(Saved {
            name: &run.scenario.name,
            scope: &model.scope,
            path: &found.path,
            requirement: model.requirement,
            why: &found.why,
        })
    });
    let traces = runs.iter().filter_map(|run| {
        let name = &run.scenario.name;
        match &run.execution {
            Execution::Cluster(it) => Some((format!("{name}-{}", run.target.name()), it.trace.as_slice())),
            Execution::Sim(it) => {
                let outcome = &it.failure.as_ref()?.outcome;
                Some((format!("{name}-seed-{}", outcome.seed), outcome.trace.as_slice()))
            }
            Execution::Model(_) | Execution::NotRun(_) | Execution::Failed { .. } => None,
        }
    });
    let traces: Vec<_> = traces.collect();
    if traces.is_empty() {
        return crate::save::save(folder, counterexamples);
    }
    crate::save::save_traces(folder, traces)
        && (!runs.iter().any(|run| run.on_model().is_some()) || crate::save::save(folder, counterexamples))
}

/// Runs the scenarios on each target. Without an `interrupt`, the function listens to signals itself.
fn run_all(args: &RunArgs, global: &Global, interrupt: Option<&Interrupt>) -> Report {
    let mut report = Report::default();
    let mut scenarios: Vec<Named> = Vec::new();
    for source in files::collect(&args.scenarios) {
        match source.and_then(|source| Ok((source.read()?, source.name))) {
            Ok((scenario, file)) => scenarios.push((file, Arc::new(scenario))),
            Err(problem) => report.problems.push(problem),
        }
    }
    #[cfg(feature = "cluster")]
    if args.targets.iter().any(|target| target.is_real()) {
        run_with_clusters(args, global, &scenarios, &mut report);
        return report;
    }
    #[cfg(not(feature = "cluster"))]
    let _ = global;
    let listening = interrupt.cloned().unwrap_or_else(Interrupt::listen);
    for target in &args.targets {
        let scenarios = meant_for(*target, &scenarios, args, &mut report);
        run_here(*target, &scenarios, args, &listening, &mut report);
    }
    report
}

/// The scenarios that a target is to run. A scenario for other targets is not run; the report lists it if its file was
/// named.
fn meant_for(target: Target, all: &[Named], args: &RunArgs, report: &mut Report) -> Vec<Named> {
    let is_for = |scenario: &Scenario| {
        scenario.targets.is_empty() || scenario.targets.contains(&target.scenarios_name())
    };
    let (meant, others): (Vec<Named>, Vec<Named>) = all.iter().cloned().partition(|(_, it)| is_for(it));
    let is_named = |file: &str| args.scenarios.iter().any(|path| path == Path::new(file));
    for (file, scenario) in others {
        let names: Vec<&str> = scenario.targets.iter().map(|it| it.name()).collect();
        let why = format!("its targets are {}", names.join(", "));
        if is_named(&file) {
            let execution = Execution::NotRun(why);
            report.runs.push(Run { file, scenario, target, execution, elapsed: Duration::ZERO });
        } else {
            output::note(format!("{file} is not run on {}: {why}", target.name()));
        }
    }
    meant
}

/// Runs the scenarios on each target, of which at least one is a cluster. One session serves all targets, so that one
/// Ctrl-C ends them all.
#[cfg(feature = "cluster")]
fn run_with_clusters(args: &RunArgs, global: &Global, scenarios: &[Named], report: &mut Report) {
    let session = Session::new();
    let stop = session.as_ref().map(|session| session.stop.clone()).unwrap_or_default();
    let interrupt = Interrupt::from(move || stop.is_cancelled());
    for target in &args.targets {
        let scenarios = &meant_for(*target, scenarios, args, report);
        match &session {
            _ if !target.is_real() => run_here(*target, scenarios, args, &interrupt, report),
            Ok(session) => report.runs.extend(cluster::run_all(session, *target, scenarios, args, global)),
            Err(error) => report.runs.extend(cluster::failures(*target, scenarios, error)),
        }
    }
}

/// The limits of all scenarios on a target.
struct Limits<'a> {
    budget: Duration,
    end: Option<Instant>,
    max_memory: Option<u64>,
    interrupt: &'a Interrupt,
}

impl Limits<'_> {
    fn new<'a>(args: &RunArgs, interrupt: &'a Interrupt) -> Limits<'a> {
        let budget = args.budget.unwrap_or(BUDGET);
        let end = Instant::now().checked_add(budget);
        Limits { budget, end, max_memory: memory::limit(args.max_memory), interrupt }
    }

    /// The reason why no further run begins.
    fn reached(&self) -> Option<String> {
        if self.interrupt.is_set() {
            return Some("interrupted".to_owned());
        }
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return Some(format!("the time of --budget ({}) ended", format_duration(self.budget)));
        }
        let most = self.max_memory.filter(|most| memory::used().is_some_and(|used| used > *most))?;
        Some(format!("the limit of {} MB of --max-memory was reached", most / 1_000_000))
    }
}

/// The time of `--budget` if it is not given.
const BUDGET: Duration = Duration::from_secs(3600);

/// Runs scenarios in this process.
fn run_here(target: Target, scenarios: &[Named], args: &RunArgs, interrupt: &Interrupt, report: &mut Report) {
    let limits = Limits::new(args, interrupt);
    for (file, scenario) in scenarios {
        let begun = Instant::now();
        let execution = match target {
            _ if interrupt.is_set() => Ok(Execution::NotRun("interrupted".to_owned())),
            Target::Model => explore(file, scenario, args, &limits),
            _ => simulate(file, scenario, args, &limits),
        };
        let (file, scenario) = (file.clone(), Arc::clone(scenario));
        match execution {
            Ok(execution) => {
                report.runs.push(Run { file, scenario, target, execution, elapsed: begun.elapsed() });
            }
            Err(problem) => report.problems.push(problem),
        }
    }
}

/// Explores every interleaving of a scenario with the reference algorithm.
fn explore(
    file: &str,
    scenario: &Scenario,
    args: &RunArgs,
    limits: &Limits<'_>,
) -> Result<Execution, InputProblem> {
    let bounds = check::measured(1, &limits.interrupt.or_after(limits.end));
    let bounds = Bounds { max_states: Some(args.max_states), max_memory: limits.max_memory, ..bounds };
    let run = model::run(scenario, args.mutant, &bounds).map_err(|error| InputProblem::of(file, &error))?;
    let is_cut = matches!(run.exploration.outcome, Outcome::NotFinished(Cut::Time));
    if is_cut && limits.interrupt.is_set() {
        return Ok(Execution::NotRun("interrupted".to_owned()));
    }
    Ok(Execution::Model(Box::new(run)))
}

/// Runs a scenario on sim with one seed after the other, up to the first failure.
fn simulate(
    file: &str,
    scenario: &Scenario,
    args: &RunArgs,
    limits: &Limits<'_>,
) -> Result<Execution, InputProblem> {
    scenario.check_size().map_err(|error| InputProblem::of(file, &error))?;
    let mut run = SimRun { runs: 0, requests: 0, rests: Vec::new(), failure: None };
    let mutations = Mutations::of(args.mutant.map_or(&[], |mutant| mutant.mutations));
    let rules = args.kubernetes.unwrap_or_default().rules();
    // Behind the last seed comes the first one.
    for seed in (0..args.runs).map(|run| args.seed.wrapping_add(run)) {
        let reached = Mutex::new(limits.reached());
        let stop = || {
            let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
            *reached = reached.take().or_else(|| limits.reached());
            reached.is_some()
        };
        let ran = jobcheck_sim::run_until(rules, scenario, seed, &mutations, &stop).map_err(|why| {
            InputProblem::whole(Path::new(file), &format!("the API server refuses a Job: {why}"))
        })?;
        let Some(outcome) = ran else {
            let why = reached.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
            return Ok(Execution::NotRun(format!("{why} after {}", output::count(run.runs, "run"))));
        };
        run.runs += 1;
        run.requests += outcome.requests;
        if run.runs == 1 {
            run.rests.clone_from(&outcome.states);
        }
        if outcome.exit() != Exit::Conforms {
            let (requirement, why) = outcome.finding();
            run.failure = Some(Box::new(SimFailure { outcome, requirement, why }));
            break;
        }
    }
    Ok(Execution::Sim(run))
}
