//! A process that runs the algorithm: its caches, its memory, and the sync under way.

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

/// A process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// What its Pod cache lacks, and what the specification would know in its place.
    pub knowledge: Knowledge,
    /// Versions of the Job that its Job cache has not overtaken yet, oldest first: it shows the first.
    pub job_behind: Vec<UnseenJob>,
    /// What it remembers.
    pub memory: Memory,
    /// Whether the Job's key is in the work queue.
    pub queued: bool,
    /// When the key is added to the work queue.
    pub wake: Option<Time>,
    /// Pods in the orphan queue (FT-22).
    pub orphans: BTreeSet<Uid>,
    /// The sync under way.
    pub sync: Option<Sync>,
}

/// A change of the Job that the Job cache does not show.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnseenJob {
    /// The Job before the change; `None` where there was none, and it was created again.
    pub before: Option<Arc<Job>>,
    /// Whether the change is a status write of this process.
    pub own: bool,
}

/// A sync under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sync {
    /// What it read.
    pub read: Read,
    /// What it was told so far.
    pub replies: Replies,
    /// What it waits for; follows from the above.
    pub wait: Wait,
    /// The Job as the last status write of its process left it, where the cache that it read does not show that.
    pub written: Option<Arc<Job>>,
    /// Whether the Job has another version by now than the one that it read or wrote last: a status write
    /// conflicts (SY-04).
    pub conflicts: bool,
    /// Whether nothing happened that its caches did not show at the start.
    pub fresh: bool,
    /// The Pod cache as the specification would know it at the start, and since then by its own writes.
    pub seen: PodCache,
    /// Whether the deletion of an active pod failed (TC-08).
    pub deletes_failed: bool,
}

impl Process {
    /// A process that was just started: it has listed the Jobs.
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

    /// The Job as its cache shows it.
    #[must_use]
    pub fn cached_job<'a>(&'a self, stored: Option<&'a Arc<Job>>) -> Option<&'a Arc<Job>> {
        self.job_behind.first().map_or(stored, |unseen| unseen.before.as_ref())
    }

    /// The pods as its cache shows them.
    #[must_use]
    pub fn cached_pods(&self, stored: &Arc<Pods>) -> Arc<Pods> {
        if self.knowledge.behind.is_empty() {
            return stored.clone();
        }
        Arc::new(before(stored, &self.knowledge.behind))
    }

    /// SY-03: whether a sync has to wait, after these events, until a cache shows a write of this process.
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

    /// Starts the sync that the queue asks for, and goes on to its first call.
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
            kept: self.memory.kept.clone(),
            failures: self.memory.failures.clone(),
            requeues: self.memory.requeues,
            now,
        };
        // What it wrote itself it knows, whatever its cache shows (judging.md 1).
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

    /// The Job as its last write left it, where its cache does not show that.
    fn last_written<'a>(&'a self, stored: Option<&'a Arc<Job>>) -> Option<&'a Arc<Job>> {
        let last = self.job_behind.iter().rposition(|unseen| unseen.own)?;
        self.job_behind.get(last + 1).map_or(stored, |unseen| unseen.before.as_ref())
    }

    /// TC-13: whether this process finished the Job while its cache does not show it.
    fn has_finished(&self, stored: Option<&Arc<Job>>) -> bool {
        let after = self.job_behind.iter().skip(1).map(|unseen| unseen.before.as_ref()).chain([stored]);
        let finished = |job: Option<&Arc<Job>>| job.is_some_and(|job| job.status.is_finished());
        self.job_behind.iter().zip(after).any(|(unseen, after)| unseen.own && finished(after))
    }

    /// The answer to a call of the sync has come.
    pub fn answered(&mut self, name: CallName, answer: Answer, settings: &Settings<'_>) {
        let Some(mut sync) = self.sync.take() else { return };
        let deletes = matches!(name, CallName::DeletePod(_) | CallName::RemoveFinalizer(_));
        sync.deletes_failed |= answer == Answer::Error && deletes;
        sync.replies.answer(name, answer);
        self.go_on(sync, Some(name), settings);
    }

    /// The sync has chosen a pod.
    pub fn chose(&mut self, uid: Uid, settings: &Settings<'_>) {
        let Some(mut sync) = self.sync.take() else { return };
        sync.replies.choose(uid);
        self.go_on(sync, None, settings);
    }

    /// Runs the sync up to where it waits, or to its end.
    fn go_on(&mut self, mut under_way: Sync, latest: Option<CallName>, settings: &Settings<'_>) {
        let mut io = Io::replaying(&under_way.replies, latest);
        let settings = &Settings { gates: self.knowledge.gates, ..*settings };
        let result = (settings.decisions.sync)(&under_way.read, settings, &mut io);
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
            Effect::Remember(failures) => memory.failures = failures,
            Effect::Keep(failures, kept) => (memory.failures, memory.kept) = (failures, kept),
            Effect::FinalizerRemoved(uid) => {
                memory.kept.finalizer_removed.insert(uid);
            }
            Effect::Deleted(uid) => {
                memory.kept.deleted.insert(uid);
            }
            Effect::Refused(time) => memory.kept.refused = Some(time),
            Effect::Forget => memory.forget(),
            Effect::Wake(time) => self.wake = Some(self.wake.map_or(time, |wake| wake.min(time))),
        }
    }

    /// Whether a restart would lose anything.
    #[must_use]
    pub fn memory_matters(&self) -> bool {
        self.memory.matters() || !self.orphans.is_empty() || self.lacks_own_writes()
    }

    /// The process dies and is started again. Its caches show no less than its last write (SY-10).
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
        let delayed = |pod: &Pod| pod.deleting || !mutations.on(Mutation::ForgetsLatePods);
        let held = cached.iter().filter(|pod| pod.finalizer);
        let job = self.cached_job(job).map(AsRef::as_ref);
        let ownerless_pod = |pod: &Pod| !pod.controlled || is_of_another(pod, job);
        let orphans = held.filter(|pod| ownerless_pod(pod) || (over && delayed(pod))).map(|pod| pod.uid);
        let orphans: Vec<Uid> = orphans.collect();
        self.orphans.extend(orphans);
    }
}

/// Whether one was made from the other, which the cache still shows.
fn is_version_of(written: &Job, cached: Option<&Job>) -> bool {
    cached.is_some_and(|cached| cached.uid == written.uid && cached.generation == written.generation)
}

/// Whether no sync will look at the Job's pods again.
#[must_use]
pub fn is_over(job: Option<&Arc<Job>>) -> bool {
    job.is_none_or(|job| job.status.is_finished())
}

impl Sync {
    /// The calls that it waits for. Of creations that are equal, one stands for all.
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

    /// The pods among which it has to choose, before anything else of its Job happens.
    #[must_use]
    pub fn choice(&self) -> &[Uid] {
        match &self.wait {
            Wait::Choice(pods) => pods,
            Wait::Calls(_) => &[],
        }
    }

    /// The call of this name, if it waits for it.
    #[must_use]
    pub fn call(&self, name: CallName) -> Option<&Call> {
        self.calls().find(|call| call.name() == name)
    }

    /// The Job that its decisions rest on.
    #[must_use]
    pub fn job(&self) -> Option<&Arc<Job>> {
        self.written.as_ref().or(self.read.job.as_ref())
    }
}

/// Whether an equal pod is created already.
fn is_repeated(call: &Call, others: &[Call]) -> bool {
    let Call::CreatePod(_, pod) = call else { return false };
    others.iter().any(|other| matches!(other, Call::CreatePod(_, twin) if twin == pod))
}

impl Process {
    /// Its own write to a pod was handled. It knows what it did to the pod that it had seen, and no more.
    pub fn know(&mut self, uid: Uid, stored: &Pod, change: impl FnOnce(&mut Pod)) -> Pod {
        let Some(sync) = &mut self.sync else { return stored.clone() };
        let post = Arc::make_mut(&mut sync.seen.post);
        let mut known = post.get(uid).unwrap_or(stored).clone();
        change(&mut known);
        post.set(uid, Some(known.clone()));
        known
    }

    /// A write of its own changed nothing: somebody else's change, which its cache may lack, is known by the answer.
    pub fn acknowledge(&mut self, known: &Pod) {
        let unseen = self.knowledge.behind.iter_mut().rfind(|unseen| unseen.uid == known.uid);
        if let Some(unseen) = unseen.filter(|unseen| unseen.own.is_none()) {
            unseen.own = Some(OwnWrite { after: known.clone(), created: false, earlier_sync: false });
        }
    }

    /// Its write to a pod found none.
    pub fn miss(&mut self, uid: Uid) {
        if let Some(unseen) = self.knowledge.behind.iter_mut().rfind(|unseen| unseen.uid == uid) {
            unseen.missed = true;
        }
        if let Some(sync) = &mut self.sync {
            let post = Arc::make_mut(&mut sync.seen.post);
            let known = post.get(uid).cloned();
            // What was to be deleted is gone; of another it learns no more than that nothing holds it.
            let rest = known.filter(|pod| !pod.is_active()).map(|pod| Pod { finalizer: false, ..pod });
            post.set(uid, rest);
        }
    }

    /// A pod has changed in etcd.
    pub fn note_pod(&mut self, unseen: Unseen) {
        if let Some(sync) = self.sync.as_mut().filter(|_| unseen.own.is_none()) {
            sync.fresh = false;
        }
        self.knowledge.behind.push(unseen);
    }

    /// The Job has changed in etcd, or there is one again; `written` is its version if this process wrote it.
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
