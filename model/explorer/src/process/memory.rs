//! What a process of an algorithm remembers between its syncs.

use std::collections::BTreeSet;
use std::sync::Arc;

use jobcheck_spec::job::Job;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::read::{Failures, Kept};

/// The memory of a process, which a restart loses (SY-10).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Memory {
    /// Which Job of the name it is of ([`crate::process::recreated`]).
    pub(super) incarnation: u8,
    /// Creations that were not seen yet.
    pub(super) creations: i8,
    /// Deletions that were not seen yet, as the built-in counts them.
    pub(super) deletions: i8,
    /// Pods whose deletion was not seen yet.
    pub(super) deleting: BTreeSet<Uid>,
    /// Pods whose release was not seen yet.
    pub(super) removing_finalizers: BTreeSet<Uid>,
    /// What a subject keeps that looks for itself at what its caches show; of it the reference algorithm has the refusal
    /// alone.
    pub(super) kept: Kept,
    /// The record of failures.
    pub(super) failures: Failures,
    /// How often the key was queued again since a sync went well; kept for a departure alone.
    pub(super) requeues: u8,
    /// Whether the Job was finished, and the cache did not show it; kept for a departure alone, others look at what the
    /// cache lacks.
    pub(super) finished: bool,
    /// The Job with a status that could not be stored, where a departure takes it for stored.
    pub(super) unwritten: Option<Arc<Job>>,
}

impl Memory {
    /// The same of pods with other names.
    #[must_use]
    pub fn renamed(&self, uid: impl Fn(Uid) -> Uid) -> Memory {
        let Memory { creations, deletions, deleting, removing_finalizers, kept, failures, .. } = self;
        let all = |uids: &BTreeSet<Uid>| uids.iter().map(|it| uid(*it)).collect();
        Memory {
            creations: *creations,
            deletions: *deletions,
            deleting: all(deleting),
            removing_finalizers: all(removing_finalizers),
            kept: Kept {
                finalizer_removed: all(&kept.finalizer_removed),
                deleted: all(&kept.deleted),
                refused: kept.refused,
            },
            failures: Failures { record: failures.record, pods: all(&failures.pods) },
            incarnation: self.incarnation,
            requeues: self.requeues,
            finished: self.finished,
            unwritten: self.unwritten.clone(),
        }
    }

    /// Deletions that were not seen yet, as the built-in counts them.
    #[must_use]
    pub fn deletions(&self) -> i8 {
        self.deletions
    }

    /// PC-12: whether the namespace is being deleted, as a creation was told not long ago.
    #[must_use]
    pub fn namespace_goes(&self, now: Time) -> bool {
        self.kept.namespace_goes(now)
    }

    /// What it holds, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let pods = |uids: &BTreeSet<Uid>| {
            uids.iter().map(|uid| format!("pod {}", uid.0)).collect::<Vec<_>>().join(", ")
        };
        let mut told = Vec::new();
        if self.creations != 0 {
            told.push(format!("creations to be seen: {}", self.creations));
        }
        for (what, uids) in [
            ("deletions to be seen", &self.deleting),
            ("releases to be seen", &self.removing_finalizers),
            ("deleted", &self.kept.deleted),
            ("released", &self.kept.finalizer_removed),
            ("failures", &self.failures.pods),
        ] {
            if !uids.is_empty() {
                told.push(format!("{what}: {}", pods(uids)));
            }
        }
        if self.kept.refused.is_some() {
            told.push("the namespace is being deleted".to_owned());
        }
        told
    }

    /// PC-26.
    #[must_use]
    pub fn is_satisfied(&self, mutations: &Mutations) -> bool {
        let deleted = if mutations.on(Mutation::CountsDeletions) {
            self.deletions <= 0
        } else {
            self.deleting.is_empty()
        };
        deleted && self.creations_seen(mutations)
    }

    /// Whether all pods that were created have been seen.
    #[must_use]
    pub fn creations_seen(&self, mutations: &Mutations) -> bool {
        self.creations <= 0 || mutations.on(Mutation::ForgetsCreations)
    }

    /// A pod was seen for the first time.
    pub fn saw_creation(&mut self) {
        self.creations = (self.creations - 1).max(0);
    }

    /// A pod was seen deleted.
    pub fn saw_deletion(&mut self, uid: Uid) {
        self.deletions = (self.deletions - 1).max(0);
        self.deleting.remove(&uid);
    }

    /// A pod was seen without finalizer.
    pub fn saw_finalizer_removal(&mut self, uid: Uid) {
        self.removing_finalizers.remove(&uid);
    }

    /// The Job was seen deleted (SY-09).
    pub fn forget_backoff(&mut self) {
        self.failures = Failures::default();
    }
}
