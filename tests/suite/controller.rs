//! Exploring the shipped controllers' decisions in the scopes of the reference algorithm: sizes and verdicts.

mod sizes;

use std::collections::BTreeSet;

use jobcheck_explore::of_the_controller;
use jobcheck_model::Req;
use jobcheck_model::algorithm::progress_scopes::progress;
use jobcheck_model::algorithm::scopes::{one_fault, recreation, rollouts, ttl};
use jobcheck_model::algorithm::steps::ProcessStep;
use jobcheck_model::check::{Bounds, Exploration, explore, graph, symmetry_is_sound};
use jobcheck_model::explore::found::Found;
use jobcheck_model::explore::story::{cause, tell};
use jobcheck_model::properties::PROPERTIES;
use jobcheck_model::scope::Scope;
use jobcheck_model::step::Step;

use self::sizes::{PROGRESS, SIZES};

/// Guards that hold a sync to the order of the built-in, which deletes pods first and writes the status then. The shipped
/// controllers write first (docs/differences.md): the interim condition, or a status that does not say `Suspended` yet,
/// is stored before the pods go. What the order is for is asked by properties, which are all on: no pod is created after a
/// decision or while the Job is suspended, no verdict is lost, and a Job ends with nothing active.
const ORDER: &[Req] = &[Req::TC07, Req::SX03, Req::SU01];

/// What is open: the scope, the requirement that a write breaks there, and the steps of the shortest way to it.
///
/// - The orphan path deletes a pod with its UID alone as precondition, and so one that was given up meanwhile.
/// - Without JobSuccessPolicy the interim condition has no reason, as in 1.36.
/// - Without announced ends (UG-07) active pods are recorded as failed before anybody has asked for their deletion.
const OPEN: &[(&str, Req, usize)] = &[
    ("stale-caches/relabelled-pod", Req::FT21, 17),
    ("rollout/success-policy", Req::TC02, 9),
    ("rollout/without-delay", Req::FT18, 7),
    ("rollout/delay-in-turns", Req::FT18, 8),
];

fn is_open(scope: &Scope) -> bool {
    OPEN.iter().any(|(name, ..)| *name == scope.name)
}

/// The scope with the shipped controllers, but for the guards on the order.
fn shipped(scope: Scope) -> Scope {
    Scope { without: ORDER.to_vec(), ..of_the_controller(scope) }
}

/// As `jobcheck check` explores.
fn explored(scope: &Scope) -> Exploration {
    let symmetry = symmetry_is_sound(scope);
    explore(scope, &Bounds { partial_order: true, symmetry, ..Bounds::none(2) })
}

fn story(scope: &Scope, found: &Found) -> String {
    tell(scope, &found.path).iter().map(|line| format!("{} {}\n", line.who, line.what)).collect()
}

/// No property is broken, no write is one that the specification does not admit, and without faults none is refused.
/// The premise of every property about controllers is reached, but for one.
#[test]
fn every_quick_scope_is_exhausted_with_the_shipped_controllers_at_its_pinned_size() {
    let (mut sizes, mut reached) = (Vec::new(), vec![false; PROPERTIES.len()]);
    let scopes = [one_fault(), ttl(), recreation(), rollouts()].concat();
    for scope in scopes.into_iter().filter(|scope| !is_open(scope)).map(shipped) {
        let it = explored(&scope);
        if let Some(found) = it.found() {
            panic!("{}: {}, {:?}:\n{}", scope.name, found.why, cause(&scope, found), story(&scope, found));
        }
        assert!(it.holds(), "{}: {:?}", scope.name, it.outcome);
        sizes.push((scope.name, it.states, it.depth));
        reached.iter_mut().zip(&it.reached).for_each(|(all, here)| *all |= here);
    }
    assert_eq!(sizes, SIZES);
    let concerned = PROPERTIES.iter().zip(reached).filter(|(property, _)| property.is_of_an_algorithm());
    let empty: Vec<_> =
        concerned.filter(|(_, reached)| !reached).map(|(property, _)| property.name).collect();
    // It is about the scopes without announced ends, which are open.
    assert_eq!(empty, ["without JobManagedBy and JobPodReplacementPolicy no end is announced"]);
}

/// The Job comes to its end, and the controller to rest, whatever happens.
#[test]
fn every_job_of_the_shipped_controllers_comes_to_its_end() {
    let mut sizes = Vec::new();
    for scope in progress().into_iter().map(shipped) {
        let it = explore(&scope, &Bounds::none(2));
        if let Some(found) = it.found() {
            panic!("{}: {}, {:?}:\n{}", scope.name, found.why, found.turn, story(&scope, found));
        }
        assert!(it.holds(), "{}: {:?}", scope.name, it.outcome);
        sizes.push((scope.name, it.states, it.rests.unwrap()));
    }
    assert_eq!(sizes, PROGRESS);
}

/// What is open is pinned, so that nothing else hides behind it: the first thing that is wrong in each of these scopes.
#[test]
fn what_is_open_is_the_first_that_is_found() {
    let scopes = [one_fault(), rollouts()].concat();
    let mut open = Vec::new();
    for scope in scopes.into_iter().filter(is_open).map(shipped) {
        let it = explored(&scope);
        let found = it.found().unwrap_or_else(|| panic!("{}: no longer open", scope.name));
        open.push((scope.name, cause(&scope, found).unwrap(), found.path.len()));
    }
    assert_eq!(open, OPEN);
}

/// Each guard on the order is broken by it somewhere; where none is, it need not be left out.
#[test]
fn guards_on_the_order_are_left_out_for_a_reason() {
    let scopes = one_fault();
    for (name, req) in [
        ("stale-caches/deadline", Req::TC07),
        ("stale-caches/success-policy", Req::SX03),
        ("stale-caches/suspend", Req::SU01),
    ] {
        let scope = scopes.iter().find(|scope| scope.name == name).unwrap();
        let scope = of_the_controller(scope.clone());
        let it = explored(&scope);
        assert_eq!(it.found().and_then(|found| cause(&scope, found)), Some(req), "{name}");
    }
}

/// Which pods are recorded first, where there is no room for all, a plan decides by UID: each order is explored.
#[test]
fn of_pods_that_a_plan_takes_by_uid_each_comes_first() {
    let full = one_fault().into_iter().find(|scope| scope.name == "stale-caches/full-lists").unwrap();
    let mut first = BTreeSet::new();
    graph(&shipped(full), &Bounds { partial_order: true, ..Bounds::none(1) }, &mut |_, _, step, _| {
        if let Step::Process(_, _, ProcessStep::Choose(uid)) = step {
            first.insert(*uid);
        }
    });
    assert!(first.len() > 1, "{first:?}");
}

/// The memory of plans and the order of UIDs are no part of what is found: with more threads, and without reductions, the
/// same holds.
#[test]
fn threads_and_reductions_change_no_verdict_of_the_shipped_controllers() {
    let names = ["stale-caches/backoff-limit", "stale-caches/full-lists", "crash/non-indexed"];
    for scope in one_fault().into_iter().filter(|scope| names.contains(&scope.name)).map(shipped) {
        let reduced = |threads| Bounds { partial_order: true, symmetry: true, ..Bounds::none(threads) };
        let (one, three) = (explore(&scope, &reduced(1)), explore(&scope, &reduced(3)));
        assert_eq!((one.states, one.depth, one.holds()), (three.states, three.depth, three.holds()));
        let all = explore(&scope, &Bounds::none(2));
        assert!(one.holds() && all.holds() && all.states > one.states, "{}", scope.name);
    }
}
