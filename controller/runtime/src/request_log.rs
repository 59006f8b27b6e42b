//! The log of all requests of a process: it counts them (`rest_client_requests_total`) and writes them to the trace.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use jiff::Timestamp;
use kube::client::Body;
use tower::{BoxError, Layer, Service};

use super::metrics::Metrics;
use super::trace::{Exchange, Tracer};

/// The destinations of the request log.
#[derive(Clone, Debug)]
pub struct RequestLog {
    /// The metrics that count the requests.
    pub metrics: Metrics,
    /// The native trace, if there is one.
    pub tracer: Option<Arc<Tracer>>,
}

impl RequestLog {
    /// Returns a layer for the requests of the controller with this name.
    #[must_use]
    pub fn layer(&self, controller: &str) -> RequestLogLayer {
        RequestLogLayer { log: self.clone(), controller: controller.into() }
    }
}

/// Logs the requests of one client.
#[derive(Clone, Debug)]
pub struct RequestLogLayer {
    log: RequestLog,
    controller: Arc<str>,
}

impl<S> Layer<S> for RequestLogLayer {
    type Service = LoggedService<S>;

    fn layer(&self, inner: S) -> LoggedService<S> {
        LoggedService { inner, layer: self.clone() }
    }
}

/// A service whose requests are logged.
#[derive(Clone, Debug)]
pub struct LoggedService<S> {
    inner: S,
    layer: RequestLogLayer,
}

/// The body of a response. If there is a trace, the body of a watch is copied to it.
pub type LoggedBody = UnsyncBoxBody<Bytes, BoxError>;
type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<LoggedBody>, BoxError>> + Send>>;

impl<S, B> Service<Request<Body>> for LoggedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError> + Send,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<LoggedBody>;
    type Error = BoxError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        let (metrics, method) = (self.layer.log.metrics.clone(), request.method().clone());
        let Some(tracer) = self.layer.log.tracer.clone() else {
            let sent = self.inner.call(request);
            return Box::pin(async move {
                let response = sent.await.map_err(Into::into);
                count(&metrics, &method, response.as_ref().ok());
                Ok(response?.map(|body| body.map_err(Into::into).boxed_unsync()))
            });
        };
        let controller = Arc::clone(&self.layer.controller);
        let uri = request.uri().clone();
        // kube holds the body of every request in memory, so the copy cannot fail.
        let copy = request.body().try_clone().unwrap_or_else(Body::empty);
        let sent = self.inner.call(request);
        Box::pin(async move {
            let body = copy.collect().await?.to_bytes();
            let received = Timestamp::now();
            let response = sent.await.map_err(Into::into);
            count(&metrics, &method, response.as_ref().ok());
            let exchange =
                Exchange { controller: &controller, method: &method, uri: &uri, received, body: &body };
            traced(&tracer, &exchange, response).await
        })
    }
}

async fn traced<B>(
    tracer: &Arc<Tracer>,
    exchange: &Exchange<'_>,
    response: Result<Response<B>, BoxError>,
) -> Result<Response<LoggedBody>, BoxError>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let response = response.inspect_err(|_| tracer.lost(exchange))?;
    let (parts, body) = response.into_parts();
    if exchange.is_watch() {
        let body = Tee { body: Box::pin(body), tracer: Arc::clone(tracer), line: Vec::new() };
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    }
    let whole = match body.collect().await.map_err(Into::into) {
        Ok(whole) => whole.to_bytes(),
        Err(error) => {
            tracer.lost(exchange);
            return Err(error);
        }
    };
    tracer.exchanged(exchange, parts.status.as_u16(), &whole);
    let body = http_body_util::Full::new(whole).map_err(|never| match never {}).boxed_unsync();
    Ok(Response::from_parts(parts, body))
}

fn count<B>(metrics: &Metrics, method: &Method, response: Option<&Response<B>>) {
    match response {
        Some(response) => metrics.requested(method.as_str(), response.status().as_str()),
        None => metrics.requested(method.as_str(), "<error>"),
    }
}

/// The body of a watch. Each complete line is copied to the trace.
struct Tee<B> {
    body: Pin<Box<B>>,
    tracer: Arc<Tracer>,
    line: Vec<u8>,
}

impl<B> HttpBody for Tee<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = std::task::ready!(this.body.as_mut().poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            for piece in data.split_inclusive(|byte| *byte == b'\n') {
                this.line.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    this.tracer.watched_line(&this.line);
                    this.line.clear();
                }
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }
}
