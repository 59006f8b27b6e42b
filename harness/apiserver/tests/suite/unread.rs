//! Clients that ask for large lists and objects, and never read them.

use std::net::SocketAddr;
use std::time::Duration;

use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::request::{PatchKind, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource::Pods;
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::HttpServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::cluster::pod;

const BOUND: usize = 16 << 20;
/// The size of a pod. Buffers of sockets hold less than the pods of a list.
const SIZE: usize = 1 << 20;
const PODS: usize = 12;
const PATH: &str = "/api/v1/pods";

/// A server with large pods, and its address.
async fn served() -> (SharedServer, SocketAddr) {
    let config = Config { history: 1, unread_bytes: BOUND, ..Config::default() };
    let shared = SharedServer::new(Server::new(config, jiff::Timestamp::now()), SystemClock);
    for number in 0..PODS {
        let create = Request::new(Pods, Some("default"), None, Verb::Create(pod(&name(number))));
        shared.with(|server, now| server.handle(now, &create).object().unwrap());
        grow(&shared, number, 'a');
    }
    let service = ApiService::new(shared.clone(), Auth::Everyone("me".to_owned()));
    let socket = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = socket.address();
    tokio::spawn(service.serve(socket, std::future::pending()));
    (shared, address)
}

fn name(number: usize) -> String {
    format!("p{number}")
}

/// Gives a pod a new version.
fn grow(shared: &SharedServer, number: usize, letter: char) {
    let text = letter.to_string().repeat(SIZE);
    let patch = Verb::Patch { kind: PatchKind::Merge, body: json!({"status": {"message": text}}) };
    let patch = Request::new(Pods, Some("default"), Some(&name(number)), patch);
    let patch = Request { subresource: Some(Subresource::Status), ..patch };
    shared.with(|server, now| server.handle(now, &patch).object().unwrap());
}

/// A client that has sent a request.
async fn client(address: SocketAddr, path: &str) -> TcpStream {
    sent(TcpStream::connect(address).await.unwrap(), path).await
}

/// One that reads nothing, with a small buffer.
async fn silent(address: SocketAddr, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    sent(socket.connect(address).await.unwrap(), path).await
}

async fn sent(mut stream: TcpStream, path: &str) -> TcpStream {
    // The body of a response to HTTP/1.0 ends with its connection.
    let head = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The body of a response; nothing if it is incomplete.
async fn body(mut stream: TcpStream) -> Option<Value> {
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    // A connection that is cut may end with an error.
    let _ = timeout(Duration::from_secs(60), reading).await.expect("an end within a minute");
    let at = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    serde_json::from_slice(&answer[at + 4..]).ok()
}

fn count(list: &Value) -> usize {
    list["items"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn clients_that_never_read_a_list_do_not_stop_others() {
    let (shared, address) = served().await;
    let slow = client(address, PATH).await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        clients.push(silent(address, PATH).await);
    }
    let one = client(address, "/api/v1/namespaces/default/pods/p0").await;
    let one = timeout(Duration::from_secs(20), body(one)).await.expect("another client is answered");
    assert_eq!(one.unwrap()["metadata"]["name"], "p0");
    let list = body(client(address, PATH).await).await.unwrap();
    assert_eq!((count(&list), &list["items"][3]["metadata"]["name"]), (PODS, &json!("p11")));
    assert!(shared.unread_bytes() <= BOUND, "{} bytes", shared.unread_bytes());
    // A client that was slow gets everything.
    assert_eq!(body(slow).await.as_ref(), Some(&list));
    drop(clients);
    let emptied = async {
        while shared.unread_bytes() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), emptied).await.expect("nothing is held for clients that are gone");
}

/// Each list has other versions of the pods, which nothing else holds.
#[tokio::test]
async fn lists_of_old_versions_that_nobody_reads_are_cut() {
    let (shared, address) = served().await;
    let mut clients = Vec::new();
    for letter in 'b'..='i' {
        let client = client(address, PATH).await;
        client.readable().await.unwrap();
        let mut head = [0; 12];
        assert_eq!(client.peek(&mut head).await.unwrap(), 12);
        clients.push(client);
        (0..PODS).for_each(|number| grow(&shared, number, letter));
        assert!(shared.unread_bytes() <= BOUND, "{} bytes", shared.unread_bytes());
    }
    let last = body(clients.pop().unwrap()).await;
    assert_eq!(last.as_ref().map(count), Some(PODS));
    assert_eq!(body(clients.swap_remove(0)).await, None);
}
