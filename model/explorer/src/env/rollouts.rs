//! Another process takes over with other feature gates: an upgrade, a downgrade, or a flag that was changed
//! (judging.md 8; UG-03).
//!
//! Like a crash it loses what was only in memory, and it never overlaps with its predecessor (SY-01).

use crate::scope::Scope;
use crate::world::{Driver, JobState};

/// A takeover, while the scope has gates left.
#[must_use]
pub fn is_enabled(job_state: &JobState, scope: &Scope) -> bool {
    let alone = job_state.processes().len() <= 1;
    alone && job_state.job.is_some() && usize::from(job_state.rollouts) + 1 < scope.gates.len()
}

/// The memory is lost, and the gates are others.
pub fn apply(job_state: &mut JobState, scope: &Scope) {
    job_state.rollouts += 1;
    let gates = scope.gates_after(job_state.rollouts);
    let JobState { job, pods, driver, ghost, .. } = job_state;
    match driver {
        Driver::Specification(knowledge) => {
            knowledge.restart();
            knowledge.gates = gates;
        }
        Driver::Processes { processes, .. } => {
            for process in processes {
                process.restart(job.as_ref(), pods, scope.mutations());
                process.knowledge.gates = gates;
            }
        }
    }
    ghost.gates = ghost.gates.and(gates);
}
