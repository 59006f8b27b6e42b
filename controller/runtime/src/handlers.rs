//! The event handlers: they add keys to the work queues when an object changes (SY-02, FT-22).
//!
//! There is one difference to the handlers of the built-in controller. Finished Jobs, and pods of deleted Jobs, are also
//! handled when a cache first shows them. A restart therefore repairs the effects of a crash (S-23).

use std::sync::Arc;
use std::time::Duration;

use jobcheck_controller::job::conditions::finished;
use jobcheck_controller::job::observed::{Phase, Settings};
use jobcheck_controller::job::orphan::PodOwner;
use jobcheck_controller::job::plan::is_ours;
use jobcheck_controller::values::Uid;

use super::cached::{CachedJob, CachedPod, JobStore, PodStore};
use super::memories::Memories;
use super::metrics::Metrics;
use super::own_writes::OwnWrites;
use super::queue::WorkQueue;
use super::store::{Cached, Change, ObjectKey};

/// The caches, queues, and memory of one term of leadership.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// The cache of Jobs.
    pub jobs: Arc<JobStore>,
    /// The cache of pods.
    pub pods: Arc<PodStore>,
    /// The keys of Jobs to sync.
    pub job_queue: WorkQueue<ObjectKey>,
    /// The keys of pods that may have no unfinished Job.
    pub orphan_queue: WorkQueue<ObjectKey>,
    /// The keys of Jobs whose TTL may have expired.
    pub ttl_queue: WorkQueue<ObjectKey>,
    /// The memory about Jobs.
    pub memories: Arc<Memories>,
    /// The versions that the caches have to show.
    pub own_writes: Arc<OwnWrites>,
    /// The metrics.
    pub metrics: Metrics,
    /// The settings of the decisions.
    pub settings: Arc<Settings>,
}

impl Wiring {
    /// Registers the handlers with the caches.
    pub fn connect(&self) {
        let wiring = self.clone();
        self.jobs.listen(move |change| wiring.job_changed(change));
        let wiring = self.clone();
        self.pods.listen(move |change| wiring.pod_changed(change));
    }

    /// Unregisters the handlers, which own the wiring, which owns the caches: without this the cycle would leak.
    ///
    /// The next term sees the pods of this one anew and counts them again. So they are subtracted here, and the
    /// difference of MX-08 stays the number of pods that hold the finalizer now (MX-13).
    pub fn disconnect(&self) {
        self.jobs.remove_listener();
        self.pods.remove_listener();
        for pod in self.pods.all() {
            self.count_finalizers(&Change { old: Some(pod), new: None });
        }
    }

    fn job_changed(&self, change: &Change<CachedJob>) {
        match (&change.old, &change.new) {
            (None, Some(new)) => self.job_added(new),
            (Some(old), Some(new)) => self.job_updated(old, new),
            (Some(old), None) => self.job_deleted(old),
            (None, None) => {}
        }
    }

    fn job_added(&self, job: &CachedJob) {
        self.job_queue.add(job.key().clone());
        // MB-06, MX-09.
        if let Some(manager) = &job.facts.spec.managed_by
            && !is_ours(&job.facts, &self.settings)
        {
            self.metrics.job_by_external_controller(manager);
        }
        self.after_finish(job);
    }

    fn job_updated(&self, old: &CachedJob, new: &CachedJob) {
        if finished(&new.facts.status.conditions) {
            return self.after_finish(new);
        }
        if old.generation == new.generation {
            self.batched(new.key());
        } else {
            self.job_queue.add(new.key().clone());
        }
    }

    /// Wakes the orphan path and the TTL controller for a finished Job (FT-22, TT-08).
    fn after_finish(&self, job: &CachedJob) {
        if finished(&job.facts.status.conditions) {
            self.wake_pods(&job.facts.uid);
            if job.ttl.ttl_seconds_after_finished.is_some() && job.ttl.deletion.is_none() {
                self.ttl_queue.add(job.key().clone());
            }
        }
    }

    /// SY-09.
    fn job_deleted(&self, job: &CachedJob) {
        let uid = &job.facts.uid;
        self.own_writes.forget(job.key(), uid);
        self.memories.forget(job.key(), uid);
        self.memories.add_deleted_job(uid);
        self.job_queue.add(job.key().clone());
        self.wake_pods(uid);
    }

    /// Queues all pods of the Job for the orphan path.
    fn wake_pods(&self, job: &Uid) {
        let pods: Vec<ObjectKey> =
            self.pods.lookup(|index| index.of_job(job).map(|pod| pod.key().clone()).collect());
        pods.into_iter().for_each(|pod| self.orphan_queue.add(pod));
    }

    fn pod_changed(&self, change: &Change<CachedPod>) {
        self.count_finalizers(change);
        let owner_changed = match (&change.old, &change.new) {
            (Some(old), Some(new)) => old.owner != new.owner,
            _ => false,
        };
        // SY-08: the previous owner is synced too.
        if owner_changed && let Some(old) = &change.old {
            self.wake_owner(old);
        }
        let holds =
            |pod: &Option<Arc<CachedPod>>| pod.as_ref().is_some_and(|pod| pod.facts().tracking_finalizer);
        let was_unowned = change.old.as_ref().filter(|pod| pod.owner == PodOwner::Nobody);
        if let Some(old) = was_unowned.filter(|_| holds(&change.old) && !holds(&change.new)) {
            self.wake_jobs_that_record(old);
        }
        let Some(new) = &change.new else {
            change.old.iter().for_each(|pod| self.pod_deleted(pod));
            return;
        };
        match &new.owner {
            PodOwner::Job { .. } => self.owned_pod(new),
            PodOwner::Nobody => {
                let labels_changed = change.old.as_ref().is_none_or(|old| old.labels != new.labels);
                self.ownerless_pod(new, labels_changed || owner_changed);
            }
            PodOwner::AnotherKind => {}
        }
    }

    fn owned_pod(&self, pod: &CachedPod) {
        match self.owner_of(pod) {
            Some(job) if finished(&job.facts.status.conditions) => self.orphan_queue.add(pod.key().clone()),
            Some(job) => self.batched(job.key()),
            None if pod.facts().tracking_finalizer => self.orphan_queue.add(pod.key().clone()),
            None => {}
        }
    }

    fn ownerless_pod(&self, pod: &CachedPod, may_be_adopted: bool) {
        if pod.facts().tracking_finalizer {
            self.orphan_queue.add(pod.key().clone());
        }
        if may_be_adopted && pod.facts().deletion.is_none() {
            let jobs = self.jobs.lookup(|index| index.selecting(pod));
            jobs.iter().for_each(|job| self.batched(job.key()));
        }
    }

    fn pod_deleted(&self, pod: &CachedPod) {
        self.wake_owner(pod);
    }

    fn wake_owner(&self, pod: &CachedPod) {
        if let Some(job) = self.owner_of(pod) {
            self.batched(job.key());
        }
    }

    /// FT-02: wakes the Jobs that have recorded a pod without an owner. They can count it as soon as its finalizer
    /// is removed.
    fn wake_jobs_that_record(&self, pod: &CachedPod) {
        let uid = pod.uid();
        let records = |job: &Arc<CachedJob>| {
            let uncounted = job.facts.status.uncounted.as_ref();
            uncounted
                .is_some_and(|recorded| recorded.succeeded.contains(uid) || recorded.failed.contains(uid))
        };
        self.jobs.all().iter().filter(|job| records(job)).for_each(|job| self.batched(job.key()));
    }

    fn owner_of(&self, pod: &CachedPod) -> Option<Arc<CachedJob>> {
        let PodOwner::Job { name, uid } = &pod.owner else { return None };
        let key = ObjectKey { namespace: pod.key().namespace.clone(), name: name.clone() };
        self.jobs.get(&key).filter(|job| job.facts.uid == *uid)
    }

    /// SY-02: events of pods and of the status arrive in bursts.
    fn batched(&self, job: &ObjectKey) {
        self.job_queue.add_after(job.clone(), self.batch_period());
    }

    fn batch_period(&self) -> Duration {
        self.settings.sync_batch_period
    }

    /// MX-08.
    fn count_finalizers(&self, change: &Change<CachedPod>) {
        let counts = |pod: &Option<Arc<CachedPod>>| {
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
