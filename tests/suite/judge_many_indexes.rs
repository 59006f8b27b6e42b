//! Jobs with as many indexes as the API allows, and with as many recorded pods as an object holds. No step of the judge goes
//! through them one by one for each of them.

use std::time::{Duration, Instant};

use jobcheck_tests::traces::{recording, validated_lines};
use serde_json::json;

/// A user may write such a Job, and all other Jobs of the log would wait for it.
#[test]
fn a_rule_of_all_indexes_takes_no_time() {
    let mut trace = recording("success-policy.audit");
    let rule = json!({"succeededIndexes": "0-2147483646", "succeededCount": 2_147_483_647});
    let mut edited = 0;
    for line in &mut trace {
        for part in ["requestObject", "responseObject"] {
            let spec = &mut line[part]["spec"];
            if spec["successPolicy"].is_object() {
                spec["completions"] = json!(2_147_483_647);
                spec["successPolicy"]["rules"] = json!(vec![rule.clone(); 20]);
                edited += 1;
            }
        }
    }
    assert!(edited > 1);
    let start = Instant::now();
    let _ = validated_lines(&trace);
    // Index by index, it would take minutes.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// A manager of Jobs may write such a status.
#[test]
fn two_long_lists_of_recorded_pods_take_no_time() {
    const PODS: u32 = 100_000;
    let list = |first: u32| (first..first + PODS).map(|pod| format!("pod-{pod}")).collect::<Vec<_>>();
    let lists = json!({"succeeded": list(0), "failed": list(PODS)});
    let mut trace = recording("nonindexed-success.audit");
    let is_status = |line: &serde_json::Value| line["objectRef"]["subresource"] == "status";
    let write = trace.iter_mut().rfind(|line| is_status(line) && line["objectRef"]["resource"] == "jobs");
    let write = write.unwrap();
    for part in ["requestObject", "responseObject"] {
        write[part]["status"]["uncountedTerminatedPods"] = lists.clone();
    }
    let start = Instant::now();
    let _ = validated_lines(&trace);
    // Each pod with each other, it would take a minute.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
