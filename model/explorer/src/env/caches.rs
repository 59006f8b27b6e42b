//! The watch events of the specification's manager.
//!
//! A sync reads its caches once. An event therefore ends the sync: earlier writes of the manager belong to
//! another sync than its decisions after the event.

use crate::world::{Driver, JobState};

/// Returns true if the Pod cache of the specification's manager lacks a change.
#[must_use]
pub fn lacks_pods(job_state: &JobState) -> bool {
    matches!(&job_state.driver, Driver::Specification(knowledge) if !knowledge.behind.is_empty())
}

/// Returns true if the Job cache of the specification's manager shows an old version.
#[must_use]
pub fn lacks_job(job_state: &JobState) -> bool {
    matches!(&job_state.driver, Driver::Specification(knowledge) if knowledge.old_job.is_some())
}

/// Delivers the oldest change of a pod that the Pod cache lacks.
pub fn show_pod(job_state: &mut JobState) {
    let Driver::Specification(knowledge) = &mut job_state.driver else { return };
    if !knowledge.behind.is_empty() {
        knowledge.behind.remove(0);
        knowledge.end_sync();
    }
}

/// Delivers the stored Job.
pub fn show_job(job_state: &mut JobState) {
    let Driver::Specification(knowledge) = &mut job_state.driver else { return };
    knowledge.old_job = None;
    knowledge.end_sync();
}
