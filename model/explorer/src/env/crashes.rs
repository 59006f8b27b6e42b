//! The process that manages a Job dies, and a successor takes over, where the specification itself is explored.
//!
//! What was only in memory is gone: the delays after failures (BO-05), and what the process knew of its own writes
//! without its caches. The successor lists afresh, so that each cache shows no less than the last write of the
//! predecessor to what it holds (SY-10); what others did later may still be missing. The Job cache needs no look: a
//! status is written over the version that it shows, so it shows every own write.

use crate::knowledge::Knowledge;
use crate::scope::Scope;
use crate::world::{Driver, JobState};
use jobcheck_spec::backoff::BackoffRecord;

/// A crash, if the scope has one left, and if it would lose anything: else it is no step.
#[must_use]
pub fn is_enabled(job_state: &JobState, scope: &Scope) -> bool {
    let Driver::Specification(knowledge) = &job_state.driver else { return false };
    job_state.faults.crashes < scope.faults.crashes && remembers(knowledge)
}

fn remembers(knowledge: &Knowledge) -> bool {
    knowledge.backoff != BackoffRecord::default()
        || knowledge.behind.iter().any(|unseen| unseen.own.is_some())
}

/// The memory is lost.
pub fn apply(job_state: &mut JobState) {
    job_state.faults.crashes += 1;
    if let Driver::Specification(knowledge) = &mut job_state.driver {
        knowledge.restart();
    }
}
