//! Evaluates a state: its broken property, and the premises that it satisfies.

use super::lossy::Lossy;
use super::parts::{GHOST, IDLE, JOB, KNOWLEDGE, PODS, Packed, REST, SYNC, ids_of};
use super::table::Id;
use super::{Scratch, Specification};
use crate::properties::{PROPERTIES, Situation};
use crate::scope::Scope;
use crate::world::World;

/// A set of [`PROPERTIES`].
type Properties = u64;

const _: () = assert!(PROPERTIES.len() <= Properties::BITS as usize);

/// The input of the properties: the frame, parts of one Job, and true if its process is in a sync. With
/// recreated Jobs, the process itself is an input too (BO-06).
type Key = ([Id; 7], bool);

/// The evaluation of one Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Observation {
    broken: Properties,
    /// The satisfied premises, without those that were satisfied before.
    reached: Properties,
}

/// The evaluations that a thread remembers.
#[derive(Debug)]
pub struct Looks {
    known: Lossy<Key, Observation>,
}

impl Looks {
    /// An empty memory.
    pub fn new() -> Looks {
        Looks { known: Lossy::up_to(1 << 16) }
    }
}

impl<const N: usize> Specification<'_, N> {
    /// The first wanted property that is broken. Records satisfied premises.
    pub(super) fn broken(&self, scratch: &mut Scratch<N>, state: &Packed<N>) -> Option<usize> {
        let broken = (0..self.scope.jobs.len()).fold(0, |broken, job| {
            let seen = self.seen(scratch, state, job);
            for (number, reached) in scratch.reached.iter_mut().enumerate() {
                *reached |= seen.reached >> number & 1 == 1;
            }
            broken | seen.broken
        });
        (0..PROPERTIES.len()).find(|number| broken >> number & 1 == 1 && self.wanted[*number])
    }

    fn seen(&self, scratch: &mut Scratch<N>, state: &Packed<N>, job: usize) -> Observation {
        let ids = ids_of(state, job);
        let is_managed = scratch.parts.idle.part(&self.tables.idle, ids[IDLE]).is_none();
        let asks = is_managed || self.scope.recreates();
        let [knowledge, idle] = [KNOWLEDGE, IDLE].map(|part| if asks { ids[part] } else { 0 });
        let syncs = scratch.parts.syncs.part(&self.tables.syncs, ids[SYNC]).is_some();
        let key = ([state[0], ids[JOB], ids[PODS], ids[GHOST], ids[REST], knowledge, idle], syncs);
        if let Some(seen) = scratch.looks.known.get(&key) {
            return *seen;
        }
        scratch.load(&self.tables, state);
        let Scratch { current, looks, reached, .. } = scratch;
        let (_, world) = current.as_ref().expect("it was just loaded");
        let seen = look_at(world, job, self.scope, reached);
        looks.known.put(key, seen);
        seen
    }
}

/// Evaluates a Job. Premises that are already `reached` are skipped.
fn look_at(world: &World, job: usize, scope: &Scope, reached: &[bool]) -> Observation {
    let job_state = &world.job_states[job];
    let situation = Situation { world, job_state, scope };
    let mut seen = Observation { broken: 0, reached: 0 };
    for (number, property) in PROPERTIES.iter().enumerate() {
        seen.broken |= Properties::from((property.broken)(job_state).is_some()) << number;
        let is_asked = !reached.get(number).copied().unwrap_or_default();
        seen.reached |= Properties::from(is_asked && (property.premise)(&situation)) << number;
    }
    seen
}
