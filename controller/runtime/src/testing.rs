//! Test support: an API server whose responses a function determines, and caches that the test fills.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use super::handlers::Wiring;
use super::metrics::Metrics;
use super::queue::WorkQueue;
use super::retry::RetryLimiter;

/// The requests: `METHOD path`, without the group and the namespace, and the body.
pub type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// Returns the client of a server. Its responses depend on the `METHOD path` and the number of the request.
pub fn server(respond: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static) -> (Client, Requests) {
    let requests: Requests = Arc::default();
    let respond = Arc::new(respond);
    let service = tower::service_fn({
        let requests = Arc::clone(&requests);
        move |request: Request<Body>| {
            let (requests, respond) = (Arc::clone(&requests), Arc::clone(&respond));
            async move {
                let path = request.uri().path().replace("/apis/batch/v1/namespaces/ns/", "");
                let path = path.replace("/api/v1/namespaces/ns/", "");
                let line = format!("{} {path}", request.method());
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let number = {
                    let mut requests = requests.lock().unwrap();
                    requests.push((line.clone(), serde_json::from_slice(&body).unwrap_or_default()));
                    requests.len()
                };
                let (code, body) = respond(&line, number);
                let body = Full::new(Bytes::from(body.to_string()));
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        }
    });
    (Client::new(service, "ns"), requests)
}

/// Returns `METHOD path` of the requests.
pub fn lines(requests: &Requests) -> Vec<String> {
    requests.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
}

/// Returns the response of a failed request.
pub fn failure(code: u16) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "message": "no"}))
}

/// Returns empty caches and queues with their handlers.
pub fn wiring() -> Wiring {
    let metrics = Metrics::new();
    let queue = |name| WorkQueue::new(RetryLimiter::of_jobs(), metrics.queue(name));
    let wiring = Wiring {
        jobs: Arc::default(),
        pods: Arc::default(),
        job_queue: queue("job"),
        orphan_queue: queue("job_orphan_pod"),
        ttl_queue: queue("ttl_jobs_to_delete"),
        memories: Arc::default(),
        own_writes: Arc::default(),
        metrics,
        settings: Arc::default(),
    };
    wiring.connect();
    wiring
}

/// Returns a Job. `extra` has further fields of `metadata`, `spec`, and `status`.
pub fn job(name: &str, version: u64, extra: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string(), "generation": 1},
        "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}},
            "template": {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": name}}, "spec": {"containers": []}}},
        "status": {},
    });
    for (field, parts) in extra.as_object().unwrap() {
        for (part, value) in parts.as_object().unwrap() {
            job[field][part] = value.clone();
        }
    }
    job
}

/// Returns a pod of the Job with this name, with the tracking finalizer.
pub fn pod(name: &str, job: &str, version: u64, phase: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string(),
            "labels": {"batch.kubernetes.io/controller-uid": job},
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": true}]},
        "spec": {"containers": []},
        "status": {"phase": phase},
    })
}

/// The log of a test.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Collects the log of this thread until the guard is dropped.
    pub fn start() -> (Log, DefaultGuard) {
        let log = Log::default();
        let to = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(move || to.clone());
        (log, tracing::subscriber::set_default(subscriber.finish()))
    }

    /// The lines that contain this text.
    pub fn lines(&self, text: &str) -> Vec<String> {
        let log = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
