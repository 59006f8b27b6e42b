//! The sum protocol holds in every scope, and each defect breaks a requirement.

use std::collections::BTreeMap;

use jobcheck_explorer::engine::Limits;
use jobcheck_managers::aggregate::defects::Defect;
use jobcheck_managers::aggregate::world::Step;
use jobcheck_managers::aggregate::{explore_aggregate, named, scopes};
use jobcheck_spec::catalogue::Req;

/// For each defect, a scope that shows it, and the requirement that breaks there first.
const BROKEN: [(Defect, &str, Req); 11] = [
    (Defect::CountsTwice, "aggregate/deletion", Req::MR30),
    (Defect::Forgets, "aggregate/deletion", Req::MR09),
    (Defect::FailsAtOnce, "aggregate/plain", Req::MR31),
    (Defect::EndsBusy, "aggregate/plain", Req::MR31),
    (Defect::EndsWhenEmpty, "aggregate/deletion", Req::MR01),
    (Defect::OmitsInterim, "aggregate/older", Req::MR09),
    (Defect::ReleasesFirst, "aggregate/deletion", Req::MR09),
    (Defect::ForgetsCreations, "aggregate/plain", Req::MR31),
    (Defect::TrustsEmptyCaches, "aggregate/crash", Req::MR09),
    (Defect::ReplacesNothing, "aggregate/deletion", Req::MR21),
    (Defect::ReleasesNothing, "aggregate/crash", Req::MR25),
];

fn limits() -> Limits<'static> {
    Limits { max_states: Some(600_000), ..Limits::none(2) }
}

#[test]
fn the_sum_protocol_holds() {
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    for scope in scopes() {
        let it = explore_aggregate(&scope, &limits());
        assert!(it.holds(), "{}: {} states, {:?}", scope.name, it.states, it.found());
        assert!(it.settled > Some(0), "{}: nothing is ever settled", scope.name);
        let kinds = Step::KINDS.iter().zip(&it.steps);
        kinds.for_each(|(kind, steps)| *taken.entry(kind).or_default() += steps.taken);
    }
    assert!(taken.values().all(|count| *count > 0), "a kind of step was never possible: {taken:?}");
}

#[test]
fn each_defect_breaks_a_requirement() {
    assert_eq!(BROKEN.map(|(defect, ..)| defect), Defect::ALL);
    let mut wrong = Vec::new();
    for (defect, scope, req) in BROKEN {
        let it = explore_aggregate(&named(scope).unwrap().with(defect), &limits());
        let found = it.found().map(|found| found.req);
        if found != Some(req) {
            wrong.push((defect, found, it.found().map(|found| (found.why.clone(), found.path.clone()))));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// MR-30, MR-31 and MR-33 are each broken by a defect if nothing else is checked. An illegal sum of older members (MR-32) is
/// refused by the API server, which breaks MR-09.
#[test]
fn each_rule_about_sums_is_broken_by_a_defect() {
    for (defect, scope, req) in [
        (Defect::CountsTwice, "aggregate/deletion", Req::MR30),
        (Defect::FailsAtOnce, "aggregate/plain", Req::MR31),
        (Defect::EndsWhenEmpty, "aggregate/deletion", Req::MR33),
    ] {
        let scope = named(scope).unwrap().with(defect);
        let it = explore_aggregate(
            &jobcheck_managers::aggregate::Scope { asked: Some(vec![req]), ..scope },
            &limits(),
        );
        assert_eq!(it.found().map(|found| found.req), Some(req), "{defect:?}");
    }
}
