//! Tests of the public interface: reading and writing traces.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod envelopes;
mod errors;
mod forms;
mod merging;
mod native;
mod pages;
mod properties;
mod schema;
/// The same templates as in the tests of the judge.
#[path = "../../../tests/src/envelopes.rs"]
mod wrap;

use jobcheck_traces::{Body, Input, Reader};

const AUDIT: &str = include_str!("../data/completions-zero.audit.jsonl");
const WATCH: &str = include_str!("../data/completions-zero.watch.jsonl");

fn input(name: &str, text: impl AsRef<[u8]>) -> Input {
    Input::Bytes(name.to_owned(), text.as_ref().to_vec())
}

/// A summary of all inputs, one line per record or error.
fn summary(inputs: &[Input]) -> Vec<String> {
    let mut reader = Reader::open(inputs);
    let mut result = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => return result,
            Ok(Some(record)) => {
                let (file, line) = (record.place.file, record.place.line);
                result.push(format!("{file}:{line} {}", describe(&record.body)));
            }
            Err(error) => result.push(error.to_string()),
        }
    }
}

/// The summary of one input.
fn summary_of(text: impl AsRef<[u8]>) -> Vec<String> {
    summary(&[input("trace", text)])
}

fn describe(body: &Body<'_>) -> String {
    match body {
        Body::Header(header) => format!("header {}", header.version),
        Body::Request(request) => {
            let (verb, resource) = (request.verb.name(), request.resource.name());
            let version = request.version.map(|version| format!(" @{version}")).unwrap_or_default();
            let dry = if request.dry_run { " dry" } else { "" };
            format!("{verb} {resource}/{} {}{version}{dry}", request.name, request.code)
        }
        Body::Watched(watched) => format!("{} {} @{}", watched.kind.name(), watched.name, watched.version),
        Body::Mark(mark) => format!("{:?}", mark.kind),
        Body::Fault(fault) => format!("{:?}", fault.kind),
        Body::Observed(observed) => format!("observed @{}", observed.version),
        Body::Expected(expected) => format!("{:?}", expected.verdict),
    }
}

/// A watch event of a Job.
fn watched(kind: &str, name: &str, version: u64) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"kind":"Job","apiVersion":"batch/v1","metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}}}"#
    )
}

/// An audit event: a Job named after `name` is updated at the given second.
fn audited(name: &str, second: u32, code: u16, version: u64) -> String {
    let answer = if code == 200 {
        format!(
            r#"{{"kind":"Job","apiVersion":"batch/v1","metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
        )
    } else {
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"modified","reason":"Conflict"}"#
            .to_owned()
    };
    format!(
        concat!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","#,
            r#""requestURI":"/apis/batch/v1/namespaces/ns/jobs/{0}/status","verb":"update","user":{{"username":"kcm"}},"#,
            r#""objectRef":{{"resource":"jobs","namespace":"ns","name":"{0}","apiGroup":"batch","subresource":"status"}},"#,
            r#""responseStatus":{{"code":{2}}},"responseObject":{3},"#,
            r#""requestReceivedTimestamp":"2026-11-21T00:00:{1:02}.000000Z","stageTimestamp":"2026-11-21T00:00:{1:02}.500000Z"}}"#
        ),
        name, second, code, answer
    )
}
