//! For tests: an API server that answers by a function, and caches that are filled by hand.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::handlers::Wiring;
use super::metrics::Metrics;
use super::queue::WorkQueue;
use super::retry::RetryLimiter;

/// `METHOD path` of each request, without the group and the namespace, and its body.
pub type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// A client of a server that answers by the line and the number of a request.
pub fn server(answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static) -> (Client, Requests) {
    let requests: Requests = Arc::default();
    let answer = Arc::new(answer);
    let service = tower::service_fn({
        let requests = Arc::clone(&requests);
        move |request: Request<Body>| {
            let (requests, answer) = (Arc::clone(&requests), Arc::clone(&answer));
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
                let (code, body) = answer(&line, number);
                let body = Full::new(Bytes::from(body.to_string()));
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        }
    });
    (Client::new(service, "ns"), requests)
}

/// The lines of the requests.
pub fn lines(requests: &Requests) -> Vec<String> {
    requests.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
}

/// A refusal or an error.
pub fn failure(code: u16) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "message": "no"}))
}

/// Empty caches and queues, connected.
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

/// A Job with parts of its own in `metadata`, `spec` and `status`.
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

/// A pod of the Job of this name, with the tracking finalizer.
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
