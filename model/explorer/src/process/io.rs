//! How the straight line of a sync becomes steps: one API call at a time, in any order within a batch.
//!
//! A sync is written as one function that calls [`Io::call`] wherever the controller calls the API, and [`Io::all`]
//! where it calls from many goroutines at once. What the explorer keeps of a sync under way is what it read at its
//! start and the answers so far. To go on, the function runs again from its start, is given those answers, and stops
//! where one is missing. So the algorithm reads as its KEPs tell it, and can still be cut between any two calls.
//!
//! Nothing is chosen by the UID of a pod: calls of a batch are handled in any order, and where the controller takes
//! the first of equals it asks [`Io::pick`], which is answered with each of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::read::{Failures, Kept};
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// POST of this pod, for its completion index, or, without indexes, the so-many-th of its batches.
    CreatePod(u32, Box<Pod>),
    /// DELETE of a pod.
    DeletePod(Uid),
    /// PATCH that removes the tracking finalizer of a pod.
    RemoveFinalizer(Uid),
    /// PATCH that makes the Job the controller of a pod, and adds the tracking finalizer (FT-24).
    AdoptPod(Uid),
    /// PATCH that takes both away again (FT-26).
    ReleasePod(Uid),
    /// PUT of the Job's status.
    WriteStatus(Box<JobStatus>),
}

/// Which of the calls that a sync waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallName {
    /// [`Call::CreatePod`].
    CreatePod(u32),
    /// [`Call::DeletePod`].
    DeletePod(Uid),
    /// [`Call::RemoveFinalizer`].
    RemoveFinalizer(Uid),
    /// [`Call::AdoptPod`].
    AdoptPod(Uid),
    /// [`Call::ReleasePod`].
    ReleasePod(Uid),
    /// [`Call::WriteStatus`].
    WriteStatus,
}

impl Call {
    /// Its name.
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

/// What the API server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// 2xx.
    Done,
    /// 404.
    NotFound,
    /// 403: the namespace is being deleted, and nothing can be created in it (PC-12).
    NamespaceTerminating,
    /// Anything else, or no answer at all.
    Error,
}

/// What a sync waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Answers to these calls, which are on their way at the same time.
    Calls(Vec<Call>),
    /// A choice among pods between which the controller does not decide.
    Choice(Vec<Uid>),
}

impl Wait {
    /// In an order of its own, whatever the order of the pods was.
    #[must_use]
    pub fn sorted(mut self) -> Wait {
        match &mut self {
            Wait::Calls(calls) => calls.sort_by_key(Call::name),
            Wait::Choice(pods) => pods.sort_unstable(),
        }
        self
    }
}

/// Why a sync does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits.
    Wait(Wait),
    /// It failed, and is tried again.
    Failed,
}

/// What a sync does to the memory of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// So many creations are to be seen (PC-26).
    ExpectCreations(i8),
    /// So many deletions are to be seen (PC-26).
    ExpectDeletions(Vec<Uid>),
    /// A creation failed: it will not be seen.
    NoCreation,
    /// A deletion failed: it will not be seen.
    NoDeletion(Uid),
    /// The removal of a finalizer is to be seen (FT-28).
    ExpectFinalizerRemoval(Uid),
    /// It failed.
    NoFinalizerRemoval(Uid),
    /// The record of failures. It tells pods apart, so that a sync that fails and is tried again counts none twice
    /// (BO-03).
    Remember(Failures),
    /// The record of failures, and what else is kept until the next decision; from the decision on, whatever is
    /// answered.
    Keep(Failures, Kept),
    /// The pod lost its finalizer, or is gone: an addition to what is kept.
    FinalizerRemoved(Uid),
    /// The pod was deleted, or is gone: an addition to what is kept.
    Deleted(Uid),
    /// A creation was refused at this time because the namespace is being deleted: an addition to what is kept (PC-12).
    Refused(Time),
    /// The Job is gone: nothing of it is remembered (SY-09).
    Forget,
    /// The key is to be synced at this time.
    Wake(Time),
}

/// A place in a sync where it may stop: batches and choices, counted from its start.
pub type Stage = u8;

/// What a sync was told so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Replies {
    /// What the API server answered.
    pub answers: BTreeMap<(Stage, CallName), Answer>,
    /// What was chosen.
    pub choices: BTreeSet<(Stage, Uid)>,
    /// The stage at which the sync waits.
    pub stage: Stage,
}

impl Replies {
    fn has_answers(&self, stage: Stage) -> bool {
        let first = (stage, CallName::CreatePod(0));
        self.answers.range(first..).next().is_some_and(|((other, _), _)| *other == stage)
    }

    /// Whether a status was stored.
    #[must_use]
    pub fn has_written(&self) -> bool {
        let stored = |((_, name), answer): (&(Stage, CallName), &Answer)| {
            *name == CallName::WriteStatus && *answer == Answer::Done
        };
        self.answers.iter().any(stored)
    }

    /// An answer has come to one of the calls that are waited for.
    pub fn answer(&mut self, name: CallName, answer: Answer) {
        self.answers.insert((self.stage, name), answer);
    }

    /// A choice was made.
    pub fn choose(&mut self, uid: Uid) {
        self.choices.insert((self.stage, uid));
    }
}

/// A run of a sync: what it was told so far, and its effects since it was told something last.
#[derive(Debug)]
pub struct Io<'a> {
    replies: &'a Replies,
    /// The call whose answer has just come.
    latest: Option<(Stage, CallName)>,
    stage: Stage,
    effects: Vec<Effect>,
}

/// One of the goroutines of a batch. Its calls follow each other.
#[derive(Debug)]
pub struct Branch<'a> {
    replies: &'a Replies,
    stage: Stage,
    /// The call that was answered last.
    last: Option<CallName>,
    effects: Vec<Effect>,
}

impl<'a> Io<'a> {
    /// A run that is given these replies, the last of which is that to the call `latest`.
    #[must_use]
    pub fn replaying(replies: &'a Replies, latest: Option<CallName>) -> Io<'a> {
        let latest = latest.map(|name| (replies.stage, name));
        Io { replies, latest, stage: 0, effects: Vec::new() }
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// The call itself where its answer is not known yet.
    pub fn call(&mut self, call: Call) -> Result<Answer, Stop> {
        let mut answers = self.all(std::iter::once(call), |call, branch| branch.call(call))?;
        answers.pop().ok_or(Stop::Failed)
    }

    /// Does all of these at the same time, and waits until all are done.
    ///
    /// # Errors
    ///
    /// The calls without an answer.
    pub fn all<T, R>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        run: impl Fn(T, &mut Branch<'a>) -> Result<R, Stop>,
    ) -> Result<Vec<R>, Stop> {
        let is_under_way = self.replies.has_answers(self.stage);
        if is_under_way {
            // What was noted before took effect when the calls were made.
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

    /// Takes so many of these pods, between which the controller does not decide.
    ///
    /// # Errors
    ///
    /// The choice itself where it was not made yet.
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

    /// Notes an effect.
    pub fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Where the run ended, and its effects.
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
    /// The call itself where its answer is not known yet.
    pub fn call(&mut self, call: Call) -> Result<Answer, Stop> {
        let name = call.name();
        let Some(answer) = self.replies.answers.get(&(self.stage, name)) else {
            return Err(Stop::Wait(Wait::Calls(vec![call])));
        };
        self.last = Some(name);
        self.effects.clear();
        Ok(*answer)
    }

    /// Notes an effect.
    pub fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
