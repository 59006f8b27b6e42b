//! Deadlock: nothing can happen any more, and a Job still needs something.

use super::quiescence::unmet;
use crate::env::clock::time_is_up;
use crate::obligations::{open_obligation, waits_for_a_bound};
use crate::scope::Scope;
use crate::step::Step;
use crate::world::{Driver, JobState, World};

/// The name of the property in reports.
pub const DEADLOCK: &str = "no deadlock";

/// Explains why a state in which only these steps are enabled is a deadlock. Returns `None` if it is none.
///
/// This is a safety property. A controller that repeats the same steps forever does not deadlock;
/// [`crate::progress`] finds such cycles. A Job that waits for a time or a pod beyond the bounds of the scope is
/// not stuck either.
#[must_use]
pub fn deadlock(world: &World, steps: &[Step], scope: &Scope) -> Option<String> {
    if let Some(script) = &scope.script {
        return unmet(script, world, steps, scope).map(|unmet| unmet.why);
    }
    if !steps.is_empty() {
        return None;
    }
    let may_wait = |job_state: &JobState| match &job_state.driver {
        Driver::Processes { .. } => waits_for_a_bound(job_state, world, scope),
        // The specification has no timers. Any bound that is reached may be the one that it waits for.
        Driver::Specification(_) => time_is_up(world, scope) || !has_room(job_state, scope),
    };
    let mut stuck = world.job_states.iter().filter(|job_state| !may_wait(job_state));
    let obligation = stuck.find_map(|job_state| open_obligation(job_state, world, scope))?;
    Some(format!("no step is enabled, but {}", obligation.why))
}

/// Returns true if the scope allows more pods.
fn has_room(job_state: &JobState, scope: &Scope) -> bool {
    job_state.ghost.pods.len() < scope.pods && usize::from(job_state.ghost.foreign_pods) < scope.pods
}
