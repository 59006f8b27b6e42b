//! The report on traces does not depend on the number of threads that judge them.

use std::num::NonZero;
use std::path::PathBuf;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;
use serde_json::Value;

/// The report with so many threads, and the highest number of bytes that was shown as read.
fn report(traces: &[Vec<Input>], threads: usize) -> (Value, u64) {
    let mut shown = 0;
    let judging = Judging { threads: NonZero::new(threads), keeps_story: true, ..Judging::default() };
    let report = judge(traces, &judging, &mut |read, _| shown = shown.max(read));
    (serde_json::to_value(&report).unwrap(), shown)
}

fn assert_equal_reports(traces: &[Vec<Input>]) -> Value {
    let (alone, bytes) = report(traces, 1);
    for threads in [2, 3, 8] {
        let (several, shown) = report(traces, threads);
        assert!(alone == several, "{threads} threads");
        assert_eq!(bytes, shown, "{threads} threads");
    }
    alone
}

fn recordings(suffix: &str) -> Vec<Input> {
    let files = std::fs::read_dir(folder().join("recordings")).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(suffix));
    paths.sort();
    assert!(paths.len() > 20);
    paths.into_iter().map(Input::Path).collect()
}

#[test]
fn many_traces_and_one_large_trace_have_the_same_report_on_several_threads() {
    let apart: Vec<Vec<Input>> = recordings(".jsonl").into_iter().map(|input| vec![input]).collect();
    assert_equal_reports(&apart);
    assert_equal_reports(&[recordings(".audit.jsonl")]);
    assert_equal_reports(&[recordings(".watch.jsonl"), recordings(".audit.jsonl")]);
}

#[test]
fn unreadable_inputs_have_the_same_report_on_several_threads() {
    let text = std::fs::read_to_string(folder().join("recordings/per-index-backoff.audit.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let bytes = |name: &str, lines: &[&str]| Input::Bytes(name.to_owned(), lines.join("\n").into_bytes());
    let middle = lines.len() / 2;
    let untyped = text.replace("\"backoffLimitPerIndex\":", "\"backoffLimitPerIndex\":\"x\",\"_\":");
    let cut = &text[..text.len() / 3];
    let traces = [
        vec![
            bytes("begins", &[&lines[..middle], &["{", "null"]].concat()),
            bytes("goes on", &lines[middle..]),
        ],
        vec![bytes("first", &lines[..middle]), bytes("garbage", &["x"]), bytes("rest", &lines[middle..])],
        vec![Input::Bytes("untyped".to_owned(), untyped.into_bytes())],
        vec![Input::Bytes("cut".to_owned(), cut.as_bytes().to_vec())],
        vec![Input::Bytes("empty".to_owned(), Vec::new())],
        vec![Input::Path("no-such-file.jsonl".into())],
    ];
    let report = assert_equal_reports(&traces);
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(14), "{}", report["errors"]);
}
