//! The clients of a process: what limits, fences and counts the requests of each.
//!
//! kube's own retry of requests is off: it sends any method again, and a POST that was answered with 504 after it had
//! been carried out would make two pods. Who retries is the queue, after a look at what is stored.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;

use super::answer;
use super::fence::Fence;
use super::rate_limit::RateLimitLayer;
use super::wire::{Wire, WireLayer};

/// Which cluster, as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// `--kubeconfig`; else `$KUBECONFIG`, `~/.kube/config`, and the service account of the pod, in this order.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`; else the file's current one.
    pub context: Option<String>,
}

/// There is no way to the cluster.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The file named by `--kubeconfig` cannot be used.
    #[error("cannot use kubeconfig {path}: {why}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// There is no configuration, or it has no such context.
    #[error("no cluster: {0}; give --kubeconfig, set KUBECONFIG, or run in a pod with a service account")]
    NoCluster(String),
    /// The configuration cannot be turned into a client.
    #[error("cannot build a client: {0}")]
    Client(String),
}

/// The clients of one process.
#[derive(Clone)]
pub struct Clients {
    /// Reads and writes of the Job controller: limited, behind the fence.
    pub job: Client,
    /// Reads and writes of the TTL controller: the same limit, behind the fence.
    pub ttl: Client,
    /// LIST and WATCH of the reflectors.
    pub watch: Client,
    /// The lease: neither limited nor fenced.
    pub lease: Client,
    /// Events: a limit of their own, behind the fence.
    pub events: Client,
}

/// What is common to the clients of a process.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The name under which the Job controller acts ([`job_controller`]).
    pub job_controller: &'static str,
    /// The fence before writes.
    pub fence: Fence,
    /// `--qps` and `--burst`.
    pub limit: RateLimitLayer,
    /// What sees every request.
    pub wire: Wire,
}

/// A connection that is not made by then never is.
const CONNECT: Duration = Duration::from_secs(10);
/// An answer that has not come by then is lost; the API server gives up after 60 s itself.
const ANSWER: Duration = Duration::from_secs(70);
/// Longer than the server's own end of a watch ([`super::reflector`]).
const WATCH: Duration = Duration::from_secs(320);
/// Limit of the events: they must not use up what the work needs.
const EVENT_QPS: f64 = 10.0;
const EVENT_BURST: u32 = 50;

/// Reads the configuration, as kubectl does.
///
/// # Errors
/// There is none, or it is not readable.
pub async fn config(target: &Target) -> Result<Config, ClientError> {
    let options = KubeConfigOptions { context: target.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &target.kubeconfig {
        let error = |why: String| ClientError::Kubeconfig { path: path.display().to_string(), why };
        let file = Kubeconfig::read_from(path).map_err(|it| error(answer::told(&it)))?;
        return Config::from_custom_kubeconfig(file, &options).await.map_err(|it| error(answer::told(&it)));
    }
    if target.context.is_some() {
        return Config::from_kubeconfig(&options)
            .await
            .map_err(|error| ClientError::NoCluster(answer::told(&error)));
    }
    Config::infer().await.map_err(|error| ClientError::NoCluster(answer::told(&error)))
}

impl Clients {
    /// All clients for this configuration.
    ///
    /// # Errors
    /// A certificate or credential in it cannot be used.
    pub fn new(config: &Config, parts: &Parts) -> Result<Clients, ClientError> {
        let fence = Some(&parts.fence);
        let events = RateLimitLayer::new(EVENT_QPS, EVENT_BURST);
        let none = RateLimitLayer::new(0.0, 1);
        let client = |controller, limit, fence, patience| {
            build(config, controller, &parts.wire.layer(controller), limit, fence, patience)
        };
        Ok(Clients {
            job: client(parts.job_controller, &parts.limit, fence, ANSWER)?,
            ttl: client(TTL, &parts.limit, fence, ANSWER)?,
            watch: client(parts.job_controller, &none, None, WATCH)?,
            lease: client(LEASE, &none, None, ANSWER)?,
            events: client(parts.job_controller, &events, fence, ANSWER)?,
        })
    }
}

/// The name under which the Job controller acts, the last part of its user agent: audit logs tell controllers apart by
/// it (judging.md 1). In place of the built-in controller it has the built-in's; beside it, it must not be taken for it.
#[must_use]
pub fn job_controller(in_place_of_the_built_in: bool) -> &'static str {
    if in_place_of_the_built_in { "job-controller" } else { "jobcheck-controller" }
}

const TTL: &str = "ttl-after-finished-controller";
const LEASE: &str = "leader-election";

/// The user agent of a controller.
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
    wire: &WireLayer,
    limit: &RateLimitLayer,
    fence: Option<&Fence>,
    patience: Duration,
) -> Result<Client, ClientError> {
    let error = |error: &(dyn std::error::Error + 'static)| ClientError::Client(answer::told(error));
    let agent = HeaderValue::from_str(&user_agent(controller)).map_err(|it| error(&it))?;
    let mut config = config.clone();
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(patience);
    // The time that a connection idles in the pool is no time of waiting for an answer.
    config.reset_reader_on_write = true;
    config.headers.retain(|(name, _)| *name != http::header::USER_AGENT);
    config.headers.push((HeaderName::from_static("user-agent"), agent));
    let open = Fence::open();
    // The last layer is the outermost: a request waits for its token first, then the fence is asked.
    let builder = ClientBuilder::try_from(config).map_err(|it| error(&it))?;
    Ok(builder.with_layer(wire).with_layer(fence.unwrap_or(&open)).with_layer(limit).build())
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
        let told = config(&target).await.unwrap_err().to_string();
        assert!(told.starts_with("cannot use kubeconfig /nonexistent/config: "), "{told}");
    }
}
