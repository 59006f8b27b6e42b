//! `jobcheck check` and `jobcheck mutants` for managers that write status alone: mirrors, aggregators, and the contract.

use serde_json::Value;

use crate::schema;
use crate::support::jobcheck;

#[test]
fn every_family_of_managers_is_listed() {
    let list = jobcheck(["check", "--list"]);
    assert_eq!(list.code, 0, "{list:?}");
    for scope in ["managers/lost-copy", "contract/suspend", "aggregate/older"] {
        assert!(list.out.contains(scope), "{scope} is missing in {}", list.out);
    }
    for (subject, scope) in [("contract", "contract/large-pods"), ("aggregate", "aggregate/large-crash")] {
        let large = jobcheck(["check", "--list", "--scope", "large", "--subject", subject]);
        assert!(large.out.contains(scope) && !large.out.contains("managers/"), "{large:?}");
    }
}

#[test]
fn mirrors_are_explored_between_two_clusters() {
    let mirror = jobcheck(["check", "managers/stranger"]);
    assert!(mirror.code == 0 && mirror.out.contains("gets there"), "{mirror:?}");
    let kueue = jobcheck(["check", "managers/lost-copy", "--subject", "kueue"]);
    assert!(kueue.code == 1 && kueue.out.contains("broken: MR-"), "{kueue:?}");
    let cut = jobcheck(["check", "managers/ttl", "--max-states", "1000", "-o", "json"]);
    assert_eq!(cut.code, 3, "{cut:?}");
    schema::check(&cut.json());
    assert_eq!(
        (&cut.json()["scopes"][0]["subject"], &cut.json()["scopes"][0]["limit"]),
        (&"mirror".into(), &"states".into())
    );
    let json = jobcheck(["check", "managers/recreation", "--subject", "kueue", "-o", "json"]);
    schema::check(&json.json());
}

/// The largest default scope of each is left to `model/managers/tests`.
#[test]
fn the_contract_and_the_sum_hold() {
    let scopes =
        ["contract/recreation", "contract/pods", "aggregate/crash", "aggregate/deletion", "aggregate/older"];
    let run = jobcheck([&["check", "-o", "json"], &scopes[..]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    schema::check(&report);
    let explored = report["scopes"].as_array().unwrap();
    assert_eq!(explored.iter().map(|it| it["scope"].as_str().unwrap()).collect::<Vec<_>>(), scopes);
    for it in explored {
        let is_sum = it["subject"] == "aggregate";
        assert_eq!(it["rests"].as_u64().is_some_and(|rests| rests > 0), is_sum, "{it:#}");
    }
    let kinds = |subject: &str| {
        let of_subject = explored.iter().filter(|it| it["subject"] == subject);
        let steps = of_subject.flat_map(|it| it["steps"].as_array().unwrap()).filter(|it| it["count"] != 0);
        steps.map(|it| it["kind"].to_string()).collect::<std::collections::BTreeSet<_>>().len()
    };
    // The Job of `contract/recreation` is not suspended.
    assert_eq!((kinds("contract"), kinds("aggregate")), (3, 7), "{report:#}");
}

#[test]
fn a_defect_of_an_aggregator_breaks_a_requirement() {
    let run = jobcheck(["check", "--mutant", "a07"]);
    assert_eq!(run.code, 1, "{run:?}");
    for part in
        ["aggregate/deletion (aggregate): MR-09", "   1. the manager creates member 0", "broken: MR-09: "]
    {
        assert!(run.out.contains(part), "{part:?} is missing in {}", run.out);
    }
    let stuck = jobcheck(["check", "aggregate/crash", "--mutant", "A11", "-o", "json"]);
    let found = &stuck.json()["scopes"][0]["counterexample"];
    schema::check(&stuck.json());
    assert_eq!((stuck.code, &found["requirement"]), (1, &Value::from("MR-25")), "{found:#}");
    assert!(found["turn"].is_u64(), "{found:#}");
    // The search stops at the first requirement that breaks.
    let other = jobcheck(["check", "--mutant", "A05"]);
    assert!(
        other.out.contains("broken: MR-01") && other.err.contains("A05 is known for breaking MR-33"),
        "{other:?}"
    );
    let of_a_mirror = jobcheck(["check", "--mutant", "K1"]);
    assert!(
        of_a_mirror.code == 1 && of_a_mirror.out.contains("managers/lost-copy (kueue)"),
        "{of_a_mirror:?}"
    );
}

#[test]
fn a_search_for_defects_of_aggregators_looks_for_their_requirement() {
    let run = jobcheck(["mutants", "A05", "A10", "-o", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    schema::check(&report);
    let broken: Vec<&Value> =
        report["mutants"].as_array().unwrap().iter().map(|it| &it["requirement"]).collect();
    assert_eq!((&report["subject"], broken), (&"aggregate".into(), vec![&"MR-33".into(), &"MR-21".into()]));
    let mixed = jobcheck(["mutants", "K1", "A05"]);
    assert!(mixed.code == 2 && mixed.err.contains("A05 is a defect of the subject aggregate"), "{mixed:?}");
}

/// Both the contract and the validation of the API server demand that a finished Job has no pods.
#[test]
fn the_contract_without_a_rule_breaks_a_headline_invariant() {
    let without = ["--without", "MR-11", "--without", "SS-12", "--without", "SS-18"];
    let run = jobcheck([&["check", "contract/suspend"], &without[..]].concat());
    assert!(run.code == 1 && run.out.contains("contract/suspend (contract): TC-04"), "{run:?}");
    assert!(run.out.contains("the manager writes the status: active 1"), "{}", run.out);
}

#[test]
fn wrong_usage_says_what_does_not_fit() {
    for (arguments, expected) in [
        (&["managers/none"][..], "there is no scope"),
        (&["aggregate/plian"], "similar: aggregate/plain"),
        (&["managers/ttl", "ttl"], "ttl is no scope of managers"),
        (&["managers/ttl", "--walks", "3"], "--walks is not for scopes of managers"),
        (&["aggregate", "--subject", "mirror"], "aggregate/plain is no scope of this --subject"),
        (&["aggregate", "--without", "MR-03"], "--without is not for aggregate/plain"),
        (&["--mutant", "A99"], "there is no defect \"A99\""),
        (&["aggregate", "--mutant", "B18"], "B18 is no defect of a manager"),
        (&["managers/ttl", "--mutant", "A01"], "A01 is for scopes of the family aggregate"),
        (&["contract", "--mutant", "A01"], "A01 is for scopes of the family aggregate"),
        (&["--mutant", "K1", "--subject", "kueue"], "has defects of its own"),
    ] {
        let run = jobcheck([&["check"], arguments].concat());
        assert!(run.code == 2 && run.err.contains(expected), "{expected:?}: {run:?}");
    }
}
