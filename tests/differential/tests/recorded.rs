//! The decisions of the embedded API server against recorded decisions of Kubernetes.
//!
//! `verdicts-1.36.txt` is from Kubernetes 1.36.3, `verdicts-1.35.txt` from 1.35.4, and `verdicts-1.37.txt` from 1.37.2. The verdicts of
//! 1.38.0-beta.0 are those of 1.37.2, line by line. Each line is for one request:
//! `refused`, or a digest of the stored object. `against_oracle MINOR ORACLE 1000 1 verdicts-1.MINOR.txt` writes these
//! files. They change only with the generator or the version.

use jobcheck_differential::compare::{Kind, Server};
use jobcheck_differential::random::Random;
use jobcheck_spec::apiserver::RuleSet;

/// The rules of each version, and its recorded verdicts.
const VERDICTS: [(RuleSet, &str); 4] = [
    (RuleSet::V1_36, include_str!("verdicts-1.36.txt")),
    (RuleSet::V1_35, include_str!("verdicts-1.35.txt")),
    (RuleSet::V1_37, SINCE_1_37),
    (RuleSet::V1_38, SINCE_1_37),
];
const SINCE_1_37: &str = include_str!("verdicts-1.37.txt");
const COUNT: usize = 1_000;
const SEED: u64 = 1;

/// Returns the recorded verdicts about the requests of this kind.
fn verdicts(all: &'static str, kind: Kind) -> Vec<&'static str> {
    let place = Kind::ALL.iter().position(|it| *it == kind).expect("all kinds are there");
    let verdicts: Vec<&str> = all.lines().skip(place * COUNT).take(COUNT).collect();
    assert_eq!(verdicts.len(), COUNT);
    verdicts
}

/// Returns the requests that a server with these rules decides differently, with both verdicts.
fn differing(rules: RuleSet, kind: Kind, verdicts: &[&str]) -> Vec<String> {
    let (mut random, mut server) = (Random::seeded(SEED), Server::new(rules));
    let asked = verdicts.iter().map(|theirs| (server.ask(kind, &mut random), theirs));
    let others = asked.filter(|(ours, theirs)| ours.verdict() != **theirs);
    others.map(|(ours, theirs)| format!("{theirs} is {}: {}", ours.verdict(), ours.question)).collect()
}

fn holds(kind: Kind) {
    for (rules, all) in VERDICTS {
        let verdicts = verdicts(all, kind);
        let accepted = verdicts.iter().filter(|verdict| **verdict != "refused").count();
        assert!(
            (COUNT / 20..COUNT).contains(&accepted),
            "too few or too many requests are accepted: {accepted}"
        );
        assert_eq!(differing(rules, kind, &verdicts), [""; 0], "{kind:?} of 1.{}", rules.minor);
    }
}

#[test]
fn status_writes_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Status);
}

#[test]
fn writes_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Spec);
}

#[test]
fn creations_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Create);
}

#[test]
fn writes_of_what_the_server_generates_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Generated);
}

#[test]
fn the_rules_of_another_version_or_without_a_gate_decide_some_requests_differently() {
    let [usual, before, ..] = VERDICTS.map(|(_, all)| verdicts(all, Kind::Spec));
    assert!(!differing(RuleSet::V1_36, Kind::Spec, &before).is_empty());
    assert!(!differing(RuleSet::V1_35, Kind::Spec, &usual).is_empty());
    // The gate for resources is not tried alone on 1.35, because it decides only about one in 3,000 requests
    // differently. The tests in model/spec/src/apiserver/update/tests.rs cover it.
    let directives = RuleSet { mutable_scheduling_directives: true, ..RuleSet::V1_35 };
    assert!(!differing(directives, Kind::Spec, &before).is_empty());
    for wrong in [
        RuleSet { mutable_scheduling_directives: false, ..RuleSet::V1_36 },
        RuleSet { mutable_pod_resources: false, ..RuleSet::V1_36 },
        RuleSet { mutable_before_suspended_condition: false, ..RuleSet::V1_36 },
    ] {
        assert!(!differing(wrong, Kind::Spec, &usual).is_empty(), "{wrong:?}");
    }
    let [until_1_36, _, since_1_37, _] = VERDICTS.map(|(_, all)| verdicts(all, Kind::Generated));
    assert!(!differing(RuleSet::V1_37, Kind::Generated, &until_1_36).is_empty());
    assert!(!differing(RuleSet::V1_36, Kind::Generated, &since_1_37).is_empty());
}
