//! The mirror protocol holds in every default scope, and each mutation breaks a requirement.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jobcheck_managers::any::AnyMutant;
use jobcheck_managers::check::{Exploration, explore_scope};
use jobcheck_managers::mutants::{MUTANTS, Setting};
use jobcheck_managers::scope::all;
use jobcheck_managers::step::Step;
use jobcheck_managers::subject::Subject;
use jobcheck_spec::catalogue::{CATALOGUE, Req};

/// Enough for every default scope.
const MOST: Option<usize> = Some(400_000);

/// Requirements that the default scopes do not reach.
const UNREACHED: [Req; 5] = [
    // The Jobs are NonIndexed.
    Req::MR02,
    // The manager writes only the status of the local Job.
    Req::MR15,
    // Aggregators.
    Req::MR31,
    Req::MR32,
    Req::MR33,
];

/// For each defect of Kueue, the number of steps in the table (`docs/reference/managers.md`, section 4), without those of
/// the manager.
const STEPS: [(&str, usize); 5] = [("K1", 6), ("K2", 6), ("K3", 8), ("K4", 6), ("K5", 6)];

fn describe(it: &Exploration) -> String {
    let found = it.found().map(|found| format!("{}: {:#?}", found.why, found.path));
    format!("{} states, {:?}, {found:?}", it.states, it.settled)
}

#[test]
fn the_mirror_protocol_holds() {
    let mut taken = vec![0; Step::KINDS.len()];
    let mut met = BTreeSet::new();
    for scope in all() {
        let it = explore_scope(&scope, 2, MOST);
        assert!(it.holds(), "{}: {}", scope.name, describe(&it));
        assert!(it.settled > Some(0), "{}: nothing is ever settled", scope.name);
        met.extend(it.premises);
        taken.iter_mut().zip(&it.steps).for_each(|(sum, it)| *sum += it.taken);
    }
    let never = Step::KINDS.iter().zip(&taken).find(|(_, taken)| **taken == 0);
    assert_eq!(never, None, "a kind of step was never possible");
    let of_the_contract = CATALOGUE.iter().map(|entry| entry.req).filter(|req| req.id().starts_with("MR-"));
    // A breach is the only premise of these.
    let is_met = |req: &Req| met.contains(req) || [Req::MR09, Req::MR10].contains(req);
    let unreached: Vec<Req> = of_the_contract.filter(|req| !is_met(req)).collect();
    assert_eq!(unreached, UNREACHED);
}

#[test]
fn each_defect_breaks_its_requirement_and_nothing_breaks_without_it() {
    let mut wrong = String::new();
    for mutant in MUTANTS {
        let it = mutant.hunt();
        let (found, id) = (it.found().map(|found| found.req), mutant.id);
        if found != Some(mutant.req) {
            writeln!(wrong, "{id}: expected {}, found {found:?}", mutant.req).unwrap();
        }
        if mutant.repaired == Subject::MIRROR && mutant.setting != Setting::Unvalidated {
            // The protocol holds in every default scope, with all requirements.
            continue;
        }
        let repaired = mutant.hunt_without();
        assert!(repaired.holds(), "{} without its defect: {}", mutant.id, describe(&repaired));
    }
    assert_eq!(wrong, "");
}

#[test]
fn every_requirement_of_the_contract_has_a_defect_that_breaks_it() {
    let of_the_contract = CATALOGUE.iter().map(|entry| entry.req).filter(|req| req.id().starts_with("MR-"));
    let unbroken: Vec<Req> =
        of_the_contract.filter(|req| AnyMutant::all().all(|it| it.req() != *req)).collect();
    // The API server refuses an illegal sum of older members (MR-32), which breaks MR-09.
    assert_eq!(unbroken, [Req::MR02, Req::MR15, Req::MR32]);
}

#[test]
fn the_defects_of_kueue_are_as_short_as_observed() {
    let kueue: Vec<&str> = MUTANTS.iter().filter(|it| it.is_of_kueue()).map(|it| it.id).collect();
    assert_eq!(kueue, STEPS.map(|(id, _)| id));
    for (mutant, (_, most)) in MUTANTS.iter().zip(STEPS) {
        let it = mutant.hunt();
        let outside =
            it.found().map(|it| it.path.iter().filter(|step| !matches!(step, Step::Request(..))).count());
        assert!(outside.is_some_and(|count| count <= most), "{}: {}", mutant.id, describe(&it));
    }
}
