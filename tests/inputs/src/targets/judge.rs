//! The judge.

use std::num::NonZeroUsize;

use jobcheck_judge::replay::{Clusters, Grouping, Judging, group, judge, judge_clusters};
use jobcheck_judge::report::ReplayReport;
use jobcheck_traces::{Input, Redactor};
use serde_json::{Deserializer, Value};

use super::readers::{NEXT_FILE, inputs};
use super::seeds;
use crate::{Signs, Target, sign};

pub(super) fn traces() -> Target {
    Target {
        name: "judge",
        about: "files of a trace; the report is the same again, on two threads, and of the trace as it is spread over \
                lines; a redacted trace can be judged",
        seeds: seeds::traces,
        run: run_traces,
        share: 1_200,
    }
}

pub(super) fn clusters() -> Target {
    Target {
        name: "clusters",
        about: "the files of a manager and its workers; the report is the same again",
        seeds: seeds_of_clusters,
        run: run_clusters,
        share: 400,
    }
}

fn seeds_of_clusters() -> Vec<Vec<u8>> {
    let all = seeds::files("traces/corpus/recordings", ".jsonl", 40_000);
    let manager: Vec<&Vec<u8>> = all.iter().collect();
    let pair = |it: &Vec<u8>, other: &Vec<u8>| [&it[..], &other[..]].join(NEXT_FILE);
    let mut found: Vec<Vec<u8>> = manager.iter().step_by(5).map(|it| pair(it, it)).collect();
    found.extend(manager.windows(2).step_by(7).map(|two| pair(two[0], two[1])));
    let third = |it: &Vec<u8>| [&it[..], &it[..], &it[..]].join(NEXT_FILE);
    found.extend(manager.iter().step_by(11).map(|it| third(it)));
    found
}

fn judging(threads: usize) -> Judging {
    Judging { threads: NonZeroUsize::new(threads), keeps_story: true, ..Judging::default() }
}

fn report(inputs: Vec<Input>, threads: usize) -> ReplayReport {
    let traces = group(inputs, Grouping::Auto, &mut |_, _| {});
    judge(&traces, &judging(threads), &mut |_, _| {})
}

fn run_traces(bytes: &[u8]) -> Result<Signs, String> {
    let first = report(inputs(bytes), 1);
    let shown = as_json(&first)?;
    for threads in [1, 2] {
        same(
            &format!("judged again on {threads} threads"),
            &shown,
            &as_json(&report(inputs(bytes), threads))?,
        )?;
    }
    let redacted = redacted(bytes);
    report(inputs(&redacted), 1);
    // Texts of numbers and repeated members have no single other form, so both forms are written from the values.
    if let Some((compact, pretty)) = written_twice(bytes) {
        let (compact, pretty) = (report(inputs(&compact), 1), report(inputs(&pretty), 1));
        let is_read = |report: &ReplayReport| report.errors.is_empty();
        // Behind a value that cannot be read, only lines are read on.
        if is_read(&compact) || is_read(&pretty) {
            let [compact, pretty] = [without_places(as_json(&compact)?), without_places(as_json(&pretty)?)];
            same("the same values, spread over lines", &compact, &pretty)?;
        }
    }
    Ok(signs_of(&first))
}

fn run_clusters(bytes: &[u8]) -> Result<Signs, String> {
    let judged = || {
        let mut files = inputs(bytes);
        let manager = vec![files.remove(0)];
        let workers = group(files, Grouping::Auto, &mut |_, _| {});
        judge_clusters(&Clusters { manager, workers }, &judging(1), &mut |_, _| {})
    };
    let first = judged();
    same("judged again", &as_json(&first)?, &as_json(&judged())?)?;
    Ok(signs_of(&first))
}

fn as_json(report: &ReplayReport) -> Result<Value, String> {
    serde_json::to_value(report).map_err(|error| format!("the report cannot be written: {error}"))
}

/// The difference of two reports.
fn same(what: &str, one: &Value, other: &Value) -> Result<(), String> {
    match difference(one, other, "") {
        None => Ok(()),
        Some(at) => Err(format!("{what}: the reports differ at {at}")),
    }
}

fn difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(key, value)| difference(value, b.get(key)?, &format!("{at}/{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(index, (a, b))| difference(a, b, &format!("{at}/{index}")))
        }
        _ if one == other => None,
        _ => {
            let short = |it: &Value| it.to_string().chars().take(300).collect::<String>();
            Some(format!("{at}: {} and {}", short(one), short(other)))
        }
    }
}

/// The trace as one value a line, and spread over lines. `None` if a line is not JSON.
fn written_twice(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if bytes.windows(NEXT_FILE.len()).any(|it| it == NEXT_FILE) {
        return None;
    }
    let values: Vec<Value> =
        Deserializer::from_slice(bytes).into_iter::<Value>().collect::<Result<_, _>>().ok()?;
    let is_large = values.iter().any(|value| !value.is_object());
    let write = |form: fn(&Value) -> Option<String>| {
        let all: Option<Vec<String>> = values.iter().map(form).collect();
        all.map(|all| (all.join("\n") + "\n").into_bytes())
    };
    let compact = write(|value| serde_json::to_string(value).ok())?;
    let pretty = write(|value| serde_json::to_string_pretty(value).ok())?;
    (!is_large && !values.is_empty()).then_some((compact, pretty))
}

/// A report without numbers of lines and sizes of files.
fn without_places(mut report: Value) -> Value {
    match &mut report {
        Value::Object(members) => {
            members.retain(|key, _| {
                !matches!(
                    key.as_str(),
                    "line" | "bytes" | "lines" | "place" | "story" | "toLine" | "fromLine"
                )
            });
            members.values_mut().for_each(|value| *value = without_places(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| *value = without_places(value.take())),
        Value::String(text) => *text = without_lines(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    report
}

/// A sentence without the numbers behind `line`, `column`, and `file0:`.
fn without_lines(text: &str) -> String {
    let mut out = String::new();
    let mut in_place = false;
    for word in text.split_inclusive([' ', ':']) {
        let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
        if !(in_place && is_number) {
            out.push_str(word);
        }
        let end = word.trim_end();
        in_place = matches!(end, "line" | "lines" | "column" | "file0:" | "(line" | "(lines" | "Line")
            || (in_place && (is_number || end == "and" || end == "to"));
    }
    out
}

/// Each line redacted; a line that is not JSON stays.
fn redacted(bytes: &[u8]) -> Vec<u8> {
    let redactor = Redactor::new(std::hash::RandomState::new());
    let mut out = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let text = std::str::from_utf8(line).ok().and_then(|line| redactor.line(line).ok());
        out.extend(text.map_or(line.to_vec(), String::into_bytes));
        out.push(b'\n');
    }
    out
}

fn signs_of(report: &ReplayReport) -> Signs {
    let mut signs = Signs::new();
    for job in &report.jobs {
        signs.insert(format!("{:?} {}", job.verdict, job.profile));
        signs.extend(job.violations.iter().map(|it| {
            format!("{:?} {:?}", it.requirement.map(|id| id.0.id()), it.known.map(|id| id.0.id()))
        }));
        signs.extend(job.doubts.iter().map(|doubt| sign(doubt)));
        signs.extend(job.warnings.iter().map(|it| sign(&format!("{it:?}"))));
        signs.extend(job.pending.iter().map(|it| sign(&format!("{it:?}"))));
    }
    signs.extend(report.doubts.iter().map(|doubt| sign(doubt)));
    signs.extend(report.errors.iter().map(|error| sign(&error.message)));
    signs
}
