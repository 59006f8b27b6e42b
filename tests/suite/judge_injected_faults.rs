//! Refusals by an injected fault: they are not held against the API server, and excuse nothing else.

use std::fs;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::read;
use jobcheck_tests::corpus::{folder, root};
use jobcheck_tests::traces::{parsed, replayed};
use jobcheck_traces::Input;
use serde_json::{Value, json};

fn report(files: Vec<String>) -> ReplayReport {
    let inputs = files.into_iter().enumerate();
    let inputs = inputs.map(|(number, text)| Input::Bytes(number.to_string(), text.into_bytes()));
    judge(&[inputs.collect()], &Judging::default(), &mut |_, _| {})
}

/// The broken requirements.
fn broken(report: &ReplayReport) -> Vec<String> {
    let violations = report.jobs.iter().flat_map(|job| &job.violations);
    violations.filter_map(|it| it.requirement).map(|id| id.0.to_string()).collect()
}

fn invalid(trace: &str) -> String {
    fs::read_to_string(folder().join(format!("invalid/{trace}.audit.jsonl"))).unwrap()
}

/// The broken requirements of an audit log, beside a native trace with this fault right before the first refusal.
fn with_fault(log: &str, kind: &str, actor: &str) -> Vec<String> {
    let is_refused = |event: &Value| event["responseStatus"]["code"].as_u64().is_some_and(|code| code >= 400);
    let at = parsed(log).into_iter().find(is_refused).unwrap()["requestReceivedTimestamp"].clone();
    let header = json!({"format": "jobcheck.dev/trace", "version": "1.1"});
    let fault = json!({"fault": {"at": at, "kind": kind, "actor": actor}});
    broken(&report(vec![log.to_owned(), format!("{header}\n{fault}\n")]))
}

#[test]
fn a_conflict_without_another_write_conforms_only_as_a_fault_of_its_sender() {
    let log = invalid("SS-32--conflict-with-nobody");
    assert_eq!(with_fault(&log, "conflict", "job-controller"), [""; 0]);
    for (kind, actor) in [
        ("conflict", "ttl-after-finished-controller"),
        ("rejected", "job-controller"),
        ("delay", "job-controller"),
    ] {
        assert_eq!(with_fault(&log, kind, actor), ["SS-32"], "{kind} {actor}");
    }
}

#[test]
fn a_forbidden_creation_of_an_executor_conforms_only_as_a_fault_of_its_sender() {
    let log = invalid("MB-10--creation-forbidden");
    assert_eq!(with_fault(&log, "rejected", "runner"), [""; 0]);
    assert_eq!(with_fault(&log, "rejected", "job-controller"), ["MB-10"]);
    assert_eq!(with_fault(&log, "conflict", "runner"), ["MB-10"]);
}

/// The API server's validation accepts the status, so the refusal must come from elsewhere.
#[test]
fn a_refusal_of_a_valid_status_conforms_only_as_a_fault_of_its_sender() {
    let log = invalid("SS-32--conflict-with-nobody");
    let log = log
        .replace("\"code\":409", "\"code\":422")
        .replace("the object has been modified;", "it is invalid: ready");
    assert_eq!(with_fault(&log, "rejected", "job-controller"), [""; 0]);
    assert_eq!(with_fault(&log, "rejected", "another-controller"), ["SS-37"]);
}

/// The request is the controller's own, whatever refused it.
#[test]
fn a_status_that_no_api_server_accepts_is_a_violation_even_if_a_fault_refuses_it() {
    for trace in ["listed-in-both-lists-without-a-flip", "status-write-without-start-refused"] {
        let log = invalid(&format!("SS-37--{trace}"));
        for kind in ["rejected", "conflict"] {
            assert_eq!(with_fault(&log, kind, "job-controller"), ["SS-37"], "{trace} {kind}");
        }
    }
}

/// The lines of a run on the embedded API server.
fn run(scenario: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join(format!("tests/scenarios/{scenario}.yaml"))).unwrap();
    let outcome = jobcheck_sim::run(&read(&text).unwrap(), 0, &Mutations::default()).unwrap();
    assert!(outcome.exit() == Exit::Conforms, "{:?}", outcome.finding());
    parsed(&String::from_utf8(outcome.trace).unwrap())
}

fn judged(lines: &[Value]) -> Vec<String> {
    broken(&replayed(lines, &Judging::default()))
}

fn is_status_of_409(line: &Value) -> bool {
    line["request"]["code"] == 409 && line["request"]["subresource"] == "status"
}

#[test]
fn a_run_with_an_injected_409_conforms_only_with_its_fault_line() {
    let lines = run("conflicts");
    assert_eq!(judged(&lines), [""; 0]);
    let refused = lines.iter().position(is_status_of_409).unwrap();
    let fault = refused - 1;
    assert_eq!(lines[fault]["fault"]["kind"], "conflict");
    let edited = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut lines = lines.clone();
        edit(&mut lines);
        judged(&lines)
    };
    assert_eq!(edited(&|lines| drop(lines.remove(fault))), ["SS-32"]);
    assert_eq!(edited(&|lines| lines[fault]["fault"]["actor"] = json!("another-controller")), ["SS-32"]);
    assert_eq!(edited(&|lines| lines[fault]["fault"]["kind"] = json!("rejected")), ["SS-32"]);
    // The fault concerns the next request of its actor only.
    let before = lines[..fault]
        .iter()
        .rposition(|line| line["request"]["agent"] == lines[refused]["request"]["agent"]);
    assert_eq!(edited(&|lines| lines[before.unwrap()..=fault].rotate_right(1)), ["SS-32"]);
    // It does not concern a later request that the API server itself refuses.
    let again = |lines: &mut Vec<Value>| lines.insert(refused + 1, lines[refused].clone());
    assert_eq!(edited(&again), ["SS-32"]);
}

#[test]
fn each_injected_refusal_of_the_library_follows_its_fault_line() {
    for (scenario, code, kind, count) in [
        ("conflicts", 409, "conflict", 4),
        ("denied-writes", 422, "rejected", 4),
        ("unknown-namespace", 404, "rejected", 2),
    ] {
        let lines = run(scenario);
        let refused: Vec<usize> =
            (0..lines.len()).filter(|number| lines[*number]["request"]["code"] == code).collect();
        assert_eq!(refused.len(), count, "{scenario}");
        assert!(refused.iter().all(|number| lines[number - 1]["fault"]["kind"] == kind), "{scenario}");
    }
}

/// This is checked when a scenario is read, for every target.
#[test]
fn a_scenario_with_an_untrue_response_is_rejected() {
    let read = |request: &str| {
        read(&format!(
            "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
             jobs: [{{name: job, spec: {{completions: 1}}}}]\nsteps:\n- request: {{{request}, outcome: fails}}\n"
        ))
    };
    for (verb, resource) in [
        ("patch", "pods"),
        ("delete", "pods"),
        ("update", "jobs/status"),
        ("get", "jobs"),
        ("delete", "jobs"),
    ] {
        let error = read(&format!("verb: {verb}, resource: {resource}, code: 404")).unwrap_err();
        assert!(
            error.message.starts_with("404 for this request means that its object was removed"),
            "{error}"
        );
        let by = |code: u16| read(&format!("verb: {verb}, resource: {resource}, code: {code}"));
        assert!([403, 429, 500, 504].into_iter().all(|code| by(code).is_ok()), "{verb} {resource}");
        assert!([409, 422].into_iter().all(|code| by(code).is_ok() == (verb != "get")), "{verb} {resource}");
    }
    for code in [403, 404, 409, 422, 429, 500, 504] {
        assert!(read(&format!("verb: create, resource: pods, code: {code}")).is_ok(), "{code}");
    }
}
