//! Requests that no API server sends, and clients that send slowly.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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
    let receiver = Receiver { body_time, ..Receiver::new(webhook.token.clone(), sender) };
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
