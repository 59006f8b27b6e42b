//! Watch events that reach a manager's caches.
//!
//! A sync reads its caches once. So what the manager did before an event arrived belongs to an earlier sync
//! than anything that it decides by the event.

use crate::world::{Driver, JobState};

/// Whether the Pod cache of the specification's manager lacks a change.
#[must_use]
pub fn lacks_pods(job_state: &JobState) -> bool {
    matches!(&job_state.driver, Driver::Specification(knowledge) if !knowledge.behind.is_empty())
}

/// Whether the Job cache of the specification's manager shows an old version.
#[must_use]
pub fn lacks_job(job_state: &JobState) -> bool {
    matches!(&job_state.driver, Driver::Specification(knowledge) if knowledge.old_job.is_some())
}

/// The oldest change of a pod becomes visible.
pub fn show_pod(job_state: &mut JobState) {
    let Driver::Specification(knowledge) = &mut job_state.driver else { return };
    if !knowledge.behind.is_empty() {
        knowledge.behind.remove(0);
        knowledge.end_sync();
    }
}

/// The stored Job becomes visible.
pub fn show_job(job_state: &mut JobState) {
    let Driver::Specification(knowledge) = &mut job_state.driver else { return };
    knowledge.old_job = None;
    knowledge.end_sync();
}
