//! Explores the reference algorithm with all faults at once. The tests of the mutants explore it with mutations. The tests of the
//! command line explore its default scopes (`cli/tests/cli/checkout.rs`).

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::scopes::reference::all_faults;

/// The reductions that `jobcheck check` uses.
fn reduced() -> Bounds {
    Bounds { partial_order: true, symmetry: true, ..Bounds::none(2) }
}

/// One crash, one delayed request, one failed request, and a lag of two in both caches, in the smallest of
/// these scopes.
#[test]
fn with_all_faults_at_once_every_property_holds() {
    for (name, states, depth) in ALL_FAULTS {
        let scope = all_faults().into_iter().find(|scope| scope.name == *name).unwrap();
        let found = explore(&scope, &reduced());
        assert!(matches!(found.outcome, Outcome::Holds), "{name}: {:?}", found.outcome);
        assert_eq!((found.states, found.depth), (*states, *depth), "{name}");
    }
}

const ALL_FAULTS: &[(&str, usize, usize)] = &[("all-faults/backoff-limit", 43654, 29)];
