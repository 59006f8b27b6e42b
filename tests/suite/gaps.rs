//! What a trace does not show is no violation: interrupted watches, and levels that hide an answer.
#![expect(clippy::unwrap_used, reason = "a test that lacks its recordings may panic")]

use std::fs;

use jobcheck_judge::validate::{Options, Outcome, Summary, Validator};
use jobcheck_tests::corpus::folder;
use jobcheck_traces::{Input, Reader};
use serde_json::{Value, json};

/// The lines of a recording.
pub(crate) fn lines(recording: &str) -> Vec<Value> {
    let file = format!("{recording}.jsonl");
    let path = ["recordings", "known"].map(|of| folder().join(of).join(&file));
    let path = path.iter().find(|path| path.exists()).unwrap();
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Judges lines as one file.
pub(crate) fn judge(lines: &[Value]) -> Summary {
    judge_files(&[lines])
}

/// Judges several files as one trace.
pub(crate) fn judge_files(files: &[&[Value]]) -> Summary {
    let text = |lines: &&[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let inputs: Vec<Input> =
        files.iter().map(|lines| Input::Bytes("trace".to_owned(), text(lines).into_bytes())).collect();
    let mut reader = Reader::open(&inputs);
    let mut validator = Validator::new(Options::default());
    while let Some(record) = reader.next().unwrap() {
        validator.feed(&record).unwrap();
    }
    validator.finish()
}

/// The violations, in words.
pub(crate) fn broken(summary: &Summary) -> Vec<String> {
    summary
        .jobs
        .iter()
        .flat_map(|job| &job.violations)
        .map(|it| format!("{} {}", it.req(), it.write))
        .collect()
}

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

/// The objects that there are after some lines of a watch stream, as a new watch shows them.
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
        let whole = lines(&format!("{scenario}.watch"));
        for from in 2..whole.len() - LOST {
            let mut trace = whole[..from].to_vec();
            trace.extend(listed(&whole[..from + LOST]));
            trace.extend_from_slice(&whole[from + LOST..]);
            let summary = judge(&trace);
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
        let whole = lines(&format!("{scenario}.watch"));
        for from in 1..whole.len() {
            let mut trace = listed(&whole[..from]);
            trace.extend_from_slice(&whole[from..]);
            let summary = judge(&trace);
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
fn the_first_sight_of_a_changed_job_is_not_its_creation() {
    let mut trace = lines("created-suspended.watch");
    trace[0]["object"]["metadata"]["generation"] = json!(2);
    let summary = judge(&trace[..1]);
    assert_ne!(summary.outcome(), Outcome::Violates, "{:?}", broken(&summary));
}

#[test]
fn a_watch_with_an_error_in_it_is_inconclusive() {
    let expired = json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410
    }});
    for scenario in SCENARIOS {
        let whole = lines(&format!("{scenario}.watch"));
        for from in 2..whole.len() - 4 {
            let mut trace = whole[..from].to_vec();
            trace.push(expired.clone());
            trace.extend_from_slice(&whole[from + 4..]);
            let summary = judge(&trace);
            assert_ne!(
                summary.outcome(),
                Outcome::Violates,
                "{scenario} from {from}: {:?}",
                broken(&summary)
            );
        }
    }
}

/// A level that hides the answers of some requests.
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
        let whole = lines(&format!("{scenario}.audit"));
        for level in ["Request", "Metadata"] {
            for verb in ["delete", "patch", "update"] {
                let mut trace = whole.clone();
                hide(&mut trace, level, |line| {
                    line["verb"] == verb && line["objectRef"]["resource"] == "jobs"
                });
                let summary = judge(&trace);
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
    let mut trace = lines("job-deleted-orphan.audit");
    // Without it the conflicts that it caused have no reason either.
    trace.retain(|line| line["verb"] != "delete" && line["responseStatus"]["code"] != 409);
    let summary = judge(&trace);
    assert_eq!(summary.outcome(), Outcome::Inconclusive, "{:?}", broken(&summary));
}
