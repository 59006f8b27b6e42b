//! Other minor versions: what their rules take, and what they do not.

use jobcheck_harness::report::{Judging, ReplayReport, judge};
use jobcheck_harness::validate::Outcome;
use jobcheck_model::Req;
use jobcheck_model::apiserver::RuleSet;
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;

/// Judges a trace of the corpus by these rules; by those of its header, if it has one, where none are given.
fn judged(trace: &str, rules: Option<RuleSet>, change: impl Fn(String) -> String) -> ReplayReport {
    let text = std::fs::read_to_string(folder().join(trace)).unwrap();
    let input = Input::Bytes(trace.to_owned(), change(text).into_bytes());
    let judging = Judging { kubernetes: rules, ..Judging::default() };
    judge(&[vec![input]], &judging, &mut |_, _| {})
}

/// What it is judged to be, and the requirement that is broken first.
fn verdict(report: &ReplayReport) -> (Outcome, Option<Req>) {
    let first = report.jobs.iter().flat_map(|job| &job.violations).next();
    (report.verdict, first.and_then(|it| it.requirement).map(|id| id.0))
}

#[test]
fn a_suspension_that_keeps_the_start_time_is_right_before_1_36_alone() {
    let kept = "invalid/SU-02--start-time-kept.audit.jsonl";
    let of = |rules| verdict(&judged(kept, Some(rules), |text| text));
    assert_eq!(of(RuleSet::V1_36), (Outcome::Violates, Some(Req::SU02)));
    assert_eq!(of(RuleSet::V1_37), (Outcome::Violates, Some(Req::SU02)));
    assert_eq!(of(RuleSet::V1_35), (Outcome::Conforms, None));
    assert_eq!(of(RuleSet::V1_34), (Outcome::Conforms, None));
    // What clears it, as 1.36 and our controllers do, is right everywhere.
    let cleared = "recordings/suspend-resume.audit.jsonl";
    assert_eq!(verdict(&judged(cleared, Some(RuleSet::V1_35), |text| text)), (Outcome::Conforms, None));
}

#[test]
fn a_suspension_that_moves_the_start_time_is_wrong_in_every_version() {
    let kept = "invalid/SU-02--start-time-kept.audit.jsonl";
    for rules in [RuleSet::V1_35, RuleSet::V1_36] {
        let moved = judged(kept, Some(rules), |text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for line in &mut lines[10..13] {
                *line = line.replace(
                    "\"startTime\":\"2026-11-21T00:35:38Z\"",
                    "\"startTime\":\"2026-11-21T00:35:37Z\"",
                );
            }
            lines.join("\n") + "\n"
        });
        assert_eq!(verdict(&moved), (Outcome::Violates, Some(Req::SU02)), "{rules:?}");
    }
}
