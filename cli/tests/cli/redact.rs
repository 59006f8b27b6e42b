//! `jobcheck redact`: all forms of traces, and inputs that it must not take for done.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, binary, finish, jobcheck, lines, replay};

/// The lines of a recording whose containers have a secret.
fn with_secrets(name: &str) -> Vec<String> {
    let secret =
        "\"args\":[\"--token=SECRET\"],\"env\":[{\"name\":\"T\",\"value\":\"SECRET\"}],\"name\":\"main\"";
    let all: Vec<String> = lines(name).iter().map(|line| line.replace("\"name\":\"main\"", secret)).collect();
    assert!(all.concat().contains("SECRET"));
    all
}

fn redact(file: &std::path::Path) -> crate::support::Run {
    jobcheck(["redact".as_ref(), file.as_os_str()])
}

#[test]
fn a_redacted_trace_of_each_form_has_no_secret_and_the_same_verdict() {
    let folder = Folder::new();
    for name in ["nonindexed-success.audit", "nonindexed-success.watch"] {
        let whole = folder.write_lines(name, &with_secrets(name));
        let run = redact(&whole);
        assert!(run.code == 0 && !run.out.contains("SECRET") && run.out.contains("redacted-"), "{run:?}");
        let redacted = folder.path("redacted");
        fs::write(&redacted, &run.out).unwrap();
        let judged = |file: &std::path::Path| {
            let mut report = replay(["-ojson".as_ref(), file.as_os_str()]).json();
            report["traces"][0]["files"] = Value::Null;
            report["jobs"][0]["files"] = Value::Null;
            report["inputs"] = Value::Null;
            report
        };
        assert_eq!(judged(&whole), judged(&redacted));
    }
}

/// Log systems export events as texts, and lists spread over lines.
#[test]
fn envelopes_are_taken_off() {
    let folder = Folder::new();
    let events = with_secrets("nonindexed-success.audit");
    let rows: Vec<Value> = events.iter().map(|event| json!({"message": event})).collect();
    let export = serde_json::to_string_pretty(&json!({"events": rows})).unwrap();
    let file = folder.path("export.json");
    fs::write(&file, &export).unwrap();
    let run = redact(&file);
    assert!(run.code == 0 && !run.out.contains("SECRET"), "{run:?}");
    let stdin = finish(binary().args(["redact", "-"]), export.as_bytes());
    assert!(stdin.code == 0 && stdin.out.lines().count() == events.len(), "{stdin:?}");
    assert!(!stdin.out.contains("SECRET"));

    // An export of an export, and a text in front of each event.
    let wrapped = |text: &str| json!({"log": json!({"message": text}).to_string()}).to_string();
    let nested: String = events.iter().map(|event| wrapped(event) + "\n").collect();
    let with_times: String =
        events.iter().map(|it| format!("2026-11-21T00:00:00Z stdout F {it}\n")).collect();
    for text in [nested, with_times] {
        fs::write(&file, text).unwrap();
        let run = redact(&file);
        assert!(run.code == 0 && run.out.lines().count() == events.len(), "{run:?}");
        assert!(!run.out.contains("SECRET") && run.out.contains("redacted-"));
    }
}

#[test]
fn what_replay_cannot_read_is_not_taken_for_redacted() {
    let folder = Folder::new();
    let events = with_secrets("nonindexed-success.audit");
    let file = folder.path("bad");
    let half = json!({"log": &events[0][..events[0].len() / 2]}).to_string();
    let twice = events[0].replacen('{', "{\"level\":\"Request\",", 1);
    for text in
        [half.as_str(), "{\"a\":1}", "SECRET", "", "[\"SECRET\"]", "kind: Job\nspec: SECRET\n", &twice]
    {
        fs::write(&file, text).unwrap();
        let run = redact(&file);
        assert!(run.code == 2 && run.out.is_empty() && !run.err.is_empty(), "{text}: {run:?}");
        assert!(!run.err.contains("SECRET"), "{run:?}");
    }
}

/// The records alone do not show that others are missing.
#[test]
fn an_incomplete_export_is_not_taken_for_redacted() {
    let folder = Folder::new();
    let rows: Vec<Value> =
        with_secrets("nonindexed-success.audit").iter().map(|event| json!({"message": event})).collect();
    let file = folder.path("export.json");
    fs::write(&file, json!({"events": rows, "nextToken": "eyJ"}).to_string()).unwrap();
    let run = redact(&file);
    assert!(run.code == 2 && run.err.contains("is incomplete: nextToken is set"), "{run:?}");
}

/// A part of a trace would be judged as the whole.
#[test]
fn a_limit_ends_the_command_and_leaves_no_part() {
    let folder = Folder::new();
    let name = "nonindexed-success.audit";
    let file = folder.write_lines(name, &with_secrets(name));
    let to = folder.path("to");
    let limited = |limit: &[&str]| {
        let files = ["redact".as_ref(), file.as_os_str(), "--to".as_ref(), to.as_os_str()];
        jobcheck(files.into_iter().chain(limit.iter().map(|it| it.as_ref())))
    };
    for (limit, message) in [
        (["--max-memory", "1MB"], "raise it with --max-memory"),
        (["--budget", "0s"], "raise it with --budget"),
    ] {
        let run = limited(&limit);
        assert!(run.code == 3 && run.err.contains(message), "{run:?}");
        assert!(!to.join(file.file_name().unwrap()).exists(), "{limit:?}");
    }
    assert_eq!(limited(&["--max-memory", "1GB", "--budget", "10m"]).code, 0);
}

/// Nothing of a Secret or a token may stay; a record of a pod may stand beside them.
#[test]
fn other_resources_are_left_out() {
    let folder = Folder::new();
    let mut events = with_secrets("nonindexed-success.audit");
    let count = events.len();
    let other = |resource: &str| {
        json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": resource,
            "stage": "ResponseComplete", "verb": "create", "user": {"username": "u"},
            "objectRef": {"resource": resource}, "requestObject": {"data": {"k": "SECRET"}},
            "requestReceivedTimestamp": "2026-11-21T00:00:00Z", "stageTimestamp": "2026-11-21T00:00:00Z"})
    };
    events.splice(1..1, ["secrets", "configmaps", "serviceaccounts"].map(|it| other(it).to_string()));
    let run = redact(&folder.write_lines("mixed", &events));
    assert!(run.code == 0 && run.out.lines().count() == count && !run.out.contains("SECRET"), "{run:?}");
    assert!(run.err.contains("left out 3 documents"), "{run:?}");
}

#[test]
fn several_files_are_written_to_a_directory_and_none_is_overwritten() {
    let folder = Folder::new();
    let [one, other] = ["nonindexed-success.audit", "nonindexed-success.watch"]
        .map(|name| folder.write_lines(name, &with_secrets(name)));
    let to = folder.path("to");
    let all = || ["redact".as_ref(), one.as_os_str(), other.as_os_str()];
    assert_eq!(jobcheck(all()).code, 2);
    let run = jobcheck(all().into_iter().chain(["--to".as_ref(), to.as_os_str()]));
    assert!(run.code == 0 && run.err.contains("judge it: jobcheck replay"), "{run:?}");
    let texts: Vec<String> =
        [&one, &other].map(|file| fs::read_to_string(to.join(file.file_name().unwrap())).unwrap()).to_vec();
    // The key is that of the call, so that a pod of one file is compared with the template in another.
    let digest = |text: &str| text.split("redacted-").nth(1).map(|rest| rest[..16].to_owned()).unwrap();
    assert!(texts[1].contains(&digest(&texts[0])) && !texts.concat().contains("SECRET"));
    assert_eq!(jobcheck(all().into_iter().chain(["--to".as_ref(), to.as_os_str()])).code, 4);

    fs::write(&one, with_secrets("nonindexed-success.audit").join("\n") + "\n{\"log\":\"{\\\"a\"}").unwrap();
    fs::remove_dir_all(&to).unwrap();
    assert_eq!(jobcheck(all().into_iter().chain(["--to".as_ref(), to.as_os_str()])).code, 2);
    assert!(!to.join(one.file_name().unwrap()).exists(), "a part of a trace is no redacted trace");
}
