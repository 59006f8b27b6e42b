//! Carrying out a plan, call by call: which calls may be made now, and what their answers do to the rest.
//!
//! There is one of these, and no other code knows the order of a plan: the runtime sends its calls over HTTP, the
//! explorer lets the environment of the model answer them, the simulator makes them requests to the embedded API server.
//! It makes no call itself and reads no clock.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use super::call::{Call, StepResult};
use super::command::{Command, NewPod, Plan, PodRef, Sequence, Step, When};
use super::creation::batches;
use super::observed::Memory;
use crate::answer::{Answer, Failure};
use crate::values::{ResourceVersion, Time, Uid};

/// A plan that is being carried out, as [`Plan`] says.
///
/// # Expected flow
///
/// 1. Make any or all of the [`Enactment::open`] calls, in any order or at the same time: [`Enactment::take`],
///    [`Enactment::take_all`].
/// 2. Give each answer to [`Enactment::answered`]. Once all of a batch are there, the next batch is open.
/// 3. When [`Enactment::is_over`], [`Enactment::outcome`] says what to remember, and what failed.
///
/// It may be dropped after any call: no decision reads an answer (FT-02).
#[derive(Clone, Debug)]
pub struct Enactment<P> {
    plan: P,
    job: Uid,
    /// The version that the next status write expects.
    version: ResourceVersion,
    memory: Memory,
    /// The step under way.
    place: Place,
    /// Batches of the step that come after the one under way.
    later: VecDeque<Vec<Call>>,
    /// Calls of the batch under way that were not made yet.
    open: Vec<Call>,
    /// How many calls were made and not answered.
    awaited: usize,
    /// How the step went so far.
    went: StepResult,
    /// How that went which stops the Job.
    stop: StepResult,
    /// Whether any call of it succeeded.
    stopped_any: bool,
    failures: Vec<Failure>,
}

/// Where a step stands in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Place {
    sequence: usize,
    step: usize,
}

/// What became of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What to remember.
    pub memory: Memory,
    /// The failures, one for each step that failed, in their order. None: everything was done, or a pod turned out to be
    /// gone.
    pub failures: Vec<Failure>,
}

impl<P: Deref<Target = Plan>> Enactment<P> {
    /// Of a plan for the Job with this UID, which was made from this version of it.
    #[must_use]
    pub fn new(plan: P, job: Uid, version: ResourceVersion) -> Self {
        let mut enactment = Enactment {
            memory: plan.memory.clone(),
            plan,
            job,
            version,
            place: Place::default(),
            later: VecDeque::new(),
            open: Vec::new(),
            awaited: 0,
            went: StepResult::Done,
            stop: StepResult::Done,
            stopped_any: false,
            failures: Vec::new(),
        };
        enactment.begin_step();
        enactment.go_on();
        enactment
    }

    /// The calls of which each may be made now. None, too, while all that may be made are on their way.
    #[must_use]
    pub fn open(&self) -> &[Call] {
        &self.open
    }

    /// The open call of this number, which is made now.
    pub fn take(&mut self, number: usize) -> Option<Call> {
        let call = (number < self.open.len()).then(|| self.open.remove(number))?;
        self.awaited += 1;
        Some(call)
    }

    /// All open calls, which are made now.
    pub fn take_all(&mut self) -> Vec<Call> {
        self.awaited += self.open.len();
        std::mem::take(&mut self.open)
    }

    /// Whether there is nothing to do any more, and no answer to wait for.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open.is_empty() && self.awaited == 0
    }

    /// The answer to a call has come, at this time. If it completes a step that succeeded as a whole, that is returned: the
    /// events and counters of the step are due.
    ///
    /// The order in which the answers of a batch come makes no difference, but to which of several failures is told.
    pub fn answered(&mut self, call: &Call, answer: &Answer, now: Time) -> Option<&Step> {
        self.awaited = self.awaited.saturating_sub(1);
        if let Some(lesson) = call.lesson(answer) {
            self.memory.learn(lesson, now);
        }
        if let (Call::WriteStatus(..), Ok(stored)) = (call, answer) {
            self.version = stored.resource_version.clone();
        }
        let went = call.went(answer, &self.job);
        let stops = self.when(self.place.sequence) == Some(When::Stop);
        self.stopped_any |= stops && !matches!(went, StepResult::Failed(_));
        self.went.worsen(went);
        let place = self.place;
        let is_whole = self.is_over() && self.later.is_empty() && self.went == StepResult::Done;
        self.go_on();
        if is_whole { self.step_at(place) } else { None }
    }

    /// Begins nothing more, for this reason. Calls that are on their way may still be answered.
    pub fn abandon(&mut self, why: Failure) {
        self.failures.push(why);
        self.open.clear();
        self.later.clear();
        self.place = Place { sequence: self.plan.sequences.len(), step: 0 };
    }

    /// The failures so far; after any of them the Job is to be planned again.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// What to remember so far.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What became of it.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        Outcome { memory: self.memory, failures: self.failures }
    }

    /// Opens the next calls, once all answers are there.
    fn go_on(&mut self) {
        while self.is_over() && self.step_at(self.place).is_some() {
            // A batch with a failure is the last one of its step (PC-11, FT-24).
            match self.later.pop_front().filter(|_| self.went == StepResult::Done) {
                Some(batch) => self.open = batch,
                None => self.end_step(),
            }
        }
    }

    fn end_step(&mut self) {
        let ends_plan = self.step_at(self.place).is_some_and(|step| step.command.ends_plan());
        let next_sequence = Place { sequence: self.place.sequence + 1, step: 0 };
        let went = std::mem::replace(&mut self.went, StepResult::Done);
        if self.when(self.place.sequence) == Some(When::Stop) {
            self.stop.worsen(went.clone());
        }
        self.place = match went {
            StepResult::Done => Place { step: self.place.step + 1, ..self.place },
            StepResult::NotFound => next_sequence,
            StepResult::Failed(failure) => {
                self.failures.push(failure);
                if ends_plan { Place { sequence: self.plan.sequences.len(), step: 0 } } else { next_sequence }
            }
        };
        self.begin_step();
    }

    /// Begins the step that is under way from now on: at the end of a sequence the first one of the next.
    fn begin_step(&mut self) {
        while self.plan.sequences.get(self.place.sequence).is_some_and(|it| !self.goes_on_in(it)) {
            self.place = Place { sequence: self.place.sequence + 1, step: 0 };
        }
        let command = self.step_at(self.place).map(|step| &step.command);
        self.later = command.map(|command| calls(command, &self.version)).unwrap_or_default();
    }

    fn step_at(&self, place: Place) -> Option<&Step> {
        self.plan.sequences.get(place.sequence)?.steps.get(place.step)
    }

    fn goes_on_in(&self, sequence: &Sequence) -> bool {
        self.place.step < sequence.steps.len() && self.is_due(sequence.when)
    }

    fn when(&self, sequence: usize) -> Option<When> {
        self.plan.sequences.get(sequence).map(|sequence| sequence.when)
    }

    /// Whether a sequence is performed, as far as what stops the Job has gone.
    fn is_due(&self, when: When) -> bool {
        match when {
            When::Always | When::Stop => true,
            When::Stopped => self.stop == StepResult::Done,
            When::NotStopped => self.stop != StepResult::Done && !self.stopped_any,
        }
    }
}

/// The calls of a command, in batches of which each comes after the answers to the one before.
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
