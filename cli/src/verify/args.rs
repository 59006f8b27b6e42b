//! Arguments of `jobcheck verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_judge::report::Exit;
use jobcheck_traces::parse_duration;

use crate::format::Format;
use crate::memory::{self, Output};
use crate::parse::{DEFAULT_BUDGET, size, threads};
use crate::replay::Limit;

/// Arguments of `jobcheck verify`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct VerifyArgs {
    /// Verify this part alone, such as `scenarios`; by default all parts. Can be repeated.
    #[arg(long = "part", value_name = "PART", hide_possible_values = true)]
    pub parts: Vec<PartName>,
    /// Run the scenarios of this directory; by default the library that is part of this binary.
    #[arg(long, value_name = "DIR")]
    pub scenarios: Option<PathBuf>,
    /// Number of runs of each scenario, with consecutive seeds.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub runs: u64,
    /// Judge the traces of this directory; by default the corpus that is part of this binary.
    ///
    /// The traces in `recordings/` must conform. Each trace in `invalid/` must break the requirement in its name.
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Write the reports and counterexamples to this directory.
    #[arg(long, value_name = "DIR", default_value = "target/jobcheck")]
    pub report: PathBuf,
    /// Number of threads; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// End each part that reads files once this much memory is used; by default three quarters of what is available.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// End each part that reads files after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = DEFAULT_BUDGET)]
    pub budget: Duration,
    /// Form of the summary. Schema: docs/reference/schemas/verify.schema.json.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

/// A part of the verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartName {
    /// The specification, and the reference algorithm.
    Specification,
    /// Our own controllers.
    ShippedControllers,
    /// The protocol for managers that write status alone.
    MirrorProtocol,
    /// Our controllers on the embedded API server.
    Scenarios,
    /// Traces that must conform.
    Recordings,
    /// Traces that must be rejected.
    InvalidTraces,
}

impl PartName {
    /// The name in the summary. The name on the command line has hyphens.
    pub fn text(self) -> &'static str {
        match self {
            PartName::Specification => "specification",
            PartName::ShippedControllers => "shipped controllers",
            PartName::MirrorProtocol => "mirror protocol",
            PartName::Scenarios => "scenarios",
            PartName::Recordings => "recordings",
            PartName::InvalidTraces => "invalid traces",
        }
    }
}

const AFTER_HELP: &str = "\
The parts, none of which needs a cluster or a checkout:
  specification        every property holds in the quick scopes, for the
                       specification and for the reference algorithm
  shipped controllers  the same for our own controllers; the specification
                       admits each of their writes
  mirror protocol      the protocol for managers that write status alone, in
                       the default scopes between two clusters
  scenarios            our controllers on the embedded API server, with
                       different orders of events
  recordings           traces of the built-in controller conform
  invalid traces       each is rejected for the requirement that it breaks

All parts take about a minute on two cores. The report directory gets
index.html to look at, verify.json and a report of each part for programs, and
counterexamples/.

Examples:
  jobcheck verify
  jobcheck verify --runs 1 -o json
  jobcheck verify --part recordings --part invalid-traces
  jobcheck verify --scenarios my-scenarios --report my-report

Ctrl-C ends the current part, and the summary of the parts so far is printed.

Exit codes:
  0  every part holds, or every chosen one
  1  a part does not hold; the summary names the reasons
  2  wrong usage, or an unreadable file
  3  a part was not run or was interrupted, which is not a pass
  4  the report cannot be written
  5  internal error: please report it";

impl VerifyArgs {
    /// Returns true for a part that the user has chosen, or if none is chosen.
    pub fn has(&self, part: PartName) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// The result of everything that is verified, in words.
    pub fn summary(&self, exit: Exit) -> &'static str {
        match (exit, self.parts.is_empty()) {
            (Exit::Conforms, true) => "every part holds",
            (Exit::Conforms, false) => "every chosen part holds",
            (Exit::Inconclusive, true) => "not every part was verified",
            (Exit::Inconclusive, false) => "not every chosen part was verified",
            (_, true) => "not every part holds",
            (_, false) => "not every chosen part holds",
        }
    }

    /// The limits of a part that reads traces, from now on.
    pub fn limit(&self) -> Limit {
        Limit::new(memory::limit(self.max_memory), Output::Document, self.budget)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        verify: VerifyArgs,
    }

    #[test]
    fn the_result_of_some_parts_is_not_that_of_all() {
        let of = |arguments: &[&str], exit| Cli::parse_from(arguments).verify.summary(exit);
        assert_eq!(of(&["x"], Exit::Violates), "not every part holds");
        assert_eq!(of(&["x"], Exit::Inconclusive), "not every part was verified");
        assert_eq!(of(&["x", "--part", "scenarios"], Exit::Conforms), "every chosen part holds");
    }
}
