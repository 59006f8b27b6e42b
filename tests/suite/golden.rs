//! Golden verdicts: the verdicts on a few thousand traces, one line each, are compared with `tests/suite/golden/`.
//!
//! The corpus states which traces must be rejected. These files record every decision, wrong ones included, so that a
//! change of the judge shows each verdict that it changes. A line contains only facts that a program reads from the
//! report:
//!
//! - the exit code, and the number of judged writes
//! - the lines that cannot be read
//! - the profile and the verdict of each Job
//! - the ids of violations with labels and lines, and the ids of pending obligations
//! - the numbers of reasons and warnings

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use jobcheck_adapter::mutations::is_of_the_plan;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::scopes as model_scopes;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::{Assumption, Judging, judge};
use jobcheck_scenario::read;
use jobcheck_scenario::render::native;
use jobcheck_sim::fuzz::{Draft, Menu};
use jobcheck_tests::corpus::{folder, root};
use jobcheck_tests::expected;
use jobcheck_tests::scopes::walked;
use jobcheck_tests::traces::{joined, parsed, watch_of};
use jobcheck_traces::Input;
use serde_json::Value;

/// The verdict on one trace, in one line.
fn verdict(name: &str, trace: Vec<u8>, assume: Vec<Assumption>) -> String {
    let input = Input::Bytes(name.to_owned(), trace);
    let report = judge(&[vec![input]], &Judging { assume, ..Judging::default() }, &mut |_, _| {});
    digest(&serde_json::to_value(report).unwrap())
}

fn count(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

fn digest(report: &Value) -> String {
    let mut line = format!("exit {}, {} judged", report["exitCode"], report["judgedWrites"]);
    let trace_doubts: usize =
        report["traces"].as_array().unwrap().iter().map(|trace| count(&trace["doubts"])).sum();
    if trace_doubts > 0 {
        write!(line, ", {trace_doubts} doubts").unwrap();
    }
    for error in report["errors"].as_array().unwrap() {
        write!(line, ", unreadable at {}", error["line"]).unwrap();
    }
    for job in report["jobs"].as_array().unwrap() {
        write!(line, " | {} {}", job["profile"].as_str().unwrap(), job["verdict"].as_str().unwrap()).unwrap();
        for finding in job["violations"].as_array().unwrap() {
            let known = finding["known"].as_str().map_or(String::new(), |id| format!(" KNOWN {id}"));
            let id = finding["requirement"].as_str().unwrap_or("-");
            write!(line, ", {id}{known} at {}", finding["line"]).unwrap();
        }
        for (field, label) in [("doubts", "doubts"), ("warnings", "warnings")] {
            if count(&job[field]) > 0 {
                write!(line, ", {} {label}", count(&job[field])).unwrap();
            }
        }
        for pending in job["pending"].as_array().unwrap() {
            write!(line, ", pending {}", pending["requirement"].as_str().unwrap()).unwrap();
        }
    }
    line
}

/// Compares the verdicts with the file of this name. Neighbours with the same verdict share a line.
fn compare(file: &str, verdicts: &[(String, String)]) {
    let mut text = String::new();
    let mut at = 0;
    while at < verdicts.len() {
        let (name, verdict) = &verdicts[at];
        let (group, _) = name.rsplit_once(' ').unwrap_or((name, ""));
        let same = |(other, found): &&(String, String)| {
            found == verdict && other.rsplit_once(' ').is_some_and(|(it, _)| it == group)
        };
        let run = 1 + verdicts[at + 1..].iter().take_while(same).count();
        let last = &verdicts[at + run - 1].0;
        let to = if run > 1 { format!("..{}", last.rsplit(' ').next().unwrap()) } else { String::new() };
        writeln!(text, "{name}{to}: {verdict}").unwrap();
        at += run;
    }
    expected::check(&format!("tests/suite/golden/{file}"), &text);
}

fn traces_of(part: &str) -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = fs::read_dir(folder().join(part))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl" || it == "gz"))
        .map(|path| (format!("{part}/{}", path.file_name().unwrap().to_string_lossy()), path))
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpus_has_its_verdicts() {
    let parts = ["recordings", "known", "1.35", "invalid"];
    let files = parts.iter().flat_map(|part| traces_of(part));
    let verdicts: Vec<_> = files
        .map(|(name, path)| (name.clone(), verdict(&name, fs::read(path).unwrap(), Vec::new())))
        .collect();
    compare("corpus.txt", &verdicts);
}

/// Each recording without one of its lines, and each of its beginnings.
#[test]
fn recordings_with_lines_missing_have_their_verdicts() {
    let mut verdicts = Vec::new();
    for (name, path) in ["recordings", "known"].iter().flat_map(|part| traces_of(part)) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > 120 {
            continue;
        }
        for number in 0..lines.len() {
            let rest = [&lines[..number], &lines[number + 1..]].concat().join("\n");
            verdicts.push((
                format!("{name} without {}", number + 1),
                verdict(&name, rest.into_bytes(), Vec::new()),
            ));
        }
        for number in 1..lines.len() {
            let head = lines[..number].join("\n");
            verdicts.push((format!("{name} up to {number}"), verdict(&name, head.into_bytes(), Vec::new())));
        }
        for number in 1..lines.len() {
            let tail = lines[number..].join("\n");
            verdicts.push((format!("{name} after {number}"), verdict(&name, tail.into_bytes(), Vec::new())));
        }
    }
    compare("cut.txt", &verdicts);
}

/// A native trace, and the same as an audit log and as a watch.
fn forms(name: &str, native: Vec<u8>, verdicts: &mut Vec<(String, String)>) {
    let values = parsed(std::str::from_utf8(&native).unwrap());
    let text = |lines: &[Value]| joined(lines).into_bytes();
    let header = &values[0]["assume"];
    let assumed =
        |name: &str| header[name].as_str().map(|text| Assumption::parse(&format!("{name}={text}")).unwrap());
    let assume: Vec<Assumption> =
        ["pod-failure-backoff", "max-uncounted-pods"].iter().filter_map(|name| assumed(name)).collect();
    let is_logged = |line: &&Value| !line["request"].is_null() || !line["format"].is_null();
    let log: Vec<Value> = values.iter().filter(is_logged).cloned().collect();
    verdicts.push((format!("{name} native"), verdict(name, native, Vec::new())));
    verdicts.push((format!("{name} log"), verdict(name, text(&log), Vec::new())));
    verdicts.push((format!("{name} watch"), verdict(name, text(&watch_of(&values)), assume)));
}

#[test]
fn walks_have_their_verdicts() {
    let mut verdicts = Vec::new();
    let reference =
        [reference::one_fault(), reference::ttl(), reference::rollouts(), reference::recreation()].concat();
    let mut seen = BTreeMap::new();
    for scope in reference.into_iter().chain(model_scopes::all()) {
        let number = seen.entry(scope.name).or_insert(0);
        *number += 1;
        for seed in 0..3 {
            let trace = native(&scope, &walked(&scope, seed), None).unwrap();
            forms(&format!("{} {number} seed {seed}", scope.name), trace, &mut verdicts);
        }
    }
    compare("walks.txt", &verdicts);
}

#[test]
fn counterexamples_have_their_verdicts() {
    let mut verdicts = Vec::new();
    for mutant in MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property()) {
        let hunt = mutant.hunt();
        let trace = native(&mutant.scope(), &hunt.found().unwrap().path, None).unwrap();
        forms(mutant.id, trace, &mut verdicts);
    }
    compare("counterexamples.txt", &verdicts);
}

#[test]
fn simulated_runs_have_their_verdicts() {
    let mut verdicts = Vec::new();
    let mut run = |name: &str, text: &str, seed: u64, mutations: &Mutations| {
        if let Ok(outcome) = jobcheck_sim::run(&read(text).unwrap(), seed, mutations) {
            forms(name, outcome.trace, &mut verdicts);
        }
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("tests/suite/fuzzed")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let found: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for seed in (0..4).chain([found]) {
            run(&format!("fuzzed/{found} seed {seed}"), &text, seed, &Mutations::default());
        }
    }
    let menu = Menu { faults: true, real_time: false };
    for seed in 0..300 {
        let text = Draft::of(seed, menu).text("fuzz", "drawn");
        run(&format!("drawn {seed}"), &text, seed, &Mutations::default());
    }
    for mutant in MUTANTS.iter().filter(|mutant| is_of_the_plan(mutant)) {
        let mutations = Mutations::of(mutant.mutations);
        for seed in 0..12 {
            let text = Draft::of(seed, menu).text("fuzz", "drawn");
            run(&format!("{} drawn {seed}", mutant.id), &text, seed, &mutations);
        }
    }
    compare("simulated.txt", &verdicts);
}
