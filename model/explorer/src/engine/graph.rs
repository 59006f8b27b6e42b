//! The transitions of the states that a search visited.

use super::store::Tag;
use super::{Run, System};

/// The steps that leave a visited state, with the numbers of the next states. After a search that was cut,
/// steps to states that are not in the store are left out.
pub fn leaving<S: System>(
    system: &S,
    run: &Run<S>,
    scratch: &mut S::Scratch,
    number: u32,
) -> Vec<(S::Step, u32)> {
    let state = run.store.state(number);
    let mut steps = Vec::new();
    system.steps(scratch, state, &mut steps);
    let led = steps.into_iter().map(|step| {
        let next = system.apply(scratch, state, &step);
        let next = system.representative(scratch, next);
        (run.store.number_of(Tag::of(&next), &next), step)
    });
    led.filter_map(|(to, step)| Some((step, to?))).collect()
}
