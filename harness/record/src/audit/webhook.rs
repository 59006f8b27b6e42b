//! A recording from an audit webhook, to which kube-apiserver sends its audit events.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use jobcheck_serve::HttpServer;
use jobcheck_traces::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::events::{Events, is_truncated, read};
use crate::Notice;
use crate::error::Error;
use crate::reorder::ReorderBuffer;
use crate::trace::Trace;

/// The time that an event waits for older ones. By default an API server sends a batch after at most 30 s, and
/// several servers send at different times.
const WAIT: Duration = Duration::from_secs(35);
/// The interval at which waiting events are written.
const INTERVAL: Duration = Duration::from_millis(200);
/// The maximum size of a body in bytes. By default an API server sends at most 10 MiB.
const MAX_BODY: usize = 64 << 20;
/// The number of bodies that can wait to be recorded.
const QUEUE: usize = 16;

/// A webhook that listens, but does not serve requests yet.
#[derive(Debug)]
pub struct Webhook(HttpServer);

impl Webhook {
    /// Listens on an address such as `127.0.0.1:9443`. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// The address is invalid or in use.
    pub async fn listen(address: &str) -> Result<Webhook, Error> {
        let failed = |source| Error::Listen { address: address.to_owned(), source };
        HttpServer::bind(address).await.map(Webhook).map_err(failed)
    }

    /// The address, with the selected port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// A body, and the channel for the result of recording it.
type Delivery = (String, oneshot::Sender<Result<(), String>>);

/// Records the events of these namespaces, or of all, that API servers send. Returns after `stop` was cancelled.
///
/// # Errors
///
/// The trace cannot be written.
pub async fn webhook(
    webhook: Webhook,
    namespaces: &[String],
    trace: &mut Trace,
    stop: &CancellationToken,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Error> {
    let (sender, mut inbox) = mpsc::channel(QUEUE);
    // Dropping the set ends the server and its connections.
    let mut server = JoinSet::new();
    server.spawn(webhook.0.serve(move |request| answer(request, sender.clone()), std::future::pending()));
    let mut events = Events::of(namespaces);
    let mut buffer: ReorderBuffer<String> = ReorderBuffer::new(WAIT);
    let mut looks = interval(INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = looks.tick() => {
                while let Some(event) = buffer.ripe(0) {
                    write(&event, trace)?;
                }
                trace.flush()?;
                notify(Notice::Progress(trace.tally()));
            }
            sent = inbox.recv() => {
                let Some((body, answer)) = sent else {
                    return Err(Error::Internal("the webhook ended unexpectedly".to_owned()));
                };
                let result = accept(&body, &mut events, &mut buffer)?;
                if let Err(why) = &result {
                    let why = format!("a request to the webhook cannot be parsed: {why}");
                    notify(Notice::Note(format!("a gap: {why}")));
                    trace.gap(None, why)?;
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

fn write(event: &str, trace: &mut Trace) -> Result<(), Error> {
    if is_truncated(event) {
        trace.gap(None, "an event was truncated by the API server".to_owned())?;
    }
    // The event was parsed before, so that it is valid.
    read(event, &mut |request| trace.write(&Body::Request(*request))).map(drop)
}

async fn answer(
    request: HttpRequest<Incoming>,
    sender: mpsc::Sender<Delivery>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(response(StatusCode::METHOD_NOT_ALLOWED, "an audit webhook accepts only POST"));
    }
    let body = match Limited::new(request.into_body(), MAX_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Ok(response(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 64 MiB"));
        }
        Err(_) => return Ok(response(StatusCode::BAD_REQUEST, "the body is incomplete")),
    };
    let Ok(body) = String::from_utf8(body.to_vec()) else {
        return Ok(response(StatusCode::BAD_REQUEST, "the body is not UTF-8"));
    };
    let (sent, result_of_recording) = oneshot::channel();
    // The API server sends a batch again that was not accepted.
    let unavailable = || response(StatusCode::SERVICE_UNAVAILABLE, "the recording has ended");
    if sender.send((body, sent)).await.is_err() {
        return Ok(unavailable());
    }
    Ok(match result_of_recording.await {
        Ok(Ok(())) => response(StatusCode::OK, ""),
        Ok(Err(why)) => response(StatusCode::BAD_REQUEST, &why),
        Err(_) => unavailable(),
    })
}

fn response(code: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(why.to_owned())));
    *response.status_mut() = code;
    response
}
