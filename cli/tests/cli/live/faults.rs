//! Faults of live controllers, and their records in the trace.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::scenarios::scenarios;
use crate::support::{Folder, binary, finish};

/// Runs a scenario with the shipped controllers; the lines of its recording.
fn recorded(file: &Path, name: &str) -> Vec<Value> {
    let (home, saved) = (Folder::new(), Folder::new());
    let mut command = binary();
    command.env("JOBCHECK_HOME", home.path("")).args(["run", "--target", "live", "--patience", "5m0s"]);
    let run = finish(command.arg(file).arg("--save").arg(saved.path("")), b"");
    assert_eq!(run.code, 0, "{run:?}\nTo skip live tests: cargo test -- --skip live::");
    let text = fs::read_to_string(saved.path(&format!("{name}-live.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_creation_of_a_pod(request: &Value) -> bool {
    request["verb"] == "create" && request["resource"] == "pods" && request["subresource"].is_null()
}

fn at<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field].as_str().unwrap()
}

#[test]
fn the_fault_of_a_lost_response_precedes_its_request() {
    let lines = recorded(&scenarios().join("lost-answer.yaml"), "lost-answer");
    let lost: Vec<usize> =
        (0..lines.len()).filter(|number| lines[*number]["fault"]["kind"] == "lostResponse").collect();
    let [lost] = lost[..] else { panic!("{lines:#?}") };
    let request = &lines[lost + 1]["request"];
    assert!(is_creation_of_a_pod(request) && request["code"] == 201, "{request}");
    // The request was committed, so that the controller does not repeat it.
    let creations = lines.iter().filter(|line| is_creation_of_a_pod(&line["request"])).count();
    assert_eq!(creations, 1);
    // The failed request is recorded as its sender sees it, although the API server has not received it.
    let failed: Vec<usize> =
        (0..lines.len()).filter(|number| lines[*number]["request"]["code"] == 500).collect();
    let [failed] = failed[..] else { panic!("{lines:#?}") };
    assert_eq!(lines[failed - 1]["fault"]["kind"], "rejected");
    let (refused, other) = (&lines[failed]["request"], &lines[lost + 1]["request"]);
    assert_eq!((&refused["verb"], &refused["resource"]), (&"patch".into(), &"pods".into()));
    assert_eq!((&refused["user"], &refused["agent"]), (&other["user"], &other["agent"]));
}

#[test]
fn a_delayed_request_was_sent_before_its_sender_terminated() {
    let lines = recorded(&scenarios().join("late-creation.yaml"), "late-creation");
    let restart = lines.iter().find(|line| line["mark"]["kind"] == "restart").unwrap();
    let restart = at(&restart["mark"], "at");
    let creations = lines.iter().map(|line| &line["request"]).filter(|it| is_creation_of_a_pod(it));
    let late: Vec<&Value> = creations.filter(|it| at(it, "received") < restart).collect();
    assert_eq!(late.len(), 1, "{lines:#?}");
    assert!(restart < at(late[0], "done"));
}

#[test]
fn a_second_leader_continues_when_the_first_stops() {
    let folder = Folder::new();
    let file = folder.path("leaders.yaml");
    let text = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: leaders\nabout: The second of two leaders is left.\n\
                jobs:\n- name: job\n  spec: {completions: 1}\n\
                steps:\n- secondLeader: {}\n  when: {active: 1}\n- resign: {leader: first}\n- succeed: {pod: 1}\n\
                expect:\n- conditions: [Complete]\n  pods: {created: 1, tracked: 0}\n";
    fs::write(&file, text).unwrap();
    let lines = recorded(Path::new(&file), "leaders");
    assert_eq!(lines.iter().filter(|line| is_creation_of_a_pod(&line["request"])).count(), 1);
}
