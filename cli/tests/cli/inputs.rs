//! The inputs of `jobcheck replay`, and the errors of unreadable ones.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Folder, binary, finish, jobcheck, lines, peak_memory, recording, replay};

#[test]
fn standard_input_and_gzip_are_read_like_files() {
    let text = std::fs::read(recording("nonindexed-success.audit")).unwrap();
    let run = finish(binary().args(["replay", "-"]), &text);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().contains("standard input (audit log): 1 Job"), "{}", run.out);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&text).unwrap();
    let folder = Folder::new();
    let run = replay([folder.write("trace", packer.finish().unwrap())]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().contains("1 Job, 20 writes judged"), "{}", run.out);
}

#[test]
fn a_rotated_log_is_one_trace_whatever_the_order_of_its_files() {
    let folder = Folder::new();
    let all = lines("nonindexed-success.audit");
    let (old, new) = all.split_at(9);
    let (old, new) = (folder.write_lines("audit-1.log", old), folder.write_lines("audit.log", new));
    let run = replay([new.as_os_str(), old.as_os_str(), "-ojson".as_ref()]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(report["traces"].as_array().unwrap().len(), 1);
    assert_eq!(report["jobs"][0]["files"].as_array().unwrap().len(), 2);
    assert_eq!(report["judgedWrites"], 20);
}

#[test]
fn one_watch_for_each_resource_is_one_trace() {
    let folder = Folder::new();
    let all = lines("nonindexed-success.watch");
    let (jobs, pods): (Vec<String>, Vec<String>) =
        all.iter().cloned().partition(|line| line.contains("\"kind\":\"Job\",\"apiVersion\""));
    let (jobs, pods) = if jobs.is_empty() {
        all.into_iter().partition(|line| line.contains("\"apiVersion\":\"batch/v1\",\"kind\":\"Job\""))
    } else {
        (jobs, pods)
    };
    assert!(!jobs.is_empty() && !pods.is_empty());
    let run = replay([folder.write_lines("pods", &pods), folder.write_lines("jobs", &jobs)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().contains("2 files (watch stream): 1 Job, 20 writes judged"), "{}", run.out);
}

#[test]
fn an_empty_file_beside_others_is_no_error() {
    let folder = Folder::new();
    let jobs = folder.write_lines("jobs", &lines("completions-zero.watch"));
    let run = replay([folder.write("pods", ""), jobs]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn an_export_of_cloudwatch_is_read_and_its_other_messages_are_named() {
    let event = |message: &str| {
        let message = serde_json::to_string(message).unwrap();
        format!(r#"{{"message":{message},"eventId":"1","ingestionTime":1}}"#)
    };
    let export = |messages: &[String]| {
        let events: Vec<String> = messages.iter().map(|message| event(message)).collect();
        format!("{{\n\"events\": [\n{}\n]\n}}\n", events.join(",\n"))
    };
    let folder = Folder::new();
    let mut messages = lines("nonindexed-success.audit");
    let run = replay([folder.write("export.json", export(&messages))]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().contains("(audit log): 1 Job, 20 writes judged"), "{}", run.out);
    messages[4] = "time=\"2026-11-21T00:28:37Z\" level=info msg=x".to_owned();
    refused("export.json", export(&messages), 7, "aws logs filter-log-events --log-group-name GROUP");
}

#[test]
fn previews_of_an_export_of_splunk_are_no_final_rows() {
    let folder = Folder::new();
    let all = lines("nonindexed-success.audit");
    let export = |is_preview: bool, lines: &[String]| -> Vec<String> {
        let row = |(at, line): (usize, &String)| {
            let is_last = at + 1 == lines.len();
            serde_json::json!({"preview": is_preview, "offset": at, "lastrow": is_last, "result": {"_raw": line}})
        };
        lines.iter().enumerate().map(row).map(|row| row.to_string()).collect()
    };
    // A search that still runs has found a part of the rows.
    let part = export(true, &all[1..]);
    let run = replay([folder.write_lines("export.json", &part)]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.contains("export.json is incomplete: preview is true in its last row"), "{run:?}");
    let run = replay([folder.write_lines("export.json", &[part, export(false, &all)].concat())]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.first_line().contains("(audit log): 1 Job, 20 writes judged"), "{}", run.out);
}

#[test]
fn all_recordings_at_once_conform_each_for_itself() {
    let folder = recording("x").parent().unwrap().to_owned();
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 68);
    let run = replay(&files);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains(&format!("{0} traces, {0} conforming", files.len())), "{}", run.out);
}

#[test]
fn copies_of_one_trace_are_judged_apart() {
    let folder = Folder::new();
    let copy = folder.write_lines("copy.jsonl", &lines("nonindexed-success.audit"));
    let run = replay([recording("nonindexed-success.audit"), copy]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("2 traces, 2 conforming"), "{}", run.out);
}

/// Asserts exit code 2 and a part of the message. `line` 0 stands for the file as a whole.
fn refused(name: &str, bytes: impl AsRef<[u8]>, line: u64, part: &str) {
    let folder = Folder::new();
    let file = folder.write(name, bytes);
    let run = replay([&file]);
    assert_eq!(run.code, 2, "{run:?}");
    let place = if line == 0 { String::new() } else { format!(":{line}") };
    let expected = format!("error: {}{place}: ", file.display());
    assert!(run.err.starts_with(&expected), "{expected:?} does not begin {:?}", run.err);
    assert!(run.err.contains(part), "{part:?} is not in {:?}", run.err);
    assert!(!run.err.contains("panicked"), "{}", run.err);
}

/// The recording with one line changed.
fn edited(number: usize, edit: impl Fn(&str) -> String) -> String {
    let mut lines = lines("nonindexed-success.audit");
    lines[number - 1] = edit(&lines[number - 1]);
    lines.join("\n")
}

#[test]
fn a_cut_line_is_named() {
    refused("cut.jsonl", edited(18, |line| line[..200].to_owned()), 18, "it may be truncated");
    refused("cut.jsonl", edited(4, |line| line[..200].to_owned()), 4, "");
}

#[test]
fn noise_is_no_trace() {
    refused("noise", b"\xff\xfe\x00\x01", 1, "expected UTF-8");
    refused("text", "hello\n", 1, "expected JSON");
    refused("noise-later", edited(7, |_| "###".to_owned()), 7, "expected JSON");
}

#[test]
fn an_empty_file_is_no_trace() {
    refused("empty", "", 0, "expected a trace, found an empty file");
    refused("blank", "\n\n", 0, "empty file");
}

#[test]
fn other_kinds_of_files_are_rejected_with_their_kind() {
    refused("job", r#"{"kind":"Job","apiVersion":"batch/v1"}"#, 1, "kubectl get -w --output-watch-events");
    refused(
        "kind",
        r#"{"kind":"Deployment","apiVersion":"apps/v1"}"#,
        1,
        "found an object of kind \"Deployment\"",
    );
    refused("array", "[1,2]", 1, "found a JSON number (element 1 of this line)");
    refused("yaml", "apiVersion: v1\nitems:\n", 1, "YAML of an object, which shows a state");
    refused("xz", b"\xfd7zXZ\0\0\x04", 0, "xz -dc FILE | jobcheck replay -");
    refused(
        "mixed",
        edited(3, |_| r#"{"type":"ADDED","object":{}}"#.to_owned()),
        3,
        "expected another line of the audit log",
    );
}

#[test]
fn missing_metadata_and_unreadable_versions_are_named() {
    refused("metadata", r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1"}}"#, 1, "expected");
    let version = edited(5, |line| line.replace("\"resourceVersion\":\"", "\"resourceVersion\":\"x"));
    refused("version", version, 5, "a decimal number");
    let wrong = edited(4, |line| line.replace("\"active\":2", "\"active\":\"two\""));
    refused("type", wrong, 4, "active");
}

#[test]
fn huge_nesting_is_refused_without_a_crash() {
    refused("arrays", "[".repeat(300_000), 1, "expected");
    let object = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    refused("objects", &object, 1, "expected");
    let watched = r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"n","uid":"u","resourceVersion":"1"},"spec":SPEC}}"#;
    let folder = Folder::new();
    let run = replay([folder.write("spec", watched.replace("SPEC", &object))]);
    assert!((0..=3).contains(&run.code), "{run:?}");
}

#[test]
fn files_that_are_not_there_or_no_files_are_named() {
    let folder = Folder::new();
    let missing = folder.path("missing.jsonl");
    let run = replay([&missing]);
    assert_eq!((run.code, run.err), (2, format!("error: {}: no such file\n", missing.display())));
    let run = replay([folder.path("")]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("expected a file, found a directory; name the files in it"), "{}", run.err);
    let run = finish(binary().args(["replay", "-", "-"]), b"");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("standard input is named twice"), "{}", run.err);
}

#[test]
fn the_readable_part_is_judged_all_the_same() {
    let folder = Folder::new();
    let file = folder.write("cut.jsonl", edited(12, |_| "{".to_owned()));
    let run = replay([file.as_os_str(), "-ojson".as_ref()]);
    assert_eq!(run.code, 2);
    let report = run.json();
    assert_eq!(report["exitCode"], 2);
    // The line has removed a finalizer.
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!((&report["errors"][0]["line"], &report["errors"][0]["readsOn"]), (&12.into(), &true.into()));
    assert_eq!(report["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_ends_early_while_others_continue_leaves_a_gap() {
    let folder = Folder::new();
    let all = lines("nonindexed-success.audit");
    let (old, new) = all.split_at(9);
    let mut old = old.to_vec();
    old[7] = "{".to_owned();
    let files = [folder.write_lines("audit-1.log", &old), folder.write_lines("audit.log", new)];
    let run = replay(files.iter().map(|file| file.as_os_str()).chain(["-ojson".as_ref()]));
    assert_eq!(run.code, 2);
    assert_eq!(run.json()["jobs"][0]["verdict"], "inconclusive", "{}", run.out);
}

#[test]
fn the_header_of_a_native_trace_sets_the_assumptions() {
    let folder = Folder::new();
    let header = |rest: &str| format!("{{\"format\":\"jobcheck.dev/trace\",\"version\":\"1.0\"{rest}}}\n");
    let old = folder.write("old.jsonl", header(",\"kubernetes\":\"1.34\""));
    let run = replay([old.as_os_str(), "-ojson".as_ref()]);
    assert_eq!((run.code, &run.json()["traces"][0]["kubernetes"]), (3, &"1.34".into()));
    let run = replay([old.as_os_str(), "-ojson".as_ref(), "--kubernetes=1.37".as_ref()]);
    assert_eq!(run.json()["traces"][0]["kubernetes"], "1.37");
    refused("unknown", header(",\"assume\":{\"retries\":\"3\"}"), 1, "expected one of pod-failure-backoff");
}

/// Recordings of many Jobs, so that the judge looks at its memory.
fn many_jobs(count: usize) -> Vec<String> {
    let lines = lines("nonindexed-success.audit");
    let copy = |number: usize| {
        let other = move |line: &String| {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            let namespace = event["objectRef"]["namespace"].as_str().unwrap().to_owned();
            event["auditID"] = format!("{number}-{}", event["auditID"].as_str().unwrap()).into();
            let uid = event["responseObject"]["metadata"]["uid"].as_str().unwrap_or("none").to_owned();
            let text = event.to_string().replace(&namespace, &format!("n{number}"));
            text.replace(&uid, &format!("{number:08}{}", uid.get(8..).unwrap_or_default()))
        };
        lines.iter().map(other).collect::<Vec<_>>()
    };
    (0..count).flat_map(copy).collect()
}

#[test]
fn memory_has_a_limit_and_what_was_read_is_judged() {
    let folder = Folder::new();
    let file = folder.write_lines("many", &many_jobs(100));
    let run = replay(["--max-memory=1MB".as_ref(), file.as_os_str()]);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.out.contains("reading has used 80 % of the limit of 1 MB of memory after "), "{run:?}");
    let json = replay(["-ojson".as_ref(), "--max-memory=1MB".as_ref(), file.as_os_str()]).json();
    assert!(
        json["verdict"] != "conforms" && json["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()),
        "{json}"
    );
    let whole = replay(["--max-memory=64GB".as_ref(), file.as_os_str()]);
    assert!(!whole.out.contains("the limit of"), "{whole:?}");
    assert_eq!(replay(["--max-memory=1".as_ref(), file.as_os_str()]).code, 2);
}

/// The page has a part of the memory, too. Without that, this one needs twice the limit.
#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_memory_is_one_for_reading_and_for_the_page() {
    const MOST: u64 = 64_000_000;
    let folder = Folder::new();
    let file = folder.write_lines("many", &many_jobs(800));
    let mut command = binary();
    command.args(["view", "--max-memory=64MB", "-o"]).arg(folder.path("page.html")).arg(file);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert_eq!(status.code(), Some(3));
    assert!(peak > 0 && peak < MOST / 10 * 11, "{peak}");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("reading has used 40 % of the limit of 64 MB of memory"));
}

/// The limits hold while files are grouped, and while clusters are compared.
#[test]
fn time_has_a_limit_too_and_both_hold_for_several_files() {
    let folder = Folder::new();
    let [one, other] = ["one", "other"].map(|name| folder.write_lines(name, &many_jobs(100)));
    let [manager, worker] = [("manager", &one), ("worker", &other)]
        .map(|(role, file)| format!("--cluster={role}={}", file.to_str().unwrap()));
    let files = [one.to_str().unwrap(), other.to_str().unwrap()];
    for (limit, reason) in
        [("--budget=0ms", "the time of 0s ended after "), ("--max-memory=1MB", "the limit of 1 MB")]
    {
        for arguments in [&files[..1], &files, &[&manager, &worker]] {
            let run = replay([&[limit], arguments].concat());
            assert!(run.code != 0 && run.out.contains(reason), "{arguments:?}: {run:?}");
        }
        let run = replay([limit, &manager, &worker]);
        assert!(run.out.contains("the clusters cannot be compared"), "{run:?}");
    }
    assert!(!replay(["--budget=10m", files[0]]).out.contains("the time of"));
}

/// The page reads its inputs twice, so that a pipe or a device is kept in memory: as much as the limits permit.
#[test]
fn a_page_about_a_device_without_an_end_has_the_same_limits() {
    let folder = Folder::new();
    let page = folder.path("page.html");
    let html = format!("--html={}", page.to_str().unwrap());
    let output = format!("--output={}", page.to_str().unwrap());
    for arguments in [
        ["replay", "--max-memory=100MB", &html, "/dev/zero"],
        ["view", "--max-memory=100MB", &output, "/dev/zero"],
    ] {
        let run = jobcheck(arguments);
        assert!([2, 3].contains(&run.code), "{arguments:?}: {run:?}");
        assert!(page.exists(), "{arguments:?}: {run:?}");
    }
    // The memory that is available at the start may be needed by others later.
    let run = jobcheck(["view", &output, "/dev/zero"]);
    assert!(run.code == 2 && run.err.contains("/dev/zero: more than 1 GiB from a pipe"), "{run:?}");
}

#[test]
fn compressed_blanks_are_an_error_and_not_minutes_of_work() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b'\n'; 1 << 20];
    (0..80).for_each(|_| packer.write_all(&blanks).unwrap());
    let folder = Folder::new();
    let run = replay([folder.write("trace", packer.finish().unwrap())]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("found more than 67108864 blank bytes"), "{run:?}");
}

#[test]
fn a_file_that_is_read_is_not_overwritten() {
    let folder = Folder::new();
    let all = lines("nonindexed-success.audit");
    let trace = folder.write_lines("trace", &all);
    let before = std::fs::read(&trace).unwrap();
    let link = folder.path("link");
    std::os::unix::fs::symlink(&trace, &link).unwrap();
    let (file, link) = (trace.to_str().unwrap(), link.to_str().unwrap());
    let state = folder.path("state");
    let watching = ["watch-audit", "--once", "--audit", file, "-o", link, "--state", state.to_str().unwrap()];
    for arguments in [
        &["view", file, "-o", file][..],
        &["view", file, "-o", link],
        &["replay", link, "--html", file],
        &watching,
    ] {
        let run = jobcheck(arguments);
        assert!(run.code == 4 && run.err.contains("name another file"), "{arguments:?}: {run:?}");
        assert_eq!(std::fs::read(&trace).unwrap(), before, "{arguments:?}");
    }
}

#[test]
fn a_named_pipe_is_no_log_that_can_be_followed_and_no_report() {
    let folder = Folder::new();
    let pipe = folder.path("report.yaml");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    let (pipe, state, whole) = (pipe.to_str().unwrap(), folder.path("state"), folder.path(""));
    let watching = ["watch-audit", "--audit", pipe, "--state", state.to_str().unwrap(), "--listen", "0"];
    for arguments in
        [&["report", "show", pipe][..], &["report", "verify", whole.to_str().unwrap()], &watching]
    {
        let run = jobcheck(arguments);
        assert!(run.code != 0 && run.err.contains("no regular file"), "{arguments:?}: {run:?}");
    }
}

/// A scenario that holds.
const SCENARIO: &str = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\njobs:\n- name: job\n  spec: {completions: 1}\n";

/// A folder may have other things than scenarios. The files of a mounted ConfigMap are links.
#[test]
fn a_pipe_in_a_folder_of_scenarios_is_not_read_and_a_link_is() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("kept")).unwrap();
    folder.write("kept/a.yaml", SCENARIO);
    std::os::unix::fs::symlink(folder.path("kept/a.yaml"), folder.path("kept/b.yaml")).unwrap();
    let pipe = folder.path("kept/c.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let run = jobcheck(["run", "--target", "sim", folder.path("kept").to_str().unwrap()]);
    assert!(run.code == 0 && run.out.contains("2 scenarios on sim: 2 hold"), "{run:?}");
}

/// By the rules of something else, a right trace could be wrong.
#[test]
fn nothing_is_judged_behind_a_header_that_cannot_be_used() {
    let folder = Folder::new();
    let header = r#"{"format":"jobcheck.dev/trace","version":"1.1","kubernetes":"1.9"}"#.to_owned();
    let body = lines("nonindexed-success.watch").into_iter().map(|line| format!("{{\"watched\":{line}}}"));
    let file = folder.write_lines("native.jsonl", &[header].into_iter().chain(body).collect::<Vec<_>>());
    let run = replay([file.as_os_str(), "-ojson".as_ref()]);
    assert_eq!(run.code, 2, "{run:?}");
    let report = run.json();
    assert_eq!(
        (report["judgedWrites"].as_u64(), report["errors"].as_array().map(Vec::len)),
        (Some(0), Some(1))
    );
    assert_eq!(report["errors"][0]["readsOn"], false);
}
