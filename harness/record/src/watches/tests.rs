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
    /// The items of the lists of Jobs: at the beginning, and from version 20 on.
    items: [Value; 2],
    /// The lines of the later watches of Jobs, and their end.
    later: (Vec<String>, Then),
    watches: Mutex<Vec<String>>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

impl Script {
    fn answer(&self, request: &Request<KubeBody>) -> Answer {
        let query = request.uri().query().unwrap_or_default();
        if !query.contains("watch=1") {
            let version = self.version.load(Ordering::Relaxed);
            let items = match request.uri().path().ends_with("/pods") {
                true => &json!([]),
                false => &self.items[usize::from(version >= 20)],
            };
            let list = json!({"metadata": {"resourceVersion": version.to_string()}, "items": items});
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
    vec![event("ADDED", "11"), event("DELETED", "12")]
}

fn job(version: &str) -> Value {
    let metadata = json!({"name": "brief", "namespace": "default", "uid": "u", "resourceVersion": version});
    json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata, "status": {"active": 1}})
}

fn event(kind: &str, version: &str) -> String {
    json!({"type": kind, "object": job(version)}).to_string()
}

fn bookmark(version: &str) -> String {
    let metadata = json!({"resourceVersion": version});
    json!({"type": "BOOKMARK", "object": {"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata}})
        .to_string()
}

/// Records for some seconds, in which the version becomes 20. Returns the trace, the number of gaps, and the requests
/// for watches of Jobs.
async fn recorded(seconds: u64, later: Vec<String>, then: Then) -> (String, u64, Vec<String>) {
    recorded_with([json!([]), json!([])], seconds, later, then).await
}

/// The same with these items of the lists of Jobs, at the beginning and at the end.
async fn recorded_with(
    items: [Value; 2],
    seconds: u64,
    later: Vec<String>,
    then: Then,
) -> (String, u64, Vec<String>) {
    let script = std::sync::Arc::new(Script {
        version: AtomicU64::new(10),
        items,
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

/// The watches have reached the final list, and have not shown all of it.
#[tokio::test(start_paused = true)]
async fn a_change_that_only_the_final_list_shows_is_a_gap() {
    let begun = json!([job("5")]);
    let added = || vec![event("ADDED", "11")];
    for (first, shown, last, what) in [
        (json!([]), vec![], json!([job("15")]), "an object that was never shown"),
        (json!([]), added(), json!([job("15")]), "a newer version"),
        (begun.clone(), vec![], json!([job("15")]), "a newer version of an object of the first list"),
        (json!([]), added(), json!([]), "a deletion"),
        (begun, vec![], json!([]), "a deletion of an object of the first list"),
    ] {
        let later = shown.into_iter().chain([bookmark("20")]).collect();
        let (trace, gaps, _) = recorded_with([first, last], 30, later, Then::Frozen).await;
        assert_eq!(gaps, 1, "{what}: {trace}");
        let reason =
            "at the end the watch of jobs in all namespaces has not shown the last change of 1 object";
        assert!(trace.contains(reason), "{what}: {trace}");
    }
}

/// Changes between the final list and the end of the watches.
#[tokio::test(start_paused = true)]
async fn a_change_after_the_final_list_is_no_gap() {
    for (shown, last, what) in [
        (vec![event("ADDED", "11"), bookmark("20")], json!([job("11")]), "no change"),
        (vec![event("ADDED", "11"), event("MODIFIED", "21")], json!([job("11")]), "a later change"),
        (vec![event("ADDED", "11"), event("DELETED", "21")], json!([job("11")]), "a later deletion"),
        (vec![event("ADDED", "21")], json!([]), "a later creation"),
        (vec![event("ADDED", "11"), bookmark("20")], json!([null, {"metadata": {"uid": "u"}}]), "unreadable"),
    ] {
        let (trace, gaps, _) = recorded_with([json!([]), last], 30, shown, Then::Frozen).await;
        assert_eq!(gaps, 0, "{what}: {trace}");
    }
}

/// An API server is not trusted.
#[tokio::test(start_paused = true)]
async fn an_item_that_cannot_be_read_is_a_gap_and_ends_no_recording() {
    let items = [json!([null, job("5")]), json!([null, job("12")])];
    let later = vec![event("MODIFIED", "12"), bookmark("20")];
    let (trace, gaps, _) = recorded_with(items, 30, later, Then::Frozen).await;
    assert_eq!(gaps, 1, "{trace}");
    assert!(trace.contains("began with an object that cannot be read"), "{trace}");
    assert!(trace.contains("\"ADDED\"") && trace.contains("\"MODIFIED\""), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn an_event_without_a_version_is_a_gap_and_the_watch_begins_at_another_list() {
    let unversioned = json!({"type": "ADDED", "object": {"metadata": {"name": "x", "uid": "x"}}}).to_string();
    for line in [unversioned, r#"{"type":"ADDED","object":null}"#.to_owned()] {
        let (trace, gaps, watches) = recorded(310, vec![line], Then::EndsInTime).await;
        assert!(gaps > 0 && trace.contains("an event cannot be parsed"), "{trace}");
        assert!(watches.len() > 2, "{watches:?}");
        assert!(watches.iter().all(|query| query.contains("resourceVersion=10&")), "{watches:?}");
    }
}
