//! The garbage collector, which carries a deletion of a Job through.
//!
//! # Caveats
//!
//! Jobs are deleted in the foreground or in the background. Orphaned pods would never be looked at again, so
//! that propagation is left out.

use crate::pod::Pod;
use crate::scope::Scope;
use crate::step::Step;
use crate::uid::Uid;
use crate::world::{JobId, Life};

/// What may be collected.
pub fn enabled(job: JobId, life: &Life, steps: &mut Vec<Step>) {
    let deleted = life.job.as_ref().is_none_or(|job| job.deleting);
    if !deleted {
        return;
    }
    for pod in life.pods.iter().filter(|pod| !pod.deleting) {
        steps.push(Step::Collect(job, pod.uid));
    }
    if life.job.is_some() && life.pods.is_empty() {
        steps.push(Step::RemoveJob(job));
    }
}

/// Deletes a pod whose Job is being deleted, or is gone.
pub fn collect(life: &mut Life, uid: Uid, scope: &Scope) {
    let Some(pod) = life.pods.get(uid) else { return };
    let after = Pod { deleting: true, ..pod.clone() };
    life.past.pod_changed(&after);
    life.set_pod(uid, Some(after), scope.lag);
}

/// The Job goes, now that nothing depends on it.
pub fn remove_job(life: &mut Life, scope: &Scope) {
    life.set_job(None, scope.job_lag);
}
