//! Crashes of the specification's manager.
//!
//! A crash loses the contents of the memory: the delays after failures (BO-05), and the own writes that the
//! caches do not show. The successor lists the pods again, so that its cache shows at least the last write of
//! the predecessor (SY-10). Later writes of other actors may still be missing. The Job cache needs no change:
//! a status write is based on the version that it shows, so that it shows every own write.

use crate::knowledge::Knowledge;
use crate::scope::Scope;
use crate::world::{Driver, JobState};
use jobcheck_spec::backoff::BackoffRecord;

/// Returns true if the scope has a crash left and the crash would lose anything.
#[must_use]
pub fn is_enabled(job_state: &JobState, scope: &Scope) -> bool {
    let Driver::Specification(knowledge) = &job_state.driver else { return false };
    job_state.faults.crashes < scope.faults.crashes && remembers(knowledge)
}

fn remembers(knowledge: &Knowledge) -> bool {
    knowledge.backoff != BackoffRecord::default()
        || knowledge.behind.iter().any(|unseen| unseen.own.is_some())
}

/// Loses the memory.
pub fn apply(job_state: &mut JobState) {
    job_state.faults.crashes += 1;
    if let Driver::Specification(knowledge) = &mut job_state.driver {
        knowledge.restart();
    }
}
