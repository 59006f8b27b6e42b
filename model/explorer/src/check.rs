//! Checking a scope: the safety properties, and progress if the scope asks for it.

pub use crate::compact::is_sound as symmetry_is_sound;
pub use crate::counterexample::Counterexample;
pub use crate::exploration::{
    Bounds, Coverage, Cut, Exploration, Outcome, Progress, Visitor, Walked, Walking, Worlds, explore_for,
    graph, visit, walk,
};
use crate::scope::Scope;
use crate::scopes::gates::gates;

/// All scopes that have a name: those of the specification, and then those of algorithms.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    [crate::scopes::all(), gates(), crate::scopes::reference::all()].concat()
}

/// Explores a scope for every property. A scope with [`Scope::progress`] is also explored for progress, without
/// reductions.
#[must_use]
pub fn explore(scope: &Scope, bounds: &Bounds) -> Exploration {
    if scope.progress {
        crate::progress::explore(scope, bounds)
    } else {
        explore_for(scope, bounds, &|_| true)
    }
}
