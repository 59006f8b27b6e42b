//! Terms on a scripted API server, under paused time.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::*;
use crate::events;
use crate::testing::job;

/// An API server with one Job, whose watch of pods lags for ever.
#[derive(Default)]
struct Etcd {
    /// The last version. It goes back when etcd is restored.
    version: Mutex<u64>,
    /// The number of created pods.
    created: Mutex<usize>,
    watches: Mutex<Vec<(String, Sender<Bytes, io::Error>)>>,
}

type Answer = Response<BoxBody<Bytes, io::Error>>;

impl Etcd {
    fn next_version(&self) -> u64 {
        let mut version = self.version.lock().unwrap();
        *version += 1;
        *version
    }

    fn restore(&self, version: u64) {
        *self.version.lock().unwrap() = version;
        self.watches.lock().unwrap().clear();
    }

    fn created(&self) -> usize {
        *self.created.lock().unwrap()
    }

    fn answer(&self, request: &Request<Body>) -> Answer {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        if query.contains("watch=true") {
            return self.watch(path, query);
        }
        let version = *self.version.lock().unwrap();
        match (request.method(), path) {
            (&Method::GET, "/apis/batch/v1/jobs") => {
                answered(200, &list(&[job("a", version, &json!({}))], version))
            }
            (&Method::GET, _) => answered(200, &list(&[], version)),
            (method, _) => {
                *self.created.lock().unwrap() += usize::from(method == Method::POST);
                let version = self.next_version().to_string();
                answered(200, &json!({"metadata": {"name": "x", "uid": "x", "resourceVersion": version}}))
            }
        }
    }

    fn watch(&self, path: &str, query: &str) -> Answer {
        let from = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        if from.unwrap().parse::<u64>().unwrap() > *self.version.lock().unwrap() {
            let status = json!({"kind": "Status", "status": "Failure", "code": 410, "message": "too old"});
            return answered(410, &status);
        }
        let (sender, body) = Channel::<Bytes, io::Error>::new(8);
        self.watches.lock().unwrap().push((path.to_owned(), sender));
        Response::new(body.boxed())
    }

    /// Shows another generation of the Job.
    async fn edit(&self) {
        let version = self.next_version();
        let object = job("a", version, &json!({"metadata": {"generation": version}}));
        let line = json!({"type": "MODIFIED", "object": object}).to_string() + "\n";
        let mut watches = std::mem::take(&mut *self.watches.lock().unwrap());
        for (_, sender) in watches.iter_mut().filter(|(path, _)| path.ends_with("/jobs")) {
            let _ = sender.send_data(Bytes::from(line.clone())).await;
        }
        self.watches.lock().unwrap().extend(watches);
    }
}

fn list(items: &[Value], version: u64) -> Value {
    json!({"metadata": {"resourceVersion": version.to_string()}, "items": items})
}

fn answered(code: u16, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never: Infallible| match never {}).boxed();
    Response::builder().status(code).body(body).unwrap()
}

fn process(etcd: &Arc<Etcd>) -> Process {
    let etcd = Arc::clone(etcd);
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = etcd.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let client = Client::new(service, "ns");
    let [job, ttl, watch, lease, events] = std::array::from_fn(|_| client.clone());
    Process {
        config: Arc::new(Config::default()),
        clients: Clients { job, ttl, watch, lease, events },
        metrics: Metrics::new(),
        recorder: events::channel(client, "test").0,
        tracer: None,
        progress: Arc::default(),
    }
}

/// SY-03: once etcd was restored, an own write counts as seen only if the caches show it. The expectations of the former
/// history delay nothing.
#[tokio::test(start_paused = true)]
async fn after_a_restore_of_etcd_the_caches_are_compared_in_the_new_history() {
    let etcd = Arc::new(Etcd::default());
    *etcd.version.lock().unwrap() = 5_000_000;
    let (process, stop) = (process(&etcd), CancellationToken::new());
    let (running, until) = (stop.clone(), stop.clone());
    let term = tokio::spawn(async move { run(&process, &until).await });
    sleep(Duration::from_secs(1)).await;
    assert_eq!(etcd.created(), 1);
    etcd.edit().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(etcd.created(), 1, "the cache of pods does not show the pod yet");
    etcd.restore(200);
    // The pod is not in the former state of etcd, so that it is created again.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(etcd.created(), 2);
    for _ in 0..5 {
        etcd.edit().await;
        sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(etcd.created(), 2, "the cache of pods does not show the pod yet");
    running.cancel();
    term.await.unwrap();
}
