//! The garbage collector and the namespace controller.
//!
//! The garbage collector completes the deletion of a Job. If the pods are to stay, it removes their owner
//! references one by one, and then lets the Job go (PC-31).

use super::user;
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::apiserver::ORPHAN;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A step of the garbage collector or the namespace controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectorStep {
    /// Deletes a pod, or removes its owner reference.
    Collect(Uid),
    /// Removes the Job.
    RemoveJob,
}

/// The enabled steps.
pub fn enabled(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(CollectorStep)) {
    if user::namespace_goes(job_state, scope) {
        return of_a_namespace(job_state, add);
    }
    let deleted = job_state.job.as_ref().is_none_or(|job| job.deleting);
    let orphans = orphans(job_state);
    // PC-29: the owner of a pod with another incarnation is gone.
    let depends = |pod: &Pod| pod.controlled && (deleted || !job_state.ghost.owns(pod));
    for pod in job_state.pods.iter().filter(|pod| depends(pod) && (orphans || !pod.deleting)) {
        add(CollectorStep::Collect(pod.uid));
    }
    let last = |pod: &Pod| pod.controlled && job_state.ghost.owns(pod);
    if deleted && waits_for_collector(job_state) && !job_state.pods.iter().any(last) {
        add(CollectorStep::RemoveJob);
    }
}

/// The steps of the namespace controller. It deletes the pods, and then everything else
/// (OrderedNamespaceDeletion, always on since 1.34; PC-12). Its DELETE of the Job removes the finalizers that
/// other controllers would wait for.
fn of_a_namespace(job_state: &JobState, add: &mut dyn FnMut(CollectorStep)) {
    let left = job_state.pods.iter().filter(|pod| !pod.deleting);
    left.for_each(|pod| add(CollectorStep::Collect(pod.uid)));
    if waits_for_collector(job_state) && job_state.pods.is_empty() {
        add(CollectorStep::RemoveJob);
    }
}

/// Returns true unless only a finalizer of a user's own holds the Job, which is being deleted.
fn waits_for_collector(job_state: &JobState) -> bool {
    let is_done = |job: &Job| job.deleting && user::is_held(job) && job.finalizers.len() == 1;
    job_state.job.as_ref().is_some_and(|job| !is_done(job))
}

/// Returns true if the Job is being deleted and its pods are to stay.
#[must_use]
pub fn orphans(job_state: &JobState) -> bool {
    job_state.job.as_ref().is_some_and(|job| job.finalizers.iter().any(|finalizer| **finalizer == *ORPHAN))
}

/// Deletes a pod whose Job is being deleted or is gone, or removes its owner reference.
pub fn collect(job_state: &mut JobState, uid: Uid, now: Time, scope: &Scope) {
    let Some(pod) = job_state.pods.get(uid) else { return };
    let after = if orphans(job_state) {
        Pod { controlled: false, ..pod.clone() }
    } else {
        let mut after = pod.clone();
        after.delete(scope.stamp(now));
        after
    };
    job_state.ghost.pod_changed(&after);
    job_state.set_pod(uid, Some(after), scope.lag);
}

/// Removes the Job, once nothing depends on it or its namespace is empty. A finalizer of a user's own keeps it.
pub fn remove_job(job_state: &mut JobState, scope: &Scope) {
    let Some(job) = &job_state.job else { return };
    let deleted = Job { deleting: true, ..Job::clone(job) };
    let after = user::without_finalizers(&deleted, |finalizer| finalizer != user::HOLD);
    job_state.set_job(after, scope.job_lag);
}
