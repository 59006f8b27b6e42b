//! Redacted traces: `jobcheck record --redact` takes out what may be secret, and changes no verdict.

use std::collections::BTreeMap;
use std::fs;
use std::hash::RandomState;
use std::path::PathBuf;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_tests::corpus::folder;
use jobcheck_traces::{Input, Redactor};
use serde_json::{Value, json};

fn traces() -> Vec<PathBuf> {
    let folders = ["recordings", "known", "invalid", "1.35"].map(|of| folder().join(of));
    let entries = folders.iter().filter_map(|of| fs::read_dir(of).ok()).flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

fn report(text: String) -> Value {
    let inputs = vec![Input::Bytes("trace".to_owned(), text.into_bytes())];
    let judging = Judging { keeps_story: true, ..Judging::default() };
    let mut report = serde_json::to_value(judge(&[inputs], &judging, &mut |_, _| {})).unwrap();
    for input in report["inputs"].as_array_mut().unwrap() {
        input.as_object_mut().unwrap().remove("bytes");
    }
    report
}

/// Collects the texts that were taken out, by what is in their place.
fn taken(whole: &Value, redacted: &Value, out: &mut BTreeMap<String, String>) {
    match (whole, redacted) {
        // Only a part of an audit event stays.
        (Value::Object(one), Value::Object(other)) => {
            other.iter().for_each(|(key, member)| taken(&one[key], member, out))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.iter().zip(other).for_each(|it| taken(it.0, it.1, out))
        }
        (Value::String(one), Value::String(other)) if one != other => {
            out.insert(other.clone(), one.clone());
        }
        _ => assert_eq!(whole, redacted),
    }
}

/// Gives every container an argument, and every Job an annotation, that nobody may see.
fn with_secrets(value: &mut Value) {
    if let Some(containers) = value.get_mut("containers").and_then(Value::as_array_mut) {
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            container.entry("args").or_insert_with(|| json!(["--token=SECRET", "a\"b"]));
            container.entry("env").or_insert_with(|| json!([{"name": "TOKEN", "value": "SECRET"}]));
        }
    }
    if value["kind"] == "Job" && value["metadata"].is_object() {
        value["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            json!("{SECRET}");
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(with_secrets),
        Value::Array(items) => items.iter_mut().for_each(with_secrets),
        _ => {}
    }
}

/// A report quotes the texts in which a pod and its template differ. The rest of it is the same.
#[test]
fn redaction_changes_no_report_of_the_corpus() {
    let redactor = Redactor::new(RandomState::new());
    let (files, mut changed) = (traces(), 0);
    assert!(files.len() > 200, "{} traces", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter_mut().for_each(with_secrets);
        let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let redacted: String = whole.lines().map(|line| redactor.line(line).unwrap() + "\n").collect();
        let mut texts = BTreeMap::new();
        for (line, other) in whole.lines().zip(redacted.lines()) {
            let parsed = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
            taken(&parsed(line), &parsed(other), &mut texts);
        }
        assert!(!redacted.contains("SECRET"), "{redacted}");
        changed += usize::from(!texts.is_empty());
        let quoted = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
        let shown = report(redacted).to_string();
        let shown =
            texts.iter().fold(shown, |shown, (text, secret)| shown.replace(&quoted(text), &quoted(secret)));
        assert_eq!(shown, report(whole).to_string(), "{}", file.display());
    }
    assert!(changed > 200, "{changed} traces had something to take out");
}
