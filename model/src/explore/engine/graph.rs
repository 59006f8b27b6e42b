//! The graph that a search saw.

use super::store::Tag;
use super::{Run, System};

/// Tells every step between the states that were kept, by their numbers. After a search that was cut, steps to
/// states that are not kept are left out.
pub fn edges<S: System>(system: &S, run: &Run<S>, mut tell: impl FnMut(u32, &S::Step, u32)) {
    let scratch = &mut system.scratch();
    let mut steps = Vec::new();
    for (number, state) in run.store.states() {
        steps.clear();
        system.steps(scratch, state, &mut steps);
        for step in &steps {
            let next = system.apply(scratch, state, step);
            let next = system.representative(scratch, next);
            if let Some(to) = run.store.number_of(Tag::of(&next), &next) {
                tell(number, step, to);
            }
        }
    }
}
