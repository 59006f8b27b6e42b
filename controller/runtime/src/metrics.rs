//! Metrics with the names and labels of Kubernetes (family MX, TT-12) and of client-go (queues, leader election,
//! requests).

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::prometheus_text;

/// The names and values of labels.
pub type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Depths = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, Buckets>;

/// All metrics of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    job_sync_duration: Histograms,
    job_syncs: Counters,
    jobs_finished: Counters,
    job_pods_finished: Counters,
    job_finished_indexes: Counters,
    job_pods_creation: Counters,
    pod_failures_handled: Counters,
    terminated_pods_tracking_finalizer: Counters,
    jobs_by_external_controller: Counters,
    stale_sync_skips: Counters,
    ttl_deletion_duration: Histogram,
    leader: Depths,
    requests: Counters,
    queues: Queues,
}

#[derive(Clone, Debug)]
struct Queues {
    depth: Depths,
    adds: Counters,
    wait: Histograms,
    work: Histograms,
    unfinished: Gauges,
    longest: Gauges,
    retries: Counters,
}

/// The metrics of one queue.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    /// The number of ready keys.
    pub depth: Gauge,
    /// The number of added keys, without keys that were in the queue already.
    pub adds: Counter,
    /// The seconds between the addition of a key and the start of its sync.
    pub wait: Histogram,
    /// The seconds of a sync.
    pub work: Histogram,
    /// The seconds of all running syncs.
    pub unfinished: Gauge<f64, AtomicU64>,
    /// The seconds of the longest running sync.
    pub longest: Gauge<f64, AtomicU64>,
    /// The number of retries after a failure.
    pub retries: Counter,
}

/// The labels of a sync (MX-01, MX-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncLabels<'a> {
    /// `Indexed` or `NonIndexed`.
    pub completion_mode: &'a str,
    /// True if the sync succeeded.
    pub success: bool,
    /// `reconciling`, `tracking`, `pods_created`, or `pods_deleted` (MX-11).
    pub action: &'a str,
}

/// The buckets of a family of histograms: start, factor, and number.
#[derive(Clone, Copy, Debug)]
struct Buckets(f64, f64, u16);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(exponential_buckets(self.0, self.1, self.2))
    }
}

/// The buckets of MX-01.
const SYNC: Buckets = Buckets(0.004, 2.0, 15);
/// The buckets of TT-12.
const TTL: Buckets = Buckets(0.1, 2.0, 14);
/// The buckets of the work queues of client-go.
const QUEUE: Buckets = Buckets(10e-9, 10.0, 10);

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// Registers all metrics, with the value zero, and the time now as the start of the process.
    #[must_use]
    pub fn new() -> Metrics {
        let mut registry = Registry::default();
        let to = &mut registry;
        started(to);
        Metrics {
            job_sync_duration: histograms(
                to,
                "job_controller_job_sync_duration_seconds",
                "The time it took to sync a job",
                SYNC,
            ),
            job_syncs: counters(to, "job_controller_job_syncs", "The number of job syncs"),
            jobs_finished: counters(to, "job_controller_jobs_finished", "The number of finished jobs"),
            job_pods_finished: counters(
                to,
                "job_controller_job_pods_finished",
                "The number of finished Pods that are fully tracked",
            ),
            job_finished_indexes: counters(
                to,
                "job_controller_job_finished_indexes",
                "The number of finished indexes, by status and by the limit that applies",
            ),
            job_pods_creation: counters(
                to,
                "job_controller_job_pods_creation",
                "The number of Pods created by the Job controller, by reason and status of the creation",
            ),
            pod_failures_handled: counters(
                to,
                "job_controller_pod_failures_handled_by_failure_policy",
                "The number of failed Pods handled by failure policy, by the action of the rule that matched",
            ),
            terminated_pods_tracking_finalizer: counters(
                to,
                "job_controller_terminated_pods_tracking_finalizer",
                "The number of terminated pods that got or lost the finalizer batch.kubernetes.io/job-tracking",
            ),
            jobs_by_external_controller: counters(
                to,
                "job_controller_jobs_by_external_controller",
                "The number of Jobs managed by an external controller",
            ),
            stale_sync_skips: counters(
                to,
                "job_controller_stale_sync_skips",
                "Total number of Job syncs skipped due to a stale watch cache",
            ),
            ttl_deletion_duration: {
                let histogram = TTL.new_metric();
                to.register(
                    "ttl_after_finished_controller_job_deletion_duration_seconds",
                    "The time it took to delete the job since it became eligible for deletion",
                    histogram.clone(),
                );
                histogram
            },
            leader: depths(
                to,
                "leader_election_master_status",
                "1 while this process holds the lease of that name",
            ),
            requests: counters(
                to,
                "rest_client_requests",
                "Number of HTTP requests, by status code and method",
            ),
            queues: Queues::new(to),
            registry: Arc::new(registry),
        }
    }

    /// Returns the metrics of the queue with this name.
    #[must_use]
    pub fn queue(&self, name: &str) -> QueueMetrics {
        let labels = vec![("name", name.to_owned())];
        QueueMetrics {
            depth: self.queues.depth.get_or_create(&labels).clone(),
            adds: self.queues.adds.get_or_create(&labels).clone(),
            wait: self.queues.wait.get_or_create(&labels).clone(),
            work: self.queues.work.get_or_create(&labels).clone(),
            unfinished: self.queues.unfinished.get_or_create(&labels).clone(),
            longest: self.queues.longest.get_or_create(&labels).clone(),
            retries: self.queues.retries.get_or_create(&labels).clone(),
        }
    }

    /// MX-01, MX-02: counts a sync that took so many seconds.
    pub fn synced(&self, labels: SyncLabels<'_>, seconds: f64) {
        let labels = vec![
            ("completion_mode", labels.completion_mode.to_owned()),
            ("result", if labels.success { "success" } else { "error" }.to_owned()),
            ("action", labels.action.to_owned()),
        ];
        self.job_sync_duration.get_or_create(&labels).observe(seconds);
        self.job_syncs.get_or_create(&labels).inc();
    }

    /// MX-03: counts a finished Job.
    pub fn job_finished(&self, completion_mode: &str, succeeded: bool, reason: &str) {
        let labels = vec![
            ("completion_mode", completion_mode.to_owned()),
            ("result", result(succeeded)),
            ("reason", reason.to_owned()),
        ];
        self.jobs_finished.get_or_create(&labels).inc();
    }

    /// MX-04: counts pods that moved to a counter of their Job.
    pub fn pods_finished(&self, completion_mode: &str, succeeded: bool, pods: u64) {
        let labels = vec![("completion_mode", completion_mode.to_owned()), ("result", result(succeeded))];
        self.job_pods_finished.get_or_create(&labels).inc_by(pods);
    }

    /// MX-05: counts finished indexes. `per_index` is true if the Job has a limit per index.
    pub fn indexes_finished(&self, succeeded: bool, per_index: bool, indexes: u64) {
        let limit = if per_index { "perIndex" } else { "global" };
        let labels = vec![("status", result(succeeded)), ("backoffLimit", limit.to_owned())];
        self.job_finished_indexes.get_or_create(&labels).inc_by(indexes);
    }

    /// MX-06: counts creations of pods. The reason is one of MX-12.
    pub fn pods_created(&self, reason: &str, succeeded: bool, pods: u64) {
        let labels = vec![("reason", reason.to_owned()), ("status", result(succeeded))];
        self.job_pods_creation.get_or_create(&labels).inc_by(pods);
    }

    /// MX-07: counts failures that matched a rule with this action.
    pub fn pod_failures_handled(&self, action: &str, pods: u64) {
        self.pod_failures_handled.get_or_create(&vec![("action", action.to_owned())]).inc_by(pods);
    }

    /// MX-08: counts a terminated pod that got (`add`) or lost (`delete`) the tracking finalizer.
    pub fn terminated_pod_with_finalizer(&self, added: bool) {
        let event = if added { "add" } else { "delete" };
        self.terminated_pods_tracking_finalizer.get_or_create(&vec![("event", event.to_owned())]).inc();
    }

    /// MX-09, MB-06: counts a Job of another controller.
    pub fn job_by_external_controller(&self, controller_name: &str) {
        let labels = vec![("controller_name", controller_name.to_owned())];
        self.jobs_by_external_controller.get_or_create(&labels).inc();
    }

    /// MX-10: counts a sync that was deferred because of a stale cache. The resource is `jobs` or `pods`.
    pub fn stale_sync_skipped(&self, resource: &str) {
        let group = if resource == "jobs" { "batch" } else { "" };
        let labels = vec![("group", group.to_owned()), ("resource", resource.to_owned())];
        self.stale_sync_skips.get_or_create(&labels).inc();
    }

    /// TT-12: records the deletion of a Job so many seconds after its TTL had expired.
    pub fn ttl_deleted(&self, seconds: f64) {
        self.ttl_deletion_duration.observe(seconds);
    }

    /// Sets whether this process holds the lease with this name.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leader.get_or_create(&vec![("name", lease.to_owned())]).set(i64::from(leads));
    }

    /// Counts a request by its response code; `<error>` if there was no response.
    pub fn requested(&self, method: &str, code: &str) {
        let labels = vec![("code", code.to_owned()), ("method", method.to_owned())];
        self.requests.get_or_create(&labels).inc();
    }

    /// Returns all metrics in the Prometheus text format 0.0.4, in a fixed order.
    #[must_use]
    pub fn text(&self) -> String {
        let mut open_metrics = String::new();
        match encode(&mut open_metrics, &self.registry) {
            Ok(()) => prometheus_text::from_open_metrics(&open_metrics),
            Err(error) => {
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = writeln!(text, "# cannot encode the metrics: {error}");
                text
            }
        }
    }
}

/// OP-06: a reader sees restarts as changes of this metric.
fn started(to: &mut Registry) {
    let start = Gauge::<f64, AtomicU64>::default();
    start.set(jiff::Timestamp::now().as_millisecond() as f64 / 1000.0);
    to.register("process_start_time_seconds", "Start time of the process since unix epoch in seconds", start);
}

fn result(succeeded: bool) -> String {
    if succeeded { "succeeded" } else { "failed" }.to_owned()
}

impl Queues {
    fn new(to: &mut Registry) -> Queues {
        let depth = depths(to, "workqueue_depth", "Current depth of workqueue");
        let adds = counters(to, "workqueue_adds", "Total number of adds handled by workqueue");
        let wait = histograms(
            to,
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            QUEUE,
        );
        let work = histograms(
            to,
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            QUEUE,
        );
        let unfinished = Gauges::default();
        to.register(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work is in progress and not in work_duration",
            unfinished.clone(),
        );
        let longest = Gauges::default();
        to.register(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
            longest.clone(),
        );
        let retries = counters(to, "workqueue_retries", "Total number of retries handled by workqueue");
        Queues { depth, adds, wait, work, unfinished, longest, retries }
    }
}

/// Registers a family of counters. The library appends `_total` to the name.
fn counters(registry: &mut Registry, name: &str, help: &str) -> Counters {
    let family = Counters::default();
    registry.register(name, help, family.clone());
    family
}

fn depths(registry: &mut Registry, name: &str, help: &str) -> Depths {
    let family = Depths::default();
    registry.register(name, help, family.clone());
    family
}

fn histograms(registry: &mut Registry, name: &str, help: &str, buckets: Buckets) -> Histograms {
    let family = Histograms::new_with_constructor(buckets);
    registry.register(name, help, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(metrics: &Metrics, start: &str) -> Vec<String> {
        metrics.text().lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
    }

    /// MX-01, MX-02, MX-03, MX-04, MX-05, MX-06, MX-07, MX-08, MX-09, MX-10.
    #[test]
    fn names_and_labels_are_those_of_the_built_in_controller() {
        let metrics = Metrics::new();
        metrics.synced(SyncLabels { completion_mode: "Indexed", success: true, action: "tracking" }, 0.003);
        metrics.job_finished("NonIndexed", false, "DeadlineExceeded");
        metrics.pods_finished("Indexed", true, 3);
        metrics.indexes_finished(false, true, 2);
        metrics.pods_created("recreate_failed", false, 1);
        metrics.pod_failures_handled("FailIndex", 1);
        metrics.terminated_pod_with_finalizer(true);
        metrics.terminated_pod_with_finalizer(false);
        metrics.job_by_external_controller("acme.example.com/x");
        metrics.stale_sync_skipped("jobs");
        let found: Vec<String> =
            lines(&metrics, "job_controller_").into_iter().filter(|line| !line.contains("_bucket")).collect();
        assert_eq!(
            found,
            [
                "job_controller_job_sync_duration_seconds_sum{completion_mode=\"Indexed\",result=\"success\",action=\"tracking\"} 0.003",
                "job_controller_job_sync_duration_seconds_count{completion_mode=\"Indexed\",result=\"success\",action=\"tracking\"} 1",
                "job_controller_job_syncs_total{completion_mode=\"Indexed\",result=\"success\",action=\"tracking\"} 1",
                "job_controller_jobs_finished_total{completion_mode=\"NonIndexed\",result=\"failed\",reason=\"DeadlineExceeded\"} 1",
                "job_controller_job_pods_finished_total{completion_mode=\"Indexed\",result=\"succeeded\"} 3",
                "job_controller_job_finished_indexes_total{status=\"failed\",backoffLimit=\"perIndex\"} 2",
                "job_controller_job_pods_creation_total{reason=\"recreate_failed\",status=\"failed\"} 1",
                "job_controller_pod_failures_handled_by_failure_policy_total{action=\"FailIndex\"} 1",
                "job_controller_terminated_pods_tracking_finalizer_total{event=\"add\"} 1",
                "job_controller_terminated_pods_tracking_finalizer_total{event=\"delete\"} 1",
                "job_controller_jobs_by_external_controller_total{controller_name=\"acme.example.com/x\"} 1",
                "job_controller_stale_sync_skips_total{group=\"batch\",resource=\"jobs\"} 1",
            ]
        );
        assert_eq!(
            lines(&metrics, "# TYPE job_controller_job_syncs"),
            ["# TYPE job_controller_job_syncs_total counter"]
        );
        let buckets = lines(&metrics, "job_controller_job_sync_duration_seconds_bucket");
        assert_eq!(buckets.len(), 16, "15 buckets and +Inf");
        assert!(buckets[0].contains("{le=\"0.004\","), "{}", buckets[0]);
    }

    /// TT-12.
    #[test]
    fn the_ttl_controller_has_its_histogram() {
        let metrics = Metrics::new();
        metrics.ttl_deleted(0.15);
        let name = "ttl_after_finished_controller_job_deletion_duration_seconds";
        assert_eq!(lines(&metrics, &format!("{name}_count")), [format!("{name}_count 1")]);
        assert_eq!(lines(&metrics, &format!("{name}_bucket")).len(), 15);
    }

    #[test]
    fn a_queue_shows_under_its_name() {
        let metrics = Metrics::new();
        let queue = metrics.queue("ttl_jobs_to_delete");
        queue.adds.inc();
        queue.depth.set(4);
        assert_eq!(
            lines(&metrics, "workqueue_adds_total"),
            ["workqueue_adds_total{name=\"ttl_jobs_to_delete\"} 1"]
        );
        assert_eq!(lines(&metrics, "workqueue_depth"), ["workqueue_depth{name=\"ttl_jobs_to_delete\"} 4"]);
    }
}
