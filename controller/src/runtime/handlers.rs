//! Which change wakes which queue (SY-02, FT-22).
//!
//! As the built-in's handlers, with one difference: a finished Job, or a pod whose Job is gone, that is seen for the
//! first time is looked at too, so that a restart repairs what a crash left (S-23).

use std::sync::Arc;
use std::time::Duration;

use super::kept::{JobStore, KeptJob, KeptPod, PodStore};
use super::memories::Memories;
use super::metrics::Metrics;
use super::own_writes::OwnWrites;
use super::queue::WorkQueue;
use super::store::{Change, Kept, ObjectKey};
use crate::job::conditions::finished;
use crate::job::observed::{Phase, Settings};
use crate::job::orphan::PodOwner;
use crate::job::plan::is_ours;
use crate::values::Uid;

/// The queues of one term of leadership, and what their keys are looked up in.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// The cache of Jobs.
    pub jobs: Arc<JobStore>,
    /// The cache of pods.
    pub pods: Arc<PodStore>,
    /// Jobs to sync.
    pub job_queue: WorkQueue<ObjectKey>,
    /// Pods that may have lost their Job.
    pub orphan_queue: WorkQueue<ObjectKey>,
    /// Jobs that may have outlived their time.
    pub ttl_queue: WorkQueue<ObjectKey>,
    /// What is remembered of Jobs.
    pub memories: Arc<Memories>,
    /// What the caches have to show.
    pub own_writes: Arc<OwnWrites>,
    /// Metrics.
    pub metrics: Metrics,
    /// Limits and gates.
    pub settings: Arc<Settings>,
}

impl Wiring {
    /// Has the stores tell of their changes.
    pub fn connect(&self) {
        let wiring = self.clone();
        self.jobs.listen(move |change| wiring.job_changed(change));
        let wiring = self.clone();
        self.pods.listen(move |change| wiring.pod_changed(change));
    }

    fn job_changed(&self, change: &Change<KeptJob>) {
        match (&change.old, &change.new) {
            (None, Some(new)) => self.job_added(new),
            (Some(old), Some(new)) => self.job_updated(old, new),
            (Some(old), None) => self.job_deleted(old),
            (None, None) => {}
        }
    }

    fn job_added(&self, job: &KeptJob) {
        self.job_queue.add(job.key().clone());
        // MB-06, MX-09.
        if let Some(manager) = &job.facts.spec.managed_by
            && !is_ours(&job.facts, &self.settings)
        {
            self.metrics.job_by_external_controller(manager);
        }
        self.after_finish(job);
    }

    fn job_updated(&self, old: &KeptJob, new: &KeptJob) {
        if finished(&new.facts.status.conditions) {
            return self.after_finish(new);
        }
        if old.generation == new.generation {
            self.batched(new.key());
        } else {
            self.job_queue.add(new.key().clone());
        }
    }

    /// FT-22, TT-08.
    fn after_finish(&self, job: &KeptJob) {
        if finished(&job.facts.status.conditions) {
            self.sweep(&job.facts.uid);
            if job.ttl.ttl_seconds_after_finished.is_some() && job.ttl.deletion.is_none() {
                self.ttl_queue.add(job.key().clone());
            }
        }
    }

    /// SY-09.
    fn job_deleted(&self, job: &KeptJob) {
        let uid = &job.facts.uid;
        self.own_writes.forget(job.key(), uid);
        self.memories.forget(job.key(), uid);
        self.memories.job_is_gone(uid);
        self.job_queue.add(job.key().clone());
        self.sweep(uid);
    }

    /// Has all pods of the Job looked at.
    fn sweep(&self, job: &Uid) {
        let pods: Vec<ObjectKey> =
            self.pods.lookup(|index| index.of_job(job).map(|pod| pod.key().clone()).collect());
        pods.into_iter().for_each(|pod| self.orphan_queue.add(pod));
    }

    fn pod_changed(&self, change: &Change<KeptPod>) {
        self.count_finalizers(change);
        let owner_changed = match (&change.old, &change.new) {
            (Some(old), Some(new)) => old.owner != new.owner,
            _ => false,
        };
        // SY-08: the former owner hears of it too.
        if owner_changed && let Some(old) = &change.old {
            self.wake_owner(old);
        }
        let holds =
            |pod: &Option<Arc<KeptPod>>| pod.as_ref().is_some_and(|pod| pod.facts().tracking_finalizer);
        let was_unowned = change.old.as_ref().filter(|pod| pod.owner == PodOwner::Nobody);
        if let Some(old) = was_unowned.filter(|_| holds(&change.old) && !holds(&change.new)) {
            self.wake_those_that_list(old);
        }
        let Some(new) = &change.new else {
            change.old.iter().for_each(|pod| self.pod_deleted(pod));
            return;
        };
        match &new.owner {
            PodOwner::Job { .. } => self.owned_pod(new),
            PodOwner::Nobody => {
                let labels_changed = change.old.as_ref().is_none_or(|old| old.labels != new.labels);
                self.unowned_pod(new, labels_changed || owner_changed);
            }
            PodOwner::AnotherKind => {}
        }
    }

    fn owned_pod(&self, pod: &KeptPod) {
        match self.owner_of(pod) {
            Some(job) if finished(&job.facts.status.conditions) => self.orphan_queue.add(pod.key().clone()),
            Some(job) => self.batched(job.key()),
            None if pod.facts().tracking_finalizer => self.orphan_queue.add(pod.key().clone()),
            None => {}
        }
    }

    fn unowned_pod(&self, pod: &KeptPod, may_be_adopted: bool) {
        if pod.facts().tracking_finalizer {
            self.orphan_queue.add(pod.key().clone());
        }
        if may_be_adopted && pod.facts().deletion.is_none() {
            let jobs = self.jobs.lookup(|index| index.selecting(pod));
            jobs.iter().for_each(|job| self.batched(job.key()));
        }
    }

    fn pod_deleted(&self, pod: &KeptPod) {
        self.wake_owner(pod);
    }

    fn wake_owner(&self, pod: &KeptPod) {
        if let Some(job) = self.owner_of(pod) {
            self.batched(job.key());
        }
    }

    /// FT-02: a Job whose status lists a pod that has lost its owner can count it as soon as the finalizer is removed.
    fn wake_those_that_list(&self, pod: &KeptPod) {
        let uid = pod.uid();
        let lists = |job: &Arc<KeptJob>| {
            let uncounted = job.facts.status.uncounted.as_ref();
            uncounted.is_some_and(|listed| listed.succeeded.contains(uid) || listed.failed.contains(uid))
        };
        self.jobs.all().iter().filter(|job| lists(job)).for_each(|job| self.batched(job.key()));
    }

    fn owner_of(&self, pod: &KeptPod) -> Option<Arc<KeptJob>> {
        let PodOwner::Job { name, uid } = &pod.owner else { return None };
        let key = ObjectKey { namespace: pod.key().namespace.clone(), name: name.clone() };
        self.jobs.get(&key).filter(|job| job.facts.uid == *uid)
    }

    /// SY-02: events of pods and of the status come in swarms.
    fn batched(&self, job: &ObjectKey) {
        self.job_queue.add_after(job.clone(), self.batch_period());
    }

    fn batch_period(&self) -> Duration {
        self.settings.sync_batch_period
    }

    /// MX-08.
    fn count_finalizers(&self, change: &Change<KeptPod>) {
        let counts = |pod: &Option<Arc<KeptPod>>| {
            pod.as_ref().is_some_and(|pod| {
                pod.facts().tracking_finalizer
                    && matches!(pod.facts().phase, Phase::Succeeded | Phase::Failed)
            })
        };
        match (counts(&change.old), counts(&change.new)) {
            (false, true) => self.metrics.terminated_pod_with_finalizer(true),
            (true, false) => self.metrics.terminated_pod_with_finalizer(false),
            (false, false) | (true, true) => {}
        }
    }
}

#[cfg(test)]
mod tests;
