//! Watch events that reach a manager's caches.
//!
//! A sync reads its caches once. So what the manager did before an event arrived belongs to an earlier sync
//! than anything that it decides by the event.

use crate::step::Step;
use crate::world::{JobId, Life};

/// What may be delivered.
pub fn enabled(job: JobId, life: &Life, steps: &mut Vec<Step>) {
    if !life.manager.behind.is_empty() {
        steps.push(Step::ShowPod(job));
    }
    if life.manager.old_job.is_some() {
        steps.push(Step::ShowJob(job));
    }
}

/// The oldest change of a pod becomes visible.
pub fn show_pod(life: &mut Life) {
    if !life.manager.behind.is_empty() {
        life.manager.behind.remove(0);
        life.manager.end_sync();
    }
}

/// The stored Job becomes visible.
pub fn show_job(life: &mut Life) {
    life.manager.old_job = None;
    life.manager.end_sync();
}
