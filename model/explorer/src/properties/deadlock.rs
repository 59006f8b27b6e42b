//! A Job never comes to a standstill.

use crate::env::clock::time_is_up;
use crate::progress::{is_excused, shortcoming};
use crate::scope::Scope;
use crate::script::shortfall;
use crate::step::Step;
use crate::world::{JobState, World};

/// What a report calls it.
pub const DEADLOCK: &str = "no Job comes to a standstill";

/// Why a world in which only these steps are possible is one where a Job got stuck. This is not liveness:
/// controllers that go round in circles are not found ([`crate::progress`] finds them). Nor is a Job stuck that
/// waits for a time, or for a pod, which the scope does not have any more.
#[must_use]
pub fn deadlock(world: &World, steps: &[Step], scope: &Scope) -> Option<String> {
    if let Some(script) = &scope.script {
        return shortfall(script, world, steps, scope).map(|found| found.why);
    }
    if !steps.is_empty() {
        return None;
    }
    let may_wait = |job_state: &JobState| match scope.algorithm.processes {
        1.. => is_excused(job_state, world, scope),
        // Nobody tells what the specification would do.
        0 => time_is_up(world, scope) || !has_room(job_state, scope),
    };
    let mut stuck = world.job_states.iter().filter(|job_state| !may_wait(job_state));
    let (_, why) = stuck.find_map(|job_state| shortcoming(job_state, world, scope))?;
    Some(format!("nothing can happen any more, and {why}"))
}

/// Whether no bound on pods is reached.
fn has_room(job_state: &JobState, scope: &Scope) -> bool {
    job_state.ghost.pods.len() < scope.pods && usize::from(job_state.ghost.strangers) < scope.pods
}
