//! States and random walks of scopes.

use std::collections::HashSet;
use std::sync::Arc;

use jobcheck_explorer::check::{Walking, walk};
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;

/// At most `most` states of a scope, the nearest first, without any reduction. The last state may add a few more.
#[must_use]
pub fn states(scope: &Scope, most: usize) -> Vec<World> {
    let mut states = vec![initial(scope)];
    let mut seen: HashSet<World> = states.iter().cloned().collect();
    let mut next = 0;
    while next < states.len() && states.len() < most {
        let state = states[next].clone();
        for step in state.enabled(scope) {
            let after = state.apply(&step, scope);
            if seen.insert(after.clone()) {
                states.push(after);
            }
        }
        next += 1;
    }
    states
}

/// The random walk with this seed, of at most 150 steps.
///
/// # Panics
///
/// A property is broken on it.
#[must_use]
pub fn walked(scope: &Scope, seed: u64) -> Vec<Step> {
    let walking = Walking { walks: 1, depth: 150, seed, stop: Arc::new(|| false) };
    let walked = walk(scope, &walking);
    assert!(walked.found.is_none(), "{} with seed {seed}", scope.name);
    walked.last
}

/// Returns `true` if no pod of the scope is older than its Job (UG-01).
#[must_use]
pub fn begins_with_the_job(scope: &Scope) -> bool {
    scope.found.iter().all(|pod| !pod.controlled)
}

/// Returns `true` if a user writes the status. Without actors in a trace, or if the user is the first writer, such a
/// write is attributed to the manager.
#[must_use]
pub fn has_a_user_of_the_status(scope: &Scope) -> bool {
    scope.user.iter().any(|it| matches!(it, UserAction::DenyFailureTarget | UserAction::DenyFailed))
}
