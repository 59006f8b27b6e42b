//! The server on a socket: valid and broken clients, and the shutdown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::{HttpServer, Limits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cluster::pod;

struct Listening {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

async fn listening(limits: Limits) -> Listening {
    let users = BTreeMap::from([("secret".to_owned(), "me".to_owned())]);
    listening_for(Auth::Tokens(Arc::new(users)), limits).await
}

async fn listening_for(auth: Auth, limits: Limits) -> Listening {
    let shared = SharedServer::new(Server::new(Config::default(), jiff::Timestamp::now()), SystemClock);
    let service = ApiService::new(shared, auth);
    let socket = HttpServer::bind("127.0.0.1:0").await.unwrap().limited_to(limits);
    let address = socket.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(service.serve(socket, async { drop(stopped.await) }));
    Listening { address, stop, task }
}

/// The response to raw bytes, until the server closes the connection or is silent.
async fn raw(address: std::net::SocketAddr, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A body that is too large is refused before it is read completely.
    let _ = stream.write_all(sent).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(5), reading).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn head(method: &str, path: &str, more: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer secret\r\n{more}\r\n"
    )
}

fn post(body: &str) -> Vec<u8> {
    let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    format!("{}{body}", head("POST", "/api/v1/namespaces/default/pods", &more)).into_bytes()
}

fn body_of(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn requests_are_answered_and_bad_ones_refused() {
    let server = listening(Limits::default()).await;
    let at = server.address;
    let created = raw(at, &post(&pod("a").to_string())).await;
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    let table = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json\r\n";
    let shown = body_of(&raw(at, head("GET", "/api/v1/namespaces/default/pods", table).as_bytes()).await);
    assert_eq!((&shown["kind"], &shown["rows"][0]["cells"][0]), (&json!("Table"), &json!("a")));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (sent, code) in [
        (b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec(), 401),
        (head("GET", "/api/v1/secrets", "").into_bytes(), 404),
        (head("GET", "/nowhere", "").into_bytes(), 404),
        (head("GET", "/api/v1/pods/%ff", "").into_bytes(), 404),
        (head("BREW", "/api/v1/pods", "").into_bytes(), 405),
        (head("GET", "/api/v1/pods", "Accept: application/vnd.kubernetes.protobuf\r\n").into_bytes(), 406),
        (post("{\"metadata\":"), 400),
        (post(&deep), 400),
        (post("\u{0}\u{1}"), 400),
        (post(""), 400),
        (
            head(
                "POST",
                "/api/v1/namespaces/default/pods",
                "Content-Type: application/yaml\r\nContent-Length: 2\r\n\r\n{}",
            )
            .into_bytes(),
            415,
        ),
        (b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n".to_vec(), 400),
    ] {
        let answer = raw(at, &sent).await;
        let start = format!("HTTP/1.1 {code}");
        assert!(
            answer.starts_with(&start),
            "{code}: {answer} to {}",
            String::from_utf8_lossy(&sent[..sent.len().min(80)])
        );
    }
    let large = post(&"a".repeat(4 * 1024 * 1024));
    assert!(raw(at, &large).await.starts_with("HTTP/1.1 413"));
    server.stop.send(()).unwrap();
    server.task.await.unwrap().unwrap();
}

/// A browser on this machine reaches the port. A page can bind a name to 127.0.0.1, and it can send a body without a media
/// type, for which the browser asks no permission.
#[tokio::test]
async fn requests_of_web_pages_are_refused() {
    let server = listening_for(Auth::Everyone("admin".to_owned()), Limits::default()).await;
    let pods = "/api/v1/namespaces/default/pods";
    let body = pod("a").to_string();
    let sent = |method: &str, host: &str, more: &str| {
        let length = if method == "POST" { body.len() } else { 0 };
        let body = &body[..length];
        format!(
            "{method} {pods} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let json = "Content-Type: application/json\r\n";
    for (method, host, more, code) in [
        ("GET", "evil.example", "", 403),
        ("POST", "evil.example:80", json, 403),
        ("POST", "localhost", "Origin: http://evil.example\r\n", 415),
        ("POST", "localhost", "Origin: null\r\nContent-Type: text/plain\r\n", 415),
        ("DELETE", "127.0.0.1", "Origin: http://evil.example\r\n", 415),
        ("GET", "127.0.0.1:1", "", 200),
        // curl without a media type, as before.
        ("POST", "localhost:1", "", 201),
    ] {
        let answer = raw(server.address, sent(method, host, more).as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{method} {host} {more}: {answer}");
    }
}

#[tokio::test]
async fn slow_clients_are_cut_and_open_watches_do_not_delay_the_shutdown() {
    let limits = Limits {
        connections: 3,
        head_time: Some(Duration::from_millis(200)),
        drain_time: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = listening(limits).await;
    // Incomplete requests are cut, so that further clients are served with three connections.
    for _ in 0..3 {
        let mut idle = TcpStream::connect(server.address).await.unwrap();
        idle.write_all(b"GET /api").await.unwrap();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), idle.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "a slow client holds its connection");
    }
    let mut watch = TcpStream::connect(server.address).await.unwrap();
    watch.write_all(head("GET", "/api/v1/pods?watch=1", "").as_bytes()).await.unwrap();
    let created = raw(server.address, &post(&pod("a").to_string())).await;
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    let mut seen = String::new();
    while !seen.contains("\"type\":\"ADDED\"") {
        let mut part = [0; 4096];
        let count =
            tokio::time::timeout(Duration::from_secs(5), watch.read(&mut part)).await.unwrap().unwrap();
        assert!(count > 0, "the watch ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&part[..count]));
    }
    server.stop.send(()).unwrap();
    let end = tokio::time::timeout(Duration::from_secs(5), server.task).await;
    end.expect("the server ends").unwrap().unwrap();
}

/// The memory of this process in bytes.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

/// 100 watches of three pods of 2 MB took 600 MB and more when each had its own bytes.
#[tokio::test]
async fn watches_that_nobody_reads_share_their_events() {
    let server = listening(Limits::default()).await;
    for name in ["a", "b", "c"] {
        let mut large = pod(name);
        large["spec"]["containers"][0]["args"] = json!(["x".repeat(2_000_000)]);
        let created = raw(server.address, &post(&large.to_string())).await;
        assert!(created.starts_with("HTTP/1.1 201"), "{}", &created[..200]);
    }
    let before = memory();
    let mut watches = Vec::new();
    for _ in 0..100 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        stream.write_all(head("GET", "/api/v1/pods?watch=1", "").as_bytes()).await.unwrap();
        watches.push(stream);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = memory().saturating_sub(before);
    assert!(grown < 250_000_000, "{grown} bytes for 100 watches that nobody reads");
    // A client that was slow gets everything.
    let (mut shown, mut part) = (Vec::new(), vec![0; 1 << 20]);
    while shown.len() < 6_000_000 {
        let read = tokio::time::timeout(Duration::from_secs(20), watches[0].read(&mut part));
        let count = read.await.unwrap().unwrap();
        assert!(count > 0, "the watch ended after {} bytes", shown.len());
        shown.extend(&part[..count]);
    }
    assert_eq!(String::from_utf8_lossy(&shown).matches("\"ADDED\"").count(), 3);
}
