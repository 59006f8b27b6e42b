//! The life of a process: checks, leader election, terms of leadership, and the shutdown.

use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_controller::answer::{Failure, excerpt};
use jobcheck_traces::Redactor;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, PostParams};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::client::{self, ClientError, Clients, Parts};
use super::config::{Config, Election};
use super::events;
use super::fence::Fence;
use super::http::{Pages, Server, Status};
use super::lease::{Elector, Leadership};
use super::metrics::Metrics;
use super::permissions;
use super::rate_limit::RateLimitLayer;
use super::request_log::RequestLog;
use super::term::{self, Process, Progress};
use super::trace::Tracer;

/// An error at the start of a process. Each message contains what to do.
#[derive(Debug, Error)]
pub enum RunError {
    /// There is no usable configuration of a cluster.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The API server does not respond.
    #[error(
        "cannot reach the API server at {address}: {why}; check that it runs and that this machine can connect to it"
    )]
    Unreachable {
        /// The address of the API server.
        address: String,
        /// The cause.
        why: String,
    },
    /// Permissions are missing.
    #[error(
        "missing permissions:\n  {missing}\napply the roles in deploy/, pass --namespace to work in one namespace, or ask \
         the administrator of the cluster",
        missing = .0.join("\n  ")
    )]
    Forbidden(Vec<String>),
    /// The address of an HTTP server cannot be used.
    #[error("cannot listen on {address}: {why}; pass another {flag}, or 0 for no server")]
    Address {
        /// The flag with the address.
        flag: &'static str,
        /// The address.
        address: String,
        /// The error of the operating system.
        why: std::io::Error,
    },
    /// The trace cannot be written.
    #[error("cannot write the trace {path}: {why}")]
    Trace {
        /// The file.
        path: String,
        /// The error of the operating system.
        why: std::io::Error,
    },
}

/// The time for the events that are still waiting at the end.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the controllers until `stop`.
///
/// # Errors
///
/// The process could not start.
pub async fn run(config: Config, stop: CancellationToken) -> Result<(), RunError> {
    let config = Arc::new(config);
    let tracer = config.trace.as_ref().map(|path| {
        let error = |why| RunError::Trace { path: path.display().to_string(), why };
        let redactor = config.redacts_trace.then(|| Redactor::new(RandomState::new()));
        Tracer::create(path, config.assumptions(), redactor).map(Arc::new).map_err(error)
    });
    let tracer = tracer.transpose()?;
    let kube_config = client::config(&config.target).await?;
    let metrics = Metrics::new();
    let fence = if config.election.is_some() { Fence::closed() } else { Fence::open() };
    let parts = Parts {
        job_controller: client::job_controller(config.settings.managed_by.is_none()),
        fence: fence.clone(),
        limit: RateLimitLayer::new(config.qps, config.burst),
        request_log: RequestLog { metrics: metrics.clone(), tracer: tracer.clone() },
    };
    let clients = Clients::new(&kube_config, &parts)?;
    let lease_namespace = lease_namespace(&config, &kube_config.default_namespace);
    let cluster = jobcheck_access::shown_address(&kube_config);
    tokio::select! {
        biased;
        () = stop.cancelled() => {
            tracer.iter().for_each(|tracer| tracer.end());
            return Ok(());
        }
        checked = check(&config, &clients.lease, &cluster, &lease_namespace) => checked?,
    }
    if let Some(tracer) = &tracer {
        tracer.set_user(&user(&clients.lease).await.unwrap_or_else(|| "jobcheck-controller".to_owned()));
    }
    let identity = identity();
    let (recorder, writer) = events::channel(clients.events.clone(), &identity);
    let progress = Arc::new(Progress::default());
    let elector = config.election.as_ref().map(|election| {
        let api: Api<Lease> = Api::namespaced(clients.lease.clone(), &lease_namespace);
        let metrics = metrics.clone();
        Elector::new(api, &election.name, &identity, election.timing, fence, metrics)
    });
    let leadership = elector.as_ref().map(Elector::leadership);
    let health =
        Health { leadership: leadership.clone(), progress: Arc::clone(&progress), metrics: metrics.clone() };
    let serving = CancellationToken::new();
    serve(&config, Arc::new(health), &serving).await?;
    let writing = tokio::spawn(writer.run());
    let process =
        Process { config: Arc::clone(&config), clients, metrics, recorder, tracer: tracer.clone(), progress };
    match elector.zip(leadership) {
        None => term::run(&process, &stop).await,
        Some((elector, leadership)) => elected(&process, elector, leadership, &stop).await,
    }
    drop(process);
    let _ = timeout(EVENT_FLUSH_TIMEOUT, writing).await;
    serving.cancel();
    tracer.iter().for_each(|tracer| tracer.end());
    info!("stopped");
    Ok(())
}

/// Runs terms of leadership until `stop`. The lease is released after the work has ended.
async fn elected(
    process: &Process,
    elector: Elector,
    mut leadership: watch::Receiver<Leadership>,
    stop: &CancellationToken,
) {
    let (electing, resume) = (CancellationToken::new(), elector.resume());
    let election = tokio::spawn(elector.run(electing.clone()));
    loop {
        let leads = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            leads = leadership.wait_for(|leadership| *leadership == Leadership::Leading) => leads.is_ok(),
        };
        if !leads {
            break;
        }
        let term = stop.child_token();
        let lost = async {
            // The receiver fails if the elector has ended, and the term is lost then too.
            let _ = leadership.wait_for(|leadership| *leadership != Leadership::Leading).await;
            term.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = term::run(process, &term) => {}
            () = lost => {}
        }
        if !stop.is_cancelled() {
            warn!("not the leader any more: standing by");
            resume.notify_one();
        }
    }
    electing.cancel();
    let _ = election.await;
}

/// Checks that the API server responds and that no permission is missing.
async fn check(
    config: &Config,
    client: &Client,
    address: &str,
    lease_namespace: &str,
) -> Result<(), RunError> {
    let unreachable = |why: String| RunError::Unreachable { address: address.to_owned(), why };
    let parts = permissions::Parts { job: config.job, ttl: config.ttl, election: config.election.is_some() };
    let lease = config.election.as_ref().map_or("", |election| &election.name);
    let objects = permissions::Objects { namespace: config.namespace.as_deref(), lease_namespace, lease };
    match permissions::missing(client, parts, objects).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(RunError::Forbidden(missing)),
        // An API server may refuse this question and permit everything else.
        Err(Failure::Refused { code, message }) if code != 401 => {
            warn!(code, message = excerpt(&message), "cannot check the permissions");
            Ok(())
        }
        Err(failure) => Err(unreachable(failure.to_string())),
    }
}

async fn user(client: &Client) -> Option<String> {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    review.status?.user_info?.username
}

/// Starts the HTTP servers.
async fn serve(config: &Config, health: Arc<Health>, stop: &CancellationToken) -> Result<(), RunError> {
    let servers = [
        (
            &config.metrics_bind_address,
            "--metrics-bind-address",
            Pages::All,
            "serving /metrics, /healthz, /livez, /readyz",
        ),
        (
            &config.health_probe_bind_address,
            "--health-probe-bind-address",
            Pages::Health,
            "serving /healthz, /livez, /readyz",
        ),
    ];
    for (address, flag, pages, message) in servers {
        let Some(address) = address else { continue };
        let error = |why| RunError::Address { flag, address: address.clone(), why };
        let server = Server::bind(address, pages).await.map_err(error)?;
        info!(address = %server.address(), "{message}");
        tokio::spawn(server.serve(Arc::<Health>::clone(&health), stop.clone()));
    }
    Ok(())
}

fn lease_namespace(config: &Config, default: &str) -> String {
    let named = config.election.as_ref().and_then(|election: &Election| election.namespace.clone());
    named.unwrap_or_else(|| default.to_owned())
}

/// A unique name of this process: the host name (in a pod its name), the process id, and a part of the time.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map_or("localhost", str::trim).to_owned();
    let nanos = jiff::Timestamp::now().as_nanosecond();
    format!("{host}_{}_{:x}", std::process::id(), nanos & 0xffff_ffff)
}

struct Health {
    leadership: Option<watch::Receiver<Leadership>>,
    progress: Arc<Progress>,
    metrics: Metrics,
}

impl Status for Health {
    fn not_ready(&self) -> Option<String> {
        let leadership = self.leadership.as_ref().map(|leadership| *leadership.borrow());
        match leadership {
            Some(Leadership::Unknown) => Some("the lease was not read yet".to_owned()),
            Some(Leadership::Standby) => None,
            Some(Leadership::Leading) | None => self.progress.waits_for().map(str::to_owned),
        }
    }

    fn metrics(&self) -> String {
        self.progress.observe_queues();
        self.metrics.text()
    }
}
