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

/// TC-15: near misses of times that are violations.
#[test]
fn times_within_their_tolerance_conform() {
    let shown = |line: &str, seconds: &str| {
        format!(
            "set {line} /responseObject/status/conditions/0/lastTransitionTime \"2026-11-21T00:{seconds}Z\" if /responseObject/kind \"Job\""
        )
    };
    let cases = [
        // The condition is set at 00:28:32, and the Job was created at 00:28:30.
        ("nonindexed-success.audit", shown("16-", "28:27")),
        ("nonindexed-success.audit", shown("16-", "28:31")),
        // The version that the sync has read was written at 00:35:38.
        ("suspend-resume.audit", shown("16-", "35:39")),
    ];
    for (from, edit) in cases {
        let summary = judge(from, &[&edit]);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{from} {edit}: {:?}", broken(&summary));
        assert!(warnings(&summary).is_empty());
    }
}

/// A mirror copies the times of another cluster.
#[test]
fn a_mirror_may_copy_earlier_times() {
    let earlier = "set 1- /responseObject/status/conditions/0/lastTransitionTime \"2020-11-21T00:00:00Z\" if /responseObject/kind \"Job\"";
    let summary = judge("managed-by-mirror.audit", &[earlier]);
    assert!(broken(&summary).iter().all(|text| !text.contains("TC-15")), "{:?}", broken(&summary));
}

/// SY-11 binds the built-in controller, and only traces that name it show which writes are its own.
#[test]
fn a_user_may_write_spec_and_labels() {
    assert_eq!(judge("elastic-indexed.audit", &[]).outcome(), Outcome::Conforms);
    let labelled = "set 5 /requestObject/metadata {\"labels\": {\"team\": \"a\"}}";
    assert_eq!(judge("nonindexed-success.audit", &[labelled]).outcome(), Outcome::Conforms);
}

#[test]
fn changes_by_admission_are_not_held_against_the_controller() {
    for edit in [
        "set 2 /responseObject/spec/containers/0/image \"mirror.example.com/pause\"",
        "set 2 /responseObject/spec/containers/- {\"name\":\"sidecar\",\"image\":\"proxy\"}",
        "set 2 /responseObject/spec/containers/0/env [{\"name\": \"ADDED\", \"value\": \"1\"}]",
        "set 2 /responseObject/spec/initContainers [{\"name\": \"proxy\", \"image\": \"proxy\"}]",
        "set 2 /responseObject/metadata/labels/team \"a\"",
    ] {
        let summary = judge("nonindexed-success.audit", &[edit]);
        assert_eq!(summary.outcome(), Outcome::Conforms, "{edit}");
    }
}

#[test]
fn a_container_that_admission_adds_needs_no_index() {
    for list in ["containers/-", "initContainers"] {
        let sidecar = "{\"name\":\"sidecar\",\"image\":\"proxy\",\"restartPolicy\":\"Always\"}";
        let value = if list == "initContainers" { format!("[{sidecar}]") } else { sidecar.to_owned() };
        for (from, object) in
            [("indexed-success.audit", "responseObject"), ("indexed-success.watch", "object")]
        {
            let edit = format!("set 2 /{object}/spec/{list} {value}");
            let summary = judge(from, &[&edit]);
            assert_eq!(summary.outcome(), Outcome::Conforms, "{from} {list}: {:?}", broken(&summary));
        }
    }
}

#[test]
fn a_watch_does_not_show_who_changed_a_value_of_the_template() {
    for edit in [
        "set 2 /object/spec/containers/0/image \"mirror.example.com/pause\"",
        "set 2 /object/spec/restartPolicy \"OnFailure\"",
        "set 2 /object/spec/terminationGracePeriodSeconds 5",
        "set 2 /object/spec/containers/0/env [{\"name\":\"JOB_COMPLETION_INDEX\",\"value\":\"0\"}]",
    ] {
        let summary = judge("indexed-success.watch", &[edit]);
        assert_eq!(summary.outcome(), Outcome::Inconclusive, "{edit}");
        let doubts = &summary.jobs[0].reservations;
        assert!(doubts.len() == 1 && doubts[0].text.contains("admission"), "{edit}: {doubts:?}");
    }
}

#[test]
fn a_container_keeps_the_index_variable_of_its_template() {
    let own = "[{\"name\":\"JOB_COMPLETION_INDEX\",\"value\":\"own\"}]";
    let edits = [
        format!(
            "set 1- /responseObject/spec/template/spec/containers/0/env {own} if /responseObject/kind \"Job\""
        ),
        format!("set 2-3 /requestObject/spec/containers/0/env {own}"),
        format!("set 9-10 /requestObject/spec/containers/0/env {own}"),
    ];
    let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
    let summary = judge("indexed-success.audit", &edits);
    assert_eq!(summary.outcome(), Outcome::Conforms, "{:?}", broken(&summary));
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
