//! `jobcheck run`: scenarios on a target.

mod args;
mod compare;
mod files;
mod junit;
mod live;
mod report;
mod target;
mod text;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anstream::eprintln;
use jobcheck_explorer::check::Bounds;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::{Scenario, model};

use self::args::Format;
pub use self::args::RunArgs;
use self::live::Named;
use self::report::{Came, InputProblem, Run, SimFound, SimRun};
pub use self::target::Target;
use crate::args::{Color, Global};
use crate::real::Real;
use crate::save::Saved;
use crate::{check, output};

/// Everything that a call came to.
struct Report {
    runs: Vec<Run>,
    problems: Vec<InputProblem>,
}

impl Report {
    /// Of several, the first of 5, 4, 2, 1, 3, 0 (judging.md 5).
    fn exit(&self) -> Exit {
        let problems = self.problems.iter().map(|_| Exit::Unreadable);
        Exit::of_all(problems.chain(self.runs.iter().map(Run::exit)))
    }

    /// What a target came to.
    fn on(&self, target: Target) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.target == target)
    }
}

/// Runs scenarios, prints the report, and returns what it comes to.
pub fn run(args: &RunArgs, global: &Global) -> Exit {
    let on_sim = args.mutant.filter(|_| args.targets.contains(&Target::Sim));
    if let Some(why) = args.objection().or_else(|| on_sim.and_then(check::not_in_the_plan)) {
        eprintln!("error: {why}");
        return Exit::Unreadable;
    }
    let report = run_all(args, global);
    for problem in &report.problems {
        eprintln!("error: {}", output::clean(&problem.told()));
    }
    let exit = report.exit();
    let rendered = match args.output {
        Format::Text => Ok(text::render(&report, args, global)),
        Format::Json => check::to_json(&report::whole(&report, args)),
        Format::Yaml => check::to_yaml(&report::whole(&report, args)),
        Format::Junit => junit::render(&report, args),
    };
    let exit = check::print(rendered, exit);
    match &args.save {
        Some(directory) if !save(directory, &report.runs) => Exit::Environment,
        Some(_) | None => exit,
    }
}

/// What the scenarios of a directory come to on sim.
pub struct OnSim {
    /// How many there are.
    pub scenarios: usize,
    /// How often they ran.
    pub runs: u64,
    /// Requests of all runs.
    pub requests: usize,
    /// The exit code.
    pub exit: Exit,
    /// What is wrong, a line each.
    pub wrong: Vec<String>,
    /// The report for programs.
    pub report: anyhow::Result<serde_json::Value>,
}

/// Runs the scenarios of a directory on sim, each so many times; traces of what is wrong go to another.
pub fn on_sim(scenarios: &Path, runs: u64, kept: &Path) -> OnSim {
    let args = RunArgs::on_sim(scenarios.to_owned(), runs);
    let report = run_all(&args, &Global { color: Color::Never, verbose: false, quiet: true });
    let sims = || report.runs.iter().filter_map(Run::on_sim);
    let told = |run: &Run| Some(format!("{}: {}", run.file, run.why()?));
    let wrong = report.runs.iter().filter_map(told).chain(report.problems.iter().map(InputProblem::told));
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        save(kept, &report.runs);
    }
    OnSim {
        scenarios: report.runs.len() + report.problems.len(),
        runs: sims().map(|it| it.runs).sum(),
        requests: sims().map(|it| it.requests).sum(),
        exit: report.exit(),
        wrong,
        report: serde_json::to_value(report::whole(&report, &args)).map_err(anyhow::Error::from),
    }
}

/// Writes what is wrong as native traces. Says whether that succeeded.
fn save(directory: &Path, runs: &[Run]) -> bool {
    let found = runs.iter().filter_map(|run| {
        let came = run.on_model()?;
        let found = came.found()?;
        Some(Saved {
            name: &run.scenario.name,
            scope: &came.scope,
            path: &found.path,
            requirement: came.requirement,
            why: &found.why,
        })
    });
    let traces = runs.iter().filter_map(|run| {
        let name = &run.scenario.name;
        match &run.came {
            Came::Live(outcome) => Some((format!("{name}-{}", run.target.name()), outcome.trace.as_slice())),
            Came::Sim(came) => {
                let outcome = &came.wrong.as_ref()?.outcome;
                Some((format!("{name}-seed-{}", outcome.seed), outcome.trace.as_slice()))
            }
            Came::Model(_) | Came::NotRun(_) | Came::Failed { .. } => None,
        }
    });
    let traces: Vec<_> = traces.collect();
    if traces.is_empty() {
        return crate::save::save(directory, found);
    }
    crate::save::save_traces(directory, traces)
        && (!runs.iter().any(|run| run.on_model().is_some()) || crate::save::save(directory, found))
}

fn run_all(args: &RunArgs, global: &Global) -> Report {
    let mut report = Report { runs: Vec::new(), problems: Vec::new() };
    let mut scenarios: Vec<Named> = Vec::new();
    for source in files::collect(&args.scenarios) {
        match source.and_then(|source| Ok((source.read()?, source.name))) {
            Ok((scenario, file)) => scenarios.push((file, Arc::new(scenario))),
            Err(problem) => report.problems.push(problem),
        }
    }
    // One for all: whoever stops one target wants no other.
    let real = args.targets.iter().any(|target| target.is_real()).then(Real::new);
    for target in &args.targets {
        match (target, &real) {
            (Target::Live | Target::BuiltIn | Target::External, Some(Ok(real))) => {
                report.runs.extend(live::run_all(real, *target, &scenarios, args, global));
            }
            (Target::Live | Target::BuiltIn | Target::External, Some(Err(error))) => {
                report.runs.extend(live::none(*target, &scenarios, error));
            }
            _ => run_here(*target, &scenarios, args, &mut report),
        }
    }
    report
}

/// Runs scenarios in this process.
fn run_here(target: Target, scenarios: &[Named], args: &RunArgs, report: &mut Report) {
    let end = args.budget.map(|budget| Instant::now() + budget);
    for (file, scenario) in scenarios {
        let begun = Instant::now();
        let came = match target {
            Target::Model => explore(file, scenario, args, end),
            _ => simulate(scenario, args).map(Came::Sim).map_err(|why| {
                InputProblem::whole(Path::new(file), &format!("the API server refuses a Job: {why}"))
            }),
        };
        let (file, scenario) = (file.clone(), Arc::clone(scenario));
        match came {
            Ok(came) => report.runs.push(Run { file, scenario, target, came, elapsed: begun.elapsed() }),
            Err(problem) => report.problems.push(problem),
        }
    }
}

fn explore(
    file: &str,
    scenario: &Scenario,
    args: &RunArgs,
    end: Option<Instant>,
) -> Result<Came, InputProblem> {
    let bounds =
        Bounds { max_states: Some(args.max_states), max_memory: args.max_memory, ..check::measured(1, end) };
    let came = model::run(scenario, args.mutant, &bounds);
    Ok(Came::Model(Box::new(came.map_err(|error| InputProblem::of(file, &error))?)))
}

/// Runs a scenario with one seed after the other, up to the first that is wrong.
fn simulate(scenario: &Scenario, args: &RunArgs) -> Result<SimRun, String> {
    let mut came = SimRun { runs: 0, requests: 0, rests: Vec::new(), wrong: None };
    let mutations = Mutations::of(args.mutant.map_or(&[], |mutant| mutant.mutations));
    let rules = args.kubernetes.unwrap_or_default().rules();
    for seed in (args.seed..).take(usize::try_from(args.runs).unwrap_or(usize::MAX)) {
        let outcome = jobcheck_sim::run_on(rules, scenario, seed, &mutations)?;
        came.runs += 1;
        came.requests += outcome.requests;
        if came.runs == 1 {
            came.rests.clone_from(&outcome.states);
        }
        if outcome.exit() != Exit::Conforms {
            let (requirement, why) = outcome.finding();
            came.wrong = Some(Box::new(SimFound { outcome, requirement, why }));
            break;
        }
    }
    Ok(came)
}
