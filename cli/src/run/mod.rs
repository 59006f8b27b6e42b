//! `jobcheck run`: scenarios on a target.

mod args;
mod files;
mod junit;
mod report;
mod text;

use std::path::Path;
use std::time::Instant;

use anstream::eprintln;
use jobcheck_harness::report::Exit;
use jobcheck_harness::scenario::{Scenario, model};
use jobcheck_model::algorithm::switches::Switches;
use jobcheck_model::check::Bounds;

pub use self::args::RunArgs;
use self::args::{Format, Target};
use self::files::Source;
use self::report::{Came, InputProblem, Run, SimFound, SimRun};
use crate::args::Global;
use crate::save::Counterexample;
use crate::{check, output};

/// Everything that a call came to.
struct Report {
    runs: Vec<Run>,
    problems: Vec<InputProblem>,
}

impl Report {
    /// Of several, the first of 2, 1, 3, 0 (judging.md 5).
    fn exit(&self) -> Exit {
        let is = |exit: Exit| self.runs.iter().any(|run| run.exit() == exit);
        match () {
            () if !self.problems.is_empty() => Exit::Unreadable,
            () if is(Exit::Violates) => Exit::Violates,
            () if is(Exit::Inconclusive) => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Runs scenarios, prints the report, and returns what it comes to.
pub fn run(args: &RunArgs, global: &Global) -> Exit {
    let on_sim = args.mutant.filter(|_| args.target == Target::Sim);
    if let Some(why) = on_sim.and_then(check::not_in_the_plan) {
        eprintln!("error: {why}");
        return Exit::Unreadable;
    }
    let report = run_all(args);
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
    let report = run_all(&args);
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
        Some(Counterexample {
            name: &run.scenario.name,
            scope: &came.scope,
            path: &found.path,
            requirement: came.requirement,
            why: &found.why,
        })
    });
    let of_sim = runs.iter().filter_map(|run| {
        let outcome = &run.on_sim()?.wrong.as_ref()?.outcome;
        Some((format!("{}-seed-{}", run.scenario.name, outcome.seed), outcome.trace.as_slice()))
    });
    let of_sim: Vec<_> = of_sim.collect();
    if of_sim.is_empty() {
        return crate::save::save(directory, found);
    }
    crate::save::save_traces(directory, of_sim)
}

fn run_all(args: &RunArgs) -> Report {
    let mut report = Report { runs: Vec::new(), problems: Vec::new() };
    for source in files::collect(&args.scenarios) {
        match source.and_then(|source| run_one(&source, args)) {
            Ok(run) => report.runs.push(run),
            Err(problem) => report.problems.push(problem),
        }
    }
    report
}

fn run_one(source: &Source, args: &RunArgs) -> Result<Run, InputProblem> {
    let scenario = source.read()?;
    let begun = Instant::now();
    let came = match args.target {
        Target::Model => {
            let bounds = Bounds { max_states: Some(args.max_states), ..Bounds::none(1) };
            let came = model::run(&scenario, args.mutant, &bounds);
            Came::Model(Box::new(came.map_err(|error| InputProblem::of(&source.name, &error))?))
        }
        Target::Sim => Came::Sim(simulate(&scenario, args).map_err(|why| {
            InputProblem::whole(Path::new(&source.name), &format!("the API server refuses a Job: {why}"))
        })?),
    };
    Ok(Run { file: source.name.clone(), scenario, came, elapsed: begun.elapsed() })
}

/// Runs a scenario with one seed after the other, up to the first that is wrong.
fn simulate(scenario: &Scenario, args: &RunArgs) -> Result<SimRun, String> {
    let mut came = SimRun { runs: 0, requests: 0, wrong: None };
    let departures = Switches::of(args.mutant.map_or(&[], |mutant| mutant.switches));
    for seed in (args.seed..).take(usize::try_from(args.runs).unwrap_or(usize::MAX)) {
        let outcome = jobcheck_sim::run(scenario, seed, &departures)?;
        came.runs += 1;
        came.requests += outcome.requests;
        if outcome.exit() != Exit::Conforms {
            let (requirement, why) = outcome.told();
            came.wrong = Some(Box::new(SimFound { outcome, requirement, why }));
            break;
        }
    }
    Ok(came)
}
