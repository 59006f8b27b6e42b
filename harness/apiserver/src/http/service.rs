//! The server as a [`tower::Service`]: the transport for clients in the same process, and for the socket.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT, WARNING};
use http::request::Parts;
use http::{HeaderMap, Method, Request as HttpRequest, Response as HttpResponse};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use jiff::Timestamp;
use jobcheck_serve::{HttpServer, origin};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::discovery;
use super::media::accepted;
use super::route::{Query, request, segments, target};
use super::shared::SharedServer;
use super::show::Show;
use super::stream;
use crate::error::ApiError;
use crate::request::{Reply, Response};
use crate::server::Server;

/// The header with the id of a request in the audit log.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// The maximum size of a body in bytes, as upstream's.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// The time in which the body of a request must arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The time in which a client must take a part of a response.
const READ_TIME: Duration = Duration::from_secs(60);

/// An error that ends the connection.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a response. An error cuts a response that its client has not read.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// The authentication of requests.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Every request is sent by this user.
    Everyone(String),
    /// The users by their bearer tokens. Requests with another token are refused.
    Tokens(Arc<BTreeMap<String, String>>),
}

impl Auth {
    fn user(&self, headers: &HeaderMap) -> Result<String, ApiError> {
        match self {
            Auth::Everyone(user) => Ok(user.clone()),
            Auth::Tokens(users) => {
                let token = header(headers, &AUTHORIZATION).strip_prefix("Bearer ").unwrap_or_default();
                users.get(token.trim()).cloned().ok_or_else(ApiError::unauthorized)
            }
        }
    }
}

/// The HTTP service of a shared server.
#[derive(Clone, Debug)]
pub struct ApiService {
    server: SharedServer,
    auth: Auth,
    latency: Duration,
}

impl ApiService {
    /// Returns a service of a server for these users.
    #[must_use]
    pub fn new(server: SharedServer, auth: Auth) -> ApiService {
        ApiService { server, auth, latency: Duration::ZERO }
    }

    /// The same service, whose requests take this time before they are handled.
    #[must_use]
    pub fn with_latency(self, latency: Duration) -> ApiService {
        ApiService { latency, ..self }
    }

    /// Serves HTTP/1.1 on a socket until `shutdown` is done.
    ///
    /// # Errors
    /// The socket fails for good.
    pub async fn serve(self, socket: HttpServer, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.serve_over(async |stream| Some(stream), socket, shutdown).await
    }

    /// The same, with a layer between TCP and HTTP, such as TLS.
    ///
    /// # Errors
    /// The socket fails for good.
    pub async fn serve_over<L, G, S>(
        self,
        layer: L,
        socket: HttpServer,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        L: Fn(TcpStream) -> G + Clone + Send + 'static,
        G: Future<Output = Option<S>> + Send,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handler = move |request: HttpRequest<Incoming>| {
            let service = self.clone();
            async move {
                match service.check_origin(request.method(), request.headers()) {
                    Ok(()) => service.answer(request).await,
                    Err(error) => Ok(refused(&error)),
                }
            }
        };
        socket.read_within(READ_TIME).serve_over(layer, handler, shutdown).await
    }

    /// Refuses requests of web pages, which a browser on this machine sends without the consent of its user. A token
    /// proves the consent.
    fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        match self.auth {
            Auth::Tokens(_) => Ok(()),
            Auth::Everyone(_) if origin::is_for_another_host(headers) => Err(ApiError::other_host()),
            // A browser asks before it sends any other media type, and gets no permission.
            Auth::Everyone(_)
                if origin::is_of_a_page(headers)
                    && !method.is_safe()
                    && origin::media_type(headers).is_empty() =>
            {
                Err(ApiError::unsupported_media("application/json"))
            }
            Auth::Everyone(_) => Ok(()),
        }
    }

    /// Returns the response to a request.
    ///
    /// # Errors
    /// A fault dropped the response: the connection must end.
    pub async fn answer<B>(&self, request: HttpRequest<B>) -> Result<HttpResponse<ResponseBody>, BoxError>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let user = match self.auth.user(&parts.headers) {
            Ok(user) => user,
            Err(error) => return Ok(refused(&error)),
        };
        let collected = tokio::time::timeout(BODY_TIME, Limited::new(body, BODY_LIMIT).collect()).await;
        let body = match collected {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(refused(&ApiError::too_large(BODY_LIMIT)));
            }
            Ok(Err(error)) => {
                return Ok(refused(&ApiError::bad_request(format!("the body is incomplete: {error}"))));
            }
            Err(_) => {
                return Ok(refused(&ApiError::timeout("the body of the request did not arrive in time")));
            }
        };
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        match self.respond(&parts, &body, user) {
            Ok(response) => response.ok_or_else(|| BoxError::from("a fault dropped the response")),
            Err(error) => Ok(refused(&error)),
        }
    }

    /// The response. `None` if a fault dropped it.
    fn respond(
        &self,
        parts: &Parts,
        body: &Bytes,
        user: String,
    ) -> Result<Option<HttpResponse<ResponseBody>>, ApiError> {
        let path = segments(parts.uri.path()).ok_or_else(ApiError::no_such_path)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let accept = header(&parts.headers, &ACCEPT);
        let Some(target) = target(&path) else {
            let rules = self.server.peek(|server, _| server.config.rules);
            return discovery::answer(&parts.method, &path, accept, body, &user, rules).map(Some);
        };
        let form = accepted(accept)?;
        let content_type = header(&parts.headers, &CONTENT_TYPE);
        let mut asked = request(target, &parts.method, &query, content_type, body)?;
        asked.user = user;
        asked.user_agent = header(&parts.headers, &USER_AGENT).to_owned();
        asked.audit_id = audit_id(&parts.headers);
        let handle = |server: &mut Server, now| (server.handle(now, &asked), now);
        // A request that changes nothing wakes no watch.
        let (response, now) =
            if asked.verb.writes() { self.server.with(handle) } else { self.server.peek(handle) };
        let show =
            Show { form, include_object: query.get("includeObject").to_owned(), resource: asked.resource };
        Ok(self.written(now, response, show))
    }

    fn written(&self, now: Timestamp, response: Response, show: Show) -> Option<HttpResponse<ResponseBody>> {
        let code = response.code();
        let body = match response.outcome {
            Err(error) => return Some(warned(refused(&error), &response.warnings)),
            Ok(Reply::Dropped) => return None,
            Ok(Reply::Watch(id)) => stream::of_watch(&self.server, id, show),
            Ok(Reply::List(list)) => stream::of_list(&self.server, now, list, show),
            Ok(Reply::Object { object, .. }) => {
                stream::of_bytes(&self.server, show.object(self.server.events(), now, &object))
            }
        };
        Some(warned(json_response(code, body), &response.warnings))
    }
}

impl<B> tower::Service<HttpRequest<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = HttpResponse<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { service.answer(request).await })
    }
}

pub(super) fn bytes(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON values have text keys")
}

/// The id that a client has chosen. As in upstream, its first 64 characters count.
fn audit_id(headers: &HeaderMap) -> Option<String> {
    const LONGEST: usize = 64;
    let id: String = header(headers, &AUDIT_ID).chars().take(LONGEST).collect();
    Some(id).filter(|id| !id.is_empty())
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(super) fn full(bytes: impl Into<Bytes>) -> ResponseBody {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

pub(super) fn json_response(code: u16, body: ResponseBody) -> HttpResponse<ResponseBody> {
    let mut response = HttpResponse::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn refused(error: &ApiError) -> HttpResponse<ResponseBody> {
    let status = error.status();
    let mut response = json_response(error.code, full(bytes(&status)));
    if let Some(seconds) = status["details"]["retryAfterSeconds"].as_u64() {
        response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

fn warned(mut response: HttpResponse<ResponseBody>, warnings: &[String]) -> HttpResponse<ResponseBody> {
    for text in warnings {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}
