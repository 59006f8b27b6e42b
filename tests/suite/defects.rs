//! The pages about known defects and about the KEPs' invariants are complete, and the tests that they name exist. Known
//! anomalies occur in the model, and no requirement forbids them.

use std::collections::BTreeSet;
use std::fs;

use jobcheck_explorer::check::{Bounds, Outcome, graph};
use jobcheck_explorer::ghost::End;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::process::io::CallName;
use jobcheck_explorer::process::steps::{Faults, ProcessStep, RequestOutcome};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::named;
use jobcheck_explorer::scopes::reference::run_by_the_algorithm;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;
use jobcheck_spec::pod::Phase;
use jobcheck_tests::corpus::root;

/// Returns the rows of a page's tables that begin with an id: the id, and the other cells.
fn rows(page: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows = rows.filter(|(id, _)| id.chars().any(|c| c.is_ascii_digit()));
    rows.map(|(id, rest)| (id.to_owned(), rest.to_owned())).collect()
}

/// Returns the test functions that a row names.
fn tests_of(row: &str) -> Vec<&str> {
    row.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 3).collect()
}

fn sources() -> String {
    let folders = [
        "tests/suite",
        "cli/tests/cli",
        "model/spec/src/apiserver/spec",
        "model/spec/src/apiserver/status",
        "model/spec/src/apiserver/update",
    ];
    let files = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let paths = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

#[test]
fn every_known_defect_is_a_mutant_or_has_a_reason_why_not() {
    let is_of = |id: &str, number: &str| {
        let rest = id.strip_prefix(number);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_lowercase()))
    };
    let rows = rows("reference/defects.md");
    for number in (1..=50).map(|number| format!("B{number:02}")) {
        let mutants = MUTANTS.iter().filter(|mutant| is_of(mutant.id, &number)).count();
        let told = rows.iter().filter(|(id, _)| *id == number).count();
        assert_eq!((mutants > 0, told), (told == 0, usize::from(mutants == 0)), "{number}");
    }
    let sources = sources();
    for (id, row) in rows.iter().filter(|(id, _)| !is_of_third_parties(id)) {
        let tests = tests_of(row);
        assert!(!tests.is_empty(), "{id}: the row names no test");
        assert!(tests.iter().all(|test| sources.contains(&format!("fn {test}()"))), "{id}: {tests:?}");
    }
}

/// U1 to U3, and B51 to B62.
fn is_of_third_parties(id: &str) -> bool {
    id.starts_with('U') || id.strip_prefix('B').is_some_and(|number| number.parse::<u32>().unwrap() > 50)
}

/// `jobcheck conform` is tried on an example with the defect, and expects the requirement.
#[test]
fn every_defect_of_third_parties_is_tried_or_has_a_reason_why_not() {
    let page = fs::read_to_string(root().join("docs/reference/defects.md")).unwrap();
    for id in (51..=62).map(|number| format!("B{number}")).chain(["U1", "U2", "U3"].map(str::to_owned)) {
        assert!(page.contains(&id), "{id} is not on the page");
    }
    let folder = root().join("cli/tests/cli/conform");
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let tests: String = files.collect();
    let rows = rows("reference/defects.md");
    let of_third_parties: Vec<_> = rows.iter().filter(|(id, _)| is_of_third_parties(id)).collect();
    assert_eq!(of_third_parties.len(), 12);
    for (id, row) in of_third_parties {
        let cells: Vec<&str> = row.trim_end_matches([' ', '|']).split(" | ").collect();
        let [_, example, broken] = cells[..] else { panic!("{id}: {cells:?}") };
        let defects = example.split('`').skip(1).step_by(2).filter(|name| name.contains('-'));
        for name in defects.chain(broken.split(", ")) {
            assert!(tests.contains(&format!("\"{name}\"")), "{id}: no test has {name}");
        }
    }
}

/// Each invariant that the issue about the model lists has a row.
#[test]
fn every_invariant_of_the_keps_is_a_property_or_a_test() {
    let mut named: BTreeSet<String> = (1..=15).map(|number| format!("UG-{number:02}")).collect();
    let others =
        ["FT-31", "FT-32", "RP-11", "RP-12", "TC-14", "BI-15", "BI-16", "BI-17", "SS-37", "MB-14", "TT-16"];
    named.extend(others.map(str::to_owned));
    let rows = rows("reference/invariants.md");
    assert_eq!(rows.iter().map(|(id, _)| id.clone()).collect::<BTreeSet<_>>(), named);
    let sources = sources();
    for (id, row) in &rows {
        let req = Req::parse(id).unwrap();
        let is_property = PROPERTIES.iter().any(|property| property.req == req);
        assert_eq!(row.starts_with("property"), is_property, "{id}");
        let tests = tests_of(row);
        let retired = row.starts_with("nothing: retired");
        assert!(
            is_property || retired || !tests.is_empty(),
            "{id}: the row names neither a property nor a test"
        );
        assert!(tests.iter().all(|test| sources.contains(&format!("fn {test}()"))), "{id}: {tests:?}");
    }
}

/// B17, UG-01: a Job needs two successes, and one pod succeeded before the upgrade without the finalizer. This success
/// is not counted, so two more pods succeed.
#[test]
fn what_ended_before_the_upgrade_runs_again_and_nobody_is_blamed() {
    let scope = run_by_the_algorithm(named("legacy-pods").unwrap(), 0);
    let mut again = 0;
    let found = graph(&scope, &Bounds::none(1), &mut |_, world, _, _| {
        let ghost = &world.job_states[0].ghost;
        let ended_well = ghost.pods.iter().filter(|pod| pod.end == Some(End::Success));
        let counted: u8 = ghost.pods.iter().map(|pod| pod.counted_succeeded).sum();
        again += usize::from(counted == 2 && ended_well.count() > 2);
    });
    assert!(matches!(found.outcome, Outcome::Holds), "{:?}", found.outcome);
    assert!(again > 0);
}

/// Returns the number of creations less than one second after a failure, although the backoff delay is one second.
fn hasty_creations(crashes: u8) -> usize {
    let base = run_by_the_algorithm(named("crash-backoff").unwrap(), 1);
    let scope = Scope { faults: Faults { crashes, ..Faults::default() }, ..base };
    let mut hasty = 0;
    let found = graph(&scope, &Bounds::none(1), &mut |_, world, step, _| {
        let creates = |name: &CallName| matches!(name, CallName::CreatePod(_));
        let Step::Process(_, _, ProcessStep::Call(name, RequestOutcome::Handled)) = step else { return };
        let failed = world.job_states[0].pods.iter().filter(|pod| pod.phase == Phase::Failed);
        let fresh = |end: jobcheck_spec::Time| world.now.since(end) < 1;
        hasty += usize::from(creates(name) && failed.filter_map(|pod| pod.finished).any(fresh));
    });
    assert!(matches!(found.outcome, Outcome::Holds), "{:?}", found.outcome);
    hasty
}

/// B44, BO-05.
#[test]
fn a_restart_forgets_the_delay_and_nobody_is_blamed() {
    assert!(hasty_creations(1) > hasty_creations(0), "{} {}", hasty_creations(1), hasty_creations(0));
}
