//! `jobcheck watch-audit --events` at the end of the process: no Event is lost without a word.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::wrong;
use crate::cluster::kill;
use crate::support::{Folder, Run, binary, finish};

/// The Jobs of the log. Each has three findings.
const JOBS: usize = 10;
const FINDINGS: usize = 3 * JOBS;

/// An API server to which Events are sent.
struct Server {
    address: SocketAddr,
    /// The requests that it has answered with success.
    created: Arc<AtomicUsize>,
}

/// The response to each request.
#[derive(Clone, Copy)]
enum Answer {
    /// The Event is created, after some time.
    Created,
    /// The account has no permission.
    Forbidden,
    /// None.
    Never,
}

impl Server {
    fn start(answer: Answer) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { address: listener.local_addr().unwrap(), created: Arc::default() };
        let created = Arc::clone(&server.created);
        // The threads end with the test process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let created = Arc::clone(&created);
                std::thread::spawn(move || converse(&stream, answer, &created));
            }
        });
        server
    }

    fn created(&self) -> usize {
        self.created.load(Ordering::SeqCst)
    }

    /// `watch-audit` with this API server, and a log with findings.
    fn command(&self, folder: &Folder, arguments: &[&str]) -> Command {
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n",
            self.address
        );
        let mut command = binary();
        command.args(["watch-audit", "--listen", "0", "--events"]).args(arguments);
        command.arg("--audit").arg(folder.write_lines("audit.log", &log()));
        command.arg("--kubeconfig").arg(folder.write("kubeconfig", kubeconfig));
        command.arg("--state").arg(folder.path("state")).arg("-o").arg(folder.path("out.jsonl"));
        command
    }

    /// Reads the log once. Returns also the time that it took.
    fn once(&self, folder: &Folder) -> (Run, Duration) {
        let start = Instant::now();
        let run = finish(&mut self.command(folder, &["--once"]), b"");
        assert_eq!((run.code, findings(folder)), (1, FINDINGS), "{run:?}");
        (run, start.elapsed())
    }

    /// Follows the log, up to the findings.
    fn follow(&self, folder: &Folder) -> Child {
        let mut command = self.command(folder, &["--from-start", "--every", "1s"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while findings(folder) < FINDINGS {
            assert!(Instant::now() < end, "{} findings after a minute", findings(folder));
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }
}

/// Answers the requests of one connection.
fn converse(stream: &TcpStream, answer: Answer, created: &AtomicUsize) -> Option<()> {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while line.trim() != "" || line.is_empty() {
            line.clear();
            (reader.read_line(&mut line).ok()? > 0).then_some(())?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let (status, body) = match answer {
            Answer::Created => ("201 Created", "{}"),
            Answer::Forbidden => {
                ("403 Forbidden", r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":403}"#)
            }
            Answer::Never => {
                std::thread::sleep(Duration::from_secs(600));
                return None;
            }
        };
        std::thread::sleep(Duration::from_millis(50));
        created.fetch_add(usize::from(status.starts_with("201")), Ordering::SeqCst);
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json");
        write!(writer, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()?;
    }
}

/// The lines of several Jobs, each with a namespace, UIDs and ids of its own.
fn log() -> Vec<String> {
    let events: Vec<Value> = wrong().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut ids: Vec<&str> = events.iter().filter_map(|it| it["auditID"].as_str()).collect();
    ids.extend(events.iter().filter_map(|it| it["responseObject"]["metadata"]["uid"].as_str()));
    let namespace = events[0]["objectRef"]["namespace"].as_str().unwrap();
    let text = wrong().join("\n").replace(namespace, "ns-0000");
    let one = |number: usize| {
        let own = |id: &str| format!("{}{number:04}{}", &id[..9], &id[13..]);
        let text = text.replace("ns-0000", &format!("ns-{number}"));
        ids.iter().fold(text, |text, id| text.replace(id, &own(id)))
    };
    (0..JOBS).flat_map(|number| one(number).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn findings(folder: &Folder) -> usize {
    let text = fs::read_to_string(folder.path("out.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.contains("\"event\":\"finding\"")).count()
}

/// The exit code of a process, its standard error, and the time that it took to end.
fn end_of(child: Child, since: Instant) -> (Option<i32>, String, Duration) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap(), since.elapsed())
}

fn lost() -> String {
    format!("note: {FINDINGS} Events could not be created; the findings are in the output\n")
}

#[test]
fn each_finding_has_its_event_before_the_end() {
    let (server, folder) = (Server::start(Answer::Created), Folder::new());
    let (run, _) = server.once(&folder);
    assert_eq!((server.created(), &*run.err), (FINDINGS, ""), "{run:?}");

    let (server, folder) = (Server::start(Answer::Created), Folder::new());
    let child = server.follow(&folder);
    assert!(server.created() < FINDINGS);
    kill(child.id(), Signal::TERM);
    let (code, err, _) = end_of(child, Instant::now());
    assert_eq!((code, server.created(), &*err), (Some(1), FINDINGS, ""));
}

#[test]
fn an_event_that_is_refused_is_reported() {
    let (server, folder) = (Server::start(Answer::Forbidden), Folder::new());
    let (run, time) = server.once(&folder);
    assert_eq!(run.err, lost());
    assert!(time < Duration::from_secs(10), "{time:?}");
}

/// The time that a busy machine may add.
const BUSY: Duration = Duration::from_secs(20);

#[test]
fn an_api_server_that_never_answers_delays_the_end_for_a_bounded_time() {
    let server = Server::start(Answer::Never);
    let once = || {
        let (run, time) = server.once(&Folder::new());
        assert_eq!(run.err, lost());
        assert!(time > Duration::from_secs(10) && time < Duration::from_secs(10) + BUSY, "{time:?}");
    };
    let followed = || {
        let folder = Folder::new();
        let (child, since) = (server.follow(&folder), Instant::now());
        kill(child.id(), Signal::TERM);
        let (code, err, time) = end_of(child, since);
        assert_eq!((code, err), (Some(1), lost()));
        assert!(time > Duration::from_secs(5) && time < Duration::from_secs(5) + BUSY, "{time:?}");
    };
    let twice = || {
        let folder = Folder::new();
        let (child, since) = (server.follow(&folder), Instant::now());
        kill(child.id(), Signal::TERM);
        // Two signals that are pending at once are one.
        std::thread::sleep(Duration::from_secs(1));
        kill(child.id(), Signal::TERM);
        let (code, err, time) = end_of(child, since);
        assert_eq!((code, err), (Some(143), lost()));
        assert!(time < Duration::from_secs(5), "{time:?}");
    };
    std::thread::scope(|scope| {
        scope.spawn(once);
        scope.spawn(followed);
        scope.spawn(twice);
    });
}
