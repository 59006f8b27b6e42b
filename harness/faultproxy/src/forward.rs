//! The handling of one request: authentication, decision, forwarding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::Incoming;
use kube::client::Body;
use serde_json::{Value, json};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handling::Handling;
use crate::request::{RequestInfo, Verb, is_set, text};
use crate::rules::Decider;
use crate::upstream::Upstream;
use crate::watch::{Watched, Watches};

/// The maximum size of a body in bytes, above the limit of API servers.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";
/// The header by which a client names a request for the audit log.
const AUDIT_ID: &str = "audit-id";

/// The connection ends without a response.
#[derive(Debug, Error)]
#[error("the fault proxy cuts the connection")]
pub(crate) struct ConnectionCut;

/// A response of the proxy.
pub(crate) type ProxyResponse = Response<UnsyncBoxBody<Bytes, ConnectionCut>>;

/// The state that all connections share.
pub(crate) struct Shared {
    pub upstream: Upstream,
    pub decider: Arc<dyn Decider>,
    pub watches: Arc<Watches>,
    /// The only namespace whose Jobs and pods clients see. `None`: all.
    pub namespace: Option<String>,
    /// The prefix of the `Audit-ID` of every request.
    pub prefix: String,
    pub asked: AtomicU64,
    /// The writes in progress, which continue after their senders have disconnected.
    pub writes: TaskTracker,
    pub stop: CancellationToken,
}

impl Shared {
    /// Returns the response to a request.
    pub(crate) async fn respond(
        self: Arc<Shared>,
        request: Request<Incoming>,
    ) -> Result<ProxyResponse, ConnectionCut> {
        let (parts, body) = request.into_parts();
        if self.upstream.client(&parts.headers).is_none() {
            return Ok(refused(401, "Unauthorized", "the fault proxy requires the token of its kubeconfig"));
        }
        let Ok(body) = Limited::new(body, BODY_LIMIT).collect().await else {
            return Ok(refused(413, "RequestEntityTooLarge", "the body is incomplete or too large"));
        };
        let body = body.to_bytes();
        if parts.method.is_safe() {
            return self.handle(parts, body).await;
        }
        let (stop, shared) = (self.stop.clone(), Arc::clone(&self));
        let handled = async move { stop.run_until_cancelled(shared.handle(parts, body)).await };
        self.writes.spawn(handled).await.ok().flatten().unwrap_or(Err(ConnectionCut))
    }

    async fn handle(
        self: Arc<Shared>,
        mut parts: Parts,
        body: Bytes,
    ) -> Result<ProxyResponse, ConnectionCut> {
        let id = format!("{}-{}", self.prefix, self.asked.fetch_add(1, Ordering::Relaxed));
        let Ok(name) = HeaderValue::from_str(&id) else { return Err(ConnectionCut) };
        parts.headers.insert(AUDIT_ID, name);
        let Some(asked) = RequestInfo::of(id, &parts, body.clone()) else {
            return self.send(parts, body).await.map(forwarded);
        };
        self.narrow(&mut parts, &asked);
        if asked.verb == Verb::Watch {
            speak_json(&mut parts);
        }
        match self.decider.decide(asked.clone()).await {
            Handling::Forward if asked.verb == Verb::Watch => self.watch(&asked, parts).await,
            Handling::Forward => self.send(parts, body).await.map(forwarded),
            Handling::Refuse(refusal) => Ok(with_status(&refusal.status())),
            Handling::RefuseWith(status) => Ok(with_status(&status)),
            Handling::Cut => Err(ConnectionCut),
            Handling::RespondWith(refusal) => {
                self.commit(parts, body).await.map(|_| with_status(&refusal.status()))
            }
            Handling::LoseResponse => self.commit(parts, body).await.and(Err(ConnectionCut)),
            Handling::Hold(held) => {
                let delivered = held.wait().await.ok_or(ConnectionCut)?;
                let answer = self.commit(parts, body).await?;
                // The receiver may have stopped waiting.
                let _ = delivered.send(answer.status().as_u16());
                Ok(answer)
            }
        }
    }

    async fn send(&self, parts: Parts, body: Bytes) -> Result<Response<Body>, ConnectionCut> {
        let account = self.upstream.client(&parts.headers).ok_or(ConnectionCut)?;
        // Like an API server that has crashed, the proxy then sends no response.
        account.send(parts, body).await.map_err(|_| ConnectionCut)
    }

    /// Sends a request, and waits for the complete response.
    async fn commit(&self, parts: Parts, body: Bytes) -> Result<ProxyResponse, ConnectionCut> {
        let (parts, body) = self.send(parts, body).await?.into_parts();
        let body = body.collect().await.map_err(|_| ConnectionCut)?.to_bytes();
        Ok(Response::from_parts(parts, full(body)))
    }

    async fn watch(&self, asked: &RequestInfo, parts: Parts) -> Result<ProxyResponse, ConnectionCut> {
        let is_of_metadata = text(&parts.headers, ACCEPT).contains("as=PartialObjectMetadata");
        let begins_with_initial_events = is_set(parts.uri.query().unwrap_or_default(), "sendInitialEvents");
        let answer = self.send(parts, Bytes::new()).await?;
        let watched = Watched::of(asked).filter(|_| answer.status().is_success() && !is_of_metadata);
        let Some(watched) = watched else { return Ok(forwarded(answer)) };
        let (parts, body) = answer.into_parts();
        let events = self.watches.follow(watched, begins_with_initial_events, body);
        Ok(Response::from_parts(parts, StreamBody::new(events).boxed_unsync()))
    }

    /// Replaces a collection of all namespaces by the collection of the one that clients see.
    fn narrow(&self, parts: &mut Parts, asked: &RequestInfo) {
        let is_of_all = asked.namespace.is_none() && asked.name.is_none();
        let (Some(namespace), Some(_), true) = (&self.namespace, Watched::of(asked), is_of_all) else {
            return;
        };
        let path = parts.uri.path();
        let Some((api, resource)) = path.trim_end_matches('/').rsplit_once('/') else { return };
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(narrowed) = format!("{api}/namespaces/{namespace}/{resource}{query}").parse::<Uri>() {
            parts.uri = narrowed;
        }
    }
}

/// Requests JSON, in which events are lines, in place of protobuf. From 1.37 on, API servers compress watches for clients that
/// accept it.
fn speak_json(parts: &mut Parts) {
    let spoken = text(&parts.headers, ACCEPT).replace(PROTOBUF, JSON);
    let spoken = if spoken.is_empty() { JSON.to_owned() } else { spoken };
    if let Ok(spoken) = HeaderValue::from_str(&spoken) {
        parts.headers.insert(ACCEPT, spoken);
    }
    parts.headers.remove(ACCEPT_ENCODING);
}

fn forwarded(response: Response<Body>) -> ProxyResponse {
    response.map(|body| body.map_err(|_| ConnectionCut).boxed_unsync())
}

fn full(body: Bytes) -> UnsyncBoxBody<Bytes, ConnectionCut> {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

/// The response with this `Status`. As in responses of API servers, the delay before a retry is also in a header.
fn with_status(status: &Value) -> ProxyResponse {
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let mut answer = json_response(code.unwrap_or(500), Bytes::from(status.to_string()));
    if let Some(seconds) = status["details"]["retryAfterSeconds"].as_u64() {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// A refusal by the proxy itself, which is not an injected fault.
fn refused(code: u16, reason: &str, message: &str) -> ProxyResponse {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    json_response(code, Bytes::from(status.to_string()))
}

fn json_response(code: u16, body: Bytes) -> ProxyResponse {
    let mut answer = Response::new(full(body));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    answer
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn a_watch_is_requested_in_plain_json() {
        let request = Request::get("/").header(ACCEPT, PROTOBUF).header(ACCEPT_ENCODING, "gzip");
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        speak_json(&mut parts);
        assert_eq!(text(&parts.headers, ACCEPT), JSON);
        assert!(!parts.headers.contains_key(ACCEPT_ENCODING));
    }
}
