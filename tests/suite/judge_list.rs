//! `replay --list`: the Jobs that a report does not list are counted, and nothing else depends on it.

use std::path::PathBuf;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{List, Since};
use jobcheck_judge::validate::Wanted;
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;
use serde_json::{Value, json};

fn report(traces: &[Vec<Input>], judging: Judging) -> Value {
    let judging = Judging { keeps_story: true, ..judging };
    serde_json::to_value(judge(traces, &judging, &mut |_, _| {})).unwrap()
}

/// The Jobs of these names.
fn wanted(names: &[&str]) -> Judging {
    let jobs = names.iter().map(|&name| name.to_owned()).collect();
    Judging { wanted: Wanted { jobs, ..Wanted::default() }, ..Judging::default() }
}

/// Each audit log of these parts of the corpus, and all recordings as one trace.
fn traces() -> Vec<Vec<Input>> {
    let files = |part: &str| {
        let files = std::fs::read_dir(folder().join(part)).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".audit.jsonl"));
        paths.sort();
        paths.into_iter().map(Input::Path)
    };
    let apart = files("recordings").chain(files("invalid")).map(|input| vec![input]);
    let traces: Vec<Vec<Input>> = apart.chain([files("recordings").collect()]).collect();
    assert!(traces.len() > 100, "{}", traces.len());
    traces
}

/// The report of some Jobs as it must be, by that of all.
fn expected(mut whole: Value, is_listed: &dyn Fn(&Value) -> bool) -> Value {
    let jobs = whole["jobs"].take();
    let (listed, others): (Vec<_>, Vec<_>) =
        jobs.as_array().unwrap().iter().cloned().partition(|job| is_listed(job));
    let with = |verdict: &str| others.iter().filter(|job| job["verdict"] == verdict).count();
    whole["unlisted"] = json!([with("conforms"), with("inconclusive"), with("violates")]);
    whole["jobs"] = Value::Array(listed);
    whole
}

/// The counts of a report in place of its unlisted Jobs.
fn counted(mut report: Value) -> Value {
    let count = |key: &str| report["unlisted"][key].as_u64().unwrap_or(0);
    report["unlisted"] = json!([count("conforming"), count("inconclusive"), 0]);
    for trace in report["traces"].as_array_mut().unwrap() {
        trace.as_object_mut().unwrap().remove("unlisted");
    }
    report
}

fn is_finding(job: &Value) -> bool {
    let has = |key: &str| !job[key].as_array().unwrap().is_empty();
    job["verdict"] != "conforms" || has("warnings") || has("contradictions")
}

fn is_violation(job: &Value) -> bool {
    job["verdict"] == "violates"
}

#[test]
fn unlisted_jobs_are_counted_and_change_nothing_else() {
    let base = Judging::default;
    let requirement = jobcheck_spec::Req::parse("FT-03").unwrap();
    let (by_name, unknown) = (|| wanted(&["job"]), || wanted(&["job", "other"]));
    let options: [&dyn Fn() -> Judging; 6] = [
        &base,
        &by_name,
        &unknown,
        &|| Judging { strict: true, ..base() },
        &|| Judging { only: vec![requirement], ..base() },
        &|| Judging { since: Some(Since::BeforeEnd(5_000_000)), ..base() },
    ];
    let mut unlisted = [0, 0];
    for trace in traces() {
        let trace = [trace];
        for options in options {
            let whole = report(&trace, options());
            for (list, is_listed) in
                [(List::Findings, &is_finding as &dyn Fn(&Value) -> bool), (List::Violations, &is_violation)]
            {
                let found = counted(report(&trace, Judging { list, ..options() }));
                assert_eq!(found, expected(whole.clone(), is_listed), "{trace:?} {list:?}");
                unlisted[0] += found["unlisted"][0].as_u64().unwrap();
                unlisted[1] += found["unlisted"][1].as_u64().unwrap();
            }
        }
    }
    assert!(unlisted.iter().all(|jobs| *jobs > 50), "{unlisted:?}");
}

/// The reasons for inconclusive verdicts are counted, too.
#[test]
fn the_reasons_of_unlisted_jobs_are_counted() {
    let path = folder().join("recordings/nonindexed-success.audit.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let later: Vec<&str> = text.lines().skip(2).collect();
    let trace = [vec![Input::Bytes("later".to_owned(), later.join("\n").into_bytes())]];
    let all = report(&trace, Judging::default());
    let found = report(&trace, Judging { list: List::Violations, ..Judging::default() });
    assert_eq!(found["unlisted"]["inconclusive"], 1, "{found}");
    for reason in all["jobs"][0]["doubts"].as_array().unwrap() {
        assert_eq!(found["unlisted"]["doubts"][reason.as_str().unwrap()], 1, "{found}");
    }
    assert_eq!(found["unlisted"], found["traces"][0]["unlisted"]);
}
