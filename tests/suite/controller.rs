//! Explores the shipped controllers in the scopes of the reference algorithm: sizes and verdicts.

mod defects;
mod sizes;

use std::collections::BTreeSet;

use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::{Bounds, Exploration, explore, graph, symmetry_is_sound};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::{cause, lines};
use jobcheck_explorer::process::steps::ProcessStep;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::progress::progress;
use jobcheck_explorer::scopes::reference::{one_fault, recreation, rollouts, ttl};
use jobcheck_explorer::step::Step;

use self::sizes::{PROGRESS, SIZES};

/// The reductions that `jobcheck check` uses.
fn explored(scope: &Scope) -> Exploration {
    let symmetry = symmetry_is_sound(scope);
    explore(scope, &Bounds { partial_order: true, symmetry, ..Bounds::none(2) })
}

fn story(scope: &Scope, found: &Counterexample) -> String {
    lines(scope, &found.path).iter().map(|line| format!("{} {}\n", line.who, line.what)).collect()
}

/// All properties hold: every write is admitted, and the server refuses none. Some state satisfies the
/// premise of every property about controllers.
#[test]
fn the_shipped_controllers_satisfy_every_property_and_the_sizes_are_pinned() {
    let (mut sizes, mut reached) = (Vec::new(), vec![false; PROPERTIES.len()]);
    let scopes = [one_fault(), ttl(), recreation(), rollouts()].concat();
    for scope in scopes.into_iter().map(of_the_controller) {
        let it = explored(&scope);
        if let Some(found) = it.found() {
            panic!("{}: {}, {:?}:\n{}", scope.name, found.why, cause(&scope, found), story(&scope, found));
        }
        assert!(it.holds(), "{}: {:?}", scope.name, it.outcome);
        sizes.push((scope.name, it.states, it.depth));
        reached.iter_mut().zip(&it.reached).for_each(|(all, here)| *all |= here);
    }
    assert_eq!(sizes, SIZES);
    let concerned = PROPERTIES.iter().zip(reached).filter(|(property, _)| property.needs_processes);
    let empty: Vec<_> =
        concerned.filter(|(_, reached)| !reached).map(|(property, _)| property.name).collect();
    assert!(empty.is_empty(), "{empty:?}");
}

/// Every Job finishes, and its controller becomes idle.
#[test]
fn every_job_of_the_shipped_controllers_finishes() {
    let mut sizes = Vec::new();
    for scope in progress().into_iter().map(of_the_controller) {
        let it = explore(&scope, &Bounds::none(2));
        if let Some(found) = it.found() {
            panic!("{}: {}, {:?}:\n{}", scope.name, found.why, found.cycle_start, story(&scope, found));
        }
        assert!(it.holds(), "{}: {:?}", scope.name, it.outcome);
        sizes.push((scope.name, it.states, it.quiescent_states.unwrap()));
    }
    assert_eq!(sizes, PROGRESS);
}

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
