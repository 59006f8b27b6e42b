//! The watch events and relists of a process, and how its handlers react (PC-26, FT-22, FT-28, SY-09).

use std::sync::Arc;

use crate::knowledge::Unseen;
use crate::world::JobState;
use jobcheck_spec::incarnation::is_of_another;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::recreated::Source;
use crate::process::state::{Process, is_done};

/// Delivers the oldest change of a pod that the Pod cache lacks.
pub fn show_pod(process: &mut Process, job: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
    if process.knowledge.behind.is_empty() {
        return;
    }
    let unseen = process.knowledge.behind.remove(0);
    let later = process.knowledge.behind.iter().find(|it| it.uid == unseen.uid);
    let after = later.map_or_else(|| pods.get(unseen.uid).cloned(), |later| later.before.clone());
    pod_changed(process, &unseen, after, job, mutations);
}

/// Delivers a new list of pods after a broken watch. For each pod, the handlers get one change from the
/// cached to the listed state (client-go `processReplacedAllInfo`). They get none for a pod that was created
/// and removed in between.
pub fn relist_pods(process: &mut Process, job: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
    let mut behind = std::mem::take(&mut process.knowledge.behind);
    while !behind.is_empty() {
        let unseen = behind.remove(0);
        behind.retain(|later| later.uid != unseen.uid);
        let after = pods.get(unseen.uid).cloned();
        if unseen.before.is_some() || after.is_some() {
            pod_changed(process, &unseen, after, job, mutations);
        } else if job.is_some() && !mutations.on(Mutation::OverlooksCreationsInLists) {
            process.memory.saw_creation();
            process.queued = true;
        }
    }
}

/// Calls the handlers for a pod that changed from `unseen.before` to `after`.
fn pod_changed(
    process: &mut Process,
    unseen: &Unseen,
    after: Option<Pod>,
    job: Option<&Arc<Job>>,
    mutations: &Mutations,
) {
    let job = process.cached_job(job).cloned();
    let known = after.as_ref().or(unseen.before.as_ref());
    let is_other = known.is_some_and(|pod| is_of_another(pod, job.as_deref()));
    if is_other {
        // FT-20, FT-21: the cache has no Job with the name and UID of the pod's owner. No expectation
        // concerns such a pod.
        process.orphans.extend(after.filter(|pod| pod.finalizer).map(|pod| pod.uid));
        return;
    }
    match (&unseen.before, &after) {
        (None, Some(pod)) if !pod.deleting => {
            if job.is_some() {
                process.memory.saw_creation();
            }
            process.queued |= job.is_some();
            // FT-23: a delayed request created the pod after the Job had finished. Kubernetes 1.36 only
            // reacts to the next event of the Job (FT-22), which may be a resync half a day later.
            if cleans_up(job.as_ref(), mutations)
                && pod.finalizer
                && !mutations.on(Mutation::ForgetsDelayedPods)
            {
                process.orphans.insert(pod.uid);
            }
        }
        (_, Some(pod)) if !pod.deleting => {
            if !pod.finalizer {
                process.memory.saw_finalizer_removal(pod.uid);
            } else if !pod.controlled {
                process.orphans.insert(pod.uid);
            }
            process.queued |= job.is_some();
        }
        (before, after) => {
            // Kubernetes 1.36 does not count a pod as created that it first sees being deleted.
            if before.is_none() && job.is_some() && !mutations.on(Mutation::OverlooksCreationsInLists) {
                process.memory.saw_creation();
            }
            let last = after.as_ref().or(before.as_ref());
            let is_held = last.is_some_and(|pod| pod.finalizer) && after.is_some();
            let is_ownerless = last.is_some_and(|pod| !pod.controlled);
            if is_held && (is_ownerless || cleans_up(job.as_ref(), mutations)) {
                process.orphans.insert(unseen.uid);
            }
            saw_deletion(process, unseen.uid, after.as_ref(), job.as_ref());
        }
    }
}

/// Handles a pod that is being deleted, or is gone.
fn saw_deletion(process: &mut Process, uid: Uid, after: Option<&Pod>, job: Option<&Arc<Job>>) {
    if job.is_some() {
        process.memory.saw_deletion(uid);
        if after.is_none_or(|pod| !pod.finalizer) {
            process.memory.saw_finalizer_removal(uid);
        }
        process.queued = true;
    }
}

/// FT-20, FT-21, FT-23: returns true if the orphan path, and no sync, removes the finalizers of the Job's pods.
pub fn cleans_up(job: Option<&Arc<Job>>, mutations: &Mutations) -> bool {
    let missed =
        if job.is_none() { Mutation::ForgetsPodsOfGoneJobs } else { Mutation::ForgetsPodsOfFinishedJobs };
    is_done(job) && !mutations.on(missed)
}

/// Delivers the next version of the Job.
pub fn show_job(process: &mut Process, job: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
    if process.job_behind.is_empty() {
        return;
    }
    process.job_behind.remove(0);
    let shown = process.cached_job(job).cloned();
    process.meet(shown.as_deref(), Source::Event, mutations);
    process.find_left_behind(shown.as_deref(), pods);
    if cleans_up(shown.as_ref(), mutations) {
        let cached = process.cached_pods(pods);
        process.orphans.extend(cached.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid));
    }
    process.queued |= shown.is_none_or(|job| !job.status.is_finished());
}

/// Applies the consequences of a step in every process. It delivers the events beyond the permitted lag and
/// fires the timers that are due. It drops pods from the orphan queue that are no longer orphans.
///
/// The permitted lag is a number of events of pods, and one of the Job.
pub fn settle(
    job_state: &mut JobState,
    now: jobcheck_spec::time::Time,
    (pod_lag, job_lag): (usize, usize),
    mutations: &Mutations,
) {
    let JobState { job, pods, driver, .. } = job_state;
    for process in driver.processes_mut() {
        while process.job_behind.len() > job_lag {
            show_job(process, job.as_ref(), pods, mutations);
        }
        while process.knowledge.behind.len() > pod_lag {
            show_pod(process, job.as_ref(), pods, mutations);
        }
        if process.wake.is_some_and(|wake| wake <= now) {
            process.wake = None;
            process.queued = true;
        }
        if !process.orphans.is_empty() {
            let cached = process.cached_pods(pods);
            let cached_job = process.cached_job(job.as_ref()).cloned();
            let done = is_done(cached_job.as_ref());
            let is_orphan = |pod: &Pod| {
                pod.finalizer && (done || !pod.controlled || is_of_another(pod, cached_job.as_deref()))
            };
            process.orphans.retain(|uid| cached.get(*uid).is_some_and(is_orphan));
        }
    }
}
