//! A kubelet that terminates each pod as soon as it exists.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jobcheck_bench::Result;
use jobcheck_record::watch::{self, WatchTarget, WatchUpdate, text};
use jobcheck_traces::Resource;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::measure::PodResult;

/// The number of its requests in flight.
const CONCURRENCY: usize = 64;

/// The result that pods get, and the pods that got one.
#[derive(Clone, Copy, Debug)]
struct Progress {
    pod_result: PodResult,
    terminated: Terminated,
}

/// The pods that were terminated since the last [`Kubelet::reset`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminated {
    /// Their number.
    pub pods: u32,
    /// The time of the response to the last request.
    pub last: Option<Instant>,
}

/// The kubelet of a namespace. It ends when this is dropped.
pub struct Kubelet {
    progress: Arc<Mutex<Progress>>,
    task: JoinHandle<()>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Kubelet {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// The API server does not respond.
    pub async fn start(client: Client, namespace: &str) -> Result<Kubelet> {
        let target = WatchTarget { namespace: Some(namespace.to_owned()), resource: Resource::Pods };
        let version = watch::list(&client, &target).await?.version;
        let progress = Progress { pod_result: PodResult::Succeed, terminated: Terminated::default() };
        let progress = Arc::new(Mutex::new(progress));
        let slots = Arc::new(Semaphore::new(CONCURRENCY));
        let (requests, shared) = (client.clone(), Arc::clone(&progress));
        let on_update = move |shown| {
            if let WatchUpdate::Event { object, .. } = shown
                && object["status"]["phase"] == "Pending"
                && object["metadata"]["deletionTimestamp"].is_null()
            {
                tokio::spawn(handle(requests.clone(), object, Arc::clone(&slots), Arc::clone(&shared)));
            }
            true
        };
        let task = tokio::spawn(watch::follow(client, target, version, on_update));
        Ok(Kubelet { progress, task })
    }

    /// Resets the progress. From now on pods get this result.
    pub fn reset(&self, pod_result: PodResult) {
        *lock(&self.progress) = Progress { pod_result, terminated: Terminated::default() };
    }

    /// The pods that were terminated since the last reset.
    pub fn terminated(&self) -> Terminated {
        lock(&self.progress).terminated
    }
}

fn lock(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn handle(client: Client, pod: Value, slots: Arc<Semaphore>, progress: Arc<Mutex<Progress>>) {
    let _slot = slots.acquire_owned().await;
    let pod_result = lock(&progress).pod_result;
    if terminate(&client, &pod, pod_result).await.is_ok() {
        let terminated = &mut lock(&progress).terminated;
        *terminated = Terminated { pods: terminated.pods + 1, last: Some(Instant::now()) };
    }
}

async fn terminate(client: &Client, pod: &Value, result: PodResult) -> Result<()> {
    let phase = match result {
        PodResult::Succeed => "Succeeded",
        PodResult::Fail => "Failed",
    };
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let body = json!({"status": {"phase": phase}}).to_string().into_bytes();
    let request = http::Request::patch(format!("/api/v1/namespaces/{namespace}/pods/{name}/status"))
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(body)?;
    client.request::<Value>(request).await?;
    Ok(())
}
