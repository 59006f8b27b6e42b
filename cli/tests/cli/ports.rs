//! Neighbours that hold, starve, and flood each port that the program opens. Proper requests are answered all the same,
//! the memory stays bounded, and signals are obeyed.
//!
//! `harness/faultproxy` has the same test for its port, which is in the process of a run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::cluster::{Clusters, kill, processes};
use crate::hostile::{Fault, Hostile};
use crate::support::{Controller, Folder, binary, peak_memory};

/// More connections than any port has places for.
const CONNECTIONS: usize = 1_200;
/// The time in which a proper request must be answered. A kubelet has less patience, which `http.rs` tests without load.
const PATIENCE: Duration = Duration::from_secs(20);
/// The memory that a process may use, in MiB.
const MEMORY: u64 = 300;

/// A port, and a proper request to it.
struct Port {
    name: &'static str,
    address: String,
    process: u32,
    /// The method and the path.
    line: &'static str,
    /// The codes of a proper answer.
    codes: &'static [&'static str],
}

impl Port {
    /// The code of the answer to a request, and the time that it took.
    fn asked(&self, line: &str) -> (String, Duration) {
        let begin = Instant::now();
        let code = || {
            let mut stream = TcpStream::connect(&self.address).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            let head = format!(
                "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                self.address
            );
            stream.write_all(head.as_bytes()).ok()?;
            let mut first = [0; 12];
            stream.read_exact(&mut first).ok()?;
            Some(String::from_utf8_lossy(&first[9..]).into_owned())
        };
        (code().unwrap_or_default(), begin.elapsed())
    }

    /// Opens connections that do nothing, that never finish a head, and that never send their body.
    fn held(&self) -> Vec<TcpStream> {
        let connection = |number: usize| {
            // A server that has cut some is as good as one that keeps them.
            let mut stream = TcpStream::connect(&self.address).ok()?;
            let _ = match number % 3 {
                0 => Ok(()),
                1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
                _ => stream.write_all(
                    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n{",
                ),
            };
            Some(stream)
        };
        (0..CONNECTIONS).filter_map(connection).collect()
    }

    fn memory(&self) -> u64 {
        peak_memory(self.process).unwrap() >> 20
    }

    /// Attacks the port, and asks meanwhile.
    fn withstands(&self) {
        let mut held = self.held();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|threads| {
            // The slow heads get a letter now and then.
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    held.iter_mut().skip(1).step_by(3).for_each(|stream| {
                        let _ = stream.write_all(b"x");
                    });
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
            for line in ["GET /nothing", "DELETE /", "POST /"] {
                let is_over = &is_over;
                threads.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        self.asked(line);
                    }
                });
            }
            for _ in 0..5 {
                let (code, time) = self.asked(self.line);
                let is_right = self.codes.contains(&&*code) && time < PATIENCE;
                if !is_right {
                    is_over.store(true, Ordering::Relaxed);
                }
                assert!(is_right, "{}: {code:?} after {time:?}", self.name);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(self.memory() < MEMORY, "{}: {} MiB", self.name, self.memory());
    }
}

/// Lets this process, and those that it starts, open more files.
fn allow_many_connections() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// The address in the first line of the messages that has this part.
fn address_of(child: &mut Child, part: &str) -> String {
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(messages.read_line(&mut line).unwrap() > 0, "no message has {part:?}");
        if let Some((_, rest)) = line.split_once(part) {
            // Further messages must not fill the pipe.
            std::thread::spawn(move || std::io::copy(&mut messages, &mut std::io::sink()));
            return rest.split(['/', ' ', '\n']).next().unwrap().to_owned();
        }
    }
}

fn ends(mut process: Controller, name: &str) {
    let begin = Instant::now();
    kill(process.0.id(), Signal::TERM);
    let code = process.0.wait().unwrap().code();
    assert!(begin.elapsed() < PATIENCE && code != Some(5), "{name}: {code:?} after {:?}", begin.elapsed());
}

#[test]
fn the_ports_of_the_controllers_withstand_neighbours() {
    allow_many_connections();
    let (folder, server) = (Folder::new(), Hostile::start(Fault::Silent));
    for (flag, name, line) in [
        ("--metrics-bind-address", "metrics", "GET /metrics"),
        ("--health-probe-bind-address", "probes", "GET /livez"),
    ] {
        let mut command = binary();
        command.args(["controller", "--leader-elect=false", flag, "127.0.0.1:0", "--kubeconfig"]);
        command.arg(server.kubeconfig(&folder)).stderr(Stdio::piped());
        let mut process = Controller(command.spawn().unwrap());
        let address = address_of(&mut process.0, "address=");
        let port = Port { name, address, process: process.0.id(), line, codes: &["200"] };
        port.withstands();
        ends(process, name);
    }
}

/// A proper request has the token. It is refused for its empty body, which is read only then.
#[test]
fn the_port_of_the_audit_webhook_withstands_neighbours() {
    allow_many_connections();
    let folder = Folder::new();
    let token = folder.write("token", "a-token-of-this-test");
    let mut command = binary();
    command.args(["record", "--audit-webhook", "127.0.0.1:0", "-o"]).arg(folder.path("trace"));
    command.arg("--audit-token-file").arg(token).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = Controller(command.spawn().unwrap());
    let address = address_of(&mut process.0, "http://");
    let line = "POST /a-token-of-this-test";
    let port = Port { name: "webhook", address, process: process.0.id(), line, codes: &["415"] };
    port.withstands();
    ends(process, port.name);
}

#[test]
fn the_port_of_explore_withstands_neighbours() {
    allow_many_connections();
    let mut command = binary();
    let mut process =
        Controller(command.args(["explore", "non-indexed"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let (line, id) = ("GET /api/scope", process.0.id());
    let port = Port { name: "explore", address, process: id, line, codes: &["200"] };
    port.withstands();
    ends(process, port.name);
}

#[test]
fn the_port_of_the_embedded_server_withstands_neighbours() {
    allow_many_connections();
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let cluster = clusters.one("default");
    let address = cluster["server"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let (line, process) = ("GET /apis/batch/v1/jobs", processes(&cluster)[0]);
    let port = Port { name: "embedded", address, process, line, codes: &["200"] };
    port.withstands();
    clusters.ok(&["down"]);
}
