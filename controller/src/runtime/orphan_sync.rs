//! Pods that hold the tracking finalizer and have lost their Job, and pods that a finished Job left behind (FT-20 to
//! FT-23).

use std::sync::Arc;
use std::time::Duration;

use kube::{Client, ResourceExt};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::handlers::Wiring;
use super::job_sync::Next;
use super::kept::{KeptJob, KeptPod, PodOwner};
use super::own_writes::{Freshness, Reached};
use super::rest;
use super::store::{Kept, ObjectKey};
use crate::answer::Failure;
use crate::job::orphan::{OrphanObserved, OrphanPlan, Owner, plan};
use crate::job::requests;
use crate::values::Uid;

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

/// Who owns a pod, as far as the cache and, where it must be, the API server know.
enum Known {
    Nobody,
    AnotherKind,
    Missing,
    Job(Arc<KeptJob>),
    /// The cache does not show a Job that is there.
    NotYet,
}

impl OrphanSync {
    /// Syncs the pod of this name.
    pub async fn sync(&self, key: &ObjectKey) -> Next {
        let Some(pod) = self.wiring.pods.get(key) else { return Next::Rest };
        let known = match self.owner(&pod).await {
            Ok(known) => known,
            Err(failure) => {
                warn!(pod = %key, %failure, "cannot ask for the pod's Job");
                return Next::Retry;
            }
        };
        if let Known::Job(job) = &known
            && let Some(delay) = self.still_unseen(job)
        {
            return Next::PutOff(delay);
        }
        let owner = match &known {
            Known::Nobody => Owner::Nobody,
            Known::AnotherKind => Owner::AnotherKind,
            Known::Missing => Owner::Missing,
            Known::Job(job) => Owner::Job(&job.facts),
            // The Job's own event looks at its pods.
            Known::NotYet => return Next::Rest,
        };
        let observed = OrphanObserved { pod: pod.facts(), owner, settings: &self.wiring.settings };
        let decided = plan(&observed);
        let path = rest::pod(&key.namespace, &key.name);
        let answer = match &decided {
            OrphanPlan::Leave => return Next::Rest,
            OrphanPlan::Release(pod) => {
                info!(pod = %key, "releasing a pod that no Job will count (FT-21)");
                rest::patch(&self.client, &path, &requests::orphan_release_patch(pod)).await
            }
            OrphanPlan::Delete(pod) => {
                info!(pod = %key, "deleting a pod that came after its Job had finished (S-08)");
                rest::delete(&self.client, &path, &requests::orphan_deletion(pod)).await
            }
        };
        match answer {
            Ok(_) => Next::Rest,
            // Another look at what is there: the cache will show it, or shows it already.
            Err(Failure::NotFound(_)) => Next::Rest,
            Err(failure) => {
                debug!(pod = %key, %failure, "an orphan stays for now");
                Next::Retry
            }
        }
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

    async fn owner(&self, pod: &KeptPod) -> Result<Known, Failure> {
        let (name, uid) = match &pod.owner {
            PodOwner::Nobody => return Ok(Known::Nobody),
            PodOwner::AnotherKind => return Ok(Known::AnotherKind),
            PodOwner::Job { name, uid } => (name, uid),
        };
        let key = ObjectKey { namespace: pod.key().namespace.clone(), name: name.clone() };
        if let Some(job) = self.wiring.jobs.get(&key).filter(|job| job.facts.uid == *uid) {
            return Ok(Known::Job(job));
        }
        if !pod.facts().tracking_finalizer {
            return Ok(Known::Missing);
        }
        if self.wiring.memories.is_gone(uid) || !self.is_stored(&key, uid).await? {
            self.wiring.memories.job_is_gone(uid);
            return Ok(Known::Missing);
        }
        Ok(Known::NotYet)
    }

    /// A cache may be behind: a Job that it does not show is asked for, lest the finalizers of a new Job's pods go.
    async fn is_stored(&self, key: &ObjectKey, uid: &Uid) -> Result<bool, Failure> {
        let job = rest::get_job(&self.client, key).await?;
        Ok(job.is_some_and(|job| job.uid().as_deref() == Some(uid.as_str())))
    }
}

#[cfg(test)]
mod tests;
