//! The proxy: configuration, start, and the handle of a running proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use http::Request;
use hyper::body::Incoming;
use jobcheck_cluster::Kubeconfig;
use jobcheck_serve::tls::{Authority, Tls, TlsError};
use jobcheck_serve::{HttpServer, Limits};
use kube::Config;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::forward::Shared;
use crate::rules::{Decider, Rules};
use crate::upstream::Upstream;
use crate::watch::{Cut, Delivery, Watched, Watches};

/// The limits of the socket. An idle connection is never closed: a client that is about to use it would see a fault.
/// At shutdown all connections are cut at once.
const LIMITS: Limits =
    Limits { connections: 4_096, head_time: None, keep_alive: true, drain_time: Duration::ZERO };

/// A proxy that has not been started.
pub struct FaultProxy {
    upstream: Config,
    decider: Arc<dyn Decider>,
    namespace: Option<String>,
}

/// A running proxy on a port of 127.0.0.1. It stops when this value is dropped.
pub struct Handle {
    address: SocketAddr,
    authority: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

impl FaultProxy {
    /// Returns a proxy before this API server, with the account of its configuration. By default it forwards
    /// every request.
    #[must_use]
    pub fn of(upstream: Config) -> FaultProxy {
        FaultProxy { upstream, decider: Arc::new(Rules::default()), namespace: None }
    }

    /// Sets the part that decides how requests are handled.
    #[must_use]
    pub fn decided_by(self, decider: impl Decider) -> FaultProxy {
        FaultProxy { decider: Arc::new(decider), ..self }
    }

    /// Shows clients only the Jobs and pods of this namespace, also if they request those of all namespaces. So a
    /// controller without a namespace option manages one namespace, and other controllers manage others.
    #[must_use]
    pub fn narrowed_to(self, namespace: &str) -> FaultProxy {
        FaultProxy { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Starts the proxy on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// The API server does not respond, or there is no free port, or no certificate can be made.
    pub async fn start(self) -> Result<Handle, Error> {
        let upstream = Upstream::new(self.upstream).await?;
        let made = |error: TlsError| Error::Certificate(error.to_string());
        let authority = Authority::new().map_err(made)?;
        let tls = authority.certificate().map_err(made)?;
        let server = HttpServer::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Error::Listen)?;
        let (address, server) = (server.address(), server.limited_to(LIMITS));
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let shared = Arc::new(Shared {
            upstream,
            decider: self.decider,
            watches: Watches::new(),
            namespace: self.namespace,
            prefix: format!("faultproxy-{nanos:x}-{}", address.port()),
            asked: AtomicU64::new(0),
            writes: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        let serving = tokio::spawn(serve(server, tls, Arc::clone(&shared)));
        Ok(Handle { address, authority: authority.pem().to_owned(), shared, serving })
    }
}

async fn serve(server: HttpServer, tls: Tls, shared: Arc<Shared>) {
    let encrypted = move |stream| tls.clone().accept(stream);
    let stop = shared.stop.clone();
    let answer = move |request: Request<Incoming>| Arc::clone(&shared).respond(request);
    // The socket of a loopback address does not fail for good.
    let _ = server.serve_over(encrypted, answer, stop.cancelled()).await;
}

impl Handle {
    /// The URL of the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The kubeconfig with which a client reaches the proxy: JSON, which is YAML too.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`], if the JSON cannot be written.
    pub fn kubeconfig(&self) -> Result<String, Error> {
        let (server, token) = (self.url(), self.shared.upstream.token());
        let (authority, token) = (Some(self.authority.as_bytes()), Some(token));
        let kubeconfig = Kubeconfig { cluster: "proxy", user: "proxy", server: &server, authority, token };
        kubeconfig.text().map_err(|error| Error::Internal(error.to_string()))
    }

    /// Holds back all events of watches of a resource, of open watches and of new ones.
    pub fn hold(&self, watched: Watched) {
        self.shared.watches.hold(watched);
    }

    /// Delivers the held events of watches of a resource, and lets later ones pass.
    pub fn release(&self, watched: Watched, delivery: Delivery) {
        self.shared.watches.release(watched, delivery);
    }

    /// Ends the open watches of a resource.
    pub fn cut(&self, watched: Watched, how: Cut) {
        self.shared.watches.cut(watched, how);
    }

    /// The number of held events of watches of a resource.
    #[must_use]
    pub fn undelivered(&self, watched: Watched) -> usize {
        self.shared.watches.undelivered(watched)
    }

    /// The number of open watches of a resource, without those that [`Handle::cut`] has ended.
    #[must_use]
    pub fn open(&self, watched: Watched) -> usize {
        self.shared.watches.open(watched)
    }

    /// Stops the proxy: connections are cut, and held requests are dropped.
    pub async fn stop(mut self) {
        self.shared.stop.cancel();
        let _ = (&mut self.serving).await;
        self.shared.writes.close();
        self.shared.writes.wait().await;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}
