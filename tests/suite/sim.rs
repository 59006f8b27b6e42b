//! The library of scenarios with the shipped controllers' decisions on the embedded API server.

use std::fs;

use jobcheck_harness::scenario::{Scenario, read};
use jobcheck_model::Req;
use jobcheck_tests::corpus::root;

/// What is open, and why: scenario, and the requirement that its trace breaks first; none where a step of it never
/// becomes possible.
///
/// - The shipped controllers write a decision down before they delete pods for it (docs/differences.md), which the guards
///   TC-07, SX-03 and SU-01 do not admit.
/// - Without JobManagedBy and JobPodReplacementPolicy active pods are recorded as failed before they are deleted (FT-18).
/// - After a rollout a pod has no failure count where the guard asks for one (BI-02).
/// - The runner does not yet create a Job again while pods of the former one are there, nor let a TTL run out twice.
const OPEN: &[(&str, Option<Req>)] = &[
    ("backoff-limit", Some(Req::TC07)),
    ("deadline", Some(Req::TC07)),
    ("fail-job", Some(Req::TC07)),
    ("late-creation", Some(Req::TC07)),
    ("local-restarts", Some(Req::TC07)),
    ("max-failed-indexes", Some(Req::TC07)),
    ("other-server", Some(Req::FT18)),
    ("recreated", None),
    ("rollout", Some(Req::BI02)),
    ("success-policy", Some(Req::SX03)),
    ("suspend-resume", Some(Req::SU01)),
    ("ttl-raised", None),
];

fn library() -> Vec<Scenario> {
    let entries = fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    files.iter().map(|file| read(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// Step by step every scenario goes as it says, and its trace conforms, but for what is open.
#[test]
fn the_library_holds_step_by_step() {
    let (mut open, mut wrong) = (Vec::new(), Vec::new());
    for scenario in library() {
        let outcome = jobcheck_sim::run(&scenario, 0).unwrap();
        let (requirement, why) = outcome.told();
        let holds = outcome.exit() == jobcheck_harness::report::Exit::Conforms;
        match OPEN.iter().find(|(name, _)| *name == scenario.name) {
            Some(known) if !holds && known.1 == requirement => open.push(*known),
            Some(_) => wrong.push(format!("{}: no longer open as told: {why}", scenario.name)),
            None if holds => {}
            None => wrong.push(format!("{}: {requirement:?}: {why}", scenario.name)),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(open, OPEN);
}

/// A seed decides everything.
#[test]
fn a_seed_gives_the_same_trace_to_the_byte() {
    for scenario in library().into_iter().take(12) {
        for seed in [0, 7] {
            let trace = || jobcheck_sim::run(&scenario, seed).unwrap().trace;
            assert_eq!(trace(), trace(), "{} with seed {seed}", scenario.name);
        }
    }
}
