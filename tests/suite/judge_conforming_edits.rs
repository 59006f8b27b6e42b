//! Edits of recordings that break no requirement: some lead to warnings, and some change nothing.

use std::fs;

use jobcheck_judge::replay::Judging;
use jobcheck_judge::report::ReplayReport;
use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_spec::Req;
use jobcheck_tests::corpus::folder;
use jobcheck_tests::traces::{broken, edited, parsed, replayed, validated_lines, violations};

fn judge(from: &str, edits: &[&str]) -> Summary {
    validated_lines(&edited(from, edits))
}

fn warnings(summary: &Summary) -> Vec<&str> {
    summary.jobs.iter().flat_map(|job| &job.warnings).map(|warning| &*warning.text).collect()
}

#[test]
fn a_transition_time_that_moves_without_a_transition_is_a_warning() {
    // The next status write moves the time back.
    for from in ["backoff-limit-exceeded.audit", "backoff-limit-exceeded.watch"] {
        let object = if from.ends_with("audit") { "responseObject" } else { "object" };
        let edit = format!(
            "set 16 /{object}/status/conditions/0/lastTransitionTime \"2026-11-21T00:28:53Z\" if /{object}/kind \"Job\""
        );
        let summary = judge(from, &[&edit]);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{from}");
        let found = warnings(&summary);
        let moves = found.iter().filter(|text| text.contains("that of FailureTarget moves")).count();
        assert_eq!(moves, 2, "{from}: {found:?}");
    }
}

#[test]
fn a_transition_at_another_time_than_now_is_a_warning() {
    let cases = [
        (
            "nonindexed-success.audit",
            "set 18 /responseObject/status/conditions/1/lastTransitionTime \"2027-11-21T00:28:32Z\"",
            "that of Complete is 2027",
        ),
        (
            "suspend-resume.audit",
            "set 16- /responseObject/status/conditions/0/lastTransitionTime \"2020-11-21T00:35:38Z\" if /responseObject/kind \"Job\"",
            "that of Suspended is 2020",
        ),
    ];
    for (from, edit, warning) in cases {
        let summary = judge(from, &[edit]);
        let found = warnings(&summary);
        assert!(found.len() == 1 && found[0].contains(warning), "{from}: {found:?}");
        assert_eq!(summary.outcome(), Outcome::Conforms, "{from}");
    }
}

#[test]
fn changes_by_admission_are_not_held_against_the_controller() {
    for edit in [
        "set 2 /responseObject/spec/containers/0/image \"mirror.example.com/pause\"",
        "set 2 /responseObject/spec/containers/- {\"name\":\"sidecar\",\"image\":\"proxy\"}",
        "set 2 /requestObject/spec/containers/0/env [{\"name\": \"ADDED\", \"value\": \"1\"}]",
        "set 2 /requestObject/metadata/labels/team \"a\"",
        "set 2 /responseObject/metadata/labels/team \"a\"",
    ] {
        let summary = judge("nonindexed-success.audit", &[edit]);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{edit}");
    }
}

/// Each case is a near miss of a trace in `traces/corpus/edits/refused.txt`.
#[test]
fn a_write_that_a_view_explains_may_be_refused() {
    let quota = "refuse 30 403 pods \"job-\" is forbidden: exceeded quota: pods";
    let webhook = "refuse 30 403 pods \"job-dplbc\" is forbidden: denied by a webhook";
    let conflict = "refuse 30 409 Precondition failed: UID in precondition: 1, UID in object meta: 2";
    let cases: [(&str, &[&str]); 6] = [
        // A wanted pod, created again after a refusal.
        ("nonindexed-success.audit", &["copy 2 after 1 as 30", quota, "shift 30 -0.001"]),
        // The delay of 10 s has passed.
        ("exponential-backoff.audit", &["copy 8 after 7 as 30", quota, "shift 30 -0.002"]),
        // The request is not recorded.
        (
            "nonindexed-success.audit",
            &["copy 3 after 4 as 30", quota, "shift 30 0.01", "unset 30 /requestObject"],
        ),
        // The pod is recorded.
        ("nonindexed-success.audit", &["copy 11 after 10 as 30", webhook, "shift 30 -0.003"]),
        // A suspended Job loses its pods.
        ("suspend-resume.audit", &["copy 8 after 7 as 30", webhook, "shift 30 -0.004"]),
        // Another pod of this name was meant.
        (
            "nonindexed-success.audit",
            &["copy 11 after 4 as 30", "set 30 /verb \"delete\"", conflict, "shift 30 -0.95"],
        ),
    ];
    for (from, edits) in cases {
        let summary = judge(from, edits);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{from} {edits:?}: {:?}", broken(&summary));
    }
}

/// No requirement that a trace can break forbids the loop, so it is a warning (`docs/reference/judging.md`, *Refusals and
/// quiescence*).
#[test]
fn a_hot_loop_is_a_warning() {
    let cases: [(&str, &[&str]); 2] =
        [("7", &[]), ("6", &["set LINE /verb \"delete\"", "refuse LINE 404 pods \"job-rl7n6\" not found"])];
    for (copied, more) in cases {
        for (count, warned) in [(50, 1), (9, 0)] {
            let mut edits = Vec::new();
            for number in (30..30 + count).rev() {
                edits.push(format!("copy {copied} after 7 as {number}"));
                edits.extend(more.iter().map(|edit| edit.replace("LINE", &number.to_string())));
                edits.push(format!("shift {number} {}", 0.01 * f64::from(number - 29)));
            }
            let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
            let summary = judge("exponential-backoff.audit", &edits);
            let found = warnings(&summary).into_iter().filter(|text| text.contains("repeatedly")).count();
            assert_eq!((found, summary.outcome()), (warned, Outcome::Conforms), "{copied} {count}");
        }
    }
}

/// A quota may refuse any number of creations, but each one needs a view that demands a pod.
#[test]
fn a_storm_of_refused_creations_with_nothing_wanted_is_rejected() {
    let mut edits = Vec::new();
    for number in 30..80 {
        edits.push(format!("copy 3 after 4 as {number}"));
        edits.push(format!("refuse {number} 403 pods \"job-\" is forbidden: exceeded quota: pods"));
        edits.push(format!("shift {number} {}", 0.03 - 0.0005 * f64::from(number - 30)));
    }
    let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
    let summary = judge("nonindexed-success.audit", &edits);
    // The report of a Job is limited to 20 violations.
    let found: Vec<Req> = violations(&summary).map(|it| it.broken.req).collect();
    assert_eq!(found, [Req::PC04; 20]);
}

#[test]
fn a_pod_that_a_user_creates_with_the_labels_of_a_job_is_not_attributed_to_the_controller() {
    let summary = judge("adoption.audit", &[]);
    assert_eq!(summary.outcome(), Outcome::Conforms);
}

/// The reports on a recording of the built-in controller, and on the same writes by an executor that `managedBy` names.
fn of_another_executor(recording: &str) -> (ReplayReport, ReplayReport) {
    let text = fs::read_to_string(folder().join(format!("recordings/{recording}.jsonl"))).unwrap();
    let report = |text: &str| replayed(&parsed(text), &Judging::default());
    let other = text
        .replace("\"backoffLimit\":", "\"managedBy\":\"example.com/runner\",\"backoffLimit\":")
        .replace("job-controller", "acme-runner");
    (report(&text), report(&other))
}

#[test]
fn the_decisions_of_an_external_executor_are_judged_too() {
    for recording in ["success-policy.audit", "backoff-limit-exceeded.audit"] {
        let (built_in, other) = of_another_executor(recording);
        assert_eq!(other.verdict, Outcome::Conforms, "{recording}: {:?}", other.jobs[0].violations);
        let judged: Vec<_> = built_in.requirements.judged.keys().collect();
        let missing: Vec<_> =
            judged.iter().filter(|id| !other.requirements.judged.contains_key(id)).collect();
        assert!(missing.is_empty(), "{recording}: {missing:?}");
    }
}
