//! Pods that hold the tracking finalizer and have lost their Job, and pods that a finished Job left behind (FT-20 to
//! FT-23).

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::handlers::Wiring;
use super::job_sync::Next;
use super::kept::{KeptJob, KeptPod};
use super::own_writes::{Freshness, Reached};
use super::rest;
use super::store::{Kept, ObjectKey};
use crate::answer::Failure;
use crate::job::orphan::{self, OrphanObserved, OrphanPlan, Owner, OwnerLookup, PodOwner};
use crate::job::requests;
use crate::values::{Text, Uid};

/// Everything that syncs of orphans need.
#[derive(Clone)]
pub struct OrphanSync {
    /// Caches, queues, memory.
    pub wiring: Wiring,
    /// Where requests go.
    pub client: Client,
}

/// How long the caches are waited for, and how long at a time.
const PATIENCE: Duration = Duration::from_secs(10);
const PUT_OFF: Duration = Duration::from_millis(50);

impl OrphanSync {
    /// Syncs the pod of this name.
    pub async fn sync(&self, key: &ObjectKey) -> Next {
        let Some(pod) = self.wiring.pods.get(key) else { return Next::Rest };
        let cached = self.cached(&pod);
        if let Some(delay) = cached.as_ref().and_then(|job| self.still_unseen(job)) {
            return Next::PutOff(delay);
        }
        let facts = cached.as_ref().map(|job| &job.facts);
        let is_gone = |uid: &Uid| self.wiring.memories.is_gone(uid);
        let owner = match orphan::look_up_owner(pod.facts(), &pod.owner, facts, is_gone) {
            OwnerLookup::Known(owner) => owner,
            OwnerLookup::Ask { job, uid } => match self.ask(&key.namespace, job, uid).await {
                Ok(Some(owner)) => owner,
                Ok(None) => return Next::Rest,
                Err(failure) => {
                    warn!(pod = %key, %failure, "cannot ask for the pod's Job");
                    return Next::Retry;
                }
            },
        };
        let observed = OrphanObserved { pod: pod.facts(), owner, settings: &self.wiring.settings };
        self.enact(key, &orphan::plan(&observed)).await
    }

    async fn enact(&self, key: &ObjectKey, plan: &OrphanPlan) -> Next {
        let Some(request) = requests::of_orphan(plan) else { return Next::Rest };
        match plan {
            OrphanPlan::Leave => {}
            OrphanPlan::RemoveFinalizer(_) => {
                info!(pod = %key, "releasing a pod that no Job will count (FT-21)")
            }
            OrphanPlan::Delete(_) => {
                info!(pod = %key, "deleting a pod that came after its Job had finished (S-08)");
            }
        }
        match rest::ask(&self.client, &key.namespace, &request).await {
            Ok(_) => Next::Rest,
            // Another look at what is there: the cache will show it, or shows it already.
            Err(Failure::NotFound(_)) => Next::Rest,
            Err(failure) => {
                debug!(pod = %key, %failure, "an orphan stays for now");
                Next::Retry
            }
        }
    }

    /// The Job that the controller reference of a pod names, if the cache shows it.
    fn cached(&self, pod: &KeptPod) -> Option<Arc<KeptJob>> {
        let PodOwner::Job { name, uid } = &pod.owner else { return None };
        let key = ObjectKey { namespace: pod.key().namespace.clone(), name: name.clone() };
        self.wiring.jobs.get(&key).filter(|job| job.facts.uid == *uid)
    }

    async fn ask(&self, namespace: &str, job: &Text, uid: &Uid) -> Result<Option<Owner<'static>>, Failure> {
        let answer = rest::ask(&self.client, namespace, &requests::read_job(job)).await;
        let owner = orphan::owner_from_response(uid, answer)?;
        if owner.is_some() {
            self.wiring.memories.job_is_gone(uid);
        }
        Ok(owner)
    }

    /// The last sync of the Job may have released this very pod, which the cache does not show yet: asking for the same
    /// again would be a conflict for nothing.
    fn still_unseen(&self, job: &KeptJob) -> Option<Duration> {
        let (jobs, pods) = (self.wiring.jobs.seen(), self.wiring.pods.seen());
        let holds = |uid: &Uid| self.wiring.pods.lookup(|index| index.by_uid(uid).is_some());
        let reached = Reached { jobs, pods, holds: &holds };
        match self.wiring.own_writes.check(job.key(), &job.facts.uid, reached, Instant::now()) {
            Freshness::Behind { waited, .. } if waited < PATIENCE => Some(PUT_OFF.max(waited)),
            // The patch has a precondition: at worst it is a conflict.
            Freshness::Behind { .. } | Freshness::InDoubt | Freshness::Fresh => None,
        }
    }
}

#[cfg(test)]
mod tests;
