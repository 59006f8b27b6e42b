//! Rendered traces that show less: without one record, and as a watch stream. What conforms does so still, or it
//! cannot be told.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::{Assumption, Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::render::native;
use jobcheck_traces::Input;
use serde_json::{Value, json};

use crate::rendered::{begins_with_the_job, has_a_user_of_the_status, told, walked};

/// The scopes in which every process hears of what it wrote: only a whole native trace says of a write that its
/// sender does not.
fn heard() -> Vec<Scope> {
    let heard = |scope: &Scope| {
        let known = begins_with_the_job(scope) && !has_a_user_of_the_status(scope);
        scope.faults.losses == 0 && !scope.delayed_requests && known
    };
    reference::one_fault().into_iter().filter(heard).collect()
}

fn lines(scope: &Scope, seed: u64) -> Vec<Value> {
    let trace = native(scope, &walked(scope, seed), None).unwrap();
    let text = String::from_utf8(trace).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn judged(scope: &Scope, lines: &[Value]) -> ReplayReport {
    judged_with(scope.constants.pod_failure_backoff_ms, scope, lines)
}

/// Judged as if the controller had another delay.
fn judged_with(backoff_ms: i64, scope: &Scope, lines: &[Value]) -> ReplayReport {
    let assume = vec![
        Assumption::PodFailureBackoff(backoff_ms),
        Assumption::MaxUncountedPods(scope.constants.max_uncounted_pods),
    ];
    judged_assuming(assume, scope.name, lines)
}

/// Judged with constants that a watch does not tell.
pub fn judged_assuming(assume: Vec<Assumption>, name: &str, lines: &[Value]) -> ReplayReport {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let input = Input::Bytes(name.to_owned(), text.into_bytes());
    judge(&[vec![input]], &Judging { assume, ..Judging::default() }, &mut |_, _| {})
}

/// Whether this is the removal of a finalizer, after which most pods are never seen again: that it is missing
/// does not show, and then the pod was counted with its finalizer on.
fn releases(line: &Value) -> bool {
    let request = &line["request"];
    request["resource"] == "pods"
        && request["request"].to_string().contains("$deleteFromPrimitiveList/finalizers")
}

/// Whether what this says is said nowhere else: a refusal, a request that changes nothing, the last that is seen of a
/// pod, the status write that nothing follows, and the Job's end, which no later request shows.
fn is_said_once(whole: &[Value], number: usize) -> bool {
    let request = &whole[number]["request"];
    let version = &request["response"]["metadata"]["resourceVersion"];
    let again = |line: &Value| line["request"]["response"]["metadata"]["resourceVersion"] == *version;
    let of_same = |line: &Value| {
        (&line["request"]["resource"], &line["request"]["name"]) == (&request["resource"], &request["name"])
    };
    // What goes at once is shown by no answer.
    let shows = |line: &Value| of_same(line) && line["request"]["response"]["kind"] != "Status";
    let follows = whole[number + 1..].iter().any(shows);
    let deleted =
        request["verb"] == "delete" || request["response"]["metadata"]["deletionTimestamp"].is_string();
    let ends = request["resource"] == "jobs" && deleted;
    let refused = request["code"].as_u64().is_some_and(|code| code >= 400);
    refused || !follows || ends || (!version.is_null() && whole[..number].iter().any(again))
}

/// A success that the kubelet takes back: nothing shows that it was one.
fn takes_successes_back(scope: &Scope) -> bool {
    scope.flips
}

#[test]
fn a_missing_record_is_no_violation() {
    let (mut wrong, mut traces) = (String::new(), 0);
    for scope in heard().into_iter().filter(|scope| !takes_successes_back(scope)) {
        for seed in 0..8 {
            let whole = lines(&scope, seed);
            for (number, line) in whole.iter().enumerate() {
                if line["request"].is_null() || releases(line) || is_said_once(&whole, number) {
                    continue;
                }
                let rest = [&whole[..number], &whole[number + 1..]].concat();
                let report = judged(&scope, &rest);
                traces += 1;
                if report.exit_code == Exit::Violates {
                    writeln!(wrong, "{} seed {seed} line {number}: {:#?}", scope.name, told(&report))
                        .unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty() && traces > 1000, "of {traces}: {wrong}");
}

/// What a watch of the same objects shows.
pub fn watch(trace: &[Value]) -> Vec<Value> {
    let (mut shown, mut latest, mut events) = (BTreeMap::new(), 0, Vec::new());
    let mut jobs: BTreeMap<String, Value> = BTreeMap::new();
    for request in trace.iter().map(|line| &line["request"]) {
        let mut object = request["response"].clone();
        let name = request["name"].to_string();
        if object["kind"] == "Job" {
            jobs.insert(name.clone(), object.clone());
        }
        let at_once =
            request["resource"] == "jobs" && request["verb"] == "delete" && object["kind"] == "Status";
        if at_once
            && request["code"] == 200
            && let Some(mut last) = jobs.remove(&name)
        {
            // What goes at once is answered with a Status; the watch shows its last state.
            last["metadata"]["resourceVersion"] = json!((latest + 1).to_string());
            events.push(json!({ "type": "DELETED", "object": last }));
        }
        let meta = &object["metadata"];
        let Some(version) = meta["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok()) else {
            continue;
        };
        let uid = meta["uid"].to_string();
        let ends = meta["deletionGracePeriodSeconds"] == 0 && meta["finalizers"].is_null();
        let before = shown.insert(uid, version);
        latest = version.max(latest);
        let kind = match before {
            _ if ends => "DELETED",
            Some(known) if known == version => continue,
            Some(_) => "MODIFIED",
            None => "ADDED",
        };
        if ends && before == Some(version) {
            // A removal has a version of its own, which the answer to the last patch does not show.
            object["metadata"]["resourceVersion"] = json!((latest + 1).to_string());
        }
        events.push(json!({ "type": kind, "object": object }));
    }
    events
}

#[test]
fn a_watch_of_what_conforms_conforms() {
    let (mut wrong, mut traces) = (String::new(), 0);
    for scope in heard() {
        for seed in 0..20 {
            let report = judged(&scope, &watch(&lines(&scope, seed)));
            traces += 1;
            if report.exit_code != Exit::Conforms {
                let exit = report.exit_code;
                writeln!(wrong, "{} seed {seed}: {exit:?} {:#?}", scope.name, told(&report)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty() && traces > 500, "of {traces}: {wrong}");
}

/// BO-01, BO-09: a pod that failed at 23.6 s and is replaced at 24.6 s is one of 23 s that was replaced at 24 s.
#[test]
fn of_a_delay_the_part_of_a_second_is_not_seen() {
    let scope =
        reference::one_fault().into_iter().find(|scope| scope.constants.pod_failure_backoff_ms == 1000);
    let scope = scope.expect("a scope with a delay of a second");
    let mut early = 0;
    for seed in 0..40 {
        let trace = lines(&scope, seed);
        let exit = |backoff_ms| judged_with(backoff_ms, &scope, &trace).exit_code;
        assert_eq!(exit(1001), exit(1000), "seed {seed}");
        early += usize::from(exit(2000) == Exit::Violates);
    }
    assert!(early > 0);
}
