//! Rendered traces with less information: without one record, and as a watch stream. A conforming trace still conforms
//! or becomes inconclusive.

use std::fmt::Write as _;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::{Assumption, Judging};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_tests::scopes::{begins_with_the_job, has_a_user_of_the_status, walked};
use jobcheck_tests::traces::{described, rendered, replayed, watch_of};
use serde_json::Value;

/// The scopes in which every process gets all responses. Only a whole native trace shows a lost response.
fn without_lost_responses() -> Vec<Scope> {
    let is_meant = |scope: &Scope| {
        let known = begins_with_the_job(scope) && !has_a_user_of_the_status(scope);
        scope.faults.losses == 0 && !scope.delayed_requests && known
    };
    reference::one_fault().into_iter().filter(is_meant).collect()
}

fn walk(scope: &Scope, seed: u64) -> Vec<Value> {
    rendered(scope, &walked(scope, seed))
}

fn judged(scope: &Scope, lines: &[Value]) -> ReplayReport {
    judged_with(scope.constants.pod_failure_backoff_ms, scope, lines)
}

/// The report for a controller with another delay. A watch does not show the constants.
fn judged_with(backoff_ms: i64, scope: &Scope, lines: &[Value]) -> ReplayReport {
    let assume = vec![
        Assumption::PodFailureBackoff(backoff_ms),
        Assumption::MaxUncountedPods(scope.constants.max_uncounted_pods),
    ];
    replayed(lines, &Judging { assume, ..Judging::default() })
}

/// Returns `true` for a finalizer removal. Most pods do not occur again after it, so nothing shows that a removal is
/// missing. The pod then seems to be counted while it has the finalizer.
fn removes_a_finalizer(line: &Value) -> bool {
    let request = &line["request"];
    request["resource"] == "pods"
        && request["request"].to_string().contains("$deleteFromPrimitiveList/finalizers")
}

/// Returns `true` if no other line shows the effect of this one. The request is one of these:
///
/// - a refused request, or a request without effect
/// - the last request about its object
/// - a deletion of the Job, or a request about a Job that is being deleted
fn is_shown_once(whole: &[Value], number: usize) -> bool {
    let request = &whole[number]["request"];
    let version = &request["response"]["metadata"]["resourceVersion"];
    let again = |line: &Value| line["request"]["response"]["metadata"]["resourceVersion"] == *version;
    let of_same = |line: &Value| {
        (&line["request"]["resource"], &line["request"]["name"]) == (&request["resource"], &request["name"])
    };
    // A `Status` does not show the object.
    let shows = |line: &Value| of_same(line) && line["request"]["response"]["kind"] != "Status";
    let follows = whole[number + 1..].iter().any(shows);
    let deleted =
        request["verb"] == "delete" || request["response"]["metadata"]["deletionTimestamp"].is_string();
    let ends = request["resource"] == "jobs" && deleted;
    let refused = request["code"].as_u64().is_some_and(|code| code >= 400);
    refused || !follows || ends || (!version.is_null() && whole[..number].iter().any(again))
}

#[test]
fn a_missing_record_is_no_violation() {
    let (mut wrong, mut traces) = (String::new(), 0);
    // If a kubelet reverts a success, nothing shows that there was one.
    for scope in without_lost_responses().into_iter().filter(|scope| !scope.flips) {
        for seed in 0..8 {
            let whole = walk(&scope, seed);
            for (number, line) in whole.iter().enumerate() {
                if line["request"].is_null() || removes_a_finalizer(line) || is_shown_once(&whole, number) {
                    continue;
                }
                let rest = [&whole[..number], &whole[number + 1..]].concat();
                let report = judged(&scope, &rest);
                traces += 1;
                if report.exit_code == Exit::Violates {
                    writeln!(wrong, "{} seed {seed} line {number}: {:#?}", scope.name, described(&report))
                        .unwrap();
                }
            }
        }
    }
    assert_eq!((wrong, traces), (String::new(), 5098));
}

/// A watch shows no refusals, so that the end of a namespace may be all that explains a write (PC-12).
#[test]
fn the_watch_of_a_conforming_walk_conforms() {
    let (mut wrong, mut traces, mut open) = (String::new(), 0, 0);
    for scope in without_lost_responses() {
        for seed in 0..20 {
            let report = judged(&scope, &watch_of(&walk(&scope, seed)));
            traces += 1;
            let (exit, told) = (report.exit_code, described(&report));
            let ends = scope.name.contains("namespace") && told.iter().all(|it| it.contains("PC-12: "));
            match exit {
                Exit::Conforms => {}
                Exit::Inconclusive if ends => open += 1,
                _ => writeln!(wrong, "{} seed {seed}: {exit:?} {told:#?}", scope.name).unwrap(),
            }
        }
    }
    assert_eq!((wrong, traces), (String::new(), 1680));
    assert!((1..40).contains(&open), "{open}");
}

/// BO-01, BO-09: a failure at 23.6 s with a replacement at 24.6 s looks like one at 23 s with a replacement at 24 s.
#[test]
fn a_fraction_of_a_second_in_a_delay_is_not_visible() {
    let scope =
        reference::one_fault().into_iter().find(|scope| scope.constants.pod_failure_backoff_ms == 1000);
    let scope = scope.expect("a scope with a delay of a second");
    let mut early = 0;
    for seed in 0..40 {
        let trace = walk(&scope, seed);
        let exit = |backoff_ms| judged_with(backoff_ms, &scope, &trace).exit_code;
        assert_eq!(exit(1001), exit(1000), "seed {seed}");
        early += usize::from(exit(2000) == Exit::Violates);
    }
    assert_eq!(early, 8);
}
