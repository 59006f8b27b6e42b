//! Traces without some of the pods: a policy or a selector leaves them out, or the watch was interrupted. Nothing is known of these
//! pods, so that no right controller is wrong.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, recording, validated_lines};
use serde_json::Value;

use crate::corpus::recordings;

fn is_of_pod(line: &Value) -> bool {
    line["object"]["kind"] == "Pod" || line["objectRef"]["resource"] == "pods"
}

/// The recordings of a form that are wrong if only the pods of another one come before them.
fn wrong_without_pods(form: &str) -> (Vec<(String, Vec<String>)>, usize) {
    let (all, first) = (recordings(form), recording(&format!("nonindexed-success{form}")));
    let (mut wrong, mut traces) = (Vec::new(), 0);
    for (name, whole) in all {
        let jobs = whole.iter().filter(|line| !is_of_pod(line)).cloned();
        let found = validated_lines(&first.iter().cloned().chain(jobs).collect::<Vec<_>>());
        traces += 1;
        if found.outcome() == Outcome::Violates {
            wrong.push((name, broken(&found)));
        }
    }
    (wrong, traces)
}

#[test]
fn a_log_with_the_pods_of_another_namespace_makes_no_recording_wrong() {
    for form in [".audit", ".watch"] {
        let (wrong, traces) = wrong_without_pods(form);
        assert_eq!(wrong, [], "{form}");
        assert!(traces > 30, "{traces}");
    }
}

/// The selector is `status.phase!=Succeeded`. A pod that leaves it is shown as deleted, in its state before.
#[test]
fn a_watch_with_a_selector_makes_no_recording_wrong() {
    let (mut wrong, mut edited) = (Vec::new(), 0);
    for (name, whole) in recordings(".watch") {
        let mut selected: Vec<Value> = Vec::new();
        for line in &whole {
            let has_succeeded = is_of_pod(line) && line["object"]["status"]["phase"] == "Succeeded";
            if !has_succeeded {
                selected.push(line.clone());
                continue;
            }
            let uid = &line["object"]["metadata"]["uid"];
            let before = selected.iter().rfind(|it| it["object"]["metadata"]["uid"] == *uid).cloned();
            let Some(mut left) = before.filter(|it| it["type"] != "DELETED") else { continue };
            left["type"] = "DELETED".into();
            left["object"]["metadata"]["resourceVersion"] =
                line["object"]["metadata"]["resourceVersion"].clone();
            selected.push(left);
        }
        edited += usize::from(selected != whole);
        let found = validated_lines(&selected);
        if found.outcome() == Outcome::Violates {
            wrong.push((name, broken(&found)));
        }
    }
    assert_eq!(wrong, []);
    assert!(edited > 10, "{edited}");
}
