//! The fence of a process: it lets writes pass only while the process certainly holds the lease.
//!
//! After the duration of a lease that is not renewed, another replica may take it. The fence closes earlier, at the
//! renewal deadline, which counts from the time at which the last successful renewal was *sent*. A write that is in flight
//! then is abandoned and its connection dropped, so that two replicas do not write at the same time.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Layer, Service};

/// The permission of this process to write. Clones share it.
#[derive(Clone, Debug)]
pub struct Fence {
    state: Arc<Mutex<Gate>>,
}

#[derive(Clone, Copy, Debug)]
enum Gate {
    /// There is no leader election.
    Always,
    Until(Instant),
    Closed,
}

/// The error of a write that was abandoned because the process may have lost the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the lease could not be renewed in time, and another replica may hold it now")]
pub struct FenceClosed {
    /// True if the request was in flight, so that the API server may have performed it.
    pub sent: bool,
}

impl Fence {
    /// Returns a fence that is always open, for a process without leader election.
    #[must_use]
    pub fn open() -> Fence {
        Fence { state: Arc::new(Mutex::new(Gate::Always)) }
    }

    /// Returns a fence that is closed until the process holds the lease.
    #[must_use]
    pub fn closed() -> Fence {
        Fence { state: Arc::new(Mutex::new(Gate::Closed)) }
    }

    /// Lets writes start, and be in flight, until the deadline.
    pub fn open_until(&self, deadline: Instant) {
        self.set(Gate::Until(deadline));
    }

    /// Lets no write start any more. A write in flight keeps its deadline.
    pub fn close(&self) {
        self.set(Gate::Closed);
    }

    /// Returns true if a write may start.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.gate() {
            Gate::Always => true,
            Gate::Until(deadline) => Instant::now() < deadline,
            Gate::Closed => false,
        }
    }

    fn gate(&self) -> Gate {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, gate: Gate) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = gate;
    }
}

impl<S> Layer<S> for Fence {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced { inner, fence: self.clone() }
    }
}

/// A service whose writes the fence controls. Reads always pass.
#[derive(Clone, Debug)]
pub struct Fenced<S> {
    inner: S,
    fence: Fence,
}

/// The future of a response.
type ResponseFuture<R> = Pin<Box<dyn Future<Output = Result<R, BoxError>> + Send>>;

impl<S, B, R> Service<Request<B>> for Fenced<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = ResponseFuture<Response<R>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let deadline = match self.fence.gate() {
            _ if reads => None,
            Gate::Always => None,
            Gate::Until(deadline) if Instant::now() < deadline => Some(deadline),
            Gate::Until(_) | Gate::Closed => {
                return Box::pin(async { Err(FenceClosed { sent: false }.into()) });
            }
        };
        let sent = self.inner.call(request);
        Box::pin(async move {
            match deadline {
                None => sent.await.map_err(Into::into),
                Some(deadline) => match timeout_at(deadline, sent).await {
                    Ok(response) => response.map_err(Into::into),
                    Err(_) => Err(FenceClosed { sent: true }.into()),
                },
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tower::{ServiceBuilder, ServiceExt, service_fn};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Sends a request that takes three seconds. Returns its result, and the number of requests that reached the server.
    async fn send(fence: &Fence, method: Method) -> (Result<(), FenceClosed>, u32) {
        let reached = Arc::new(AtomicU32::new(0));
        let service = service_fn({
            let reached = Arc::clone(&reached);
            move |_: Request<()>| {
                reached.fetch_add(1, Ordering::Relaxed);
                async {
                    tokio::time::sleep(3 * SECOND).await;
                    Ok::<_, Infallible>(Response::new(()))
                }
            }
        });
        let mut service = ServiceBuilder::new().layer(fence.clone()).service(service);
        let request = Request::builder().method(method).body(()).unwrap();
        let response = service.ready().await.unwrap().call(request).await;
        let response = response.map(|_| ()).map_err(|error| *error.downcast_ref::<FenceClosed>().unwrap());
        (response, reached.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lease_writes_fail_and_reads_pass() {
        let fence = Fence::closed();
        assert_eq!(send(&fence, Method::POST).await, (Err(FenceClosed { sent: false }), 0));
        assert_eq!(send(&fence, Method::GET).await, (Ok(()), 1));
        assert_eq!(send(&Fence::open(), Method::DELETE).await, (Ok(()), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_abandoned_at_the_deadline() {
        let fence = Fence::closed();
        fence.open_until(Instant::now() + 5 * SECOND);
        assert_eq!(send(&fence, Method::PUT).await, (Ok(()), 1));
        let start = Instant::now();
        assert_eq!(send(&fence, Method::PATCH).await, (Err(FenceClosed { sent: true }), 1));
        assert_eq!(start.elapsed(), 2 * SECOND);
        assert!(!fence.is_open());
        assert_eq!(send(&fence, Method::PATCH).await, (Err(FenceClosed { sent: false }), 0));
        fence.open_until(Instant::now() + 5 * SECOND);
        assert!(fence.is_open());
        fence.close();
        assert!(!fence.is_open());
    }
}
