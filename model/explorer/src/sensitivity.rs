//! The sensitivity of the specification: what breaks if the guards of one requirement are switched off.
//!
//! Each requirement that a guard reports is in exactly one of three tables. Without a guard of [`NEEDED`], a property
//! breaks. A guard of [`REDUNDANT`] has the reason why none does. The search for a guard of [`UNDECIDED`] does not end.
//! [`Sensitivity`] finds this out anew, and
//! `examples/sensitivity.rs` compares its results with the tables.
//!
//! Scopes of algorithms are left out: a guard judges their writes, and never changes them.

mod needed;
mod redundant;

pub use needed::{NEEDED, Needed, UNDECIDED, Undecided};
pub use redundant::{Because, REDUNDANT};

use crate::check::{Bounds, Exploration, Outcome, explore, symmetry_is_sound};
use crate::scope::Scope;
use crate::scopes::{all, gates::gates};
use jobcheck_spec::catalogue::Req;

/// The guards of all tables.
#[must_use]
pub fn listed() -> Vec<Req> {
    let needed = NEEDED.iter().map(|row| row.0);
    needed.chain(REDUNDANT.iter().map(|row| row.0)).chain(UNDECIDED.iter().map(|row| row.0)).collect()
}

/// The result of switching off guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A property breaks in this scope, after these steps. A deadlock has no requirement.
    Breaks(&'static str, Option<Req>, usize),
    /// Every scope was explored completely, and every property holds. In these scopes, other states or steps are
    /// reached.
    Holds(Vec<&'static str>),
    /// No property breaks, but the search of these scopes reached its bound.
    BoundReached(Vec<&'static str>),
}

/// The scopes of the specification, the smallest first.
#[derive(Debug)]
pub struct Sensitivity {
    scopes: Vec<Known>,
    most: usize,
}

/// A scope, and its numbers of states and steps while all guards are on.
#[derive(Debug)]
struct Known {
    scope: Scope,
    plain: (usize, u64),
    /// The same with symmetry reduction, if it is sound.
    reduced: Option<(usize, u64)>,
}

impl Known {
    fn of(scope: Scope) -> Known {
        let of = |symmetry| size(&explore(&scope, &Bounds { symmetry, ..Bounds::none(1) }));
        let (plain, reduced) = (of(false), symmetry_is_sound(&scope).then(|| of(true)));
        Known { scope, plain, reduced }
    }
}

fn size(found: &Exploration) -> (usize, u64) {
    (found.states, found.generated)
}

impl Sensitivity {
    /// Explores every scope of the specification with all guards. Later searches visit at most `most` states of a scope.
    #[must_use]
    pub fn new(most: usize) -> Sensitivity {
        let mut scopes: Vec<Known> = [all(), gates()].concat().into_iter().map(Known::of).collect();
        scopes.sort_by_key(|it| it.reduced.unwrap_or(it.plain).0);
        Sensitivity { scopes, most }
    }

    /// Switches off these guards in one scope after another until a property breaks.
    #[must_use]
    pub fn without(&self, reqs: &[Req]) -> Effect {
        let (mut changed, mut cut) = (Vec::new(), Vec::new());
        for known in &self.scopes {
            let (scope, found, symmetry) = search(&known.scope, reqs, self.most);
            match &found.outcome {
                Outcome::Broken(broken) => {
                    return Effect::Breaks(scope.name, broken.req, broken.path.len());
                }
                Outcome::NotFinished(_) => cut.push(scope.name),
                Outcome::Holds => {
                    let before = if symmetry { known.reduced } else { Some(known.plain) };
                    if before != Some(size(&found)) {
                        changed.push(scope.name);
                    }
                }
            }
        }
        if cut.is_empty() { Effect::Holds(changed) } else { Effect::BoundReached(cut) }
    }
}

/// Explores a scope without these guards, with symmetry reduction if it is sound.
fn search(scope: &Scope, reqs: &[Req], most: usize) -> (Scope, Exploration, bool) {
    let scope = reqs.iter().fold(scope.clone(), |scope, req| scope.without(*req));
    let symmetry = symmetry_is_sound(&scope);
    let found = explore(&scope, &Bounds { max_states: Some(most), symmetry, ..Bounds::none(1) });
    (scope, found, symmetry)
}

#[cfg(test)]
mod tests;
