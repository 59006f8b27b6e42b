//! Feeds recorded audit events to a service.

use std::path::{Path, PathBuf};

use jobcheck_judge::validate::Outcome;
use jobcheck_record::Sink;
use jobcheck_traces::{Input, Reader};
use jobcheck_watch::{News, Service, Settings};
use serde_json::Value;

/// A time after which every finished Job is settled, in microseconds.
pub const LATER: i64 = 600_000_000;

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/corpus")
}

/// The events of an audit log in the corpus.
pub fn events(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(corpus().join(path)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn open(folder: &Path) -> Service {
    Service::open(Settings::at(folder)).unwrap()
}

pub fn feed(service: &mut Service, events: &[Value]) {
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    let mut reader = Reader::open(&[Input::Bytes("events".to_owned(), text.into_bytes())]);
    while let Some(record) = reader.next().unwrap() {
        service.write(&record.body).unwrap();
    }
}

/// The verdicts, each with the UID of the Job and the reasons.
pub fn verdicts(news: &[News]) -> Vec<(String, Outcome, String)> {
    let verdict = |one: &News| match one {
        News::Verdict { uid, verdict, doubts, .. } => Some((uid.clone(), *verdict, doubts.join("; "))),
        News::Finding { .. } => None,
    };
    news.iter().filter_map(verdict).collect()
}

/// The requirements of the findings, each with its line.
pub fn findings(news: &[News]) -> Vec<(String, Option<u64>)> {
    let finding = |one: &News| match one {
        News::Finding { finding, .. } => {
            let id = finding.requirement.unwrap().0.id().to_owned();
            Some((id, finding.place.line))
        }
        News::Verdict { .. } => None,
    };
    news.iter().filter_map(finding).collect()
}
