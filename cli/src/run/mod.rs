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
use jobcheck_harness::scenario::model;
use jobcheck_model::check::Bounds;

use self::args::Format;
pub use self::args::RunArgs;
use self::files::Source;
use self::report::{InputProblem, Run};
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
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for source in files::collect(&args.scenarios) {
        match source.and_then(|source| run_one(&source, args)) {
            Ok(run) => runs.push(run),
            Err(problem) => problems.push(problem),
        }
    }
    for problem in &problems {
        eprintln!("error: {}", output::clean(&problem.told()));
    }
    let report = Report { runs, problems };
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

/// Writes the counterexamples as native traces. Says whether that succeeded.
fn save(directory: &Path, runs: &[Run]) -> bool {
    let found = runs.iter().filter_map(|run| {
        let found = run.came.found()?;
        Some(Counterexample {
            name: &run.scenario.name,
            scope: &run.came.scope,
            path: &found.path,
            requirement: run.came.requirement,
            why: &found.why,
        })
    });
    crate::save::save(directory, found)
}

fn run_one(source: &Source, args: &RunArgs) -> Result<Run, InputProblem> {
    let scenario = source.read()?;
    let begun = Instant::now();
    let bounds = Bounds { max_states: Some(args.max_states), ..Bounds::none(1) };
    let came = model::run(&scenario, args.mutant, &bounds);
    let came = came.map_err(|error| InputProblem::of(&source.name, &error))?;
    Ok(Run { file: source.name.clone(), scenario, came, elapsed: begun.elapsed() })
}
