//! Audit logs in their usual state: with missing, repeated, or unordered lines, without user agents, and beside a watch of
//! the same cluster.

use jobcheck_judge::validate::sequence::WINDOW_EVENTS;
use jobcheck_judge::validate::{Options, Outcome, Summary};
use jobcheck_tests::traces::{broken, input, recording, validated, validated_lines};
use serde_json::{Value, json};

/// Validates several files as one trace.
fn validated_files(files: &[&[Value]]) -> Summary {
    let inputs: Vec<_> = files.iter().map(|lines| input("trace", lines)).collect();
    validated(&inputs, Options::default())
}

const SCENARIOS: [&str; 16] = [
    "adoption",
    "backoff-limit-exceeded",
    "created-suspended",
    "deadline-exceeded",
    "elastic-indexed",
    "job-deleted-background",
    "job-deleted-orphan",
    "nonindexed-success",
    "per-index-backoff",
    "pod-failure-policy-fail-job",
    "recreate-same-name",
    "scale-down-then-complete",
    "success-policy",
    "suspend-resume",
    "ttl-extended",
    "ttl-zero",
];

fn name(line: &Value) -> &Value {
    line["objectRef"].get("name").unwrap_or(&line["responseObject"]["metadata"]["name"])
}

/// Returns `true` if a later line shows the object of a line, and with it the effect of the line.
fn is_seen_later(line: &Value, later: &[Value]) -> bool {
    later.iter().any(|other| {
        other["responseStatus"]["code"].as_i64().is_some_and(|code| code < 300)
            && other["responseObject"]["kind"] != "Status"
            && other["objectRef"]["resource"] == line["objectRef"]["resource"]
            && name(other) == name(line)
    })
}

#[test]
fn a_missing_line_is_no_violation_if_a_later_line_shows_its_effect() {
    // In the first trace the Job has ended before. In the second a user removes all finalizers of the pod, and may have been
    // the first to do so.
    const SHOWN_TOO_LATE: [(&str, usize); 2] =
        [("job-deleted-background", 3), ("scale-down-then-complete", 17)];
    let mut removed = 0;
    for scenario in SCENARIOS {
        let whole = recording(&format!("{scenario}.audit"));
        for at in 0..whole.len() {
            if SHOWN_TOO_LATE.contains(&(scenario, at + 1)) || !is_seen_later(&whole[at], &whole[at + 1..]) {
                continue;
            }
            removed += 1;
            let mut trace = whole.clone();
            trace.remove(at);
            let summary = validated_lines(&trace);
            let line = at + 1;
            assert_ne!(
                summary.outcome(),
                Outcome::Violates,
                "{scenario} without {line}: {:?}",
                broken(&summary)
            );
        }
    }
    assert_eq!(removed, 186);
}

#[test]
fn a_missing_user_write_is_recognised_by_the_version_of_the_next_write() {
    // Without the suspension the writes of the controller have no reason.
    let mut trace = recording("suspend-resume.audit");
    let at = trace.iter().position(|line| line["verb"] == "patch" && line["objectRef"]["resource"] == "jobs");
    trace.remove(at.unwrap());
    let summary = validated_lines(&trace);
    assert_eq!(summary.outcome(), Outcome::Inconclusive, "{:?}", broken(&summary));
    let reason = summary.jobs[0].doubts[0].clone();
    assert!(reason.contains("a write of the Job is missing: resourceVersion"), "{reason}");
}

#[test]
fn a_violation_before_a_gap_is_reported() {
    // The finalizer of an unrecorded pod is removed, which is wrong whatever is missing later.
    let mut trace = recording("elastic-indexed.audit");
    trace[7]["responseObject"]["metadata"]["finalizers"] = json!([]);
    trace[6]["responseObject"]["status"]["completedIndexes"] = json!("1");
    trace.remove(8);
    let summary = validated_lines(&trace);
    assert_eq!(summary.outcome(), Outcome::Violates);
}

/// A second DELETE is handled while its pod is being deleted. The response comes after another actor has changed the pod,
/// and contains the version before the change (`jobcheck fuzz --target live`, seed 2016).
#[test]
fn a_deletion_without_effect_may_get_a_late_response() {
    let mut deletions = 0;
    for scenario in ["pod-deleted-by-user", "replace-when-terminating", "j03-lost-answer", "l2-one-batch"] {
        let whole = recording(&format!("{scenario}.audit"));
        let expected = validated_lines(&whole);
        for (at, deletion) in whole.iter().enumerate().filter(|(_, line)| deletes_pod(line)) {
            for after in (at + 1..whole.len()).filter(|it| name(&whole[*it]) == name(deletion)) {
                let mut again = deletion.clone();
                again["auditID"] = json!("00000000-0000-0000-0000-00000000beef");
                again["requestReceivedTimestamp"] = deletion["stageTimestamp"].clone();
                again["stageTimestamp"] = whole[after]["stageTimestamp"].clone();
                let mut trace = whole.clone();
                trace.insert(after + 1, again);
                let summary = validated_lines(&trace);
                deletions += 1;
                assert_eq!(broken(&summary), broken(&expected), "{scenario}, {at}, {after}");
                assert_eq!(summary.jobs[0].doubts, Vec::<String>::new(), "{scenario}, {at}, {after}");
            }
        }
    }
    assert_eq!(deletions, 11);
}

/// A Job is gone, and its pods lose their finalizers and are removed, before its user gets the response
/// (`jobcheck fuzz --target builtin`, seed 1619).
#[test]
fn a_job_may_be_gone_before_the_response_to_its_deletion() {
    let whole = recording("job-deleted-background.audit");
    let is_it = |line: &&Value| line["verb"] == "delete" && line["objectRef"]["resource"] == "jobs";
    let at = whole.iter().position(|line| is_it(&line)).unwrap();
    assert!(at + 4 < whole.len());
    for after in at + 1..whole.len() {
        let mut trace = whole.clone();
        let mut deletion = trace.remove(at);
        deletion["stageTimestamp"] = whole[after]["stageTimestamp"].clone();
        trace.insert(after, deletion);
        let summary = validated_lines(&trace);
        assert_eq!(summary.outcome(), Outcome::Conforms, "answered after {after}: {:?}", broken(&summary));
    }
}

/// Returns `true` for a DELETE after which the pod still exists with its finalizer.
fn deletes_pod(line: &Value) -> bool {
    let answer = &line["responseObject"];
    line["verb"] == "delete" && answer["kind"] == "Pod" && answer["metadata"]["finalizers"].is_array()
}

#[test]
fn a_log_that_is_read_twice_is_one_log() {
    for scenario in SCENARIOS {
        let whole = recording(&format!("{scenario}.audit"));
        let doubled: Vec<Value> = whole.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        let again: Vec<Value> = whole.iter().chain(&whole).cloned().collect();
        let (first, second) = (&whole[..whole.len() * 2 / 3], &whole[whole.len() / 3..]);
        for (what, summary) in [
            ("each line twice", validated_lines(&doubled)),
            ("the log twice", validated_lines(&again)),
            ("as two files", validated_files(&[&whole, &whole])),
            ("rotated with an overlap", validated_files(&[first, second])),
            ("with an overlap in one file", validated_lines(&[first, second].concat())),
        ] {
            assert_eq!(summary.outcome(), Outcome::Conforms, "{scenario}, {what}: {:?}", broken(&summary));
        }
    }
}

#[test]
fn reversed_lines_are_put_in_order_or_are_inconclusive() {
    for scenario in SCENARIOS {
        let mut trace = recording(&format!("{scenario}.audit"));
        trace.reverse();
        let summary = validated_lines(&trace);
        assert_ne!(summary.outcome(), Outcome::Violates, "{scenario}: {:?}", broken(&summary));
    }
    // These logs are shorter than the reorder window.
    for scenario in ["nonindexed-success", "suspend-resume"] {
        let mut trace = recording(&format!("{scenario}.audit"));
        trace.reverse();
        assert_eq!(validated_lines(&trace).outcome(), Outcome::Conforms, "{scenario}");
    }
}

#[test]
fn without_user_agents_a_shared_account_is_recognised_by_its_requests() {
    let mut judged = 0;
    for scenario in SCENARIOS {
        let mut trace = recording(&format!("{scenario}.audit"));
        for line in &mut trace {
            line.as_object_mut().unwrap().remove("userAgent");
        }
        let summary = validated_lines(&trace);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{scenario}: {:?}", broken(&summary));
        judged += summary.judged;
    }
    assert_eq!(judged, 296);
}

#[test]
fn a_watch_beside_the_log_shows_the_same_writes() {
    for scenario in SCENARIOS {
        let (audit, watch) =
            (recording(&format!("{scenario}.audit")), recording(&format!("{scenario}.watch")));
        let (alone, both) = (validated_lines(&audit), validated_files(&[&audit, &watch]));
        assert_eq!(both.outcome(), Outcome::Conforms, "{scenario}: {:?}", broken(&both));
        assert_eq!(both.jobs.len(), alone.jobs.len(), "{scenario}");
        // A DELETE with immediate effect is two writes in etcd, and the watch shows the first one before the request.
        let deletes = audit.iter().filter(|line| line["verb"] == "delete").count() as u64;
        assert!(both.judged + deletes >= alone.judged, "{scenario}: {} and {}", both.judged, alone.judged);
    }
}

/// A status write on the stored version that is refused for a conflict at this time.
fn refused_at(write: &Value, received: &str, done: &str) -> Value {
    let mut refused = write.clone();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409,
        "message": "Operation cannot be fulfilled on jobs.batch: the object has been modified",
    });
    refused["auditID"] = json!("lost-against-another");
    refused["requestReceivedTimestamp"] = json!(received);
    refused["stageTimestamp"] = json!(done);
    refused["requestObject"]["metadata"]["resourceVersion"] =
        write["responseObject"]["metadata"]["resourceVersion"].clone();
    refused["responseStatus"] = status.clone();
    refused["responseObject"] = status;
    refused
}

#[test]
fn the_winner_of_a_conflict_may_get_its_response_after_the_loser() {
    let log = recording("suspend-resume.audit");
    let (status, user) = (&log[11], &log[12]);
    let time = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let received = time(user, "requestReceivedTimestamp");
    // While the write of the user is in flight, and before it was received.
    let during = refused_at(status, &received, &received);
    let before = |millis: &str| {
        let before = time(status, "stageTimestamp").replace("39.249", millis);
        refused_at(status, &before, &before)
    };
    let with = |refused: Value| {
        let mut log = log.clone();
        log.insert(12, refused);
        validated_lines(&log)
    };
    assert_eq!(with(during).outcome(), Outcome::Conforms);
    // The API server of the user may have a clock that is 100 ms ahead.
    let near = with(before("39.349"));
    assert_eq!(near.outcome(), Outcome::Inconclusive, "{:?}", broken(&near));
    assert_eq!(broken(&with(before("39.339"))), ["SS-32 refused status write"]);
}

/// Requests for another object, from this line's namespace and time.
fn refusals(line: &Value, count: usize) -> Vec<Value> {
    let namespace = &line["objectRef"]["namespace"];
    let refusal = |number| {
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
            "auditID": format!("refusal-{number}"), "stage": "ResponseComplete", "verb": "update",
            "user": {"username": "somebody"}, "responseStatus": {"code": 404, "reason": "NotFound"},
            "objectRef": {
                "resource": "jobs", "namespace": namespace, "name": "unknown", "apiGroup": "batch",
                "apiVersion": "v1", "subresource": "status",
            },
            "requestReceivedTimestamp": line["stageTimestamp"], "stageTimestamp": line["stageTimestamp"],
        })
    };
    (0..count).map(refusal).collect()
}

/// The judge cannot put such a line in its place. The verdict without it is worth nothing.
#[test]
fn a_line_behind_the_reorder_window_is_inconclusive() {
    for scenario in ["adoption", "job-deleted-orphan", "nonindexed-success"] {
        let whole = recording(&format!("{scenario}.audit"));
        for at in 1..5 {
            let mut moved = whole.clone();
            let late = moved.remove(at);
            moved.extend(refusals(moved.last().unwrap(), WINDOW_EVENTS + 600));
            moved.push(late);
            let summary = validated_lines(&moved);
            let found = (summary.outcome(), broken(&summary));
            assert_eq!(found, (Outcome::Inconclusive, vec![]), "{scenario}, line {}", at + 1);
            assert!(
                summary.doubts.iter().any(|doubt| doubt.contains("reorder window")),
                "{:?}",
                summary.doubts
            );
        }
    }
}

/// A busy namespace fills the window, and its lines are in the order of the responses.
#[test]
fn a_full_window_in_the_order_of_the_responses_changes_nothing() {
    let whole = recording("nonindexed-success.audit");
    let mut long = Vec::new();
    for line in &whole {
        long.extend(refusals(line, WINDOW_EVENTS / 5));
        long.push(line.clone());
    }
    assert_eq!(validated_lines(&long).outcome(), Outcome::Conforms);
}
