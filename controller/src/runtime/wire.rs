//! What sees every request of a process: it is counted (`rest_client_requests_total`), and written to the trace.

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

/// What sees the requests of all clients.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Where requests are counted.
    pub metrics: Metrics,
    /// Where they are written to.
    pub tracer: Option<Arc<Tracer>>,
}

impl Wire {
    /// A layer for the requests of one controller.
    #[must_use]
    pub fn layer(&self, controller: &str) -> WireLayer {
        WireLayer { wire: self.clone(), controller: controller.into() }
    }
}

/// Sees the requests of one client.
#[derive(Clone, Debug)]
pub struct WireLayer {
    wire: Wire,
    controller: Arc<str>,
}

impl<S> Layer<S> for WireLayer {
    type Service = Wired<S>;

    fn layer(&self, inner: S) -> Wired<S> {
        Wired { inner, layer: self.clone() }
    }
}

/// A service whose requests are seen.
#[derive(Clone, Debug)]
pub struct Wired<S> {
    inner: S,
    layer: WireLayer,
}

/// The body of an answer, perhaps copied to the trace as it passes.
pub type Passing = UnsyncBoxBody<Bytes, BoxError>;
type Pending = Pin<Box<dyn Future<Output = Result<Response<Passing>, BoxError>> + Send>>;

impl<S, B> Service<Request<Body>> for Wired<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError> + Send,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Passing>;
    type Error = BoxError;
    type Future = Pending;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Pending {
        let (metrics, method) = (self.layer.wire.metrics.clone(), request.method().clone());
        let Some(tracer) = self.layer.wire.tracer.clone() else {
            let sent = self.inner.call(request);
            return Box::pin(async move {
                let answer = sent.await.map_err(Into::into);
                count(&metrics, &method, answer.as_ref().ok());
                Ok(answer?.map(|body| body.map_err(Into::into).boxed_unsync()))
            });
        };
        let controller = Arc::clone(&self.layer.controller);
        let uri = request.uri().clone();
        // The bodies of all requests of kube are in memory.
        let copy = request.body().try_clone().unwrap_or_else(Body::empty);
        let sent = self.inner.call(request);
        Box::pin(async move {
            let body = copy.collect().await?.to_bytes();
            let received = Timestamp::now();
            let answer = sent.await.map_err(Into::into);
            count(&metrics, &method, answer.as_ref().ok());
            let exchange =
                Exchange { controller: &controller, method: &method, uri: &uri, received, body: &body };
            traced(&tracer, &exchange, answer).await
        })
    }
}

async fn traced<B>(
    tracer: &Arc<Tracer>,
    exchange: &Exchange<'_>,
    answer: Result<Response<B>, BoxError>,
) -> Result<Response<Passing>, BoxError>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let answer = answer.inspect_err(|_| tracer.lost(exchange))?;
    let (parts, body) = answer.into_parts();
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

fn count<B>(metrics: &Metrics, method: &Method, answer: Option<&Response<B>>) {
    match answer {
        Some(answer) => metrics.requested(method.as_str(), answer.status().as_str()),
        None => metrics.requested(method.as_str(), "<error>"),
    }
}

/// A body of lines; each whole line is also given to the trace.
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
