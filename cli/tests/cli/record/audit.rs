//! Recordings by audit events, those of the corpus.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::{Recording, verdict};
use crate::support::{Folder, Run, binary, lines, recording, replay};

const CORPUS: &str = "nonindexed-success.audit";

fn add(path: &Path, lines: &[String]) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
}

/// The requirements that a replay has judged for the first Job.
fn judged(run: &Run) -> Value {
    run.json()["traces"][0]["jobs"][0]["judged"].clone()
}

/// Asserts that the trace is judged as the recording of the corpus is.
fn assert_same(trace: &Path) {
    let json = |path: &Path| replay(["-ojson".as_ref(), path.as_os_str()]);
    let (found, expected) = (json(trace), json(&recording(CORPUS)));
    assert_eq!((found.code, judged(&found)), (0, judged(&expected)), "{found:?}");
    assert_eq!(found.json()["requirements"], expected.json()["requirements"]);
}

/// Waits until the trace has this number of requests.
fn until(recording: &Recording, requests: usize) {
    for _ in 0..600 {
        if recording.text().lines().filter(|line| line.starts_with("{\"request\"")).count() >= requests {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("not {requests} requests after a minute: {}", recording.text());
}

#[test]
fn an_audit_log_is_followed_through_its_rotation() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    let all = lines(CORPUS);
    add(&log, &lines("completions-zero.audit"));
    let recording = Recording::begin(trace.clone(), &["--audit", log.to_str().unwrap()]);
    add(&log, &all[..8]);
    until(&recording, 4);
    add(&log, &all[8..10]);
    fs::rename(&log, folder.path("audit-1.log")).unwrap();
    add(&log, &all[10..]);
    let run = recording.end(Signal::INT);
    assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 3 pods in "), "{run:?}");
    assert_same(&trace);
}

/// The writer learns of a rotation after the new file exists, as with `create` of logrotate.
#[test]
fn a_renamed_log_is_read_until_its_writer_leaves_it() {
    let folder = Folder::new();
    let (log, old, trace) =
        (folder.path("audit.log"), folder.path("audit.log.1"), folder.path("trace.jsonl"));
    let all = lines(CORPUS);
    add(&log, &lines("completions-zero.audit"));
    let recording = Recording::begin(trace.clone(), &["--audit", log.to_str().unwrap()]);
    add(&log, &all[..8]);
    until(&recording, 4);
    fs::rename(&log, &old).unwrap();
    // The recorder has the new file once it has read a line of it.
    add(&log, &all[8..10]);
    until(&recording, 5);
    add(&old, &all[10..12]);
    until(&recording, 6);
    add(&log, &all[12..]);
    let run = recording.end(Signal::INT);
    assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 3 pods in "), "{run:?}");
    assert_same(&trace);
}

#[test]
fn a_recording_ends_with_a_gap_once_the_memory_is_used() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    add(&log, &lines(CORPUS));
    let arguments = ["--audit", log.to_str().unwrap(), "--max-memory", "1MB"];
    let run = Recording::begin(trace.clone(), &arguments).wait();
    assert_eq!(run.code, 3, "{run:?}");
    let text = fs::read_to_string(trace).unwrap();
    assert!(
        text.contains("the limit of 1 MB of memory was reached") && text.contains("\"kind\":\"end\""),
        "{text}"
    );
}

#[test]
fn an_audit_log_that_is_truncated_is_a_gap() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    let all = lines(CORPUS);
    add(&log, &[]);
    let mut recording = Recording::begin(trace.clone(), &["--audit", log.to_str().unwrap()]);
    add(&log, &all[..12]);
    until(&recording, 6);
    File::create(&log).unwrap();
    recording.until("\"kind\":\"gap\"");
    add(&log, &all[12..]);
    let run = recording.end(Signal::INT);
    assert!(run.code == 3 && run.out.contains(", 1 gap;") && run.err.contains("it was truncated"), "{run:?}");
    assert_eq!(verdict(&trace), ("inconclusive".to_owned(), 3));
}

#[test]
fn namespaces_are_chosen() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    add(&log, &[]);
    let arguments =
        ["--audit", log.to_str().unwrap(), "-n", "t-nonindexed-success-1795220909", "-n", "other"];
    let recording = Recording::begin(trace.clone(), &arguments);
    add(&log, &[lines("completions-zero.audit"), lines(CORPUS)].concat());
    until(&recording, 1);
    assert_eq!(recording.end(Signal::INT).code, 0);
    assert_same(&trace);
}

/// Sends a body. Returns the status code of the response.
fn post(address: &str, body: &str) -> u16 {
    post_to(address, "/audit", body)
}

fn post_to(address: &str, path: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A batch as kube-apiserver sends it: its items have no kind and version.
fn batch(lines: &[String]) -> String {
    let item = |line: &String| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        fields.retain(|name, _| !matches!(name.as_str(), "kind" | "apiVersion"));
        event.to_string()
    };
    let items: Vec<String> = lines.iter().map(item).collect();
    format!(
        r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{{}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A webhook with its address.
fn webhook(trace: &Path) -> (Recording, String) {
    let mut recording = Recording::begin(trace.to_owned(), &["--audit-webhook", "127.0.0.1:0"]);
    let line = recording.error_line();
    let address =
        line.trim().strip_prefix("note: the webhook is http://").unwrap_or_else(|| panic!("{line}"));
    let address = address.trim_end_matches('/').to_owned();
    (recording, address)
}

#[test]
fn a_webhook_accepts_batches_in_any_order_and_repeated_ones() {
    let folder = Folder::new();
    let trace = folder.path("trace.jsonl");
    let all = lines(CORPUS);
    let (recording, address) = webhook(&trace);
    for part in [&all[9..14], &all[..9], &all[5..14], &all[14..]] {
        assert_eq!(post(&address, &batch(part)), 200);
    }
    let run = recording.end(Signal::TERM);
    assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 3 pods in "), "{run:?}");
    assert_same(&trace);
}

#[test]
fn a_webhook_with_a_token_refuses_events_without_it() {
    let folder = Folder::new();
    let (trace, token) = (folder.path("trace.jsonl"), folder.write("token", "a-token-of-this-test\n"));
    let arguments = ["--audit-webhook", "127.0.0.1:0", "--audit-token-file", token.to_str().unwrap()];
    let mut recording = Recording::begin(trace.clone(), &arguments);
    let line = recording.error_line();
    let address = line.trim().strip_prefix("note: the webhook is http://").unwrap();
    let address = address.strip_suffix("/TOKEN").unwrap_or_else(|| panic!("{line}"));
    let batch = batch(&lines(CORPUS));
    assert_eq!(post_to(address, "/audit", &batch), 401);
    assert_eq!(post_to(address, "/a-token-of-this-test", &batch), 200);
    let run = recording.end(Signal::INT);
    assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 3 pods in "), "{run:?}");
    assert_same(&trace);
}

#[test]
fn a_body_that_is_no_batch_is_refused_and_a_gap() {
    let folder = Folder::new();
    let trace = folder.path("trace.jsonl");
    let (recording, address) = webhook(&trace);
    assert_eq!(post(&address, &batch(&lines(CORPUS))), 200);
    assert_eq!(post(&address, "{\"kind\":\"Pod\"}"), 400);
    let taken = binary().args(["record", "-o", "-", "--audit-webhook", &address]).output().unwrap();
    assert_eq!(taken.status.code(), Some(4));
    let run = recording.end(Signal::INT);
    assert!(run.code == 3 && run.err.contains("expected an EventList of audit.k8s.io/v1"), "{run:?}");
    assert_ne!(verdict(&trace).0, "conforms");
}

#[test]
fn a_redacted_recording_has_no_secret_and_the_same_verdict() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    let secret =
        "\"args\":[\"--token=SECRET\"],\"env\":[{\"name\":\"TOKEN\",\"value\":\"SECRET\"}],\"name\":\"main\"";
    let all: Vec<String> =
        lines(CORPUS).iter().map(|line| line.replace("\"name\":\"main\"", secret)).collect();
    add(&log, &lines("completions-zero.audit"));
    let recording = Recording::begin(trace.clone(), &["--redact", "--audit", log.to_str().unwrap()]);
    add(&log, &all);
    let run = recording.end(Signal::INT);
    assert!(run.code == 0 && run.out.starts_with("recorded 1 Job and 3 pods in "), "{run:?}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(!text.contains("SECRET") && text.contains("\"args\":[\"redacted-"), "{text}");
    assert_same(&trace);
}
