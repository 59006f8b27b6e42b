//! The input of a sync.

use std::collections::BTreeSet;
use std::sync::Arc;

use jobcheck_spec::guards::creation::REFUSAL_LASTS;
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

/// The input of a sync.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// The Job in the Job cache.
    pub job: Option<Arc<Job>>,
    /// Its pods in the Pod cache.
    pub pods: Arc<Pods>,
    /// The ownerless pods in the Pod cache.
    pub ownerless: Arc<Pods>,
    /// True if all expected creations and deletions were seen (PC-26).
    pub satisfied: bool,
    /// True if all expected creations were seen (S-08).
    pub creations_seen: bool,
    /// True if this process has finished the Job while its cache does not show that (TC-13).
    pub finished_unseen: bool,
    /// The pods whose finalizer removal the cache does not show yet (FT-28).
    pub removing_finalizers: BTreeSet<Uid>,
    /// The requests of a subject that compares its requests with its caches itself.
    pub own_requests: OwnRequests,
    /// The record of failures (BO-05).
    pub failures: Failures,
    /// The number of retries of the key. Only a mutation counts them.
    pub requeues: u8,
    /// The time at the start of the sync.
    pub now: Time,
}

/// The backoff record, with the pods that it includes (BO-01, BO-03).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Failures {
    /// The number of failures, and the time of the last one.
    pub record: Backoff,
    /// The pods that the record includes.
    pub pods: BTreeSet<Uid>,
}

/// The requests that a subject remembers until its own decision drops them. Events do not change them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct OwnRequests {
    /// The pods whose finalizer it has removed (FT-28).
    pub finalizer_removed: BTreeSet<Uid>,
    /// The pods that it has deleted (PC-26).
    pub deleted: BTreeSet<Uid>,
    /// The time at which a creation was refused because the namespace is being deleted (PC-12).
    pub refused: Option<Time>,
}

impl OwnRequests {
    /// PC-12: returns true if a creation was refused recently because the namespace is being deleted.
    #[must_use]
    pub fn namespace_goes(&self, now: Time) -> bool {
        self.refused.is_some_and(|refused| now.since(refused) < REFUSAL_LASTS)
    }
}
