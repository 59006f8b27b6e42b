//! The sync of a pod that holds the tracking finalizer and has no unfinished Job (FT-20 to FT-23).

use std::sync::Arc;
use std::time::Duration;

use jobcheck_controller::answer::Failure;
use jobcheck_controller::job::orphan::{self, OrphanObserved, OrphanPlan, Owner, OwnerLookup, PodOwner};
use jobcheck_controller::job::requests;
use jobcheck_controller::values::{Text, Uid};
use kube::Client;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::cached::{CachedJob, CachedPod};
use super::handlers::Wiring;
use super::job_sync::Requeue;
use super::own_writes::{Freshness, Reached};
use super::rest;
use super::store::{Cached, ObjectKey};

/// The dependencies of the syncs of orphan pods.
#[derive(Clone)]
pub struct OrphanSync {
    /// The caches, queues, and memory.
    pub wiring: Wiring,
    /// The client of the requests.
    pub client: Client,
}

/// The maximum time to wait for fresh caches.
const STALE_CACHE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first delay while the caches are stale.
const DEFER: Duration = Duration::from_millis(50);

impl OrphanSync {
    /// Syncs the pod with this name.
    pub async fn sync(&self, key: &ObjectKey) -> Requeue {
        let Some(pod) = self.wiring.pods.get(key) else { return Requeue::AwaitChange };
        let cached = self.cached(&pod);
        if let Some(delay) = cached.as_ref().and_then(|job| self.delay_for_own_write(job)) {
            return Requeue::Defer(delay);
        }
        let facts = cached.as_ref().map(|job| &job.facts);
        let is_gone = |uid: &Uid| self.wiring.memories.is_deleted(uid);
        let owner = match orphan::look_up_owner(pod.facts(), &pod.owner, facts, is_gone) {
            OwnerLookup::Known(owner) => owner,
            OwnerLookup::Ask { job, uid } => match self.ask(&key.namespace, job, uid).await {
                Ok(Some(owner)) => owner,
                Ok(None) => return Requeue::AwaitChange,
                Err(failure) => {
                    warn!(pod = %key, %failure, "cannot read the Job of the pod");
                    return Requeue::RateLimited;
                }
            },
        };
        let observed = OrphanObserved { pod: pod.facts(), owner, settings: &self.wiring.settings };
        self.enact(key, &orphan::plan(&observed)).await
    }

    async fn enact(&self, key: &ObjectKey, plan: &OrphanPlan) -> Requeue {
        let Some(request) = requests::of_orphan(plan) else { return Requeue::AwaitChange };
        match plan {
            OrphanPlan::Leave => {}
            OrphanPlan::RemoveFinalizer(_) => {
                info!(pod = %key, "removing the finalizer of a pod that no Job will count (FT-21)")
            }
            OrphanPlan::Delete(_) => {
                info!(pod = %key, "deleting a pod that was created after its Job had finished (S-08)");
            }
        }
        match rest::ask(&self.client, &key.namespace, &request).await {
            Ok(_) => Requeue::AwaitChange,
            // The cache will show the deletion, or shows it already.
            Err(Failure::NotFound(_)) => Requeue::AwaitChange,
            Err(failure) => {
                debug!(pod = %key, %failure, "the request about an orphan pod failed");
                Requeue::RateLimited
            }
        }
    }

    /// Returns the Job in the controller reference of a pod, if the cache shows it.
    fn cached(&self, pod: &CachedPod) -> Option<Arc<CachedJob>> {
        let PodOwner::Job { name, uid } = &pod.owner else { return None };
        let key = ObjectKey { namespace: pod.key().namespace.clone(), name: name.clone() };
        self.wiring.jobs.get(&key).filter(|job| job.facts.uid == *uid)
    }

    async fn ask(&self, namespace: &str, job: &Text, uid: &Uid) -> Result<Option<Owner<'static>>, Failure> {
        let response = rest::ask(&self.client, namespace, &requests::read_job(job)).await;
        let owner = orphan::owner_from_response(uid, response)?;
        if owner.is_some() {
            self.wiring.memories.add_deleted_job(uid);
        }
        Ok(owner)
    }

    /// Returns the delay until the cache may show the last writes for the Job.
    ///
    /// The last sync may have removed the finalizer of this pod. A repeated request would be an unnecessary conflict.
    fn delay_for_own_write(&self, job: &CachedJob) -> Option<Duration> {
        let (jobs, pods) = (self.wiring.jobs.latest_version(), self.wiring.pods.latest_version());
        let has_pod = |uid: &Uid| self.wiring.pods.lookup(|index| index.by_uid(uid).is_some());
        let reached = Reached { jobs, pods, has_pod: &has_pod };
        match self.wiring.own_writes.check(job.key(), &job.facts.uid, reached, Instant::now()) {
            Freshness::Behind { waited, .. } if waited < STALE_CACHE_TIMEOUT => Some(DEFER.max(waited)),
            // The request has a precondition, so the worst result is a conflict.
            Freshness::Behind { .. } | Freshness::Unknown | Freshness::Fresh => None,
        }
    }
}

#[cfg(test)]
mod tests;
