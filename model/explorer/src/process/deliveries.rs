//! When events reach the caches of a process.
//!
//! Any event may come at any time. But nobody looks at a cache before the next sync starts, as long as the Job is
//! neither finished nor gone: an event queues a sync, and settles expectations, of which the sync under way has read
//! what it needs. So it is enough that events come just before a sync, in every number. That is a partial-order
//! reduction ([`Algorithm::lazy_caches`]). A new list, which shows of several changes of a pod what they came to, is
//! one more number.
//!
//! # Soundness
//!
//! While the stored Job is not over, no cache shows that it is, and so:
//!
//! - every event queues the Job's key, so that a sync may always follow;
//! - events of pods and of the Job commute: those of pods ask only whether the cached Job exists and is over;
//! - events commute with everything that others do, which adds to the end of what the caches lack, and with the calls
//!   of the sync under way: expectations are set before calls, and lowered by events and by failed calls alike;
//! - the orphan queue, which is worked off without a sync, stays empty;
//! - a restart forgets what events did to the memory, and lists what they would have shown.
//!
//! Where the bound on lag is reached, the oldest event comes at once, with the reduction and without. Once the Job is
//! over, nothing is reduced; nor is anything where pods may lose their controller, or a Job is created again, which
//! fills the orphan queue. Safety properties read what etcd holds and the past, never a cache (but for BO-06, which asks
//! for a process that rests, and only where a Job is created again); progress is checked without the reduction. A test compares what etcd can come to hold.
//!
//! [`Algorithm::lazy_caches`]: crate::scope::Algorithm::lazy_caches

use std::sync::Arc;

use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;

use crate::mutations::Mutations;
use crate::process::informer::{relist_pods, show_job, show_pod};
use crate::process::state::{Process, is_over};
use crate::process::steps::{Delivery, ProcessStep};

/// The syncs that may start.
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

/// The events that may come by themselves.
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
        && !is_over(job_state.job.as_ref())
}

/// Whether a new list shows something else than the events one by one: two of them are of one pod.
fn merges(process: &Process) -> bool {
    let behind = &process.knowledge.behind;
    behind.iter().enumerate().any(|(place, unseen)| behind[..place].iter().any(|it| it.uid == unseen.uid))
}

/// The events come.
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
