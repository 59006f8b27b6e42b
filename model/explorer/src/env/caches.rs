//! Watch events that reach a manager's caches.
//!
//! A sync reads its caches once. So what the manager did before an event arrived belongs to an earlier sync
//! than anything that it decides by the event.

use crate::step::Step;
use crate::world::{JobId, JobState};

/// What may be delivered.
pub fn enabled(job: JobId, job_state: &JobState, steps: &mut Vec<Step>) {
    if !job_state.manager.behind.is_empty() {
        steps.push(Step::ShowPod(job));
    }
    if job_state.manager.old_job.is_some() {
        steps.push(Step::ShowJob(job));
    }
}

/// The oldest change of a pod becomes visible.
pub fn show_pod(job_state: &mut JobState) {
    if !job_state.manager.behind.is_empty() {
        job_state.manager.behind.remove(0);
        job_state.manager.end_sync();
    }
}

/// The stored Job becomes visible.
pub fn show_job(job_state: &mut JobState) {
    job_state.manager.old_job = None;
    job_state.manager.end_sync();
}
