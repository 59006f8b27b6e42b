//! The effect of a script on a scope: it only removes steps of the environment.

use std::collections::{HashSet, VecDeque};

use jobcheck_explorer::check::{Bounds, explore};
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::process::steps::{ProcessStep, RequestOutcome};
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::script::{RequestHandling, What};
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use jobcheck_scenario::{TargetName, model};
use jobcheck_tests::library::library;

/// All states, by the simplest search: without compact states and without memory.
fn all_worlds(scope: &Scope) -> HashSet<World> {
    let first = initial(scope);
    let (mut known, mut open) = (HashSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(world) = open.pop_front() {
        for step in world.enabled(scope) {
            let next = world.apply(&step, scope);
            if known.insert(next.clone()) {
                open.push_back(next);
            }
        }
    }
    known
}

#[test]
fn a_search_with_reductions_visits_every_state_of_a_script() {
    for (_, scenario) in library(TargetName::Model) {
        let scope = model::scope(&scenario).unwrap();
        let found = explore(&scope, &Bounds { symmetry: true, partial_order: true, ..Bounds::none(2) });
        assert_eq!(found.states, all_worlds(&scope).len(), "{}", scenario.name);
    }
}

/// The scope without its script. Pods fail with the same exit codes.
fn unscripted(scope: &Scope) -> Scope {
    let codes = scope.exit_codes().to_vec();
    Scope { script: None, exit_codes: Box::leak(codes.into_boxed_slice()), ..scope.clone() }
}

/// The steps that only a scope with a script allows. A process may crash that has nothing to lose, and a pod
/// may terminate that has not started. Time may pass once no Job is left.
fn is_exempt(step: &Step, world: &World) -> bool {
    match step {
        Step::Proceed
        | Step::Process(_, _, ProcessStep::Crash)
        | Step::Ttl(_, TtlStep::Crash)
        | Step::Kubelet(_, _, KubeletStep::Succeed | KubeletStep::Fail(_)) => true,
        Step::Tick => world.job_states.iter().all(|it| it.job.is_none()),
        _ => false,
    }
}

fn is_of_a_controller(step: &Step) -> bool {
    match step {
        Step::Process(_, _, what) => matches!(
            what,
            ProcessStep::Sync(_)
                | ProcessStep::Choose(_)
                | ProcessStep::Call(_, RequestOutcome::Handled)
                | ProcessStep::Orphan(_, RequestOutcome::Handled)
        ),
        Step::Ttl(_, what) => {
            matches!(
                what,
                TtlStep::Sync
                    | TtlStep::Get(RequestOutcome::Handled)
                    | TtlStep::Delete(RequestOutcome::Handled)
            )
        }
        _ => false,
    }
}

/// Returns true if the script stops controllers in this state. They are paused, or a request of theirs must
/// fail.
fn interferes(scope: &Scope, world: &World) -> bool {
    let script = scope.script.as_ref().unwrap();
    let prevents = script.item(world).is_some_and(|item| match item.what {
        What::Request(_, handling) => handling != RequestHandling::Sent(RequestOutcome::Handled),
        _ => false,
    });
    let holds_requests =
        script.item(world).is_some_and(|item| !item.held.is_empty() || matches!(item.what, What::Held(_)));
    script.paused(world).controllers || prevents || holds_requests
}

#[test]
fn a_script_adds_no_steps_and_leaves_controllers_free() {
    let (mut compared, mut free) = (0, 0);
    for (_, scenario) in library(TargetName::Model) {
        let scope = model::scope(&scenario).unwrap();
        let without = unscripted(&scope);
        for world in all_worlds(&scope) {
            let (some, all) = (world.enabled(&scope), world.enabled(&without));
            let added: Vec<_> =
                some.iter().filter(|step| !is_exempt(step, &world) && !all.contains(step)).collect();
            assert!(added.is_empty(), "{}: {added:?}", scenario.name);
            compared += some.len();
            if !interferes(&scope, &world) {
                let missing = |step: &&Step| is_of_a_controller(step) && !some.contains(step);
                let missing: Vec<_> = all.iter().filter(missing).collect();
                assert!(missing.is_empty(), "{}: {missing:?}", scenario.name);
                free += 1;
            }
        }
    }
    assert!(compared > 3000 && free > 1000, "{compared}, {free}");
}
