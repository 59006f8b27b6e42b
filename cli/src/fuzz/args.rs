//! Arguments of `jobcheck fuzz`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use jobcheck_model::algorithm::switches::Switches;
use jobcheck_model::mutants::Mutant;

use crate::check::{duration, mutant, processors, threads};

/// How long it searches, where neither time nor number is given.
const USUAL: Duration = Duration::from_secs(60);

/// Arguments of `jobcheck fuzz`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct FuzzArgs {
    /// Replay paths of the model's scopes instead, step by step; of all scopes, if none is named.
    #[arg(long, value_name = "SCOPE", num_args = 0.., conflicts_with = "runs")]
    pub generated: Option<Vec<String>>,
    /// With --generated: take at most so many steps in each scope, whatever the time.
    #[arg(long, value_name = "N", requires = "generated", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub steps: Option<u64>,
    /// End after this time, such as 90s or 10m; without --runs, after a minute if not given.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    /// End after so many runs.
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// The first seed; a new one if none is given. It is printed. Each run has the next one.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads; as many as there are processors if not given. What a seed gives does not depend on them.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Write the shortest scenario of each that is wrong, and its trace, to this directory; and what cannot be judged.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Look for a known defect of `jobcheck mutants`, such as B18, in the plan of the controllers.
    #[arg(long, value_name = "ID", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

impl FuzzArgs {
    /// How long it searches.
    pub fn budget(&self) -> Duration {
        let unbounded = if self.runs.is_some() || self.steps.is_some() { Duration::MAX } else { USUAL };
        self.budget.unwrap_or(unbounded)
    }

    /// Known defects that the controllers have.
    pub fn departures(&self) -> Switches {
        Switches::of(self.mutant.map_or(&[], |mutant| mutant.switches))
    }

    /// How many threads search.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people. It is no interface: json is.
    Text,
    /// docs/fuzz.schema.json; with --generated docs/generated.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
Each run has a random Job and random steps: pods that run, end, and are evicted, edits, crashes, requests that fail or
whose answer is lost, watches that lag. The shipped controllers run it on the embedded API server under virtual time, and
the trace is judged. What is wrong is shortened, and told as a scenario for `jobcheck run --target sim`.

With --generated nothing is random but the order: paths of the graphs that `jobcheck check --subject controller` explores
are replayed on the embedded API server, each request made by the shipped code. After each step its answer, what the
server holds, and what the controllers want next must be what the path says. Kinds of steps that no path took are listed.

Exit codes:
  0  every trace conforms; with --generated every step came to what its path says
  1  something is wrong
  2  wrong usage, or a defect that these controllers cannot have
  3  nothing was run, or a run could not be judged; with --generated a scope was not begun
  4  a file cannot be written
  5  internal error: please report it, with the seed";
