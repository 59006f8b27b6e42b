//! The memory of a thread does not change the result.

use jobcheck_explorer::check::{Bounds, explore, scopes};
use jobcheck_explorer::compact::{Specification, width};
use jobcheck_explorer::engine::{Limits, Run, System, explore as search};
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;

use crate::check::scope;

/// The number of states that are visited, so that the memory is full.
const REACHED: usize = 800;
/// The number of these states that are compared.
const COMPARED: usize = 40;

/// Compares states all over a scope with the model without memory: their steps, the states after them, and
/// their broken properties.
fn compare<const N: usize>(scope: &Scope) {
    let specification = Specification::<N>::new(scope, &|property| property.is_some());
    let limits = Limits { max_states: Some(REACHED), ..Limits::none(1) };
    let Run { store, mut scratches, .. } = search(&specification, &limits);
    let (remembers, unpacks) = (&mut scratches[0], &mut specification.scratch());
    let mut steps = Vec::new();
    for (_, state) in store.states().step_by(store.len().div_ceil(COMPARED)) {
        steps.clear();
        specification.steps(remembers, state, &mut steps);
        let world = specification.world(unpacks, state);
        let plain = world.enabled(scope);
        assert!(steps.iter().map(|numbered| &*numbered.step).eq(&plain), "{}: {world:?}", scope.name);
        for numbered in &steps {
            let next = specification.apply(remembers, state, numbered);
            let (next, step) = (specification.world(unpacks, &next), &numbered.step);
            assert_eq!(next, world.apply(step, scope), "{}: {step:?} in {world:?}", scope.name);
        }
        let broken = PROPERTIES
            .iter()
            .position(|it| world.job_states.iter().any(|job_state| (it.broken)(job_state).is_some()));
        assert_eq!(specification.look(remembers, state, &steps), broken, "{}: {world:?}", scope.name);
    }
}

/// Every scope, and the scope of every mutant, with and without the partial-order reduction.
#[test]
fn memory_changes_nothing() {
    let mutated = MUTANTS.iter().map(|mutant| mutant.scope());
    for scope in scopes().into_iter().chain(mutated) {
        let has_processes = scope.algorithm().is_some();
        for lazy_caches in [false, true].into_iter().filter(|lazy| has_processes || !lazy) {
            let scope = scope.clone().with_algorithm(|algorithm| algorithm.lazy_caches = lazy_caches);
            match scope.jobs.len() {
                1 => compare::<{ width(1) }>(&scope),
                2 => compare::<{ width(2) }>(&scope),
                3 => compare::<{ width(3) }>(&scope),
                _ => compare::<{ width(4) }>(&scope),
            }
        }
    }
}

#[test]
fn a_state_takes_less_than_a_hundred_bytes() {
    let found = explore(&scope("replace-failed-indexes"), &Bounds::none(1));
    assert!(found.bytes / found.states < 100, "{} bytes for {} states", found.bytes, found.states);
}
