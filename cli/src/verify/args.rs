//! Arguments of `jobcheck verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::check::threads;

/// Arguments of `jobcheck verify`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct VerifyArgs {
    /// Scenarios that the shipped controllers run.
    #[arg(long, value_name = "DIR", default_value = "tests/scenarios")]
    pub scenarios: PathBuf,
    /// How often each is run, with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub runs: u64,
    /// Traces: `recordings/` in it must conform, and each of `invalid/` break the requirement that its name begins with.
    #[arg(long, value_name = "DIR", default_value = "traces/corpus")]
    pub corpus: PathBuf,
    /// Where the reports and counterexamples go.
    #[arg(long, value_name = "DIR", default_value = "target/jobcheck")]
    pub report: PathBuf,
    /// Threads; as many as there are processors if not given.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Form of the summary.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Form of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people. It is no interface: json is.
    Text,
    /// As verify.json in the report folder.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
What is verified, without a cluster:
  specification         each property holds in the quick scopes, with the specification and with the reference algorithm
  shipped controllers   the same of the decisions of our own controllers, and each of their writes is admitted
  scenarios             the shipped controllers on the embedded API server, in orders that seeds choose
  recordings            traces of the built-in controller conform
  invalid traces        each is rejected for the requirement that it breaks

The report folder has verify.json, a report of each part for programs, and counterexamples/.

Exit codes:
  0  all of it holds
  1  something does not, and the summary names it
  2  wrong usage, or a file that cannot be read
  3  something was not run, such as a folder that is not there: it is not passed
  4  the report cannot be written
  5  internal error: please report it";
