//! One term of leadership: new caches, queues, and memory, and workers until the term ends.
//!
//! A term starts with new lists, so that no decision is older than the last write of the previous leader (SY-10). No
//! state of a term survives it.
//!
//! A term also ends if etcd was restored. Its caches, own writes, and memory belong to the former history, and the next term
//! begins without them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jobcheck_access::Readable;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::cached::{JobStore, PodStore};
use super::client::Clients;
use super::config::Config;
use super::enact::Enactor;
use super::events::Recorder;
use super::handlers::Wiring;
use super::job_sync::JobSync;
use super::memories::Memories;
use super::metrics::Metrics;
use super::orphan_sync::OrphanSync;
use super::own_writes::OwnWrites;
use super::queue::WorkQueue;
use super::reflector::{Reflector, Staleness};
use super::retry::RetryLimiter;
use super::store::ObjectKey;
use super::trace::Tracer;
use super::ttl_sync::TtlSync;
use super::workers;

/// The parts of the process that its terms share.
#[derive(Clone)]
pub struct Process {
    /// The settings.
    pub config: Arc<Config>,
    /// The clients.
    pub clients: Clients,
    /// The metrics.
    pub metrics: Metrics,
    /// The recorder of events.
    pub recorder: Recorder,
    /// The native trace, if there is one.
    pub tracer: Option<Arc<Tracer>>,
    /// The progress of the current term.
    pub progress: Arc<Progress>,
}

/// The progress of a term, for readiness and metrics.
#[derive(Debug, Default)]
pub struct Progress {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waits_for: Option<&'static str>,
    caches: Vec<Arc<Staleness>>,
    queues: Vec<WorkQueue<ObjectKey>>,
}

impl Progress {
    /// Returns the reason why the term is not ready; none if it is ready.
    #[must_use]
    pub fn waits_for(&self) -> Option<&'static str> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stale = state.caches.iter().any(|cache| cache.is_stale());
        state.waits_for.or_else(|| is_stale.then_some("a cache is stale: the API server answers no LIST"))
    }

    /// Updates the metrics of the queues.
    pub fn observe_queues(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.queues.iter().for_each(WorkQueue::observe_running);
    }

    fn set_waits_for(&self, what: Option<&'static str>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waits_for = what;
    }

    fn add_cache(&self, cache: Arc<Staleness>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).caches.push(cache);
    }

    fn forget_caches(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).caches.clear();
    }

    fn set_queues(&self, queues: Vec<WorkQueue<ObjectKey>>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).queues = queues;
    }
}

/// The time for requests that are in flight at the end of a term. It is less than the grace period of the pod.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The delay before the term that follows one with another history. A server that goes back again and again is not listed
/// in a tight loop.
const HISTORY_PAUSE: Duration = Duration::from_secs(1);

/// Runs a term until `stop`, and another one whenever etcd was restored. No request is in flight after it returns.
pub async fn run(process: &Process, stop: &CancellationToken) {
    loop {
        let term = stop.child_token();
        run_one(process, &term).await;
        if stop.is_cancelled() {
            return;
        }
        warn!("etcd was restored: beginning a new term with empty caches");
        process.tracer.iter().for_each(|tracer| tracer.gap("etcd was restored"));
        let _ = timeout(HISTORY_PAUSE, stop.cancelled()).await;
    }
}

/// Runs a term until `stop`, which the term itself cancels if etcd was restored.
async fn run_one(process: &Process, stop: &CancellationToken) {
    let wiring = wiring(process);
    wiring.connect();
    let (relist_jobs, relist_pods) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut reflectors = JoinSet::new();
    let end = stop.child_token();
    let filled = async {
        // Jobs come first: a pod whose Job is not in the cache would look like an orphan.
        process.progress.set_waits_for(Some("the cache of Jobs is not filled yet"));
        let jobs: Api<Readable<DynamicObject>> = scoped_jobs(process);
        let (cache, relist) = (Arc::clone(&wiring.jobs), Arc::clone(&relist_jobs));
        let jobs = Reflector::new(jobs, cache, relist, "jobs", stop.clone());
        process.progress.add_cache(jobs.staleness());
        reflectors.spawn(jobs.run(end.clone()));
        wiring.jobs.synced().await;
        if process.config.job {
            process.progress.set_waits_for(Some("the cache of pods is not filled yet"));
            let pods: Api<Readable<Pod>> = match &process.config.namespace {
                Some(namespace) => Api::namespaced(process.clients.watch.clone(), namespace),
                None => Api::all(process.clients.watch.clone()),
            };
            let (cache, relist) = (Arc::clone(&wiring.pods), Arc::clone(&relist_pods));
            let pods = Reflector::new(pods, cache, relist, "pods", stop.clone());
            process.progress.add_cache(pods.staleness());
            reflectors.spawn(pods.run(end.clone()));
            wiring.pods.synced().await;
        }
        process.progress.set_waits_for(None);
    };
    let is_filled = tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = filled => true,
    };
    if is_filled {
        info!(
            jobs = wiring.jobs.len(),
            pods = wiring.pods.len(),
            "the caches are filled: starting the workers"
        );
        work(process, &wiring, relist_jobs, relist_pods, stop).await;
    }
    end.cancel();
    reflectors.shutdown().await;
    process.progress.set_waits_for(None);
    process.progress.set_queues(Vec::new());
    process.progress.forget_caches();
    wiring.disconnect();
}

fn wiring(process: &Process) -> Wiring {
    let metrics = &process.metrics;
    Wiring {
        jobs: Arc::new(JobStore::default()),
        pods: Arc::new(PodStore::default()),
        job_queue: WorkQueue::new(RetryLimiter::of_jobs(), metrics.queue("job")),
        orphan_queue: WorkQueue::new(RetryLimiter::of_jobs(), metrics.queue("job_orphan_pod")),
        ttl_queue: WorkQueue::new(RetryLimiter::of_ttl(), metrics.queue("ttl_jobs_to_delete")),
        memories: Arc::new(Memories::default()),
        own_writes: Arc::new(OwnWrites::default()),
        metrics: metrics.clone(),
        settings: Arc::new(process.config.settings.clone()),
    }
}

fn scoped_jobs(process: &Process) -> Api<Readable<DynamicObject>> {
    let kind = ApiResource::erase::<Job>(&());
    match &process.config.namespace {
        Some(namespace) => Api::namespaced_with(process.clients.watch.clone(), namespace, &kind),
        None => Api::all_with(process.clients.watch.clone(), &kind),
    }
}

async fn work(
    process: &Process,
    wiring: &Wiring,
    relist_jobs: Arc<Notify>,
    relist_pods: Arc<Notify>,
    stop: &CancellationToken,
) {
    let queues = [&wiring.job_queue, &wiring.orphan_queue, &wiring.ttl_queue];
    process.progress.set_queues(queues.into_iter().cloned().collect());
    let mut workers = JoinSet::new();
    if process.config.job {
        let enactor = Enactor {
            client: process.clients.job.clone(),
            own_writes: Arc::clone(&wiring.own_writes),
            recorder: process.recorder.clone(),
            metrics: process.metrics.clone(),
            stop: stop.clone(),
        };
        let tracer = process.tracer.clone();
        let sync = Arc::new(JobSync { wiring: wiring.clone(), enactor, relist_jobs, relist_pods, tracer });
        let count = process.config.concurrent_job_syncs;
        workers::add(&mut workers, count, &wiring.job_queue, move |key| {
            let sync = Arc::clone(&sync);
            async move { sync.sync(&key).await }
        });
        let sync = Arc::new(OrphanSync { wiring: wiring.clone(), client: process.clients.job.clone() });
        workers::add(&mut workers, count, &wiring.orphan_queue, move |key| {
            let sync = Arc::clone(&sync);
            async move { sync.sync(&key).await }
        });
    } else {
        wiring.job_queue.close();
        wiring.orphan_queue.close();
    }
    if process.config.ttl {
        let sync = Arc::new(TtlSync { wiring: wiring.clone(), client: process.clients.ttl.clone() });
        let count = process.config.concurrent_ttl_syncs;
        workers::add(&mut workers, count, &wiring.ttl_queue, move |key| {
            let sync = Arc::clone(&sync);
            async move { sync.sync(&key).await }
        });
    } else {
        wiring.ttl_queue.close();
    }
    stop.cancelled().await;
    queues.into_iter().for_each(WorkQueue::close);
    let finished = timeout(DRAIN_TIMEOUT, async { while workers.join_next().await.is_some() {} });
    if finished.await.is_err() {
        warn!("requests are still in flight: abandoning them");
        workers.shutdown().await;
    }
}

#[cfg(test)]
mod tests;
