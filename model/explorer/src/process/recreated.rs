//! The memory of a process when a Job is recreated.
//!
//! The built-in controller keeps most of its memory by namespace and name (SY-09, BO-05, PC-26). Here the
//! memory belongs to one UID, and is empty for a recreated Job. That holds whether the cache showed the
//! deletion, or a relist replaced the previous Job (BO-06). The rest of a sync of the previous Job is not
//! remembered.

use std::sync::Arc;

use jobcheck_spec::backoff::BackoffRecord;
use jobcheck_spec::incarnation::{self, is_of_another};
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::pods::Pods;

use crate::mutations::{Mutation, Mutations};
use crate::process::informer::cleans_up;
use crate::process::io::Call;
use crate::process::memory::Memory;
use crate::process::state::Process;

/// The reason why the cache shows a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// By a watch event, after which the cache shows the next version.
    Event,
    /// By a relist, which skips the versions in between.
    Relist,
}

impl Process {
    /// Handles a new version of the Job in the cache; `None` if the Job no longer exists.
    pub fn meet(&mut self, job: Option<&Job>, source: Source, mutations: &Mutations) {
        let by_name = mutations.on(Mutation::KeepsFailuresByName);
        let Some(job) = job else {
            // SY-09: the deletion event drops the record.
            if !by_name {
                self.memory.forget_backoff();
            }
            self.memory.finished = false;
            return;
        };
        self.memory.unwritten = None;
        self.memory.finished &= !job.status.is_finished();
        let incarnation = incarnation::of(Some(job));
        if incarnation == self.memory.incarnation {
            return;
        }
        let old = std::mem::replace(&mut self.memory, Memory { incarnation, ..Memory::default() });
        if by_name || (source == Source::Relist && mutations.on(Mutation::KeepsFailuresAcrossRelist)) {
            self.memory.failures = old.failures;
        }
        if mutations.on(Mutation::KeepsExpectationsByName) {
            (self.memory.creations, self.memory.deletions) = (old.creations, old.deletions);
            self.memory.deleting = old.deleting;
        }
        self.memory.finished = old.finished;
        self.knowledge.backoff = BackoffRecord::default();
    }

    /// Queues the cached pods of the previous Job. The orphan path removes their finalizers (FT-20).
    pub fn find_left_behind(&mut self, job: Option<&Job>, stored: &Arc<Pods>) {
        let cached = self.cached_pods(stored);
        let left = cached.iter().filter(|pod| pod.finalizer && is_of_another(pod, job));
        self.orphans.extend(left.map(|pod| pod.uid));
    }

    /// Returns true if the memory belongs to this Job, so that a sync of the Job may change it.
    #[must_use]
    pub fn remembers(&self, job: Option<&Job>, mutations: &Mutations) -> bool {
        let by_name = mutations.on(Mutation::KeepsExpectationsByName);
        by_name || job.is_none() || incarnation::of(job) == self.memory.incarnation
    }

    /// Remembers by name that the process has finished the Job. Only a mutation asks for this.
    pub fn remember_finish(&mut self, mutations: &Mutations) {
        let written = self.sync.as_ref().and_then(|sync| sync.written.as_ref());
        let finished = written.is_some_and(|job| job.status.is_finished());
        self.memory.finished |= finished && mutations.on(Mutation::RemembersFinishByName);
    }

    /// Keeps the status of a failed write until the cache shows another version. Only a mutation asks for
    /// this.
    pub fn keep_failed_write(&mut self, request: &Call, mutations: &Mutations) {
        let Call::WriteStatus(status) = request else { return };
        let read = self.sync.as_ref().and_then(|sync| sync.job()).cloned();
        if let Some(job) = read.filter(|_| mutations.on(Mutation::KeepsFailedWrites)) {
            let status = JobStatus::clone(status);
            self.memory.unwritten = Some(Arc::new(Job { status, ..Job::clone(&job) }));
        }
    }

    /// Returns true if a relist may show a recreated Job in place of the previous one.
    #[must_use]
    pub fn may_miss_a_deletion(&self) -> bool {
        self.job_behind.iter().skip(1).any(|unseen| unseen.before.is_none())
    }

    /// Delivers a new list of Jobs after a broken watch. The handlers get one update from the cached to the
    /// listed Job, even if the UIDs differ (client-go `processReplacedAllInfo`).
    pub fn relist(&mut self, stored: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
        self.job_behind.clear();
        let job = stored.map(AsRef::as_ref);
        self.meet(job, Source::Relist, mutations);
        self.find_left_behind(job, pods);
        if cleans_up(stored, mutations) {
            let cached = self.cached_pods(pods);
            self.orphans.extend(cached.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid));
        }
        self.queued |= job.is_none_or(|job| !job.status.is_finished());
    }
}

impl Memory {
    /// The memory with a renamed status in the failed write.
    #[must_use]
    pub fn with_unwritten(self, renamed: impl Fn(&Arc<Job>) -> Arc<Job>) -> Memory {
        Memory { unwritten: self.unwritten.as_ref().map(renamed), ..self }
    }

    /// Empties the memory: the sync found no Job.
    pub fn forget(&mut self) {
        *self = Memory { incarnation: self.incarnation, ..Memory::default() };
    }

    /// Returns true if a restart would lose anything.
    #[must_use]
    pub fn matters(&self) -> bool {
        *self != Memory { incarnation: self.incarnation, ..Memory::default() }
    }

    /// The empty memory of the Job in the cache.
    #[must_use]
    pub fn after_restart(&self, job: Option<&Job>) -> Memory {
        let incarnation = job.map_or(self.incarnation, |job| incarnation::of(Some(job)));
        Memory { incarnation, ..Memory::default() }
    }
}
