//! Watch events that reach the caches of a process, and what it does with them (PC-26, FT-22, FT-28, SY-09).

use std::sync::Arc;

use crate::job::Job;
use crate::pod::Pod;
use crate::pods::Pods;
use crate::uid::Uid;
use crate::world::Life;

use super::process::{Process, is_over};

/// The oldest change of a pod that the Pod cache lacks reaches it.
pub fn show_pod(process: &mut Process, job: Option<&Arc<Job>>, pods: &Arc<Pods>) {
    if process.knowledge.behind.is_empty() {
        return;
    }
    let unseen = process.knowledge.behind.remove(0);
    let later = process.knowledge.behind.iter().find(|it| it.uid == unseen.uid);
    let after = later.map_or_else(|| pods.get(unseen.uid).cloned(), |later| later.before.clone());
    let job = process.cached_job(job).cloned();
    match (&unseen.before, &after) {
        (None, Some(pod)) if !pod.deleting => {
            if job.is_some() {
                process.memory.saw_creation();
            }
            process.queued |= job.is_some();
        }
        (_, Some(pod)) if !pod.deleting => {
            if !pod.finalizer {
                process.memory.saw_release(pod.uid);
            } else if !pod.controlled {
                process.orphans.insert(pod.uid);
            }
            process.queued |= job.is_some();
        }
        (before, after) => saw_deletion(process, unseen.uid, before.as_ref(), after.as_ref(), job.as_ref()),
    }
}

/// A pod is being deleted, or is gone.
fn saw_deletion(
    process: &mut Process,
    uid: Uid,
    before: Option<&Pod>,
    after: Option<&Pod>,
    job: Option<&Arc<Job>>,
) {
    let last = after.or(before);
    let holds = last.is_some_and(|pod| pod.finalizer);
    let stray = last.is_some_and(|pod| !pod.controlled);
    if (is_over(job) || stray) && holds && after.is_some() {
        process.orphans.insert(uid);
    }
    if job.is_some() {
        process.memory.saw_deletion(uid);
        if after.is_none_or(|pod| !pod.finalizer) {
            process.memory.saw_release(uid);
        }
        process.queued = true;
    }
}

/// The next version of the Job reaches the Job cache.
pub fn show_job(process: &mut Process, job: Option<&Arc<Job>>, pods: &Arc<Pods>) {
    if process.job_behind.is_empty() {
        return;
    }
    process.job_behind.remove(0);
    let shown = process.cached_job(job).cloned();
    if shown.is_none() {
        process.memory.forget_backoff();
    }
    if is_over(shown.as_ref()) {
        let cached = process.cached_pods(pods);
        process.orphans.extend(cached.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid));
    }
    process.queued |= shown.is_none_or(|job| !job.status.is_finished());
}

/// Shows what a cache may lack no longer, wakes who waits for the time, and drops orphans that are none.
pub fn settle(life: &mut Life, now: crate::time::Time, pod_lag: usize, job_lag: usize) {
    let Life { job, pods, processes, .. } = life;
    for process in processes {
        while process.job_behind.len() > job_lag {
            show_job(process, job.as_ref(), pods);
        }
        while process.knowledge.behind.len() > pod_lag {
            show_pod(process, job.as_ref(), pods);
        }
        if process.wake.is_some_and(|wake| wake <= now) {
            process.wake = None;
            process.queued = true;
        }
        if !process.orphans.is_empty() {
            let cached = process.cached_pods(pods);
            let over = is_over(process.cached_job(job.as_ref()));
            let is_orphan = |pod: &Pod| pod.finalizer && (over || !pod.controlled);
            process.orphans.retain(|uid| cached.get(*uid).is_some_and(is_orphan));
        }
    }
}
