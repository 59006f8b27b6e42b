//! How the straight line of a sync becomes steps: one API call at a time.
//!
//! A sync is written as one function that calls [`Io::call`] wherever the controller calls the API. What the
//! explorer keeps of a sync under way is what it read at its start and the answers so far. To go on, the
//! function runs again from its start, is given those answers, and stops at the first call that has none. So
//! the algorithm reads as its KEPs tell it, and can still be cut between any two calls.

use super::read::Failures;
use crate::pod::Pod;
use crate::time::Time;
use crate::uid::Uid;

use crate::job::JobStatus;

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// POST of this pod.
    CreatePod(Box<Pod>),
    /// DELETE of a pod.
    DeletePod(Uid),
    /// PATCH that removes the tracking finalizer of a pod.
    ReleasePod(Uid),
    /// PUT of the Job's status.
    WriteStatus(Box<JobStatus>),
}

/// What the API server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// 2xx.
    Done,
    /// 404.
    NotFound,
    /// Anything else, or no answer at all.
    Error,
}

/// Why a sync does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits for the answer to this call.
    Call(Call),
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
    ExpectRelease(Uid),
    /// It failed.
    NoRelease(Uid),
    /// The record of failures. It tells pods apart, so that a sync that fails and is tried again counts none twice
    /// (BO-03).
    Remember(Failures),
    /// The Job is gone: nothing of it is remembered (SY-09).
    Forget,
    /// The key is to be synced at this time.
    Wake(Time),
}

/// The answers of the calls made so far, and the effects since the last of them.
#[derive(Debug)]
pub struct Io<'a> {
    answers: std::slice::Iter<'a, Answer>,
    effects: Vec<Effect>,
}

impl<'a> Io<'a> {
    /// A run that is given these answers.
    #[must_use]
    pub fn replaying(answers: &'a [Answer]) -> Io<'a> {
        Io { answers: answers.iter(), effects: Vec::new() }
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// The call itself where its answer is not known yet.
    pub fn call(&mut self, call: Call) -> Result<Answer, Stop> {
        let answer = self.answers.next().ok_or(Stop::Call(call))?;
        // What was noted before this answer took effect when the call was made.
        self.effects.clear();
        Ok(*answer)
    }

    /// Notes an effect.
    pub fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The effects since the last answer.
    #[must_use]
    pub fn into_effects(self) -> Vec<Effect> {
        self.effects
    }
}
