//! API servers that misbehave, against `controller` and `record`: neither ends, loads the server with requests, fills the
//! memory, or ignores a signal.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cluster::kill;
use crate::support::{Folder, binary, peak_memory};

/// The response to a request for a watch, or to every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Each watch: the version has expired.
    Expired,
    /// Each watch: bytes that are no event.
    Garbage,
    /// Each watch: an event without an end.
    EndlessEvent,
    /// Each watch: 429, with an absurd delay.
    Throttled,
    /// Each watch: the connection stays open, and shows nothing.
    Silent,
    /// Every request: 429.
    AllThrottled,
    /// Every request: no response.
    Frozen,
    /// Each watch: 401.
    Unauthorized,
    /// Each list has another page.
    EndlessList,
    /// Every request: plain text in place of TLS.
    NoTls,
    /// The pods expire, and their second list takes 8 s. A Job is created while it is asked for.
    SlowPods,
}

impl Fault {
    fn scheme(self) -> &'static str {
        if self == Fault::NoTls { "https" } else { "http" }
    }

    /// The fault of a watch of pods.
    fn of_pods(self) -> Fault {
        if self == Fault::SlowPods { Fault::Silent } else { self }
    }
}

/// An API server with a fault. It has no objects, and allows everything.
pub struct Hostile {
    address: SocketAddr,
    scheme: &'static str,
    asked: Arc<Asked>,
}

/// The numbers of requests so far.
#[derive(Default)]
struct Asked {
    lists: AtomicUsize,
    pod_lists: AtomicUsize,
    watches: AtomicUsize,
}

impl Hostile {
    pub fn start(fault: Fault) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Hostile { address, scheme: fault.scheme(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        // The threads end with the test process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&asked);
                std::thread::spawn(move || {
                    // A client that is gone ends the connection.
                    let _ = converse(&stream, fault, &asked);
                });
            }
        });
        server
    }

    /// Writes a kubeconfig for this server.
    pub fn kubeconfig(&self, folder: &Folder) -> PathBuf {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: '{}://{}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n",
            self.scheme, self.address
        );
        folder.write("kubeconfig", text)
    }

    fn lists(&self) -> usize {
        self.asked.lists.load(Ordering::SeqCst)
    }

    fn watches(&self) -> usize {
        self.asked.watches.load(Ordering::SeqCst)
    }

    /// Waits until there was this number of watches.
    fn until_watches(&self, number: usize) {
        until("watches", number, || self.watches());
    }

    /// Waits until there was this number of lists.
    fn until_lists(&self, number: usize) {
        until("lists", number, || self.lists());
    }
}

/// Waits until there was a number of requests. A busy machine may start a process late.
fn until(what: &str, number: usize, so_far: impl Fn() -> usize) {
    let end = Instant::now() + Duration::from_secs(60);
    while so_far() < number {
        assert!(Instant::now() < end, "{} of {number} {what} after a minute", so_far());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Answers the requests of one connection.
fn converse(stream: &TcpStream, fault: Fault, asked: &Asked) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let Some(target) = next_request(&mut reader)? else { return Ok(()) };
        let is_of_pods = target.contains("/pods?");
        let is_watch = target.contains("watch=");
        if is_watch {
            asked.watches.fetch_add(1, Ordering::SeqCst);
        } else if is_of_pods || target.contains("/jobs?") {
            asked.lists.fetch_add(1, Ordering::SeqCst);
            asked.pod_lists.fetch_add(usize::from(is_of_pods), Ordering::SeqCst);
        }
        let of_pods = asked.pod_lists.load(Ordering::SeqCst);
        match fault {
            Fault::Frozen => std::thread::sleep(Duration::from_secs(600)),
            Fault::AllThrottled => throttled(stream)?,
            Fault::NoTls => answer(stream, 400, "", "this is no TLS")?,
            Fault::EndlessList if !is_watch && target.contains("limit=") => {
                // The greatest number of pages, with which a list fails, takes longer than the test.
                std::thread::sleep(Duration::from_millis(5));
                let page = body(&target).replace("\"7\"", "\"7\",\"continue\":\"more\"");
                answer(stream, 200, "", &page)?;
            }
            Fault::SlowPods if is_of_pods && is_watch && of_pods == 1 => watch(stream, Fault::Expired)?,
            Fault::SlowPods if is_of_pods && !is_watch && of_pods > 1 => {
                std::thread::sleep(Duration::from_secs(8));
                answer(stream, 200, "", &body(&target).replace("\"7\"", "\"20\""))?;
            }
            Fault::SlowPods if is_watch && !is_of_pods => {
                while asked.pod_lists.load(Ordering::SeqCst) < 2 {
                    std::thread::sleep(Duration::from_millis(20));
                }
                watch(stream, fault)?;
            }
            _ if is_watch => watch(stream, if is_of_pods { fault.of_pods() } else { fault })?,
            _ => answer(stream, 200, "", &body(&target))?,
        }
    }
}

/// Reads a request. Returns its target.
fn next_request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<String>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(first.split(' ').nth(1).map(str::to_owned))
}

fn body(target: &str) -> String {
    let path = target.split('?').next().unwrap();
    match path.rsplit('/').next().unwrap() {
        "version" => r#"{"major":"1","minor":"36","gitVersion":"v1.36.0","gitCommit":"","gitTreeState":"","buildDate":"",
            "goVersion":"","compiler":"","platform":""}"#
            .to_owned(),
        "selfsubjectaccessreviews" => r#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",
            "metadata":{},"spec":{},"status":{"allowed":true}}"#
            .to_owned(),
        "jobs" => r#"{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"7"},"items":[]}"#
            .to_owned(),
        "pods" => {
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#.to_owned()
        }
        _ => "{}".to_owned(),
    }
}

fn answer(mut stream: &TcpStream, code: u16, header: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code} x\r\nContent-Type: application/json\r\n{header}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes())
}

fn throttled(stream: &TcpStream) -> std::io::Result<()> {
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too many",
        "reason":"TooManyRequests","details":{"retryAfterSeconds":4000000000},"code":429}"#;
    answer(stream, 429, "Retry-After: 99999999999\r\n", status)
}

fn watch(mut stream: &TcpStream, fault: Fault) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    match fault {
        Fault::Throttled => return throttled(stream),
        Fault::Unauthorized => {
            let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the token has expired","reason":"Unauthorized","code":401}"#;
            return answer(stream, 401, "", status);
        }
        Fault::Expired => {
            let gone = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}"#;
            stream.write_all(format!("{head}{gone}\n").as_bytes())?;
        }
        Fault::Garbage => {
            stream.write_all(head.as_bytes())?;
            stream.write_all(b"\x00\xff\x1b[2J{\"type\":\"ADDED\",\"object\":[[[[\n{}\nnull\n\"x\"\n")?;
        }
        Fault::EndlessEvent => {
            stream.write_all(head.as_bytes())?;
            stream.write_all(b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"")?;
            // The client ends the connection long before this is over.
            for _ in 0..1024 {
                stream.write_all(&[b'x'; 1 << 20])?;
            }
        }
        Fault::SlowPods => {
            let job = r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"ns","uid":"u","resourceVersion":"10"}}}"#;
            stream.write_all(format!("{head}{job}\n").as_bytes())?;
            std::thread::sleep(Duration::from_secs(600));
        }
        Fault::Silent | Fault::AllThrottled | Fault::Frozen | Fault::EndlessList | Fault::NoTls => {
            stream.write_all(head.as_bytes())?;
            std::thread::sleep(Duration::from_secs(600));
        }
    }
    stream.shutdown(std::net::Shutdown::Both)
}

/// A command that uses the server. Its messages are collected.
struct Subject {
    child: Child,
    name: &'static str,
    said: Arc<Mutex<String>>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Subject {
    fn start(name: &'static str, folder: &Folder, server: &Hostile) -> Subject {
        let kubeconfig = server.kubeconfig(folder);
        let mut command: Command = binary();
        match name {
            "controller" => command.args(["controller", "--leader-elect=false"]),
            _ => command.args(["record", "--force", "-A", "-o"]).arg(folder.path("trace.jsonl")),
        };
        command.arg("--kubeconfig").arg(kubeconfig).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (mut stderr, heard) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&said));
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stderr.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Subject { child, name, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// The largest memory so far, in MiB.
    fn peak_memory(&self) -> u64 {
        peak_memory(self.child.id()).unwrap() >> 20
    }

    /// Ends the command by SIGTERM. Returns the exit code, and the time that it took.
    fn end(&mut self) -> (Option<i32>, Duration) {
        assert_eq!(self.child.try_wait().unwrap(), None, "{} has ended: {}", self.name, self.said());
        let begin = Instant::now();
        kill(self.child.id(), Signal::TERM);
        let code = self.child.wait().unwrap().code();
        (code, begin.elapsed())
    }
}

/// The greatest time that a command needs to end. At its end `record` waits 10 s for the API server.
const END: Duration = Duration::from_secs(20);
/// The time for which a command is observed.
const OBSERVED: Duration = Duration::from_secs(4);

/// Lets both commands use a server with a fault in its watches for a while. Returns the numbers of requests, the memory,
/// and the messages of each.
fn both(fault: Fault) -> [(usize, u64, String); 2] {
    ["controller", "record"].map(|name| {
        let (folder, server) = (Folder::new(), Hostile::start(fault));
        let mut subject = Subject::start(name, &folder, &server);
        server.until_watches(2);
        std::thread::sleep(OBSERVED);
        let (requests, memory) = (server.lists() + server.watches(), subject.peak_memory());
        let (code, time) = subject.end();
        // A recording with a gap ends with 3.
        assert!(matches!(code, Some(0 | 3)) && time < END, "{name}: {code:?} {time:?} {}", subject.said());
        if name == "record" {
            let text = fs::read_to_string(folder.path("trace.jsonl")).unwrap();
            assert!(text.ends_with("\"kind\":\"end\"}}\n"), "{text}");
        }
        (requests, memory, subject.said())
    })
}

/// A server that is asked in a tight loop gets thousands of requests in this time.
const FEW: usize = 80;

#[test]
fn versions_that_always_expire_cause_few_requests() {
    let [controller, record] = both(Fault::Expired);
    assert!(controller.0 <= FEW && record.0 <= FEW, "{controller:?} {record:?}");
    assert!(record.2.contains("a gap: ") && controller.2.contains("relisting"), "{controller:?} {record:?}");
}

#[test]
fn garbage_is_neither_recorded_nor_printed_raw() {
    let [controller, record] = both(Fault::Garbage);
    assert!(controller.0 <= FEW && record.0 <= FEW, "{controller:?} {record:?}");
    for (_, _, said) in [controller, record] {
        assert!(!said.contains('\u{1b}') && !said.contains('\u{0}'), "{said:?}");
    }
}

#[test]
fn an_event_without_end_does_not_fill_the_memory() {
    let [controller, record] = both(Fault::EndlessEvent);
    for (requests, memory, said) in [controller, record] {
        // Two watches of at most 16 MiB each, and what the allocator keeps.
        assert!(requests <= FEW && memory < 250, "{requests} requests, {memory} MiB: {said}");
        assert!(said.contains("longer than 16 MiB"), "{said}");
    }
}

#[test]
fn throttled_watches_are_asked_for_again_with_delays_of_their_own() {
    for (requests, _, said) in both(Fault::Throttled) {
        assert!((4..=FEW).contains(&requests) && said.contains("too many"), "{requests}: {said}");
    }
}

#[test]
fn expired_credentials_are_reported_and_tried_again_with_delays() {
    for (requests, _, said) in both(Fault::Unauthorized) {
        assert!(
            (4..=FEW).contains(&requests) && said.contains("the token has expired"),
            "{requests}: {said}"
        );
    }
}

#[test]
fn a_list_without_end_neither_fills_the_memory_nor_delays_an_end() {
    for name in ["controller", "record"] {
        let (folder, server) = (Folder::new(), Hostile::start(Fault::EndlessList));
        let mut subject = Subject::start(name, &folder, &server);
        server.until_lists(3);
        std::thread::sleep(OBSERVED);
        let memory = subject.peak_memory();
        let (_, time) = subject.end();
        assert!(memory < 250, "{name}: {memory} MiB, {}", subject.said());
        assert!(time < END, "{name}: {time:?}");
    }
}

#[test]
fn a_server_without_tls_is_an_error_with_its_address() {
    for name in ["controller", "record"] {
        let (folder, server) = (Folder::new(), Hostile::start(Fault::NoTls));
        let mut subject = Subject::start(name, &folder, &server);
        let end = Instant::now() + Duration::from_secs(90);
        let code = loop {
            if let Some(status) = subject.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(Instant::now() < end, "{name}: {}", subject.said());
            std::thread::sleep(Duration::from_millis(50));
        };
        std::thread::sleep(Duration::from_millis(200));
        assert!(code == Some(4) && !subject.said().is_empty(), "{name}: {code:?} {}", subject.said());
    }
}

#[test]
fn a_silent_watch_delays_no_end() {
    for (requests, _, said) in both(Fault::Silent) {
        assert!(requests <= 8, "{requests}: {said}");
    }
}

/// Otherwise the Job would be judged as if its pods were known.
#[test]
fn a_gap_is_written_before_the_changes_that_happened_in_it() {
    let (folder, server) = (Folder::new(), Hostile::start(Fault::SlowPods));
    let mut subject = Subject::start("record", &folder, &server);
    let end = Instant::now() + Duration::from_secs(60);
    while !subject.said().contains("a gap: ") {
        assert!(Instant::now() < end, "{}", subject.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    subject.end();
    let text = fs::read_to_string(folder.path("trace.jsonl")).unwrap();
    let line = |part: &str| text.lines().position(|line| line.contains(part));
    let (gap, job) = (line("\"kind\":\"gap\""), line("\"name\":\"j\""));
    assert!(gap.is_some() && gap < job, "{text}");
    // The Job was created in the gap. Behind it, the mark says that its pods are not known either.
    assert!(job < line("and this still lasts"), "{text}");
}

/// Neither command ends, because its restarts would add to the overload; both end at once by a signal.
#[test]
fn an_overloaded_server_is_asked_again_at_the_start() {
    for name in ["controller", "record"] {
        let (folder, server) = (Folder::new(), Hostile::start(Fault::AllThrottled));
        let mut subject = Subject::start(name, &folder, &server);
        std::thread::sleep(OBSERVED);
        assert!(subject.said().contains("asked again"), "{name}: {}", subject.said());
        let (_, time) = subject.end();
        assert!(time < Duration::from_secs(5), "{name}: {time:?}");
    }
}

#[test]
fn a_frozen_server_delays_no_end_at_the_start() {
    for name in ["controller", "record"] {
        let (folder, server) = (Folder::new(), Hostile::start(Fault::Frozen));
        let mut subject = Subject::start(name, &folder, &server);
        std::thread::sleep(OBSERVED);
        let (_, time) = subject.end();
        assert!(time < Duration::from_secs(5), "{name}: {time:?}");
    }
}
