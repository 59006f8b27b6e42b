//! Explores the shipped controllers with defects, and without reductions. The tests of the command line explore all scopes
//! (`cli/tests/cli/checkout.rs`).

mod defects;

use std::collections::BTreeSet;

use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::{Bounds, explore, graph};
use jobcheck_explorer::process::steps::ProcessStep;
use jobcheck_explorer::scopes::reference::one_fault;
use jobcheck_explorer::step::Step;

/// If the lists are too short for all pods, a plan chooses the first ones by UID. Every order is explored.
#[test]
fn every_order_of_equal_pods_is_explored() {
    let full = one_fault().into_iter().find(|scope| scope.name == "stale-caches/full-lists").unwrap();
    let mut first = BTreeSet::new();
    graph(
        &of_the_controller(full),
        &Bounds { partial_order: true, ..Bounds::none(1) },
        &mut |_, _, step, _| {
            if let Step::Process(_, _, ProcessStep::Choose(uid)) = step {
                first.insert(*uid);
            }
        },
    );
    assert!(first.len() > 1, "{first:?}");
}

/// The cache of plans and the order of UIDs do not affect the result. The verdict does not depend on the
/// number of threads or on reductions.
#[test]
fn threads_and_reductions_change_no_verdict_of_the_shipped_controllers() {
    let names = ["stale-caches/backoff-limit", "stale-caches/full-lists", "crash/non-indexed"];
    for scope in one_fault().into_iter().filter(|scope| names.contains(&scope.name)).map(of_the_controller) {
        let reduced = |threads| Bounds { partial_order: true, symmetry: true, ..Bounds::none(threads) };
        let (one, three) = (explore(&scope, &reduced(1)), explore(&scope, &reduced(3)));
        assert_eq!((one.states, one.depth, one.holds()), (three.states, three.depth, three.holds()));
        let all = explore(&scope, &Bounds::none(2));
        assert!(one.holds() && all.holds() && all.states > one.states, "{}", scope.name);
    }
}
