//! The verdicts of the judge alone, for the suite and for the judge's own tests (`harness/judge/tests/golden.rs`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Assumption, Judging, judge};
use jobcheck_traces::Input;
use serde_json::Value;

/// The verdict on one trace, in one line.
pub fn verdict(name: &str, trace: Vec<u8>, assume: Vec<Assumption>) -> String {
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

/// The verdicts as the lines of a golden file. Neighbours with the same verdict share a line.
pub fn lines(verdicts: &[(String, String)]) -> String {
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
    text
}

fn traces_of(corpus: &Path, part: &str) -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = fs::read_dir(corpus.join(part))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl" || it == "gz"))
        .map(|path| (format!("{part}/{}", path.file_name().unwrap().to_string_lossy()), path))
        .collect();
    files.sort();
    files
}

/// The verdicts on the traces of the corpus.
pub fn whole(corpus: &Path) -> Vec<(String, String)> {
    let parts = ["recordings", "known", "1.35", "invalid", "managers"];
    let files = parts.iter().flat_map(|part| traces_of(corpus, part));
    files.map(|(name, path)| (name.clone(), verdict(&name, fs::read(path).unwrap(), Vec::new()))).collect()
}

/// The verdicts on each recording without one of its lines, and on each of its beginnings and ends. Recordings with more
/// than 120 lines, or more than `most`, are left out.
pub fn cut(corpus: &Path, most: usize) -> Vec<(String, String)> {
    let mut verdicts = Vec::new();
    for (name, path) in ["recordings", "known"].iter().flat_map(|part| traces_of(corpus, part)) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > most.min(120) {
            continue;
        }
        let mut add = |what: String, lines: &[&str]| {
            let trace = lines.join("\n").into_bytes();
            verdicts.push((format!("{name} {what}"), verdict(&name, trace, Vec::new())));
        };
        for number in 0..lines.len() {
            add(format!("without {}", number + 1), &[&lines[..number], &lines[number + 1..]].concat());
        }
        for number in 1..lines.len() {
            add(format!("up to {number}"), &lines[..number]);
        }
        for number in 1..lines.len() {
            add(format!("after {number}"), &lines[number..]);
        }
    }
    verdicts
}
