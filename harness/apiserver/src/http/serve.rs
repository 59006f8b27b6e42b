//! The server on a socket.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::service::ApiService;

/// What a listening server bounds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// How long a client may take for the head of a request.
    pub head_time: Duration,
    /// How long open connections get to end once the server is to stop.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1_024, head_time: Duration::from_secs(30), drain_time: Duration::from_secs(1) }
    }
}

/// Serves HTTP/1.1 until `shutdown` is done; then open connections get a moment, and are cut.
///
/// # Errors
/// The socket fails for good. That a connection fails is no error.
pub async fn serve(
    listener: TcpListener,
    service: ApiService,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    let outcome = loop {
        let slot = tokio::select! {
            () = &mut shutdown => break Ok(()),
            slot = Arc::clone(&slots).acquire_owned() => slot.expect("the slots are never closed"),
        };
        let stream = tokio::select! {
            () = &mut shutdown => break Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) if passes(&error) => {
                    // Out of descriptors, as a rule: wait until some are free.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                Err(error) => break Err(error),
            },
        };
        let (service, stopped) = (service.clone(), stopped.clone());
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head_time)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
            until_stopped(connection, stopped).await;
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    };
    // The receivers live in the tasks; without any there is nobody to tell.
    let _ = stop.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain_time, drained).await.is_err() {
        connections.shutdown().await;
    }
    outcome
}

type Connection = http1::Connection<TokioIo<tokio::net::TcpStream>, TowerToHyperService<ApiService>>;

/// Runs a connection; once the server stops it ends after the request that it is in.
async fn until_stopped(connection: Connection, mut stopped: watch::Receiver<bool>) {
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks off, or an answer that a fault dropped, is no error of the server.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Whether accepting may work again later.
fn passes(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotConnected | io::ErrorKind::Unsupported
    )
}
