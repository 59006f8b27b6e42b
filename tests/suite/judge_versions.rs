//! Other minor versions of Kubernetes: their rules, and the known deviations of their built-in controllers.

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Finding, ReplayReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_tests::traces::{input, lines, replayed};
use jobcheck_traces::Input;
use serde_json::{Value, json};

/// Recordings of kube-controller-manager 1.35.4 on its own control plane. Their headers name the version.
const OF_1_35: [&str; 4] = ["suspend-resume", "backoff", "per-index-backoff", "ready-backoff"];
const KEPT: &str = "invalid/SU-02--start-time-kept.audit.jsonl";

/// The report by these rules; by those of the header if there are none.
fn judged(lines: &[Value], rules: Option<RuleSet>) -> ReplayReport {
    replayed(lines, &Judging { kubernetes: rules, ..Judging::default() })
}

/// The verdict, and the first violation: its requirement, and its known deviation.
fn verdict(report: &ReplayReport) -> (Outcome, Option<(Req, Option<Req>)>) {
    let first = report.jobs.iter().flat_map(|job| &job.violations).next();
    let ids = |it: &Finding| Some((it.requirement?.0, it.known.map(|id| id.0)));
    (report.verdict, first.and_then(ids))
}

fn of_1_35(name: &str) -> Vec<Value> {
    lines(&format!("1.35/{name}.jsonl"))
}

const CONFORMS: (Outcome, Option<(Req, Option<Req>)>) = (Outcome::Conforms, None);
const KNOWN: (Outcome, Option<(Req, Option<Req>)>) = (Outcome::Violates, Some((Req::BO02, Some(Req::BO02))));

/// A violation without a known deviation.
fn plain(req: Req) -> (Outcome, Option<(Req, Option<Req>)>) {
    (Outcome::Violates, Some((req, None)))
}

#[test]
fn a_suspension_that_keeps_the_start_time_conforms_only_before_1_36() {
    let kept = lines(KEPT);
    for (rules, expected) in [
        (RuleSet::V1_34, CONFORMS),
        (RuleSet::V1_35, CONFORMS),
        (RuleSet::V1_36, plain(Req::SU02)),
        (RuleSet::V1_37, plain(Req::SU02)),
        (RuleSet::V1_38, plain(Req::SU02)),
    ] {
        assert_eq!(verdict(&judged(&kept, Some(rules))), expected, "{rules:?}");
        // 1.36 and the shipped controllers clear it, which conforms in every version.
        let cleared = lines("recordings/suspend-resume.audit.jsonl");
        assert_eq!(verdict(&judged(&cleared, Some(rules))), CONFORMS, "{rules:?}");
    }
}

#[test]
fn a_suspension_that_moves_the_start_time_violates_in_every_version() {
    let mut moved = lines(KEPT);
    for line in &mut moved[10..13] {
        if line["responseObject"]["kind"] == "Job" {
            line["responseObject"]["status"]["startTime"] = json!("2026-11-21T00:35:37Z");
        }
    }
    for rules in [RuleSet::V1_35, RuleSet::V1_36] {
        assert_eq!(verdict(&judged(&moved, Some(rules))), plain(Req::SU02), "{rules:?}");
    }
}

#[test]
fn recordings_of_1_35_conform_or_show_its_known_deviation() {
    for name in OF_1_35 {
        let report = judged(&of_1_35(name), None);
        let expected = if name == "suspend-resume" { CONFORMS } else { KNOWN };
        assert_eq!(verdict(&report), expected, "{name}");
        let mut violations = report.jobs.iter().flat_map(|job| &job.violations);
        assert!(violations.all(|it| it.known.is_some_and(|id| id.0 == Req::BO02)), "{name}");
        assert_eq!(report.traces[0].kubernetes, "1.35");
    }
}

#[test]
fn by_the_rules_of_1_36_the_same_recordings_violate() {
    let expected = [Req::SU02, Req::PC01, Req::PC01, Req::SS37].map(plain);
    for (name, expected) in OF_1_35.into_iter().zip(expected) {
        assert_eq!(verdict(&judged(&of_1_35(name), Some(RuleSet::V1_36))), expected, "{name}");
    }
}

/// The first status write with `active` 0, accepted or not.
fn hiding(lines: &mut [Value]) -> &mut Value {
    let hides = |line: &&mut Value| {
        let request = &line["request"];
        let is_update = request["resource"] == "jobs" && request["verb"] == "update";
        is_update && request["request"]["status"]["active"].as_i64().unwrap_or(0) == 0
    };
    &mut lines.iter_mut().find(hides).unwrap()["request"]
}

#[test]
fn a_status_without_active_pods_is_known_by_its_exact_pattern_and_by_nothing_near_it() {
    // Another number is wrong, too.
    let mut more = of_1_35("backoff");
    let write = hiding(&mut more);
    write["request"]["status"]["terminating"] = json!(1);
    write["response"]["status"]["terminating"] = json!(1);
    assert_eq!(verdict(&judged(&more, None)), plain(Req::PC01));

    // No delay runs: the pod failed long ago.
    let text = serde_json::to_string(&of_1_35("backoff")).unwrap();
    let long_ago: Vec<Value> = serde_json::from_str(&text.replace("13:32:19Z", "13:31:59Z")).unwrap();
    assert_eq!(verdict(&judged(&long_ago, None)), plain(Req::PC01));

    // In the refused write `ready` is wrong, too.
    let mut ready = of_1_35("ready-backoff");
    hiding(&mut ready)["request"]["status"]["ready"] = json!(2);
    assert_eq!(verdict(&judged(&ready, None)), plain(Req::SS37));
}

/// H3 and J-07 ended within the releases of 1.37 and 1.38, so 1.38 is the first minor version that never had them.
#[test]
fn a_deviation_that_is_mended_is_a_plain_violation_from_the_next_minor_version_on() {
    for (recording, known, plain) in
        [("s03-lost-failjob.audit.jsonl", Req::H3, Req::PC03), ("j07-heir.audit.jsonl", Req::J07, Req::BO06)]
    {
        let lines = lines(&format!("known/{recording}"));
        let found = |rules| {
            let report = judged(&lines, Some(rules));
            assert_eq!(report.verdict, Outcome::Violates);
            let all = report.jobs.iter().flat_map(|job| &job.violations);
            let ids = all.filter_map(|it| Some((it.requirement?.0, it.known.map(|id| id.0))));
            ids.collect::<Vec<_>>()
        };
        let (before, since) = (found(RuleSet::V1_37), found(RuleSet::V1_38));
        assert!(before.contains(&(known, Some(known))), "{before:?}");
        assert!(since.contains(&(plain, None)) && !since.iter().any(|(req, _)| *req == known), "{since:?}");
    }
}

/// PC-14: a sync that creates two pods per second began before the template changed. The Job was suspended and resumed
/// meanwhile.
#[test]
fn a_pod_may_have_the_template_of_the_version_that_its_sync_has_read() {
    let slow = lines("1.35/stale-template.audit.jsonl");
    assert_eq!(verdict(&judged(&slow, Some(RuleSet::V1_35))), CONFORMS);

    // No version of the Job has this image.
    let mut other = slow;
    let is_creation = |line: &&mut Value| line["verb"] == "create" && line["objectRef"]["resource"] == "pods";
    let last = other.iter_mut().filter(is_creation).last().unwrap();
    last["requestObject"]["spec"]["containers"][0]["image"] = json!("another");
    assert_eq!(verdict(&judged(&other, Some(RuleSet::V1_35))), plain(Req::PC14));
}

/// The template of a Job changes while it is suspended, or when it is resumed. No version that allows a creation has the
/// old template, so a pod with it would rest on two versions.
#[test]
fn a_pod_may_not_have_the_template_of_a_suspended_version() {
    let mut mixed = lines("recordings/created-suspended.audit.jsonl");
    assert_eq!(verdict(&judged(&mixed, None)), CONFORMS);
    for line in mixed.iter_mut().filter(|line| line["objectRef"]["resource"] == "jobs") {
        for body in ["requestObject", "responseObject"] {
            let spec = &mut line[body]["spec"];
            if spec["suspend"] == false && spec["template"].is_object() {
                spec["template"]["metadata"]["labels"]["round"] = json!("2");
            }
        }
    }
    assert_eq!(verdict(&judged(&mixed, None)), plain(Req::PC14));
}

/// A delay that is too short for a new pod.
const BROKEN_DELAY: &str = "invalid/BO-01--refused-creation-within-the-delay.audit.jsonl";

#[test]
fn assumptions_of_a_header_are_shown_and_the_order_of_the_files_decides_nothing() {
    let log = lines(BROKEN_DELAY);
    let strict = json!({"format": "jobcheck.dev/trace", "version": "1.2"});
    let mut header = strict.clone();
    header["assume"] = json!({"pod-failure-backoff": "1ms"});
    let judge_files = |files: Vec<Vec<Value>>| {
        let inputs: Vec<Input> = files.iter().map(|lines| input("log", lines)).collect();
        judge(&[inputs], &Judging::default(), &mut |_, _| {})
    };
    // The header decides for the log beside it, and the report says so.
    for files in [vec![vec![header.clone()], log.clone()], vec![log.clone(), vec![header.clone()]]] {
        let report = judge_files(files);
        assert_eq!(report.traces[0].assumed["pod-failure-backoff"], "1ms");
        assert_eq!(report.verdict, Outcome::Conforms);
    }
    // Two headers that differ decide nothing.
    for files in [
        vec![vec![header.clone()], vec![strict.clone()], log.clone()],
        vec![vec![strict.clone()], log.clone(), vec![header.clone()]],
    ] {
        let report = judge_files(files);
        assert!(report.verdict >= Outcome::Inconclusive, "{:?}", report.verdict);
        assert!(report.traces[0].doubts.iter().any(|it| it.contains("assumes something else")), "{report:?}");
    }
    let report = judge_files(vec![vec![strict.clone()], vec![strict], log]);
    assert_eq!((report.traces[0].assumed.len(), report.verdict), (0, Outcome::Violates));
}
