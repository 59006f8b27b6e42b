//! The path to a state.

use super::{Run, System};

/// A shortest path from an initial state to a state.
///
/// The path is taken again from its start. The store contains only representatives, and a user must see steps
/// that can really happen.
#[must_use]
pub fn path_to<S: System>(system: &S, run: &Run<S>, number: u32) -> Vec<S::Step> {
    let mut numbers = vec![number];
    let mut at = number;
    while run.store.parent(at) != at {
        at = run.store.parent(at);
        numbers.push(at);
    }
    let scratch = &mut system.scratch();
    let initial = system.initial(scratch);
    let mut stands_for =
        |state: &S::State| system.representative(scratch, state.clone()) == *run.store.state(at);
    let mut state = initial.into_iter().find(&mut stands_for).expect("every path starts in an initial state");
    let mut path = Vec::new();
    for number in numbers.iter().rev().skip(1) {
        let (step, next) = step_to(system, scratch, &state, run.store.state(*number))
            .expect("a step leads from each state of a path to one with the next representative");
        path.push(step);
        state = next;
    }
    path
}

/// The first step to a state with the representative `wanted`.
fn step_to<S: System>(
    system: &S,
    scratch: &mut S::Scratch,
    state: &S::State,
    wanted: &S::State,
) -> Option<(S::Step, S::State)> {
    let mut steps = Vec::new();
    system.steps(scratch, state, &mut steps);
    steps.into_iter().find_map(|step| {
        let next = system.apply(scratch, state, &step);
        let fits = system.representative(scratch, next.clone()) == *wanted;
        fits.then_some((step, next))
    })
}
