use super::*;
use jobcheck_judge::replay::{Grouping, Judging, group, judge};

fn page(files: &[&str], roles: &[String], most_steps: usize) -> Page {
    let input = |file: &&str| Input::Path(format!("../../traces/corpus/{file}").into());
    let traces = group(files.iter().map(input).collect(), Grouping::Each, &mut |_, _| {});
    let report = judge(&traces, &Judging { keeps_story: true, ..Judging::default() }, &mut |_, _| {});
    Page::new(&Source { traces: &traces, roles, most_steps, until: None }, &report)
}

#[test]
fn a_page_without_time_says_so() {
    let trace = vec![vec![Input::Path(format!("../../traces/corpus/{GOOD}").into())]];
    let report = judge(&trace, &Judging::default(), &mut |_, _| {});
    let source = Source { traces: &trace, roles: &[], most_steps: 100, until: Some(Instant::now()) };
    let page = Page::new(&source, &report);
    assert_eq!((page.steps.len(), page.jobs.len()), (0, 1));
    assert!(page.notes.iter().any(|note| note.contains("--budget")), "{:?}", page.notes);
}

fn has_all(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part} is missing in {text}"));
}

const GOOD: &str = "recordings/nonindexed-success.audit.jsonl";
const BAD: &str = "invalid/FT-03--released-before-recorded.audit.jsonl";

#[test]
fn the_steps_tell_the_life_of_a_job() {
    let page = page(&[GOOD], &[], 100);
    let told: Vec<&str> = page.steps.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(
        told,
        [
            "creates the Job",
            "creates pod job-d594x",
            "creates pod job-dplbc",
            "writes the status: active 2, ready 0, terminating 0",
            "reports that pod job-d594x is Running: Ready",
            "reports that pod job-dplbc is Running: Ready",
            "reports that pod job-d594x is Succeeded: Ready False",
            "reports that pod job-dplbc is Succeeded: Ready False",
            "creates pod job-kp7fz",
            "writes the status: active 2 → 1, uncountedTerminatedPods.succeeded = job-d594x job-dplbc",
            "removes the tracking finalizer of pod job-dplbc",
            "removes the tracking finalizer of pod job-d594x",
            "writes the status: succeeded 2, uncountedTerminatedPods.succeeded: 2 removed",
            "reports that pod job-kp7fz is Running: Ready",
            "reports that pod job-kp7fz is Succeeded: Ready False",
            "writes the status: SuccessCriteriaMet, uncountedTerminatedPods.succeeded = job-kp7fz, active 1 → 0",
            "removes the tracking finalizer of pod job-kp7fz",
            "writes the status: completionTime 2026-11-21T00:28:32Z, Complete, succeeded 2 → 3, \
             uncountedTerminatedPods.succeeded: 1 removed",
        ]
    );
    assert!(page.steps.iter().all(|step| !step.shape.contains("job-") && !step.shape.contains("2026")));
    assert_eq!((page.left_out, page.jobs[0].steps), (0, (18, 18)));
}

#[test]
fn a_finding_has_its_step_and_the_text_of_its_rule() {
    let page = page(&[GOOD, BAD], &[], 100);
    let job = &page.jobs[0];
    assert_eq!((job.trace, job.verdict, page.jobs[1].verdict), (1, Outcome::Violates, Outcome::Conforms));
    let step = &page.steps[job.findings[0].step.unwrap()];
    assert_eq!((step.line, step.kind, step.job), (10, Kind::Pod, Some(0)));
    let fields: Vec<&str> = step.changes.iter().map(|it| page.fields[it.0].as_str()).collect();
    assert_eq!(fields, ["metadata.finalizers"]);
    assert!(page.rules["FT-03"].reason.starts_with("A pod without finalizer"));
}

#[test]
fn a_page_without_room_keeps_the_violation_and_counts_the_rest() {
    let page = page(&[GOOD, BAD], &[], 4);
    assert_eq!((page.steps.len(), page.left_out), (4, 17 - 4 + 18));
    assert_eq!(page.jobs[0].findings[0].step.map(|step| page.steps[step].line), Some(10));
    assert_eq!(page.jobs[1].steps, (18, 0));
}

#[test]
fn jobs_beyond_a_number_are_left_out_and_counted() {
    let mut jobs = page(&[GOOD, BAD], &[], 1).jobs;
    assert_eq!(limit(&mut jobs, 2), None);
    assert_eq!(limit(&mut jobs, 1).unwrap(), "showing 1 of 2 Jobs; --job and -n choose others");
    assert_eq!((jobs.len(), jobs[0].verdict), (1, Outcome::Violates));
}

#[test]
fn a_finding_about_the_end_of_the_trace_is_pinned_to_no_write() {
    let page = page(&["invalid/MR-08--announced-and-never-finished.audit.jsonl"], &[], 1_000);
    let found = page.jobs[0].findings.iter().find(|found| found.finding.is_of_the_end()).unwrap();
    let step = &page.steps[found.step.unwrap()];
    assert_eq!((step.kind, step.job, step.object), (Kind::End, Some(0), None));
    assert_eq!(step.what, "end of the trace: the Job is unfinished");
    let brief = crate::brief::brief(&page);
    assert!(brief.contains("At the last record of the Job: unfinished (succeeded "), "{brief}");
}

#[test]
fn the_first_lines_have_the_violation_the_rules_the_end_and_the_right_behaviour() {
    let brief = crate::brief::brief(&page(&[BAD, GOOD], &[], 100));
    has_all(
        &brief,
        &[
            "2026-11-21 00:28:31 UTC, line 10: <strong>job-controller removes the tracking finalizer of pod job-dplbc",
            "<strong>FT-03</strong>, 2 times: The finalizer of a pod to be counted",
            "The end</dt><dd>At the last record of the Job, 0.9s later: Complete since 00:28:32 (succeeded 3, failed 0).",
            "What it should have done</h3>\n<ol>\n<li>Write the UID of the terminated pod",
        ],
    );
    assert_eq!(crate::brief::brief(&page(&[GOOD], &[], 100)), "");
}

#[test]
fn a_job_knows_its_copies_on_other_clusters() {
    let roles = ["manager".to_owned(), "worker 1".to_owned()];
    let page = page(
        &["third-party/kueue-manager.audit.jsonl.gz", "third-party/kueue-mk-a.audit.jsonl.gz"],
        &roles,
        20_000,
    );
    let again = page.jobs.iter().position(|job| job.job.contains("remote-deleted-after-failure")).unwrap();
    let lives = crate::copies::copies(&page, again).unwrap();
    has_all(
        &lives,
        &[
            "kueue (multikueue) creates copy 1 on worker 1 at 03:31:15 (line 240)",
            ", and mk-user deletes it at 03:31:18 (line 252)",
            " (succeeded 0, failed 1). Then kueue (multikueue) creates copy 2 on worker 1 at ",
            ", and it is there at the end of the trace (succeeded 1, failed 0)",
            "Each copy counts its own pods, from 0.",
        ],
    );
    let (copied, _) = page.jobs.iter().enumerate().find(|(_, job)| !job.beside.is_empty()).unwrap();
    let job = &page.jobs[copied];
    let copy = &page.jobs[job.beside[0]];
    assert!(copy.job == job.job && copy.trace != job.trace && copy.beside.contains(&copied));
    let labels = |name: &str| -> Vec<(usize, &str)> {
        page.jobs.iter().filter(|job| job.job == name).map(|job| (job.trace, job.label.as_str())).collect()
    };
    let twice = page.jobs.iter().find(|job| job.label == "copy 2").unwrap();
    let mut labels = labels(&twice.job);
    labels.sort_unstable();
    assert_eq!(labels[..3], [(0, ""), (1, "copy 1"), (1, "copy 2")]);
}

/// A watch shows no senders, and a recording may begin in mid-life.
#[test]
fn the_life_of_a_copy_names_nobody_that_the_trace_does_not_show() {
    let roles = ["manager".to_owned(), "worker 1".to_owned()];
    let traces = ["third-party/kueue-manager.audit.jsonl.gz", "third-party/kueue-mk-a.audit.jsonl.gz"];
    let mut page = page(&traces, &roles, 20_000);
    let again = page.jobs.iter().position(|job| job.job.contains("remote-deleted-after-failure")).unwrap();
    page.steps.iter_mut().for_each(|step| step.actor = None);
    has_all(
        &crate::copies::copies(&page, again).unwrap(),
        &[
            "copy 1 on worker 1 appears at 03:31:15 (line 240), and it is removed at 03:31:18 (line 252)",
            ". Then copy 2 on worker 1 appears at ",
        ],
    );
}

#[test]
fn a_log_that_has_answers_out_of_order_is_shown_in_the_order_of_the_writes() {
    let read = |line, uid: &str, version| Read {
        line,
        object: Some((true, uid.to_owned(), "p".to_owned())),
        version,
        ..Read::default()
    };
    let mut reads =
        vec![read(1, "a", Some(3)), read(2, "b", Some(9)), read(3, "a", None), read(4, "a", Some(2))];
    in_order_of_versions(&mut reads);
    assert_eq!(reads.iter().map(|it| it.line).collect::<Vec<_>>(), [4, 2, 3, 1]);
}

#[test]
fn senders_have_the_names_of_their_controllers() {
    let mut page = page(&[GOOD], &[], 1);
    page.actors.clear();
    for (user, agent, name) in [
        (
            "kcm",
            "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/job-controller",
            "job-controller (kcm)",
        ),
        ("a", "kueue/v0.0.0 (linux/amd64) kueue/$Format", "kueue (a)"),
        ("kubelet", "", "kubelet"),
    ] {
        let number = page.actor(user, agent);
        assert_eq!(page.actors[number], name);
    }
}
