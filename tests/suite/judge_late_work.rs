//! Obligations that a controller meets, but late.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_tests::log::Log;
use jobcheck_tests::traces::{broken, recording, validated_lines};
use serde_json::{Value, json};

/// The trace in which everything from this line on happens later. Job objects keep the times of the lines before.
fn delayed(mut trace: Vec<Value>, from: usize, seconds: i64) -> Vec<Value> {
    for line in trace.iter_mut().skip(from) {
        delay(line, false, SignedDuration::from_secs(seconds));
    }
    trace
}

/// Moves the times in a value. Those of the beginning of a Job stay.
fn delay(value: &mut Value, is_job: bool, by: SignedDuration) {
    match value {
        Value::Object(members) => {
            let is_job = members.get("kind").map_or(is_job, |kind| kind == "Job");
            for (name, member) in members {
                let stays =
                    is_job && ["creationTimestamp", "startTime", "managedFields"].contains(&name.as_str());
                if !stays {
                    delay(member, is_job, by);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| delay(item, is_job, by)),
        Value::String(text) => {
            if let Ok(time) = text.parse::<Timestamp>() {
                let format = if text.contains('.') { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
                *text = (time + by).strftime(format).to_string();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn warnings(summary: &Summary) -> Vec<&str> {
    let all = summary.jobs.iter().flat_map(|job| &job.warnings);
    all.map(|note| note.text.as_str()).filter(|text| text.starts_with("late")).collect()
}

#[test]
fn a_first_pod_that_comes_after_minutes_is_told() {
    let trace = recording("nonindexed-success.audit");
    let creation = |line: &Value| line["verb"] == "create" && line["objectRef"]["resource"] == "pods";
    let number = trace.iter().position(creation).unwrap();
    for (seconds, expected) in [(60, 0), (300, 1)] {
        let found = validated_lines(&delayed(trace.clone(), number, seconds));
        assert_eq!(warnings(&found).len(), expected, "{:?}", warnings(&found));
        assert_ne!(found.outcome(), Outcome::Violates, "{:?}", broken(&found));
    }
}

#[test]
fn nothing_is_late_in_the_recordings() {
    for (name, trace) in crate::judge_truncated_events::recordings() {
        assert_eq!(warnings(&validated_lines(&trace)), [""; 0], "{name}");
    }
}

/// A Job wants five pods, and gets one with each sync. The log ends some seconds after the last one.
fn pod_by_pod(seconds: i64, pods: u8, end: i64) -> Summary {
    let mut log = Log::default();
    let mut job = log.job_with("a", &json!({ "parallelism": 5, "completions": 5 }));
    log.wait(1);
    for number in 1..=pods {
        log.pod(&job, number);
        log.status(&mut job, (number, 0));
        log.wait(seconds);
    }
    log.wait(end - seconds);
    let mut other = log.job("b");
    log.serve(&mut other);
    log.verdict()
}

/// Idle times with the same obligation add up, unless they are so short that a client may be at work.
#[test]
fn a_part_of_the_work_from_time_to_time_is_late() {
    for (seconds, pods, end, expected) in [
        (40, 4, 40, (Outcome::Conforms, 0)),
        (100, 1, 100, (Outcome::Conforms, 0)),
        (100, 4, 30, (Outcome::Conforms, 1)),
        (100, 4, 100, (Outcome::Conforms, 1)),
        (100, 5, 200, (Outcome::Conforms, 1)),
    ] {
        let found = pod_by_pod(seconds, pods, end);
        let told = (found.outcome(), warnings(&found).len());
        assert_eq!(told, expected, "{seconds} {pods} {end}: {:?} {:?}", broken(&found), warnings(&found));
    }
}

/// A controller runs this many pods at a time for three minutes. The Job has room for three, and each pod runs for twenty seconds.
fn with_pods(at_a_time: u8) -> Summary {
    let mut log = Log::default();
    let mut job = log.job_with("a", &json!({ "parallelism": 3, "completions": 100 }));
    log.wait(1);
    let (mut number, mut succeeded) = (0, 0);
    let mut create = |log: &mut Log, job: &Value| {
        number += 1;
        log.pod(job, number)
    };
    let mut pods: Vec<Value> = (0..at_a_time).map(|_| create(&mut log, &job)).collect();
    log.status(&mut job, (at_a_time, 0));
    for _ in 0..9 {
        log.wait(20);
        for pod in &mut pods {
            log.kubelet(pod, json!({ "phase": "Succeeded" }));
        }
        log.wait(1);
        let ended = std::mem::take(&mut pods);
        pods.extend((0..at_a_time).map(|_| create(&mut log, &job)));
        let uids: Vec<&Value> = ended.iter().map(|pod| &pod["metadata"]["uid"]).collect();
        let listed = json!({ "succeeded": uids });
        log.write(
            &mut job,
            &json!({ "active": at_a_time, "succeeded": succeeded, "uncountedTerminatedPods": listed }),
        );
        for mut pod in ended {
            log.release(&mut pod);
        }
        succeeded += at_a_time;
        log.write(&mut job, &json!({ "active": at_a_time, "succeeded": succeeded }));
    }
    log.verdict()
}

/// PC-04: a controller whose syncs leave out pods is late, however short its idle times are.
#[test]
fn a_controller_that_ignores_parallelism_is_told() {
    for (at_a_time, expected) in [(3, 0), (1, 1)] {
        let found = with_pods(at_a_time);
        assert_eq!(found.outcome(), Outcome::Conforms, "{at_a_time}: {:?}", broken(&found));
        assert_eq!(warnings(&found).len(), expected, "{at_a_time}: {:?}", warnings(&found));
    }
}
