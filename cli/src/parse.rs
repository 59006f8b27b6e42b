//! Parsers of the values that several commands accept, and the defaults of some.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZero;

use jobcheck_explorer::check::scopes;
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_judge::report::{UnknownId, find_with_issues};
use jobcheck_managers::any::{self, AnyMutant};
use jobcheck_spec::Req;
use jobcheck_spec::requirement::Judged;

use crate::global::Global;
use crate::output;

/// Names that are suggested for one that does not exist.
const MOST_SUGGESTIONS: usize = 3;

/// Edits of single letters between a name and a suggestion for it.
const MOST_EDITS: usize = 3;

/// Finds a requirement by its id, an alias, or an upstream issue that it or a known defect cites.
pub fn find(id: &str) -> Result<Req, UnknownId> {
    let issues = MUTANTS.iter().flat_map(|mutant| mutant.issues.iter().map(|it| (*it, mutant.requirement())));
    find_with_issues(id, issues)
}

/// Parses the id of a requirement ([`find`]).
pub fn requirement(id: &str) -> Result<Req, String> {
    find(id).map_err(|error| error.to_string())
}

/// Parses the id of a requirement that has a guard, or a rule of the API server, to switch off.
pub fn guarded(id: &str) -> Result<Req, String> {
    let found = requirement(id)?;
    let id = found.id();
    match found.entry().judged {
        Judged::Truth | Judged::View | Judged::Audit => Ok(found),
        // A write that takes the end back is judged at once.
        Judged::Pending if found == Req::MR08 => Ok(found),
        Judged::Pending => Err(format!("{id} has no guard: it is checked at quiescence, not at a write")),
        Judged::Clusters => {
            Err(format!("{id} has no guard on a write: it compares the Jobs of two clusters"))
        }
        Judged::Explored(why) | Judged::Not(why) => Err(format!("{id} has no guard: {why}")),
    }
}

/// A known defect.
#[derive(Clone, Copy, Debug)]
pub enum Defect {
    /// A defect of a controller that creates pods.
    OfAController(&'static Mutant),
    /// A defect of a manager that writes status alone.
    OfAManager(AnyMutant),
}

/// Parses the id of a known defect of any subject.
pub fn any_defect(id: &str) -> Result<Defect, String> {
    match (Mutant::named(id), AnyMutant::named(id)) {
        (Some(mutant), _) => Ok(Defect::OfAController(mutant)),
        (None, Some(mutant)) => Ok(Defect::OfAManager(mutant)),
        (None, None) => {
            let of_managers = AnyMutant::all().map(AnyMutant::id);
            Err(no_defect(id, MUTANTS.iter().map(|mutant| mutant.id).chain(of_managers)))
        }
    }
}

/// Parses the id of a known defect of a controller that creates pods.
pub fn defect(id: &str) -> Result<&'static Mutant, String> {
    Mutant::named(id).ok_or_else(|| no_defect(id, MUTANTS.iter().map(|mutant| mutant.id)))
}

fn no_defect(id: &str, known: impl Iterator<Item = &'static str>) -> String {
    let hint = similar(id, known);
    format!("there is no defect {id:?}{hint} (jobcheck mutants lists all)")
}

/// The error for a scope that does not exist.
pub fn unknown_scope(name: &str) -> String {
    let known = scopes();
    let of_managers = [any::all(), any::large()].concat();
    let of_managers = of_managers.iter().map(any::AnyScope::name);
    let hint = similar(name, known.iter().map(|scope| scope.name).chain(of_managers));
    format!("there is no scope {name:?}{hint} (jobcheck check --list lists all)")
}

/// A hint with the known names nearest to a wrong one, such as `; similar: ttl`. Empty if none is near.
pub fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let wanted = name.to_ascii_lowercase();
    let mut near: Vec<(usize, &str)> = known
        .map(|known| (strsim::levenshtein(&wanted, &known.to_ascii_lowercase()), known))
        .filter(|(edits, known)| {
            let is_part = wanted.len() > 2 && known.to_ascii_lowercase().contains(&wanted);
            *edits <= MOST_EDITS.min(wanted.len() / 2) || is_part
        })
        .collect();
    near.sort_unstable();
    let names: Vec<&str> = near.into_iter().take(MOST_SUGGESTIONS).map(|(_, known)| known).collect();
    if names.is_empty() { String::new() } else { format!("; similar: {}", names.join(", ")) }
}

/// The first seed of a random search: the given one, else a new one. It is printed before the search begins, so that a
/// search that is killed can be repeated.
pub fn first_seed(given: Option<u64>, global: &Global) -> u64 {
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    if !global.quiet {
        output::note(format!("seed {seed}"));
    }
    seed
}

/// The number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Parses a number of threads, 1 to 256.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=256).contains(&count) => Ok(count),
        _ => Err(format!("expected 1 to 256 threads, found {text:?}")),
    }
}

/// The time of `--budget` in commands that read or run something of others.
pub const DEFAULT_BUDGET: &str = "1h";

/// Parses a number of bytes: a whole number with the unit MB, GB, MiB or GiB.
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

    #[test]
    fn an_unknown_name_brings_the_nearest_known_ones() {
        assert!(unknown_scope("non-indexd").contains("; similar: non-indexed"));
        assert!(unknown_scope("per-indx").contains("; similar: per-index ("));
        assert_eq!(similar("nothing-like-it", ["ttl"].into_iter()), "");
        assert_eq!(similar("ab", ["xy"].into_iter()), "");
        assert!(defect("B188").unwrap_err().contains("similar: B18"));
        assert!(requirement("FT-99").unwrap_err().contains("jobcheck rule"));
    }

    #[test]
    fn a_requirement_without_a_guard_says_why() {
        assert_eq!(guarded("ft-03"), Ok(Req::FT03));
        assert!(guarded("FT-28").unwrap_err().starts_with("FT-28 has no guard: "));
    }
}
