//! A recording from an audit webhook, to which kube-apiserver sends its audit events.
//!
//! # Guarantees
//!
//! Clients cannot use up the memory. At most [`BODIES`] bodies of at most [`MAX_BODY`] bytes are received at the same
//! time, each within [`BODY_TIME`]. A browser on this machine cannot add events for a web page.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use jobcheck_serve::tls::{Tls, TlsError};
use jobcheck_serve::{HttpServer, origin};
use jobcheck_traces::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::events::{Events, is_truncated, read};
use super::token::Token;
use crate::Notice;
use crate::error::Error;
use crate::reorder::ReorderBuffer;
use crate::sink::Sink;

/// The time that an event waits for older ones. By default an API server sends a batch after at most 30 s, and
/// several servers send at different times.
const WAIT: Duration = Duration::from_secs(35);
/// The interval at which waiting events are written.
const INTERVAL: Duration = Duration::from_millis(200);
/// The maximum size of a body in bytes. By default an API server sends at most 10 MiB.
const MAX_BODY: usize = 64 << 20;
/// The number of bodies that can be in memory at the same time. Further requests wait.
const BODIES: usize = 8;
/// The time in which a body must arrive, and for which a request waits for its turn.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A webhook that listens, but does not serve requests yet.
#[derive(Debug)]
pub struct Webhook {
    server: HttpServer,
    tls: Option<Tls>,
    token: Option<Token>,
}

impl Webhook {
    /// Listens on an address such as `127.0.0.1:9443`. Port 0 selects a free port. With a token, only requests with it
    /// are accepted. Without a certificate, it is plain HTTP.
    ///
    /// # Errors
    ///
    /// The address is invalid or in use.
    pub async fn listen(address: &str, tls: Option<Tls>, token: Option<Token>) -> Result<Webhook, Error> {
        let failed = |source| Error::Listen { address: address.to_owned(), source };
        let server = HttpServer::bind(address).await.map_err(failed)?;
        Ok(Webhook { server, tls, token })
    }

    /// The address, with the selected port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Answers requests. Dropping the result ends the server and its connections.
    fn answer(self, receiver: Receiver) -> JoinSet<std::io::Result<()>> {
        let mut serving = JoinSet::new();
        let handler = move |request| receiver.clone().answer(request);
        match self.tls {
            None => serving.spawn(self.server.serve(handler, std::future::pending())),
            Some(tls) => {
                let layer = move |stream| tls.clone().accept(stream);
                serving.spawn(self.server.serve_over(layer, handler, std::future::pending()))
            }
        };
        serving
    }
}

/// A body, and the channel for the result of recording it.
type Delivery = (String, oneshot::Sender<Result<(), String>>);

/// Records the events of these namespaces, or of all, that API servers send. Returns after `stop` was cancelled.
///
/// # Errors
///
/// The records cannot be kept.
pub async fn webhook(
    webhook: Webhook,
    namespaces: &[String],
    trace: &mut impl Sink,
    stop: &CancellationToken,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Error> {
    let (sender, mut inbox) = mpsc::channel(BODIES);
    let receiver = Receiver::new(webhook.token.clone(), sender);
    let tls = webhook.tls.clone();
    let _serving = webhook.answer(receiver);
    let mut events = Events::of(namespaces);
    let mut buffer: ReorderBuffer<String> = ReorderBuffer::new(WAIT);
    let mut looks = interval(INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = looks.tick() => {
                if let Some(renewed) = tls.as_ref().map(Tls::read_again) {
                    report_renewal(renewed, notify);
                }
                while let Some(event) = buffer.ripe(0) {
                    write(&event, trace)?;
                }
                trace.flush()?;
                if let Some(tally) = trace.tally() {
                    notify(Notice::Progress(tally));
                }
            }
            sent = inbox.recv() => {
                let Some((body, answer)) = sent else {
                    return Err(Error::Internal("the webhook ended unexpectedly".to_owned()));
                };
                let result = accept(&body, &mut events, &mut buffer)?;
                if let Err(why) = &result {
                    let why = format!("a request to the webhook cannot be parsed: {why}");
                    notify(Notice::Note(format!("a gap: {why}")));
                    trace.gap(why)?;
                }
                // The client may have disconnected.
                let _ = answer.send(result);
            }
        }
    }
    while let Some(event) = buffer.up_to(u64::MAX) {
        write(&event, trace)?;
    }
    trace.flush()
}

/// The body of a request to the webhook.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventList {
    kind: String,
    api_version: String,
    items: Vec<Box<RawValue>>,
}

/// Returns an event as a list of its own. The items of a list have no kind and no API version.
fn single_event_list(item: &RawValue) -> String {
    format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{}]}}"#, item.get())
}

/// Reports another certificate, or why the new one is not used.
fn report_renewal(renewed: Result<bool, TlsError>, notify: &mut dyn FnMut(Notice<'_>)) {
    match renewed {
        Ok(false) => {}
        Ok(true) => notify(Notice::Note("the webhook has read its renewed certificate".to_owned())),
        Err(error) => notify(Notice::Note(format!("the webhook keeps its certificate: {error}"))),
    }
}

/// Adds the events of a list. The inner error is the reason why the list is invalid.
fn accept(
    body: &str,
    events: &mut Events,
    buffer: &mut ReorderBuffer<String>,
) -> Result<Result<(), String>, Error> {
    let list: EventList = match serde_json::from_str(body) {
        Ok(list) => list,
        Err(error) => return Ok(Err(format!("expected an EventList of audit.k8s.io/v1: {error}"))),
    };
    if (&*list.kind, &*list.api_version) != ("EventList", "audit.k8s.io/v1") {
        return Ok(Err(format!(
            "expected an EventList of audit.k8s.io/v1, found {} of {}",
            list.kind, list.api_version
        )));
    }
    let mut problem = Ok(());
    for item in list.items {
        let document = single_event_list(&item);
        let mut done = None;
        let readable = read(&document, &mut |request| {
            if events.takes(request) {
                done = u64::try_from(request.interval.done).ok();
            }
            Ok(())
        })?;
        if let Some(done) = done {
            // The judge sorts an event that arrives after newer ones.
            buffer.push(done, document);
        }
        problem = problem.and(readable);
    }
    Ok(problem)
}

fn write(event: &str, trace: &mut impl Sink) -> Result<(), Error> {
    if is_truncated(event) {
        trace.gap("an event was truncated by the API server".to_owned())?;
    }
    // The event was parsed before, so that it is valid.
    read(event, &mut |request| trace.write(&Body::Request(*request))).map(drop)
}

/// Answers requests. It is cloned for each of them.
#[derive(Clone)]
struct Receiver {
    sender: mpsc::Sender<Delivery>,
    /// The places for bodies in memory.
    bodies: Arc<Semaphore>,
    body_time: Duration,
    token: Option<Token>,
}

impl Receiver {
    fn new(token: Option<Token>, sender: mpsc::Sender<Delivery>) -> Receiver {
        Receiver { sender, bodies: Arc::new(Semaphore::new(BODIES)), body_time: BODY_TIME, token }
    }

    async fn answer(self, request: HttpRequest<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let answered = match self.deliver(request).await {
            Ok(()) => response(StatusCode::OK, ""),
            Err((code, why)) => response(code, &why),
        };
        Ok(answered)
    }

    async fn deliver(&self, request: HttpRequest<Incoming>) -> Result<(), Refusal> {
        check(&request, self.token.as_ref())?;
        // The API server sends a batch again that was not accepted.
        let unavailable = |why: &str| (StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
        let Ok(Ok(_place)) = timeout(self.body_time, self.bodies.acquire()).await else {
            return Err(unavailable("too many requests are being received"));
        };
        let Ok(body) = timeout(self.body_time, body_of(request.into_body())).await else {
            let why = format!("the body did not arrive within {:?}", self.body_time);
            return Err((StatusCode::REQUEST_TIMEOUT, why));
        };
        let body = String::from_utf8(body?)
            .map_err(|_| (StatusCode::BAD_REQUEST, "the body is not UTF-8".to_owned()))?;
        let (sent, result_of_recording) = oneshot::channel();
        let ended = || unavailable("the recording has ended");
        self.sender.send((body, sent)).await.map_err(|_| ended())?;
        match result_of_recording.await {
            Ok(result) => result.map_err(|why| (StatusCode::BAD_REQUEST, why)),
            Err(_) => Err(ended()),
        }
    }
}

/// A status code, with the reason.
type Refusal = (StatusCode, String);

/// Refuses requests that no API server sends, before their body is read. A browser on this machine could send them for
/// any page.
fn check(request: &HttpRequest<Incoming>, token: Option<&Token>) -> Result<(), Refusal> {
    let headers = request.headers();
    let refused = |code: StatusCode, why: &str| Err((code, why.to_owned()));
    if request.method() != Method::POST {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "an audit webhook accepts only POST");
    }
    if origin::is_of_a_page(headers) {
        return refused(StatusCode::FORBIDDEN, "an audit webhook is not for web pages");
    }
    match token {
        Some(token) if !token.is_in(request) => {
            return refused(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
        }
        // Without a token, a name could be one that a page has bound to this address.
        None if origin::is_for_another_host(headers) => {
            let why = "without a token, the host must be an address or localhost";
            return refused(StatusCode::FORBIDDEN, why);
        }
        Some(_) | None => {}
    }
    if origin::media_type(headers) != "application/json" {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected Content-Type: application/json");
    }
    Ok(())
}

/// Collects a body, without a second copy of it.
async fn body_of(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        let why = format!("the body is larger than {} MiB", MAX_BODY >> 20);
        (StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if length > MAX_BODY {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body is incomplete".to_owned()))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BODY {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn response(code: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(why.to_owned())));
    *response.status_mut() = code;
    response
}

#[cfg(test)]
mod tests;
