//! The proxy as a whole.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Config;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::certificate::Identity;
use crate::error::Error;
use crate::forward::Shared;
use crate::rules::{Decider, Rules};
use crate::upstream::Upstream;
use crate::watch::{Cut, Delivery, Watched, Watches};

/// Time before another connection is accepted where none could be.
const AGAIN: Duration = Duration::from_millis(50);

/// A proxy that has not been started.
pub struct FaultProxy {
    upstream: Config,
    decider: Arc<dyn Decider>,
    namespace: Option<String>,
}

/// A proxy that runs, on a port of 127.0.0.1; it ends with this value.
pub struct Handle {
    address: SocketAddr,
    authority: String,
    shared: Arc<Shared>,
    connections: TaskTracker,
}

impl FaultProxy {
    /// Of this API server, with the account of its configuration. As it is, nothing goes wrong.
    #[must_use]
    pub fn of(upstream: Config) -> FaultProxy {
        FaultProxy { upstream, decider: Arc::new(Rules::default()), namespace: None }
    }

    /// Who decides what becomes of requests.
    #[must_use]
    pub fn decided_by(self, decider: impl Decider) -> FaultProxy {
        FaultProxy { decider: Arc::new(decider), ..self }
    }

    /// Its clients see the Jobs and pods of this namespace alone, also those who ask for all: so a controller that knows
    /// no namespaces manages one, and others beside it.
    #[must_use]
    pub fn narrowed_to(self, namespace: &str) -> FaultProxy {
        FaultProxy { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Starts it, on the runtime that calls.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or there is no port or certificate.
    pub async fn start(self) -> Result<Handle, Error> {
        let upstream = Upstream::new(self.upstream).await?;
        let identity = Identity::new()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Error::Listen)?;
        let address = listener.local_addr().map_err(Error::Listen)?;
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
        let connections = TaskTracker::new();
        let accepting =
            accept(listener, TlsAcceptor::from(identity.server), Arc::clone(&shared), connections.clone());
        let stop = shared.stop.clone();
        connections.spawn(async move { stop.run_until_cancelled(accepting).await });
        Ok(Handle { address, authority: identity.authority, shared, connections })
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>, connections: TaskTracker) {
    loop {
        // Out of descriptors, as a rule: wait until some are free.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let (tls, shared, stop) = (tls.clone(), Arc::clone(&shared), shared.stop.clone());
        connections.spawn(async move { stop.run_until_cancelled(serve(stream, tls, shared)).await });
    }
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) {
    // That a client does not trust the proxy, or goes, is its own business.
    let _ = stream.set_nodelay(true);
    let Ok(stream) = tls.accept(stream).await else { return };
    let service = service_fn(move |request| Arc::clone(&shared).answer(request));
    // A connection that idles is not closed: a client may be about to use it, and would take that for a fault.
    let connection =
        http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

impl Handle {
    /// Where clients find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// What a client needs to come to it: a kubeconfig, in JSON, which is YAML, too.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let authority = base64(self.authority.as_bytes());
        let cluster = json!({"server": self.url(), "certificate-authority-data": authority});
        let user = json!({"token": self.shared.upstream.token()});
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": cluster}],
            "users": [{"name": "proxy", "user": user}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        });
        format!("{config:#}\n")
    }

    /// From now on watches of this show nothing new, those that are open and those to come.
    pub fn hold(&self, watched: Watched) {
        self.shared.watches.hold(watched);
    }

    /// Watches of this go on.
    pub fn release(&self, watched: Watched, delivery: Delivery) {
        self.shared.watches.release(watched, delivery);
    }

    /// Ends the watches of this that are open.
    pub fn cut(&self, watched: Watched, how: Cut) {
        self.shared.watches.cut(watched, how);
    }

    /// Events of watches of this that were not delivered yet.
    #[must_use]
    pub fn kept(&self, watched: Watched) -> usize {
        self.shared.watches.kept(watched)
    }

    /// Watches of this that are open, and were not ended.
    #[must_use]
    pub fn open(&self, watched: Watched) -> usize {
        self.shared.watches.open(watched)
    }

    /// Ends it: connections are cut, and what waits is forgotten.
    pub async fn stop(self) {
        self.shared.stop.cancel();
        for tasks in [&self.connections, &self.shared.writes] {
            tasks.close();
            tasks.wait().await;
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
