//! Pins the text of every error.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use jobcheck_traces::{Input, MOST_FILES, MOST_UNREADABLE, Reader};

use crate::{AUDIT, audited, input, summary, summary_of, watched};

fn only_error(text: impl AsRef<[u8]>) -> String {
    let result = summary_of(text);
    assert_eq!(result.len(), 1, "{result:?}");
    result[0].clone()
}

/// The error of an audit event after one replacement.
fn edited(from: &str, to: &str) -> String {
    let line = audited("a", 1, 200, 7);
    assert!(line.contains(from));
    only_error(line.replace(from, to))
}

#[test]
fn an_input_that_cannot_be_opened_is_an_error_with_the_reason() {
    let missing = Input::Path(PathBuf::from("/no/such/file"));
    assert_eq!(summary(&[missing]), ["/no/such/file: no such file"]);
    let directory = Input::Path(std::env::temp_dir());
    let expected = format!("{}: expected a file, found a directory; name the files in it", directory.name());
    assert_eq!(summary(&[directory]), [expected]);
}

#[test]
fn more_files_than_can_be_open_are_refused_by_name() {
    let mut inputs: Vec<Input> = (0..MOST_FILES).map(|_| input("many", watched("ADDED", "a", 1))).collect();
    inputs.push(input("last", watched("ADDED", "a", 1)));
    let result = summary(&inputs);
    assert_eq!(result.len(), MOST_FILES + 1);
    assert_eq!(result[0], "last: expected at most 256 files, found more; concatenate some of them");
}

#[test]
fn an_empty_file_is_an_error_and_a_trace_without_a_write_is_none() {
    for text in ["", "\n \r\n", "\u{feff}"] {
        assert_eq!(only_error(text), "trace: expected a trace, found an empty file");
    }
    for text in [
        "[]",
        "[\n]\n",
        "[[[[[[]]]]]]",
        r#"{"kind":"List","items":[]}"#,
        r#"{"events":[],"searchedLogStreams":[]}"#,
    ] {
        assert_eq!(only_error(text), "trace: expected a trace, found an empty list");
    }
    assert_eq!(summary_of(audited("a", 1, 200, 7).replace("\"update\"", "\"get\"")), Vec::<String>::new());
    assert_eq!(summary_of(r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#), ["0:1 header 1.0"]);
}

#[test]
fn an_empty_file_beside_another_is_no_error() {
    let line = audited("a", 1, 200, 7);
    let reads = line.replace("\"update\"", "\"get\"");
    for other in ["", "\n\n", "[]", r#"{"events":[]}"#] {
        for known in [&line, &reads] {
            let result = summary(&[input("empty", other), input("known", known)]);
            assert_eq!(result.len(), summary_of(known).len(), "{other:?}: {result:?}");
            assert!(result.iter().all(|line| line.starts_with("1:1 update")), "{other:?}: {result:?}");
        }
    }
    let found = |name: &str, what: &str| format!("{name}: expected a trace, found an empty {what}");
    let result = summary(&[input("a", ""), input("b", "[]")]);
    assert_eq!(result, [found("a", "file"), found("b", "list")]);
}

#[test]
fn a_truncated_line_and_a_truncated_file_are_different_errors() {
    let line = audited("a", 1, 200, 7);
    let cut = &line[..line.len() / 2];
    let end = "trace:2: expected the rest of a JSON document, found the end of the file; it may be truncated";
    assert_eq!(summary_of(format!("{line}\n{cut}")), ["0:1 update jobs/a 200 @7", end]);
    let inner =
        "trace:2: expected the rest of a JSON document, found the end of the line; it may be truncated";
    assert_eq!(
        summary_of(format!("{line}\n{cut}\n{line}")),
        ["0:1 update jobs/a 200 @7", inner, "0:3 update jobs/a 200 @7"]
    );
    let first =
        "trace:1: expected the rest of a JSON document, found the end of the file; it may be truncated";
    assert_eq!(only_error(cut), first);
}

#[test]
fn text_that_is_no_json_is_reported_with_its_line() {
    let noise = "trace:1: expected JSON, found something else at column 1: expected value";
    assert_eq!(only_error("I1121 00:28:37 starting\n"), noise);
    let line = watched("ADDED", "a", 1);
    let result = summary_of(format!("{line}\n\n{{\"type\":ADDED}}\n"));
    assert_eq!(result[1], "trace:3: expected JSON, found something else at column 9: expected value");
    let result = summary_of(format!("{line}\n{line} x\n"));
    let column = line.len() + 2;
    assert_eq!(
        result[1],
        format!("trace:2: expected JSON, found something else at column {column}: trailing characters")
    );
}

#[test]
fn bytes_that_are_no_utf8_are_reported_with_their_line() {
    let mut bytes = watched("ADDED", "a", 1).into_bytes();
    bytes[0] = 0xff;
    assert_eq!(only_error(&bytes), "trace:1: expected UTF-8, found other bytes at column 1");
    let utf16 = b"\xff\xfe{\0\"\0";
    let result = "trace:1: expected UTF-8, found other bytes at column 1; the file looks like UTF-16, so convert it to UTF-8";
    assert_eq!(only_error(utf16), result);
}

#[test]
fn damaged_gzip_and_truncated_gzip_are_different_errors() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(AUDIT.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let result = summary_of(&packed[..packed.len() - 4]);
    let cut = "expected the rest of the gzip data, found the end of the file; it may be truncated";
    assert!(result.last().unwrap().ends_with(cut), "{result:?}");
    assert!(result.len() > 1, "what was readable is kept");
    let mut damaged = packed.clone();
    let last = damaged.len() - 6;
    damaged[last] ^= 0xff;
    let result = summary_of(&damaged);
    assert!(result.last().unwrap().contains("expected gzip data, found damage: "), "{result:?}");
}

#[test]
fn a_file_of_no_known_form_is_described() {
    let expected = |found: &str| {
        format!(
            "trace:1: expected an audit log (audit.k8s.io/v1), a watch stream ({{\"type\",\"object\"}}) or a native trace, found {found}"
        )
    };
    let bare =
        "which shows a state and no change; record with `kubectl get -w --output-watch-events -o json`";
    let cases = [
        (
            r#"{"kind":"ConfigMap","apiVersion":"v1"}"#,
            "an object of kind \"ConfigMap\" and apiVersion \"v1\"".into(),
        ),
        (r#"{"kind":"Job","apiVersion":"batch/v1"}"#, format!("a bare Job, {bare}")),
        (r#"{"kind":"List","items":[{"kind":"Pod","apiVersion":"v1"}]}"#, format!("a bare Pod, {bare}")),
        (r#"{"kind":"List"}"#, format!("a bare List, {bare}")),
        (r#"{"kind":5}"#, "a JSON object with other fields".into()),
        (r#"{"time":"now"}"#, "a JSON object without kind".into()),
        ("\"text\"", "a JSON string".into()),
        ("true", "a JSON boolean".into()),
        ("null", "null".into()),
        ("12", "a JSON number".into()),
    ];
    for (text, found) in cases {
        let result = only_error(text).replace(" (element 1 of this line)", "");
        assert_eq!(result, expected(&found));
    }
}

#[test]
fn audit_events_of_another_version_are_refused() {
    let result = "trace:1: expected audit events of audit.k8s.io/v1, found audit.k8s.io/v1beta1";
    assert_eq!(edited("audit.k8s.io/v1", "audit.k8s.io/v1beta1"), result);
}

#[test]
fn forms_do_not_mix_within_a_file() {
    let (audit, watch) = (audited("a", 1, 200, 7), watched("ADDED", "a", 7));
    let native = r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#;
    let cases = [
        (&*audit, &*watch, "audit log", "a watch event"),
        (&audit, native, "audit log", "the header of a native trace"),
        (&watch, &audit, "watch stream", "an audit event"),
        (native, &watch, "native trace", "a watch event"),
        (&watch, r#"{"kind":"Node"}"#, "watch stream", "an object of kind \"Node\" and apiVersion \"\""),
        (native, r#"{"kind":1}"#, "native trace", "a JSON object with other fields"),
    ];
    for (first, second, form, found) in cases {
        let result = summary_of(format!("{first}\n{second}\n"));
        assert_eq!(result[1], format!("trace:2: expected another line of the {form}, found {found}"));
    }
}

#[test]
fn fields_that_an_audit_event_needs_are_named() {
    let cases = [
        (r#""stage":"ResponseComplete","#, "", "stage of an audit event, found none"),
        (r#""ResponseComplete""#, r#""Done""#, "stage of an audit event, found \"Done\""),
        (r#""verb":"update","#, "", "verb of an audit event, found none"),
        (r#""level":"RequestResponse","#, "", "level of an audit event, found none"),
        (r#""RequestResponse""#, r#""All""#, "level of an audit event, found \"All\""),
        (r#""user":{"username":"kcm"},"#, "", "user.username of an audit event, found none"),
        (r#""responseStatus":{"code":200},"#, "", "responseStatus.code of an audit event, found none"),
        (r#""code":200"#, r#""code":-1"#, "responseStatus.code of an audit event, found -1"),
        (
            r#","stageTimestamp":"2026-11-21T00:00:01.500000Z""#,
            "",
            "stageTimestamp of an audit event, an RFC 3339 time, found none",
        ),
        (
            "2026-11-21T00:00:01.000000Z",
            "yesterday",
            "requestReceivedTimestamp of an audit event, an RFC 3339 time, found \"yesterday\"",
        ),
        (r#""uid":"u-a","#, "", "metadata.uid, found none"),
        (r#","resourceVersion":"7""#, "", "metadata.resourceVersion, found none"),
        (
            r#""resourceVersion":"7""#,
            r#""resourceVersion":"7a""#,
            "metadata.resourceVersion, a decimal number, found \"7a\"",
        ),
        (
            r#""resourceVersion":"7""#,
            r#""resourceVersion":7"#,
            "an API object, found invalid type: integer `7`, expected a string",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(edited(from, to), format!("trace:1: expected {expected}"));
    }
}

/// Kubernetes 1.38 answers without a version if the object was gone when its last finalizer was removed.
#[test]
fn an_object_that_is_gone_needs_no_version() {
    let answered = |metadata: &str| {
        summary_of(audited("a", 1, 200, 7).replace(r#""resourceVersion":"7""#, metadata)).join("; ")
    };
    let deleted = r#""deletionTimestamp":"2026-11-21T00:00:00Z""#;
    assert!(!answered(deleted).contains("expected"), "{}", answered(deleted));
    assert!(!answered(&format!(r#"{deleted},"finalizers":[]"#)).contains("expected"));
    for kept in [format!(r#"{deleted},"finalizers":["a/b"]"#), r#""deletionTimestamp":null"#.to_owned()] {
        assert!(answered(&kept).contains("metadata.resourceVersion, found none"), "{}", answered(&kept));
    }
}

#[test]
fn a_field_of_another_type_is_reported_with_its_line() {
    let result = edited(r#""verb":"update""#, r#""verb":12345678"#);
    assert!(result.ends_with("invalid type: integer `12345678`, expected a string"), "{result}");
    assert!(result.starts_with("trace:1: unexpected JSON at column "), "{result}");
}

#[test]
fn fields_that_a_watch_event_needs_are_named() {
    let line = watched("ADDED", "a", 7);
    let cases = [
        (
            "ADDED",
            "CHANGED",
            "type of a watch event (ADDED, MODIFIED, DELETED, BOOKMARK or ERROR), found \"CHANGED\"",
        ),
        (r#""kind":"Job","#, "", "kind of a watched object, found none"),
        (r#""metadata""#, r#""meta""#, "metadata of a watched Job, found none"),
        (r#""uid":"u-a""#, r#""uid":"""#, "metadata.uid, found none"),
        (
            r#""7""#,
            r#""18446744073709551616""#,
            "metadata.resourceVersion, a decimal number, found \"18446744073709551616\"",
        ),
        (r#""7""#, r#""+7""#, "metadata.resourceVersion, a decimal number, found \"+7\""),
    ];
    for (from, to, expected) in cases {
        assert_eq!(only_error(line.replace(from, to)), format!("trace:1: expected {expected}"));
    }
}

#[test]
fn a_native_trace_of_another_major_version_is_an_error_with_advice() {
    let header = |version: &str| format!(r#"{{"format":"jobcheck.dev/trace","version":"{version}"}}"#);
    assert_eq!(
        only_error(header("2.1")),
        "trace:1: expected a native trace of version 1.x, found version 2.1: it was written by a newer jobcheck; read it with that one"
    );
    assert_eq!(
        only_error(header("0.9")),
        "trace:1: expected a native trace of version 1.x, found version 0.9: it was written by an older jobcheck; record it again"
    );
    let expected = "trace:1: expected version of a native trace, such as \"1.0\", found \"one\"";
    assert_eq!(only_error(header("one")), expected);
}

#[test]
fn long_texts_are_shortened_in_messages() {
    let result = edited("2026-11-21T00:00:01.000000Z", &"x".repeat(1000));
    assert!(result.ends_with(&format!("found \"{}\"…", "x".repeat(60))), "{result}");
}

#[test]
fn an_error_concerns_its_own_file_and_is_reported_once() {
    let bad = format!("{}\n{{\n{}\n", watched("ADDED", "a", 1), watched("ADDED", "b", 2));
    let good = format!("{}\n{}\n", watched("ADDED", "c", 3), watched("ADDED", "d", 4));
    assert_eq!(
        summary(&[input("bad", bad), input("good", good)]),
        [
            "0:1 ADDED a @1",
            "bad:2: expected the rest of a JSON document, found the end of the line; it may be truncated",
            "0:3 ADDED b @2",
            "1:1 ADDED c @3",
            "1:2 ADDED d @4",
        ]
    );
}

#[test]
fn deep_nesting_is_read_or_reported() {
    let deep = "[".repeat(200_000);
    let unclosed = format!("{{\"type\":\"ADDED\",\"object\":{deep}");
    assert!(only_error(unclosed).contains("it may be truncated"));
    let line = watched("ADDED", "a", 7)
        .replace(r#""kind""#, &format!("\"x\":{deep}{},\"kind\"", "]".repeat(200_000)));
    assert_eq!(summary_of(line), ["0:1 ADDED a @7"]);
    let metadata = watched("ADDED", "a", 7).replace(r#""u-a""#, &deep);
    assert_eq!(only_error(&metadata).split(": ").next(), Some("trace:1"));
}

/// A killed API server leaves half an event, to which its successor adds. The first line of a part of a log may be the end of one.
#[test]
fn lines_behind_one_that_cannot_be_read_are_read() {
    let event = |version: u32| audited("a", version, 200, version.into());
    let half = &event(2)[..90];
    let torn =
        [event(1), format!("{half}{}", event(2)), event(3), "I0101 ready".to_owned(), event(4)].join("\n");
    let result = summary_of(&torn);
    assert_eq!(result.len(), 5, "{result:?}");
    let (records, errors): (Vec<_>, Vec<_>) = result.iter().partition(|line| line.starts_with("0:"));
    let lines: Vec<&str> = records.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["0:1", "0:3", "0:5"]);
    assert!(
        errors[0].starts_with("trace:2: ") && errors[1].starts_with("trace:4: expected JSON"),
        "{errors:?}"
    );
    assert!(result[0].starts_with("0:1"), "{result:?}");

    for at in [5, 90, 91, event(1).find(":{").unwrap() + 1, event(1).len() - 1] {
        let result = summary_of(format!("{}\n{}\n{}\n", &event(1)[at..], event(2), event(3)));
        let begins: Vec<&str> = result.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(begins, ["trace:1:", "0:2", "0:3"], "{at}: {result:?}");
    }
}

#[test]
fn a_file_with_too_many_lines_that_cannot_be_read_ends() {
    let mut lines = vec![audited("a", 1, 200, 7)];
    lines.extend(vec!["noise".to_owned(); MOST_UNREADABLE as usize + 5]);
    lines.push(audited("a", 2, 200, 8));
    let result = summary_of(lines.join("\n"));
    assert_eq!(result.len(), 1 + MOST_UNREADABLE as usize + 1, "{result:?}");
    assert!(result.last().unwrap().starts_with(&format!("trace:{}: ", MOST_UNREADABLE + 2)), "{result:?}");
    // Other text has one error, whatever its length, and so has a log behind two lines of it.
    assert_eq!(summary_of("noise\n".repeat(9)).len(), 1);
    let behind = format!("I0101 start\nI0101 ready\n{}\n", audited("a", 1, 200, 7));
    assert_eq!(summary_of(behind).len(), 1);
}

/// Among records that are sorted, a line that cannot be read has no place.
#[test]
fn a_log_with_its_newest_events_first_ends_at_a_line_that_cannot_be_read() {
    let event = |second: usize| {
        audited("a", 1, 200, 7).replace("T00:00:01", &format!("T00:{:02}:{:02}", second / 60, second % 60))
    };
    let times: Vec<usize> = (0..90).rev().collect();
    for at in [0, 1, 30, 70] {
        let mut lines: Vec<String> = times.iter().map(|second| event(*second)).collect();
        lines.insert(at, "noise".to_owned());
        let mut reader = Reader::open(&[input("log", lines.join("\n"))]);
        let (mut errors, mut seen) = (Vec::new(), Vec::new());
        loop {
            match reader.next() {
                Ok(Some(record)) => seen.push(record.place.line),
                Ok(None) => break,
                Err(error) => errors.push(error.reads_on),
            }
        }
        assert_eq!(errors, [false], "{at}");
        assert!(seen.is_sorted_by(|a, b| a > b), "{at}: {seen:?}");
    }
}
