//! The library of scenarios: each scenario is valid and holds on the model, and each of its expectations can fail.

use std::collections::BTreeSet;
use std::fs;

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::script::{Claim, Count, Script, What};
use jobcheck_scenario::{TargetName, export_defect, model, read, write};
use jobcheck_tests::corpus::root;
use jobcheck_tests::library::library;
use serde_json::Value;

#[test]
fn every_scenario_of_the_library_holds() {
    let library = library(TargetName::Model);
    assert!(library.len() >= 25, "{}", library.len());
    let mut wrong = Vec::new();
    for (file, scenario) in library {
        assert_eq!(file.file_stem().unwrap().to_str(), Some(&*scenario.name));
        assert!(!scenario.expect.is_empty(), "{}", scenario.name);
        let run = model::run(&scenario, None, &Bounds::none(1));
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        let it = &run.exploration;
        if !run.holds() || it.pods_bound_reached || it.quiescent_states == Some(0) {
            wrong.push((scenario.name, run.requirement, format!("{:?}", run.found().map(|it| &it.why))));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns a claim that contradicts this one.
fn negated(claim: &Claim) -> Claim {
    match claim {
        Claim::Number(number, Count::Exactly(count)) => Claim::Number(*number, Count::Exactly(count + 1)),
        Claim::Number(number, Count::AtLeast(0)) => Claim::Number(*number, Count::AtMost(0)),
        Claim::Number(number, Count::AtLeast(count)) => Claim::Number(*number, Count::AtMost(count - 1)),
        Claim::Number(number, Count::AtMost(count)) => Claim::Number(*number, Count::AtLeast(count + 1)),
        Claim::Flag(flag, so) => Claim::Flag(*flag, !so),
        Claim::Condition(kind, so) => Claim::Condition(kind.clone(), !so),
        Claim::Reason(kind, reason) => Claim::Reason(kind.clone(), format!("Not{reason}").into()),
        Claim::CompletedIndexes(_) => Claim::CompletedIndexes("77".into()),
        Claim::FailedIndexes(_) => Claim::FailedIndexes("77".into()),
    }
}

/// Returns a copy of the script for each claim that must hold, with this claim negated.
fn with_one_opposite(script: &Script) -> Vec<Script> {
    let mut all = Vec::new();
    for (number, expected) in script.expectations.iter().enumerate() {
        for (position, claim) in expected.claims.iter().enumerate() {
            let mut other = script.clone();
            other.expectations[number].claims[position] = negated(claim);
            all.push(other);
        }
    }
    let settled = script.items.iter().enumerate().filter(|(_, item)| item.what == What::Settle);
    for (number, item) in settled {
        for (position, claim) in item.when.iter().enumerate() {
            let mut other = script.clone();
            other.items[number].when[position] = negated(claim);
            all.push(other);
        }
    }
    all
}

#[test]
fn each_expectation_of_the_library_can_fail() {
    let mut count = 0;
    for (_, scenario) in library(TargetName::Model) {
        let scope = model::scope(&scenario).unwrap();
        for script in with_one_opposite(scope.script.as_ref().unwrap()) {
            let scope = Scope { script: Some(script), ..scope.clone() };
            let outcome = explore(&scope, &Bounds::none(1)).outcome;
            assert!(matches!(outcome, Outcome::Broken(_)), "{}: {:?}", scenario.name, scope.script);
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
}

/// Defects whose counterexamples cannot be written as scenarios, each with the message.
const NO_SCENARIO: &[(&str, &str)] = &[
    ("B23", "the format has no step for an API server of another version"),
    ("B16b", "the format has no step for requests that are always refused"),
    ("PC-13", "the format has no step for requests that are always refused"),
    ("TC-08", "the format has no step for requests that are always refused"),
];

#[test]
fn each_defect_is_a_scenario_that_breaks_with_it_and_holds_without() {
    let mut wrong = Vec::new();
    for mutant in MUTANTS {
        let hunt = mutant.hunt();
        let scenario = match export_defect(mutant, hunt.found().unwrap()) {
            Ok(scenario) => scenario,
            Err(error) => {
                if !NO_SCENARIO.contains(&(mutant.id, &*error.to_string())) {
                    wrong.push(format!("{}: {error}", mutant.id));
                }
                continue;
            }
        };
        let text = write(&scenario).unwrap();
        let again = read(&text).unwrap_or_else(|error| panic!("{}: {error} in\n{text}", mutant.id));
        let with = model::run(&again, Some(mutant), &Bounds::none(1)).unwrap();
        let without = model::run(&again, None, &Bounds::none(1)).unwrap();
        let file = root().join(format!("tests/scenarios/defects/{}.yaml", mutant.id.to_ascii_lowercase()));
        if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            wrong.push(format!(
                "{} differs from the output of `jobcheck mutants --scenario tests/scenarios/defects`",
                file.display()
            ));
        }
        if with.requirement != Some(mutant.requirement()) || !without.holds() {
            wrong.push(format!("{}: {:?}, {:?}", mutant.id, with.requirement, without.found()));
        }
    }
    let count = fs::read_dir(root().join("tests/scenarios/defects")).unwrap().count();
    assert_eq!(count, MUTANTS.len() - NO_SCENARIO.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Steps that no scenario of the library has, because no controller can hold with two leaders (SY-01).
const NOT_IN_THE_LIBRARY: &[&str] = &["resign", "secondLeader"];

#[test]
fn the_library_has_every_kind_of_step() {
    let steps = library(TargetName::Model).into_iter().flat_map(|(_, scenario)| scenario.steps);
    let told: BTreeSet<String> = steps.flat_map(|step| step.value.events()).collect();
    let missing: Vec<String> = known_steps().difference(&told).cloned().collect();
    assert_eq!(missing, NOT_IN_THE_LIBRARY);
}

/// Returns the events that a step may have, from the schema.
fn known_steps() -> BTreeSet<String> {
    let schema = fs::read_to_string(root().join("docs/reference/schemas/scenario.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let known = schema["$defs"]["step"]["properties"].as_object().unwrap().keys();
    known.filter(|name| !["job", "when", "until", "optional"].contains(&name.as_str())).cloned().collect()
}

#[test]
fn the_page_on_the_format_shows_every_kind_of_step() {
    let page = fs::read_to_string(root().join("docs/reference/scenario-format.md")).unwrap();
    let (_, rest) = page.split_once("```yaml steps\n").unwrap();
    let (steps, _) = rest.split_once("```").unwrap();
    let job = "jobs:\n- name: job\n  spec: {completions: 2, parallelism: 2}\n";
    let head =
        format!("apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\nunscheduled: true\n{job}");
    let scenario = read(&format!("{head}steps:\n{steps}")).unwrap_or_else(|error| panic!("{error}"));
    let shown: BTreeSet<String> = scenario.steps.iter().flat_map(|step| step.value.events()).collect();
    let known = known_steps();
    assert_eq!(shown, known);
}
