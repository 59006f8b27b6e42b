//! `jobcheck watch-audit`: verdicts, metrics, rotations, restarts, and errors.

mod events;

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::kill;
use crate::schema;
use crate::support::{Controller, Folder, Run, binary, finish, jobcheck, lines};

fn wrong() -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/corpus/invalid");
    let text = fs::read_to_string(corpus.join("FT-03--released-before-recorded.audit.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The lines of the output, each of which fits the schema.
fn news(text: &str) -> Vec<Value> {
    let news: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    news.iter().for_each(schema::check);
    news
}

fn verdicts(news: &[Value]) -> Vec<&str> {
    news.iter().filter_map(|it| it["verdict"].as_str()).collect()
}

fn once(log: &Path, state: &Path) -> Run {
    let arguments = ["watch-audit", "--once", "--listen", "0", "--audit"];
    finish(binary().args(arguments).arg(log).arg("--state").arg(state), b"")
}

#[test]
fn a_log_is_judged_to_its_end() {
    let folder = Folder::new();
    let (log, state) = (folder.path("audit.log"), folder.path("state"));
    fs::write(&log, lines("nonindexed-success.audit").join("\n") + "\n").unwrap();
    let run = once(&log, &state);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(verdicts(&news(&run.out)), ["conforms"]);

    fs::write(&log, wrong().join("\n") + "\n").unwrap();
    let run = once(&log, &state);
    assert_eq!(run.code, 1, "{run:?}");
    let news = news(&run.out);
    assert_eq!(verdicts(&news), ["violates"]);
    assert_eq!(news[0]["finding"]["requirement"], "FT-03");
    // The records of the Job are judged alike.
    let kept = news.last().unwrap()["trace"].as_str().unwrap();
    let again = jobcheck(["replay", "-ojson", kept]);
    assert_eq!(
        (again.code, again.json()["jobs"][0]["violations"][0]["requirement"].as_str()),
        (1, Some("FT-03"))
    );
}

/// A running service, with its log and its output.
struct Watching {
    process: Controller,
    address: String,
}

impl Watching {
    fn begin(folder: &Folder) -> Watching {
        let mut command = binary();
        command.args([
            "watch-audit",
            "--listen",
            "127.0.0.1:0",
            "--from-start",
            "--settle",
            "1s",
            "--every",
            "1s",
        ]);
        command.arg("--audit").arg(folder.path("audit.log")).arg("--state").arg(folder.path("state"));
        command.arg("-o").arg(folder.path("out.jsonl")).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut err = process.stderr.take().unwrap();
        let (mut text, mut byte) = (String::new(), [0]);
        while !text.ends_with("/metrics\n") {
            assert!(err.read(&mut byte).unwrap() > 0, "{text}");
            text.push(char::from(byte[0]));
        }
        let address =
            text.split("http://").nth(1).unwrap().trim_end().trim_end_matches("/metrics").to_owned();
        Watching { process: Controller(process), address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn until(&self, path: &str, expected: &str) {
        for _ in 0..600 {
            if self.get(path).contains(expected) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{expected:?} is not in {}", self.get(path));
    }

    fn end(mut self) -> i32 {
        kill(self.process.0.id(), Signal::TERM);
        self.process.0.wait().unwrap().code().unwrap()
    }
}

fn append(path: &Path, lines: &[String]) {
    let mut file = fs::File::options().create(true).append(true).open(path).unwrap();
    lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
}

#[test]
fn a_rotation_a_restart_and_a_hangup_lose_no_verdict() {
    let folder = Folder::new();
    let (log, out) = (folder.path("audit.log"), folder.path("out.jsonl"));
    let (right, wrong) = (lines("indexed-success.audit"), wrong());
    append(&log, &right[..4]);
    let watching = Watching::begin(&folder);
    watching.until("/readyz", "ok");
    watching.until("/metrics", "jobcheck_watch_living_jobs 1");
    append(&log, &right[4..8]);
    assert_eq!(watching.end(), 0);

    // While nobody reads, the log grows, and is rotated.
    append(&log, &right[8..12]);
    fs::rename(&log, folder.path("audit-1.log")).unwrap();
    append(&log, &right[12..]);
    let watching = Watching::begin(&folder);
    watching.until("/metrics", "jobcheck_watch_verdicts_total{verdict=\"conforms\"} 1");
    assert!(watching.get("/metrics").contains("jobcheck_watch_gaps_total 0"));

    fs::rename(&out, folder.path("old.jsonl")).unwrap();
    kill(watching.process.0.id(), Signal::HUP);
    append(&log, &wrong);
    watching.until("/metrics", "jobcheck_watch_violations_total{requirement=\"FT-03\",known=\"\"} 2");
    watching.until("/metrics", "jobcheck_watch_verdicts_total{verdict=\"violates\"} 1");
    assert_eq!(watching.end(), 1);
    assert_eq!(verdicts(&news(&fs::read_to_string(folder.path("old.jsonl")).unwrap())), ["conforms"]);
    assert_eq!(verdicts(&news(&fs::read_to_string(&out).unwrap())), ["violates"]);
}

/// The deletion of the Job of these events, long after its end.
fn late_deletion(events: &[String]) -> String {
    let parsed = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    let mut event = events.iter().rev().map(parsed).find(|it| it["responseObject"]["kind"] == "Job").unwrap();
    event["auditID"] = "late".into();
    event["verb"] = "delete".into();
    event["user"]["username"] = "admin".into();
    for time in ["requestReceivedTimestamp", "stageTimestamp"] {
        event[time] = "2026-12-31T00:00:00.000000Z".into();
    }
    event["responseObject"]["metadata"]["deletionTimestamp"] = "2026-12-31T00:00:00Z".into();
    event.as_object_mut().unwrap().remove("requestObject");
    event["objectRef"].as_object_mut().unwrap().remove("subresource");
    event.to_string()
}

#[test]
fn a_restart_repeats_neither_a_verdict_nor_a_finding() {
    let folder = Folder::new();
    let (log, out, wrong) = (folder.path("audit.log"), folder.path("out.jsonl"), wrong());
    let violation = "jobcheck_watch_violations_total{requirement=\"FT-03\",known=\"\"} 2";
    append(&log, &wrong[..wrong.len() - 1]);
    let watching = Watching::begin(&folder);
    watching.until("/metrics", violation);
    assert_eq!(watching.end(), 1);
    append(&log, &wrong[wrong.len() - 1..]);
    let watching = Watching::begin(&folder);
    watching.until("/metrics", "jobcheck_watch_verdicts_total{verdict=\"violates\"} 1");
    assert_eq!(watching.end(), 1);
    let before = news(&fs::read_to_string(&out).unwrap());
    let found: Vec<_> = before.iter().filter(|it| it["finding"].is_object()).collect();
    let places: HashSet<_> = found
        .iter()
        .map(|it| (it["finding"]["requirement"].to_string(), it["finding"]["line"].as_u64()))
        .collect();
    assert_eq!((verdicts(&before), found.len()), (vec!["violates"], places.len()), "{before:?}");

    append(&log, &[late_deletion(&wrong)]);
    let watching = Watching::begin(&folder);
    watching.until("/metrics", "jobcheck_watch_late_records_total 1");
    watching.until("/metrics", "jobcheck_watch_living_jobs 0");
    assert_eq!(watching.end(), 0);
    assert_eq!(news(&fs::read_to_string(&out).unwrap()), before);
}

#[test]
fn an_output_that_cannot_be_written_ends_the_process_and_loses_nothing() {
    let folder = Folder::new();
    let (log, state, out) = (folder.path("audit.log"), folder.path("state"), folder.path("out.jsonl"));
    append(&log, &wrong());
    let run = |out: Option<&Path>, stdout: Stdio| {
        let mut command = binary();
        command.args(["watch-audit", "--listen", "0", "--from-start", "--settle", "1s", "--every", "1s"]);
        command.arg("--audit").arg(&log).arg("--state").arg(&state);
        command.args(out.iter().flat_map(|path| [Path::new("-o"), path]));
        let run = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (code, err) = run(Some(Path::new("/dev/full")), Stdio::null());
    assert!(code == Some(4) && err.contains("cannot write the output: No space left"), "{code:?} {err}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, err) = run(None, writer.into());
    assert!(code == Some(4) && err.contains("cannot write the output: it is closed"), "{code:?} {err}");

    // A full disk has cut a line short.
    fs::write(&out, "{\"event\":\"fin").unwrap();
    let watching = Watching::begin(&folder);
    watching.until("/metrics", "jobcheck_watch_verdicts_total{verdict=\"violates\"} 1");
    assert_eq!(watching.end(), 1);
    let text = fs::read_to_string(&out).unwrap();
    let news = news(text.split_once('\n').unwrap().1);
    assert_eq!(
        (verdicts(&news), news[0]["finding"]["requirement"].as_str()),
        (vec!["violates"], Some("FT-03"))
    );
}

#[test]
fn a_log_in_another_form_is_read_or_is_an_error() {
    let folder = Folder::new();
    let (log, state) = (folder.path("audit.log"), folder.path("state"));
    let lines = wrong();
    let docker =
        |line: &String| serde_json::json!({"log": format!("{line}\n"), "stream": "stdout"}).to_string();
    let docker: Vec<String> = lines.iter().map(docker).collect();
    let cri: Vec<String> =
        lines.iter().map(|line| format!("2026-01-01T00:00:00.0Z stdout F {line}")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let array = format!("[{}]", lines.join(",\n")).into_bytes();
    let forms = [gzip.finish().unwrap(), docker.join("\n").into_bytes(), cri.join("\n").into_bytes(), array];
    for (number, form) in forms.iter().enumerate() {
        fs::write(&log, form).unwrap();
        let run = once(&log, &state);
        assert_eq!((run.code, verdicts(&news(&run.out))), (1, vec!["violates"]), "{number}: {run:?}");
    }
    let watch = r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"ns","uid":"u","resourceVersion":"1"}}}"#;
    for (text, found) in [
        ("hello\nworld\n", "expected JSON"),
        (watch, "found the changes of a watch; judge it: jobcheck replay"),
    ] {
        fs::write(&log, text).unwrap();
        let run = once(&log, &state);
        assert!(run.code == 2 && run.err.contains(found) && run.out.is_empty(), "{run:?}");
    }
    // The part that was read is judged.
    fs::write(&log, lines.join("\n") + "\nhello\n").unwrap();
    let run = once(&log, &state);
    assert!(run.code == 2 && verdicts(&news(&run.out)) == ["violates"], "{run:?}");
}

#[test]
fn jobs_with_strange_uids_are_judged() {
    let folder = Folder::new();
    let (log, state) = (folder.path("audit.log"), folder.path("state"));
    let lines = wrong();
    let job: Value = serde_json::from_str(&lines[0]).unwrap();
    let uid = job["responseObject"]["metadata"]["uid"].as_str().unwrap();
    let long = "x".repeat(300);
    for strange in ["../../a/b", " ", &*long] {
        fs::write(&log, lines.join("\n").replace(uid, strange) + "\n").unwrap();
        let run = once(&log, &state);
        assert_eq!((run.code, verdicts(&news(&run.out))), (1, vec!["violates"]), "{strange:?}: {run:?}");
    }
}

#[test]
fn a_followed_log_without_audit_events_is_not_ready() {
    let folder = Folder::new();
    let log = folder.path("audit.log");
    append(&log, &["hello".to_owned(), "world".to_owned()]);
    let watching = Watching::begin(&folder);
    watching.until("/metrics", "jobcheck_watch_unreadable_lines_total 2");
    watching.until("/metrics", "jobcheck_watch_gaps_total 1");
    assert!(watching.get("/readyz").contains("no line of the audit log is an audit event"));
    let line =
        |line: &String| serde_json::json!({"log": format!("{line}\n"), "stream": "stdout"}).to_string();
    append(&log, &wrong().iter().map(line).collect::<Vec<_>>());
    watching.until("/metrics", "jobcheck_watch_violations_total{requirement=\"FT-03\",known=\"\"} 2");
    assert!(watching.get("/readyz").starts_with("HTTP/1.1 200"));
    assert_eq!(watching.end(), 1);
}

#[test]
fn a_job_that_lived_before_is_inconclusive() {
    let folder = Folder::new();
    let log = folder.path("audit.log");
    append(&log, &lines("nonindexed-success.audit")[6..]);
    let run = once(&log, &folder.path("state"));
    assert_eq!((run.code, verdicts(&news(&run.out))), (0, vec!["inconclusive"]), "{run:?}");
}

#[test]
fn what_cannot_be_used_is_an_error() {
    let folder = Folder::new();
    let log = folder.path("audit.log");
    append(&log, &[]);
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (log, state) = (path(&log), path(&folder.path("state")));
    let run = jobcheck(["watch-audit", "--audit", &log]);
    assert!(run.code == 2 && run.err.contains("--state"), "{run:?}");
    let run = jobcheck(["watch-audit", "--audit", "/nowhere/audit.log", "--state", &state, "--listen", "0"]);
    assert!(run.code == 2 && run.err.contains("/nowhere/audit.log"), "{run:?}");
    let run =
        jobcheck(["watch-audit", "--once", "--audit", &log, "--state", "/proc/nowhere", "--listen", "0"]);
    assert!(run.code == 4 && run.err.contains("/proc/nowhere"), "{run:?}");
    let watching = Watching::begin(&folder);
    let run = jobcheck(["watch-audit", "--audit", &log, "--state", &state, "--listen", "0"]);
    assert!(run.code == 4 && run.err.contains("another process"), "{run:?}");
    assert_eq!(watching.end(), 0);
}
