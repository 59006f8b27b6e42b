use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

/// An API server with one Lease. It refuses a write with an old version.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    /// The clients whose requests are lost, with the time since which they are.
    cut_off: Arc<Mutex<BTreeMap<&'static str, Instant>>>,
}

impl Server {
    fn client(&self, name: &'static str) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                if server.cut_off.lock().unwrap().contains_key(name) {
                    // The network drops every packet.
                    sleep(Duration::from_secs(3600)).await;
                }
                let method = request.method().clone();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                Ok::<_, std::convert::Infallible>(server.answer(&method, &body))
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &Method, body: &Bytes) -> Response<Full<Bytes>> {
        let mut lease = self.lease.lock().unwrap();
        let sent: Option<Value> = serde_json::from_slice(body).ok();
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        let (code, answer) = match (method, lease.as_ref(), sent) {
            (&Method::GET, Some(lease), _) => (200, lease.clone()),
            (&Method::GET, None, _) => (404, failure(404, "NotFound")),
            (&Method::POST, None, Some(mut sent)) => {
                sent["metadata"]["resourceVersion"] = json!("1");
                *lease = Some(sent.clone());
                (201, sent)
            }
            (&Method::POST, Some(_), _) => (409, failure(409, "AlreadyExists")),
            (&Method::PUT, Some(stored), Some(mut sent)) if version(stored) == version(&sent) => {
                let next = version(stored).parse::<u64>().unwrap() + 1;
                sent["metadata"]["resourceVersion"] = json!(next.to_string());
                *lease = Some(sent.clone());
                (200, sent)
            }
            _ => (409, failure(409, "Conflict")),
        };
        let body = Full::new(Bytes::from(answer.to_string()));
        Response::builder().status(code).body(body).unwrap()
    }

    fn spec(&self) -> Value {
        self.lease.lock().unwrap().as_ref().unwrap()["spec"].clone()
    }

    fn cut_off(&self, name: &'static str) {
        self.cut_off.lock().unwrap().insert(name, Instant::now());
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

struct Replica {
    fence: Fence,
    leadership: watch::Receiver<Leadership>,
    resume: Arc<Notify>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Replica {
    fn start(server: &Server, name: &'static str) -> Replica {
        let fence = Fence::closed();
        let api = Api::namespaced(server.client(name), "default");
        let elector = Elector::new(api, "jobcheck", name, Timing::default(), fence.clone(), Metrics::new());
        let (leadership, resume) = (elector.leadership(), elector.resume());
        let stop = CancellationToken::new();
        let task = tokio::spawn(elector.run(stop.clone()));
        Replica { fence, leadership, resume, stop, task }
    }

    async fn until(&mut self, leadership: Leadership) {
        self.leadership.wait_for(|now| *now == leadership).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_replica_leads_and_the_second_stands_by() {
    let server = Server::default();
    let mut first = Replica::start(&server, "first");
    first.until(Leadership::Leading).await;
    let mut second = Replica::start(&server, "second");
    second.until(Leadership::Standby).await;
    sleep(Duration::from_secs(300)).await;
    assert_eq!(
        (*first.leadership.borrow(), *second.leadership.borrow()),
        (Leadership::Leading, Leadership::Standby)
    );
    assert!(first.fence.is_open() && !second.fence.is_open());
    let spec = server.spec();
    assert_eq!(spec["holderIdentity"], "first");
    assert_eq!(spec["leaseDurationSeconds"], 15);
    assert_eq!(spec["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_releases_the_lease_at_once() {
    let server = Server::default();
    let mut first = Replica::start(&server, "first");
    first.until(Leadership::Leading).await;
    let mut second = Replica::start(&server, "second");
    second.until(Leadership::Standby).await;
    first.stop.cancel();
    first.task.await.unwrap();
    assert!(!first.fence.is_open());
    assert_eq!(server.spec()["holderIdentity"], "");
    let start = Instant::now();
    second.until(Leadership::Leading).await;
    // The maximum pause between two attempts is 4.4 s, and the released lease has a duration of 1 s.
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(server.spec()["leaseTransitions"], 1);
}

/// The old leader stops writing before the new one starts: the two fences are never open at the same time.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_takes_over() {
    let server = Server::default();
    let mut first = Replica::start(&server, "first");
    first.until(Leadership::Leading).await;
    let mut second = Replica::start(&server, "second");
    second.until(Leadership::Standby).await;
    sleep(Duration::from_secs(60)).await;
    server.cut_off("first");
    let cut = Instant::now();
    let (mut closed, mut taken) = (None, None);
    while taken.is_none() {
        sleep(Duration::from_millis(10)).await;
        if closed.is_none() && !first.fence.is_open() {
            closed = Some(cut.elapsed());
        }
        if second.fence.is_open() {
            taken = Some(cut.elapsed());
        }
        assert!(!(first.fence.is_open() && second.fence.is_open()), "two may write");
    }
    let (closed, taken) = (closed.unwrap(), taken.unwrap());
    assert!(closed <= Duration::from_millis(10_020), "{closed:?}");
    assert!(taken - closed >= Duration::from_secs(4), "closed after {closed:?}, taken after {taken:?}");
    assert!(taken < Duration::from_secs(25), "{taken:?}");
    first.until(Leadership::Standby).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_stops_at_its_next_renewal() {
    let server = Server::default();
    let mut first = Replica::start(&server, "first");
    first.until(Leadership::Leading).await;
    {
        let mut lease = server.lease.lock().unwrap();
        let lease = lease.as_mut().unwrap();
        lease["spec"]["holderIdentity"] = json!("somebody");
        lease["metadata"]["resourceVersion"] = json!("77");
    }
    first.until(Leadership::Standby).await;
    assert!(!first.fence.is_open());
    // The replica takes the free lease again, but not before its old term has ended.
    sleep(Duration::from_secs(60)).await;
    assert_eq!(*first.leadership.borrow(), Leadership::Standby);
    first.resume.notify_one();
    first.until(Leadership::Leading).await;
    assert_eq!(server.spec()["holderIdentity"], "first");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_restarts_under_its_name_keeps_the_lease() {
    let server = Server::default();
    let mut first = Replica::start(&server, "same");
    first.until(Leadership::Leading).await;
    let acquired = server.spec()["acquireTime"].clone();
    first.task.abort();
    let mut again = Replica::start(&server, "same");
    again.until(Leadership::Leading).await;
    assert_eq!(server.spec()["acquireTime"], acquired);
    assert_eq!(server.spec()["leaseTransitions"], 0);
}
