//! Requests over HTTP, one at a time, from a blocking thread.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use jiff::Timestamp;
use jobcheck_access::with_causes;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Api, PatchKind, Reply, Request, Response, Verb};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::disruption::Disruptions;

/// The time in which the API server must respond.
const PATIENCE: Duration = Duration::from_secs(30);
/// The delay before a request is repeated.
const AGAIN: Duration = Duration::from_millis(200);

/// A connection to a real API server for a blocking thread.
pub(crate) struct Connection {
    client: Client,
    runtime: Handle,
    disruptions: Arc<Disruptions>,
    /// The number of requests so far.
    pub sent: usize,
    /// True if the last request was sent more than once. An earlier attempt may have been carried out.
    pub repeated: bool,
    /// The reason why the last request got no response, if so.
    pub lost: Option<String>,
    /// The objects in responses that were not read yet.
    pub answers: Vec<Arc<Value>>,
}

impl Connection {
    /// Returns a connection of this client. The calling thread must not be a worker of the runtime.
    pub(crate) fn new(client: Client, runtime: Handle, disruptions: Arc<Disruptions>) -> Connection {
        Connection { client, runtime, disruptions, sent: 0, repeated: false, lost: None, answers: Vec::new() }
    }

    fn once(&self, request: &Request) -> Result<Reply, ApiError> {
        match over_http(request) {
            Ok(sent) => self.runtime.block_on(Connection::ask(self.client.clone(), sent)),
            Err(error) => Err(refusal(0, error.to_string())),
        }
    }

    async fn ask(client: Client, request: http::Request<Vec<u8>>) -> Result<Reply, ApiError> {
        let lost = |why: String| refusal(0, format!("no answer: {why}"));
        let (parts, body) = request.into_parts();
        let answer = client.send(http::Request::from_parts(parts, Body::from(body)));
        let answered = async {
            let answer = answer.await.map_err(|error| lost(with_causes(&error)))?;
            let code = answer.status().as_u16();
            let bytes =
                answer.into_body().collect().await.map_err(|error| lost(with_causes(&error)))?.to_bytes();
            Ok((code, serde_json::from_slice::<Value>(&bytes).unwrap_or_default()))
        };
        let (code, object) = match tokio::time::timeout(PATIENCE, answered).await {
            Ok(answered) => answered?,
            Err(_) => return Err(lost(format!("after {PATIENCE:?}"))),
        };
        if (200..300).contains(&code) {
            return Ok(Reply::Object { code, object: Arc::new(object) });
        }
        let message = object["message"].as_str().unwrap_or("the response has no message");
        Err(refusal(code, message.to_owned()))
    }
}

impl Api for Connection {
    fn handle(&mut self, _now: Timestamp, request: &Request) -> Response {
        self.sent += 1;
        let mut outcome = self.once(request);
        self.repeated = false;
        while outcome.as_ref().is_err_and(may_pass) && self.disruptions.is_near() {
            std::thread::sleep(AGAIN);
            self.repeated = true;
            outcome = self.once(request);
        }
        let lost = outcome.as_ref().err().filter(|error| error.code == 0);
        self.lost = lost.map(|error| error.message.clone());
        if let Ok(Reply::Object { object, .. }) = &outcome {
            self.answers.push(Arc::clone(object));
        }
        Response { outcome, warnings: Vec::new() }
    }
}

/// Returns true if an error is temporary: the API server or its store is unavailable.
fn may_pass(error: &ApiError) -> bool {
    matches!(error.code, 0 | 429 | 500..)
}

/// An error with this code. Code 0: there was no response.
fn refusal(code: u16, message: String) -> ApiError {
    ApiError { code, message, ..ApiError::internal("") }
}

/// Converts a request to HTTP.
fn over_http(request: &Request) -> http::Result<http::Request<Vec<u8>>> {
    let bytes = |value: &Value| value.to_string().into_bytes();
    let json = "application/json";
    let (method, content, body) = match &request.verb {
        Verb::Get { .. } | Verb::List(_) | Verb::Watch(_) => (Method::GET, json, Vec::new()),
        Verb::Create(body) => (Method::POST, json, bytes(body)),
        Verb::Update(body) => (Method::PUT, json, bytes(body)),
        Verb::Patch { kind, body } => (Method::PATCH, media(*kind), bytes(body)),
        Verb::Delete(options) | Verb::DeleteCollection(_, options) => {
            (Method::DELETE, json, serde_json::to_vec(options).unwrap_or_default())
        }
    };
    // The user agent names the played user, because the account is that of the kubeconfig.
    let agent = format!("jobcheck-run/{} as {}", env!("CARGO_PKG_VERSION"), request.user);
    http::Request::builder()
        .method(method)
        .uri(path(request))
        .header(http::header::CONTENT_TYPE, content)
        .header(http::header::ACCEPT, json)
        .header(http::header::USER_AGENT, agent)
        .body(body)
}

fn media(kind: PatchKind) -> &'static str {
    match kind {
        PatchKind::Json => "application/json-patch+json",
        PatchKind::Merge => "application/merge-patch+json",
        PatchKind::Strategic => "application/strategic-merge-patch+json",
        PatchKind::Apply => "application/apply-patch+yaml",
    }
}

/// The path of a request. Names that the API server accepts need no escapes.
fn path(request: &Request) -> String {
    let facts = request.resource.facts();
    let mut path = match facts.group {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    if let Some(namespace) = &request.namespace {
        path += &format!("/namespaces/{namespace}");
    }
    path += &format!("/{}", facts.plural);
    for part in [request.name.as_deref(), request.subresource.map(|it| it.name())].into_iter().flatten() {
        path += &format!("/{part}");
    }
    path
}

#[cfg(test)]
mod tests {
    use jobcheck_apiserver::request::{DeleteOptions, Subresource};
    use jobcheck_apiserver::resource::Resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_have_the_path_and_the_media_type_of_the_api() {
        let patch = Verb::Patch { kind: PatchKind::Strategic, body: json!({}) };
        let patch = Request::new(Resource::Jobs, Some("ns"), Some("job"), patch).on(Subresource::Status);
        let sent = over_http(&patch.of("system:serviceaccount:acme:mirror", "acme")).unwrap();
        assert_eq!(
            (sent.method().as_str(), sent.uri().path()),
            ("PATCH", "/apis/batch/v1/namespaces/ns/jobs/job/status")
        );
        assert_eq!(sent.headers()["content-type"], "application/strategic-merge-patch+json");
        assert!(
            sent.headers()["user-agent"].to_str().unwrap().ends_with(" as system:serviceaccount:acme:mirror")
        );
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let sent = over_http(&Request::new(Resource::Nodes, None, Some("n"), Verb::Delete(options))).unwrap();
        assert_eq!((sent.method().as_str(), sent.uri().path()), ("DELETE", "/api/v1/nodes/n"));
        assert_eq!(sent.body(), br#"{"gracePeriodSeconds":0}"#);
    }
}
