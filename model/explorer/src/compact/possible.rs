//! The enabled steps of a state. Like effects, they follow from few parts.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::effects::so_far;
use super::lossy::Lossy;
use super::parts::{DELAYED, GHOST, IDLE, JOB, KNOWLEDGE, PARTS, PODS, Packed, REST, SYNC, ids_of};
use super::table::{Id, Known, Table};
use super::{Numbered, Scratch, Specification};
use crate::alphabet::pod_bound_reached;
use crate::ghost::{GhostHistory, PodHistory};
use crate::process::steps as processes;
use crate::scope::Scope;
use crate::step::Step;
use crate::transition::ProcessSteps;
use crate::world::{JobId, World};
use jobcheck_spec::guards::counting::CountingHistory;
use jobcheck_spec::uid::Uid;

/// The sources of a manager's steps: the number of its Job, the frame, the Job, the pods, its knowledge, and
/// the visible history.
type Read = [Id; 6];

/// The steps of a manager.
#[derive(Debug)]
struct ManagerSteps {
    steps: Vec<Numbered>,
    pod_bound_reached: bool,
}

/// The part of the history that the specification's manager may depend on.
///
/// Its steps depend on nothing else of the history, and not on the user's past actions. A test changes every
/// field of the history, and `memory_changes_nothing` compares the results.
///
/// The UID of the next pod follows from the number of pods. A Job that the specification manages is never
/// recreated, so no pods of a previous Job exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct VisibleHistory {
    pods: Vec<ShownPod>,
    /// S-01: the smallest `completions` since the Job was decided.
    decided_completions: Option<i32>,
}

/// The visible history of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ShownPod {
    /// FT-02: true if the pod was counted.
    counted: bool,
    /// TC-04, S-08: true if no leader could know of the pod. An adopted pod looks like one that always had
    /// its owner.
    unexpected: bool,
}

impl VisibleHistory {
    fn of(ghost: &GhostHistory) -> VisibleHistory {
        debug_assert_eq!(ghost.former, 0, "the specification manages no Job that is created again");
        let shown = |(uid, pod): (Uid, &PodHistory)| ShownPod {
            counted: ghost.is_counted(uid),
            unexpected: pod.unexpected,
        };
        VisibleHistory {
            pods: ghost.numbered().map(shown).collect(),
            decided_completions: ghost.decided_completions(),
        }
    }
}

/// The steps of the specification's managers, shared by all threads.
pub struct Managers {
    managed: RwLock<FxHashMap<Read, Arc<ManagerSteps>>>,
    shown: Table<VisibleHistory>,
}

impl Managers {
    /// An empty table.
    pub fn new() -> Managers {
        Managers { managed: RwLock::default(), shown: Table::new() }
    }

    /// The number of situations in which the writes of a manager were judged.
    pub fn len(&self) -> usize {
        self.managed.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The actors of a set of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Actors {
    /// The processes of a Job.
    Processes(u8),
    /// The environment of a Job.
    Environment(u8),
    /// Actors that concern no single Job.
    Nobody,
}

/// The actors, and the sources of their steps.
type Key = (Actors, [Id; 8]);

/// Enabled steps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EnabledSteps<S> {
    steps: Arc<[S]>,
    /// True if no other step of the Job is enabled.
    alone: bool,
    /// True if the scope's bound on pods disables a creation.
    pod_bound_reached: bool,
}

/// The enabled steps that a thread remembers.
pub struct Possible {
    managed: FxHashMap<Read, Arc<ManagerSteps>>,
    shown: Known<VisibleHistory>,
    shown_by: FxHashMap<Id, Id>,
    enabled_for: Lossy<Key, EnabledSteps<Numbered>>,
}

impl Possible {
    /// An empty memory.
    pub fn new() -> Possible {
        Possible {
            managed: FxHashMap::default(),
            shown: Known::new(),
            shown_by: FxHashMap::default(),
            enabled_for: Lossy::up_to(1 << 18),
        }
    }
}

impl<const N: usize> Specification<'_, N> {
    /// Appends the enabled steps.
    pub(super) fn possible(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &mut Vec<Numbered>) {
        if self.scope.script.is_some() {
            return self.scripted(scratch, state, steps);
        }
        for job in 0..self.scope.jobs.len() {
            if self.scope.algorithm().is_none() {
                let managed = self.managed(scratch, state, job);
                steps.extend_from_slice(&managed.steps);
                scratch.pod_bound_reached |= managed.pod_bound_reached;
            }
            let key = self.key_of_processes(scratch, state, job);
            let alone = self.enabled_for(scratch, state, key, steps);
            if !alone {
                let key = self.key_of_environment(scratch, state, job);
                self.enabled_for(scratch, state, key, steps);
            }
        }
        self.enabled_for(scratch, state, key_of_all(state), steps);
    }

    /// The enabled steps of a scope with a script. They follow from the whole state.
    fn scripted(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &mut Vec<Numbered>) {
        let world = scratch.load(&self.tables, state);
        let possible = world.enabled(self.scope);
        let pod_bound_reached =
            world.job_states.iter().any(|job_state| processes::pod_bound_reached(job_state, self.scope));
        scratch.pod_bound_reached |= pod_bound_reached;
        let numbered = possible.into_iter().map(|step| Numbered::of(step, &mut scratch.steps, &self.steps));
        steps.extend(numbered);
    }

    fn key_of_processes(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Key {
        let ids = ids_of(state, job);
        let so_far = so_far(scratch.parts.ghosts.part(&self.tables.ghosts, ids[GHOST]));
        let [sync, knowledge, idle] = [SYNC, KNOWLEDGE, IDLE].map(|part| ids[part]);
        let from = [sync, knowledge, idle, ids[JOB], ids[PODS], ids[REST], ids[DELAYED], so_far];
        (Actors::Processes(small(job)), from)
    }

    fn key_of_environment(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Key {
        let ids = ids_of(state, job);
        let has_process = scratch.parts.idle.part(&self.tables.idle, ids[IDLE]).is_some();
        // This is the position of a process's knowledge too, which the environment does not depend on.
        let manager = if has_process { 0 } else { ids[KNOWLEDGE] };
        let so_far = so_far(scratch.parts.ghosts.part(&self.tables.ghosts, ids[GHOST]));
        let from = [state[0], ids[JOB], ids[PODS], ids[REST], manager, Id::from(has_process), so_far, 0];
        (Actors::Environment(small(job)), from)
    }

    /// Appends the steps of these actors. Returns true if no other step is enabled.
    fn enabled_for(
        &self,
        scratch: &mut Scratch<N>,
        state: &Packed<N>,
        key: Key,
        steps: &mut Vec<Numbered>,
    ) -> bool {
        if let Some(enabled_for) = scratch.possible.enabled_for.get(&key) {
            steps.extend_from_slice(&enabled_for.steps);
            scratch.pod_bound_reached |= enabled_for.pod_bound_reached;
            return enabled_for.alone;
        }
        let world = scratch.load(&self.tables, state);
        let enabled_for = EnabledSteps::of(world, key.0, self.scope);
        let enabled_for = enabled_for.numbered(&mut scratch.steps, &self.steps);
        steps.extend_from_slice(&enabled_for.steps);
        scratch.pod_bound_reached |= enabled_for.pod_bound_reached;
        let alone = enabled_for.alone;
        scratch.possible.enabled_for.put(key, enabled_for);
        alone
    }

    fn shown(&self, scratch: &mut Scratch<N>, ghost: Id) -> Id {
        if let Some(shown) = scratch.possible.shown_by.get(&ghost) {
            return *shown;
        }
        let part = VisibleHistory::of(scratch.parts.ghosts.part(&self.tables.ghosts, ghost));
        let shown = scratch.possible.shown.id_of(&self.managers.shown, part);
        scratch.possible.shown_by.insert(ghost, shown);
        shown
    }

    /// The enabled writes of the specification's manager of a Job.
    fn managed(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Arc<ManagerSteps> {
        let ids = ids_of(state, job);
        let shown = self.shown(scratch, ids[GHOST]);
        let read = [Id::from(small(job)), state[0], ids[JOB], ids[PODS], ids[KNOWLEDGE], shown];
        if let Some(managed) = scratch.possible.managed.get(&read) {
            return managed.clone();
        }
        let all = &self.managers.managed;
        let known = all.read().unwrap_or_else(PoisonError::into_inner).get(&read).cloned();
        let managed = known.unwrap_or_else(|| {
            let world = scratch.load(&self.tables, state);
            let (steps, pod_bound_reached) = managed(world, JobId(small(job)), self.scope);
            let steps = steps.into_iter().map(|step| Numbered::of(step, &mut scratch.steps, &self.steps));
            let managed = Arc::new(ManagerSteps { steps: steps.collect(), pod_bound_reached });
            all.write().unwrap_or_else(PoisonError::into_inner).insert(read, managed.clone());
            managed
        });
        scratch.possible.managed.insert(read, managed.clone());
        managed
    }
}

fn small(job: usize) -> u8 {
    u8::try_from(job).unwrap_or(u8::MAX)
}

fn key_of_all<const N: usize>(state: &Packed<N>) -> Key {
    let mut from = [0; 8];
    from[0] = state[0];
    for (id, job_state) in from[1..].iter_mut().zip(state[1..].chunks_exact(PARTS)) {
        *id = job_state[JOB];
    }
    (Actors::Nobody, from)
}

fn managed(world: &World, job: JobId, scope: &Scope) -> (Vec<Step>, bool) {
    let mut steps = Vec::new();
    world.manager_steps(job, scope, &mut steps);
    (steps, pod_bound_reached(world, job, scope))
}

impl Numbered {
    fn of(step: Step, known: &mut Known<Step>, table: &Table<Step>) -> Numbered {
        Numbered { id: known.id_of(table, step.clone()), step: Arc::new(step) }
    }
}

impl EnabledSteps<Step> {
    fn of(world: &World, whose: Actors, scope: &Scope) -> EnabledSteps<Step> {
        let mut steps = Vec::new();
        let (alone, pod_bound_reached) = match whose {
            Actors::Processes(job) => {
                let ProcessSteps { alone, pod_bound_reached } =
                    world.process_steps(JobId(job), scope, &mut steps);
                (alone, pod_bound_reached)
            }
            Actors::Environment(job) => {
                world.environment_steps(JobId(job), scope, &mut steps);
                (false, false)
            }
            Actors::Nobody => {
                world.clock_steps(scope, &mut steps);
                (false, false)
            }
        };
        EnabledSteps { steps: steps.into(), alone, pod_bound_reached }
    }

    fn numbered(&self, known: &mut Known<Step>, table: &Table<Step>) -> EnabledSteps<Numbered> {
        let steps = self.steps.iter().map(|step| Numbered::of(step.clone(), known, table)).collect();
        EnabledSteps { steps, alone: self.alone, pod_bound_reached: self.pod_bound_reached }
    }
}

#[cfg(test)]
mod tests;
