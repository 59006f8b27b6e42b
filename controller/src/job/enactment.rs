//! The execution of a plan, call by call: which calls may be made now, and the effect of each response on the rest.
//!
//! No other code depends on the order of a plan. The runtime sends the calls over HTTP. The explorer has the environment
//! of the model respond to them. The simulator sends them to the embedded API server. This module itself makes no call
//! and reads no clock.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use super::call::{Call, StepResult};
use super::command::{Command, NewPod, Plan, PodRef, Sequence, Step};
use super::creation::batches;
use super::memory::Memory;
use crate::answer::{Answer, Failure};
use crate::values::{ResourceVersion, Time, Uid};

/// The execution of one plan, in the order that [`Plan`] documents.
///
/// # Expected flow
///
/// 1. Make any or all of the [`Enactment::open`] calls, in any order or concurrently: [`Enactment::take`],
///    [`Enactment::take_all`].
/// 2. Pass each response to [`Enactment::answered`]. The last response of a batch opens the next batch.
/// 3. After [`Enactment::is_over`] returns true, [`Enactment::outcome`] has the memory and the failures.
///
/// The enactment may be dropped after any call, because no decision reads a response (FT-02).
#[derive(Clone, Debug)]
pub struct Enactment<P> {
    plan: P,
    job: Uid,
    /// The precondition of the next status write.
    version: ResourceVersion,
    memory: Memory,
    /// The current step.
    place: Place,
    /// The batches of the current step after the current batch.
    later: VecDeque<Vec<Call>>,
    /// The calls of the current batch that were not made yet.
    open: Vec<Call>,
    /// The number of calls that were made and have no response yet.
    awaited: usize,
    /// The worst result of the current step so far.
    result: StepResult,
    stop: StopResult,
    failures: Vec<Failure>,
}

/// The position of a step in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    part: Part,
    sequence: usize,
    step: usize,
}

/// A part of a plan: a field of [`Plan`] or of [`Stop`](super::command::Stop).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Claims,
    Deletions,
    IfAll,
    IfNone,
    Account,
    Scale,
    End,
}

/// The results of the calls that delete all active pods.
#[derive(Clone, Copy, Debug)]
struct StopResult {
    /// True if every call so far has succeeded.
    all: bool,
    /// True if no call so far has succeeded or has found its pod deleted.
    none: bool,
}

/// The result of an enactment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The memory after the responses.
    pub memory: Memory,
    /// The failures in their order, one for each failed step. If there is none, every step was performed, or a pod was
    /// not found.
    pub failures: Vec<Failure>,
}

impl<P: Deref<Target = Plan>> Enactment<P> {
    /// Starts the execution of a plan for the Job with this UID. `version` is the version of the Job in the facts from
    /// which the plan was made.
    #[must_use]
    pub fn new(plan: P, job: Uid, version: ResourceVersion) -> Self {
        let mut enactment = Enactment {
            memory: plan.memory.clone(),
            plan,
            job,
            version,
            place: Place::first_of(Part::Claims),
            later: VecDeque::new(),
            open: Vec::new(),
            awaited: 0,
            result: StepResult::Done,
            stop: StopResult { all: true, none: true },
            failures: Vec::new(),
        };
        enactment.begin_step();
        enactment.open_next_batch();
        enactment
    }

    /// The calls that may be made now. Empty while all of them are made and some have no response yet.
    #[must_use]
    pub fn open(&self) -> &[Call] {
        &self.open
    }

    /// Takes the open call with this number. The caller makes it now.
    pub fn take(&mut self, number: usize) -> Option<Call> {
        let call = (number < self.open.len()).then(|| self.open.remove(number))?;
        self.awaited += 1;
        Some(call)
    }

    /// Takes all open calls. The caller makes them now.
    pub fn take_all(&mut self) -> Vec<Call> {
        self.awaited += self.open.len();
        std::mem::take(&mut self.open)
    }

    /// Returns true if no call is open and every call has its response.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open.is_empty() && self.awaited == 0
    }

    /// Processes the response to a call that was taken, received at this time.
    ///
    /// Returns a step if the response completes it and all its calls have succeeded. The events and counters of the step
    /// are due then. The order of the responses of a batch affects only which of several failures is kept.
    pub fn answered(&mut self, call: &Call, answer: &Answer, now: Time) -> Option<&Step> {
        self.awaited = self.awaited.saturating_sub(1);
        if let Some(update) = call.memory_update(answer) {
            self.memory.apply(update, now);
        }
        if let (Call::WriteStatus(..), Ok(stored)) = (call, answer) {
            self.version = stored.resource_version.clone();
        }
        let result = call.result(answer, &self.job);
        if self.place.part == Part::Deletions {
            self.stop.all &= result == StepResult::Done;
            self.stop.none &= matches!(result, StepResult::Failed(_));
        }
        self.result.worsen(result);
        let place = self.place;
        let is_complete = self.is_over() && self.later.is_empty() && self.result == StepResult::Done;
        self.open_next_batch();
        if is_complete { self.step_at(place) } else { None }
    }

    /// Ends the execution with this failure. Responses to calls that were made may still follow.
    pub fn abandon(&mut self, why: Failure) {
        self.failures.push(why);
        self.open.clear();
        self.later.clear();
        self.place = Place::first_of(Part::End);
    }

    /// The failures so far. If there is any, the Job is to be planned again.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The memory after the responses so far.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the memory and the failures.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        Outcome { memory: self.memory, failures: self.failures }
    }

    /// Opens the next batch after all responses to the current one.
    fn open_next_batch(&mut self) {
        while self.is_over() && self.step_at(self.place).is_some() {
            // PC-11, FT-24: a batch with a failure is the last one of its step.
            match self.later.pop_front().filter(|_| self.result == StepResult::Done) {
                Some(batch) => self.open = batch,
                None => self.end_step(),
            }
        }
    }

    fn end_step(&mut self) {
        let ends_plan = self.step_at(self.place).is_some_and(|step| step.command.ends_plan());
        self.place = match std::mem::replace(&mut self.result, StepResult::Done) {
            StepResult::Done => self.place.next_step(),
            StepResult::NotFound => self.place.next_sequence(),
            StepResult::Failed(failure) => {
                self.failures.push(failure);
                if ends_plan { Place::first_of(Part::End) } else { self.place.next_sequence() }
            }
        };
        self.begin_step();
    }

    /// Moves to the next existing step, unless the place already has one, and prepares its batches.
    fn begin_step(&mut self) {
        while self.place.part != Part::End && self.step_at(self.place).is_none() {
            self.place = if self.place.sequence < self.sequences(self.place.part).len() {
                self.place.next_sequence()
            } else {
                Place::first_of(self.part_after(self.place.part))
            };
        }
        let command = self.step_at(self.place).map(|step| &step.command);
        self.later = command.map(|command| calls(command, &self.version)).unwrap_or_default();
    }

    fn step_at(&self, place: Place) -> Option<&Step> {
        self.sequences(place.part).get(place.sequence)?.get(place.step)
    }

    fn sequences(&self, part: Part) -> &[Sequence] {
        let plan = &*self.plan;
        match (part, &plan.stop) {
            (Part::Claims, _) => &plan.claims,
            (Part::Deletions, Some(stop)) => &stop.deletions,
            (Part::IfAll, Some(stop)) => &stop.if_all,
            (Part::IfNone, Some(stop)) => &stop.if_none,
            (Part::Account, _) => &plan.account,
            (Part::Scale, _) => &plan.scale,
            (Part::Deletions | Part::IfAll | Part::IfNone, None) | (Part::End, _) => &[],
        }
    }

    fn part_after(&self, part: Part) -> Part {
        match part {
            Part::Claims => Part::Deletions,
            Part::Deletions if self.stop.all => Part::IfAll,
            Part::Deletions if self.stop.none => Part::IfNone,
            Part::Deletions | Part::IfAll | Part::IfNone => Part::Account,
            Part::Account => Part::Scale,
            Part::Scale | Part::End => Part::End,
        }
    }
}

impl Place {
    fn first_of(part: Part) -> Place {
        Place { part, sequence: 0, step: 0 }
    }

    fn next_step(self) -> Place {
        Place { step: self.step + 1, ..self }
    }

    fn next_sequence(self) -> Place {
        Place { sequence: self.sequence + 1, step: 0, ..self }
    }
}

/// The calls of a command, in batches. Each batch waits for the responses to the previous one.
fn calls(command: &Command, version: &ResourceVersion) -> VecDeque<Vec<Call>> {
    let each = |pods: &[PodRef], call: fn(PodRef) -> Call| pods.iter().cloned().map(call).collect();
    match command {
        Command::WriteStatus(write) => [vec![Call::WriteStatus(Arc::clone(write), version.clone())]].into(),
        Command::RemoveFinalizers(pods) => [pods.iter().cloned().map(Call::RemoveFinalizer).collect()].into(),
        Command::DeletePods(pods) => [each(pods, Call::DeletePod)].into(),
        Command::AdoptPods(pods) => [vec![Call::ReadJob], each(pods, Call::AdoptPod)].into(),
        Command::ReleasePods(pods) => [each(pods, Call::ReleasePod)].into(),
        Command::CreatePods(creation) => {
            let mut pods = creation.pods.iter();
            let create = |pod: &NewPod| Call::CreatePod(pod.clone(), creation.reason);
            batches(creation.pods.len()).map(|size| pods.by_ref().take(size).map(create).collect()).collect()
        }
    }
}
