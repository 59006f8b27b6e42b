//! Each kind of step is possible in some scope. Without this, a kind could be missing unnoticed.

use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::{Bounds, explore};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use jobcheck_explorer::scopes::progress::progress;
use jobcheck_explorer::scopes::reference::{
    all_faults, one_fault, recreation, rollouts, safe_with_two_leaders, ttl,
};
use jobcheck_explorer::step::StepKind;

/// The number of states of each scope that are visited.
const STATES: usize = 2_000;

fn of_algorithms() -> Vec<Scope> {
    [one_fault(), ttl(), recreation(), rollouts(), progress(), all_faults(), safe_with_two_leaders()].concat()
}

fn never_taken(scopes: impl IntoIterator<Item = Scope>) -> Vec<&'static str> {
    let mut taken = [0; StepKind::ALL.len()];
    for scope in scopes {
        let partial_order = !scope.progress;
        let bounds = Bounds { max_states: Some(STATES), partial_order, ..Bounds::none(2) };
        let found = explore(&scope, &bounds);
        taken.iter_mut().zip(&found.steps).for_each(|(sum, one)| *sum += one.taken);
    }
    StepKind::outside_scripts().filter(|kind| taken[*kind as usize] == 0).map(StepKind::name).collect()
}

#[test]
fn the_algorithm_takes_every_kind_of_step() {
    assert_eq!(never_taken(of_algorithms()), [""; 0]);
}

#[test]
fn the_controllers_take_every_kind_of_step() {
    assert_eq!(never_taken(of_algorithms().into_iter().map(of_the_controller)), [""; 0]);
}

/// The kinds that only scopes of algorithms contain.
const OF_ALGORITHMS_ALONE: &[StepKind] = &[
    StepKind::SucceededPodFails,
    StepKind::UserRemovesTtl,
    StepKind::UserAddsJobFinalizer,
    StepKind::UserRemovesJobFinalizer,
    StepKind::OwnerDeleted,
    StepKind::NamespaceDeleted,
    StepKind::JobRecreated,
];

#[test]
fn the_specification_takes_every_kind_of_step_that_its_scopes_have() {
    let lacks = never_taken([scopes::all(), scopes::gates::gates()].concat());
    let of_algorithms = |kind: &StepKind| kind.needs_processes() || OF_ALGORITHMS_ALONE.contains(kind);
    let names = StepKind::outside_scripts().filter(of_algorithms).map(StepKind::name);
    assert_eq!(lacks, names.collect::<Vec<_>>());
}
