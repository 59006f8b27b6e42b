//! A recording from an audit webhook, to which kube-apiserver sends its audit events.
//!
//! # Guarantees
//!
//! Clients cannot use up the memory. A [`Load`] limits the bodies that are received at the same time, each within
//! [`BODY_TIME`]. It limits the events that wait for older ones, too: beyond that, the oldest are written early. A refused
//! batch is a gap. A browser on this machine cannot add events for a web page.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderValue, RETRY_AFTER};
use http::{Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use jobcheck_serve::tls::Tls;
use jobcheck_serve::{HttpServer, origin};
use jobcheck_traces::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{SemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::certificate::Certificate;
use super::events::{Events, read};
use super::load::{BODIES, Load};
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
/// The time in which a body must arrive, and for which a request waits for its turn.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The time at the end for the bodies that are being received.
const END_TIME: Duration = Duration::from_secs(5);
/// The minimum time between two gaps for refused requests.
const GAP_INTERVAL: Duration = Duration::from_secs(5);
/// The seconds after which a client should send again what was refused.
const RETRY: HeaderValue = HeaderValue::from_static("5");

/// A webhook that listens, but does not serve requests yet.
#[derive(Debug)]
pub struct Webhook {
    server: HttpServer,
    tls: Option<Tls>,
    token: Option<Token>,
    load: Arc<Load>,
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
        Ok(Webhook { server, tls, token, load: Arc::new(Load::of(None)) })
    }

    /// Sets the limits of its memory. By default they are those of a process without a limit.
    #[must_use]
    pub fn limited(self, load: Arc<Load>) -> Webhook {
        Webhook { load, ..self }
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
    let mut certificate = webhook.tls.clone().map(Certificate::new);
    let load = Arc::clone(&webhook.load);
    let receiver = Receiver::new(webhook.token.clone(), Arc::clone(&load), sender);
    let _serving = webhook.answer(receiver);
    let mut recording = Recording {
        events: Events::of(namespaces),
        buffer: ReorderBuffer::new(WAIT),
        waiting: 0,
        is_hurried: false,
        load,
        refused: (0, None),
        trace,
        notify,
    };
    let mut looks = interval(INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = looks.tick() => {
                if let Some(certificate) = &mut certificate {
                    certificate.look(recording.notify);
                }
                recording.look()?;
            }
            sent = inbox.recv() => {
                let Some(delivery) = sent else {
                    return Err(Error::Internal("the webhook ended unexpectedly".to_owned()));
                };
                recording.take(delivery)?;
            }
        }
    }
    recording.end(&mut inbox).await
}

/// The events of a webhook on their way to the trace.
struct Recording<'a, S> {
    events: Events,
    buffer: ReorderBuffer<String>,
    /// The size of the buffer in bytes.
    waiting: usize,
    /// True if events are written before their time.
    is_hurried: bool,
    load: Arc<Load>,
    /// The number of lost requests for which there is a gap, and the time of the last one.
    refused: (u64, Option<Instant>),
    trace: &'a mut S,
    notify: &'a mut dyn FnMut(Notice<'_>),
}

impl<S: Sink> Recording<'_, S> {
    fn look(&mut self) -> Result<(), Error> {
        while let Some(event) = self.buffer.ripe(0) {
            self.write(&event)?;
        }
        if self.waiting * 2 < self.load.most_waiting() {
            self.is_hurried = false;
        }
        if self.refused.1.is_none_or(|since| since.elapsed() >= GAP_INTERVAL) {
            self.mark_refused()?;
        }
        self.trace.flush()?;
        if let Some(tally) = self.trace.tally() {
            (self.notify)(Notice::Progress(tally));
        }
        Ok(())
    }

    fn take(&mut self, (body, answer): Delivery) -> Result<(), Error> {
        let result = self.accept(&body)?;
        drop(body);
        if let Err(why) = &result {
            let why = format!("a request to the webhook cannot be parsed: {why}");
            (self.notify)(Notice::Note(format!("a gap: {why}")));
            self.trace.gap(why)?;
        }
        self.write_early()?;
        // The client may have disconnected.
        let _ = answer.send(result);
        Ok(())
    }

    /// Adds the events of a list. The inner error is the reason why the list is invalid.
    fn accept(&mut self, body: &str) -> Result<Result<(), String>, Error> {
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
            let document = single_event_list(item);
            let mut done = None;
            let readable = read(&document, &mut |request| {
                if self.events.takes(request) {
                    done = u64::try_from(request.interval.done).ok();
                }
                Ok(())
            })?;
            if let Some(done) = done {
                // The judge sorts an event that arrives after newer ones.
                self.waiting += size_of(&document);
                self.buffer.push(done, document);
            }
            problem = problem.and(readable);
        }
        Ok(problem)
    }

    /// Writes the oldest events early if too many wait. The judge sorts those that arrive after them.
    fn write_early(&mut self) -> Result<(), Error> {
        while self.waiting > self.load.most_waiting() {
            let Some(event) = self.buffer.up_to(u64::MAX) else { break };
            self.write(&event)?;
            if !std::mem::replace(&mut self.is_hurried, true) {
                let most = self.load.most_waiting() / 1_000_000;
                let why = format!("events of more than {most} MB wait, so that the oldest are written early");
                (self.notify)(Notice::Note(why));
            }
        }
        self.load.set_waiting(self.waiting);
        Ok(())
    }

    /// Marks a gap for the requests that were refused since the last one. Their sender may not repeat them.
    fn mark_refused(&mut self) -> Result<(), Error> {
        let refused = self.load.lost();
        let new = refused - self.refused.0;
        if new > 0 {
            self.refused = (refused, Some(Instant::now()));
            let requests = if new == 1 { "a request was".to_owned() } else { format!("{new} requests were") };
            let why = format!("{requests} refused by the webhook");
            (self.notify)(Notice::Note(format!("a gap: {why}")));
            self.trace.gap(why)?;
        }
        Ok(())
    }

    /// Takes what is being received, and writes everything.
    async fn end(mut self, inbox: &mut mpsc::Receiver<Delivery>) -> Result<(), Error> {
        self.load.end();
        let end = Instant::now() + END_TIME;
        loop {
            // A request gives its place back after its answer.
            let next = (Instant::now() + INTERVAL / 10).min(end);
            match timeout_at(next, inbox.recv()).await {
                Ok(Some(delivery)) => self.take(delivery)?,
                Ok(None) => break,
                Err(_) if self.load.is_idle() || Instant::now() >= end => break,
                Err(_) => {}
            }
        }
        if !self.load.is_idle() {
            self.trace.gap("the recording ended while events were received".to_owned())?;
        }
        self.mark_refused()?;
        while let Some(event) = self.buffer.up_to(u64::MAX) {
            self.write(&event)?;
        }
        self.trace.flush()
    }

    fn write(&mut self, event: &str) -> Result<(), Error> {
        self.waiting = self.waiting.saturating_sub(size_of(event));
        self.load.set_waiting(self.waiting);
        // The event was parsed before, so that it is valid.
        read(event, &mut |request| self.trace.write(&Body::Request(*request))).map(drop)
    }
}

/// The size of a waiting event in memory, in bytes.
fn size_of(event: &str) -> usize {
    event.len() + 128
}

/// The body of a request to the webhook.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventList<'a> {
    kind: String,
    api_version: String,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Returns an event as a list of its own. The items of a list have no kind and no API version.
fn single_event_list(item: &RawValue) -> String {
    format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{}]}}"#, item.get())
}

/// Answers requests. It is cloned for each of them.
#[derive(Clone)]
struct Receiver {
    sender: mpsc::Sender<Delivery>,
    load: Arc<Load>,
    body_time: Duration,
    token: Option<Token>,
}

impl Receiver {
    fn new(token: Option<Token>, load: Arc<Load>, sender: mpsc::Sender<Delivery>) -> Receiver {
        Receiver { sender, load, body_time: BODY_TIME, token }
    }

    async fn answer(self, request: HttpRequest<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let answered = match self.deliver(request).await {
            Ok(()) => response(StatusCode::OK, ""),
            Err((code, why)) => {
                self.load.refuse();
                response(code, &why)
            }
        };
        Ok(answered)
    }

    async fn deliver(&self, request: HttpRequest<Incoming>) -> Result<(), Refusal> {
        check(&request, self.token.as_ref())?;
        let received = self.receive(request.into_body()).await;
        let (body, _place) = received.inspect_err(|_| self.load.lose())?;
        let (sent, result_of_recording) = oneshot::channel();
        self.sender.send((body, sent)).await.map_err(|_| ended())?;
        match result_of_recording.await {
            Ok(result) => result.map_err(|why| (StatusCode::BAD_REQUEST, why)),
            Err(_) => Err(ended()),
        }
    }

    /// The body of a request, with its place in memory.
    async fn receive(&self, body: Incoming) -> Result<(String, SemaphorePermit<'_>), Refusal> {
        let most = self.load.most_body();
        let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if length > most {
            return Err(too_large(most));
        }
        let needed = if body.size_hint().exact().is_some() { length } else { most };
        let place = self.load.place(needed, self.body_time).await;
        let place = place.ok_or_else(|| unavailable("too many requests are being received"))?;
        if self.load.is_ending() {
            return Err(ended());
        }
        if self.load.is_full() {
            return Err(unavailable("too much memory is used"));
        }
        let Ok(body) = timeout(self.body_time, body_of(body, length, most)).await else {
            let why = format!("the body did not arrive within {:?}", self.body_time);
            return Err((StatusCode::REQUEST_TIMEOUT, why));
        };
        // The API server passes on other bytes that were in the body of a patch.
        let text = String::from_utf8(body?);
        Ok((text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()), place))
    }
}

/// The API server sends a batch again that was not accepted.
fn unavailable(why: &str) -> Refusal {
    (StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
}

fn ended() -> Refusal {
    unavailable("the recording has ended")
}

fn too_large(most: usize) -> Refusal {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {} MiB", most >> 20))
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

/// Collects a body of this length at least, without a second copy of it.
async fn body_of(mut body: Incoming, length: usize, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body is incomplete".to_owned()))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn response(code: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(why.to_owned())));
    *response.status_mut() = code;
    if code == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, RETRY);
    }
    response
}

#[cfg(test)]
mod tests;
