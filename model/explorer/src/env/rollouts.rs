//! Another process takes over with other feature gates: an upgrade, a downgrade, or a flag that was changed
//! (judging.md 8; UG-03).
//!
//! Like a crash it loses what was only in memory, and it never overlaps with its predecessor (SY-01).

use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobId, Life};

/// A takeover, while the scope has gates left.
pub fn enabled(job: JobId, life: &Life, scope: &Scope, steps: &mut Vec<Step>) {
    let alone = life.processes.len() <= 1;
    if alone && life.job.is_some() && usize::from(life.rollouts) + 1 < scope.gates.len() {
        steps.push(Step::Rollout(job));
    }
}

/// The memory is lost, and the gates are others.
pub fn apply(life: &mut Life, scope: &Scope) {
    life.rollouts += 1;
    let gates = scope.gates_after(life.rollouts);
    let Life { job, pods, manager, processes, past, .. } = life;
    manager.restart();
    manager.gates = gates;
    for process in processes {
        process.restart(job.as_ref(), pods, &scope.algorithm.switches);
        process.knowledge.gates = gates;
    }
    past.gates = past.gates.and(gates);
}
