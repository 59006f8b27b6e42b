//! Jobs and pods in different etcds (`--etcd-servers-overrides`): the versions of both are of two counters.

use std::collections::BTreeMap;

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, validated_lines};
use serde_json::{Value, json};

use crate::judge_truncated_events::recordings;

fn version(part: &Value) -> Option<u64> {
    part["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// The trace with the versions of a resource counted from a number. The order within the resource stays.
fn renumbered(trace: &mut [Value], resource: &str, from: u64) {
    let is_it = |line: &&mut Value| line["objectRef"]["resource"] == resource;
    let versions = trace.iter().filter(|line| line["objectRef"]["resource"] == resource);
    let versions =
        versions.flat_map(|line| [version(&line["requestObject"]), version(&line["responseObject"])]);
    let mut sorted: Vec<u64> = versions.flatten().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let new: BTreeMap<u64, u64> = sorted.into_iter().zip(from..).collect();
    for line in trace.iter_mut().filter(is_it) {
        for part in ["requestObject", "responseObject"] {
            if let Some(version) = version(&line[part]) {
                line[part]["metadata"]["resourceVersion"] = json!(new[&version].to_string());
            }
        }
    }
}

#[test]
fn versions_of_two_counters_hardly_ever_make_a_recording_wrong() {
    let (mut wrong, mut doubted, mut traces) = (Vec::new(), 0, 0);
    for (pods, jobs) in [(1_000, 90_000), (90_000, 1_000)] {
        for (name, mut trace) in recordings() {
            renumbered(&mut trace, "pods", pods);
            renumbered(&mut trace, "jobs", jobs);
            let found = validated_lines(&trace);
            traces += 1;
            doubted += usize::from(found.doubts.iter().any(|doubt| doubt.contains("different etcds")));
            if found.outcome() == Outcome::Violates {
                wrong.push((name, pods, broken(&found)));
            }
        }
    }
    // In a log of a few writes within a moment, hardly any time contradicts a version.
    assert!(wrong.len() * 6 <= traces, "{} of {traces}: {wrong:?}", wrong.len());
    assert!(doubted * 3 > traces, "{doubted} of {traces}");
}

#[test]
fn one_counter_is_never_taken_for_two() {
    for (name, trace) in recordings() {
        let doubts = validated_lines(&trace).doubts;
        assert!(!doubts.iter().any(|doubt| doubt.contains("different etcds")), "{name}");
    }
}
