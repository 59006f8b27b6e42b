//! Which steps are possible in a world. Like effects, they follow from few of its parts.

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
use crate::scope::{Scope, Subject};
use crate::step::Step;
use crate::transition::ProcessSteps;
use crate::world::{JobId, World};
use jobcheck_spec::guards::counting::Ledger;
use jobcheck_spec::uid::Uid;

/// What the steps of a manager depend on: its Job's number, the frame, the Job, the pods, the manager, and what
/// is shown of the past.
type Read = [Id; 6];

/// The steps of a manager.
#[derive(Debug)]
struct Managed {
    steps: Vec<Numbered>,
    pod_bound_reached: bool,
}

/// What the specification of managers is shown of the past. Nothing else of it has a bearing on what a manager may do, and
/// nothing of what the user has done already; a test changes all of it, and `memory_changes_nothing` compares.
///
/// The UID of the next pod follows from the number of pods: a Job that the specification manages is never created again
/// under its name, so that there are no pods of a former one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shown {
    pods: Vec<ShownPod>,
    /// The fewest `completions` since the Job was decided (S-01).
    decided_completions: Option<i32>,
}

/// What it is shown of a pod that there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ShownPod {
    /// True if it was counted (FT-02).
    counted: bool,
    /// True if nobody can have reckoned with it (TC-04, S-08): what was adopted looks like what always had its owner.
    unexpected: bool,
}

impl Shown {
    fn of(ghost: &GhostHistory) -> Shown {
        debug_assert_eq!(ghost.former, 0, "the specification manages no Job that is created again");
        let shown = |(uid, pod): (Uid, &PodHistory)| ShownPod {
            counted: ghost.is_counted(uid),
            unexpected: pod.unexpected,
        };
        Shown {
            pods: ghost.numbered().map(shown).collect(),
            decided_completions: ghost.decided_completions(),
        }
    }
}

/// What all threads together have found out about the specification of managers.
pub struct Managers {
    managed: RwLock<FxHashMap<Read, Arc<Managed>>>,
    shown: Table<Shown>,
}

impl Managers {
    /// Nothing yet.
    pub fn new() -> Managers {
        Managers { managed: RwLock::default(), shown: Table::new() }
    }

    /// How often the specification was asked what a manager may do.
    pub fn len(&self) -> usize {
        self.managed.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Whose steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whose {
    /// Those of the processes of a Job.
    Processes(u8),
    /// Those of others that concern a Job.
    Environment(u8),
    /// Those that concern no single Job.
    Nobody,
}

/// Whose steps, and the parts that they follow from.
type Key = (Whose, [Id; 8]);

/// Steps that are possible.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed<S> {
    steps: Arc<[S]>,
    /// True if nothing else of the Job is possible.
    alone: bool,
    /// True if a creation is held back by the scope's bound on pods.
    pod_bound_reached: bool,
}

/// What a thread remembers of possible steps.
pub struct Possible {
    managed: FxHashMap<Read, Arc<Managed>>,
    shown: Known<Shown>,
    shown_by: FxHashMap<Id, Id>,
    listed: Lossy<Key, Listed<Numbered>>,
}

impl Possible {
    /// Nothing is known yet.
    pub fn new() -> Possible {
        Possible {
            managed: FxHashMap::default(),
            shown: Known::new(),
            shown_by: FxHashMap::default(),
            listed: Lossy::up_to(1 << 18),
        }
    }
}

impl<const N: usize> Specification<'_, N> {
    /// Adds the steps that are possible.
    pub(super) fn possible(&self, scratch: &mut Scratch<N>, state: &Packed<N>, steps: &mut Vec<Numbered>) {
        if self.scope.script.is_some() {
            return self.scripted(scratch, state, steps);
        }
        for job in 0..self.scope.jobs.len() {
            if self.scope.subject == Subject::Specification {
                let managed = self.managed(scratch, state, job);
                steps.extend_from_slice(&managed.steps);
                scratch.pod_bound_reached |= managed.pod_bound_reached;
            }
            let key = self.key_of_processes(scratch, state, job);
            let alone = self.listed(scratch, state, key, steps);
            if !alone {
                let key = self.key_of_environment(scratch, state, job);
                self.listed(scratch, state, key, steps);
            }
        }
        self.listed(scratch, state, key_of_all(state), steps);
    }

    /// With a script, what is possible follows from the whole world.
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
        (Whose::Processes(small(job)), from)
    }

    fn key_of_environment(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Key {
        let ids = ids_of(state, job);
        let has_process = scratch.parts.idle.part(&self.tables.idle, ids[IDLE]).is_some();
        // The manager stands where the knowledge of a process would; the environment asks for none of a process.
        let manager = if has_process { 0 } else { ids[KNOWLEDGE] };
        let so_far = so_far(scratch.parts.ghosts.part(&self.tables.ghosts, ids[GHOST]));
        let from = [state[0], ids[JOB], ids[PODS], ids[REST], manager, Id::from(has_process), so_far, 0];
        (Whose::Environment(small(job)), from)
    }

    /// Adds steps; says whether nothing else is possible.
    fn listed(
        &self,
        scratch: &mut Scratch<N>,
        state: &Packed<N>,
        key: Key,
        steps: &mut Vec<Numbered>,
    ) -> bool {
        if let Some(listed) = scratch.possible.listed.get(&key) {
            steps.extend_from_slice(&listed.steps);
            scratch.pod_bound_reached |= listed.pod_bound_reached;
            return listed.alone;
        }
        let world = scratch.load(&self.tables, state);
        let listed = Listed::of(world, key.0, self.scope);
        let listed = listed.numbered(&mut scratch.steps, &self.steps);
        steps.extend_from_slice(&listed.steps);
        scratch.pod_bound_reached |= listed.pod_bound_reached;
        let alone = listed.alone;
        scratch.possible.listed.put(key, listed);
        alone
    }

    fn shown(&self, scratch: &mut Scratch<N>, ghost: Id) -> Id {
        if let Some(shown) = scratch.possible.shown_by.get(&ghost) {
            return *shown;
        }
        let part = Shown::of(scratch.parts.ghosts.part(&self.tables.ghosts, ghost));
        let shown = scratch.possible.shown.id_of(&self.managers.shown, part);
        scratch.possible.shown_by.insert(ghost, shown);
        shown
    }

    /// What the manager of a Job may do.
    fn managed(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Arc<Managed> {
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
            let managed = Arc::new(Managed { steps: steps.collect(), pod_bound_reached });
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
    (Whose::Nobody, from)
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

impl Listed<Step> {
    fn of(world: &World, whose: Whose, scope: &Scope) -> Listed<Step> {
        let mut steps = Vec::new();
        let (alone, pod_bound_reached) = match whose {
            Whose::Processes(job) => {
                let ProcessSteps { alone, pod_bound_reached } =
                    world.process_steps(JobId(job), scope, &mut steps);
                (alone, pod_bound_reached)
            }
            Whose::Environment(job) => {
                world.environment_steps(JobId(job), scope, &mut steps);
                (false, false)
            }
            Whose::Nobody => {
                world.clock_steps(scope, &mut steps);
                (false, false)
            }
        };
        Listed { steps: steps.into(), alone, pod_bound_reached }
    }

    fn numbered(&self, known: &mut Known<Step>, table: &Table<Step>) -> Listed<Numbered> {
        let steps = self.steps.iter().map(|step| Numbered::of(step.clone(), known, table)).collect();
        Listed { steps, alone: self.alone, pod_bound_reached: self.pod_bound_reached }
    }
}

#[cfg(test)]
mod tests;
