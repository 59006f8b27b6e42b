//! Reads, edits, and judges traces.

use std::collections::BTreeMap;
use std::fs;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_judge::validate::{Options, Summary, Validator, Violation};
use jobcheck_scenario::render::native;
use jobcheck_traces::{Input, Reader};
use serde_json::{Value, json};

use crate::corpus::{Case, folder, make};

/// The lines of a trace, by its path in the corpus.
///
/// # Panics
///
/// It cannot be read.
#[must_use]
pub fn lines(path: &str) -> Vec<Value> {
    let path = folder().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parsed(&text)
}

/// The lines of a recording, by its name without `.jsonl`, such as `ttl-zero.audit`.
///
/// # Panics
///
/// It cannot be read.
#[must_use]
pub fn recording(name: &str) -> Vec<Value> {
    let known = format!("known/{name}.jsonl");
    if folder().join(&known).exists() { lines(&known) } else { lines(&format!("recordings/{name}.jsonl")) }
}

/// The lines of a recording after some edits of `traces/corpus/README.md`.
///
/// # Panics
///
/// An edit does not fit the recording.
#[must_use]
pub fn edited(from: &str, edits: &[&str]) -> Vec<Value> {
    let case = Case {
        requirement: String::new(),
        slug: String::new(),
        from: from.to_owned(),
        edits: edits.iter().map(|edit| (*edit).to_owned()).collect(),
        known: None,
    };
    parsed(&make(&case).unwrap_or_else(|error| panic!("{error}")))
}

/// A path through a scope as the lines of a native trace.
///
/// # Panics
///
/// The path cannot be written as a trace.
#[must_use]
pub fn rendered(scope: &Scope, path: &[Step]) -> Vec<Value> {
    let trace = native(scope, path, None).unwrap_or_else(|error| panic!("{}: {error}", scope.name));
    parsed(&String::from_utf8_lossy(&trace))
}

/// The lines of a text.
///
/// # Panics
///
/// A line is no JSON.
#[must_use]
pub fn parsed(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The watch stream of the objects in a native trace.
#[must_use]
pub fn watch_of(trace: &[Value]) -> Vec<Value> {
    let (mut shown, mut latest, mut events) = (BTreeMap::new(), 0, Vec::new());
    let mut jobs: BTreeMap<String, Value> = BTreeMap::new();
    for request in trace.iter().map(|line| &line["request"]) {
        let mut object = request["response"].clone();
        let name = request["name"].to_string();
        if object["kind"] == "Job" {
            jobs.insert(name.clone(), object.clone());
        }
        let at_once =
            request["resource"] == "jobs" && request["verb"] == "delete" && object["kind"] == "Status";
        if at_once
            && request["code"] == 200
            && let Some(mut last) = jobs.remove(&name)
        {
            // The response is a Status; the watch shows the last state.
            last["metadata"]["resourceVersion"] = json!((latest + 1).to_string());
            events.push(json!({ "type": "DELETED", "object": last }));
        }
        let meta = &object["metadata"];
        let Some(version) = meta["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok()) else {
            continue;
        };
        let uid = meta["uid"].to_string();
        let ends = meta["deletionGracePeriodSeconds"] == 0 && meta["finalizers"].is_null();
        let before = shown.insert(uid, version);
        latest = version.max(latest);
        let kind = match before {
            _ if ends => "DELETED",
            Some(known) if known == version => continue,
            Some(_) => "MODIFIED",
            None => "ADDED",
        };
        if ends && before == Some(version) {
            // A removal has a version of its own, which the response to the last patch does not contain.
            object["metadata"]["resourceVersion"] = json!((latest + 1).to_string());
        }
        events.push(json!({ "type": kind, "object": object }));
    }
    events
}

/// The text of some lines.
#[must_use]
pub fn joined(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The input with this content.
#[must_use]
pub fn input(name: &str, lines: &[Value]) -> Input {
    Input::Bytes(name.to_owned(), joined(lines).into_bytes())
}

/// Validates inputs as one trace.
///
/// # Panics
///
/// An input cannot be read.
#[must_use]
pub fn validated(inputs: &[Input], options: Options) -> Summary {
    let mut reader = Reader::open(inputs);
    let mut validator = Validator::new(options);
    while let Some(record) = reader.next().unwrap_or_else(|error| panic!("{error}")) {
        let file = inputs[record.place.file as usize].name();
        validator
            .feed(&record)
            .unwrap_or_else(|error| panic!("{file}:{}: {}", error.place.line, error.problem));
    }
    validator.finish()
}

/// Validates lines with the default options.
#[must_use]
pub fn validated_lines(lines: &[Value]) -> Summary {
    validated(&[input("trace", lines)], Options::default())
}

/// Replays lines as one trace.
#[must_use]
pub fn replayed(lines: &[Value], judging: &Judging) -> ReplayReport {
    judge(&[vec![input("trace", lines)]], judging, &mut |_, _| {})
}

/// The exit of a replay with the default options.
#[must_use]
pub fn exit_of(lines: &[Value]) -> Exit {
    replayed(lines, &Judging::default()).exit_code
}

/// The violations of all Jobs.
pub fn violations(summary: &Summary) -> impl Iterator<Item = &Violation> {
    summary.jobs.iter().flat_map(|job| &job.violations)
}

/// The violations of all Jobs, each with its requirement and its write.
#[must_use]
pub fn broken(summary: &Summary) -> Vec<String> {
    violations(summary).map(|it| format!("{} {}", it.req(), it.write)).collect()
}

/// The violations, the reasons of inconclusive verdicts, and the errors of a report.
#[must_use]
pub fn described(report: &ReplayReport) -> Vec<String> {
    let findings = report.jobs.iter().flat_map(|job| &job.violations);
    let mut lines: Vec<String> = findings
        .map(|it| {
            let req = it.requirement.map_or("-", |id| id.0.id());
            format!(
                "{req} line {:?}: {} ({}: expected {}, found {})",
                it.place.line,
                it.difference.write,
                it.difference.what,
                it.difference.expected,
                it.difference.found
            )
        })
        .collect();
    lines.extend(
        report.jobs.iter().flat_map(|job| &job.doubts).map(|reason| format!("inconclusive: {reason}")),
    );
    lines.extend(report.errors.iter().map(|error| format!("error: {error:?}")));
    lines
}
