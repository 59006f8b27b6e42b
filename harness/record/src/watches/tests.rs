//! Recordings from scripted API servers, under paused time.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{self, StreamExt as _};
use http::{Request, Response};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Frame};
use jobcheck_traces::Header;
use kube::client::Body as KubeBody;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::trace::Target;

/// The end of the events of a watch.
#[derive(Clone, Copy)]
enum Then {
    Frozen,
    /// The server ends the watch at the time for which it was asked.
    EndsInTime,
    /// The connection is closed at once.
    Ends,
}

/// An API server without pods, whose watches of Jobs are scripted: the first one is frozen.
struct Script {
    /// The version of all lists.
    version: AtomicU64,
    /// The lines of the later watches of Jobs, and their end.
    later: (Vec<String>, Then),
    watches: Mutex<Vec<String>>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

impl Script {
    fn answer(&self, request: &Request<KubeBody>) -> Answer {
        let query = request.uri().query().unwrap_or_default();
        if !query.contains("watch=1") {
            let version = self.version.load(Ordering::Relaxed).to_string();
            let list = json!({"metadata": {"resourceVersion": version}, "items": []});
            return streamed(vec![list.to_string()], Then::Ends, 0);
        }
        let (_, seconds) = query.rsplit_once("timeoutSeconds=").unwrap();
        let seconds = seconds.parse().unwrap();
        if request.uri().path().ends_with("/pods") {
            return streamed(Vec::new(), Then::EndsInTime, seconds);
        }
        let mut watches = self.watches.lock().unwrap();
        watches.push(query.to_owned());
        if watches.len() == 1 {
            return streamed(Vec::new(), Then::Frozen, seconds);
        }
        let (lines, then) = &self.later;
        streamed(lines.clone(), *then, seconds)
    }
}

fn streamed(lines: Vec<String>, then: Then, seconds: u64) -> Answer {
    let last = async move {
        match then {
            Then::Frozen => std::future::pending().await,
            Then::EndsInTime => tokio::time::sleep(Duration::from_secs(seconds)).await,
            Then::Ends => {}
        }
        Bytes::new()
    };
    let lines = stream::iter(lines).map(|line| Bytes::from(format!("{line}\n")));
    let frames = lines.chain(stream::once(last)).map(|bytes| Ok(Frame::data(bytes)));
    Response::new(BoxBody::new(StreamBody::new(frames)))
}

/// The creation and the removal of a Job.
fn came_and_went() -> Vec<String> {
    let event = |kind: &str, version: &str| {
        let metadata =
            json!({"name": "brief", "namespace": "default", "uid": "u", "resourceVersion": version});
        let object =
            json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata, "status": {"active": 1}});
        json!({"type": kind, "object": object}).to_string()
    };
    vec![event("ADDED", "11"), event("DELETED", "12")]
}

fn bookmark(version: &str) -> String {
    let metadata = json!({"resourceVersion": version});
    json!({"type": "BOOKMARK", "object": {"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata}})
        .to_string()
}

/// Records for some seconds, in which the version becomes 20. Returns the trace, the number of gaps, and the requests
/// for watches of Jobs.
async fn recorded(seconds: u64, later: Vec<String>, then: Then) -> (String, u64, Vec<String>) {
    let script = std::sync::Arc::new(Script {
        version: AtomicU64::new(10),
        later: (later, then),
        watches: Mutex::default(),
    });
    let serving = script.clone();
    let service = service_fn(move |request: Request<KubeBody>| {
        let answer = serving.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let client = Client::new(service, "default");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let mut trace = Trace::begin(&Target::File { path: path.clone(), force: false }, &Header::new()).unwrap();
    let stop = CancellationToken::new();
    let (stopping, versions) = (stop.clone(), script.clone());
    let until_then = async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        versions.version.store(20, Ordering::Relaxed);
        stopping.cancel();
    };
    let what = WatchConfig { namespaces: Vec::new(), labels: None };
    let mut hear = |_: Notice<'_>| {};
    let (recorded, ()) = tokio::join!(watches(&client, &what, &mut trace, &stop, &mut hear), until_then);
    recorded.unwrap();
    let gaps = trace.end().unwrap().gaps;
    let watches = script.watches.lock().unwrap().clone();
    (std::fs::read_to_string(path).unwrap(), gaps, watches)
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_server_does_not_end_is_opened_again_at_its_last_version() {
    let (trace, gaps, watches) = recorded(320, came_and_went(), Then::EndsInTime).await;
    assert!(trace.contains("\"ADDED\"") && trace.contains("\"DELETED\""), "{trace}");
    assert_eq!(gaps, 0, "{trace}");
    assert!(watches[1].contains("resourceVersion=10&") && watches[1].ends_with("=280"), "{watches:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_came_and_went_while_a_watch_was_frozen_is_recorded_at_the_end() {
    let with_bookmark: Vec<String> = came_and_went().into_iter().chain([bookmark("20")]).collect();
    // The second bookmark is too old, so that only the end of the watch shows that nothing is missing.
    let with_old_bookmark: Vec<String> = came_and_went().into_iter().chain([bookmark("15")]).collect();
    for (later, then) in [
        (came_and_went(), Then::EndsInTime),
        (with_bookmark, Then::Frozen),
        (with_old_bookmark, Then::EndsInTime),
    ] {
        let (trace, gaps, watches) = recorded(30, later, then).await;
        assert!(trace.contains("\"ADDED\"") && trace.contains("\"DELETED\""), "{trace}");
        assert_eq!((gaps, watches.len()), (0, 2), "{trace}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_stays_frozen_or_is_always_cut_is_a_gap() {
    for (later, then) in [
        (Vec::new(), Then::Frozen),
        (vec![bookmark("15")], Then::Frozen),
        (came_and_went(), Then::Frozen),
        (Vec::new(), Then::Ends),
    ] {
        let (trace, gaps, watches) = recorded(30, later, then).await;
        assert_eq!(gaps, 1, "{trace}");
        assert!(trace.contains("the watch of jobs in all namespaces has not shown all changes"), "{trace}");
        assert!(watches.len() < 10, "{watches:?}");
    }
}
