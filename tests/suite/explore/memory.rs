//! What a thread remembers of one state must not change what it says of another.

use jobcheck_model::check::{Bounds, explore};
use jobcheck_model::explore::compact::{Specification, width};
use jobcheck_model::explore::engine::{Limits, System, explore as search};
use jobcheck_model::scope::Scope;

use crate::check::{SIZES, scope};

/// Compares every step, and every world after one, with what the model says without any memory.
fn compare<const N: usize>(scope: &Scope, most: usize) -> usize {
    let specification = Specification::<N>::new(scope, &|_| true);
    let run = search(&specification, &Limits { max_states: Some(most), ..Limits::none(1) });
    let (remembers, unpacks) = (&mut specification.scratch(), &mut specification.scratch());
    let mut steps = Vec::new();
    for (_, state) in run.store.states().take(most) {
        steps.clear();
        specification.steps(remembers, state, &mut steps);
        let world = specification.world(unpacks, state);
        let plain = world.enabled(scope);
        assert!(steps.iter().map(|step| &**step).eq(&plain), "{}: {world:?}", scope.name);
        for step in &steps {
            let next = specification.apply(remembers, state, step);
            assert_eq!(specification.world(unpacks, &next), world.apply(step, scope), "{step:?}");
        }
    }
    run.store.len().min(most)
}

#[test]
fn memory_changes_nothing() {
    for (name, states, _) in SIZES {
        let scope = scope(name);
        let most = 1_500.min(*states);
        let compared = match scope.jobs.len() {
            1 => compare::<{ width(1) }>(&scope, most),
            jobs => {
                assert_eq!(jobs, 2);
                compare::<{ width(2) }>(&scope, most)
            }
        };
        assert_eq!(compared, most, "{name}");
    }
}

#[test]
fn a_state_takes_less_than_a_hundred_bytes() {
    let found = explore(&scope("replace-failed-indexes"), &Bounds::none(1));
    assert!(found.bytes / found.states < 100, "{} bytes for {} states", found.bytes, found.states);
}
