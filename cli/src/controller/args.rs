//! Arguments of `jobcheck controller`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_controller::job::observed::Settings;
use jobcheck_controller::values::Text;
use jobcheck_controller_runtime::client::Target;
use jobcheck_controller_runtime::config::{Config, Election, gates};
use jobcheck_controller_runtime::gates::FeatureGates;
use jobcheck_controller_runtime::http::parse_bind_address;
use jobcheck_controller_runtime::lease::Timing;
use jobcheck_traces::parse_duration;

/// Arguments of `jobcheck controller`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ControllerArgs {
    /// Use this kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or the service account of the pod.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig; by default its current context.
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
    /// Work in this namespace only, for which a Role is enough.
    #[arg(short, long, value_name = "NAMESPACE", help_heading = "Cluster", value_parser = name)]
    namespace: Option<String>,
    /// Maximum number of requests to the API server per second; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 20.0, alias = "kube-api-qps", help_heading = "Cluster", value_parser = rate)]
    qps: f64,
    /// Maximum number of requests in a burst, above --qps.
    #[arg(long, value_name = "N", default_value_t = 30, alias = "kube-api-burst", help_heading = "Cluster", value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,

    /// Manage the Jobs with this value of spec.managedBy.
    ///
    /// By default, manage the Jobs of the built-in controller, which must not run then.
    #[arg(long, value_name = "DOMAIN/PATH", help_heading = "Behaviour", value_parser = manager)]
    managed_by: Option<String>,
    /// Controllers to run.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "job,ttl",
        value_delimiter = ',',
        help_heading = "Behaviour"
    )]
    controllers: Vec<Controller>,
    /// Switch feature gates; all are on by default.
    ///
    /// Gates: JobPodReplacementPolicy, JobBackoffLimitPerIndex, JobSuccessPolicy, JobManagedBy. With a gate switched
    /// off, the controllers behave as the versions of Kubernetes that had the switch.
    #[arg(
        long,
        value_name = "A=BOOL,...",
        default_value = "",
        hide_default_value = true,
        help_heading = "Behaviour"
    )]
    feature_gates: FeatureGates,
    /// Maximum number of Jobs, and of orphan pods, that are synced concurrently.
    #[arg(long, value_name = "N", default_value = "5", help_heading = "Behaviour", value_parser = count)]
    concurrent_job_syncs: usize,
    /// Maximum number of expired Jobs that are deleted concurrently.
    #[arg(long, value_name = "N", default_value = "5", alias = "concurrent-ttl-after-finished-syncs", help_heading = "Behaviour", value_parser = count)]
    concurrent_ttl_syncs: usize,
    /// Delay of a sync after a pod event, to batch several events.
    #[arg(long, value_name = "DURATION", default_value = "1s", help_heading = "Behaviour", value_parser = parse_duration)]
    sync_batch_period: Duration,
    /// Delay before a failed pod is replaced. It doubles with each consecutive failure.
    #[arg(long, value_name = "DURATION", default_value = "10s", help_heading = "Behaviour", value_parser = parse_duration)]
    pod_failure_backoff: Duration,
    /// Maximum delay before a failed pod is replaced.
    #[arg(long, value_name = "DURATION", default_value = "10m0s", help_heading = "Behaviour", value_parser = parse_duration)]
    pod_failure_backoff_max: Duration,
    /// Maximum number of pods that one sync counts, and so of UIDs in status.uncountedTerminatedPods.
    #[arg(long, value_name = "N", default_value = "500", help_heading = "Behaviour", value_parser = count)]
    max_uncounted_pods: usize,
    /// Maximum number of pods that one sync creates, or deletes as surplus.
    #[arg(long, value_name = "N", default_value = "500", help_heading = "Behaviour", value_parser = count)]
    max_pod_create_delete_per_sync: usize,

    /// Work only while holding a Lease, so that one of several replicas works.
    ///
    /// With false, the process works at once. It must be the only one for its Jobs, because two processes count pods
    /// twice.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set, help_heading = "Replicas")]
    leader_elect: bool,
    /// Namespace of the Lease; by default that of the pod, or of the kubeconfig's context.
    #[arg(long, value_name = "NAMESPACE", help_heading = "Replicas", value_parser = name)]
    leader_elect_resource_namespace: Option<String>,
    /// Name of the Lease; by default jobcheck-controller, followed by the value of --managed-by.
    ///
    /// Processes with the same name and namespace wait for each other. Processes for different --namespace or
    /// --controllers need different names.
    #[arg(long, value_name = "NAME", help_heading = "Replicas", value_parser = name)]
    leader_elect_resource_name: Option<String>,
    /// Time without a renewal after which another process may take the Lease.
    #[arg(long, value_name = "DURATION", default_value = "15s", help_heading = "Replicas", value_parser = parse_duration)]
    leader_elect_lease_duration: Duration,
    /// Time without a renewal after which the holder stops all writes.
    #[arg(long, value_name = "DURATION", default_value = "10s", help_heading = "Replicas", value_parser = parse_duration)]
    leader_elect_renew_deadline: Duration,
    /// Time between two attempts to take or renew the Lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", help_heading = "Replicas", value_parser = parse_duration)]
    leader_elect_retry_period: Duration,

    /// Serve /metrics, /healthz, /livez and /readyz at this address, as plain HTTP; 0 for no server.
    #[arg(long, value_name = "HOST:PORT", default_value = "0", help_heading = "Observability", value_parser = address)]
    metrics_bind_address: Address,
    /// Serve /healthz, /livez and /readyz at this address too, without metrics; 0 for no server.
    ///
    /// A port of its own for the probes of the kubelet can be closed to everything else.
    #[arg(long, value_name = "HOST:PORT", default_value = "0", help_heading = "Observability", value_parser = address)]
    health_probe_bind_address: Address,
    /// Write everything that the process sees and does to this file, a native trace for `jobcheck replay`.
    #[arg(long, value_name = "FILE", help_heading = "Observability")]
    trace: Option<PathBuf>,
    /// Replace what may be secret in the trace: values of environment variables, arguments, commands, and annotations.
    #[arg(long, requires = "trace", help_heading = "Observability")]
    redact: bool,
    /// Form of the log on standard error. RUST_LOG and --verbose choose its content.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORM", help_heading = "Observability")]
    pub log_format: LogFormat,
}

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Controller {
    /// The Job controller.
    Job,
    /// The TTL-after-finished controller, which deletes expired Jobs.
    Ttl,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The address of the metrics server; `None` for no server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address(Option<String>);

const AFTER_HELP: &str = "\
Durations are written as Go writes them: 100ms, 10s, 1h30m0s.

Next to the built-in controller, for Jobs with a value of spec.managedBy:
  jobcheck controller --managed-by example.com/job-controller
In the Job: spec.managedBy: example.com/job-controller

In place of the built-in controllers, which must be switched off
(kube-controller-manager
--controllers=*,-job-controller,-ttl-after-finished-controller):
  jobcheck controller --metrics-bind-address :8080

By default, the process works while it holds a Lease, so that a second one can
stand by. After a SIGKILL, the next process waits until the Lease expires (15 s).
If only one process ever runs, such as on a laptop, use --leader-elect=false.

Manifests for a cluster are in deploy/: two replicas, the least permissions,
health checks. docs/guide/controller.md has more.

Signals: after the first SIGTERM, SIGINT or SIGHUP, the process finishes its
requests and releases the Lease. The second one ends it at once. A SIGKILL loses nothing
either: the next process continues from what it finds.

Exit codes:
  0  stopped by a signal
  2  wrong usage
  4  no cluster, no permission, or an address or file that cannot be used
  5  internal error: please report it";

impl ControllerArgs {
    /// The configuration of the process.
    ///
    /// # Errors
    ///
    /// The flags exclude each other.
    pub fn config(&self) -> Result<Config, String> {
        let timing = Timing {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        check(self, timing)?;
        let lease = Election::of_manager(self.managed_by.as_deref());
        let election = self.leader_elect.then(|| Election {
            namespace: self.leader_elect_resource_namespace.clone(),
            name: self.leader_elect_resource_name.clone().unwrap_or(lease.name),
            timing,
        });
        Ok(Config {
            target: Target { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() },
            namespace: self.namespace.clone(),
            job: self.controllers.contains(&Controller::Job),
            ttl: self.controllers.contains(&Controller::Ttl),
            settings: Settings {
                managed_by: self.managed_by.as_deref().map(Text::from),
                max_uncounted_pods: self.max_uncounted_pods,
                max_pod_create_delete_per_sync: self.max_pod_create_delete_per_sync,
                pod_failure_backoff: self.pod_failure_backoff,
                pod_failure_backoff_max: self.pod_failure_backoff_max,
                sync_batch_period: self.sync_batch_period,
                gates: gates(&self.feature_gates),
            },
            concurrent_job_syncs: self.concurrent_job_syncs,
            concurrent_ttl_syncs: self.concurrent_ttl_syncs,
            qps: self.qps,
            burst: self.burst,
            metrics_bind_address: self.metrics_bind_address.0.clone(),
            health_probe_bind_address: self.health_probe_bind_address.0.clone(),
            election,
            trace: self.trace.clone(),
            redacts_trace: self.redact,
        })
    }
}

/// Checks the flags that depend on each other.
fn check(args: &ControllerArgs, timing: Timing) -> Result<(), String> {
    if args.pod_failure_backoff > args.pod_failure_backoff_max {
        return Err("--pod-failure-backoff is longer than --pod-failure-backoff-max".to_owned());
    }
    if args.managed_by.is_some() && !gates(&args.feature_gates).managed_by {
        return Err("--managed-by needs the feature gate JobManagedBy, which is off".to_owned());
    }
    if timing.lease_duration < Duration::from_secs(1) {
        return Err("--leader-elect-lease-duration must be at least 1s, the unit of a Lease".to_owned());
    }
    if timing.renew_deadline >= timing.lease_duration {
        return Err("--leader-elect-renew-deadline must be shorter than --leader-elect-lease-duration; \
             otherwise two replicas could write at the same time"
            .to_owned());
    }
    // The rule of client-go, whose attempts have a jitter factor of 1.2.
    if timing.retry_period.is_zero() || timing.retry_period.mul_f64(1.2) >= timing.renew_deadline {
        return Err(
            "--leader-elect-retry-period must be above 0 and well below --leader-elect-renew-deadline"
                .to_owned(),
        );
    }
    Ok(())
}

/// Parses a value of `spec.managedBy`: a domain and a path, at most 63 bytes (MB-01).
pub fn manager(text: &str) -> Result<String, String> {
    let is_domain = |part: &str| {
        let label = |label: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !label.is_empty() && label.chars().all(plain) && !label.starts_with('-') && !label.ends_with('-')
        };
        part.split('.').all(label)
    };
    match text.split_once('/') {
        _ if text.len() > 63 => Err("longer than 63 bytes, the maximum of spec.managedBy".to_owned()),
        Some((domain, path)) if is_domain(domain) && !path.is_empty() => Ok(text.to_owned()),
        _ => Err("not of the form DOMAIN/PATH, such as example.com/job-controller".to_owned()),
    }
}

/// Parses a name that can be part of a path of the API.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if text.is_empty() || text.len() > 253 || !text.chars().all(plain) {
        return Err("expected lower-case letters, digits, - and . only".to_owned());
    }
    Ok(text.to_owned())
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) if number <= 1_000_000 => Ok(number),
        Ok(_) => Err("must be at most 1000000".to_owned()),
        Err(_) => Err("not a whole number".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        Ok(_) => Err("must be 0 or more".to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}

fn address(text: &str) -> Result<Address, String> {
    parse_bind_address(text).map(Address).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: ControllerArgs,
    }

    fn parse(words: &[&str]) -> Result<Config, String> {
        let cli =
            Cli::try_parse_from([&["controller"], words].concat()).map_err(|error| error.to_string())?;
        cli.args.config()
    }

    #[test]
    fn the_defaults_are_those_of_the_built_in_controllers() {
        assert_eq!(parse(&[]), Ok(Config::default()));
    }

    #[test]
    fn every_flag_reaches_the_configuration() {
        let config = parse(&[
            "--managed-by=acme.example.com/runner",
            "--namespace=ns",
            "--metrics-bind-address=:8080",
            "--health-probe-bind-address=:8081",
            "--leader-elect-resource-name=lease",
            "--leader-elect-resource-namespace=leases",
            "--qps=0",
            "--burst=7",
            "--concurrent-job-syncs=3",
            "--concurrent-ttl-syncs=2",
            "--sync-batch-period=100ms",
            "--pod-failure-backoff=1s",
            "--pod-failure-backoff-max=1m0s",
            "--max-uncounted-pods=10",
            "--max-pod-create-delete-per-sync=11",
            "--feature-gates=JobSuccessPolicy=false",
            "--controllers=job",
            "--trace=t.jsonl",
            "--kubeconfig=k",
            "--context=c",
        ])
        .unwrap();
        assert_eq!(config.settings.managed_by.as_deref(), Some("acme.example.com/runner"));
        assert_eq!(config.settings.sync_batch_period, Duration::from_millis(100));
        assert_eq!(config.settings.pod_failure_backoff_max, Duration::from_secs(60));
        assert_eq!(
            (config.settings.max_uncounted_pods, config.settings.max_pod_create_delete_per_sync),
            (10, 11)
        );
        assert!(!config.settings.gates.success_policy && config.settings.gates.managed_by);
        assert_eq!((config.job, config.ttl), (true, false));
        assert_eq!((config.concurrent_job_syncs, config.concurrent_ttl_syncs, config.burst), (3, 2, 7));
        assert_eq!(config.metrics_bind_address.as_deref(), Some("0.0.0.0:8080"));
        assert_eq!(config.health_probe_bind_address.as_deref(), Some("0.0.0.0:8081"));
        let (namespace, timing) = (Some("leases".to_owned()), Timing::default());
        assert_eq!(config.election, Some(Election { namespace, name: "lease".to_owned(), timing }));
        assert_eq!(config.target.context.as_deref(), Some("c"));
    }

    /// SY-01: a second process that is started by mistake does no harm.
    #[test]
    fn it_leads_or_stands_by_unless_leader_election_is_switched_off() {
        let lease = |words: &[&str]| parse(words).unwrap().election.map(|election| election.name);
        assert_eq!(lease(&[]).as_deref(), Some("jobcheck-controller"));
        assert_eq!(lease(&["--leader-elect"]), lease(&[]));
        assert_eq!(lease(&["--leader-elect=true"]), lease(&[]));
        assert_eq!(lease(&["--leader-elect=false"]), None);
        assert_eq!(
            lease(&["--managed-by=acme.example.com/runner"]).as_deref(),
            Some("jobcheck-controller-acme.example.com-runner")
        );
    }

    #[test]
    fn a_wrong_value_is_rejected_with_a_reason() {
        for (words, reason) in [
            (&["--managed-by=runner"][..], "DOMAIN/PATH"),
            (&["--managed-by=acme.example.com/"], "DOMAIN/PATH"),
            (&["--concurrent-job-syncs=0"], "at least 1"),
            (&["--burst=0"], "0 is not in"),
            (&["--qps=-1"], "0 or more"),
            (&["--qps=NaN"], "0 or more"),
            (&["--sync-batch-period=1"], "expected a duration"),
            (&["--sync-batch-period=-1s"], "expected a duration"),
            (&["--feature-gates=Nope=true"], "unknown feature gate"),
            (&["--controllers=cron"], "possible values"),
            (&["--metrics-bind-address=8080"], "not a listen address"),
            (&["--namespace=../x"], "lower-case letters"),
            (&["--pod-failure-backoff=1h"], "longer than"),
            (&["--leader-elect-renew-deadline=15s"], "two replicas"),
            (&["--leader-elect-retry-period=9s"], "well below"),
            (&["--managed-by=a.b/c", "--feature-gates=JobManagedBy=false"], "needs the feature gate"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(reason), "{words:?}: {error}");
        }
    }
}
