//! Time.

use crate::scope::Scope;
use crate::world::World;

/// A second passes while the scope has any left, and while there is a Job that it may matter to; a script says for itself
/// when time passes.
#[must_use]
pub fn is_enabled(world: &World, scope: &Scope) -> bool {
    let alive = world.job_states.iter().any(|job_state| job_state.job.is_some());
    world.now.0 < scope.ticks && (alive || scope.script.is_some())
}

/// Whether the scope has a clock, and all of its seconds have passed.
#[must_use]
pub fn time_is_up(world: &World, scope: &Scope) -> bool {
    scope.ticks > 0 && world.now.0 >= scope.ticks
}

/// A second passes.
pub fn tick(world: &mut World) {
    world.now = world.now.plus(1);
}
