//! The scopes that a call explores.

use std::collections::BTreeSet;

use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::symmetry_is_sound;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use jobcheck_explorer::scopes::reference;

use super::args::{CheckArgs, Size, Symmetry};
use super::subject::{Subject, with_defect};
use crate::parse::unknown_scope;

/// The scopes that the arguments choose: those that are named, else those of the size.
///
/// # Errors
///
/// There is no such scope, or the arguments exclude each other.
pub fn chosen(args: &CheckArgs) -> Result<Vec<Scope>, String> {
    let named = named(args)?;
    let mut scopes = match args.mutant() {
        Some(mutant) => with_defect(mutant, args.subject, named)?,
        // Only the specification attempts what a guard forbids.
        None if args.scopes.is_empty() && !args.without.is_empty() && args.subject == Subject::All => {
            of_size(args.size, Subject::Specification)
        }
        None if args.scopes.is_empty() => of_size(args.size, args.subject),
        None => named,
    };
    if args.dot.is_some() && scopes.len() != 1 {
        return Err("--dot needs exactly one scope".to_owned());
    }
    if let Some(shard) = args.shard {
        scopes = shard.part("scopes", scopes);
    }
    for scope in &mut scopes {
        scope.without.extend(&args.without);
        if args.symmetry == Symmetry::On && !symmetry_is_sound(scope) {
            let name = scope.name;
            return Err(format!("--symmetry on is not sound in {name}; use auto, which leaves it off there"));
        }
    }
    Ok(scopes)
}

/// The scopes that are named, with the subject in them.
fn named(args: &CheckArgs) -> Result<Vec<Scope>, String> {
    let known = jobcheck_explorer::check::scopes();
    let of_name = |name: &String| {
        let family = format!("{name}/");
        let is_meant = |scope: &&Scope| scope.name == *name || scope.name.starts_with(&family);
        let found: Vec<Scope> = known.iter().filter(is_meant).cloned().collect();
        if found.is_empty() { Err(unknown_scope(name)) } else { args.subject.of_named(name, found) }
    };
    let mut found = args.scopes.iter().map(of_name).collect::<Result<Vec<_>, _>>()?.concat();
    let mut names = BTreeSet::new();
    found.retain(|scope| names.insert(scope.name));
    Ok(found)
}

/// The scopes of a size.
pub fn of_size(size: Size, subject: Subject) -> Vec<Scope> {
    use jobcheck_explorer::scopes::progress::progress;
    use reference::{all_faults, large, one_fault, recreation, rollouts, safe_with_two_leaders, ttl};
    let specification =
        || if size == Size::Large { Vec::new() } else { [scopes::all(), scopes::gates::gates()].concat() };
    let quick = || [one_fault(), ttl(), recreation(), rollouts(), progress()].concat();
    let algorithm = || match size {
        Size::Quick => quick(),
        Size::Default => [quick(), all_faults(), safe_with_two_leaders()].concat(),
        Size::Large => large(),
    };
    match subject {
        Subject::Specification => specification(),
        Subject::Algorithm => algorithm(),
        Subject::Controller => algorithm().into_iter().map(of_the_controller).collect(),
        Subject::All => [specification(), algorithm()].concat(),
        Subject::Mirror | Subject::Kueue | Subject::Contract | Subject::Aggregate => Vec::new(),
    }
}

/// The scopes that belong to no size, because their behaviours violate the specification. `--list` shows them last.
pub fn by_name_only(args: &CheckArgs) -> Vec<Scope> {
    if !args.scopes.is_empty() || args.mutant.is_some() || args.shard.is_some() {
        return Vec::new();
    }
    let scopes = reference::two_leaders().into_iter();
    match args.subject {
        Subject::Algorithm | Subject::All => scopes.collect(),
        Subject::Controller => scopes.map(of_the_controller).collect(),
        Subject::Specification
        | Subject::Mirror
        | Subject::Kueue
        | Subject::Contract
        | Subject::Aggregate => Vec::new(),
    }
}
