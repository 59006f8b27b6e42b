//! Arguments of `jobcheck check`.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_judge::report::find_with_issues;
use jobcheck_spec::Req;
use jobcheck_spec::requirement::Judged;
use jobcheck_traces::parse_duration;

use super::subject::Subject;
use crate::args::usual;

/// Arguments of `jobcheck check`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArgs {
    /// Scopes to explore, or families of them, such as `crash`; without any, those of --scope.
    #[arg(value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// Which scopes, where none is named.
    #[arg(long = "scope", value_enum, value_name = "SIZE", default_value_t = Size::Default, conflicts_with = "scopes")]
    pub size: Size,
    /// Show the scopes, and what each is bounded by; last those that are explored only by name.
    #[arg(long)]
    pub list: bool,
    /// Give up after this time, such as 90s or 10m: what is not explored then is reported, and passes nothing.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Give up a scope after looking at this many states; those that they lead to are counted too.
    #[arg(long, value_name = "N")]
    pub max_states: Option<usize>,
    /// Give up once this much memory is in use, such as 512MB or 4GB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Threads; as many as there are processors if not given. Each explores a scope, or all a single one. What is found
    /// does not depend on them.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// What manages the Jobs.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Subject::All)]
    pub subject: Subject,
    /// Explore with a known defect, such as B18: its own world, or the scopes that are named. What breaks first is told;
    /// `jobcheck mutants` looks for the requirement that the defect is known for, which may be another.
    #[arg(long, value_name = "DEFECT", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// Take worlds that are the same but for the names of pods and Jobs for one; `auto` where that is proved to
    /// change no verdict.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Symmetry::Auto)]
    pub symmetry: Symmetry,
    /// Hold watch events of the algorithm back until a sync reads the caches, which changes no verdict either. A
    /// counterexample may be another, of as many steps as without or of fewer: events are then part of the sync that reads
    /// them, and those that no sync reads are left out.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = PartialOrder::On)]
    pub partial_order: PartialOrder,
    /// Do not explore: walk at random so many times, which proves nothing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub walks: Option<u64>,
    /// The most steps of a walk.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "walks")]
    pub depth: usize,
    /// The seed of the walks; a new one if none is given. It is printed.
    #[arg(long, value_name = "N", requires = "walks")]
    pub seed: Option<u64>,
    /// Write the graph of the one scope that is given, for Graphviz.
    #[arg(long, value_name = "FILE", conflicts_with = "walks")]
    pub dot: Option<PathBuf>,
    /// Write the first counterexample, or the last walk, in the Informal Trace Format of Apalache.
    #[arg(long, value_name = "FILE")]
    pub itf: Option<PathBuf>,
    /// Write every counterexample to this directory, as a native trace that `jobcheck replay` judges.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Write the first counterexample of the reference algorithm as a scenario for `jobcheck run`.
    #[arg(long, value_name = "FILE", conflicts_with = "walks")]
    pub scenario: Option<PathBuf>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Switch the guards of a requirement off, to see which property breaks; can be repeated.
    #[arg(long, value_name = "ID", value_parser = guarded)]
    pub without: Vec<Req>,
}

/// How much is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// One kind of fault at a time, and whether Jobs get somewhere, in seconds.
    Quick,
    /// Those, and each feature with a crash, a late request, a failed one, and both caches two events behind, in
    /// minutes.
    Default,
    /// What may not be finished in an hour, alone.
    Large,
}

/// Whether events are held back until somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartialOrder {
    /// They are.
    On,
    /// They come at any time.
    Off,
}

/// When worlds that differ by names alone are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Symmetry {
    /// Where it is sound.
    Auto,
    /// Where it is sound; else the call is refused.
    On,
    /// Never.
    Off,
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// docs/reference/schemas/check.schema.json; of walks docs/reference/schemas/walks.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
A row of the report, printed once its scope is explored:
  states     distinct worlds, those that differ by names alone counted once where that is sound
  steps      edges between them
  depth      steps of the longest of the shortest ways to a world
  B/state    bytes that a stored world takes
  result     holds; gets there (progress was asked for, too); broken; is stuck; cut: what ran out
  lag N      watch events that the Pod cache may be behind; the Job cache may be behind, too (--list tells by how many)
  failed N, lost N, crash N    requests refused once, answers that never arrive, deaths of the process

Exit codes:
  0  every world of every scope was seen, and every property holds
  1  a property is broken, and the shortest way there is told; or some kind of step is never possible
  2  there is no such scope, or the usage is wrong
  3  not finished: a limit was reached, or there were only walks; or all scopes were explored, and a property was never put
     to the test
  4  a file, or the output, cannot be written
  5  internal error: please report it";

/// Reads the id of a requirement, an alias, or an upstream issue of the catalogue or of a mutant.
///
/// # Errors
///
/// It names no requirement, or several.
pub fn requirement(id: &str) -> Result<Req, String> {
    let issues = MUTANTS.iter().flat_map(|mutant| mutant.issues.iter().map(|it| (*it, mutant.requirement())));
    find_with_issues(id, issues).map_err(|error| error.to_string())
}

/// Reads the id of a requirement that has a guard, or a rule of the API server, to switch off.
///
/// # Errors
///
/// There is none, or no write is refused for it.
pub fn guarded(id: &str) -> Result<Req, String> {
    let found = requirement(id)?;
    match found.entry().judged {
        Judged::Truth | Judged::View | Judged::Audit => Ok(found),
        Judged::Pending => {
            Err(format!("{id} has no guard: it is asked when nothing more happens, not of a write"))
        }
        Judged::Explored(why) | Judged::Not(why) => Err(format!("{id} has no guard: {why}")),
    }
}

/// Reads a defect's id.
///
/// # Errors
///
/// There is none.
pub fn mutant(id: &str) -> Result<&'static Mutant, String> {
    Mutant::named(id).ok_or_else(|| format!("there is no defect {id} (jobcheck mutants shows all)"))
}

impl CheckArgs {
    /// Those of the quick scopes of a subject.
    pub fn quick(subject: Subject, threads: Option<usize>) -> CheckArgs {
        CheckArgs { size: Size::Quick, subject, threads, ..usual() }
    }

    /// How many threads explore.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }
}

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Reads a number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=256).contains(&count) => Ok(count),
        _ => Err(format!("expected 1 to 256 threads, found {text:?}")),
    }
}

/// A number of bytes with its unit.
pub fn size(text: &str) -> Result<u64, String> {
    let problem = || format!("expected a size such as 512MB or 4GB, found {text:?}");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(problem)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| problem())?;
    let factor: u64 = match unit {
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(problem()),
    };
    number.checked_mul(factor).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size("4GB"), Ok(4_000_000_000));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        for wrong in ["", "4", "GB", "4 GB", "4TB", "-1GB", "99999999999999999999GB", "20000000000000GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
