//! Arguments of `jobcheck check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_explorer::mutants::Mutant;
use jobcheck_managers::any::AnyMutant;
use jobcheck_spec::Req;

use super::subject::Subject;
use crate::format::Format;
use crate::global::defaults;
use crate::parse::{Defect, any_defect, guarded, processors, size, threads};
use crate::save::Folder;
use crate::shard::{Shard, shard};
use jobcheck_traces::parse_duration;

/// Arguments of `jobcheck check`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArgs {
    /// Scopes or families of scopes to explore, such as ttl or crash. By default, the scopes of --scope.
    #[arg(value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// Explore the scopes of this size.
    #[arg(long = "scope", value_enum, value_name = "SIZE", default_value_t = Size::Default, conflicts_with = "scopes")]
    pub size: Size,
    /// List the scopes and their bounds, and end. Scopes that are explored only by name come last.
    #[arg(long)]
    pub list: bool,
    /// List the properties with their requirement and kind, and end.
    #[arg(long, conflicts_with = "list")]
    pub list_properties: bool,
    /// Explore one part of the scopes only: I/N, counted from 0, such as 0/4.
    ///
    /// N alone takes the index from JOB_COMPLETION_INDEX, as the pods of an Indexed Job have it. No part has a scope of
    /// another, and all together are the whole. A part does not check that each property is tested.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Stop after this time, such as 90s or 10m. Scopes that are left then have no result.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Stop the search of a scope after this many states have been explored. Their successors are counted, too.
    #[arg(long, value_name = "N")]
    pub max_states: Option<usize>,
    /// Stop once the process uses this much memory, such as 512MB or 4GB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Number of threads; by default one for each processor. The results do not depend on it.
    ///
    /// Each thread explores a scope of its own. A single scope is explored by all threads.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// The search. `stateright` explores the scopes a second time with that checker, and compares the results.
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = Engine::Jobcheck, conflicts_with_all = ["walks", "dot", "itf", "save", "scenario", "page"])]
    pub engine: Engine,
    /// The system under test: what manages the Jobs.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Subject::All)]
    pub subject: Subject,
    /// Explore with this known defect, such as B18 or K1: the defect's own scope, or the scopes that are named.
    ///
    /// The search stops at the first property that breaks. `jobcheck mutants` looks for the requirement that the
    /// defect is known for, which may be another one.
    #[arg(long, value_name = "DEFECT", value_parser = any_defect)]
    pub mutant: Option<Defect>,
    /// Treat states as equal that differ only in the names of pods and Jobs (symmetry reduction).
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Symmetry::Auto)]
    pub symmetry: Symmetry,
    /// Deliver watch events only when a sync reads the caches (partial-order reduction). No verdict changes.
    ///
    /// With the reduction, a counterexample can be shorter. Events are part of the sync that reads them, and events that
    /// no sync reads are omitted.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = PartialOrder::On)]
    pub partial_order: PartialOrder,
    /// Take this many random walks in each scope instead of exploring it. Walks prove nothing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub walks: Option<u64>,
    /// Maximum number of steps of a walk.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "walks")]
    pub depth: usize,
    /// Seed of the walks; by default a new one. It is printed.
    #[arg(long, value_name = "N", requires = "walks")]
    pub seed: Option<u64>,
    /// Write the graph of the one scope that is named to this file, for Graphviz.
    #[arg(long, value_name = "FILE", conflicts_with = "walks")]
    pub dot: Option<PathBuf>,
    /// Write the first counterexample, or the last walk, to this file in Apalache's Informal Trace Format.
    #[arg(long, value_name = "FILE")]
    pub itf: Option<PathBuf>,
    /// Write every counterexample to this directory, as a native trace for `jobcheck replay`.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// With --save: write the page of `jobcheck view` beside each trace.
    #[arg(long, requires = "save")]
    pub html: bool,
    /// Write the report to this file as one HTML page: states by depth, counterexamples, graphs of the first states.
    #[arg(long, value_name = "FILE", conflicts_with = "walks")]
    pub page: Option<PathBuf>,
    /// Write the first counterexample of the reference algorithm to this file, as a scenario for `jobcheck run`.
    #[arg(long, value_name = "FILE", conflicts_with = "walks")]
    pub scenario: Option<PathBuf>,
    /// Form of the report. Schemas: check, walks and properties.schema.json in docs/reference/schemas.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
    /// Switch off the guards of this requirement, to see which property breaks. Can be repeated.
    ///
    /// In the scopes of the family contract, the API server does not check the requirement either.
    #[arg(long, value_name = "REQUIREMENT", value_parser = guarded)]
    pub without: Vec<Req>,
}

/// The search through the states of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// This project's own search.
    Jobcheck,
    /// Both, without reductions: states, steps, depth, and verdict in one table.
    #[cfg(feature = "stateright")]
    Stateright,
}

/// The sizes of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// One kind of fault at a time, and progress; takes seconds.
    Quick,
    /// Also each feature with a crash, a delayed request, a failed one, and lagging caches; takes minutes.
    Default,
    /// Only the scopes that may take more than an hour.
    Large,
}

/// When watch events are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartialOrder {
    /// When a sync reads the caches.
    On,
    /// At any time.
    Off,
}

/// When states that differ only in names are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Symmetry {
    /// In the scopes where the reduction is sound.
    Auto,
    /// Always; an error in a scope where the reduction is not sound.
    On,
    /// Never.
    Off,
}

const AFTER_HELP: &str = "\
Columns of the report, one row for each scope:
  states     distinct states; with symmetry reduction, up to names
  steps      transitions between them
  depth      length of the longest shortest path to a state
  B/state    bytes of memory for each state
  result     holds; gets there (progress was checked, too); broken; is stuck;
             cut, with the limit that was reached
  lag N      watch events that the Pod cache may miss (--list has the Job cache)
  failed N, lost N, crash N
             failed requests, lost responses, and crashes of the process
On a narrow terminal, a row continues on a second line.

Examples:
  jobcheck check                                explores the default scopes
  jobcheck check non-indexed crash/non-indexed  explores two scopes
  jobcheck check --subject controller --scope quick
                                                explores our own controllers
  jobcheck check non-indexed --without FT-03    shows why FT-03 is needed
  jobcheck check aggregate                      explores a sum of several Jobs
  jobcheck check --list-properties -o json      lists what is checked

Ctrl-C ends the search, and the report of what was explored is printed.

Exit codes:
  0  every state of every scope was explored, and every property holds
  1  a property is broken (the shortest counterexample is printed), or a kind of
     step is never possible
  2  wrong usage, or no such scope
  3  not finished: a limit or Ctrl-C, or only walks; or every scope was
     explored, and the premise of a property was never reached
  4  a file or the output cannot be written
  5  internal error: please report it";

impl CheckArgs {
    /// The directory of saved traces.
    pub fn folder(&self) -> Option<Folder<'_>> {
        let folder = |directory| Folder { directory, redacts: false, pages: self.html };
        self.save.as_deref().map(folder)
    }

    /// The arguments for the quick scopes of a subject.
    pub fn quick(subject: Subject, threads: Option<usize>) -> CheckArgs {
        CheckArgs { size: Size::Quick, subject, threads, ..defaults() }
    }

    /// The defect of a controller that creates pods.
    pub fn mutant(&self) -> Option<&'static Mutant> {
        match self.mutant? {
            Defect::OfAController(mutant) => Some(mutant),
            Defect::OfAManager(_) => None,
        }
    }

    /// The defect of a manager that writes status alone.
    pub fn mutant_of_managers(&self) -> Option<AnyMutant> {
        match self.mutant? {
            Defect::OfAController(_) => None,
            Defect::OfAManager(mutant) => Some(mutant),
        }
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }
}
