//! What a step does to a part of a world follows from few other parts.
//!
//! A kubelet's step, for one, changes pods whatever a controller remembers; so its effect on the pods is worked out
//! once for all worlds with the same Job, pods and time. [`effects_of`] says for each step which parts it changes, and
//! what the changes follow from; the rest stays as it is. What is written there is a claim about [`World::apply`],
//! which a test holds it to in every scope: forgetting a source would mix up worlds.
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

/// Beside the parts of a Job: the frame, which holds the time.
const FRAME: usize = PARTS;
/// Beside the parts of a Job: how many pods and former Jobs there were, which names those that come.
const SO_FAR: usize = PARTS + 1;
const SLOTS: usize = PARTS + 2;

/// Effects that follow from the same parts.
struct Effect {
    to: &'static [usize],
    from: &'static [usize],
}

const fn effect(to: &'static [usize], from: &'static [usize]) -> Effect {
    Effect { to, from }
}

/// The most parts of an effect.
const TO: usize = 4;
const FROM: usize = 8;

/// A pod changes by somebody else's hand.
const POD_CHANGES: &[Effect] = &[
    effect(&[PODS], &[PODS, JOB, FRAME]),
    effect(&[GHOST], &[GHOST, PODS, JOB, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, PODS, JOB, FRAME]),
    effect(&[SYNC], &[SYNC]),
    effect(&[REST], &[REST]),
];

/// The same, where no cache has to show anything at once.
const POD_CHANGES_QUIETLY: &[Effect] = &[
    effect(&[PODS], &[PODS, JOB, FRAME]),
    effect(&[GHOST], &[GHOST, PODS, JOB, FRAME]),
    effect(&[KNOWLEDGE], &[KNOWLEDGE, PODS, JOB, FRAME]),
    effect(&[SYNC], &[SYNC]),
    effect(&[REST], &[REST]),
];

/// The Job or a pod changes by somebody else's hand.
const JOB_CHANGES: &[Effect] = &[
    effect(&[JOB, PODS, REST], &[JOB, PODS, REST, SO_FAR, FRAME]),
    effect(&[GHOST], &[GHOST, JOB, PODS, REST, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, REST, SO_FAR, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, REST]),
    effect(&[DELAYED], &[DELAYED, JOB, PODS]),
];

/// A cache of the specification's manager advances.
const MANAGER_SEES: &[Effect] = &[effect(&[KNOWLEDGE], &[KNOWLEDGE])];

/// The specification's manager is restarted.
const MANAGER_DIES: &[Effect] = &[effect(&[KNOWLEDGE], &[KNOWLEDGE]), effect(&[REST], &[REST])];

/// A sync starts.
const SYNC_STARTS: &[Effect] = &[effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// A sync goes on, and nobody else notices.
const SYNC_GOES_ON: &[Effect] =
    &[effect(&[SYNC, KNOWLEDGE, IDLE], &[SYNC, KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// A request of a sync fails before it reaches the server.
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

/// A creation reaches the server. What the past says of it depends on what the process may have forgotten.
const CREATION_IS_HANDLED: &[Effect] = &[
    effect(&[JOB, PODS, KNOWLEDGE, SYNC], &[JOB, PODS, KNOWLEDGE, SYNC, SO_FAR, REST, FRAME]),
    effect(&[GHOST], &[GHOST, JOB, PODS, KNOWLEDGE, SYNC, REST, FRAME]),
    effect(&[IDLE], &[IDLE, KNOWLEDGE, SYNC, JOB, PODS, SO_FAR, REST, FRAME]),
    effect(&[REST], &[REST, JOB, SYNC]),
];

/// A process dies between two requests.
const PROCESS_DIES: &[Effect] =
    &[effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME]), effect(&[REST], &[REST])];

/// A process dies, and its request goes on.
const PROCESS_DIES_IN_FLIGHT: &[Effect] = &[
    effect(&[SYNC, KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME]),
    effect(&[REST], &[REST]),
    effect(&[DELAYED], &[SYNC]),
];

/// The request of a dead process reaches the server.
const DELAYED_REQUEST_HANDLED: &[Effect] = &[
    effect(&[JOB, PODS, GHOST], &[JOB, PODS, GHOST, KNOWLEDGE, DELAYED, REST, FRAME]),
    effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, SO_FAR, DELAYED, REST, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, SO_FAR, DELAYED, REST]),
    effect(&[REST], &[REST, JOB, DELAYED]),
    effect(&[DELAYED], &[]),
];

/// The same, where no cache has to show anything at once.
const DELAYED_REQUEST_HANDLED_QUIETLY: &[Effect] = &[
    effect(&[JOB, PODS, GHOST], &[JOB, PODS, GHOST, KNOWLEDGE, DELAYED, REST, FRAME]),
    effect(&[KNOWLEDGE], &[KNOWLEDGE, JOB, PODS, SO_FAR, DELAYED, REST, FRAME]),
    effect(&[IDLE], &[IDLE, JOB, DELAYED, FRAME]),
    effect(&[SYNC], &[SYNC, JOB, PODS, SO_FAR, DELAYED, REST]),
    effect(&[REST], &[REST, JOB, DELAYED]),
    effect(&[DELAYED], &[]),
];

/// A cache of a process advances.
const PROCESS_SEES: &[Effect] = &[effect(&[KNOWLEDGE, IDLE], &[KNOWLEDGE, IDLE, JOB, PODS, FRAME])];

/// Time passes, and timers are due.
const TIME_PASSES: &[Effect] =
    &[effect(&[FRAME], &[FRAME]), effect(&[IDLE], &[IDLE, KNOWLEDGE, JOB, PODS, FRAME])];

/// The effects of a step on a Job with at most one process; `None` where nothing is known of them, but that they
/// follow from the whole world. It is `quiet` if there is room in all caches, and nothing in the orphan queue.
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

/// The number of the step, which of its effects, and the parts that the effect follows from.
type Key = (Id, u8, [Id; FROM]);

/// What a thread remembers of effects.
#[derive(Debug)]
pub struct Effects {
    known: Lossy<Key, [Id; TO]>,
}

impl Effects {
    /// Nothing is known yet.
    pub fn new() -> Effects {
        Effects { known: Lossy::up_to(1 << 20) }
    }

    /// The state after a step, as far as it is remembered: what is not is [`UNKNOWN`].
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

    /// Remembers the effects of a step that led from one state to another.
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

/// What effects depend on.
pub struct Facts<'a> {
    pub parts: &'a mut KnownParts,
    pub tables: &'a Tables,
    pub scope: &'a Scope,
}

impl Facts<'_> {
    /// The effects of a step on a Job, and what they may follow from; `None` where it has a second process, or where
    /// nothing is known of the step.
    fn of<const N: usize>(
        &mut self,
        state: &Packed<N>,
        job: usize,
        step: &Step,
    ) -> Option<(&'static [Effect], [Id; SLOTS])> {
        let ids = ids_of(state, job);
        let Facts { parts, tables, scope } = self;
        // Where a script is, is in the frame, and any step may change that.
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

/// What the past shows to others than properties: how many pods and former Jobs there were. A field that is added to
/// the past does not compile until it was decided here whether anybody sees it.
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

/// The Jobs that a step concerns, by number.
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
