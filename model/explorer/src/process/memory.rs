//! The memory of a process between its syncs.

use std::collections::BTreeSet;
use std::sync::Arc;

use jobcheck_spec::job::Job;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::read::{Failures, OwnRequests};

/// The memory of a process. A restart loses it (SY-10).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Memory {
    /// The incarnation of the Job that the memory concerns ([`crate::process::recreated`]).
    pub(super) incarnation: u8,
    /// The number of expected creations that the cache does not show yet.
    pub(super) creations: i8,
    /// The number of expected deletions that the cache does not show yet, as the built-in controller counts
    /// them.
    pub(super) deletions: i8,
    /// The pods whose deletion the cache does not show yet.
    pub(super) deleting: BTreeSet<Uid>,
    /// The pods whose finalizer removal the cache does not show yet.
    pub(super) removing_finalizers: BTreeSet<Uid>,
    /// The requests of a subject that compares its requests with its caches itself. The reference algorithm
    /// only uses the refusal.
    pub(super) own_requests: OwnRequests,
    /// The record of failures.
    pub(super) failures: Failures,
    /// The number of retries since the last successful sync. Only a mutation sets it.
    pub(super) requeues: u8,
    /// True if the Job was finished while the cache does not show that. Only a mutation sets it; other
    /// subjects derive it from the changes that the cache lacks.
    pub(super) finished: bool,
    /// The Job with a status whose write failed. Only a mutation sets it, which takes the status for stored.
    pub(super) unwritten: Option<Arc<Job>>,
}

impl Memory {
    /// The memory after a renaming of pods.
    #[must_use]
    pub fn renamed(&self, uid: impl Fn(Uid) -> Uid) -> Memory {
        let Memory { creations, deletions, deleting, removing_finalizers, own_requests, failures, .. } = self;
        let all = |uids: &BTreeSet<Uid>| uids.iter().map(|it| uid(*it)).collect();
        Memory {
            creations: *creations,
            deletions: *deletions,
            deleting: all(deleting),
            removing_finalizers: all(removing_finalizers),
            own_requests: OwnRequests {
                finalizer_removed: all(&own_requests.finalizer_removed),
                deleted: all(&own_requests.deleted),
                refused: own_requests.refused,
            },
            failures: Failures { record: failures.record, pods: all(&failures.pods) },
            incarnation: self.incarnation,
            requeues: self.requeues,
            finished: self.finished,
            unwritten: self.unwritten.clone(),
        }
    }

    /// The number of expected deletions that the cache does not show yet, as the built-in controller counts
    /// them.
    #[must_use]
    pub fn deletions(&self) -> i8 {
        self.deletions
    }

    /// PC-12: returns true if a creation was refused recently because the namespace is being deleted.
    #[must_use]
    pub fn namespace_goes(&self, now: Time) -> bool {
        self.own_requests.namespace_goes(now)
    }

    /// The contents of the memory as text, one entry for each part that is not empty.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let pods = |uids: &BTreeSet<Uid>| {
            uids.iter().map(|uid| format!("pod {}", uid.0)).collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        if self.creations != 0 {
            parts.push(format!("expected creations: {}", self.creations));
        }
        for (what, uids) in [
            ("expected deletions", &self.deleting),
            ("expected finalizer removals", &self.removing_finalizers),
            ("deleted pods", &self.own_requests.deleted),
            ("pods whose finalizer was removed", &self.own_requests.finalizer_removed),
            ("failed pods in the backoff record", &self.failures.pods),
        ] {
            if !uids.is_empty() {
                parts.push(format!("{what}: {}", pods(uids)));
            }
        }
        if self.own_requests.refused.is_some() {
            parts.push("the namespace is being deleted".to_owned());
        }
        parts
    }

    /// PC-26: returns true if all expected creations and deletions were seen.
    #[must_use]
    pub fn is_satisfied(&self, mutations: &Mutations) -> bool {
        let deleted = if mutations.on(Mutation::CountsDeletions) {
            self.deletions <= 0
        } else {
            self.deleting.is_empty()
        };
        deleted && self.creations_seen(mutations)
    }

    /// Returns true if all expected creations were seen.
    #[must_use]
    pub fn creations_seen(&self, mutations: &Mutations) -> bool {
        self.creations <= 0 || mutations.on(Mutation::ForgetsCreations)
    }

    /// Handles the first sight of a pod.
    pub fn saw_creation(&mut self) {
        self.creations = (self.creations - 1).max(0);
    }

    /// Handles a pod that is seen being deleted.
    pub fn saw_deletion(&mut self, uid: Uid) {
        self.deletions = (self.deletions - 1).max(0);
        self.deleting.remove(&uid);
    }

    /// Handles a pod that is seen without finalizer.
    pub fn saw_finalizer_removal(&mut self, uid: Uid) {
        self.removing_finalizers.remove(&uid);
    }

    /// Handles the deletion event of the Job (SY-09).
    pub fn forget_backoff(&mut self) {
        self.failures = Failures::default();
    }
}
