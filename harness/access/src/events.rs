//! Limits on the length of responses. kube keeps an event of a watch in memory until its line ends, and every other
//! response until its own end.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use thiserror::Error;
use tower::{BoxError, Layer, Service};

/// The maximum length of an event in bytes. An object in etcd has at most 1.5 MiB by default, and its JSON a few times
/// that.
pub const MAX_EVENT: usize = 16 << 20;

/// An event of a watch has no end within [`MAX_EVENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event of the watch is longer than {} MiB", MAX_EVENT >> 20)]
pub struct EventTooLong;

/// The maximum length in bytes of any other response. A page of a list has 500 objects, of half a megabyte each then.
pub const MAX_RESPONSE: usize = 256 << 20;

/// A response that is no watch has no end within [`MAX_RESPONSE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the response is longer than {} MiB", MAX_RESPONSE >> 20)]
pub struct ResponseTooLong;

/// Returns whether an error is [`EventTooLong`], or caused by it. A watch that continues at its last version receives
/// the same event again.
#[must_use]
pub fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let within = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if error.is::<EventTooLong>() || within.is_some_and(|inner| is_too_long(inner)) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Ends watches with an event that is longer than [`MAX_EVENT`], and other responses that are longer than
/// [`MAX_RESPONSE`].
#[derive(Clone, Copy, Debug, Default)]
pub struct EventLimit;

impl<S> Layer<S> for EventLimit {
    type Service = LimitedService<S>;

    fn layer(&self, inner: S) -> LimitedService<S> {
        LimitedService(inner)
    }
}

/// A service whose watches are limited.
#[derive(Clone, Debug)]
pub struct LimitedService<S>(S);

impl<S, Q, B> Service<Request<Q>> for LimitedService<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<LimitedBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let is_watch = is_watch(request.uri().query().unwrap_or_default());
        let response = self.0.call(request);
        Box::pin(async move {
            Ok(response.await?.map(|body| LimitedBody { body: Box::pin(body), is_watch, length: 0 }))
        })
    }
}

fn is_watch(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=1" | "watch=true"))
}

/// The body of a response, with a limit on its length, or on the length of its lines if it is a watch.
#[derive(Debug)]
pub struct LimitedBody<B> {
    body: Pin<Box<B>>,
    is_watch: bool,
    /// The length so far: of the last line of a watch, which has not ended, or of the whole.
    length: usize,
}

impl<B> LimitedBody<B> {
    fn take(&mut self, data: &[u8]) -> Result<(), BoxError> {
        if !self.is_watch {
            self.length += data.len();
            return if self.length > MAX_RESPONSE { Err(ResponseTooLong.into()) } else { Ok(()) };
        }
        for part in data.split_inclusive(|byte| *byte == b'\n') {
            self.length += part.len();
            if self.length > MAX_EVENT {
                return Err(EventTooLong.into());
            }
            if part.ends_with(b"\n") {
                self.length = 0;
            }
        }
        Ok(())
    }
}

impl<B> Body for LimitedBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Poll::Ready(frame) = self.body.as_mut().poll_frame(context) else { return Poll::Pending };
        let Some(frame) = frame else { return Poll::Ready(None) };
        let frame = frame.map_err(Into::into)?;
        if let Some(data) = frame.data_ref() {
            self.take(data.chunk())?;
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{BodyExt, Full};
    use tower::{ServiceExt, service_fn};

    use super::*;

    /// The length of the body of a response to a request with this query, or an error.
    async fn received(query: &str, body: Vec<u8>) -> Result<usize, BoxError> {
        let body = Bytes::from(body);
        let service = service_fn(move |_: Request<()>| {
            let body = Full::new(body.clone());
            async { Ok::<_, Infallible>(Response::new(body)) }
        });
        let request = Request::get(format!("http://x/?{query}")).body(()).unwrap();
        let response = EventLimit.layer(service).oneshot(request).await?;
        Ok(response.into_body().collect().await?.to_bytes().len())
    }

    #[tokio::test]
    async fn an_event_without_end_ends_a_watch() {
        let endless = vec![b'x'; MAX_EVENT + 1];
        for query in ["watch=1", "a=b&watch=true&c=d"] {
            let error = received(query, endless.clone()).await.unwrap_err();
            assert!(is_too_long(error.as_ref()), "{query}: {error}");
            let nested = kube::Error::ReadEvents(std::io::Error::other(error));
            assert!(is_too_long(&nested));
        }
        assert_eq!(received("limit=500", endless).await.unwrap(), MAX_EVENT + 1);
        assert!(!is_too_long(&std::io::Error::other("broken pipe")));
    }

    /// A number of equal parts.
    struct Parts(usize, Bytes);

    impl Body for Parts {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let is_left = self.0 > 0;
            self.0 = self.0.saturating_sub(1);
            Poll::Ready(is_left.then(|| Ok(Frame::data(self.1.clone()))))
        }
    }

    #[tokio::test]
    async fn a_response_without_end_is_an_error() {
        let part = Bytes::from(vec![b'x'; 1 << 20]);
        for (parts, is_short) in [(256, true), (257, false)] {
            let part = part.clone();
            let service = service_fn(move |_: Request<()>| {
                let body = Parts(parts, part.clone());
                async { Ok::<_, Infallible>(Response::new(body)) }
            });
            let request = Request::get("http://x/api/v1/pods?limit=500").body(()).unwrap();
            let mut body = EventLimit.layer(service).oneshot(request).await.unwrap().into_body();
            let mut error = None;
            while let Some(frame) = body.frame().await {
                error = frame.err().or(error);
            }
            assert_eq!(error.map(|it| it.to_string()).is_none(), is_short);
        }
    }

    #[tokio::test]
    async fn any_number_of_shorter_events_is_allowed() {
        let mut event = vec![b'x'; MAX_EVENT - 1];
        event.push(b'\n');
        assert_eq!(received("watch=1", event.repeat(2)).await.unwrap(), 2 * MAX_EVENT);
    }
}
