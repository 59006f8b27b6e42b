//! The state of a process: its caches, its memory, and its current sync.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::knowledge::{Knowledge, OwnWrite, PodCache, Unseen, before};
use jobcheck_spec::incarnation;
use jobcheck_spec::incarnation::is_of_another;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::informer::cleans_up;
use crate::process::io::{Answer, Call, CallName, Effect, Io, Replies, Stop, Wait};
use crate::process::memory::Memory;
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::process::steps::Delivery;

/// A process that manages one Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// The changes that the Pod cache lacks, and the record of failures that the guards expect.
    pub knowledge: Knowledge,
    /// The changes of the Job that the Job cache lacks, oldest first. The cache shows the version before the
    /// first.
    pub job_behind: Vec<UnseenJob>,
    /// The memory.
    pub memory: Memory,
    /// True if the work queue holds the Job's key.
    pub queued: bool,
    /// The time at which the key enters the work queue again.
    pub wake: Option<Time>,
    /// The pods in the orphan queue (FT-22).
    pub orphans: BTreeSet<Uid>,
    /// The current sync.
    pub sync: Option<Sync>,
}

/// A change of the Job that the Job cache does not show yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnseenJob {
    /// The Job before the change; `None` if the change created it.
    pub before: Option<Arc<Job>>,
    /// True if the change is a status write of this process.
    pub own: bool,
}

/// A sync.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sync {
    /// The input.
    pub read: Read,
    /// The responses and choices so far.
    pub replies: Replies,
    /// The event that the sync waits for. It follows from the input and the responses.
    pub wait: Wait,
    /// The Job after the last status write of this process, if the cache does not show that write.
    pub written: Option<Arc<Job>>,
    /// True if the stored Job differs from the version that the sync read or wrote last. A status write then
    /// conflicts (SY-04).
    pub conflicts: bool,
    /// True if the caches showed everything at the start, and no other actor has changed anything since.
    pub fresh: bool,
    /// The Pod cache that the guards assume: as at the start, with the sync's own writes.
    pub seen: PodCache,
    /// True if the deletion of an active pod has failed (TC-08).
    pub deletes_failed: bool,
}

impl Process {
    /// A process that has just started and listed the Jobs.
    #[must_use]
    pub fn started() -> Process {
        Process {
            knowledge: Knowledge::default(),
            job_behind: Vec::new(),
            memory: Memory::default(),
            queued: true,
            wake: None,
            orphans: BTreeSet::new(),
            sync: None,
        }
    }

    /// The Job in the Job cache.
    #[must_use]
    pub fn cached_job<'a>(&'a self, stored: Option<&'a Arc<Job>>) -> Option<&'a Arc<Job>> {
        self.job_behind.first().map_or(stored, |unseen| unseen.before.as_ref())
    }

    /// The pods in the Pod cache.
    #[must_use]
    pub fn cached_pods(&self, stored: &Arc<Pods>) -> Arc<Pods> {
        if self.knowledge.behind.is_empty() {
            return stored.clone();
        }
        Arc::new(before(stored, &self.knowledge.behind))
    }

    /// SY-03: returns true if a sync must wait, after these events, until a cache shows a write of this process.
    #[must_use]
    pub fn waits_after(&self, delivery: Delivery, mutations: &Mutations) -> bool {
        if mutations.on(Mutation::SyncsBeforeOwnWritesAreSeen) {
            return false;
        }
        let ignored = |own: &OwnWrite| own.after.deleting && mutations.on(Mutation::GateIgnoresDeletions);
        let awaited = |unseen: &Unseen| unseen.own.as_ref().is_some_and(|own| !ignored(own));
        self.job_behind.iter().skip(delivery.jobs).any(|unseen| unseen.own)
            || self.knowledge.behind.iter().skip(delivery.pods).any(awaited)
    }

    fn lacks_own_writes(&self) -> bool {
        self.waits_after(Delivery::default(), &Mutations::default())
    }

    /// Starts the sync of the queued key, and runs it to its first call.
    pub fn start_sync(
        &mut self,
        job: Option<&Arc<Job>>,
        pods: &Arc<Pods>,
        now: Time,
        settings: &Settings<'_>,
    ) {
        self.queued = false;
        let incarnation = incarnation::of(self.cached_job(job).map(AsRef::as_ref));
        let seen = PodCache::of(pods, &self.knowledge.behind, incarnation);
        let (own, ownerless) = self.cached_pods(pods).divided(incarnation);
        let all = settings.mutations.on(Mutation::TakesPodsOfOthers);
        let owned = if all { self.cached_pods(pods) } else { own };
        let cached = self.cached_job(job).cloned();
        let finished = self.has_finished(job) && !settings.mutations.on(Mutation::ForgetsFinishedJobs);
        let read = Read {
            job: self.memory.unwritten.clone().filter(|it| is_version_of(it, cached.as_deref())).or(cached),
            pods: owned,
            ownerless,
            satisfied: self.memory.is_satisfied(settings.mutations),
            creations_seen: self.memory.creations_seen(settings.mutations),
            finished_unseen: finished || self.memory.finished,
            removing_finalizers: self.memory.removing_finalizers.clone(),
            own_requests: self.memory.own_requests.clone(),
            failures: self.memory.failures.clone(),
            requeues: self.memory.requeues,
            now,
        };
        // A process knows its own writes, whatever its cache shows (SY-10).
        let fresh = self.job_behind.iter().all(|unseen| unseen.own) && self.knowledge.behind.is_empty();
        let written = self.last_written(job).cloned();
        let sync = Sync {
            read,
            replies: Replies::default(),
            wait: Wait::Calls(Vec::new()),
            written,
            conflicts: !self.job_behind.is_empty(),
            fresh,
            seen,
            deletes_failed: false,
        };
        self.go_on(sync, None, settings);
    }

    /// The Job after the last write of this process, if the cache does not show that write.
    fn last_written<'a>(&'a self, stored: Option<&'a Arc<Job>>) -> Option<&'a Arc<Job>> {
        let last = self.job_behind.iter().rposition(|unseen| unseen.own)?;
        self.job_behind.get(last + 1).map_or(stored, |unseen| unseen.before.as_ref())
    }

    /// TC-13: returns true if this process has finished the Job while its cache does not show that.
    fn has_finished(&self, stored: Option<&Arc<Job>>) -> bool {
        let after = self.job_behind.iter().skip(1).map(|unseen| unseen.before.as_ref()).chain([stored]);
        let finished = |job: Option<&Arc<Job>>| job.is_some_and(|job| job.status.is_finished());
        self.job_behind.iter().zip(after).any(|(unseen, after)| unseen.own && finished(after))
    }

    /// Continues the sync with the response to one of its calls.
    pub fn answered(&mut self, name: CallName, answer: Answer, settings: &Settings<'_>) {
        let Some(mut sync) = self.sync.take() else { return };
        let deletes = matches!(name, CallName::DeletePod(_) | CallName::RemoveFinalizer(_));
        sync.deletes_failed |= answer == Answer::Error && deletes;
        sync.replies.answer(name, answer);
        self.go_on(sync, Some(name), settings);
    }

    /// Continues the sync with the choice of a pod.
    pub fn chose(&mut self, uid: Uid, settings: &Settings<'_>) {
        let Some(mut sync) = self.sync.take() else { return };
        sync.replies.choose(uid);
        self.go_on(sync, None, settings);
    }

    /// Runs the sync to the next call or choice, or to its end.
    fn go_on(&mut self, mut under_way: Sync, latest: Option<CallName>, settings: &Settings<'_>) {
        let mut io = Io::replaying(&under_way.replies, latest);
        let settings = &Settings { gates: self.knowledge.gates, ..*settings };
        let result = settings.decisions.sync(&under_way.read, settings, &mut io);
        let (stage, effects) = io.into_effects();
        let current = self.remembers(under_way.read.job.as_deref(), settings.mutations);
        for effect in effects.into_iter().filter(|effect| current || matches!(effect, Effect::Wake(_))) {
            self.take_effect(effect);
        }
        match result {
            Err(Stop::Wait(wait)) => {
                under_way.replies.stage = stage;
                under_way.wait = wait.sorted();
                self.sync = Some(under_way);
            }
            Err(Stop::Failed) => {
                self.queued = true;
                let counts = u8::from(settings.mutations.on(Mutation::CountsRequeues));
                self.memory.requeues = self.memory.requeues.saturating_add(counts);
                self.end_sync();
            }
            Ok(()) => {
                self.memory.requeues = 0;
                self.end_sync();
            }
        }
    }

    fn end_sync(&mut self) {
        self.sync = None;
        self.knowledge.end_sync();
    }

    fn take_effect(&mut self, effect: Effect) {
        let memory = &mut self.memory;
        match effect {
            Effect::ExpectCreations(count) => memory.creations = count,
            Effect::ExpectDeletions(uids) => {
                memory.deletions = i8::try_from(uids.len()).unwrap_or(i8::MAX);
                memory.deleting = uids.into_iter().collect();
            }
            Effect::NoCreation => memory.creations -= 1,
            Effect::NoDeletion(uid) => memory.saw_deletion(uid),
            Effect::ExpectFinalizerRemoval(uid) => {
                memory.removing_finalizers.insert(uid);
            }
            Effect::NoFinalizerRemoval(uid) => {
                memory.removing_finalizers.remove(&uid);
            }
            Effect::RecordFailures(failures) => memory.failures = failures,
            Effect::ReplaceMemory(failures, own_requests) => {
                (memory.failures, memory.own_requests) = (failures, own_requests)
            }
            Effect::FinalizerRemoved(uid) => {
                memory.own_requests.finalizer_removed.insert(uid);
            }
            Effect::Deleted(uid) => {
                memory.own_requests.deleted.insert(uid);
            }
            Effect::CreationRefused(time) => memory.own_requests.refused = Some(time),
            Effect::Forget => memory.forget(),
            Effect::Wake(time) => self.wake = Some(self.wake.map_or(time, |wake| wake.min(time))),
        }
    }

    /// Returns true if a restart would lose anything.
    #[must_use]
    pub fn memory_matters(&self) -> bool {
        self.memory.matters() || !self.orphans.is_empty() || self.lacks_own_writes()
    }

    /// Restarts the process. Its caches show at least its last write (SY-10).
    pub fn restart(&mut self, job: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
        self.knowledge.restart();
        let last = self.job_behind.iter().rposition(|unseen| unseen.own);
        self.job_behind.drain(..last.map_or(0, |last| last + 1));
        let memory = self.memory.after_restart(self.cached_job(job).map(AsRef::as_ref));
        let (knowledge, job_behind) =
            (std::mem::take(&mut self.knowledge), std::mem::take(&mut self.job_behind));
        *self = Process { knowledge, job_behind, memory, ..Process::started() };
        self.list_orphans(job, pods, mutations);
    }

    fn list_orphans(&mut self, job: Option<&Arc<Job>>, pods: &Arc<Pods>, mutations: &Mutations) {
        let over = cleans_up(self.cached_job(job), mutations);
        let cached = self.cached_pods(pods);
        let delayed = |pod: &Pod| pod.deleting || !mutations.on(Mutation::ForgetsDelayedPods);
        let held = cached.iter().filter(|pod| pod.finalizer);
        let job = self.cached_job(job).map(AsRef::as_ref);
        let ownerless_pod = |pod: &Pod| !pod.controlled || is_of_another(pod, job);
        let orphans = held.filter(|pod| ownerless_pod(pod) || (over && delayed(pod))).map(|pod| pod.uid);
        let orphans: Vec<Uid> = orphans.collect();
        self.orphans.extend(orphans);
    }
}

/// Returns true if `written` was made from the version that the cache still shows.
fn is_version_of(written: &Job, cached: Option<&Job>) -> bool {
    cached.is_some_and(|cached| cached.uid == written.uid && cached.generation == written.generation)
}

/// Returns true if no sync looks at the Job's pods any more.
#[must_use]
pub fn is_done(job: Option<&Arc<Job>>) -> bool {
    job.is_none_or(|job| job.status.is_finished())
}

impl Sync {
    /// The calls for which the sync waits. Only the first of several equal creations is included.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let calls = match &self.wait {
            Wait::Calls(calls) => calls.as_slice(),
            Wait::Choice(_) => &[],
        };
        calls
            .iter()
            .enumerate()
            .filter(|(number, call)| !is_repeated(call, &calls[..*number]))
            .map(|(_, call)| call)
    }

    /// The pods among which the sync has to choose before any other step of its Job.
    #[must_use]
    pub fn choice(&self) -> &[Uid] {
        match &self.wait {
            Wait::Choice(pods) => pods,
            Wait::Calls(_) => &[],
        }
    }

    /// The call with this identity, if the sync waits for it.
    #[must_use]
    pub fn call(&self, name: CallName) -> Option<&Call> {
        self.calls().find(|call| call.name() == name)
    }

    /// The Job on which the decisions rest.
    #[must_use]
    pub fn job(&self) -> Option<&Arc<Job>> {
        self.written.as_ref().or(self.read.job.as_ref())
    }
}

/// Returns true if an earlier call creates an equal pod.
fn is_repeated(call: &Call, others: &[Call]) -> bool {
    let Call::CreatePod(_, pod) = call else { return false };
    others.iter().any(|other| matches!(other, Call::CreatePod(_, twin) if twin == pod))
}

impl Process {
    /// Notes a write of this process to a pod. The process knows its own change and the pod that it saw, but
    /// no later change. Returns the pod as the process knows it.
    pub fn know(&mut self, uid: Uid, stored: &Pod, change: impl FnOnce(&mut Pod)) -> Pod {
        let Some(sync) = &mut self.sync else { return stored.clone() };
        let post = Arc::make_mut(&mut sync.seen.post);
        let mut known = post.get(uid).unwrap_or(stored).clone();
        change(&mut known);
        post.set(uid, Some(known.clone()));
        known
    }

    /// Notes a write of this process that changed nothing. The response shows a change of another actor,
    /// which the cache may lack.
    pub fn acknowledge(&mut self, known: &Pod) {
        let unseen = self.knowledge.behind.iter_mut().rfind(|unseen| unseen.uid == known.uid);
        if let Some(unseen) = unseen.filter(|unseen| unseen.own.is_none()) {
            unseen.own = Some(OwnWrite { after: known.clone(), created: false, earlier_sync: false });
        }
    }

    /// Notes that a write of this process found no pod.
    pub fn miss(&mut self, uid: Uid) {
        if let Some(unseen) = self.knowledge.behind.iter_mut().rfind(|unseen| unseen.uid == uid) {
            unseen.missed = true;
        }
        if let Some(sync) = &mut self.sync {
            let post = Arc::make_mut(&mut sync.seen.post);
            let known = post.get(uid).cloned();
            // The process knows that a pod which it wanted to delete is gone. For other pods it only knows
            // that no finalizer holds them.
            let rest = known.filter(|pod| !pod.is_active()).map(|pod| Pod { finalizer: false, ..pod });
            post.set(uid, rest);
        }
    }

    /// Notes a change of a pod in etcd.
    pub fn note_pod(&mut self, unseen: Unseen) {
        if let Some(sync) = self.sync.as_mut().filter(|_| unseen.own.is_none()) {
            sync.fresh = false;
        }
        self.knowledge.behind.push(unseen);
    }

    /// Notes a change of the Job in etcd. `written` is the new version if this process wrote it.
    pub fn note_job(&mut self, before: Option<Arc<Job>>, written: Option<&Arc<Job>>) {
        if let Some(sync) = &mut self.sync {
            match written {
                Some(job) => sync.written = Some(job.clone()),
                None => {
                    sync.conflicts = true;
                    sync.fresh = false;
                }
            }
        }
        let own = written.is_some();
        self.job_behind.push(UnseenJob { before, own });
    }
}
