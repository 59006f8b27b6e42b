//! What a sync reads at its start.

use std::collections::BTreeSet;
use std::sync::Arc;

use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

/// What a sync reads at its start (requirements.md 0.2, steps 2 to 6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// The Job in the Job cache.
    pub job: Option<Arc<Job>>,
    /// Its pods in the Pod cache.
    pub pods: Arc<Pods>,
    /// Pods in the Pod cache that nobody controls.
    pub ownerless: Arc<Pods>,
    /// Whether all creations and deletions were seen (PC-26).
    pub satisfied: bool,
    /// Whether all creations were seen (S-08).
    pub creations_seen: bool,
    /// Whether this process finished the Job, and its cache does not show it (TC-13).
    pub finished_unseen: bool,
    /// Pods whose release is to be seen (FT-28).
    pub removing_finalizers: BTreeSet<Uid>,
    /// What a subject keeps that looks for itself at what its caches show.
    pub kept: Kept,
    /// The record of failures (BO-05).
    pub failures: Failures,
    /// How often the key was queued again, where a departure counts it.
    pub requeues: u8,
    /// The clock.
    pub now: Time,
}

/// The record of failures, and the pods that are in it (BO-01, BO-03).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Failures {
    /// The record.
    pub record: Backoff,
    /// The pods in it.
    pub pods: BTreeSet<Uid>,
}

/// What a subject remembers until the decision itself drops it, whatever events come meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Kept {
    /// Pods whose finalizer it has removed (FT-28).
    pub finalizer_removed: BTreeSet<Uid>,
    /// Pods that it has deleted (PC-26).
    pub deleted: BTreeSet<Uid>,
    /// When it was told that the namespace is being deleted (PC-12).
    pub refused: Option<Time>,
}

/// For so many seconds no pod is created after the namespace was found to be going (PC-12).
pub const REFUSAL_LASTS: i64 = 300;

impl Kept {
    /// PC-12: whether the namespace is being deleted, as a creation was told not long ago.
    #[must_use]
    pub fn namespace_goes(&self, now: Time) -> bool {
        self.refused.is_some_and(|refused| now.since(refused) < REFUSAL_LASTS)
    }
}
