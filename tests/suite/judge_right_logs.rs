//! Right logs that no recording of the corpus has, made from recordings: server-side apply, slow responses to removals, and
//! interrupted watches.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, parsed, validated_lines};
use serde_json::{Value, json};

use crate::corpus::files;
use crate::judge_truncated_events::{recordings, wrong_after};

/// The creations of Jobs, as server-side apply sends them.
fn applied(trace: &mut [Value]) -> usize {
    let is_one = |line: &Value| line["verb"] == "create" && line["objectRef"]["resource"] == "jobs";
    let mut creations = 0;
    for line in trace.iter_mut().filter(|line| is_one(line)) {
        let name = line["responseObject"]["metadata"]["name"].clone();
        line["verb"] = json!("patch");
        line["objectRef"]["name"] = name;
        creations += usize::from(line["responseStatus"]["code"] == 201);
    }
    creations
}

#[test]
fn a_job_that_was_created_by_an_apply_is_judged_as_any_other() {
    let mut creations = 0;
    for (name, mut trace) in recordings() {
        let before = validated_lines(&trace).outcome();
        creations += applied(&mut trace);
        assert_eq!(validated_lines(&trace).outcome(), before, "{name}");
    }
    assert!(creations >= 30, "{creations}");
}

#[test]
fn what_is_wrong_with_a_job_is_wrong_after_an_apply_too() {
    let mut compared = 0;
    for path in files("invalid").into_iter().filter(|path| path.to_string_lossy().ends_with(".audit.jsonl")) {
        let mut trace = parsed(&fs::read_to_string(&path).unwrap());
        let before = validated_lines(&trace);
        if applied(&mut trace) == 0 {
            continue;
        }
        compared += 1;
        let after = validated_lines(&trace);
        assert_eq!((after.outcome(), broken(&after)), (before.outcome(), broken(&before)), "{path:?}");
    }
    assert!(compared > 100, "{compared}");
}

/// A removal takes effect before its response. Others may act on it in between.
#[test]
fn a_slow_response_to_the_removal_of_a_pod_makes_nothing_wrong() {
    for millis in [2, 20, 1_000] {
        let slow = |line: &mut Value| {
            let is_controllers = line["user"]["username"] == "system:kube-controller-manager";
            let is_main = line["objectRef"]["subresource"].is_null();
            let is_removal = ["delete", "patch"].contains(&line["verb"].as_str().unwrap_or_default());
            let is_pods = line["objectRef"]["resource"] == "pods";
            if is_controllers || !is_main || !is_removal || !is_pods {
                return false;
            }
            let done: Timestamp = line["stageTimestamp"].as_str().unwrap().parse().unwrap();
            let done = done + SignedDuration::from_millis(millis);
            line["stageTimestamp"] = json!(done.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
            true
        };
        let (wrong, traces) = wrong_after(slow);
        assert_eq!(wrong, [], "{millis} ms");
        assert!(traces > 10, "{traces}");
    }
}

/// A watch that its client begins anew, as `kubectl get -w` in a loop does. The changes between both are not shown, and the
/// second watch begins with the object as new.
#[test]
fn changes_between_two_watches_make_nothing_wrong() {
    let mut traces = 0;
    for path in
        files("recordings").into_iter().filter(|path| path.to_string_lossy().ends_with(".watch.jsonl"))
    {
        let whole = parsed(&fs::read_to_string(&path).unwrap());
        for kind in ["Job", "Pod"] {
            let shown: Vec<usize> =
                (0..whole.len()).filter(|number| whole[*number]["object"]["kind"] == kind).collect();
            for hidden in shown.windows(3).filter(|it| whole[it[2]]["type"] == "MODIFIED") {
                let is_known = |number: &usize| {
                    whole[*number]["object"]["metadata"]["uid"]
                        == whole[hidden[2]]["object"]["metadata"]["uid"]
                };
                if !shown.iter().take_while(|it| **it < hidden[1]).any(is_known) {
                    continue;
                }
                let mut trace = whole.clone();
                trace[hidden[2]]["type"] = json!("ADDED");
                trace.remove(hidden[1]);
                let found = validated_lines(&trace);
                let place = hidden[1] + 1;
                assert_ne!(found.outcome(), Outcome::Violates, "{path:?} {place}: {:?}", broken(&found));
                traces += 1;
            }
        }
    }
    assert!(traces > 200, "{traces}");
}
