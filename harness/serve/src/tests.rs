//! Limits and shutdown, with clients that write raw bytes.

use std::convert::Infallible;

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

/// A time that no test needs.
const LONG: Duration = Duration::from_secs(60);
/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(200);

struct Serving {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

/// Starts a server that returns the body of each request.
async fn started(limits: Limits) -> Serving {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap().limited_to(limits);
    let address = server.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let echo = |request: Request<Incoming>| async {
        let body = request.into_body().collect().await.map(|it| it.to_bytes()).unwrap_or_default();
        Ok::<_, Infallible>(Response::new(http_body_util::Full::new(body)))
    };
    let task = tokio::spawn(server.serve(echo, async { drop(stopped.await) }));
    Serving { address, stop, task }
}

async fn opened(serving: &Serving, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(serving.address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

/// Everything that a client reads until its connection ends.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A connection that is cut may end with an error.
    let _ = timeout(LONG, stream.read_to_string(&mut text)).await.expect("an end within a minute");
    text
}

const POST: &str = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n";

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_a_place() {
    let serving = started(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = opened(&serving, POST).await;
    let second = opened(&serving, &format!("{POST}hi")).await;
    let early = timeout(SHORT, second.readable()).await;
    assert!(early.is_err(), "the second connection is answered before the first has ended");
    first.write_all(b"ab").await.unwrap();
    assert!(rest(first).await.ends_with("ab"));
    assert!(rest(second).await.ends_with("hi"));
}

#[tokio::test]
async fn a_client_that_does_not_finish_the_head_of_its_request_is_cut() {
    let serving = started(Limits { head_time: Some(SHORT), ..Limits::default() }).await;
    rest(opened(&serving, "POST / HT").await).await;
    rest(opened(&serving, "").await).await;
}

#[tokio::test]
async fn a_shutdown_waits_for_the_request_in_progress() {
    let serving = started(Limits { drain_time: LONG, ..Limits::default() }).await;
    let mut client = opened(&serving, POST).await;
    // Another client is answered meanwhile, so that the first one was accepted before the shutdown.
    assert!(rest(opened(&serving, &format!("{POST}hi")).await).await.ends_with("hi"));
    serving.stop.send(()).unwrap();
    while TcpStream::connect(serving.address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    client.write_all(b"ab").await.unwrap();
    assert!(rest(client).await.ends_with("ab"));
    serving.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_shutdown_cuts_what_has_not_ended_in_time() {
    let serving = started(Limits { drain_time: Duration::ZERO, ..Limits::default() }).await;
    let client = opened(&serving, POST).await;
    assert!(rest(opened(&serving, &format!("{POST}hi")).await).await.ends_with("hi"));
    serving.stop.send(()).unwrap();
    timeout(LONG, serving.task).await.expect("an end within a minute").unwrap().unwrap();
    rest(client).await;
}

#[tokio::test]
async fn a_connection_without_its_layer_is_closed() {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.address();
    let none = |_: TcpStream| std::future::ready(None::<TcpStream>);
    let never = |_: Request<Incoming>| std::future::pending::<Result<Response<String>, Infallible>>();
    tokio::spawn(server.serve_over(none, never, std::future::pending()));
    assert_eq!(rest(TcpStream::connect(address).await.unwrap()).await, "");
}
