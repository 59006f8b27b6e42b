//! The sum protocol holds, and each defect breaks its requirement.

use jobcheck_explorer::engine::Limits;
use jobcheck_managers::aggregate::defects::MUTANTS;
use jobcheck_managers::aggregate::{explore_aggregate, named};
use jobcheck_managers::any::AnyMutant;
use jobcheck_managers::check::Counterexample;

/// The other default scopes are explored by the tests of the command line.
#[test]
fn the_sum_protocol_holds_for_two_members() {
    let limits = Limits { max_states: Some(600_000), ..Limits::none(2) };
    let it = explore_aggregate(&named("aggregate/plain").unwrap(), &limits);
    assert!(it.holds(), "{} states, {:?}", it.states, it.found());
    assert!(it.settled > Some(0), "nothing is ever settled");
}

#[test]
fn each_defect_breaks_its_requirement() {
    let mut wrong = Vec::new();
    for mutant in MUTANTS {
        let it = AnyMutant::Aggregate(mutant).hunt();
        if it.found().map(|found| found.req) != Some(mutant.req) {
            wrong.push((mutant.id, it.found().map(Counterexample::lines)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
