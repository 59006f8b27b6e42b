//! The effects of a step, by the few parts of a state from which they follow.
//!
//! For example, the effect of a kubelet's step on pods does not depend on the memory of a controller. It is
//! therefore computed once for all states with the same Job, pods and time. [`effects_of`] lists for each
//! step the parts that change, and the sources of the changes. All other parts stay the same.
//!
//! Each list is a claim about [`World::apply`]. A missing source would confuse states, so a test checks the
//! claims in every scope.
//!
//! [`World::apply`]: crate::world::World::apply

use std::ops::Range;

use super::Numbered;
use super::lossy::Lossy;
use super::parts::{
    DELAYED, GHOST, IDLE, JOB, KNOWLEDGE, KnownParts, PARTS, PODS, Packed, REST, SYNC, Tables, UNKNOWN,
    ids_of, offset,
};
use super::table::Id;
use crate::ghost::GhostHistory;
use crate::process::io::CallName;
use crate::process::steps::{ProcessStep, RequestOutcome};
use crate::scope::Scope;
use crate::step::Step;

/// The source next to the parts of a Job: the frame with the time.
const FRAME: usize = PARTS;
/// The source next to the parts of a Job: the numbers of pods and of previous Jobs, which name new ones.
const SO_FAR: usize = PARTS + 1;
const SLOTS: usize = PARTS + 2;

/// The parts that change together, and their common sources.
struct Effect {
    to: &'static [usize],
    from: &'static [usize],
}

const fn effect(to: &'static [usize], from: &'static [usize]) -> Effect {
    Effect { to, from }
}

/// The largest number of parts that an effect changes.
const TO: usize = 4;
const FROM: usize = 8;

/// Another actor changes a pod.
const POD_CHANGES: &[Effect] = &[
    effect(&[PODS], &[PODS, JOB, FRAME]),
    effect(&[GHOST], &[GHOST, PODS, JOB, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, PODS, JOB, FRAME]),
    effect(&[SYNC], &[SYNC]),
    effect(&[REST], &[REST]),
];

/// The same, if no cache has to receive an event at once.
const POD_CHANGES_QUIETLY: &[Effect] = &[
    effect(&[PODS], &[PODS, JOB, FRAME]),
    effect(&[GHOST], &[GHOST, PODS, JOB, FRAME]),
    effect(&[KNOWLEDGE], &[KNOWLEDGE, PODS, JOB, FRAME]),
    effect(&[SYNC], &[SYNC]),
    effect(&[REST], &[REST]),
];

/// Another actor changes the Job or a pod.
const JOB_CHANGES: &[Effect] = &[
    effect(&[JOB, PODS, REST], &[JOB, PODS, REST, SO_FAR, FRAME]),
    effect(&[GHOST], &[GHOST, JOB, PODS, REST, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, REST, SO_FAR, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, REST]),
    effect(&[DELAYED], &[DELAYED, JOB, PODS]),
];

/// A cache of the specification's manager receives an event.
const MANAGER_SEES: &[Effect] = &[effect(&[KNOWLEDGE], &[KNOWLEDGE])];

/// The specification's manager restarts.
const MANAGER_DIES: &[Effect] = &[effect(&[KNOWLEDGE], &[KNOWLEDGE]), effect(&[REST], &[REST])];

/// A sync starts.
const SYNC_STARTS: &[Effect] = &[effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// A sync continues, without an effect on other actors.
const SYNC_GOES_ON: &[Effect] =
    &[effect(&[SYNC, KNOWLEDGE, IDLE], &[SYNC, KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// A request fails before it reaches the server.
const REQUEST_FAILS: &[Effect] =
    &[effect(&[SYNC, KNOWLEDGE, IDLE], &[SYNC, KNOWLEDGE, IDLE, JOB, PODS, FRAME]), effect(&[REST], &[REST])];

/// A request of a sync reaches the server.
const REQUEST_IS_HANDLED: &[Effect] = &[
    effect(&[JOB, PODS, KNOWLEDGE, SYNC], &[JOB, PODS, KNOWLEDGE, SYNC, FRAME]),
    effect(&[GHOST], &[GHOST, JOB, PODS, KNOWLEDGE, SYNC, FRAME]),
    effect(&[IDLE], &[IDLE, KNOWLEDGE, SYNC, JOB, PODS, FRAME]),
    effect(&[REST], &[REST, JOB, SYNC]),
    effect(&[DELAYED], &[DELAYED, JOB, SYNC]),
];

/// A creation reaches the server. Its history depends on what the process may have lost.
const CREATION_IS_HANDLED: &[Effect] = &[
    effect(&[JOB, PODS, KNOWLEDGE, SYNC], &[JOB, PODS, KNOWLEDGE, SYNC, SO_FAR, REST, FRAME]),
    effect(&[GHOST], &[GHOST, JOB, PODS, KNOWLEDGE, SYNC, REST, FRAME]),
    effect(&[IDLE], &[IDLE, KNOWLEDGE, SYNC, JOB, PODS, SO_FAR, REST, FRAME]),
    effect(&[REST], &[REST, JOB, SYNC]),
];

/// A process crashes between two requests.
const PROCESS_DIES: &[Effect] =
    &[effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME]), effect(&[REST], &[REST])];

/// A process crashes, and its request continues.
const PROCESS_DIES_IN_FLIGHT: &[Effect] = &[
    effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME]),
    effect(&[REST], &[REST]),
    effect(&[DELAYED], &[SYNC]),
];

/// The delayed request of a crashed process reaches the server.
const DELAYED_REQUEST_HANDLED: &[Effect] = &[
    effect(&[JOB, PODS, GHOST], &[JOB, PODS, GHOST, KNOWLEDGE, DELAYED, REST, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, SO_FAR, DELAYED, REST, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, SO_FAR, DELAYED, REST]),
    effect(&[REST], &[REST, JOB, DELAYED]),
    effect(&[DELAYED], &[]),
];

/// The same, if no cache has to receive an event at once.
const DELAYED_REQUEST_HANDLED_QUIETLY: &[Effect] = &[
    effect(&[JOB, PODS, GHOST], &[JOB, PODS, GHOST, KNOWLEDGE, DELAYED, REST, FRAME]),
    effect(&[KNOWLEDGE], &[KNOWLEDGE, JOB, PODS, SO_FAR, DELAYED, REST, FRAME]),
    effect(&[IDLE], &[IDLE, JOB, DELAYED, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, SO_FAR, DELAYED, REST]),
    effect(&[REST], &[REST, JOB, DELAYED]),
    effect(&[DELAYED], &[]),
];

/// A cache of a process receives an event.
const PROCESS_SEES: &[Effect] = &[effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// Time passes, and timers fire.
const TIME_PASSES: &[Effect] =
    &[effect(&[FRAME], &[FRAME]), effect(&[IDLE], &[IDLE, KNOWLEDGE, JOB, PODS, FRAME])];

/// The effects of a step on a Job with at most one process. Returns `None` if they follow from the whole
/// state. A state is `quiet` if no cache has reached its maximal lag and the orphan queue is empty.
fn effects_of(step: &Step, quiet: bool) -> Option<&'static [Effect]> {
    match step {
        Step::Kubelet(..) | Step::Disrupt(..) if quiet => Some(POD_CHANGES_QUIETLY),
        Step::Kubelet(..) | Step::Disrupt(..) => Some(POD_CHANGES),
        Step::User(..) | Step::Collect(..) | Step::RemoveJob(_) => Some(JOB_CHANGES),
        Step::ShowPod(_) | Step::ShowJob(_) => Some(MANAGER_SEES),
        Step::Crash(_) => Some(MANAGER_DIES),
        Step::Process(_, 0, what) => of_process(*what),
        Step::HandleDelayed(_) if quiet => Some(DELAYED_REQUEST_HANDLED_QUIETLY),
        Step::HandleDelayed(_) => Some(DELAYED_REQUEST_HANDLED),
        Step::Tick => Some(TIME_PASSES),
        Step::Write(..) | Step::Expire(_) | Step::Rollout(_) | Step::Process(..) | Step::Ttl(..) => None,
        Step::Proceed => None,
    }
}

fn of_process(step: ProcessStep) -> Option<&'static [Effect]> {
    match step {
        ProcessStep::Sync(_) => Some(SYNC_STARTS),
        ProcessStep::Choose(_) => Some(SYNC_GOES_ON),
        ProcessStep::Call(_, RequestOutcome::Fails) => Some(REQUEST_FAILS),
        ProcessStep::Call(CallName::CreatePod(_), _) => Some(CREATION_IS_HANDLED),
        ProcessStep::Call(..) => Some(REQUEST_IS_HANDLED),
        ProcessStep::ShowPod | ProcessStep::RelistPods | ProcessStep::ShowJob | ProcessStep::RelistJobs => {
            Some(PROCESS_SEES)
        }
        ProcessStep::Crash => Some(PROCESS_DIES),
        ProcessStep::CrashInFlight(_) => Some(PROCESS_DIES_IN_FLIGHT),
        ProcessStep::Orphan(..) | ProcessStep::ElectSecondLeader | ProcessStep::StopOldLeader => None,
    }
}

/// The number of the step, the number of the effect, and its sources.
type Key = (Id, u8, [Id; FROM]);

/// The effects that a thread remembers.
#[derive(Debug)]
pub struct Effects {
    known: Lossy<Key, [Id; TO]>,
}

impl Effects {
    /// An empty memory.
    pub fn new() -> Effects {
        Effects { known: Lossy::up_to(1 << 20) }
    }

    /// The state after a step. Parts that are not remembered are [`UNKNOWN`].
    pub fn recall<const N: usize>(
        &self,
        facts: &mut Facts<'_>,
        state: &Packed<N>,
        step: &Numbered,
    ) -> Packed<N> {
        let mut next = *state;
        for job in jobs::<N>(&step.step) {
            let Some((effects, slots)) = facts.of(state, job, &step.step) else { return [UNKNOWN; N] };
            for (which, effect) in (0..).zip(effects) {
                let values = self.known.get(&key(step.id, which, effect, &slots));
                let values = values.unwrap_or(&[UNKNOWN; TO]);
                for (slot, value) in effect.to.iter().zip(values) {
                    next[place(*slot, job)] = *value;
                }
            }
        }
        next
    }

    /// Remembers the effects of a step between two states.
    pub fn remember<const N: usize>(
        &mut self,
        facts: &mut Facts<'_>,
        (state, known, next): (&Packed<N>, &Packed<N>, &Packed<N>),
        step: &Numbered,
    ) {
        for job in jobs::<N>(&step.step) {
            let Some((effects, slots)) = facts.of(state, job, &step.step) else { return };
            for (which, effect) in (0..).zip(effects) {
                if effect.to.iter().all(|slot| known[place(*slot, job)] != UNKNOWN) {
                    continue;
                }
                let mut values = [0; TO];
                for (value, slot) in values.iter_mut().zip(effect.to) {
                    *value = next[place(*slot, job)];
                }
                self.known.put(key(step.id, which, effect, &slots), values);
            }
        }
    }
}

/// The sources of effects.
pub struct Facts<'a> {
    pub parts: &'a mut KnownParts,
    pub tables: &'a Tables,
    pub scope: &'a Scope,
}

impl Facts<'_> {
    /// The effects of a step on a Job, with their sources. Returns `None` if the Job has a second process, or
    /// if the effects follow from the whole state.
    fn of<const N: usize>(
        &mut self,
        state: &Packed<N>,
        job: usize,
        step: &Step,
    ) -> Option<(&'static [Effect], [Id; SLOTS])> {
        let ids = ids_of(state, job);
        let Facts { parts, tables, scope } = self;
        // Any step may advance the script, whose position is part of the frame.
        if scope.script.is_some() {
            return None;
        }
        if !parts.rests.part(&tables.rests, ids[REST]).others.is_empty() {
            return None;
        }
        let room = parts.knowledge.part(&tables.knowledge, ids[KNOWLEDGE]).behind.len() < scope.lag;
        let idle = parts.idle.part(&tables.idle, ids[IDLE]).as_ref().as_ref();
        let quiet =
            room && idle.is_none_or(|idle| idle.job_behind.len() < scope.job_lag && idle.orphans.is_empty());
        let so_far = so_far(parts.ghosts.part(&tables.ghosts, ids[GHOST]));
        let mut slots = [0; SLOTS];
        slots[..PARTS].copy_from_slice(&ids);
        slots[FRAME] = state[0];
        slots[SO_FAR] = so_far;
        Some((effects_of(step, quiet)?, slots))
    }
}

/// The part of the history that steps depend on: the numbers of pods and of previous Jobs. A new field of the
/// history does not compile until it is assigned here.
pub fn so_far(ghost: &GhostHistory) -> Id {
    let GhostHistory {
        pods,
        incarnation,
        former,
        foreign_pods,
        widest: _,
        most: _,
        fewest: _,
        allowed_early_replacement: _,
        decision: _,
        ending: _,
        refused: _,
        namespace_refused: _,
        objection: _,
        ttl_deletion: _,
        gates: _,
        writers: _,
        violations: _,
    } = ghost;
    let pods = u8::try_from(pods.len()).unwrap_or(u8::MAX);
    Id::from_be_bytes([pods, *former, *incarnation, *foreign_pods])
}

/// The numbers of the Jobs that a step concerns.
fn jobs<const N: usize>(step: &Step) -> Range<usize> {
    match step.job() {
        Some(job) => usize::from(job.0)..usize::from(job.0) + 1,
        None => 0..(N - 1) / PARTS,
    }
}

fn place(slot: usize, job: usize) -> usize {
    if slot == FRAME { 0 } else { offset(job) + slot }
}

fn key(step: Id, which: u8, effect: &Effect, slots: &[Id; SLOTS]) -> Key {
    let mut from = [0; FROM];
    for (id, slot) in from.iter_mut().zip(effect.from) {
        *id = slots[*slot];
    }
    (step, which, from)
}
