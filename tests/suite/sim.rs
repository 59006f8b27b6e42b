//! The library of scenarios on the target `sim`: the shipped controllers' decisions on the embedded API server.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::Exit;
use jobcheck_scenario::{Scenario, TargetName, read};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_tests::corpus::root;
use jobcheck_tests::library::library;
use jobcheck_traces::Input;
use serde_json::Value;

/// Every scenario holds and its trace conforms, with steps at quiescence (seed 0) and in random orders (other seeds).
#[test]
fn the_library_holds_with_every_seed() {
    let mut wrong = Vec::new();
    for (_, scenario) in library(TargetName::Sim) {
        for seed in 0..8 {
            let outcome = jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap();
            if outcome.exit() != Exit::Conforms {
                wrong.push(format!("{}: {:?}", scenario.name, outcome.finding()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The shipped controllers need no feature that only 1.36 has. The trace records the version by which it is judged.
#[test]
fn the_library_holds_on_the_api_server_of_1_35() {
    for (_, scenario) in library(TargetName::Sim) {
        for seed in 0..2 {
            let outcome =
                jobcheck_sim::run_on(RuleSet::V1_35, &scenario, seed, &Mutations::default()).unwrap();
            assert!(outcome.exit() == Exit::Conforms, "{}: {:?}", scenario.name, outcome.finding());
            assert_eq!(outcome.report.traces[0].kubernetes, "1.35");
        }
    }
}

/// Removals of finalizers fail until the last of several pods has succeeded.
#[test]
fn requests_fail_for_a_while_and_a_step_happens_to_many_pods() {
    let text = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                jobs: [{name: job, spec: {completions: 5, parallelism: 5}}]\n\
                steps:\n\
                - {pause: {}, when: {pods: {created: 5}}}\n\
                - request: {verb: patch, resource: pods, outcome: fails}\n  until: {pods: {succeeded: 5}}\n\
                - succeed: {count: 4}\n\
                - unpause: {}\n\
                - {succeed: {}, when: {uncounted: 4}}\n\
                expect: [{conditions: [Complete], succeeded: 5, pods: {tracked: 0}}]\n";
    let (scenario, mut failed) = (read(text).unwrap(), 0);
    for seed in 0..16 {
        let outcome = jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap();
        assert!(outcome.exit() == Exit::Conforms, "{:?}", outcome.finding());
        failed += String::from_utf8(outcome.trace).unwrap().matches("\"code\":500").count();
    }
    assert!(failed > 16, "{failed}");
}

/// The scenarios in `tests/suite/fuzzed` showed defects of the controllers or of the judge. `jobcheck fuzz` found them,
/// and each file has the name of its seed.
#[test]
fn scenarios_that_fuzzing_found_hold() {
    for entry in fs::read_dir(root().join("tests/suite/fuzzed")).unwrap() {
        let path = entry.unwrap().path();
        let seed: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let scenario = read(&fs::read_to_string(&path).unwrap()).unwrap();
        for seed in (0..50).chain([seed]) {
            let outcome = jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap();
            assert!(
                outcome.exit() == Exit::Conforms,
                "{}, seed {seed}: {:?}",
                scenario.name,
                outcome.finding()
            );
        }
    }
}

/// A run depends only on its scenario and its seed.
#[test]
fn a_seed_gives_the_same_trace_to_the_byte() {
    for (_, scenario) in library(TargetName::Sim).into_iter().take(12) {
        for seed in [0, 7] {
            let trace = || jobcheck_sim::run(&scenario, seed, &Mutations::default()).unwrap().trace;
            assert_eq!(trace(), trace(), "{} with seed {seed}", scenario.name);
        }
    }
}

/// The scheduler may get its response before the creator of the pod gets one. An audit log then has the binding before
/// the creation.
#[test]
fn a_binding_that_is_logged_before_the_creation_belongs_to_the_pod() {
    let file = fs::read_to_string(root().join("tests/scenarios/defects/h1.yaml")).unwrap();
    let outcome = jobcheck_sim::run(&read(&file).unwrap(), 0, &Mutations::default()).unwrap();
    let lines: Vec<Value> =
        outcome.trace.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).map(read_line).collect();
    let bindings: Vec<usize> =
        (0..lines.len()).filter(|it| lines[*it]["request"]["subresource"] == "binding").collect();
    assert_eq!(bindings.len(), 3);
    for at in bindings {
        let mut told = lines.clone();
        // Both requests overlap: the binding begins and ends while the creation is in flight.
        let (created, bound) = (told[at - 1]["request"].clone(), told[at]["request"].clone());
        assert_eq!((&created["verb"], &created["name"]), (&"create".into(), &bound["name"]));
        told[at - 1]["request"]["done"] = bound["done"].clone();
        told[at]["request"]["received"] = created["received"].clone();
        told[at]["request"]["done"] = created["done"].clone();
        told.swap(at - 1, at);
        let text: String = told.iter().map(|line| format!("{line}\n")).collect();
        let inputs = vec![Input::Bytes("trace".to_owned(), text.into_bytes())];
        let report = judge(&[inputs], &Judging::default(), &mut |_, _| {});
        let violations: Vec<_> = report.jobs.iter().flat_map(|job| &job.violations).collect();
        assert!(report.exit_code == Exit::Conforms, "binding {at}: {violations:#?}");
    }
}

fn read_line(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

fn many_jobs(count: usize) -> Scenario {
    let jobs: String = (0..count)
        .map(|it| format!("- {{name: j{it}, spec: {{completions: 1, parallelism: 1}}}}\n"))
        .collect();
    read(&format!("apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\njobs:\n{jobs}")).unwrap()
}

/// An event makes the Jobs sync that it concerns, and no others. The trace has the observations of each sync.
#[test]
fn the_work_is_linear_in_the_jobs() {
    let lines = |count| {
        let outcome = jobcheck_sim::run(&many_jobs(count), 0, &Mutations::default()).unwrap();
        assert_eq!(outcome.exit(), Exit::Conforms, "{:?}", outcome.finding());
        outcome.trace.iter().filter(|byte| **byte == b'\n').count()
    };
    let (small, large) = (lines(20), lines(80));
    assert!(large < small * 5, "20 Jobs: {small} lines, 80 Jobs: {large} lines");
}

#[test]
fn a_run_can_be_stopped() {
    let scenario = many_jobs(20);
    for most in [0, 1, 50] {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= most;
        let rules = RuleSet::default();
        let outcome = jobcheck_sim::run_until(rules, &scenario, 0, &Mutations::default(), &stop).unwrap();
        let asked = asked.into_inner();
        assert!(outcome.is_none() && asked == most + 1, "asked {asked} times");
    }
}
