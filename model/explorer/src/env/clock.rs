//! Time.

use crate::scope::Scope;
use crate::step::Step;
use crate::world::World;

/// A second passes while the scope has any left, and while there is a Job that it may matter to; a script says for itself
/// when time passes.
pub fn enabled(world: &World, scope: &Scope, steps: &mut Vec<Step>) {
    let alive = world.job_states.iter().any(|job_state| job_state.job.is_some());
    if world.now.0 < scope.ticks && (alive || scope.script.is_some()) {
        steps.push(Step::Tick);
    }
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
