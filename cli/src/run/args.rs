//! Arguments of `jobcheck run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jobcheck_model::mutants::Mutant;

use crate::args::usual;

/// Arguments of `jobcheck run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// Scenarios: files, directories that are searched for *.yaml and *.yml, or - for standard input.
    #[arg(value_name = "SCENARIO", default_value = "scenarios")]
    pub scenarios: Vec<PathBuf>,
    /// What runs them: model explores every interleaving with the reference algorithm; sim runs the decisions of the
    /// shipped controllers on the embedded API server, under virtual time, and judges the traces.
    #[arg(long, value_name = "TARGET", default_value = "model", value_parser = target)]
    pub target: Target,
    /// On sim: run each scenario so many times, each with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub runs: u64,
    /// On sim: the first seed. Seed 0 goes step by step; with others chance decides whose turn it is.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Run with a known defect of `jobcheck mutants`, such as B18: on model in the reference algorithm, on sim in the plan
    /// of the shipped controllers.
    #[arg(long, value_name = "ID", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// On model: give up a scenario after looking at this many states.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub max_states: usize,
    /// Write the counterexample of each that is broken to this directory, as a native trace that `jobcheck replay` judges.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

impl RunArgs {
    /// Those of scenarios on sim, each run so many times.
    pub fn on_sim(scenarios: PathBuf, runs: u64) -> RunArgs {
        RunArgs { scenarios: vec![scenarios], target: Target::Sim, runs, ..usual() }
    }
}

/// What runs scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every interleaving with the reference algorithm.
    Model,
    /// The shipped controllers on the embedded API server.
    Sim,
}

impl Target {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Target::Model => "model",
            Target::Sim => "sim",
        }
    }

    /// The other ones, which are not run.
    pub fn others(self) -> &'static str {
        match self {
            Target::Model => "sim; live, builtin, external are not there yet",
            Target::Sim => "model; live, builtin, external are not there yet",
        }
    }
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// docs/run.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
    /// JUnit XML.
    Junit,
}

const AFTER_HELP: &str = "\
docs/scenario-format.md tells how scenarios are written.

Exit codes:
  0  every scenario holds: no requirement is broken, and every expectation is met
  1  a requirement is broken, or an expectation is not met; the shortest way there is told
  2  a scenario cannot be read, or the target cannot express it (the message names file and line), or wrong usage
  3  not finished: a limit was reached, or a trace cannot be judged
  4  the output cannot be written
  5  internal error: please report it";

fn target(name: &str) -> Result<Target, String> {
    match name {
        "model" => Ok(Target::Model),
        "sim" => Ok(Target::Sim),
        "live" | "builtin" | "external" => {
            Err(format!("the target {name} is not there yet: scenarios run on the targets model and sim"))
        }
        _ => Err(format!("there is no target {name:?}: write model or sim")),
    }
}

fn mutant(id: &str) -> Result<&'static Mutant, String> {
    Mutant::named(id).ok_or_else(|| format!("there is no defect {id:?}: `jobcheck mutants` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_are_to_come_are_told_from_those_that_are_not() {
        for known in [Target::Model, Target::Sim] {
            assert_eq!(target(known.name()), Ok(known));
        }
        for name in ["live", "builtin", "external"] {
            assert!(target(name).unwrap_err().contains("not there yet"));
        }
        assert!(target("modle").unwrap_err().contains("there is no target"));
    }
}
