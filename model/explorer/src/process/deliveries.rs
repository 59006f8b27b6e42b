//! When events reach the caches of a process.
//!
//! Any event may arrive at any time. But while the Job is neither finished nor gone, nobody looks at a cache
//! before the next sync starts. It is therefore enough that events arrive just before a sync, in every
//! possible number. This is a partial-order reduction ([`Algorithm::lazy_caches`]). A relist, which merges
//! several changes of a pod into one, is one more possibility.
//!
//! # Soundness
//!
//! A Job is *done* if no sync looks at its pods any more: it is finished or does not exist.
//! While the stored Job is not done, no cache shows that it is. Therefore:
//!
//! - Every event queues the Job's key, so that a sync can always follow.
//! - Events of pods and events of the Job commute: events of pods only depend on whether the cached Job
//!   exists and is done.
//! - Events commute with the steps of all other actors, which append to the changes that the caches lack.
//! - Events commute with the calls of the current sync. Expectations are set before the calls. Events and
//!   failed calls both lower them.
//! - The orphan queue stays empty, so that no request is made without a sync.
//! - A restart discards the effect of events on the memory, and lists the objects that the events would have
//!   shown.
//!
//! If a cache reaches the bound on its lag, the oldest event arrives at once, with or without the reduction.
//! Nothing is reduced once the Job is done. The same holds for scopes that fill the orphan queue, in which
//! pods may become ownerless or a Job is recreated.
//!
//! Safety properties read etcd and the history, never a cache. The exception is BO-06, which only applies to
//! recreated Jobs. Progress is checked without the reduction. A test compares the reachable contents of etcd.
//!
//! [`Algorithm::lazy_caches`]: crate::scope::Algorithm::lazy_caches

use std::sync::Arc;

use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;

use crate::mutations::Mutations;
use crate::process::informer::{relist_pods, show_job, show_pod};
use crate::process::state::{Process, is_done};
use crate::process::steps::{Delivery, ProcessStep};

/// The syncs that may start, each with the events that arrive just before it.
pub fn before_a_sync(
    job_state: &JobState,
    process: &Process,
    scope: &Scope,
    add: &mut dyn FnMut(ProcessStep),
) {
    let mutations = scope.mutations();
    if !are_lazy(job_state, scope) {
        if process.queued && !process.waits_after(Delivery::default(), mutations) {
            add(ProcessStep::Sync(Delivery::default()));
        }
        return;
    }
    let behind = process.knowledge.behind.len();
    let by_list = merges(process).then_some((behind, true));
    for (pods, relists) in (0..=behind).map(|pods| (pods, false)).chain(by_list) {
        for jobs in 0..=process.job_behind.len() {
            let delivery = Delivery { pods, jobs, relists };
            // Every event queues the key.
            let queued = process.queued || delivery != Delivery::default();
            if queued && !process.waits_after(delivery, mutations) {
                add(ProcessStep::Sync(delivery));
            }
        }
    }
}

/// The events that may arrive without a sync.
pub fn alone(job_state: &JobState, process: &Process, scope: &Scope, add: &mut dyn FnMut(ProcessStep)) {
    if are_lazy(job_state, scope) {
        return;
    }
    if !process.knowledge.behind.is_empty() {
        add(ProcessStep::ShowPod);
    }
    if !process.job_behind.is_empty() {
        add(ProcessStep::ShowJob);
    }
    if merges(process) {
        add(ProcessStep::RelistPods);
    }
    if process.may_miss_a_deletion() {
        add(ProcessStep::RelistJobs);
    }
}

fn are_lazy(job_state: &JobState, scope: &Scope) -> bool {
    scope.algorithm().is_some_and(|algorithm| algorithm.lazy_caches)
        && !scope.has_ownerless()
        && !scope.recreates()
        && !is_done(job_state.job.as_ref())
}

/// Returns true if a relist differs from the single events: two of them concern the same pod.
fn merges(process: &Process) -> bool {
    let behind = &process.knowledge.behind;
    behind.iter().enumerate().any(|(place, unseen)| behind[..place].iter().any(|it| it.uid == unseen.uid))
}

/// Delivers the events.
pub fn deliver(
    process: &mut Process,
    delivery: Delivery,
    job: Option<&Arc<Job>>,
    pods: &Arc<Pods>,
    mutations: &Mutations,
) {
    if delivery.relists {
        relist_pods(process, job, pods, mutations);
    } else {
        for _ in 0..delivery.pods {
            show_pod(process, job, pods, mutations);
        }
    }
    for _ in 0..delivery.jobs {
        show_job(process, job, pods, mutations);
    }
}
