//! Another process takes over with other feature gates: an upgrade, a downgrade, or a flag that was changed
//! (judging.md 8; UG-03).
//!
//! Like a crash it loses what was only in memory, and it never overlaps with its predecessor (SY-01).

use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobId, JobState};

/// A takeover, while the scope has gates left.
pub fn enabled(job: JobId, job_state: &JobState, scope: &Scope, steps: &mut Vec<Step>) {
    let alone = job_state.processes.len() <= 1;
    if alone && job_state.job.is_some() && usize::from(job_state.rollouts) + 1 < scope.gates.len() {
        steps.push(Step::Rollout(job));
    }
}

/// The memory is lost, and the gates are others.
pub fn apply(job_state: &mut JobState, scope: &Scope) {
    job_state.rollouts += 1;
    let gates = scope.gates_after(job_state.rollouts);
    let JobState { job, pods, manager, processes, ghost, .. } = job_state;
    manager.restart();
    manager.gates = gates;
    for process in processes {
        process.restart(job.as_ref(), pods, &scope.algorithm.mutations);
        process.knowledge.gates = gates;
    }
    ghost.gates = ghost.gates.and(gates);
}
