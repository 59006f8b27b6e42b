//! What a native trace says of the process that wrote bounds what it may have decided, both ways: what its caches had
//! shown, and which feature gates it had.

use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_explorer::step::Step;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::Exit;
use jobcheck_scenario::render::native;
use jobcheck_traces::Input;
use serde_json::{Value, json};

use crate::rendered::{begins_with_the_job, walked};

fn lines(scope: &Scope, path: &[Step]) -> Vec<Value> {
    let text = String::from_utf8(native(scope, path, None).unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verdict(lines: &[Value]) -> Exit {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let input = Input::Bytes("trace".to_owned(), text.into_bytes());
    judge(&[vec![input]], &Judging::default(), &mut |_, _| {}).exit_code
}

/// The trace of a mutant's counterexample.
fn counterexample(id: &str) -> Vec<Value> {
    let mutant = MUTANTS.iter().find(|mutant| mutant.id == id).unwrap();
    lines(&mutant.scope(), &mutant.hunt().found().unwrap().path)
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

/// A lagging cache explains H3, B29 and B46: the lines say that it did not lag. A cache that is newer than the sync
/// explains H4: only lines that begin a sync exclude it; and a sync that began before the deadline explains B27b.
#[test]
fn what_was_read_excuses_nothing_that_another_view_would_excuse() {
    for (id, at_least) in [
        ("H3", Exit::Violates),
        ("H4", Exit::Conforms),
        ("B27b", Exit::Conforms),
        ("B29", Exit::Violates),
        ("B46", Exit::Violates),
    ] {
        let trace = counterexample(id);
        assert_eq!(verdict(&trace), Exit::Violates, "{id}");
        assert_eq!(verdict(&without_jobs(&trace)), at_least, "{id}, at least");
        assert_eq!(verdict(&without_lines(&trace)), Exit::Conforms, "{id}, unbounded");
    }
}

/// The resourceVersion of a line about pods.
fn of_pods(line: &Value) -> Option<u64> {
    let observed = &line["observed"];
    (observed["resource"] == "pods").then(|| observed["resourceVersion"].as_str().unwrap().parse().unwrap())
}

/// The last resourceVersion of a pod before a line, as far as answers show it.
fn latest(before: &[Value]) -> u64 {
    let pods = before.iter().map(|line| &line["request"]).filter(|request| request["resource"] == "pods");
    let versions = pods.filter_map(|request| request["response"]["metadata"]["resourceVersion"].as_str());
    versions.map(|version| version.parse().unwrap()).max().unwrap_or(0)
}

/// How many traces conform no more, and how many lines were edited, where each line that says something else about
/// pods says `told` instead.
fn edited(told: fn(&[Value]) -> u64) -> (usize, usize) {
    let (mut refused, mut edits) = (0, 0);
    for scope in
        reference::one_fault().into_iter().filter(|scope| begins_with_the_job(scope) && scope.lag > 1)
    {
        for seed in 0..3 {
            let trace = lines(&scope, &walked(&scope, seed));
            for number in 0..trace.len() {
                let (before, version) = (&trace[..number], of_pods(&trace[number]));
                if version.is_none_or(|version| version == told(before)) {
                    continue;
                }
                let mut trace = trace.clone();
                trace[number]["observed"]["resourceVersion"] = json!(told(before).to_string());
                edits += 1;
                refused += usize::from(verdict(&trace) == Exit::Violates);
            }
        }
    }
    (refused, edits)
}

#[test]
fn a_decision_from_a_cache_that_lagged_is_wrong_from_one_that_did_not() {
    let (refused, edits) = edited(latest);
    assert!(refused * 4 > edits && edits > 50, "{refused} of {edits}");
}

#[test]
fn a_decision_from_what_was_seen_is_wrong_from_a_cache_that_had_not_seen_it() {
    let (refused, edits) = edited(|_| 0);
    assert!(refused * 4 > edits && edits > 50, "{refused} of {edits}");
}

/// Without the gates that a trace assumes, what is right by them is wrong, and what is wrong by them is right.
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
    let mut refused = 0;
    for scope in reference::rollouts() {
        for seed in 0..6 {
            let trace = lines(&scope, &walked(&scope, seed));
            assert_eq!(verdict(&trace), Exit::Conforms, "{} seed {seed}", scope.name);
            refused += usize::from(verdict(&unassumed(&trace)) == Exit::Violates);
        }
    }
    assert!(refused > 10, "{refused}");
    for id in ["UG-05", "UG-09"] {
        let trace = counterexample(id);
        assert_eq!((verdict(&trace), verdict(&unassumed(&trace))), (Exit::Violates, Exit::Conforms), "{id}");
    }
}

/// The watch event of an accepted write, told when it was answered.
fn watched(line: &Value) -> Option<Value> {
    let request = &line["request"];
    let object = &request["response"];
    let kind = if request["verb"] == "create" { "ADDED" } else { "MODIFIED" };
    let stored = request["verb"] != "delete" && !object["metadata"]["resourceVersion"].is_null();
    stored.then(|| json!({"watched": {"at": request["done"], "type": kind, "object": object}}))
}

/// The request is what is judged, also where the watch was quicker than its answer.
#[test]
fn a_write_that_a_watch_shows_before_its_answer_is_judged_as_a_request() {
    let mut shown_first = 0;
    for scope in reference::one_fault().into_iter().filter(begins_with_the_job) {
        let trace = lines(&scope, &walked(&scope, 0));
        let mut shown = Vec::new();
        for line in &trace {
            shown.extend(watched(line));
            shown.push(line.clone());
        }
        shown_first += shown.len() - trace.len();
        assert_eq!(verdict(&shown), verdict(&trace), "{}", scope.name);
    }
    assert!(shown_first > 0);
}
