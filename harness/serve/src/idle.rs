//! The connections that wait for a request, in the order in which they began to wait.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// All connections of a server that wait for a request.
#[derive(Clone, Default)]
pub(crate) struct Idle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    one_more: Notify,
}

#[derive(Default)]
struct Waiting {
    /// The number of times that a connection began to wait.
    count: u64,
    /// The signal to end, by that number.
    signals: BTreeMap<u64, Arc<Notify>>,
}

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection that has waited for the longest time. Returns false if none waits.
    pub(crate) fn replace_oldest(&self) -> bool {
        let oldest = self.lock().signals.pop_first();
        oldest.is_some_and(|(_, signal)| {
            signal.notify_one();
            true
        })
    }

    /// Waits until a connection begins to wait, if none has begun since the last call.
    pub(crate) fn one_more(&self) -> Notified<'_> {
        self.0.one_more.notified()
    }

    fn begin(&self, signal: &Arc<Notify>) -> u64 {
        let number = {
            let mut waiting = self.lock();
            waiting.count += 1;
            let number = waiting.count;
            waiting.signals.insert(number, Arc::clone(signal));
            number
        };
        self.0.one_more.notify_one();
        number
    }
}

/// The response to a request.
type Answer<B, E> = Pin<Box<dyn Future<Output = Result<Response<Marked<B>>, E>> + Send>>;

/// One connection.
pub(crate) struct Connection {
    idle: Idle,
    /// The signal that another connection takes the place.
    replaced: Arc<Notify>,
    /// The number under which it waits. `None` while it has a request.
    number: Mutex<Option<u64>>,
}

impl Connection {
    /// A connection that waits for its first request.
    pub(crate) fn waiting(idle: &Idle) -> Connection {
        let replaced = Arc::new(Notify::new());
        let number = Mutex::new(Some(idle.begin(&replaced)));
        Connection { idle: idle.clone(), replaced, number }
    }

    /// Waits until another connection takes the place.
    pub(crate) async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// Returns a handler that marks the connection as busy from the request to the end of the response's body.
    pub(crate) fn marking<H, F, B, E>(
        self: &Arc<Connection>,
        handler: H,
    ) -> impl Fn(Request<Incoming>) -> Answer<B, E> + use<H, F, B, E>
    where
        H: Fn(Request<Incoming>) -> F,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    {
        let connection = Arc::clone(self);
        move |request| {
            let busy = Busy::begin(&connection);
            let response = handler(request);
            Box::pin(async move {
                let response = response.await?;
                Ok(response.map(|body| Marked { body: Box::pin(body), _busy: busy }))
            })
        }
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self) {
        if let Some(number) = self.number().take() {
            self.idle.lock().signals.remove(&number);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A request in progress. HTTP/1.1 has one at a time on a connection.
struct Busy(Arc<Connection>);

impl Busy {
    fn begin(connection: &Arc<Connection>) -> Busy {
        connection.leave();
        Busy(Arc::clone(connection))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let number = self.0.idle.begin(&self.0.replaced);
        *self.0.number() = Some(number);
    }
}

/// The body of a response, with the mark of its connection.
pub(crate) struct Marked<B> {
    body: Pin<Box<B>>,
    _busy: Busy,
}

impl<B: Body> Body for Marked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.body.as_mut().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
