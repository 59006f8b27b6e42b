//! What a process remembers when a Job is created again under its name.
//!
//! The built-in keeps most of its memory by namespace and name (requirements.md SY-09, BO-05, PC-26). Here memory is of
//! one UID: with the next Job of the name it begins anew, whether the cache showed that there was none in between, or a
//! relist shows the one in the place of the other (BO-06). What a sync of the former Job still does is not remembered.

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

/// How the cache came to show a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// By an event of a watch, after which it shows the next version.
    Event,
    /// By a new list, after the watch broke: versions in between are never shown.
    Relist,
}

impl Process {
    /// The cache shows this version of the Job, or that there is none.
    pub fn meet(&mut self, job: Option<&Job>, shown: Shown, mutations: &Mutations) {
        let by_name = mutations.on(Mutation::KeepsFailuresByName);
        let Some(job) = job else {
            // SY-09: the event of the deletion.
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
        if by_name || (shown == Shown::Relist && mutations.on(Mutation::KeepsFailuresAcrossRelist)) {
            self.memory.failures = old.failures;
        }
        if mutations.on(Mutation::KeepsExpectationsByName) {
            (self.memory.creations, self.memory.deletions) = (old.creations, old.deletions);
            self.memory.deleting = old.deleting;
        }
        self.memory.finished = old.finished;
        self.knowledge.backoff = BackoffRecord::default();
    }

    /// Pods in the cache that a former Job of the name left behind: the orphan path releases them (FT-20).
    pub fn find_left_behind(&mut self, job: Option<&Job>, stored: &Arc<Pods>) {
        let cached = self.cached_pods(stored);
        let left = cached.iter().filter(|pod| pod.finalizer && is_of_another(pod, job));
        self.orphans.extend(left.map(|pod| pod.uid));
    }

    /// Whether what a sync of this Job does is of the Job that the memory is of.
    #[must_use]
    pub fn remembers(&self, job: Option<&Job>, mutations: &Mutations) -> bool {
        let by_name = mutations.on(Mutation::KeepsExpectationsByName);
        by_name || job.is_none() || incarnation::of(job) == self.memory.incarnation
    }

    /// The process finished the Job, where a departure keeps this by name.
    pub fn remember_finish(&mut self, mutations: &Mutations) {
        let written = self.sync.as_ref().and_then(|sync| sync.written.as_ref());
        let finished = written.is_some_and(|job| job.status.is_finished());
        self.memory.finished |= finished && mutations.on(Mutation::RemembersFinishByName);
    }

    /// A request failed; a departure keeps what a status write was to store, until the cache shows another version.
    pub fn keep_failed_write(&mut self, request: &Call, mutations: &Mutations) {
        let Call::WriteStatus(status) = request else { return };
        let read = self.sync.as_ref().and_then(|sync| sync.job()).cloned();
        if let Some(job) = read.filter(|_| mutations.on(Mutation::KeepsFailedWrites)) {
            let status = JobStatus::clone(status);
            self.memory.unwritten = Some(Arc::new(Job { status, ..Job::clone(&job) }));
        }
    }

    /// Whether the Job cache may come to show a Job of the name in the place of another one.
    #[must_use]
    pub fn may_miss_a_deletion(&self) -> bool {
        self.job_behind.iter().skip(1).any(|unseen| unseen.before.is_none())
    }

    /// The watch of Jobs broke, and a new list shows what is stored. What the cache showed before, and what it shows
    /// now, is one update to the handlers (client-go `processReplacedAllInfo`), whatever the UIDs are.
    pub fn relist(&mut self, stored: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
        self.job_behind.clear();
        let job = stored.map(AsRef::as_ref);
        self.meet(job, Shown::Relist, mutations);
        self.find_left_behind(job, pods);
        if cleans_up(stored, mutations) {
            let cached = self.cached_pods(pods);
            self.orphans.extend(cached.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid));
        }
        self.queued |= job.is_none_or(|job| !job.status.is_finished());
    }
}

impl Memory {
    /// The same, where what could not be stored names other pods.
    #[must_use]
    pub fn with_unwritten(self, renamed: impl Fn(&Arc<Job>) -> Arc<Job>) -> Memory {
        Memory { unwritten: self.unwritten.as_ref().map(renamed), ..self }
    }

    /// The sync found no Job.
    pub fn forget(&mut self) {
        *self = Memory { incarnation: self.incarnation, ..Memory::default() };
    }

    /// Whether a restart would lose anything.
    #[must_use]
    pub fn matters(&self) -> bool {
        *self != Memory { incarnation: self.incarnation, ..Memory::default() }
    }

    /// Nothing, of the Job that the cache shows.
    #[must_use]
    pub fn after_restart(&self, job: Option<&Job>) -> Memory {
        let incarnation = job.map_or(self.incarnation, |job| incarnation::of(Some(job)));
        Memory { incarnation, ..Memory::default() }
    }
}
