//! Status writes with a server error that were stored: their senders have nothing left to do.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{lines, validated_lines};
use serde_json::{Value, json};

fn is_status_write(event: &Value) -> bool {
    event["objectRef"]["resource"] == "jobs" && event["objectRef"]["subresource"] == "status"
}

/// The event with another response.
fn answered(event: &Value, code: u16) -> Value {
    let mut event = event.clone();
    event["responseStatus"] = json!({"metadata": {}, "status": "Failure", "code": code});
    event["responseObject"] =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code});
    event["auditID"] = json!(format!("00000000-0000-4000-8000-{code:012}"));
    event
}

fn later(event: &Value, seconds: i64) -> Value {
    let mut event = event.clone();
    for field in ["requestReceivedTimestamp", "stageTimestamp"] {
        let time: Timestamp = event[field].as_str().unwrap().parse().unwrap();
        let time = time + SignedDuration::from_secs(seconds);
        event[field] = json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
    }
    event
}

/// Work of the controller on a Job of another namespace, minutes later.
fn with_later_work(mut log: Vec<Value>) -> Vec<Value> {
    let seconds =
        |event: &Value| event["stageTimestamp"].as_str().unwrap().parse::<Timestamp>().unwrap().as_second();
    let other = lines("recordings/completions-zero.audit.jsonl");
    let by = seconds(log.last().unwrap()) + 200 - seconds(&other[0]);
    log.extend(other.iter().map(|event| later(event, by)));
    log
}

/// The verdict on the Job of the first line, and the rules that it breaks.
fn judged(log: &[Value]) -> (Outcome, Vec<&'static str>) {
    let namespace = log[0]["objectRef"]["namespace"].as_str().unwrap();
    let found = validated_lines(log);
    let job = found.jobs.iter().find(|job| job.job.starts_with(namespace)).unwrap();
    (job.outcome, job.violations.iter().map(|it| it.req().id()).collect())
}

#[test]
fn the_end_of_a_job_may_have_been_stored() {
    let whole = lines("recordings/nonindexed-success.audit.jsonl");
    let (last, before) = whole.split_last().unwrap();
    assert!(is_status_write(last));
    for code in [500, 504] {
        let mut log = before.to_vec();
        log.push(answered(last, code));
        assert_eq!(judged(&with_later_work(log.clone())), (Outcome::Inconclusive, vec![]), "{code}");
        // The retry loses against it.
        log.push(later(&answered(last, 409), 1));
        assert_eq!(judged(&log), (Outcome::Inconclusive, vec![]), "{code}");
    }
    // A status that nobody has tried to write is overdue.
    assert_eq!(judged(&with_later_work(before.to_vec())).0, Outcome::Violates);
}

/// FT-20: a stored status says nothing about the finalizers of a Job that is gone.
#[test]
fn the_finalizers_of_a_deleted_job_are_owed_all_the_same() {
    let whole = lines("recordings/job-deleted-background.audit.jsonl");
    let deletion = whole.iter().position(|event| event["verb"] == "delete").unwrap();
    // One of two pods is released.
    let mut log = whole[..deletion + 2].to_vec();
    assert_eq!(
        (&log[deletion + 1]["verb"], &log[deletion + 1]["objectRef"]["resource"]),
        (&json!("patch"), &json!("pods"))
    );
    let rules = |log: &[Value]| judged(&with_later_work(log.to_vec())).1;
    assert!(rules(&log).contains(&"FT-20"), "{:?}", rules(&log));
    let status = log[..deletion].iter().rposition(is_status_write).unwrap();
    log.insert(status + 1, answered(&log[status], 504));
    assert!(rules(&log).contains(&"FT-20"), "{:?}", rules(&log));
}
