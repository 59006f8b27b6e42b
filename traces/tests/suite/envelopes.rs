//! Reads events in the envelopes of log systems.

use std::io::Write as _;

use jobcheck_traces::{Body, Input, Reader};
use proptest::prelude::*;

use crate::wrap::{Wrapping, in_docker_parts, in_parts, wrappings};
use crate::{AUDIT, WATCH, audited, input, summary, summary_of, watched};

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The summary without the places.
fn facts(text: impl AsRef<[u8]>) -> Vec<String> {
    let without = |line: String| line.split_once(' ').map_or(line.clone(), |it| it.1.to_owned());
    summary_of(text).into_iter().map(without).collect()
}

/// Every record with its bodies.
fn whole(text: &str) -> Vec<String> {
    let mut reader = Reader::open(&[input("trace", text)]);
    let mut result = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        // Templates may sort fields and drop blanks.
        let sorted = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap().to_string();
        result.push(match record.body {
            Body::Request(request) => format!(
                "{:?} {:?} {:?} {} {:?} {:?}",
                request.id,
                request.interval,
                request.actor,
                request.code,
                request.request.map(|it| sorted(it.text())),
                request.response.map(|it| sorted(it.text()))
            ),
            Body::Watched(watched) => {
                format!("{:?} {} {}", watched.kind, watched.version, sorted(watched.object.text()))
            }
            ref other => format!("{other:?}"),
        });
    }
    result
}

fn wrapping(name: &str) -> Wrapping {
    wrappings().into_iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn what_is_in_an_envelope_is_read_as_without() {
    for text in [AUDIT, WATCH] {
        let expected = whole(text);
        assert_eq!(expected.len(), 3);
        let (of_text, is_audit) = (lines(text), text == AUDIT);
        for it in wrappings().iter().filter(|it| is_audit || !it.is_for_audit_events()) {
            assert_eq!(whole(&it.around(&of_text)), expected, "{}", it.name);
        }
        for longest in [1, 7, 100, 16_384] {
            assert_eq!(whole(&in_parts(&of_text, longest)), expected);
            assert_eq!(whole(&in_docker_parts(&of_text, longest)), expected);
        }
    }
}

#[test]
fn a_record_has_the_line_on_which_its_event_begins() {
    let events = vec![audited("a", 1, 200, 7), audited("b", 2, 200, 8)];
    let places = |text: String| -> Vec<String> {
        summary_of(text).iter().map(|it| it.split_once(' ').unwrap().0.to_owned()).collect()
    };
    let of = |name: &str| places(wrapping(name).around(&events));
    assert_eq!(of("an array of events"), ["0:1", "0:1"]);
    assert_eq!(of("a log of Docker"), ["0:2", "0:3"]);
    assert_eq!(of("a log of a container runtime"), ["0:2", "0:3"]);
    assert_eq!(of("aws logs filter-log-events"), ["0:3", "0:10"]);
    assert_eq!(of("Azure Monitor, event hub"), ["0:1", "0:1"]);
    // Each part is on a line of its own, with a line of standard error behind it.
    let length = events[0].len();
    let parts = length.div_ceil(100);
    assert_eq!(places(in_parts(&events, 100)), ["0:1".to_owned(), format!("0:{}", 2 * parts + 1)]);
    assert_eq!(places(in_docker_parts(&events, length)), ["0:1", "0:3"]);
}

#[test]
fn logs_of_other_components_are_skipped() {
    let event = serde_json::to_string(&audited("a", 1, 200, 7)).unwrap();
    let texts = [
        format!(
            r#"{{"events":[{{"message":"I1121 x","eventId":"1","logStreamName":"kube-scheduler-1"}},{{"message":{event},"eventId":"2","logStreamName":"kube-apiserver-audit-1"}}]}}"#
        ),
        format!(
            "2026-11-21T00:00:00+00:00 authenticator-1 time=x\n2026-11-21T00:00:00+00:00 kube-apiserver-audit-1 {}",
            audited("a", 1, 200, 7)
        ),
        format!(
            r#"[{{"protoPayload":{{"serviceName":"container.googleapis.com"}}}},{{"Category":"guard","log_s":"x"}},{{"Category":"kube-audit","log_s":{event}}}]"#
        ),
    ];
    for text in &texts {
        assert_eq!(facts(text), ["update jobs/a 200 @7"], "{text}");
    }
    // Alone they are an audit log without records.
    let others = r#"{"category":"guard","properties":{"log":"x"}}"#;
    let mut reader = Reader::open(&[input("trace", others)]);
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.files().next().unwrap().skipped.resources, 1);
}

#[test]
fn what_no_envelope_holds_is_an_error_with_place_and_remedy() {
    let event = audited("a", 1, 200, 7);
    let docker = |text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!(r#"{{"log":{text},"stream":"stdout","time":"2026-11-21T00:00:00Z"}}"#)
    };
    let remedy = "in a line of a Docker log; keep the lines of the audit log: grep -F audit.k8s.io FILE | jobcheck replay -";
    let known = docker(&format!("{event}\n"));
    let error = |text: &str| summary_of(format!("{known}\n{text}"))[1].clone();
    assert_eq!(
        error(&docker("I1121 started\n")),
        format!("trace:2: expected JSON, found something else at column 1: expected value, {remedy}")
    );
    assert_eq!(
        error(&docker(&format!("{}\n", &event[..300]))),
        format!(
            "trace:2: expected the rest of a JSON document, found the end of the line; it may be truncated, {remedy}"
        )
    );
    // A text without a line break would be continued, and the file ends before.
    assert_eq!(
        error(&docker(&event[..300])),
        format!(
            "trace:2: expected the rest of a JSON document, found the end of the file; it may be truncated, {remedy}"
        )
    );
    assert_eq!(
        error(&known[..known.len() / 2]),
        "trace:2: expected the rest of a JSON document, found the end of the file; it may be truncated"
    );
    let found = "found an object of kind \"Node\" and apiVersion \"v1\"";
    let result = error(&docker("{\"kind\":\"Node\",\"apiVersion\":\"v1\"}\n"));
    assert!(result.starts_with("trace:2: expected ") && result.contains(found), "{result}");
    let field = docker(&event.replace("\"verb\":\"update\",", ""));
    assert_eq!(error(&field), format!("trace:2: expected verb of an audit event, found none, {remedy}"));
}

#[test]
fn an_element_of_a_list_on_one_line_is_numbered_in_errors() {
    let event = audited("a", 1, 200, 7);
    let bad = event.replace("\"verb\":\"update\",", "");
    let expected = "expected verb of an audit event, found none";
    let one_line = summary_of(format!("[{event},{event}, {bad}]"));
    assert_eq!(one_line[2], format!("trace:1: {expected} (element 3 of this line)"));
    let lines = summary_of(format!("[\n{event},\n{event},\n{bad}\n]"));
    assert_eq!(lines[2], format!("trace:4: {expected}"));
    let cut = summary_of(format!("{{\"events\":[{event},{event}"));
    assert!(
        cut[2].starts_with("trace:1: expected the rest of a JSON document, found the end of the file"),
        "{cut:?}"
    );
    let joined = summary_of(format!("[{event} {event}]"));
    assert!(
        joined[1].contains("found something else at column") && joined[1].contains("expected `,` or `]`")
    );
}

#[test]
fn envelopes_within_one_another_are_bounded() {
    let mut text = audited("a", 1, 200, 7);
    let docker = wrapping("Fluent Bit");
    for depth in 1..12 {
        text = docker.around(&[text]).trim().to_owned();
        let result = summary_of(&text);
        if depth < 6 {
            assert_eq!(result, ["0:1 update jobs/a 200 @7"], "{depth}");
        } else {
            let expected = "trace:1: expected at most 6 envelopes or lists within one another, found more";
            assert!(result[0].starts_with(expected), "{depth}: {result:?}");
        }
    }
}

#[test]
fn a_state_and_yaml_are_refused_with_what_to_do() {
    let found = |text: &str| summary_of(text)[0].split_once(", found ").unwrap().1.to_owned();
    let record =
        "which shows a state and no change; record with `kubectl get -w --output-watch-events -o json`";
    for text in ["apiVersion: v1\nitems:\n- apiVersion: batch/v1\n", "kind: Job\n", "items:\n"] {
        assert_eq!(found(text), format!("YAML of an object, {record}"));
    }
    for text in ["object:\n  kind: Job\ntype: ADDED\n", "---\n", "apiVersion: audit.k8s.io/v1\nkind: Event\n"]
    {
        assert_eq!(found(text), "YAML; convert it: yq -o=json -I=0 . FILE | jobcheck replay -");
    }
    let state = "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n    {\"apiVersion\": \"batch/v1\", \"kind\": \"Job\"}\n  ],\n  \"kind\": \"List\"\n}";
    assert_eq!(found(state), format!("a bare Job, {record}"));
    assert!(summary_of(state)[0].starts_with("trace:4: "));
}

/// An entry of Cloud Logging after one replacement.
fn entry(from: &str, to: &str) -> String {
    let entry = concat!(
        r#"[{"insertId":"1","timestamp":"2026-11-21T00:00:01.000000Z","receiveTimestamp":"2026-11-21T00:00:09Z","protoPayload":{"#,
        r#""serviceName":"k8s.io","methodName":"io.k8s.batch.v1.jobs.status.update","status":{},"#,
        r#""resourceName":"batch/v1/namespaces/ns/jobs/a/status","authenticationInfo":{"principalEmail":"kcm"},"#,
        r#""request":{"z":1},"response":{"@type":"batch.k8s.io/v1.Job","apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","uid":"u","resourceVersion":"7"}}}}]"#
    );
    assert!(entry.contains(from), "{from}");
    entry.replacen(from, to, 1)
}

#[test]
fn an_entry_of_gke_is_converted() {
    let text = entry("", "");
    let mut reader = Reader::open(&[input("trace", &text)]);
    let Body::Request(request) = reader.next().unwrap().unwrap().body else { panic!() };
    assert_eq!(request.subresource, jobcheck_traces::Subresource::Status);
    assert_eq!((request.namespace, request.name, request.actor.user), ("ns", "a", "kcm"));
    assert_eq!((request.code, request.version, request.id), (200, Some(7), Some("1")));
    // The entry was logged eight seconds later, which says nothing about the end of the request.
    assert_eq!(request.interval.done - request.interval.received, 1_000_000);
    let one = |from, to| summary_of(entry(from, to)).join("\n");
    let refused = one("\"status\":{}", "\"status\":{\"code\":10,\"message\":\"no\"}");
    assert!(refused.starts_with("0:1 update jobs/a 409"), "{refused}");
    let created = entry("jobs.status.update", "jobs.create");
    assert_eq!(summary_of(&created), ["0:1 create jobs/a 201 @7"]);
    assert_eq!(summary_of(created.replace(",\"resourceVersion\":\"7\"", "")), ["0:1 create jobs/a 201 dry"]);
    assert_eq!(one("batch.v1.jobs.status.update", "batch.v1.cronjobs.update"), "");
}

#[test]
fn what_an_entry_of_gke_lacks_is_named() {
    let one = |from, to| summary_of(entry(from, to)).join("\n");
    let cases = [
        ("\"principalEmail\":\"kcm\"", "", "principalEmail of an entry of Cloud Logging, found none"),
        (
            "\"timestamp\":\"2026-11-21T00:00:01.000000Z\",",
            "",
            "timestamp of an entry of Cloud Logging, an RFC 3339 time, found none",
        ),
        ("\"methodName\"", "\"method\"", "protoPayload.methodName of an entry of Cloud Logging, found none"),
        ("\"status\":{}", "\"status\":{\"code\":99}", "status.code of an entry, a google.rpc.Code, found 99"),
        (
            "\"uid\":\"u\",",
            "",
            "metadata.uid, found none, in an entry of Cloud Logging; read the audit log alone: gcloud logging read",
        ),
    ];
    for (from, to, expected) in cases {
        let result = one(from, to);
        assert!(result.starts_with(&format!("trace:1: expected {expected}")), "{result}");
    }
}

#[test]
fn a_row_of_aks_is_an_event_under_other_names() {
    let row = |line: &String, as_text: bool| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut row = serde_json::Map::new();
        let columns = "Level level AuditId auditID Stage stage RequestUri requestURI Verb verb User user UserAgent userAgent SourceIps sourceIPs \
            ObjectRef objectRef ResponseStatus responseStatus RequestObject requestObject ResponseObject responseObject \
            RequestReceivedTime requestReceivedTimestamp StageReceivedTime stageTimestamp";
        let words: Vec<&str> = columns.split_whitespace().collect();
        for pair in words.chunks(2) {
            let value = &event[pair[1]];
            let text = if value.is_null() { String::new() } else { value.to_string() };
            let is_text = as_text && (value.is_object() || value.is_array() || value.is_null());
            row.insert(pair[0].to_owned(), if is_text { text.into() } else { value.clone() });
        }
        serde_json::Value::from(row).to_string()
    };
    for as_text in [false, true] {
        let rows: Vec<String> = lines(AUDIT).iter().map(|line| row(line, as_text)).collect();
        assert_eq!(whole(&format!("[{}]", rows.join(","))), whole(AUDIT));
    }
}

fn zstd(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn zstd_is_recognised_even_in_several_frames() {
    let (first, second) = AUDIT.split_at(AUDIT.len() / 3);
    let expected = summary_of(AUDIT);
    assert_eq!(summary_of(zstd(AUDIT)), expected);
    // A frame to be skipped: its mark, its length, and its content.
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let frames = [zstd(first), skipped, zstd(""), zstd(second)].concat();
    assert_eq!(summary_of(&frames), expected);
    let packed = zstd(AUDIT);
    for cut in [5, packed.len() / 2, packed.len() - 1] {
        let result = summary_of(&packed[..cut]);
        let error = "expected the rest of the zstd data, found the end of the file; it may be truncated";
        assert!(result.last().unwrap().ends_with(error), "{cut}: {result:?}");
    }
    let mut damaged = packed.clone();
    let last = damaged.len() - 2;
    damaged[last] ^= 0xff;
    assert!(summary_of(&damaged).last().unwrap().contains("expected zstd data, found damage: "));
}

#[test]
fn other_compressions_are_refused_with_a_command() {
    let cases = [
        (&b"\xfd7zXZ\0\0"[..], "xz data; unpack them: xz -dc FILE | jobcheck replay -"),
        (b"BZh91AY", "bzip2 data; unpack them: bzip2 -dc FILE | jobcheck replay -"),
        (b"PK\x03\x04\x14", "zip data; unpack them: unzip -p FILE | jobcheck replay -"),
    ];
    for (bytes, found) in cases {
        assert_eq!(summary_of(bytes), [format!("trace: expected plain, gzip or zstd data, found {found}")]);
    }
}

#[test]
fn a_list_is_read_in_the_memory_of_its_elements() {
    // Each element is less than the limit for a document, and the list is more.
    let event =
        watched("ADDED", "a", 7).replace("\"uid\"", &format!("\"x\":\"{}\",\"uid\"", "x".repeat(1 << 20)));
    let elements = vec![event; 70];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(format!("[{}]", elements.join(",")).as_bytes()).unwrap();
    let mut reader = Reader::open(&[Input::Bytes("list".to_owned(), packed.finish().unwrap())]);
    let mut count = 0;
    while reader.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 70);
}

#[test]
fn a_skipped_body_is_absent() {
    // "AKSAudit", Azure Monitor: a large object is replaced by this string.
    let line = audited("a", 1, 200, 7);
    let body = line.split_once("\"responseObject\":").unwrap().1.split_once(",\"requestReceived").unwrap().0;
    let line = line.replace(body, "\"skipped-too-big-size-object\"");
    let mut reader = Reader::open(&[input("trace", line)]);
    let Body::Request(request) = reader.next().unwrap().unwrap().body else { panic!() };
    assert_eq!((request.answer, request.response), (jobcheck_traces::Answer::Absent, None));
}

#[test]
fn a_deletion_that_answers_with_a_status_has_no_version() {
    // kubernetes/kubernetes#138724, in 1.38: the version of the removal, or any at which the object was absent.
    let status =
        r#"{"kind":"Status","apiVersion":"v1","metadata":{"resourceVersion":"99"},"status":"Success"}"#;
    let line = audited("a", 1, 200, 7).replace("\"update\"", "\"delete\"");
    let body = line.split_once("\"responseObject\":").unwrap().1.split_once(",\"requestReceived").unwrap().0;
    let result = summary_of(line.replace(body, status));
    assert_eq!(result, ["0:1 delete jobs/a 200"]);
    let merged = summary(&[
        input("watch", [watched("MODIFIED", "a", 80), watched("DELETED", "a", 98)].join("\n")),
        input("audit", line.replace(body, status)),
    ]);
    assert_eq!(merged, ["1:1 delete jobs/a 200", "0:1 MODIFIED a @80", "0:2 DELETED a @98"]);
}

/// Events whose texts need escapes.
fn events() -> impl Strategy<Value = Vec<String>> {
    let name = "[a-z]{1,5}";
    let agent = "[ -~éλ\n\t\"\\\\{}\\[\\],]{0,30}";
    let event = (name, agent, 0..60_u32, 1..1000_u64).prop_map(|(name, agent, second, version)| {
        let agent = format!("\"userAgent\":{},\"verb\"", serde_json::Value::from(agent));
        audited(&name, second, 200, version).replace("\"verb\"", &agent)
    });
    proptest::collection::vec(event, 1..6)
}

proptest! {
    #[test]
    fn to_wrap_and_to_read_is_to_read(events in events(), which in any::<proptest::sample::Index>(), longest in 1..500_usize) {
        let expected = whole(&events.join("\n"));
        let all = wrappings();
        prop_assert_eq!(whole(&which.get(&all).around(&events)), expected.clone());
        let is_ascii = events.iter().all(|event| event.is_ascii());
        if is_ascii {
            prop_assert_eq!(whole(&in_parts(&events, longest)), expected.clone());
            prop_assert_eq!(whole(&in_docker_parts(&events, longest)), expected);
        }
    }

    #[test]
    fn a_cut_envelope_ends_in_records_and_at_most_one_error(which in any::<proptest::sample::Index>(), at in any::<proptest::sample::Index>()) {
        let all = wrappings();
        let text = which.get(&all).around(&lines(AUDIT));
        let mut cut = at.index(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let expected = facts(AUDIT);
        let result = facts(&text[..cut]);
        let read = result.iter().take_while(|line| expected.contains(line)).count();
        prop_assert_eq!(&result[..read], &expected[..read]);
        prop_assert!(result.len() - read <= 1, "{:?}", result);
    }
}
