//! A gap in a trace is no violation: interrupted watches, and audit levels that hide a response.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, recording, validated_lines};
use serde_json::{Value, json};

const SCENARIOS: [&str; 6] = [
    "nonindexed-success",
    "suspend-resume",
    "elastic-indexed",
    "per-index-backoff",
    "recreate-same-name",
    "scale-down-then-complete",
];

const MORE: [&str; 6] = [
    "job-deleted-orphan",
    "job-deleted-background",
    "ttl-zero",
    "pod-failure-policy-fail-job",
    "adoption",
    "managed-by-mirror",
];

/// The objects that exist after some lines of a watch stream, as a new watch shows them.
fn listed(lines: &[Value]) -> Vec<Value> {
    let mut objects: Vec<&Value> = Vec::new();
    for line in lines {
        let uid = &line["object"]["metadata"]["uid"];
        objects.retain(|object| object["metadata"]["uid"] != *uid);
        if line["type"] != "DELETED" {
            objects.push(&line["object"]);
        }
    }
    objects.iter().map(|object| json!({"type": "ADDED", "object": object})).collect()
}

#[test]
fn a_watch_that_begins_again_is_inconclusive() {
    const LOST: usize = 3;
    for scenario in SCENARIOS {
        let whole = recording(&format!("{scenario}.watch"));
        for from in 2..whole.len() - LOST {
            let mut trace = whole[..from].to_vec();
            trace.extend(listed(&whole[..from + LOST]));
            trace.extend_from_slice(&whole[from + LOST..]);
            let summary = validated_lines(&trace);
            assert_eq!(
                summary.outcome(),
                Outcome::Inconclusive,
                "{scenario} from {from}: {:?}",
                broken(&summary)
            );
        }
    }
}

#[test]
fn a_watch_that_begins_in_mid_life_is_no_violation() {
    for scenario in SCENARIOS.into_iter().chain(MORE) {
        let whole = recording(&format!("{scenario}.watch"));
        for from in 1..whole.len() {
            let mut trace = listed(&whole[..from]);
            trace.extend_from_slice(&whole[from..]);
            let summary = validated_lines(&trace);
            assert_ne!(
                summary.outcome(),
                Outcome::Violates,
                "{scenario} from {from}: {:?}",
                broken(&summary)
            );
        }
    }
}

#[test]
fn the_first_event_of_a_changed_job_is_not_its_creation() {
    let mut trace = recording("created-suspended.watch");
    trace[0]["object"]["metadata"]["generation"] = json!(2);
    let summary = validated_lines(&trace[..1]);
    assert_ne!(summary.outcome(), Outcome::Violates, "{:?}", broken(&summary));
}

#[test]
fn a_watch_with_an_error_in_it_is_inconclusive() {
    let expired = json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410
    }});
    for scenario in SCENARIOS {
        let whole = recording(&format!("{scenario}.watch"));
        for from in 2..whole.len() - 4 {
            let mut trace = whole[..from].to_vec();
            trace.push(expired.clone());
            trace.extend_from_slice(&whole[from + 4..]);
            let summary = validated_lines(&trace);
            assert_ne!(
                summary.outcome(),
                Outcome::Violates,
                "{scenario} from {from}: {:?}",
                broken(&summary)
            );
        }
    }
}

/// Hides the responses to some requests.
fn hide(trace: &mut [Value], level: &str, hidden: impl Fn(&Value) -> bool) {
    for line in trace.iter_mut().filter(|line| hidden(line)) {
        let fields = line.as_object_mut().unwrap();
        fields.insert("level".to_owned(), json!(level));
        fields.remove("responseObject");
        if level == "Metadata" {
            fields.remove("requestObject");
        }
    }
}

#[test]
fn a_level_that_hides_writes_of_the_job_is_no_violation() {
    for scenario in SCENARIOS.into_iter().chain(MORE) {
        let whole = recording(&format!("{scenario}.audit"));
        for level in ["Request", "Metadata"] {
            for verb in ["delete", "patch", "update"] {
                let mut trace = whole.clone();
                hide(&mut trace, level, |line| {
                    line["verb"] == verb && line["objectRef"]["resource"] == "jobs"
                });
                let summary = validated_lines(&trace);
                assert_ne!(
                    summary.outcome(),
                    Outcome::Violates,
                    "{scenario}, {verb} at level {level}: {:?}",
                    broken(&summary)
                );
            }
        }
    }
}

#[test]
fn a_lost_deletion_of_a_job_is_inconclusive() {
    let mut trace = recording("job-deleted-orphan.audit");
    // The conflicts that the deletion caused would have no reason without it.
    trace.retain(|line| line["verb"] != "delete" && line["responseStatus"]["code"] != 409);
    let summary = validated_lines(&trace);
    assert_eq!(summary.outcome(), Outcome::Inconclusive, "{:?}", broken(&summary));
}
