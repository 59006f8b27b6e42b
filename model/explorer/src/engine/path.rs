//! The way to a state.

use super::{Run, System};

/// One of the shortest ways to a state, from one of the initial states.
///
/// It is walked from the start anew: only representatives were kept, and what a user is shown must really happen.
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
    let mut state = initial.into_iter().find(&mut stands_for).expect("every way begins at an initial state");
    let mut path = Vec::new();
    for number in numbers.iter().rev().skip(1) {
        let (step, next) = step_to(system, scratch, &state, run.store.state(*number))
            .expect("a step leads from each state of a way to one that stands for the next");
        path.push(step);
        state = next;
    }
    path
}

/// The first step to a state that `wanted` stands for.
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
