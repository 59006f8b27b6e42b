//! An audit webhook: kube-apiserver sends its audit events to an address that is served here.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jobcheck_traces::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::events::{Events, is_truncated, read};
use crate::News;
use crate::error::Error;
use crate::hold::Hold;
use crate::trace::Trace;

/// How long an event waits for older ones: an API server sends what it has after 30 s at the latest, unless it is told
/// otherwise, and several do so at different times.
const WAIT: Duration = Duration::from_secs(35);
/// Time between two looks at what has waited for so long.
const LOOK: Duration = Duration::from_millis(200);
/// The longest body, in bytes; an API server sends 10 MiB at most, unless it is told otherwise.
const LONGEST: usize = 64 << 20;
/// How long a client may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Connections at a time whose bodies wait to be read.
const PILE: usize = 16;

/// A webhook that listens, but does not answer yet.
#[derive(Debug)]
pub struct Webhook {
    listener: TcpListener,
    address: SocketAddr,
}

impl Webhook {
    /// Listens on an address such as `127.0.0.1:9443`; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// It cannot be listened on.
    pub async fn listen(address: &str) -> Result<Webhook, Error> {
        let failed = |source| Error::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Webhook { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A body, and whoever waits to hear what is wrong with it.
type Sent = (String, oneshot::Sender<Result<(), String>>);

/// Records what API servers send, until it is to stop; of these namespaces, or of all.
///
/// # Errors
///
/// The trace cannot be written.
pub async fn webhook(
    webhook: Webhook,
    namespaces: &[String],
    trace: &mut Trace,
    stop: &CancellationToken,
    hear: &mut dyn FnMut(News<'_>),
) -> Result<(), Error> {
    let (sender, mut inbox) = mpsc::channel(PILE);
    // It ends with this function, and its connections with it.
    let mut server = JoinSet::new();
    server.spawn(serve(webhook.listener, sender));
    let mut events = Events::of(namespaces);
    let mut hold: Hold<String> = Hold::new(WAIT);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = looks.tick() => {
                while let Some(event) = hold.ripe(0) {
                    write(&event, trace)?;
                }
                trace.flush()?;
                hear(News::Progress(trace.tally()));
            }
            sent = inbox.recv() => {
                let Some((body, answer)) = sent else {
                    return Err(Error::Internal("the webhook ended by itself".to_owned()));
                };
                let taken = take(&body, &mut events, &mut hold)?;
                if let Err(why) = &taken {
                    let why = format!("what was sent to the webhook cannot be read: {why}");
                    hear(News::Note(format!("a gap: {why}")));
                    trace.gap(None, why)?;
                }
                // Whoever asked may be gone.
                let _ = answer.send(taken);
            }
        }
    }
    while let Some(event) = hold.up_to(u64::MAX) {
        write(&event, trace)?;
    }
    trace.flush()
}

/// What API servers send.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventList {
    kind: String,
    api_version: String,
    items: Vec<Box<RawValue>>,
}

/// An event as a document of its own; items of a list need not say what they are.
fn alone(item: &RawValue) -> String {
    format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{}]}}"#, item.get())
}

/// Takes the events of a list; what is wrong with it.
fn take(body: &str, events: &mut Events, hold: &mut Hold<String>) -> Result<Result<(), String>, Error> {
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
        let document = alone(&item);
        let mut done = None;
        let readable = read(&document, &mut |request| {
            if events.takes(request) {
                done = u64::try_from(request.interval.done).ok();
            }
            Ok(())
        })?;
        if let Some(done) = done {
            // One that comes behind younger ones is put in its place by whoever judges, or found to be late.
            hold.push(done, document);
        }
        problem = problem.and(readable);
    }
    Ok(problem)
}

fn write(event: &str, trace: &mut Trace) -> Result<(), Error> {
    if is_truncated(event) {
        trace.gap(None, "an event was truncated by the API server".to_owned())?;
    }
    // It was read before.
    read(event, &mut |request| trace.write(&Body::Request(*request))).map(drop)
}

/// Answers, until nobody listens.
async fn serve(listener: TcpListener, sender: mpsc::Sender<Sent>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, sender.clone()))),
                // Out of descriptors, as a rule: some get free.
                Err(_) => tokio::time::sleep(LOOK).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, sender: mpsc::Sender<Sent>) {
    let service = service_fn(move |request| answer(request, sender.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away is none of ours.
    let _ = connection.await;
}

async fn answer(
    request: HttpRequest<Incoming>,
    sender: mpsc::Sender<Sent>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(said(StatusCode::METHOD_NOT_ALLOWED, "an audit webhook takes POST"));
    }
    let body = match Limited::new(request.into_body(), LONGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Ok(said(StatusCode::PAYLOAD_TOO_LARGE, "more than 64 MiB"));
        }
        Err(_) => return Ok(said(StatusCode::BAD_REQUEST, "the body broke off")),
    };
    let Ok(body) = String::from_utf8(body.to_vec()) else {
        return Ok(said(StatusCode::BAD_REQUEST, "the body is no UTF-8"));
    };
    let (sent, heard) = oneshot::channel();
    // The API server sends again what is not taken.
    let unavailable = || said(StatusCode::SERVICE_UNAVAILABLE, "the recording has ended");
    if sender.send((body, sent)).await.is_err() {
        return Ok(unavailable());
    }
    Ok(match heard.await {
        Ok(Ok(())) => said(StatusCode::OK, ""),
        Ok(Err(why)) => said(StatusCode::BAD_REQUEST, &why),
        Err(_) => unavailable(),
    })
}

fn said(code: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(why.to_owned())));
    *response.status_mut() = code;
    response
}
