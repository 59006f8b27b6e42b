//! The settings of a process: every flag of `jobcheck controller`, with its default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jobcheck_controller::job::observed::{Gates, Settings};
use jobcheck_traces::format_duration;

use super::client::Target;
use super::gates::FeatureGates;
use super::lease::Timing;

/// The settings of one process.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The cluster and the credentials.
    pub target: Target,
    /// The namespace to work in; all namespaces if there is none.
    pub namespace: Option<String>,
    /// True if the Job controller runs.
    pub job: bool,
    /// True if the TTL controller runs.
    pub ttl: bool,
    /// The settings of the decisions.
    pub settings: Settings,
    /// The number of Jobs, and also of orphan pods, that are synced concurrently.
    pub concurrent_job_syncs: usize,
    /// The number of finished Jobs that the TTL controller syncs concurrently.
    pub concurrent_ttl_syncs: usize,
    /// The rate limit in requests per second; no limit if it is 0 or less.
    pub qps: f64,
    /// The maximum number of requests at once.
    pub burst: u32,
    /// `HOST:PORT` of the HTTP server; no server if there is none.
    pub metrics_bind_address: Option<String>,
    /// `HOST:PORT` of a second HTTP server, which has the health checks only; no such server if there is none.
    pub health_probe_bind_address: Option<String>,
    /// Leader election; none if no other process runs.
    pub election: Option<Election>,
    /// The file of the native trace.
    pub trace: Option<PathBuf>,
    /// Takes secrets out of the trace.
    pub redacts_trace: bool,
}

/// The settings of leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// The namespace of the Lease. The default is the namespace of the pod or of the kubeconfig context.
    pub namespace: Option<String>,
    /// The name of the Lease.
    pub name: String,
    /// The durations.
    pub timing: Timing,
}

/// The name of the Lease of processes that manage the Jobs without `spec.managedBy`.
const LEASE: &str = "jobcheck-controller";

impl Election {
    /// The settings of processes that manage the Jobs with this value of `spec.managedBy`.
    ///
    /// Each value has a Lease of its own, because processes with different values do not write the same Jobs.
    #[must_use]
    pub fn of_manager(managed_by: Option<&str>) -> Election {
        Election { namespace: None, name: lease_name(managed_by), timing: Timing::default() }
    }
}

/// Returns a valid object name for a manager.
///
/// Two managers may have the same name. Only one of them works then, until the user sets another name for the other.
fn lease_name(managed_by: Option<&str>) -> String {
    let Some(manager) = managed_by else { return LEASE.to_owned() };
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let manager: String = manager.chars().map(plain).collect();
    // Each part between two dots begins and ends with a letter or a digit.
    let parts = manager.split('.').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty());
    format!("{LEASE}-{}", parts.collect::<Vec<_>>().join("."))
}

impl Default for Config {
    fn default() -> Self {
        Config {
            target: Target::default(),
            namespace: None,
            job: true,
            ttl: true,
            settings: Settings::default(),
            concurrent_job_syncs: 5,
            concurrent_ttl_syncs: 5,
            qps: 20.0,
            burst: 30,
            metrics_bind_address: None,
            health_probe_bind_address: None,
            election: Some(Election::of_manager(None)),
            trace: None,
            redacts_trace: false,
        }
    }
}

/// Returns the gates of the decisions.
#[must_use]
pub fn gates(gates: &FeatureGates) -> Gates {
    Gates {
        pod_replacement_policy: gates.is_on("JobPodReplacementPolicy"),
        backoff_limit_per_index: gates.is_on("JobBackoffLimitPerIndex"),
        success_policy: gates.is_on("JobSuccessPolicy"),
        managed_by: gates.is_on("JobManagedBy"),
    }
}

impl Config {
    /// The assumptions under which a trace has to be judged, as far as they differ from the defaults of Kubernetes 1.36
    /// (`docs/reference/trace-format.md`).
    #[must_use]
    pub fn assumptions(&self) -> BTreeMap<String, String> {
        let (ours, default) = (&self.settings, Settings::default());
        let mut assumptions = BTreeMap::new();
        let mut assume = |name: &str, differs: bool, value: String| {
            if differs {
                assumptions.insert(name.to_owned(), value);
            }
        };
        let backoff = ours.pod_failure_backoff;
        assume("pod-failure-backoff", backoff != default.pod_failure_backoff, format_duration(backoff));
        let longest = ours.pod_failure_backoff_max;
        assume(
            "pod-failure-backoff-max",
            longest != default.pod_failure_backoff_max,
            format_duration(longest),
        );
        let uncounted = ours.max_uncounted_pods;
        assume("max-uncounted-pods", uncounted != default.max_uncounted_pods, uncounted.to_string());
        let gates = ours.gates;
        for (name, on) in [
            ("JobPodReplacementPolicy", gates.pod_replacement_policy),
            ("JobBackoffLimitPerIndex", gates.backoff_limit_per_index),
            ("JobSuccessPolicy", gates.success_policy),
            ("JobManagedBy", gates.managed_by),
        ] {
            assume(name, !on, on.to_string());
        }
        assumptions
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_settings_that_differ_are_assumed() {
        assert!(Config::default().assumptions().is_empty());
        let mut config = Config::default();
        config.settings.pod_failure_backoff = Duration::from_millis(100);
        config.settings.gates.success_policy = false;
        let assumed: Vec<String> =
            config.assumptions().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(assumed, ["JobSuccessPolicy=false", "pod-failure-backoff=100ms"]);
    }

    /// SY-01: only processes for the same Jobs share a lease.
    #[test]
    fn each_manager_has_a_lease_of_its_own() {
        let name = |manager| Election::of_manager(manager).name;
        assert_eq!(name(None), "jobcheck-controller");
        assert_eq!(name(Some("acme.example.com/runner")), "jobcheck-controller-acme.example.com-runner");
        assert_eq!(name(Some("a.example/R_2")), "jobcheck-controller-a.example-r-2");
        assert_eq!(name(Some("a.example/.x-.-y/")), "jobcheck-controller-a.example.x.y");
        assert_eq!(Config::default().election, Some(Election::of_manager(None)));
        assert_eq!(Election::of_manager(None).timing, Timing::default());
    }

    #[test]
    fn gates_apply_to_the_decisions() {
        let gates = gates(&"JobManagedBy=false".parse().unwrap());
        assert!(!gates.managed_by && gates.success_policy && gates.backoff_limit_per_index);
    }
}
