//! Writes native traces and reads them again, and skips lines of newer versions.

use std::collections::BTreeMap;

use jobcheck_traces::{
    Actor, Answer, Body, Expected, ExpectedVerdict, Fault, FaultKind, Header, Interval, Level, Mark,
    MarkKind, Object, Observed, Reader, Request, Resource, Subresource, Verb, Version, WatchKind, Watched,
    Writer,
};
use proptest::prelude::*;

use crate::{AUDIT, WATCH, input, summary_of};

/// Writes the records of a trace as a native trace.
pub(crate) fn as_native(text: &str) -> String {
    let mut writer = Writer::new(Vec::new(), &Header::new()).unwrap();
    let mut reader = Reader::open(&[input("trace", text)]);
    while let Some(record) = reader.next().unwrap() {
        writer.write(&record.body).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn recordings_survive_the_native_format_word_for_word() {
    for text in [AUDIT, WATCH] {
        let native = as_native(text);
        let (mut before, mut after) =
            (Reader::open(&[input("a", text)]), Reader::open(&[input("b", &native)]));
        assert!(matches!(after.next().unwrap().unwrap().body, Body::Header(_)));
        while let Some(record) = before.next().unwrap() {
            // A native trace has no event ids.
            let body = match record.body {
                Body::Request(request) => Body::Request(Request { id: None, ..request }),
                other => other,
            };
            assert_eq!(after.next().unwrap().unwrap().body, body);
        }
        assert!(after.next().unwrap().is_none());
    }
}

#[test]
fn objects_that_were_spread_over_lines_are_written_on_one() {
    let object = Object::new("{\n\"kind\": \"Job\",\r\n \"text\": \"a\\nb\" }").unwrap();
    let watched = Watched {
        kind: WatchKind::Added,
        resource: Resource::Jobs,
        namespace: "",
        name: "",
        uid: "",
        version: 0,
        at: None,
        object,
    };
    let mut writer = Writer::new(Vec::new(), &Header::new()).unwrap();
    writer.write(&Body::Watched(watched)).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let line = r#"{"watched":{"type":"ADDED","object":{"kind": "Job", "text": "a\nb" }}}"#;
    assert_eq!(text.lines().nth(1), Some(line));
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn unknown_lines_are_skipped_in_a_newer_minor_version_only() {
    let header = |minor| format!(r#"{{"format":"jobcheck.dev/trace","version":"1.{minor}","colour":"red"}}"#);
    let lines = concat!(
        r#"{"weather":{"rain":true}}"#,
        "\n",
        r#"{"mark":{"kind":"eclipse"}}"#,
        "\n",
        r#"{"mark":{"kind":"end","why":"done"}}"#
    );
    assert_eq!(summary_of(format!("{}\n{lines}", header(9))), ["0:1 header 1.9", "0:4 End"]);
    let result = summary_of(format!("{}\n{lines}", header(0)));
    let unknown = "trace:2: expected another line of the native trace, found a JSON object without kind";
    assert_eq!([0, 1, 3].map(|at| &*result[at]), ["0:1 header 1.0", unknown, "0:4 End"]);
    let mut reader = Reader::open(&[input("trace", format!("{}\n{lines}", header(9)))]);
    while reader.next().unwrap().is_some() {}
    assert_eq!(reader.files().next().unwrap().skipped.unknown, 2);
}

#[test]
fn an_invalid_mark_is_reported() {
    let header = r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#;
    let result = |line: &str| summary_of(format!("{header}\n{line}"))[1].clone();
    assert_eq!(
        result(r#"{"mark":{"kind":"eclipse"}}"#),
        "trace:2: expected a native mark, found unknown variant `eclipse`, expected one of `start`, `gap`, `restart`, `leader`, `end`"
    );
    let mark = r#"{"mark":{"at":"noon","kind":"end"}}"#;
    let expected = "a native mark, found invalid value: string \"noon\", expected an RFC 3339 time";
    assert_eq!(result(mark), format!("trace:2: expected {expected}"));
}

#[test]
fn constants_may_be_numbers_booleans_or_texts() {
    let text = r#"{"format":"jobcheck.dev/trace","version":"1.0","kubernetes":"1.36","assume":{"a":10,"b":"10s","c":true}}"#;
    let mut reader = Reader::open(&[input("trace", text)]);
    let record = reader.next().unwrap().unwrap();
    let Body::Header(header) = record.body else { panic!("{record:?}") };
    let values: Vec<&str> = header.assume.values().map(String::as_str).collect();
    assert_eq!((values, header.kubernetes.as_deref()), (vec!["10", "10s", "true"], Some("1.36")));
}

#[test]
fn fields_that_a_recorded_request_needs_are_named() {
    let request = r#"{"request":{"received":"2026-11-21T00:00:01Z","done":"2026-11-21T00:00:02Z","level":"Metadata","user":"u","verb":"create","resource":"jobs","namespace":"ns","code":201}}"#;
    let result = |line: &str| {
        summary_of(format!("{{\"format\":\"jobcheck.dev/trace\",\"version\":\"1.0\"}}\n{line}"))[1].clone()
    };
    assert_eq!(result(request), "0:2 create jobs/ 201");
    let cases = [
        (
            r#""received":"2026-11-21T00:00:01Z","#,
            "received of a recorded request, an RFC 3339 time, found none".into(),
        ),
        ("2026-11-21T00:00:02Z", "done of a recorded request, an RFC 3339 time, found \"\"".to_owned()),
        (r#""level":"Metadata","#, "level of a recorded request, found none".into()),
        (r#""user":"u","#, "user of a recorded request, found none".into()),
        (r#""verb":"create","#, "verb of a recorded request, found none".into()),
        (r#""resource":"jobs","#, "resource of a recorded request, found none".into()),
        (r#","code":201"#, "code of a recorded request, found none".into()),
    ];
    for (cut, expected) in cases {
        assert_eq!(result(&request.replace(cut, "")), format!("trace:2: expected {expected}"));
    }
}

/// Any time of the years 0 to 9999.
fn times() -> impl Strategy<Value = i64> {
    -62_135_596_800_000_000_i64..253_402_300_799_000_000
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![Just("a\"\\\n\u{0}é\u{1f980}".to_owned()), "[a-z]{1,5}", any::<String>()]
        .prop_filter("an empty text counts as absent", |text| !text.is_empty())
}

fn resources() -> impl Strategy<Value = Resource> {
    prop_oneof![Just(Resource::Jobs), Just(Resource::Pods)]
}

/// A whole Job or Pod, as a response contains it.
fn whole(resource: Resource, name: &str, uid: &str, version: u64) -> String {
    let (kind, api_version) = match resource {
        Resource::Jobs => ("Job", "batch/v1"),
        Resource::Pods => ("Pod", "v1"),
    };
    let metadata = serde_json::json!({"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version.to_string()});
    serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "x": [1, null]})
        .to_string()
}

/// Writes records, reads them again and compares.
fn round_trip(bodies: &[Body<'_>]) -> Result<(), TestCaseError> {
    let mut writer = Writer::new(Vec::new(), &Header::new()).unwrap();
    for body in bodies {
        writer.write(body).unwrap();
    }
    let text = writer.finish().unwrap();
    let mut reader = Reader::open(&[input("trace", text)]);
    reader.next().unwrap();
    for body in bodies {
        prop_assert_eq!(&reader.next().unwrap().unwrap().body, body);
    }
    prop_assert!(reader.next().unwrap().is_none());
    Ok(())
}

proptest! {
    #[test]
    fn a_request_survives(
        (resource, verb, level) in (resources(), 0..5_usize, 0..3_usize),
        (received, lasted, code) in (times(), 0..1_000_000_i64, 100..600_u16),
        (user, name, uid, patch, message) in (texts(), texts(), texts(), texts(), texts()),
        (has_answer, dry_run, version) in (any::<bool>(), any::<bool>(), any::<u64>()),
    ) {
        let object = whole(resource, &name, &uid, version);
        let verbs = [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection];
        let levels = [Level::Metadata, Level::Request, Level::RequestResponse];
        let subresource = [Subresource::None, Subresource::Status, Subresource::Other("resize")][verb % 3];
        let request = Request {
            id: None,
            interval: Interval { received, done: received + lasted },
            level: levels[level],
            actor: Actor { user: &user, agent: &message, address: "" },
            verb: verbs[verb],
            resource,
            subresource,
            namespace: &user,
            name: &name,
            uid: Some(&uid),
            code,
            reason: (!has_answer).then_some(&name),
            message: (!has_answer).then_some(&message),
            dry_run,
            patch_type: Some(&patch),
            propagation_policy: dry_run.then_some(&patch),
            version: has_answer.then_some(version),
            request: Some(Object::new("[1]").unwrap()),
            answer: if has_answer { Answer::Whole } else { Answer::Absent },
            response: has_answer.then(|| Object::new(&object).unwrap()),
        };
        round_trip(&[Body::Request(request)])?;
    }

    #[test]
    fn a_watch_event_survives(
        (resource, name, uid) in (resources(), texts(), texts()),
        (version, at, kind) in (any::<u64>(), proptest::option::of(times()), 0..3_usize),
    ) {
        let object = whole(resource, &name, &uid, version);
        let watched = Watched {
            kind: [WatchKind::Added, WatchKind::Modified, WatchKind::Deleted][kind],
            resource,
            namespace: "ns",
            name: &name,
            uid: &uid,
            version,
            at,
            object: Object::new(&object).unwrap(),
        };
        round_trip(&[Body::Watched(watched)])?;
    }

    #[test]
    fn everything_else_survives(
        (text, other) in (texts(), proptest::option::of(texts())),
        (at, version, resource) in (proptest::option::of(times()), any::<u64>(), proptest::option::of(resources())),
        fault in 0..8_usize,
    ) {
        let kinds = [
            MarkKind::Start,
            MarkKind::Gap { resource, reason: text.clone(), gone: other.iter().cloned().collect() },
            MarkKind::Restart { actor: text.clone(), assume: other.clone().map(|it| (it.clone(), it)).into_iter().collect() },
            MarkKind::Leader { actor: text.clone() },
            MarkKind::End,
        ];
        let marks: Vec<Mark> = kinds.into_iter().map(|kind| Mark { at, kind }).collect();
        let faults = [
            FaultKind::StaleRead, FaultKind::Conflict, FaultKind::Rejected, FaultKind::LostResponse,
            FaultKind::Dropped, FaultKind::Delay, FaultKind::Crash, FaultKind::Relist,
        ];
        let fault = Fault { at, kind: faults[fault], actor: other.clone(), resource, detail: other.clone() };
        let observed = Observed { at, actor: text.clone(), job: other.clone(), resource: Resource::Pods, version };
        let expected = Expected {
            verdict: ExpectedVerdict::Violates, requirement: other.clone(), job: other.clone(), note: other.clone(),
        };
        let header = Header {
            version: Version { major: 1, minor: 4 },
            kubernetes: other.clone(),
            assume: BTreeMap::from([(text.clone(), text)]),
            producer: other,
        };
        let mut bodies: Vec<Body> = marks.iter().map(Body::Mark).collect();
        bodies.extend([Body::Fault(&fault), Body::Observed(&observed), Body::Expected(&expected), Body::Header(&header)]);
        round_trip(&bodies)?;
    }
}
