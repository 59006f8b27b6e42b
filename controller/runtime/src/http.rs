//! The plain HTTP servers of a process: `/healthz`, `/livez`, `/readyz`, and `/metrics`.
//!
//! # Guarantees
//!
//! A client that keeps connections open, and sends nothing or slowly, does not keep the health checks of the kubelet
//! out. A connection has one request, whose head must arrive within [`HEAD_TIME`]. The oldest connection without a request
//! makes way for a new one.
//!
//! On a loopback address, requests for any other host than an address or `localhost` are refused. A web page could have
//! bound its own name to this address, and read the metrics. On other addresses any host is accepted, because nobody knows
//! the names of the Services through which Prometheus comes.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use jobcheck_serve::{HttpServer, Limits, origin};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// The state of the process that the server reports.
pub trait Status: Send + Sync + 'static {
    /// Returns the reason why the process is not ready; none if it is ready.
    fn not_ready(&self) -> Option<String>;
    /// Returns the metrics in the Prometheus text format.
    fn metrics(&self) -> String;
}

/// An invalid `--metrics-bind-address` or `--health-probe-bind-address`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a listen address; write HOST:PORT, :PORT, or 0 for no server")]
pub struct BindAddressError(String);

/// Parses a listen address as in Go: `:8080` is port 8080 of every interface, and `0` is no server.
///
/// # Errors
///
/// The text is not a listen address.
pub fn parse_bind_address(text: &str) -> Result<Option<String>, BindAddressError> {
    let error = || BindAddressError(text.to_owned());
    if text == "0" || text.is_empty() {
        return Ok(None);
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
    let port: u16 = port.parse().map_err(|_| error())?;
    let host = if host.is_empty() { "0.0.0.0" } else { host };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    if host.contains(':') && !bracketed || host.contains(char::is_whitespace) {
        return Err(error());
    }
    Ok(Some(format!("{host}:{port}")))
}

/// The pages of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The health checks and the metrics.
    All,
    /// The health checks only.
    Health,
}

/// A listening server.
#[derive(Debug)]
pub struct Server(HttpServer, Pages);

impl Server {
    /// Listens on `HOST:PORT` for requests for these pages. Port 0 is any free port.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub async fn bind(address: &str, pages: Pages) -> io::Result<Server> {
        HttpServer::bind(address).await.map(|server| Server(server.limited_to(LIMITS), pages))
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves requests until `stop`.
    pub async fn serve(self, status: Arc<dyn Status>, stop: CancellationToken) {
        let (pages, is_local) = (self.1, self.address().ip().is_loopback());
        let handler = move |request: Request<Incoming>| {
            let response = match is_local && origin::is_for_another_host(request.headers()) {
                true => text(StatusCode::FORBIDDEN, "the host must be an address or localhost\n".to_owned()),
                false => respond(&request, pages, status.as_ref()),
            };
            async { Ok::<_, Infallible>(response) }
        };
        if let Err(error) = self.0.serve(handler, stop.cancelled()).await {
            debug!(%error, "the socket failed");
        }
    }
}

/// The time in which the head of a request must arrive. A kubelet waits for 1 s by default.
pub const HEAD_TIME: Duration = Duration::from_secs(2);
/// Bounds for clients of `/metrics` and the health checks, who are few. Nobody waits for them at the end.
const LIMITS: Limits =
    Limits { connections: 128, head_time: Some(HEAD_TIME), keep_alive: false, drain_time: Duration::ZERO };

fn respond(request: &Request<Incoming>, pages: Pages, status: &dyn Status) -> Response<Full<Bytes>> {
    if *request.method() != Method::GET && *request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
    }
    match request.uri().path() {
        "/healthz" | "/livez" => text(StatusCode::OK, "ok".to_owned()),
        "/readyz" => match status.not_ready() {
            None => text(StatusCode::OK, "ok".to_owned()),
            Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
        },
        "/metrics" if pages == Pages::All => text(StatusCode::OK, status.metrics()),
        _ => {
            let metrics = if pages == Pages::All { ", /metrics" } else { "" };
            text(StatusCode::NOT_FOUND, format!("only /healthz, /livez, /readyz{metrics}\n"))
        }
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[test]
    fn addresses_are_parsed_as_in_go() {
        let parse = |text: &str| parse_bind_address(text).unwrap();
        assert_eq!(parse("0"), None);
        assert_eq!(parse(""), None);
        assert_eq!(parse(":8080"), Some("0.0.0.0:8080".to_owned()));
        assert_eq!(parse("127.0.0.1:0"), Some("127.0.0.1:0".to_owned()));
        assert_eq!(parse("[::1]:8080"), Some("[::1]:8080".to_owned()));
        for text in ["8080", "localhost", "::1:80", ":http", ":99999", "a b:1"] {
            assert!(parse_bind_address(text).is_err(), "{text}");
        }
    }

    struct Fixed(Option<&'static str>);

    impl Status for Fixed {
        fn not_ready(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }

        fn metrics(&self) -> String {
            "up 1\n".to_owned()
        }
    }

    async fn get(address: SocketAddr, line: &str) -> String {
        get_for("localhost", address, line).await
    }

    async fn get_for(host: &str, address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    async fn started(status: Fixed) -> (SocketAddr, CancellationToken) {
        listening(status, Pages::All).await
    }

    async fn listening(status: Fixed, pages: Pages) -> (SocketAddr, CancellationToken) {
        listening_on("127.0.0.1:0", status, pages).await
    }

    async fn listening_on(at: &str, status: Fixed, pages: Pages) -> (SocketAddr, CancellationToken) {
        let server = Server::bind(at, pages).await.unwrap();
        let address = server.address();
        let stop = CancellationToken::new();
        tokio::spawn(server.serve(Arc::new(status), stop.clone()));
        (address, stop)
    }

    #[tokio::test]
    async fn health_readiness_and_metrics_are_served() {
        let (address, stop) = started(Fixed(None)).await;
        for path in ["/healthz", "/livez", "/readyz"] {
            let response = get(address, &format!("GET {path}")).await;
            assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("ok"), "{response}");
        }
        let response = get(address, "GET /metrics").await;
        assert!(response.contains("version=0.0.4") && response.ends_with("up 1\n"), "{response}");
        assert!(get(address, "GET /").await.starts_with("HTTP/1.1 404"));
        assert!(get(address, "POST /metrics").await.starts_with("HTTP/1.1 405"));
        stop.cancel();
    }

    /// A web page that has bound its name to 127.0.0.1 reads nothing; Prometheus uses the name of a Service.
    #[tokio::test]
    async fn a_loopback_port_is_not_for_other_names_and_every_other_port_is() {
        let (local, _stop) = started(Fixed(None)).await;
        let (other, _stop_too) = listening_on("0.0.0.0:0", Fixed(None), Pages::All).await;
        for (host, code) in
            [("evil.example", "403"), ("127.0.0.1", "200"), ("[::1]:9464", "200"), ("localhost:1", "200")]
        {
            let response = get_for(host, local, "GET /metrics").await;
            assert!(response.starts_with(&format!("HTTP/1.1 {code}")), "{host}: {response}");
        }
        for host in ["jobcheck-watch-audit.jobcheck.svc:9464", "10.0.0.7:9464"] {
            assert!(get_for(host, other, "GET /metrics").await.starts_with("HTTP/1.1 200"), "{host}");
        }
    }

    #[tokio::test]
    async fn the_port_of_the_probes_has_no_metrics() {
        let (address, _stop) = listening(Fixed(None), Pages::Health).await;
        for path in ["/healthz", "/livez", "/readyz"] {
            assert!(get(address, &format!("GET {path}")).await.starts_with("HTTP/1.1 200"), "{path}");
        }
        let response = get(address, "GET /metrics").await;
        assert!(response.starts_with("HTTP/1.1 404") && !response.contains("up 1"), "{response}");
    }

    /// With as many connections as it likes, a neighbour must not make the kubelet restart the process.
    #[tokio::test]
    async fn idle_connections_of_a_neighbour_do_not_fail_the_probes() {
        let (address, _stop) = listening(Fixed(None), Pages::Health).await;
        let mut idle = Vec::new();
        for _ in 0..200 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"G").await.unwrap();
            idle.push(stream);
        }
        for probe in 0..30 {
            let probed = tokio::time::timeout(Duration::from_secs(1), get(address, "GET /livez")).await;
            assert!(probed.is_ok_and(|it| it.starts_with("HTTP/1.1 200")), "probe {probe}");
        }
        // The last one kept its place, but not for long.
        let mut answer = String::new();
        let mut last = idle.pop().unwrap();
        let cut = tokio::time::timeout(HEAD_TIME * 5, last.read_to_string(&mut answer)).await;
        assert!(cut.is_ok() && !answer.contains("200"), "{cut:?} {answer}");
    }

    #[tokio::test]
    async fn a_process_that_is_not_ready_is_alive_and_reports_why() {
        let (address, _stop) = started(Fixed(Some("the cache of pods is not filled"))).await;
        assert!(get(address, "GET /healthz").await.starts_with("HTTP/1.1 200"));
        let response = get(address, "GET /readyz").await;
        assert!(response.starts_with("HTTP/1.1 503"), "{response}");
        assert!(response.ends_with("not ready: the cache of pods is not filled\n"), "{response}");
    }
}
