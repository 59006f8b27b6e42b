//! The in-memory state of one Job between two syncs: expectations, and the backoff record.

use std::collections::BTreeSet;
use std::time::Duration;

use super::backoff;
use super::observed::{Observed, PodFacts};
use super::view::View;
use crate::values::{Time, Uid};

/// The state that one process keeps about one Job between syncs.
///
/// A restart loses it. Only delays, and the reading of caches that lag behind, depend on it (SY-10).
///
/// Each sync derives the next memory before its first call ([`Plan::memory`](super::command::Plan::memory)); the
/// responses to the calls then add to it ([`Memory::apply`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Memory {
    /// The Job to which the memory belongs. A recreated Job, which has another UID, starts without memory (BO-06, J-07,
    /// J-08).
    pub uid: Option<Uid>,
    /// The failures from which delays are computed.
    pub backoff: BackoffRecord,
    /// Cached pods that lost their finalizer. Either this process has removed it, confirmed by a 2xx or a 404, or the cache
    /// showed a recorded pod without it. They are never counted again, even if the cache still shows the finalizer (FT-28, B01, J-03),
    /// or a user restores it (S-05).
    pub finalizer_removed: BTreeSet<Uid>,
    /// Pods whose deletion was confirmed by a 2xx or a 404 and that the cache does not show as deleted yet. Deletions
    /// are expected by UID, not by number (H1), and nothing is planned while one is expected (J-01).
    pub deleted: BTreeSet<Uid>,
    /// The time at which a creation was refused because the namespace is terminating. No creation is tried for
    /// [`CREATION_PAUSE`] after it (PC-12).
    pub creation_refused: Option<Time>,
}

/// The pause of pod creation after a response that the namespace is terminating (PC-12).
pub const CREATION_PAUSE: Duration = Duration::from_secs(300);

/// Consecutive pod failures of a Job (BO-01, BO-03).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BackoffRecord {
    /// The number of failures since the last success.
    pub failures: u32,
    /// The finish time of the latest of these failures.
    pub last_failure: Option<Time>,
    /// Terminated pods that the record includes and that still hold the finalizer. Each enters the record once, even if
    /// the response to a status write was lost (BO-05 of `docs/findings`).
    pub pods: BTreeSet<Uid>,
}

/// A change of the memory that a response causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryUpdate {
    /// The pod with this UID does not hold the finalizer any more; see [`Memory::finalizer_removed`].
    FinalizerRemoved(Uid),
    /// The deletion of the pod with this UID was requested; see [`Memory::deleted`].
    Deleted(Uid),
    /// The namespace is terminating; see [`Memory::creation_refused`].
    NamespaceTerminating,
}

impl Memory {
    /// Returns the memory of the observed Job, without the entries that the caches have made obsolete.
    #[must_use]
    pub fn current(observed: &Observed) -> Memory {
        let uid = Some(observed.job.uid.clone());
        if observed.memory.uid != uid {
            return Memory { uid, ..Memory::default() };
        }
        let memory = observed.memory;
        let cached = |uids: &BTreeSet<Uid>, condition: fn(&PodFacts) -> bool| -> BTreeSet<Uid> {
            if uids.is_empty() {
                return BTreeSet::new();
            }
            let pods = observed.pods.iter().filter(|pod| condition(pod));
            pods.map(|pod| &pod.uid).filter(|uid| uids.contains(*uid)).cloned().collect()
        };
        Memory {
            uid,
            backoff: memory.backoff.clone(),
            finalizer_removed: cached(&memory.finalizer_removed, |_| true),
            deleted: cached(&memory.deleted, |pod| pod.deletion.is_none()),
            creation_refused: memory
                .creation_refused
                .filter(|refused| observed.now < refused.plus(CREATION_PAUSE)),
        }
    }

    /// Returns the memory after a plan for this view. Newly terminated pods enter the backoff record. Recorded pods without a
    /// finalizer enter [`Memory::finalizer_removed`], because the plan counts them. Adopted pods leave it, because the adoption
    /// adds the finalizer.
    #[must_use]
    pub fn after(self, view: &View) -> Memory {
        let mut finalizer_removed = self.finalizer_removed;
        let counted = view.pods.iter().filter(|pod| pod.recorded && !pod.has_finalizer);
        finalizer_removed.extend(counted.map(|pod| pod.facts.uid.clone()));
        for pod in &view.adopted {
            finalizer_removed.remove(&pod.uid);
        }
        Memory { backoff: backoff::updated(&self.backoff, view), finalizer_removed, ..self }
    }

    /// Adds the effect of a response that was received at this time.
    pub fn apply(&mut self, update: MemoryUpdate, now: Time) {
        match update {
            MemoryUpdate::FinalizerRemoved(pod) => drop(self.finalizer_removed.insert(pod)),
            MemoryUpdate::Deleted(pod) => drop(self.deleted.insert(pod)),
            MemoryUpdate::NamespaceTerminating => self.creation_refused = Some(now),
        }
    }
}
