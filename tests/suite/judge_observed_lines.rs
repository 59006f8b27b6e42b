//! Facts about a process in a native trace bound its decisions from both sides: the content of its caches (`observed`
//! lines), and its feature gates.

use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::report::Exit;
use jobcheck_tests::scopes::{begins_with_the_job, walked};
use jobcheck_tests::traces::{exit_of, rendered};
use serde_json::{Value, json};

fn walk(scope: &Scope, seed: u64) -> Vec<Value> {
    rendered(scope, &walked(scope, seed))
}

/// The trace of a mutant's counterexample.
fn counterexample(id: &str) -> Vec<Value> {
    let mutant = MUTANTS.iter().find(|mutant| mutant.id == id).unwrap();
    rendered(&mutant.scope(), &mutant.hunt().found().unwrap().path)
}

fn without_lines(trace: &[Value]) -> Vec<Value> {
    trace.iter().filter(|line| line["observed"].is_null()).cloned().collect()
}

fn without_jobs(trace: &[Value]) -> Vec<Value> {
    let mut trace = trace.to_vec();
    for line in trace.iter_mut().filter(|line| !line["observed"].is_null()) {
        line["observed"].as_object_mut().unwrap().remove("job");
    }
    trace
}

/// | mutants | explained by | excluded by |
/// | --- | --- | --- |
/// | H3, B29, B46 | a cache that lags | any `observed` line |
/// | H4 | a cache that is newer than the sync | a line that begins the sync |
/// | B27b | a sync that began before the deadline | a line that begins the sync |
#[test]
fn observed_lines_exclude_views_that_would_explain_a_defect() {
    for (id, at_least) in [
        ("H3", Exit::Violates),
        ("H4", Exit::Conforms),
        ("B27b", Exit::Conforms),
        ("B29", Exit::Violates),
        ("B46", Exit::Violates),
    ] {
        let trace = counterexample(id);
        assert_eq!(exit_of(&trace), Exit::Violates, "{id}");
        assert_eq!(exit_of(&without_jobs(&trace)), at_least, "{id}, at least");
        assert_eq!(exit_of(&without_lines(&trace)), Exit::Conforms, "{id}, unbounded");
    }
}

/// The resourceVersion of a line about pods.
fn of_pods(line: &Value) -> Option<u64> {
    let observed = &line["observed"];
    (observed["resource"] == "pods").then(|| observed["resourceVersion"].as_str().unwrap().parse().unwrap())
}

/// The last `resourceVersion` of a pod in the responses before a line.
fn latest(before: &[Value]) -> u64 {
    let pods = before.iter().map(|line| &line["request"]).filter(|request| request["resource"] == "pods");
    let versions = pods.filter_map(|request| request["response"]["metadata"]["resourceVersion"].as_str());
    versions.map(|version| version.parse().unwrap()).max().unwrap_or(0)
}

/// Sets each `observed` line about pods to `version`, one at a time. Returns the number of violations and of edits.
fn edited(version: fn(&[Value]) -> u64) -> (usize, usize) {
    let (mut violations, mut edits) = (0, 0);
    for scope in
        reference::one_fault().into_iter().filter(|scope| begins_with_the_job(scope) && scope.lag > 1)
    {
        for seed in 0..3 {
            let trace = walk(&scope, seed);
            for number in 0..trace.len() {
                let other = version(&trace[..number]);
                if of_pods(&trace[number]).is_none_or(|stated| stated == other) {
                    continue;
                }
                let mut trace = trace.clone();
                trace[number]["observed"]["resourceVersion"] = json!(other.to_string());
                edits += 1;
                violations += usize::from(exit_of(&trace) == Exit::Violates);
            }
        }
    }
    (violations, edits)
}

/// The other edits change a line that no decision depends on.
#[test]
fn a_decision_from_a_cache_that_lagged_is_wrong_from_one_that_did_not() {
    assert_eq!(edited(latest), (24, 83));
}

#[test]
fn a_decision_from_a_full_cache_is_wrong_from_an_empty_one() {
    assert_eq!(edited(|_| 0), (226, 435));
}

/// Without the gates that a trace assumes, a conforming trace violates, and a violating one conforms.
#[test]
fn a_write_is_judged_by_the_gates_of_its_process() {
    let unassumed = |trace: &[Value]| {
        let mut trace = trace.to_vec();
        for line in &mut trace {
            let object = line.as_object_mut().unwrap();
            object.remove("assume");
            if let Some(mark) = object.get_mut("mark").and_then(Value::as_object_mut) {
                mark.remove("assume");
            }
        }
        trace
    };
    let (mut violations, mut walks) = (0, 0);
    for scope in reference::rollouts() {
        for seed in 0..6 {
            let trace = walk(&scope, seed);
            assert_eq!(exit_of(&trace), Exit::Conforms, "{} seed {seed}", scope.name);
            violations += usize::from(exit_of(&unassumed(&trace)) == Exit::Violates);
            walks += 1;
        }
    }
    assert_eq!((violations, walks), (22, 48));
    for id in ["UG-05", "UG-09"] {
        let trace = counterexample(id);
        assert_eq!((exit_of(&trace), exit_of(&unassumed(&trace))), (Exit::Violates, Exit::Conforms), "{id}");
    }
}

/// The watch event of an accepted write, at the time of the response.
fn watched(line: &Value) -> Option<Value> {
    let request = &line["request"];
    let object = &request["response"];
    let kind = if request["verb"] == "create" { "ADDED" } else { "MODIFIED" };
    let stored = request["verb"] != "delete" && !object["metadata"]["resourceVersion"].is_null();
    stored.then(|| json!({"watched": {"at": request["done"], "type": kind, "object": object}}))
}

/// The request is judged, even if the watch was faster than the response.
#[test]
fn a_write_that_a_watch_shows_before_its_response_is_judged_as_a_request() {
    let mut shown_first = 0;
    for scope in reference::one_fault().into_iter().filter(begins_with_the_job) {
        let trace = walk(&scope, 0);
        let mut shown = Vec::new();
        for line in &trace {
            shown.extend(watched(line));
            shown.push(line.clone());
        }
        shown_first += shown.len() - trace.len();
        assert_eq!(exit_of(&shown), exit_of(&trace), "{}", scope.name);
    }
    assert_eq!(shown_first, 1053);
}
