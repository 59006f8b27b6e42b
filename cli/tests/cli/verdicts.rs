//! Every exit code, and which verdict leads to it.

use serde_json::Value;

use crate::support::{
    Folder, active_miscounted, at_metadata, counted_too_much, known_deviation, lines, recording, replay,
    with_refused_write,
};

#[test]
fn a_recording_of_the_built_in_controller_conforms_in_a_few_lines() {
    let run = replay([recording("nonindexed-success.audit")]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().starts_with("conforms"), "{}", run.out);
    assert!(run.first_line().contains("(audit log): 1 Job, "), "{}", run.out);
    assert!(run.out.lines().count() <= 12, "{}", run.out);
    assert_eq!(run.err, "");
}

#[test]
fn a_watch_in_a_native_trace_is_judged_like_a_watch_stream() {
    let folder = Folder::new();
    let native = lines("nonindexed-success.watch").into_iter().map(|line| format!("{{\"watched\":{line}}}"));
    let header = r#"{"format":"jobcheck.dev/trace","version":"1.1"}"#.to_owned();
    let native = folder.write_lines("native.jsonl", &[header].into_iter().chain(native).collect::<Vec<_>>());
    let judged = |file| replay(["-ojson".as_ref(), std::path::Path::as_os_str(file)]).json();
    let (native, stream) = (judged(&native), judged(&recording("nonindexed-success.watch")));
    assert_eq!(native["requirements"], stream["requirements"]);
    assert_eq!(native["traces"][0]["jobs"][0]["judged"], stream["traces"][0]["jobs"][0]["judged"]);
}

#[test]
fn a_violation_is_printed_with_its_place_both_sides_and_the_rule() {
    let folder = Folder::new();
    let file = folder.write_lines("bad.jsonl", &counted_too_much());
    let run = replay([&file]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.first_line().starts_with("violates"), "{}", run.out);
    let place = format!("{}:18", file.display());
    for expected in ["FT-02 (also ", &place, "expected  3", "found     4", "succeeded 4"] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
    for expected in [
        "violates FT-02 (also FT-03, FT-04): A terminated pod",
        ":18, at 00:28:32 UTC on 2026-11-21",
        "by        system:kube-controller-manager, job-controller",
        "result    the status counts succeeded 4; 3 pods succeeded",
        "next      kubectl -n t-nonindexed-success-1795220909 get job job",
        "page      docs/reference/requirements/ft.md#ft-02",
    ] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
}

/// Nobody can `kubectl get` a UID.
#[test]
fn pods_are_named_with_their_uid_behind_the_name() {
    let folder = Folder::new();
    let known = recording("x").parent().unwrap().with_file_name("known").join("s05-readopted.audit.jsonl");
    let run = replay([known.as_os_str()]);
    for expected in [
        "write     adoption of pod s05-readopted-1/job-7gvvr Succeeded",
        "pods      s05-readopted-1/job-7gvvr  UID 10db5f86-a477-42a8-8609-beb4a4aab0eb",
        "workaround: Keep the owner reference of a counted pod",
        "page      docs/findings/S-05.md",
    ] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
    let file = folder.write_lines("bad.jsonl", &active_miscounted());
    let explained = replay([file.as_os_str(), "--explain".as_ref()]);
    let story = explained.out.split("before it").nth(1).unwrap();
    assert!(story.contains("00:28:30  creation of pod job-"), "{}", explained.out);
    let report = replay([known.as_os_str(), "-ojson".as_ref()]).json();
    let finding = &report["jobs"][0]["violations"][0];
    assert_eq!(finding["pods"][0]["name"], "job-7gvvr");
    assert_eq!(finding["actor"]["agent"], "job-controller");
    assert_eq!(report["jobs"][0]["contradictions"][0], "the status counts succeeded 4; 3 pods succeeded");
}

#[test]
fn explain_prints_the_events_the_state_and_the_views() {
    let folder = Folder::new();
    let run =
        replay([folder.write_lines("bad.jsonl", &active_miscounted()).as_os_str(), "--explain".as_ref()]);
    assert_eq!(run.code, 1, "{run:?}");
    for expected in [
        "before it",
        "the state before it",
        "no view of the caches allows it",
        "Pod cache",
        "expected 2, found 7",
    ] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
}

#[test]
fn a_known_deviation_violates_unless_it_is_allowed() {
    let folder = Folder::new();
    let file = folder.write_lines("known.jsonl", &known_deviation());
    let run = replay([file.as_os_str()]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("S-09") && run.out.contains("KNOWN deviation"), "{}", run.out);
    let allowed = replay([file.as_os_str(), "--allow-known".as_ref()]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.out.contains("--allow-known excuses"), "{}", allowed.out);
    let bad = folder.write_lines("bad.jsonl", &counted_too_much());
    assert_eq!(replay([bad.as_os_str(), "--allow-known".as_ref()]).code, 1);
}

#[test]
fn a_warning_is_a_violation_only_if_strict() {
    let folder = Folder::new();
    let file = folder.write_lines("warned.jsonl", &with_refused_write(|_| {}));
    let run = replay([file.as_os_str()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("warnings      1"), "{}", run.out);
    let strict = replay([file.as_os_str(), "--strict".as_ref()]);
    assert_eq!(strict.code, 1, "{strict:?}");
}

#[test]
fn a_trace_of_a_level_that_shows_too_little_is_inconclusive() {
    let folder = Folder::new();
    let run = replay([folder.write_lines("metadata.jsonl", &at_metadata("nonindexed-success.audit"))]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.contains("level RequestResponse"), "{}", run.out);
}

#[test]
fn a_gap_makes_what_depends_on_it_inconclusive() {
    let folder = Folder::new();
    let mut watch = lines("nonindexed-success.watch");
    let gone = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}"#;
    watch.insert(6, gone.to_owned());
    let run = replay([folder.write_lines("gap.jsonl", &watch)]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.first_line().starts_with("inconclusive"), "{}", run.out);
}

#[test]
fn a_trace_of_other_things_is_inconclusive() {
    let folder = Folder::new();
    let mut read: Value = serde_json::from_str(&lines("nonindexed-success.audit")[0]).unwrap();
    read["verb"] = "list".into();
    let run = replay([folder.write_lines("reads.jsonl", &[read.to_string()])]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.contains("no write to a Job or a Pod"), "{}", run.out);
}

#[test]
fn an_open_obligation_is_pending_and_no_violation() {
    let folder = Folder::new();
    let mut cut = lines("nonindexed-success.audit");
    cut.pop();
    let run = replay([folder.write_lines("unfinished.jsonl", &cut)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("TC-04 write Complete"), "{}", run.out);
    // The pods have terminated, and hold the finalizer.
    cut.truncate(9);
    let run = replay([folder.write_lines("uncounted.jsonl", &cut)]);
    let pending =
        "FT-02 count the terminated pods (t-nonindexed-success-1795220909/job, pods job-d594x job-dplbc)";
    assert!(run.out.contains(pending), "{}", run.out);
}

#[test]
fn an_unreadable_part_counts_more_than_a_violation_before_it() {
    let folder = Folder::new();
    let mut bad = counted_too_much();
    bad.push("{\"kind\":\"Event\",".to_owned());
    let file = folder.write_lines("bad.jsonl", &bad);
    let run = replay([&file]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.out.contains("FT-02") && run.first_line().contains("not read to its end"), "{}", run.out);
    assert!(run.first_line().starts_with("unreadable"), "{}", run.out);
    assert!(run.err.contains(&format!("{}:19: ", file.display())), "{}", run.err);
}

/// A killed API server leaves half an event, to which its successor adds.
#[test]
fn lines_behind_one_that_cannot_be_read_are_judged() {
    let folder = Folder::new();
    let mut torn = lines("completions-zero.audit");
    let last = torn.len();
    torn[last - 1].insert_str(0, "{\"kind\":\"Event\",\"level\":\"Requ");
    // The second Job is later.
    torn.extend(counted_too_much().into_iter().map(|line| line.replace("T00:28:", "T00:38:")));
    let file = folder.write_lines("torn.jsonl", &torn);
    let run = replay([&file]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains(&format!("{}:{last}: expected JSON", file.display())), "{}", run.err);
    assert!(run.first_line().contains("1 line not readable: the part that was read violates"), "{}", run.out);
    assert!(run.out.contains("FT-02"), "{}", run.out);
}

#[test]
fn of_several_traces_the_first_that_occurs_of_2_1_3_0_is_the_exit_code() {
    let folder = Folder::new();
    let good = recording("completions-zero.audit");
    let bad = folder.write_lines("bad.jsonl", &counted_too_much());
    let nothing = folder.write("nothing.jsonl", r#"{"type":"BOOKMARK","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"}}}"#);
    let whole = std::fs::read_to_string(recording("nonindexed-success.audit")).unwrap();
    let partly = folder.write("partly.jsonl", whole.split_once('\n').unwrap().1);
    let missing = folder.path("missing.jsonl");
    for (files, code) in [
        (vec![&good, &nothing], 0),
        (vec![&good, &partly], 3),
        (vec![&good, &partly, &bad], 1),
        (vec![&good, &partly, &bad, &missing], 2),
    ] {
        let run = replay(files);
        assert_eq!(run.code, code, "{run:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_the_environments_fault() {
    use std::process::Stdio;
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = crate::support::binary();
    command
        .arg("replay")
        .arg(recording("completions-zero.audit"))
        .stdout(Stdio::from(full))
        .stderr(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(4));
}

/// Otherwise the signal of the system would end the process without a message.
#[cfg(target_os = "linux")]
#[test]
fn a_page_larger_than_the_shell_permits_is_the_environments_fault() {
    let folder = crate::support::Folder::new();
    let program = env!("CARGO_BIN_EXE_jobcheck");
    let page = folder.path("page.html");
    let script = format!(
        "ulimit -f 8; exec '{program}' replay '{}' --html '{}'",
        recording("completions-zero.audit").display(),
        page.display()
    );
    let run = crate::support::finish(std::process::Command::new("bash").args(["-c", &script]), b"");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("page.html"), "{run:?}");
}
