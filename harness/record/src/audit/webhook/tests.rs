//! Requests that no API server sends, and clients that send slowly.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::load::MAX_BODY;
use super::*;

const JSON: &str = "Content-Type: application/json\r\n";
/// A time that no test needs.
const LONG: Duration = Duration::from_secs(60);
/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(300);

/// Starts a webhook that accepts every body.
async fn started(token: Option<&str>, body_time: Duration) -> SocketAddr {
    let folder = tempfile::tempdir().unwrap();
    let token = token.map(|text| {
        let file = folder.path().join("token");
        std::fs::write(&file, format!("{text}\n")).unwrap();
        Token::read(&file).unwrap()
    });
    let webhook = Webhook::listen("127.0.0.1:0", None, token).await.unwrap();
    serving(webhook, body_time)
}

/// Accepts every body.
fn serving(webhook: Webhook, body_time: Duration) -> SocketAddr {
    let address = webhook.address();
    let (sender, mut inbox) = mpsc::channel::<Delivery>(BODIES);
    let receiver =
        Receiver { body_time, ..Receiver::new(webhook.token.clone(), Arc::clone(&webhook.load), sender) };
    let server = webhook.answer(receiver);
    tokio::spawn(async move {
        let _server = server;
        while let Some((_, answer)) = inbox.recv().await {
            let _ = answer.send(Ok(()));
        }
    });
    address
}

/// Sends the head of a request, and its body `{}`. Returns the status code.
async fn sent(address: SocketAddr, line: &str, host: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    code(&mut stream).await
}

/// The status code of the next response.
async fn code(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    timeout(LONG, stream.read_exact(&mut line)).await.expect("a response within a minute").unwrap();
    String::from_utf8(line[9..].to_vec()).unwrap()
}

#[tokio::test]
async fn requests_of_web_pages_are_refused() {
    let address = started(None, LONG).await;
    let own = address.to_string();
    for (line, host, headers, code) in [
        ("POST /", &*own, JSON, "200"),
        ("POST /any", "localhost", "Content-Type: application/json; charset=utf-8\r\n", "200"),
        ("GET /", &own, JSON, "405"),
        ("OPTIONS /", &own, "Origin: http://evil.example\r\n", "405"),
        ("POST /", "evil.example", JSON, "403"),
        ("POST /", &own, "Content-Type: application/json\r\nOrigin: http://evil.example\r\n", "403"),
        ("POST /", &own, "Content-Type: application/json\r\nOrigin: null\r\n", "403"),
        ("POST /", &own, "", "415"),
        ("POST /", &own, "Content-Type: text/plain\r\n", "415"),
        ("POST /", &own, "Content-Type: application/x-www-form-urlencoded\r\n", "415"),
    ] {
        assert_eq!(sent(address, line, host, headers).await, code, "{line} {host} {headers}");
    }
}

#[tokio::test]
async fn a_token_is_demanded_if_there_is_one() {
    let token = "a-secret-of-this-run";
    let address = started(Some(token), LONG).await;
    let bearer = format!("{JSON}Authorization: Bearer {token}\r\n");
    let path = format!("POST /{token}");
    for (line, host, headers, code) in [
        (&*path, "127.0.0.1", JSON, "200"),
        ("POST /audit", "127.0.0.1", &bearer, "200"),
        // The token is the proof, whatever the name of the webhook is.
        (&path, "recorder.example", JSON, "200"),
        ("POST /", "127.0.0.1", JSON, "401"),
        ("POST /a-secret-of-this-ru", "127.0.0.1", JSON, "401"),
        (&path, "127.0.0.1", "Content-Type: application/json\r\nOrigin: null\r\n", "403"),
    ] {
        assert_eq!(sent(address, line, host, headers).await, code, "{line} {host} {headers}");
    }
}

/// Sends the head of a request with a large body, and a part of the body.
async fn begun(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {MAX_BODY}\r\nExpect: 100-continue\r\n\r\n["
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_body_that_stops_is_refused_after_its_time() {
    let address = started(None, SHORT).await;
    let mut slow = begun(address).await;
    assert_eq!(code(&mut slow).await, "100");
    let mut rest = [0; 2 + 11];
    slow.read_exact(&mut rest).await.unwrap();
    assert_eq!(code(&mut slow).await, "408");
    assert_eq!(sent(address, "POST /", "localhost", JSON).await, "200");
}

#[tokio::test]
async fn eight_bodies_are_received_at_the_same_time() {
    let address = started(None, LONG).await;
    let mut first = Vec::new();
    for _ in 0..BODIES {
        let mut stream = begun(address).await;
        assert_eq!(code(&mut stream).await, "100");
        first.push(stream);
    }
    let mut ninth = begun(address).await;
    let early = timeout(SHORT, ninth.readable()).await;
    assert!(early.is_err(), "a ninth body is received");
    first.pop();
    assert_eq!(code(&mut ninth).await, "100");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_sent() {
    let address = started(None, LONG).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head =
        format!("POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {}\r\n\r\n", MAX_BODY + 1);
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(code(&mut stream).await, "413");
}

#[tokio::test]
async fn events_arrive_over_tls_and_neither_plain_text_nor_silence_keeps_them_out() {
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::ring::default_provider;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    let authority = jobcheck_serve::tls::Authority::new().unwrap();
    let tls = Some(authority.certificate().unwrap());
    let webhook = Webhook::listen("127.0.0.1:0", tls, None).await.unwrap();
    assert_eq!(webhook.scheme(), "https");
    let address = serving(webhook, LONG);
    // Connections whose handshake never ends.
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    timeout(LONG, plain.read_to_end(&mut answer)).await.unwrap().ok();
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let request = format!("POST / HTTP/1.1\r\nHost: {address}\r\n{JSON}Content-Length: 2\r\n\r\n{{}}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    timeout(LONG, stream.read_exact(&mut line)).await.unwrap().unwrap();
    assert_eq!(&line[9..], b"200");
}

/// Drops what it gets.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &jobcheck_traces::Body<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn gap(&mut self, _: String) -> Result<(), Error> {
        Ok(())
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_told_and_a_wrong_one_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let renew = || {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(&file, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    };
    renew();
    let served = Webhook::listen("127.0.0.1:0", Some(Tls::read(&file, &key).unwrap()), None).await.unwrap();
    let stop = CancellationToken::new();
    let (notes, mut told) = mpsc::unbounded_channel();
    let mut hear = move |notice: Notice<'_>| {
        if let Notice::Note(text) = notice {
            notes.send(text).unwrap();
        }
    };
    let renewing = async {
        let half = folder.path().join("half");
        std::fs::write(&half, "half of it").unwrap();
        // The resolution of times is some milliseconds, and the test is faster.
        let time = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::options().write(true).open(&half).unwrap().set_modified(time).unwrap();
        std::fs::rename(&half, &file).unwrap();
        let wrong = timeout(LONG, told.recv()).await.unwrap().unwrap();
        assert!(wrong.contains("keeps its certificate") && wrong.contains("tls.crt"), "{wrong}");
        tokio::time::sleep(3 * INTERVAL).await;
        assert!(told.is_empty(), "{:?}", told.recv().await);
        renew();
        // The two files can be seen one after the other.
        let mut last = String::new();
        while !last.contains("has read its renewed certificate") {
            last = timeout(LONG, told.recv()).await.unwrap().unwrap();
        }
        stop.cancel();
    };
    let mut nowhere = Nowhere;
    let (served, ()) = tokio::join!(webhook(served, &[], &mut nowhere, &stop, &mut hear), renewing);
    served.unwrap();
}

/// The content of a recording: the names of Jobs, and the gaps.
#[derive(Clone, Default)]
struct Written(Arc<std::sync::Mutex<(Vec<String>, Vec<String>)>>);

impl Written {
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().0.clone()
    }

    fn gaps(&self) -> Vec<String> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Sink for Written {
    fn write(&mut self, body: &Body<'_>) -> Result<(), Error> {
        let Body::Request(request) = body else { return Ok(()) };
        self.0.lock().unwrap().0.push(request.name.to_owned());
        Ok(())
    }

    fn gap(&mut self, reason: String) -> Result<(), Error> {
        self.0.lock().unwrap().1.push(reason);
        Ok(())
    }
}

/// A recording in the background, with these limits.
struct Running {
    address: SocketAddr,
    load: Arc<Load>,
    written: Written,
    stop: CancellationToken,
    recording: tokio::task::JoinHandle<Result<(), Error>>,
}

impl Running {
    async fn begin(memory: Option<u64>) -> Running {
        let load = Arc::new(Load::of(memory));
        let served = Webhook::listen("127.0.0.1:0", None, None).await.unwrap().limited(Arc::clone(&load));
        let (address, stop, written) = (served.address(), CancellationToken::new(), Written::default());
        let (stopping, mut sink) = (stop.clone(), written.clone());
        // The function for notes need not be `Send`.
        let runtime = tokio::runtime::Handle::current();
        let recording = tokio::task::spawn_blocking(move || {
            runtime.block_on(webhook(served, &[], &mut sink, &stopping, &mut |_| {}))
        });
        Running { address, load, written, stop, recording }
    }

    /// Ends the recording. Returns the names of Jobs, and the gaps.
    async fn end(self) -> (Vec<String>, Vec<String>) {
        self.stop.cancel();
        self.recording.await.unwrap().unwrap();
        (self.written.names(), self.written.gaps())
    }
}

/// A list with the creation of a Job with this name at this second, and as many bytes more.
fn batch(name: &str, second: u32, bytes: usize) -> String {
    let time = format!("2026-01-01T00:00:{second:02}Z");
    let object =
        format!(r#"{{"metadata":{{"name":"{name}","annotations":{{"x":"{}"}}}}}}"#, "x".repeat(bytes));
    format!(
        r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{{"level":"RequestResponse","auditID":"{name}","stage":"ResponseComplete","verb":"create","user":{{"username":"admin"}},"objectRef":{{"resource":"jobs","apiGroup":"batch","namespace":"ns","name":"{name}"}},"responseStatus":{{"code":201}},"responseObject":{object},"requestReceivedTimestamp":"{time}","stageTimestamp":"{time}"}}]}}"#
    )
}

/// Sends a body. Returns the response.
async fn posted(address: SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A refusal may come before the body is sent.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = String::new();
    timeout(LONG, stream.read_to_string(&mut answer)).await.expect("a response within a minute").unwrap();
    answer
}

#[tokio::test]
async fn the_oldest_events_are_written_early_if_too_many_wait() {
    let running = Running::begin(Some(8 << 20)).await;
    for (name, second) in [("b", 2), ("a", 1), ("c", 3)] {
        assert!(posted(running.address, &batch(name, second, 400_000)).await.starts_with("HTTP/1.1 200"));
    }
    assert_eq!(running.written.names(), ["a"]);
    assert!((800_000..1_048_576).contains(&running.load.waiting()), "{}", running.load.waiting());
    assert_eq!(running.end().await, (["a", "b", "c"].map(str::to_owned).to_vec(), Vec::new()));
}

#[tokio::test]
async fn a_request_that_is_refused_because_of_the_memory_may_come_again_and_is_a_gap() {
    let running = Running::begin(None).await;
    running.load.set_full(true);
    let answer = posted(running.address, &batch("a", 1, 0)).await;
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.to_lowercase().contains("retry-after: 5"),
        "{answer}"
    );
    running.load.set_full(false);
    assert!(posted(running.address, &batch("a", 1, 0)).await.starts_with("HTTP/1.1 200"));
    assert_eq!(running.load.refused(), 1);
    let (names, gaps) = running.end().await;
    assert_eq!((names, gaps.len()), (vec!["a".to_owned()], 1), "{gaps:?}");
}

#[tokio::test]
async fn each_refused_request_counts_and_those_of_strangers_are_no_gaps() {
    let running = Running::begin(None).await;
    let own = running.address.to_string();
    for (line, host, code) in
        [("GET /", &*own, "405"), ("POST /", "evil.example", "403"), ("POST /", &own, "400")]
    {
        assert_eq!(sent(running.address, line, host, JSON).await, code, "{line} {host}");
    }
    assert_eq!(running.load.refused(), 3);
    let (_, gaps) = running.end().await;
    assert!(gaps.len() == 1 && gaps[0].contains("cannot be parsed"), "{gaps:?}");
}

#[tokio::test]
async fn a_body_that_is_larger_than_its_place_is_a_gap() {
    let running = Running::begin(Some(64 << 20)).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let length = (16 << 20) + 1;
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(code(&mut stream).await, "413");
    assert_eq!(running.end().await.1, ["a request was refused by the webhook"]);
}

#[tokio::test]
async fn a_body_that_is_being_received_at_the_end_is_recorded() {
    let running = Running::begin(None).await;
    let body = batch("late", 1, 0);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(code(&mut stream).await, "100");
    let mut rest = [0; 2 + 11];
    stream.read_exact(&mut rest).await.unwrap();
    let (address, stop) = (running.address, running.stop.clone());
    let rest_of_it = async {
        stop.cancelled().await;
        tokio::time::sleep(SHORT).await;
        assert!(posted(address, &batch("new", 2, 0)).await.starts_with("HTTP/1.1 503"));
        stream.write_all(body.as_bytes()).await.unwrap();
        assert_eq!(code(&mut stream).await, "200");
    };
    let (written, ()) = tokio::join!(running.end(), rest_of_it);
    assert_eq!(written, (vec!["late".to_owned()], Vec::new()));
}
