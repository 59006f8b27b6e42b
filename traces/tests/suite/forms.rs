//! Reads each form in the layouts that recorders produce.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jobcheck_traces::{Answer, Body, Form, Level, Reader, Subresource};

use crate::{AUDIT, WATCH, audited, input, summary, summary_of, watched};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Spreads each document over several lines, as kubectl prints them.
fn pretty(lines: &str) -> String {
    let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    lines.lines().map(|line| format!("{:#}\n", value(line))).collect()
}

/// The summary without the places.
fn without_places(result: &[String]) -> Vec<&str> {
    result.iter().map(|line| line.split_once(' ').unwrap().1).collect()
}

#[test]
fn a_recorded_audit_log_yields_its_writes() {
    assert_eq!(
        summary_of(AUDIT),
        ["0:1 create jobs/job 201 @1262", "0:2 update jobs/job 200 @1263", "0:3 update jobs/job 200 @1264",]
    );
}

#[test]
fn a_recorded_watch_stream_yields_its_events() {
    assert_eq!(
        summary_of(WATCH),
        ["0:1 ADDED job @1262", "0:2 MODIFIED job @1263", "0:3 MODIFIED job @1264"]
    );
}

#[test]
fn every_field_of_an_audit_event_is_read() {
    let line = concat!(
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","#,
        r#""requestURI":"/api/v1/namespaces/ns/pods?fieldManager=x&dryRun=All","verb":"create","#,
        r#""user":{"username":"admin"},"impersonatedUser":{"username":"a\"b"},"userAgent":"t/1 job-controller","#,
        r#""objectRef":{"resource":"pods","namespace":"ns","subresource":"eviction"},"#,
        r#""responseStatus":{"code":409},"requestObject":{"z":1},"#,
        r#""responseObject":{"kind":"Status","apiVersion":"v1","metadata":{},"message":"no\n","reason":"Conflict"},"#,
        r#""requestReceivedTimestamp":"1970-01-01T00:00:01.000002Z","stageTimestamp":"1970-01-01T00:00:01Z"}"#,
    );
    let mut reader = Reader::open(&[input("trace", line)]);
    let record = reader.next().unwrap().unwrap();
    let Body::Request(request) = record.body else { panic!("{record:?}") };
    assert_eq!((request.interval.received, request.interval.done), (1_000_002, 1_000_002));
    assert_eq!((request.actor.user, request.actor.agent), ("a\"b", "t/1 job-controller"));
    assert_eq!(request.subresource, Subresource::Other("eviction"));
    assert_eq!((request.reason, request.message), (Some("Conflict"), Some("no\n")));
    assert_eq!((request.answer, request.version, request.uid), (Answer::Status, None, None));
    assert_eq!((request.dry_run, request.is_accepted()), (true, false));
    assert_eq!(request.request.unwrap().text(), r#"{"z":1}"#);
    assert_eq!((record.form, request.level), (Form::Audit, Level::RequestResponse));
}

#[test]
fn documents_about_other_resources_are_counted_and_skipped() {
    let line = audited("a", 1, 200, 7);
    let edits = [
        (r#""ResponseComplete""#, r#""RequestReceived""#),
        (r#""ResponseComplete""#, r#""ResponseStarted""#),
        (r#""update""#, r#""list""#),
        (r#""batch""#, r#""batch.volcano.sh""#),
        (r#""resource":"jobs""#, r#""resource":"cronjobs""#),
        (r#""objectRef""#, r#""noRef""#),
        (r#""RequestResponse""#, r#""None""#),
    ];
    let text: String = edits.iter().map(|(from, to)| line.replace(from, to) + "\n").collect();
    let mut reader = Reader::open(&[input("trace", text)]);
    assert!(reader.next().unwrap().is_none());
    let file = reader.files().next().unwrap();
    let skipped = file.skipped;
    assert_eq!((skipped.stages, skipped.reads), (2, 1));
    assert_eq!((skipped.resources, skipped.levels, skipped.total()), (3, 1, 7));
    assert_eq!((file.lines, file.records, file.form), (7, 0, Some(Form::Audit)));
}

#[test]
fn a_request_on_which_the_api_server_panics_has_a_server_error() {
    let line = audited("a", 1, 500, 7).replace(r#""ResponseComplete""#, r#""Panic""#);
    let mut reader = Reader::open(&[input("trace", line)]);
    let record = reader.next().unwrap().unwrap();
    let Body::Request(request) = record.body else { panic!("{record:?}") };
    assert_eq!((request.code, request.is_accepted()), (500, false));
}

#[test]
fn options_of_a_deletion_are_read_from_its_query_or_its_body() {
    let line = audited("a", 1, 200, 7).replace("\"update\"", "\"delete\"").replace("/status\"", "?QUERY\"");
    let body =
        r#""requestObject":{"kind":"DeleteOptions","propagationPolicy":"Orphan","dryRun":["All"]},"verb""#;
    let policies = |text: &str| {
        let mut reader = Reader::open(&[input("trace", text)]);
        let record = reader.next().unwrap().unwrap();
        let Body::Request(request) = record.body else { panic!("{record:?}") };
        (request.propagation_policy.map(str::to_owned), request.dry_run)
    };
    assert_eq!(policies(&line), (None, false));
    assert_eq!(policies(&line.replace("\"verb\"", body)), (Some("Orphan".to_owned()), true));
    let query = line.replace("QUERY", "propagationPolicy=Background&dryRun=All");
    assert_eq!(policies(&query), (Some("Background".to_owned()), true));
}

#[test]
fn a_list_of_events_is_read_as_its_events() {
    let item =
        |name| audited(name, 1, 200, 7).replace(r#""kind":"Event","apiVersion":"audit.k8s.io/v1","#, "");
    let list = |items: &str| {
        format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{{}},"items":[{items}]}}"#)
    };
    let text = format!(
        "{}\n{}\n{}",
        list(&format!("{},{}", item("a"), item("b"))),
        list(""),
        audited("c", 2, 200, 9)
    );
    let names = ["update jobs/a 200 @7", "update jobs/b 200 @7", "update jobs/c 200 @9"];
    let result = summary_of(&text);
    assert_eq!(
        result,
        [format!("0:1 {}", names[0]), format!("0:1 {}", names[1]), format!("0:3 {}", names[2])]
    );
    assert_eq!(without_places(&summary_of(pretty(&text))), names);
    // Each event of a spread list is placed on its own line.
    let spread = summary_of(pretty(&text));
    let opens = |name: &str| spread.iter().any(|result| result.starts_with(&format!("{name} update")));
    assert!(opens("0:4") && opens("0:34") && opens("0:74"), "{spread:?}");
    let nested = summary_of(list(&list("")));
    assert_eq!(
        nested,
        ["trace:1: expected another line of the audit log, found a list in a list (element 1 of this line)"]
    );
}

#[test]
fn errors_in_spread_documents_name_the_line_and_not_the_document() {
    let text = pretty(&watched("ADDED", "a", 7)).replace(r#""v""#, "v").replace("\"uid\"", "uid");
    let line = text.lines().position(|line| line.contains("uid:")).unwrap() + 1;
    let result = summary_of(format!("\n{text}"));
    assert!(result[0].starts_with(&format!("trace:{}: expected JSON, found", line + 1)), "{result:?}");
}

#[test]
fn documents_may_be_spread_over_lines() {
    for text in [AUDIT, WATCH] {
        let (plain, spread) = (summary_of(text), summary_of(pretty(text)));
        assert_eq!(without_places(&plain), without_places(&spread));
    }
    let result =
        summary_of(format!("{}{}", pretty(&watched("ADDED", "a", 1)), pretty(&watched("DELETED", "a", 2))));
    assert_eq!(result, ["0:1 ADDED a @1", "0:14 DELETED a @2"]);
}

#[test]
fn line_ends_blank_lines_and_byte_order_marks_do_not_matter() {
    let crlf = format!("\u{feff}{}", WATCH.replace('\n', "\r\n\r\n"));
    assert_eq!(without_places(&summary_of(crlf)), without_places(&summary_of(WATCH)));
}

#[test]
fn gzip_is_recognised_even_in_several_members() {
    let (first, second) = AUDIT.split_at(AUDIT.len() / 3);
    assert_eq!(summary_of(gzip(AUDIT)), summary_of(AUDIT));
    assert_eq!(summary_of([gzip(first), gzip(second)].concat()), summary_of(AUDIT));
    assert_eq!(
        summary(&[input("a", gzip(AUDIT)), input("b", WATCH)]),
        summary(&[input("a", AUDIT), input("b", WATCH)])
    );
}

#[test]
fn an_error_event_of_a_watch_is_a_gap() {
    let error =
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}"#;
    let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Job","metadata":{"resourceVersion":"9"}}}"#;
    let node = r#"{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}}"#;
    let text = format!("{}\n{bookmark}\n{node}\n{error}\n", watched("ADDED", "a", 1));
    let mut reader = Reader::open(&[input("trace", &text)]);
    while reader.next().unwrap().is_some() {}
    let skipped = reader.files().next().unwrap().skipped;
    assert_eq!((skipped.bookmarks, skipped.resources), (1, 1));
    let gap = "0:4 Gap { resource: None, reason: \"too old resource version\", gone: [] }";
    assert_eq!(summary_of(text), ["0:1 ADDED a @1", gap]);
}

#[test]
fn progress_counts_stored_bytes() {
    let packed = gzip(AUDIT);
    let stored = packed.len() as u64;
    let mut reader = Reader::open(&[input("trace", &packed)]);
    assert_eq!(reader.progress().1, Some(stored));
    while reader.next().unwrap().is_some() {}
    assert_eq!(reader.progress(), (stored, Some(stored)));
    assert_eq!(reader.files().next().unwrap().bytes, AUDIT.len() as u64);
}
