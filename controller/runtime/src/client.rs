//! The API clients of a process, with their rate limit, their fence, and their request log.
//!
//! The retry of requests in kube is off, because it repeats every method. A POST that created a pod and got a 504 would
//! create a second pod. The work queue retries instead, after the stored objects were read back.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use jobcheck_access::{EventLimit, with_causes};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use thiserror::Error;

use super::fence::Fence;
use super::rate_limit::RateLimitLayer;
use super::request_log::{RequestLog, RequestLogLayer};

/// The cluster and the credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// `--kubeconfig`. The default is `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod, in this order.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`. The default is the current context of the file.
    pub context: Option<String>,
}

/// A configuration from which no client can be built.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The file of `--kubeconfig` cannot be used.
    #[error("cannot use kubeconfig {path}: {why}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// The cause.
        why: String,
    },
    /// There is no configuration, or it does not have the context.
    #[error("no cluster: {0}; pass --kubeconfig, set KUBECONFIG, or run in a pod with a service account")]
    NoCluster(String),
    /// The configuration is not valid.
    #[error("cannot build a client: {0}")]
    Client(String),
}

/// The clients of one process.
#[derive(Clone)]
pub struct Clients {
    /// Reads and writes of the Job controller; rate limited and fenced.
    pub job: Client,
    /// Reads and writes of the TTL controller; fenced, with the same rate limit.
    pub ttl: Client,
    /// LIST and WATCH of the reflectors.
    pub watch: Client,
    /// The lease; neither rate limited nor fenced.
    pub lease: Client,
    /// Events; fenced, with a rate limit of their own.
    pub events: Client,
}

/// The parts that the clients of a process share.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The name of the Job controller in its user agent ([`job_controller`]).
    pub job_controller: &'static str,
    /// The fence for writes.
    pub fence: Fence,
    /// `--qps` and `--burst`.
    pub limit: RateLimitLayer,
    /// The log of all requests.
    pub request_log: RequestLog,
}

/// The timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a response. It exceeds the 60 s after which the API server itself ends a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(70);
/// The timeout of a watch. It exceeds the time after which the server ends a watch ([`super::reflector`]).
const WATCH_TIMEOUT: Duration = Duration::from_secs(320);
/// The rate limit of events. It is separate, so that events do not delay other requests.
const EVENT_QPS: f64 = 10.0;
const EVENT_BURST: u32 = 50;

/// Loads the configuration, as kubectl does.
///
/// # Errors
///
/// There is no configuration, it cannot be read, or the cluster is behind a proxy.
pub async fn config(target: &Target) -> Result<Config, ClientError> {
    let config = jobcheck_access::config(target.kubeconfig.as_deref(), target.context.as_deref()).await;
    config.map_err(|why| match &target.kubeconfig {
        Some(path) => ClientError::Kubeconfig { path: path.display().to_string(), why },
        None => ClientError::NoCluster(why),
    })
}

impl Clients {
    /// Builds the clients for this configuration.
    ///
    /// # Errors
    ///
    /// A certificate or credential in the configuration cannot be used.
    pub fn new(config: &Config, parts: &Parts) -> Result<Clients, ClientError> {
        let fence = Some(&parts.fence);
        let events = RateLimitLayer::new(EVENT_QPS, EVENT_BURST);
        let none = RateLimitLayer::new(0.0, 1);
        let client = |controller, limit, fence, timeout| {
            build(config, controller, &parts.request_log.layer(controller), limit, fence, timeout)
        };
        Ok(Clients {
            job: client(parts.job_controller, &parts.limit, fence, RESPONSE_TIMEOUT)?,
            ttl: client(TTL, &parts.limit, fence, RESPONSE_TIMEOUT)?,
            watch: client(parts.job_controller, &none, None, WATCH_TIMEOUT)?,
            lease: client(LEASE, &none, None, RESPONSE_TIMEOUT)?,
            events: client(parts.job_controller, &events, fence, RESPONSE_TIMEOUT)?,
        })
    }
}

/// The name of the Job controller: the last part of its user agent.
///
/// The judge of audit logs distinguishes controllers by this name (`docs/reference/judging.md`). In place of the built-in
/// controller it is the name of the built-in controller; side by side with it, it must be another one.
#[must_use]
pub fn job_controller(in_place_of_the_built_in: bool) -> &'static str {
    if in_place_of_the_built_in { "job-controller" } else { "jobcheck-controller" }
}

const TTL: &str = "ttl-after-finished-controller";
const LEASE: &str = "leader-election";

/// Returns the user agent of the controller with this name.
#[must_use]
pub fn user_agent(controller: &str) -> String {
    format!(
        "jobcheck-controller/{} ({}/{})/{controller}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

fn build(
    config: &Config,
    controller: &str,
    request_log: &RequestLogLayer,
    limit: &RateLimitLayer,
    fence: Option<&Fence>,
    timeout: Duration,
) -> Result<Client, ClientError> {
    let error = |error: &(dyn std::error::Error + 'static)| ClientError::Client(with_causes(error));
    let agent = HeaderValue::from_str(&user_agent(controller)).map_err(|it| error(&it))?;
    let mut config = config.clone();
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(timeout);
    // The timeout must not include the time in which the connection is idle in the pool.
    config.reset_reader_on_write = true;
    config.headers.retain(|(name, _)| *name != http::header::USER_AGENT);
    config.headers.push((HeaderName::from_static("user-agent"), agent));
    let open = Fence::open();
    // The last layer is the outermost one: a request waits for its token before the fence decides.
    let builder = ClientBuilder::try_from(config).map_err(|it| error(&it))?;
    Ok(builder
        .with_layer(&EventLimit)
        .with_layer(request_log)
        .with_layer(fence.unwrap_or(&open))
        .with_layer(limit)
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_ends_with_the_controller() {
        assert!(user_agent(job_controller(true)).starts_with("jobcheck-controller/"));
        assert!(user_agent(job_controller(true)).ends_with("/job-controller"));
        assert!(user_agent(job_controller(false)).ends_with("/jobcheck-controller"));
        assert!(user_agent(TTL).ends_with("/ttl-after-finished-controller"));
    }

    #[tokio::test]
    async fn a_missing_kubeconfig_is_named() {
        let target = Target { kubeconfig: Some("/nonexistent/config".into()), context: None };
        let message = config(&target).await.unwrap_err().to_string();
        assert!(message.starts_with("cannot use kubeconfig /nonexistent/config: "), "{message}");
    }
}
