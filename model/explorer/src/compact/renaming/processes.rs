//! Permutations of pods in the processes of an algorithm and in their requests.

use std::sync::Arc;

use super::Renaming;
use crate::compact::parts::Rest;
use crate::knowledge::PodCache;
use crate::process::io::{Answer, Call, CallName, Replies, Wait};
use crate::process::read::{Failures, OwnRequests, Read};
use crate::process::state::{Process, Sync, UnseenJob};
use crate::process::steps::DelayedRequest;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::uid::Uid;

impl Renaming {
    /// A process without its knowledge and its sync.
    pub fn idle(&self, process: &Process) -> Process {
        let Process { knowledge: _, job_behind, memory, queued: _, wake: _, orphans, sync: _ } = process;
        let unseen =
            |it: &UnseenJob| UnseenJob { before: it.before.as_ref().map(|job| self.job(job)), own: it.own };
        Process {
            job_behind: job_behind.iter().map(unseen).collect(),
            memory: memory.renamed(|uid| self.uid(uid)).with_unwritten(|job| self.job(job)),
            orphans: self.uids(orphans),
            ..process.clone()
        }
    }

    /// A process.
    pub fn process(&self, process: &Process) -> Process {
        Process {
            knowledge: self.knowledge(&process.knowledge),
            sync: process.sync.as_ref().map(|sync| self.sync(sync)),
            ..self.idle(process)
        }
    }

    /// The current sync.
    pub fn sync(&self, sync: &Sync) -> Sync {
        let Sync { read, replies, wait, written, conflicts: _, fresh: _, seen, deletes_failed: _ } = sync;
        Sync {
            read: self.read(read),
            replies: self.replies(replies),
            wait: self.wait(wait),
            written: written.as_ref().map(|job| self.job(job)),
            seen: self.seen(seen),
            ..sync.clone()
        }
    }

    /// The delayed request of a crashed process.
    pub fn delayed(&self, delayed: &DelayedRequest) -> DelayedRequest {
        DelayedRequest { call: self.call(&delayed.call), ..delayed.clone() }
    }

    /// The fields that change rarely.
    pub fn rest(&self, rest: &Rest) -> Rest {
        let Rest { ttl: _, faults: _, rollouts: _, used: _, others } = rest;
        Rest { others: others.iter().map(|process| self.process(process)).collect(), ..rest.clone() }
    }

    fn uids<'a, C: FromIterator<Uid>>(&self, uids: impl IntoIterator<Item = &'a Uid>) -> C {
        uids.into_iter().map(|uid| self.uid(*uid)).collect()
    }

    fn read(&self, read: &Read) -> Read {
        let Read {
            job,
            pods,
            ownerless,
            satisfied: _,
            creations_seen: _,
            finished_unseen: _,
            removing_finalizers,
            own_requests,
            failures,
            requeues: _,
            now: _,
        } = read;
        Read {
            job: job.as_ref().map(|job| self.job(job)),
            pods: Arc::new(self.pods(pods)),
            ownerless: Arc::new(self.pods(ownerless)),
            removing_finalizers: self.uids(removing_finalizers),
            own_requests: OwnRequests {
                finalizer_removed: self.uids(&own_requests.finalizer_removed),
                deleted: self.uids(&own_requests.deleted),
                refused: own_requests.refused,
            },
            failures: Failures { record: failures.record, pods: self.uids(&failures.pods) },
            ..read.clone()
        }
    }

    fn seen(&self, seen: &PodCache) -> PodCache {
        let PodCache { cache, post, ownerless, expectations_met: _, deletion_unseen: _ } = seen;
        let pods = |pods: &Pods| Arc::new(self.pods(pods));
        PodCache { cache: pods(cache), post: pods(post), ownerless: pods(ownerless), ..seen.clone() }
    }

    fn replies(&self, replies: &Replies) -> Replies {
        let Replies { answers, choices, stage } = replies;
        let answer =
            |((stage, name), answer): (&(u8, CallName), &Answer)| ((*stage, self.name(*name)), *answer);
        let choice = |(stage, uid): &(u8, Uid)| (*stage, self.uid(*uid));
        Replies {
            answers: answers.iter().map(answer).collect(),
            choices: choices.iter().map(choice).collect(),
            stage: *stage,
        }
    }

    fn name(&self, name: CallName) -> CallName {
        match name {
            CallName::CreatePod(_) | CallName::WriteStatus => name,
            CallName::DeletePod(uid) => CallName::DeletePod(self.uid(uid)),
            CallName::RemoveFinalizer(uid) => CallName::RemoveFinalizer(self.uid(uid)),
            CallName::AdoptPod(uid) => CallName::AdoptPod(self.uid(uid)),
            CallName::ReleasePod(uid) => CallName::ReleasePod(self.uid(uid)),
        }
    }

    fn wait(&self, wait: &Wait) -> Wait {
        let renamed = match wait {
            Wait::Calls(calls) => Wait::Calls(calls.iter().map(|call| self.call(call)).collect()),
            Wait::Choice(pods) => Wait::Choice(self.uids(pods)),
        };
        renamed.sorted()
    }

    /// A pod that is to be created has no UID yet.
    fn call(&self, call: &Call) -> Call {
        match call {
            Call::CreatePod(..) => call.clone(),
            Call::DeletePod(uid) => Call::DeletePod(self.uid(*uid)),
            Call::RemoveFinalizer(uid) => Call::RemoveFinalizer(self.uid(*uid)),
            Call::AdoptPod(uid) => Call::AdoptPod(self.uid(*uid)),
            Call::ReleasePod(uid) => Call::ReleasePod(self.uid(*uid)),
            Call::WriteStatus(status) => Call::WriteStatus(Box::new(self.status(status))),
        }
    }
}
