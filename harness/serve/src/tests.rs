//! Limits and shutdown, with clients that write raw bytes.

use std::convert::Infallible;

use http_body_util::BodyExt;
use hyper::body::Bytes;
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

/// Sends the head of a request, and waits until its handler runs.
async fn busy(serving: &Serving) -> TcpStream {
    let expecting = POST.replace("host: x", "host: x\r\nexpect: 100-continue");
    let mut stream = opened(serving, &expecting).await;
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_while_all_others_have_a_request() {
    let serving = started(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = busy(&serving).await;
    let second = opened(&serving, &format!("{POST}hi")).await;
    let early = timeout(SHORT, second.readable()).await;
    assert!(early.is_err(), "the second connection is answered before the first has ended");
    first.write_all(b"ab").await.unwrap();
    assert!(rest(first).await.ends_with("ab"));
    assert!(rest(second).await.ends_with("hi"));
}

#[tokio::test]
async fn connections_without_a_request_do_not_keep_others_out() {
    let serving = started(Limits { connections: 4, head_time: Some(LONG), ..Limits::default() }).await;
    let mut working = busy(&serving).await;
    let mut idle = Vec::new();
    for sent in ["", "P", "POST / HTTP/1.1\r\nhost: x\r\n"].into_iter().cycle().take(30) {
        idle.push(opened(&serving, sent).await);
    }
    for _ in 0..30 {
        assert!(rest(opened(&serving, &format!("{POST}hi")).await).await.ends_with("hi"));
    }
    // The oldest ones were replaced, and the request in progress was not.
    assert_eq!(rest(idle.swap_remove(0)).await, "");
    working.write_all(b"ab").await.unwrap();
    assert!(rest(working).await.ends_with("ab"));
}

#[tokio::test]
async fn a_response_in_progress_keeps_its_place() {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let server = server.limited_to(Limits { connections: 1, ..Limits::default() });
    let address = server.address();
    let (mut sender, body) = http_body_util::channel::Channel::<&[u8], Infallible>::new(1);
    let body = std::sync::Mutex::new(Some(body));
    let body = Arc::new(body);
    let streaming = move |_: Request<Incoming>| {
        let body = body.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(Response::new(body)) }
    };
    tokio::spawn(server.serve(streaming, std::future::pending()));
    let mut watching = TcpStream::connect(address).await.unwrap();
    watching.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    sender.send_data(&b"a"[..]).await.unwrap();
    let mut head = [0; 12];
    watching.read_exact(&mut head).await.unwrap();
    let others = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    tokio::time::sleep(SHORT).await;
    sender.send_data(&b"b"[..]).await.unwrap();
    drop((sender, others));
    assert!(rest(watching).await.ends_with("1\r\nb\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn without_keep_alive_a_connection_has_one_request() {
    let serving = started(Limits { keep_alive: false, ..Limits::default() }).await;
    let twice = "GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2);
    assert_eq!(rest(opened(&serving, &twice).await).await.matches("HTTP/1.1 200").count(), 1);
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

/// Serves responses whose data this sender has.
async fn streaming(read_time: Duration) -> (SocketAddr, http_body_util::channel::Sender<Bytes>) {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap().read_within(read_time);
    let address = server.address();
    let (sender, body) = http_body_util::channel::Channel::<Bytes, Infallible>::new(1);
    let body = Arc::new(std::sync::Mutex::new(Some(body)));
    let answer = move |_: Request<Incoming>| {
        let body = body.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(Response::new(body)) }
    };
    tokio::spawn(server.serve(answer, std::future::pending()));
    (address, sender)
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_cut_and_one_that_has_nothing_to_read_is_not() {
    for is_reading in [false, true] {
        let (address, mut sender) = streaming(SHORT).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
        if is_reading {
            sender.send_data("a".into()).await.unwrap();
            tokio::time::sleep(3 * SHORT).await;
            sender.send_data("b".into()).await.unwrap();
            drop(sender);
            assert!(rest(client).await.ends_with("ab"));
        } else {
            let sending = async { while sender.send_data(vec![0; 65_536].into()).await.is_ok() {} };
            timeout(LONG, sending).await.expect("an end of the connection within a minute");
        }
    }
}
