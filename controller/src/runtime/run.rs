//! A process from its start to its end.

use std::sync::Arc;
use std::time::Duration;

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
use super::http::{Server, Status};
use super::lease::{Elector, Standing};
use super::metrics::Metrics;
use super::permissions;
use super::rate_limit::RateLimitLayer;
use super::term::{self, Process, Progress};
use super::trace::Tracer;
use super::wire::Wire;
use crate::answer::Failure;

/// Why a process could not begin. Each says what to do.
#[derive(Debug, Error)]
pub enum RunError {
    /// There is no way to the cluster.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The API server does not answer.
    #[error("cannot reach the API server at {address}: {why}; is it running, and may this machine reach it?")]
    Unreachable {
        /// Its address.
        address: String,
        /// What happened.
        why: String,
    },
    /// Permissions are missing.
    #[error(
        "not permitted:\n  {missing}\napply the roles in deploy/, give --namespace to work in one namespace, or ask \
         the cluster's administrator",
        missing = .0.join("\n  ")
    )]
    Forbidden(Vec<String>),
    /// The address for metrics and health is not free.
    #[error("cannot listen on {address}: {why}; give another --metrics-bind-address, or 0 for none")]
    Address {
        /// The address.
        address: String,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// The trace cannot be written.
    #[error("cannot write the trace {path}: {why}")]
    Trace {
        /// The file.
        path: String,
        /// What the operating system says.
        why: std::io::Error,
    },
}

/// The first question to an API server has to be answered by then.
const FIRST_ANSWER: Duration = Duration::from_secs(20);
/// Events that are still to be written at the end get this long.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Runs the controllers until `stop`.
///
/// # Errors
/// The process could not begin.
pub async fn run(config: Config, stop: CancellationToken) -> Result<(), RunError> {
    let config = Arc::new(config);
    let tracer = config.trace.as_ref().map(|path| {
        let error = |why| RunError::Trace { path: path.display().to_string(), why };
        Tracer::create(path, config.assumptions()).map(Arc::new).map_err(error)
    });
    let tracer = tracer.transpose()?;
    let kube_config = client::config(&config.target).await?;
    let metrics = Metrics::new();
    let fence = if config.election.is_some() { Fence::closed() } else { Fence::open() };
    let parts = Parts {
        job_controller: client::job_controller(config.settings.managed_by.is_none()),
        fence: fence.clone(),
        limit: RateLimitLayer::new(config.qps, config.burst),
        wire: Wire { metrics: metrics.clone(), tracer: tracer.clone() },
    };
    let clients = Clients::new(&kube_config, &parts)?;
    let lease_namespace = lease_namespace(&config, &kube_config.default_namespace);
    check(&config, &clients.lease, &kube_config.cluster_url.to_string(), &lease_namespace).await?;
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
    let standing = elector.as_ref().map(Elector::standing);
    let health =
        Health { standing: standing.clone(), progress: Arc::clone(&progress), metrics: metrics.clone() };
    let serving = CancellationToken::new();
    serve(&config, health, &serving).await?;
    let writing = tokio::spawn(writer.run());
    let process =
        Process { config: Arc::clone(&config), clients, metrics, recorder, tracer: tracer.clone(), progress };
    match elector.zip(standing) {
        None => term::run(&process, &stop).await,
        Some((elector, standing)) => elected(&process, elector, standing, &stop).await,
    }
    drop(process);
    let _ = timeout(LAST_EVENTS, writing).await;
    serving.cancel();
    tracer.iter().for_each(|tracer| tracer.end());
    info!("stopped");
    Ok(())
}

/// Terms of leadership, one after the other, until `stop`. The lease is given back when the work is over.
async fn elected(
    process: &Process,
    elector: Elector,
    mut standing: watch::Receiver<Standing>,
    stop: &CancellationToken,
) {
    let (electing, resume) = (CancellationToken::new(), elector.resume());
    let election = tokio::spawn(elector.run(electing.clone()));
    loop {
        let leads = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            leads = standing.wait_for(|standing| *standing == Standing::Leading) => leads.is_ok(),
        };
        if !leads {
            break;
        }
        let term = stop.child_token();
        let lost = async {
            // An elector that is gone leads nowhere either.
            let _ = standing.wait_for(|standing| *standing != Standing::Leading).await;
            term.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = term::run(process, &term) => {}
            () = lost => {}
        }
        if !stop.is_cancelled() {
            warn!("no longer the leader: standing by");
            resume.notify_one();
        }
    }
    electing.cancel();
    let _ = election.await;
}

/// Reaches the API server, and asks whether it permits what has to be done.
async fn check(
    config: &Config,
    client: &Client,
    address: &str,
    lease_namespace: &str,
) -> Result<(), RunError> {
    let unreachable = |why: String| RunError::Unreachable { address: address.to_owned(), why };
    let parts = permissions::Parts { job: config.job, ttl: config.ttl, election: config.election.is_some() };
    let asked = permissions::missing(client, parts, config.namespace.as_deref(), lease_namespace);
    match timeout(FIRST_ANSWER, asked).await {
        Err(_) => Err(unreachable(format!("no answer within {} s", FIRST_ANSWER.as_secs()))),
        Ok(Ok(missing)) if missing.is_empty() => Ok(()),
        Ok(Ok(missing)) => Err(RunError::Forbidden(missing)),
        // An API server that does not answer this question may answer the others.
        Ok(Err(Failure::Refused { code, message })) if code != 401 => {
            warn!(code, message, "cannot ask for permissions");
            Ok(())
        }
        Ok(Err(failure)) => Err(unreachable(failure.to_string())),
    }
}

async fn user(client: &Client) -> Option<String> {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    review.status?.user_info?.username
}

async fn serve(config: &Config, health: Health, stop: &CancellationToken) -> Result<(), RunError> {
    let Some(address) = &config.metrics_bind_address else { return Ok(()) };
    let error = |why| RunError::Address { address: address.clone(), why };
    let server = Server::bind(address).await.map_err(error)?;
    info!(address = %server.address(), "serving /metrics, /healthz, /livez, /readyz");
    tokio::spawn(server.serve(Arc::new(health), stop.clone()));
    Ok(())
}

fn lease_namespace(config: &Config, default: &str) -> String {
    let named = config.election.as_ref().and_then(|election: &Election| election.namespace.clone());
    named.unwrap_or_else(|| default.to_owned())
}

/// A name that no other process has: the host's, in a pod that of the pod, and the process's number.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map_or("localhost", str::trim).to_owned();
    let nanos = jiff::Timestamp::now().as_nanosecond();
    format!("{host}_{}_{:x}", std::process::id(), nanos & 0xffff_ffff)
}

struct Health {
    standing: Option<watch::Receiver<Standing>>,
    progress: Arc<Progress>,
    metrics: Metrics,
}

impl Status for Health {
    fn not_ready(&self) -> Option<String> {
        let standing = self.standing.as_ref().map(|standing| *standing.borrow());
        match standing {
            Some(Standing::Unknown) => Some("the lease could not be read yet".to_owned()),
            Some(Standing::Standby) => None,
            Some(Standing::Leading) | None => self.progress.waits_for().map(str::to_owned),
        }
    }

    fn metrics(&self) -> String {
        self.progress.observe_queues();
        self.metrics.text()
    }
}
