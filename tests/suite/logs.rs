//! Audit logs as they are found: with lines missing, repeated, or out of order, without user agents, beside a
//! watch of the same cluster.

use jobcheck_judge::validate::Outcome;
use serde_json::{Value, json};

use crate::gaps::{broken, judge, judge_files, lines};

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

/// Whether what is left of a log shows the object of a line again, and with it what the line did.
fn is_seen_later(line: &Value, later: &[Value]) -> bool {
    later.iter().any(|other| {
        other["responseStatus"]["code"].as_i64().is_some_and(|code| code < 300)
            && other["responseObject"]["kind"] != "Status"
            && other["objectRef"]["resource"] == line["objectRef"]["resource"]
            && name(other) == name(line)
    })
}

#[test]
fn a_missing_line_is_no_violation_where_a_later_one_tells_of_it() {
    // The one: the Job's story was closed with the release of its first pod. The other: a user takes all
    // finalizers off the pod, which may have been the first to do so.
    const TOLD_TOO_LATE: [(&str, usize); 2] =
        [("job-deleted-background", 3), ("scale-down-then-complete", 17)];
    let mut told = 0;
    for scenario in SCENARIOS {
        let whole = lines(&format!("{scenario}.audit"));
        for at in 0..whole.len() {
            if TOLD_TOO_LATE.contains(&(scenario, at + 1)) || !is_seen_later(&whole[at], &whole[at + 1..]) {
                continue;
            }
            told += 1;
            let mut trace = whole.clone();
            trace.remove(at);
            let summary = judge(&trace);
            let line = at + 1;
            assert_ne!(
                summary.outcome(),
                Outcome::Violates,
                "{scenario} without {line}: {:?}",
                broken(&summary)
            );
        }
    }
    assert!(told > 100, "{told}");
}

#[test]
fn a_missing_user_write_is_told_by_the_version_of_the_next() {
    // The suspension: what the controller does for it has no other reason.
    let mut trace = lines("suspend-resume.audit");
    let at = trace.iter().position(|line| line["verb"] == "patch" && line["objectRef"]["resource"] == "jobs");
    trace.remove(at.unwrap());
    let summary = judge(&trace);
    assert_eq!(summary.outcome(), Outcome::Inconclusive, "{:?}", broken(&summary));
    let doubt = summary.jobs[0].doubts[0].clone();
    assert!(doubt.contains("a write of the Job is missing: resourceVersion"), "{doubt}");
}

#[test]
fn what_stood_before_a_gap_is_told_all_the_same() {
    // A pod that was released unrecorded is wrong whatever is missing later.
    let mut trace = lines("elastic-indexed.audit");
    trace[7]["responseObject"]["metadata"]["finalizers"] = json!([]);
    trace[6]["responseObject"]["status"]["completedIndexes"] = json!("1");
    trace.remove(8);
    let summary = judge(&trace);
    assert_eq!(summary.outcome(), Outcome::Violates);
}

/// A second DELETE is handled while its pod is being deleted, and answered after somebody else has changed the pod: the
/// answer holds the version before. So it was found on a cluster (`jobcheck fuzz --target live`, seed 2016).
#[test]
fn a_deletion_that_changes_nothing_may_be_answered_late() {
    let mut told = 0;
    for scenario in ["pod-deleted-by-user", "replace-when-terminating", "j03-lost-answer", "l2-one-batch"] {
        let whole = lines(&format!("{scenario}.audit"));
        let expected = judge(&whole);
        for (at, deletion) in whole.iter().enumerate().filter(|(_, line)| deletes_pod(line)) {
            for after in (at + 1..whole.len()).filter(|it| name(&whole[*it]) == name(deletion)) {
                let mut again = deletion.clone();
                again["auditID"] = json!("00000000-0000-0000-0000-00000000beef");
                again["requestReceivedTimestamp"] = deletion["stageTimestamp"].clone();
                again["stageTimestamp"] = whole[after]["stageTimestamp"].clone();
                let mut trace = whole.clone();
                trace.insert(after + 1, again);
                let summary = judge(&trace);
                told += 1;
                assert_eq!(broken(&summary), broken(&expected), "{scenario}, {at}, {after}");
                assert_eq!(summary.jobs[0].doubts, Vec::<String>::new(), "{scenario}, {at}, {after}");
            }
        }
    }
    assert!(told > 5, "{told}");
}

/// A Job is gone, and its pods are released and collected, before its user is told so (`jobcheck fuzz --target builtin`, seed
/// 1619).
#[test]
fn a_job_may_be_gone_before_its_deletion_is_answered() {
    let whole = lines("job-deleted-background.audit");
    let is_it = |line: &&Value| line["verb"] == "delete" && line["objectRef"]["resource"] == "jobs";
    let at = whole.iter().position(|line| is_it(&line)).unwrap();
    assert!(at + 4 < whole.len());
    for after in at + 1..whole.len() {
        let mut trace = whole.clone();
        let mut deletion = trace.remove(at);
        deletion["stageTimestamp"] = whole[after]["stageTimestamp"].clone();
        trace.insert(after, deletion);
        let summary = judge(&trace);
        assert_eq!(summary.outcome(), Outcome::Conforms, "answered after {after}: {:?}", broken(&summary));
    }
}

/// Whether a line is a DELETE of a pod that leaves the pod and its finalizer there.
fn deletes_pod(line: &Value) -> bool {
    let answer = &line["responseObject"];
    line["verb"] == "delete" && answer["kind"] == "Pod" && answer["metadata"]["finalizers"].is_array()
}

#[test]
fn a_log_that_is_read_twice_is_one_log() {
    for scenario in SCENARIOS {
        let whole = lines(&format!("{scenario}.audit"));
        let doubled: Vec<Value> = whole.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        let again: Vec<Value> = whole.iter().chain(&whole).cloned().collect();
        let (first, second) = (&whole[..whole.len() * 2 / 3], &whole[whole.len() / 3..]);
        for (what, summary) in [
            ("each line twice", judge(&doubled)),
            ("the log twice", judge(&again)),
            ("as two files", judge_files(&[&whole, &whole])),
            ("rotated with an overlap", judge_files(&[first, second])),
            ("with an overlap in one file", judge(&[first, second].concat())),
        ] {
            assert_eq!(summary.outcome(), Outcome::Conforms, "{scenario}, {what}: {:?}", broken(&summary));
        }
    }
}

#[test]
fn lines_in_reversed_order_are_put_in_order_or_not_judged() {
    for scenario in SCENARIOS {
        let mut trace = lines(&format!("{scenario}.audit"));
        trace.reverse();
        let summary = judge(&trace);
        assert_ne!(summary.outcome(), Outcome::Violates, "{scenario}: {:?}", broken(&summary));
    }
    // These took less than the window.
    for scenario in ["nonindexed-success", "suspend-resume"] {
        let mut trace = lines(&format!("{scenario}.audit"));
        trace.reverse();
        assert_eq!(judge(&trace).outcome(), Outcome::Conforms, "{scenario}");
    }
}

#[test]
fn without_user_agents_a_shared_account_is_told_by_what_it_asks_for() {
    for scenario in SCENARIOS {
        let mut trace = lines(&format!("{scenario}.audit"));
        for line in &mut trace {
            line.as_object_mut().unwrap().remove("userAgent");
        }
        let summary = judge(&trace);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{scenario}: {:?}", broken(&summary));
        assert!(summary.judged > 5, "{scenario}: {}", summary.judged);
    }
}

#[test]
fn a_watch_beside_the_log_shows_the_same_writes() {
    for scenario in SCENARIOS {
        let (audit, watch) = (lines(&format!("{scenario}.audit")), lines(&format!("{scenario}.watch")));
        let (alone, both) = (judge(&audit), judge_files(&[&audit, &watch]));
        assert_eq!(both.outcome(), Outcome::Conforms, "{scenario}: {:?}", broken(&both));
        assert_eq!(both.jobs.len(), alone.jobs.len(), "{scenario}");
        // A DELETE that is done at once is two writes in etcd; the watch shows the first before the request.
        let deletes = audit.iter().filter(|line| line["verb"] == "delete").count() as u64;
        assert!(both.judged + deletes >= alone.judged, "{scenario}: {} and {}", both.judged, alone.judged);
    }
}

/// A status write on the stored version that was refused for a conflict, answered at this time.
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
fn who_won_a_conflict_may_be_answered_after_who_lost_it() {
    let log = lines("suspend-resume.audit");
    let (status, user) = (&log[11], &log[12]);
    let time = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let received = time(user, "requestReceivedTimestamp");
    // While the user's write is under way, and before it has come.
    let during = refused_at(status, &received, &received);
    let before = time(status, "stageTimestamp").replace("39.249", "39.349");
    let before = refused_at(status, &before, &before);
    let with = |refused: Value| {
        let mut log = log.clone();
        log.insert(12, refused);
        broken(&judge(&log))
    };
    assert_eq!(with(during), Vec::<String>::new());
    assert_eq!(with(before), ["SS-32 refused status write"]);
}
