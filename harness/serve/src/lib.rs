//! A small HTTP/1.1 server for the sockets of this project.
//!
//! It serves the embedded API server, the fault proxy, the audit webhook, the page of `jobcheck explore`, and the
//! health checks and metrics of the controllers.
//!
//! [`HttpServer::bind`] takes a port, and [`HttpServer::serve`] answers requests with a function until a shutdown.
//! [`Limits`] bounds what clients can use up: connections, the time for the head of a request, and the time that a
//! shutdown takes. [`HttpServer::read_within`] ends connections to clients that do not read. [`HttpServer::serve_over`] puts another layer under HTTP, such as TLS (module `tls`, with the feature of that name). [`origin`] recognises requests
//! that a web page may have sent.
//!
//! # Guarantees
//!
//! Connections that send nothing do not keep others out. If all places are taken, a new connection replaces the one that
//! has waited for a request for the longest time.
//!
//! ```
//! use std::convert::Infallible;
//!
//! use http::{Request, Response};
//! use hyper::body::Incoming;
//! use jobcheck_serve::HttpServer;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::TcpStream;
//! use tokio::sync::oneshot;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = HttpServer::bind("127.0.0.1:0").await?;
//! let address = server.address();
//! let hello = |request: Request<Incoming>| async move {
//!     Ok::<_, Infallible>(Response::new(format!("hello, {}", request.uri().path())))
//! };
//! let (stop, stopped) = oneshot::channel::<()>();
//! let serving = tokio::spawn(server.serve(hello, async { drop(stopped.await) }));
//!
//! let mut client = TcpStream::connect(address).await?;
//! client.write_all(b"GET /there HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
//! let mut response = String::new();
//! client.read_to_string(&mut response).await?;
//! assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("hello, /there"));
//!
//! drop(stop);
//! serving.await??;
//! # Ok(())
//! # }
//! ```

mod idle;
pub mod origin;
mod stalled;
#[cfg(feature = "tls")]
pub mod tls;

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use self::idle::{Connection, Idle};
use self::stalled::Unstalled;

/// The pause before another attempt to accept, after the operating system has run out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The most bytes that a connection buffers in each direction. The head of a request must fit.
const BUFFER: usize = 128 * 1024;

/// An error that ends a connection.
type BoxError = Box<dyn Error + Send + Sync>;

/// Bounds on what clients can use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that are open at the same time. A further one replaces the one that has been without a request for
    /// the longest time. If all have a request, it waits.
    pub connections: usize,
    /// The time in which a client must send the head of a request. A connection that waits longer is closed, also one
    /// that idles between two requests. `None`: no bound.
    pub head_time: Option<Duration>,
    /// True if a connection can have several requests, one after the other.
    pub keep_alive: bool,
    /// The time that open connections have to finish their requests after a shutdown has begun. Then they are cut.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1_024,
            head_time: Some(Duration::from_secs(30)),
            keep_alive: true,
            drain_time: Duration::from_secs(1),
        }
    }
}

/// A socket that listens, and is served by [`HttpServer::serve`].
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    read_time: Option<Duration>,
}

impl HttpServer {
    /// Listens on an address. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// The address cannot be resolved, or the operating system refuses it.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(HttpServer { listener, address, limits: Limits::default(), read_time: None })
    }

    /// The same server with other limits.
    #[must_use]
    pub fn limited_to(self, limits: Limits) -> HttpServer {
        HttpServer { limits, ..self }
    }

    /// The same server, which ends a connection whose client takes nothing of a response for this time. A response that
    /// sends nothing, such as that of an idle watch, is not ended.
    #[must_use]
    pub fn read_within(self, time: Duration) -> HttpServer {
        HttpServer { read_time: Some(time), ..self }
    }

    /// The address on which clients reach the server, with the port that was selected.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers each request with `handler` until `shutdown` is done. Then connections finish their requests within
    /// [`Limits::drain_time`]. If the future is dropped, all connections are cut at once.
    ///
    /// An error of `handler` ends the connection without a response.
    ///
    /// # Errors
    ///
    /// The socket fails for good. A connection that fails is no error of the server.
    pub async fn serve<H, F, B, E>(self, handler: H, shutdown: impl Future<Output = ()>) -> io::Result<()>
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        self.serve_over(async |stream| Some(stream), handler, shutdown).await
    }

    /// The same, with a layer between TCP and HTTP, such as TLS. A connection for which `layer` returns `None` is closed.
    ///
    /// # Errors
    ///
    /// The socket fails for good.
    pub async fn serve_over<L, G, S, H, F, B, E>(
        self,
        layer: L,
        handler: H,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        L: Fn(TcpStream) -> G + Clone + Send + 'static,
        G: Future<Output = Option<S>> + Send,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let HttpServer { listener, limits, read_time, .. } = self;
        let (slots, idle) = (Arc::new(Semaphore::new(limits.connections)), Idle::default());
        let (stop, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        let accepting = async {
            loop {
                let stream = accepted(&listener).await?;
                let slot = place(&slots, &idle).await;
                let connection = Arc::new(Connection::waiting(&idle));
                let handler = service_fn(connection.marking(handler.clone()));
                let (layer, mut stopped) = (layer.clone(), stopped.clone());
                let open = async move {
                    let stream = tokio::select! {
                        stream = layer(stream) => stream,
                        _ = stopped.changed() => None,
                    };
                    if let Some(stream) = stream {
                        let stream = Unstalled::new(stream, read_time);
                        answer(stream, handler, limits, stopped).await;
                    }
                };
                connections.spawn(async move {
                    tokio::select! {
                        () = open => {}
                        () = connection.replaced() => {}
                    }
                    drop(slot);
                });
                while connections.try_join_next().is_some() {}
            }
        };
        let outcome = tokio::select! {
            () = shutdown => Ok(()),
            error = accepting => error,
        };
        drop((stop, listener));
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(limits.drain_time, drained).await.is_err() {
            connections.shutdown().await;
        }
        outcome
    }
}

/// Waits for a place for a new connection. If there is none, a connection that waits for a request loses its place.
async fn place(slots: &Arc<Semaphore>, idle: &Idle) -> OwnedSemaphorePermit {
    let free = Arc::clone(slots).acquire_owned();
    tokio::pin!(free);
    let mut is_replacing = false;
    loop {
        let one_more = idle.one_more();
        tokio::select! {
            biased;
            slot = &mut free => return slot.expect("the semaphore is never closed"),
            () = one_more, if !is_replacing => {}
        }
        is_replacing = idle.replace_oldest();
    }
}

/// The next connection.
///
/// # Errors
///
/// The socket fails for good.
async fn accepted(listener: &TcpListener) -> io::Result<TcpStream> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if is_permanent(&error) => return Err(error),
            // Most often the process has run out of file descriptors: some become free.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Returns true if accepting cannot work again later.
fn is_permanent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotConnected, Unsupported};
    matches!(error.kind(), InvalidInput | NotConnected | Unsupported)
}

/// Answers the requests of one connection. After a shutdown has begun it ends with the request that is in progress.
async fn answer<S, H, B>(stream: S, handler: H, limits: Limits, mut stopped: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Service<Request<Incoming>, Response = Response<B>, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .keep_alive(limits.keep_alive)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), handler);
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks off, or a response that a handler dropped, is no error of the server.
        _ = connection.as_mut() => return,
        // The sender is dropped when the shutdown begins.
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests;
