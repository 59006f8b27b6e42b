//! What the proxy does with a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
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
use crate::request::{Asked, Verb, is_set, text};
use crate::rules::Decider;
use crate::upstream::Upstream;
use crate::watch::{Watched, Watches};

/// Bytes that a body may have: more than an API server takes.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";
/// The header by which a client names a request for the audit log.
const AUDIT_ID: &str = "audit-id";

/// There is no answer: the connection ends.
#[derive(Debug, Error)]
#[error("the fault proxy cuts the connection")]
pub(crate) struct Dropped;

/// An answer of the proxy.
pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Dropped>>;

/// What all connections share.
pub(crate) struct Shared {
    pub upstream: Upstream,
    pub decider: Arc<dyn Decider>,
    pub watches: Arc<Watches>,
    /// The only namespace whose Jobs and pods its clients see.
    pub namespace: Option<String>,
    /// What the identifiers of its requests begin with.
    pub prefix: String,
    pub asked: AtomicU64,
    /// Writes, which go on when their senders are gone.
    pub writes: TaskTracker,
    pub stop: CancellationToken,
}

impl Shared {
    /// Answers a request.
    pub(crate) async fn answer(self: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Dropped> {
        let (parts, body) = request.into_parts();
        if self.upstream.client(&parts.headers).is_none() {
            return Ok(refused(401, "Unauthorized", "the fault proxy wants the token of its kubeconfig"));
        }
        let Ok(body) = Limited::new(body, BODY_LIMIT).collect().await else {
            return Ok(refused(413, "RequestEntityTooLarge", "the body broke off, or is too large"));
        };
        let body = body.to_bytes();
        if parts.method.is_safe() {
            return self.handle(parts, body).await;
        }
        let (stop, shared) = (self.stop.clone(), Arc::clone(&self));
        let handled = async move { stop.run_until_cancelled(shared.handle(parts, body)).await };
        self.writes.spawn(handled).await.ok().flatten().unwrap_or(Err(Dropped))
    }

    async fn handle(self: Arc<Shared>, mut parts: Parts, body: Bytes) -> Result<Answer, Dropped> {
        let id = format!("{}-{}", self.prefix, self.asked.fetch_add(1, Ordering::Relaxed));
        let Ok(name) = HeaderValue::from_str(&id) else { return Err(Dropped) };
        parts.headers.insert(AUDIT_ID, name);
        let Some(asked) = Asked::of(id, &parts, body.clone()) else {
            return self.send(parts, body).await.map(passed);
        };
        self.narrow(&mut parts, &asked);
        if asked.verb == Verb::Watch {
            speak_json(&mut parts);
        }
        match self.decider.decide(asked.clone()).await {
            Handling::Forward if asked.verb == Verb::Watch => self.watch(&asked, parts).await,
            Handling::Forward => self.send(parts, body).await.map(passed),
            Handling::Refuse(refusal) => Ok(refusal_as(&refusal.status())),
            Handling::RefuseWith(status) => Ok(refusal_as(&status)),
            Handling::Cut => Err(Dropped),
            Handling::AnswerWith(refusal) => {
                self.commit(parts, body).await.map(|_| refusal_as(&refusal.status()))
            }
            Handling::LoseAnswer => self.commit(parts, body).await.and(Err(Dropped)),
            Handling::Hold(held) => {
                let landed = held.wait().await.ok_or(Dropped)?;
                let answer = self.commit(parts, body).await?;
                // Whoever has let it go need not wait for it.
                let _ = landed.send(answer.status().as_u16());
                Ok(answer)
            }
        }
    }

    async fn send(&self, parts: Parts, body: Bytes) -> Result<Response<Body>, Dropped> {
        let account = self.upstream.client(&parts.headers).ok_or(Dropped)?;
        // An API server that is gone answers nobody, and neither does the proxy.
        account.send(parts, body).await.map_err(|_| Dropped)
    }

    /// Sends a request, and waits for the end of its answer.
    async fn commit(&self, parts: Parts, body: Bytes) -> Result<Answer, Dropped> {
        let (parts, body) = self.send(parts, body).await?.into_parts();
        let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
        Ok(Response::from_parts(parts, full(body)))
    }

    async fn watch(&self, asked: &Asked, parts: Parts) -> Result<Answer, Dropped> {
        let is_of_metadata = text(&parts.headers, ACCEPT).contains("as=PartialObjectMetadata");
        let begins_with_initial_events = is_set(parts.uri.query().unwrap_or_default(), "sendInitialEvents");
        let answer = self.send(parts, Bytes::new()).await?;
        let watched = Watched::of(asked).filter(|_| answer.status().is_success() && !is_of_metadata);
        let Some(watched) = watched else { return Ok(passed(answer)) };
        let (parts, body) = answer.into_parts();
        let events = self.watches.follow(watched, begins_with_initial_events, body);
        Ok(Response::from_parts(parts, StreamBody::new(events).boxed_unsync()))
    }

    /// Collections of Jobs and pods of all namespaces become those of one.
    fn narrow(&self, parts: &mut Parts, asked: &Asked) {
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

/// Events in JSON can be told apart.
fn speak_json(parts: &mut Parts) {
    let spoken = text(&parts.headers, ACCEPT).replace(PROTOBUF, JSON);
    let spoken = if spoken.is_empty() { JSON.to_owned() } else { spoken };
    if let Ok(spoken) = HeaderValue::from_str(&spoken) {
        parts.headers.insert(ACCEPT, spoken);
    }
}

fn passed(answer: Response<Body>) -> Answer {
    answer.map(|body| body.map_err(|_| Dropped).boxed_unsync())
}

fn full(body: Bytes) -> UnsyncBoxBody<Bytes, Dropped> {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

/// What a `Status` says, and when to come again, which API servers say in a header, too.
fn refusal_as(status: &Value) -> Answer {
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let mut answer = answered(code.unwrap_or(500), Bytes::from(status.to_string()));
    if let Some(seconds) = status["details"]["retryAfterSeconds"].as_u64() {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// A refusal that is no fault.
fn refused(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    answered(code, Bytes::from(status.to_string()))
}

fn answered(code: u16, body: Bytes) -> Answer {
    let mut answer = Response::new(full(body));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    answer
}
