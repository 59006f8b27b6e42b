//! The clock.

use crate::scope::Scope;
use crate::world::World;

/// Returns true if a second may pass: the scope has one left, and a Job exists to which it matters. A script
/// decides itself when time passes.
#[must_use]
pub fn is_enabled(world: &World, scope: &Scope) -> bool {
    let alive = world.job_states.iter().any(|job_state| job_state.job.is_some());
    world.now.0 < scope.ticks && (alive || scope.script.is_some())
}

/// Returns true if the scope has a clock and all its seconds have passed.
#[must_use]
pub fn time_is_up(world: &World, scope: &Scope) -> bool {
    scope.ticks > 0 && world.now.0 >= scope.ticks
}

/// Lets a second pass.
pub fn tick(world: &mut World) {
    world.now = world.now.plus(1);
}
