//! `jobcheck explore`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::cluster::kill;
use crate::support::{binary, jobcheck};

/// The server, which ends with the test.
pub struct Served {
    child: Child,
    pub address: String,
    pub fragment: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn serve(arguments: &[&str]) -> Served {
    let mut child = binary().arg("explore").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line:?}"));
    let (address, fragment) = url.split_once('/').unwrap();
    Served { child, address: address.to_owned(), fragment: fragment.trim_start_matches('#').to_owned() }
}

impl Served {
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn ctrl_c_ends_the_server_as_it_should() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut served = serve(&["non-indexed"]);
        served.get("/");
        kill(served.child.id(), signal);
        assert_eq!(served.child.wait().unwrap().code(), Some(0), "{signal:?}");
    }
}

#[test]
fn a_scope_is_served_with_its_page() {
    let served = serve(&["non-indexed"]);
    assert!(served.address.starts_with("127.0.0.1:") && served.fragment.is_empty());
    let page = served.get("/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>jobcheck explore</title>"), "{page}");
    assert!(served.get("/api/scope").contains("\"scope\":\"non-indexed\""));
    assert!(served.get("/api/state?path=0").contains("\"story\":[{"));
}

/// A page that has bound its name to 127.0.0.1 must not read it.
#[test]
fn another_host_is_refused() {
    let served = serve(&["non-indexed"]);
    let mut stream = TcpStream::connect(&served.address).unwrap();
    write!(stream, "GET /api/scope HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("non-indexed"), "{answer}");
}

/// The server waits neither for a body nor for the rest of a request.
#[test]
fn a_silent_client_delays_no_other() {
    let served = serve(&["non-indexed"]);
    let mut silent = TcpStream::connect(&served.address).unwrap();
    write!(silent, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000000000\r\n\r\n").unwrap();
    let mut half = TcpStream::connect(&served.address).unwrap();
    write!(half, "GET / HT").unwrap();
    assert!(served.get("/api/scope").contains("\"scope\":\"non-indexed\""));
    let mut answer = String::new();
    silent.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}

#[test]
fn a_counterexample_is_the_beginning() {
    let served = serve(&["non-indexed", "--without", "PC-04", "--counterexample"]);
    assert!(!served.fragment.is_empty());
    let end = served.get(&format!("/api/state?path={}", served.fragment));
    assert!(end.contains("\"broken\":[{"), "{end}");
}

#[test]
fn a_scope_of_the_specification_can_be_run_by_the_algorithm() {
    let served = serve(&["non-indexed", "--subject", "algorithm"]);
    assert!(served.get("/api/scope").contains("\"manager\":\"the reference algorithm\""));
    assert!(served.get("/api/state?path=").contains("starts a sync"));
}

#[test]
fn what_cannot_be_served_is_an_error() {
    let unknown = jobcheck(["explore", "non-indexd"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(unknown.err.contains("similar: non-indexed"), "{}", unknown.err);
    for wrong in
        [&["explore"][..], &["explore", "--mutant", "B99"], &["explore", "ttl", "--address", "0.0.0.0:0"]]
    {
        assert_eq!(jobcheck(wrong).code, 2, "{wrong:?}");
    }
    let sound = jobcheck(["explore", "two-jobs", "--counterexample"]);
    assert_eq!(sound.code, 0, "{sound:?}");
}
