//! Rollouts: another process takes over with other feature gates, after an upgrade, a downgrade, or a changed
//! flag (UG-03).
//!
//! Like a crash, a rollout loses the contents of the memory. The processes never overlap (SY-01).

use crate::scope::Scope;
use crate::world::{Driver, JobState};

/// Returns true if the scope has gates left and one process leads.
#[must_use]
pub fn is_enabled(job_state: &JobState, scope: &Scope) -> bool {
    let alone = job_state.processes().len() <= 1;
    alone && job_state.job.is_some() && usize::from(job_state.rollouts) + 1 < scope.gates.len()
}

/// Starts a process with the next gates and an empty memory.
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
