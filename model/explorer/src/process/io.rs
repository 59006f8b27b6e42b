//! The steps of a sync: one API call at a time, in any order within a batch.
//!
//! A sync calls [`Io::call`] where the controller calls the API, and [`Io::all`] where it calls from several
//! goroutines at once. The state of a sync consists of its input and the responses so far. To continue the
//! sync, the function runs again from its start with these responses, and stops at the first call without
//! one. The algorithm thus reads like the KEPs, and can still be interrupted between any two calls.
//!
//! No decision depends on the UIDs of pods. The calls of a batch are answered in any order. If the controller
//! takes the first of several equal pods, it asks [`Io::pick`], which returns each of them in turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::read::{Failures, OwnRequests};
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// POST of this pod. The number is its completion index; without indexes, its position in the batches of
    /// this sync.
    CreatePod(u32, Box<Pod>),
    /// DELETE of a pod.
    DeletePod(Uid),
    /// PATCH that removes the tracking finalizer of a pod.
    RemoveFinalizer(Uid),
    /// PATCH that adopts a pod: it adds the controller reference and the tracking finalizer (FT-24).
    AdoptPod(Uid),
    /// PATCH that releases a pod: it removes the controller reference and the tracking finalizer (FT-26).
    ReleasePod(Uid),
    /// PUT of the Job's status.
    WriteStatus(Box<JobStatus>),
}

/// The identity of a call among those that a sync is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallName {
    /// A [`Call::CreatePod`].
    CreatePod(u32),
    /// A [`Call::DeletePod`].
    DeletePod(Uid),
    /// A [`Call::RemoveFinalizer`].
    RemoveFinalizer(Uid),
    /// A [`Call::AdoptPod`].
    AdoptPod(Uid),
    /// A [`Call::ReleasePod`].
    ReleasePod(Uid),
    /// A [`Call::WriteStatus`].
    WriteStatus,
}

impl Call {
    /// The identity of the call.
    #[must_use]
    pub fn name(&self) -> CallName {
        match self {
            Call::CreatePod(number, _) => CallName::CreatePod(*number),
            Call::DeletePod(uid) => CallName::DeletePod(*uid),
            Call::RemoveFinalizer(uid) => CallName::RemoveFinalizer(*uid),
            Call::AdoptPod(uid) => CallName::AdoptPod(*uid),
            Call::ReleasePod(uid) => CallName::ReleasePod(*uid),
            Call::WriteStatus(_) => CallName::WriteStatus,
        }
    }
}

/// The response of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// 2xx.
    Done,
    /// 404.
    NotFound,
    /// 403: the namespace is being deleted and takes no new objects (PC-12).
    NamespaceTerminating,
    /// Any other response, or none.
    Error,
}

/// The reason why a sync waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// It waits for the responses to these calls, which were sent at the same time.
    Calls(Vec<Call>),
    /// It waits for a choice among these pods, which are equal to the controller.
    Choice(Vec<Uid>),
}

impl Wait {
    /// The same, in an order that does not depend on the order of the pods.
    #[must_use]
    pub fn sorted(mut self) -> Wait {
        match &mut self {
            Wait::Calls(calls) => calls.sort_by_key(Call::name),
            Wait::Choice(pods) => pods.sort_unstable(),
        }
        self
    }
}

/// The reason why a sync stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits.
    Wait(Wait),
    /// It failed, and is retried.
    Failed,
}

/// A change that a sync makes to the memory of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sets the number of expected creations (PC-26).
    ExpectCreations(i8),
    /// Sets the expected deletions (PC-26).
    ExpectDeletions(Vec<Uid>),
    /// Lowers the number of expected creations: a creation failed.
    NoCreation,
    /// Drops an expected deletion: the deletion failed.
    NoDeletion(Uid),
    /// Adds an expected finalizer removal (FT-28).
    ExpectFinalizerRemoval(Uid),
    /// Drops an expected finalizer removal: the removal failed.
    NoFinalizerRemoval(Uid),
    /// Replaces the record of failures. The record holds UIDs, so that a retried sync counts no failure twice
    /// (BO-03).
    RecordFailures(Failures),
    /// Replaces the record of failures and the own requests. The change takes effect with the decision,
    /// whatever the responses are.
    ReplaceMemory(Failures, OwnRequests),
    /// Adds to the own requests that the pod has no finalizer, or is gone.
    FinalizerRemoved(Uid),
    /// Adds to the own requests that the pod was deleted, or is gone.
    Deleted(Uid),
    /// Adds to the own requests the time at which a creation was refused because the namespace is being
    /// deleted (PC-12).
    CreationRefused(Time),
    /// Forgets the Job, which is gone (SY-09).
    Forget,
    /// Syncs the key again at this time.
    Wake(Time),
}

/// The position of a batch or a choice in a sync, counted from its start.
pub type Stage = u8;

/// The responses and choices that a sync has got so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Replies {
    /// The responses of the API server.
    pub answers: BTreeMap<(Stage, CallName), Answer>,
    /// The choices.
    pub choices: BTreeSet<(Stage, Uid)>,
    /// The position at which the sync waits.
    pub stage: Stage,
}

impl Replies {
    fn has_answers(&self, stage: Stage) -> bool {
        let first = (stage, CallName::CreatePod(0));
        self.answers.range(first..).next().is_some_and(|((other, _), _)| *other == stage)
    }

    /// Returns true if the sync has stored a status.
    #[must_use]
    pub fn has_written(&self) -> bool {
        let stored = |((_, name), answer): (&(Stage, CallName), &Answer)| {
            *name == CallName::WriteStatus && *answer == Answer::Done
        };
        self.answers.iter().any(stored)
    }

    /// Adds the response to one of the calls for which the sync waits.
    pub fn answer(&mut self, name: CallName, answer: Answer) {
        self.answers.insert((self.stage, name), answer);
    }

    /// Adds a choice.
    pub fn choose(&mut self, uid: Uid) {
        self.choices.insert((self.stage, uid));
    }
}

/// A run of a sync: the responses so far, and the effects of the part that runs for the first time.
#[derive(Debug)]
pub struct Io<'a> {
    replies: &'a Replies,
    /// The call that was answered last.
    latest: Option<(Stage, CallName)>,
    stage: Stage,
    effects: Vec<Effect>,
}

/// One goroutine of a batch. It makes its calls one after the other.
#[derive(Debug)]
pub struct Branch<'a> {
    replies: &'a Replies,
    stage: Stage,
    /// The last call with a response.
    last: Option<CallName>,
    effects: Vec<Effect>,
}

impl<'a> Io<'a> {
    /// A run with these replies. The last of them answers the call `latest`.
    #[must_use]
    pub fn replaying(replies: &'a Replies, latest: Option<CallName>) -> Io<'a> {
        let latest = latest.map(|name| (replies.stage, name));
        Io { replies, latest, stage: 0, effects: Vec::new() }
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// The call is not answered yet.
    pub fn call(&mut self, call: Call) -> Result<Answer, Stop> {
        let mut answers = self.all(std::iter::once(call), |call, branch| branch.call(call))?;
        answers.pop().ok_or(Stop::Failed)
    }

    /// Runs these tasks at the same time, and waits until all are done. Returns their results in order.
    ///
    /// # Errors
    ///
    /// Some calls are not answered yet.
    pub fn all<T, R>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        run: impl Fn(T, &mut Branch<'a>) -> Result<R, Stop>,
    ) -> Result<Vec<R>, Stop> {
        let is_under_way = self.replies.has_answers(self.stage);
        if is_under_way {
            // Earlier effects took place when the calls of this batch were made.
            self.effects.clear();
        }
        let (mut waits, mut results) = (Vec::new(), Vec::new());
        for task in tasks {
            let mut branch =
                Branch { replies: self.replies, stage: self.stage, last: None, effects: Vec::new() };
            let result = run(task, &mut branch);
            let is_answered_now = branch.last.is_some_and(|name| self.latest == Some((self.stage, name)));
            if !is_under_way || is_answered_now {
                self.effects.append(&mut branch.effects);
            }
            match result {
                Ok(result) => results.push(result),
                Err(Stop::Wait(Wait::Calls(calls))) => waits.extend(calls),
                Err(stop) => return Err(stop),
            }
        }
        if !waits.is_empty() {
            return Err(Stop::Wait(Wait::Calls(waits)));
        }
        self.stage += 1;
        Ok(results)
    }

    /// Chooses this many of these pods, which are equal to the controller.
    ///
    /// # Errors
    ///
    /// The choice was not made yet.
    pub fn pick(&mut self, pods: &[Uid], count: usize) -> Result<BTreeSet<Uid>, Stop> {
        if count >= pods.len() {
            return Ok(pods.iter().copied().collect());
        }
        if count == 0 {
            return Ok(BTreeSet::new());
        }
        let here = self.replies.choices.iter().filter(|(stage, _)| *stage == self.stage);
        let picked: BTreeSet<Uid> = here.map(|(_, uid)| *uid).collect();
        if !picked.is_empty() {
            self.effects.clear();
        }
        if picked.len() < count {
            let rest = pods.iter().copied().filter(|uid| !picked.contains(uid)).collect();
            return Err(Stop::Wait(Wait::Choice(rest)));
        }
        self.stage += 1;
        Ok(picked)
    }

    /// Adds an effect.
    pub fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The position at which the run ended, and its effects.
    #[must_use]
    pub fn into_effects(self) -> (Stage, Vec<Effect>) {
        (self.stage, self.effects)
    }
}

impl Branch<'_> {
    /// Makes a call.
    ///
    /// # Errors
    ///
    /// The call is not answered yet.
    pub fn call(&mut self, call: Call) -> Result<Answer, Stop> {
        let name = call.name();
        let Some(answer) = self.replies.answers.get(&(self.stage, name)) else {
            return Err(Stop::Wait(Wait::Calls(vec![call])));
        };
        self.last = Some(name);
        self.effects.clear();
        Ok(*answer)
    }

    /// Adds an effect.
    pub fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
