use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Mutex;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::*;

mod history;
mod short;

/// A cache of names and versions, with a log of its updates.
#[derive(Default)]
struct Names {
    entries: Mutex<BTreeMap<String, Version>>,
    version: Mutex<Version>,
    log: Mutex<Vec<String>>,
}

impl Names {
    fn log(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    fn entries(&self) -> Vec<(String, Version)> {
        self.entries.lock().unwrap().clone().into_iter().collect()
    }

    async fn until_version(&self, version: Version) {
        let reached = async {
            while *self.version.lock().unwrap() < version {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(600), reached)
            .await
            .unwrap_or_else(|_| panic!("version {version} was not reached"));
    }
}

impl Cache<ConfigMap> for Names {
    type Entry = (String, Version);

    fn entry(&self, object: ConfigMap, version: Version) -> Result<Option<Self::Entry>, Box<Unreadable>> {
        if object.name_any() == "odd" {
            return Err(Box::new(Unreadable { metadata: object.metadata, why: "it is odd".to_owned() }));
        }
        Ok((object.name_any() != "ignored").then(|| (object.name_any(), version)))
    }

    fn replace(&self, entries: Vec<Self::Entry>, unread: Vec<Unread>, version: Version) {
        let names: String = unread.iter().map(|object| format!(", {} is unread", object.key.name)).collect();
        self.log(format!("replace {version}{names}"));
        *self.entries.lock().unwrap() = entries.into_iter().collect();
        *self.version.lock().unwrap() = version;
    }

    fn apply(&self, object: ConfigMap, version: Version) {
        self.log(format!("apply {version}"));
        self.entries.lock().unwrap().insert(object.name_any(), version);
        *self.version.lock().unwrap() = version;
    }

    fn remove(&self, object: ConfigMap, version: Version) {
        self.log(format!("remove {version}"));
        self.entries.lock().unwrap().remove(&object.name_any());
        *self.version.lock().unwrap() = version;
    }

    fn keep_unread(&self, object: Option<Unread>, version: Version) {
        self.log(format!("keep {} {version}", name_of(object.as_ref())));
        *self.version.lock().unwrap() = version;
    }

    fn remove_unread(&self, object: Option<Unread>, version: Version) {
        self.log(format!("remove {} {version}", name_of(object.as_ref())));
        *self.version.lock().unwrap() = version;
    }
}

fn name_of(object: Option<&Unread>) -> &str {
    object.map_or("nothing", |object| &object.key.name)
}

/// A response of the server.
enum Answer {
    /// A page of a LIST: names with versions, the version of the list, and the token of the next page.
    Page(Vec<(&'static str, Version)>, Version, Option<&'static str>),
    /// A WATCH with these events that the server then closes.
    Closing(Vec<Value>),
    /// A WATCH with these events whose connection then breaks.
    Breaking(Vec<Value>),
    /// A WATCH with these events that stays open.
    Open(Vec<Value>),
    /// A WATCH that shows these events after some time, and stays open.
    Late(Duration, Vec<Value>),
    /// A WATCH that the server closes after some time.
    LateEnd(Duration),
    /// This page for ever.
    Endless,
    /// A LIST with these items, and its version.
    Items(Value, Version),
    Failure(u16),
    /// 504, because the server does not have this version yet.
    Ahead,
}

#[derive(Clone)]
struct Server {
    script: Arc<Mutex<VecDeque<Answer>>>,
    queries: Arc<Mutex<Vec<String>>>,
    open: Arc<Mutex<Vec<Sender<Bytes, std::io::Error>>>>,
}

impl Server {
    fn new(script: Vec<Answer>) -> Server {
        Server { script: Arc::new(Mutex::new(script.into())), queries: Arc::default(), open: Arc::default() }
    }

    async fn answer(&self, request: Request<Body>) -> Response<BoxBody<Bytes, std::io::Error>> {
        let query = request.uri().query().unwrap_or_default().trim_start_matches('&').to_owned();
        self.queries.lock().unwrap().push(query);
        let answer = {
            let mut script = self.script.lock().unwrap();
            let next = script.pop_front();
            if matches!(next, Some(Answer::Endless)) {
                script.push_front(Answer::Endless);
            }
            next
        };
        let (code, text) = match answer {
            Some(Answer::Page(items, version, next)) => (200, page(&items, version, next).to_string()),
            Some(Answer::Endless) => (200, page(&[("a", 1)], 10, Some("more")).to_string()),
            Some(Answer::Items(items, version)) => (
                200,
                json!({"metadata": {"resourceVersion": version.to_string()}, "items": items}).to_string(),
            ),
            Some(Answer::Failure(code)) => (code, status(code, "m", &[]).to_string()),
            Some(Answer::Ahead) => (504, status(504, "Timeout", &["ResourceVersionTooLarge"]).to_string()),
            Some(Answer::Closing(events)) => (200, lines(&events)),
            Some(Answer::Late(after, events)) => {
                sleep(after).await;
                return self.stream(&events, false).await;
            }
            Some(Answer::LateEnd(after)) => {
                sleep(after).await;
                (200, String::new())
            }
            Some(Answer::Open(events)) => return self.stream(&events, false).await,
            Some(Answer::Breaking(events)) => return self.stream(&events, true).await,
            None => return self.stream(&[], false).await,
        };
        let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed();
        Response::builder().status(code).body(body).unwrap()
    }

    async fn stream(&self, events: &[Value], breaks: bool) -> Response<BoxBody<Bytes, std::io::Error>> {
        let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(8);
        sender.send_data(Bytes::from(lines(events))).await.unwrap();
        if breaks {
            sender.abort(std::io::Error::other("broken pipe"));
        } else {
            self.open.lock().unwrap().push(sender);
        }
        Response::new(body.boxed())
    }
}

fn status(code: u16, message: &str, causes: &[&str]) -> Value {
    let causes: Vec<Value> = causes.iter().map(|reason| json!({"reason": reason, "message": "m"})).collect();
    json!({"kind": "Status", "status": "Failure", "code": code, "message": message, "details": {"causes": causes}})
}

fn object(name: &str, version: Version) -> Value {
    let mut object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "resourceVersion": version.to_string()}});
    if name == "unreadable" {
        object["data"] = json!(7);
    }
    object
}

fn event(kind: &str, name: &str, version: Version) -> Value {
    json!({"type": kind, "object": object(name, version)})
}

/// The end of a watch whose version is too old.
fn gone() -> Value {
    json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "old"}})
}

fn page(items: &[(&str, Version)], version: Version, next: Option<&str>) -> Value {
    let items: Vec<Value> = items.iter().map(|(name, version)| object(name, *version)).collect();
    json!({"kind": "ConfigMapList", "apiVersion": "v1", "items": items,
           "metadata": {"resourceVersion": version.to_string(), "continue": next}})
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

struct Running {
    cache: Arc<Names>,
    server: Server,
    relist: Arc<Notify>,
    staleness: Arc<Staleness>,
    another_history: CancellationToken,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn log(&self) -> Vec<String> {
        self.cache.log.lock().unwrap().clone()
    }

    /// Waits until the server has answered this number of requests.
    async fn until_request(&self, number: usize) -> Vec<String> {
        let reached = async {
            while self.server.queries.lock().unwrap().len() < number {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(600), reached).await.unwrap();
        self.server.queries.lock().unwrap().clone()
    }
}

fn start(script: Vec<Answer>) -> Running {
    let server = Server::new(script);
    let service = tower::service_fn({
        let server = server.clone();
        move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        }
    });
    let (cache, relist, stop) =
        (Arc::new(Names::default()), Arc::new(Notify::new()), CancellationToken::new());
    let api: Api<Readable<ConfigMap>> = Api::all(Client::new(service, "default"));
    let another_history = CancellationToken::new();
    let reflector =
        Reflector::new(api, Arc::clone(&cache), Arc::clone(&relist), "configmaps", another_history.clone());
    let staleness = reflector.staleness();
    let task = tokio::spawn(reflector.run(stop.clone()));
    Running { cache, server, relist, staleness, another_history, stop, task }
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_listed_then_events_and_bookmarks_are_followed() {
    let running = start(vec![
        Answer::Page(vec![("a", 3), ("ignored", 4)], 10, Some("more")),
        Answer::Page(vec![("b", 5)], 10, None),
        Answer::Closing(vec![
            event("ADDED", "c", 11),
            event("MODIFIED", "a", 12),
            event("DELETED", "b", 13),
            event("BOOKMARK", "", 40),
        ]),
        Answer::Open(vec![event("ADDED", "d", 41)]),
    ]);
    running.cache.until_version(41).await;
    let entries = [("a", 12), ("c", 11), ("d", 41)].map(|(name, version)| (name.to_owned(), version));
    assert_eq!(running.cache.entries(), entries);
    let queries = running.server.queries.lock().unwrap().clone();
    assert_eq!(queries[0], "limit=500");
    assert_eq!(queries[1], "limit=500&continue=more");
    assert!(queries[2].contains("watch=true") && queries[2].contains("resourceVersion=10"), "{}", queries[2]);
    assert!(queries[2].contains("allowWatchBookmarks=true"), "{}", queries[2]);
    assert!(queries[3].contains("resourceVersion=40"), "{}", queries[3]);
    // SY-03: a bookmark does not make the cache newer.
    assert_eq!(running.log(), ["replace 10", "apply 11", "apply 12", "remove 13", "apply 41"]);
    running.stop.cancel();
    running.task.await.unwrap();
}

/// Whoever may change one object must not stop the controllers of all.
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_exists_until_it_is_deleted() {
    let running = start(vec![
        Answer::Page(vec![("a", 3), ("unreadable", 4), ("odd", 5)], 10, None),
        Answer::Open(vec![
            event("ADDED", "unreadable", 11),
            event("DELETED", "unreadable", 12),
            event("ADDED", "b", 13),
            json!({"type": "ADDED", "object": {"metadata": {"resourceVersion": "14"}, "data": 7}}),
        ]),
    ]);
    running.cache.until_version(14).await;
    assert_eq!(running.cache.entries(), [("a".to_owned(), 3), ("b".to_owned(), 13)]);
    let list = "replace 10, unreadable is unread, odd is unread";
    let events = ["keep unreadable 11", "remove unreadable 12", "apply 13", "keep nothing 14"];
    assert_eq!(running.log(), [&[list][..], &events].concat());
}

/// An API server is not trusted.
#[tokio::test(start_paused = true)]
async fn an_item_without_a_version_cannot_be_read_and_one_without_a_name_is_ignored() {
    let nameless = json!({"metadata": {"resourceVersion": "3"}, "data": 7});
    let unversioned = || json!({"metadata": {"name": "x"}});
    let odd = json!({"metadata": {"name": "y", "resourceVersion": "new"}});
    let items =
        json!([null, 1, "s", [], {}, {"metadata": null}, unversioned(), odd, nameless, object("a", 4)]);
    let running = start(vec![
        Answer::Items(items, 10),
        Answer::Open(vec![
            json!({"type": "ADDED", "object": null}),
            json!({"type": "MODIFIED", "object": 7}),
            json!({"type": "ADDED", "object": unversioned()}),
            json!({"type": "DELETED", "object": odd}),
            json!({"type": "BOOKMARK", "object": {"kind": "x", "apiVersion": "v1", "metadata": {"resourceVersion": "new"}}}),
            event("ADDED", "b", 13),
        ]),
    ]);
    running.cache.until_version(13).await;
    assert_eq!(running.cache.entries(), [("a".to_owned(), 4), ("b".to_owned(), 13)]);
    assert_eq!(running.log(), ["replace 10, x is unread, y is unread", "apply 13"]);
    assert_eq!(running.server.queries.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_closed_or_broke_resumes_at_its_version() {
    let running = start(vec![
        Answer::Page(vec![], 1, None),
        Answer::Closing(vec![event("ADDED", "a", 2)]),
        Answer::Breaking(vec![event("ADDED", "b", 3)]),
        Answer::Failure(503),
        Answer::Open(vec![event("ADDED", "c", 4)]),
    ]);
    running.cache.until_version(4).await;
    assert_eq!(*running.cache.log.lock().unwrap(), ["replace 1", "apply 2", "apply 3", "apply 4"]);
    let queries = running.server.queries.lock().unwrap().clone();
    assert!(
        queries[2].contains("resourceVersion=2") && queries[4].contains("resourceVersion=3"),
        "{queries:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_causes_a_relist() {
    let running = start(vec![
        Answer::Page(vec![("a", 1)], 1, None),
        Answer::Open(vec![gone()]),
        Answer::Page(vec![("b", 8)], 9, None),
        Answer::Failure(410),
        Answer::Page(vec![("c", 20)], 21, None),
    ]);
    running.cache.until_version(21).await;
    assert_eq!(running.cache.entries(), [("c".to_owned(), 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_does_not_have_yet_causes_a_relist() {
    let running = start(vec![
        Answer::Page(vec![("a", 1)], 10, None),
        Answer::Closing(vec![event("BOOKMARK", "", 5_000_000)]),
        Answer::Ahead,
        Answer::Page(vec![("b", 11)], 12, None),
    ]);
    running.cache.until_version(12).await;
    let queries = running.until_request(5).await;
    assert!(queries[2].contains("resourceVersion=5000000"), "{queries:?}");
    assert_eq!(queries[3], "limit=500");
    assert!(queries[4].contains("resourceVersion=12"), "{queries:?}");
    assert!(!running.another_history.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn versions_that_expire_at_once_are_listed_again_with_growing_delays() {
    let expired = || Answer::Failure(410);
    let listed = |version| Answer::Page(vec![], version, None);
    let mut script: Vec<Answer> = (1..=8).flat_map(|version| [listed(version), expired()]).collect();
    script.push(listed(99));
    let start_at = Instant::now();
    let running = start(script);
    running.cache.until_version(99).await;
    let waited = start_at.elapsed().as_secs_f64();
    assert!((110.0..221.0).contains(&waited), "{waited}");

    // A single event in between makes no difference.
    let news = |version| Answer::Open(vec![event("ADDED", "a", version), gone()]);
    let script =
        (1..=8).flat_map(|tens| [listed(10 * tens), news(10 * tens + 5)]).chain([listed(99)]).collect();
    let start_at = Instant::now();
    let running = start(script);
    running.cache.until_version(99).await;
    let waited = start_at.elapsed().as_secs_f64();
    assert!((110.0..221.0).contains(&waited), "{waited}");
}

/// A busy server whose versions expire now and then is listed again at once.
#[tokio::test(start_paused = true)]
async fn a_version_that_expires_after_some_time_is_listed_again_at_once() {
    let slow = || Answer::Late(LASTING, vec![gone()]);
    let listed = |version| Answer::Page(vec![], version, None);
    let script = (1..=8).flat_map(|version| [listed(version), slow()]).chain([listed(99)]).collect();
    let start_at = Instant::now();
    let running = start(script);
    running.cache.until_version(99).await;
    let waited = start_at.elapsed();
    assert!(waited < LASTING * 8 + BACKOFF, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_causes_a_relist() {
    let running = start(vec![
        Answer::Page(vec![("a", 1)], 1, None),
        Answer::Open(vec![]),
        Answer::Page(vec![("a", 1), ("lost", 2)], 5, None),
    ]);
    running.cache.until_version(1).await;
    sleep(Duration::from_secs(1)).await;
    running.relist.notify_one();
    running.cache.until_version(5).await;
    assert_eq!(running.cache.entries().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_is_retried_with_growing_delays() {
    let mut script: Vec<Answer> = (0..8).map(|_| Answer::Failure(500)).collect();
    script.push(Answer::Page(vec![], 7, None));
    let start_at = Instant::now();
    let running = start(script);
    running.cache.until_version(7).await;
    // The delays are 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, and 30 s, each up to twice as long.
    let waited = start_at.elapsed().as_secs_f64();
    assert!((110.0..221.0).contains(&waited), "{waited}");
}

/// A server that always has another page is not asked without an end, and the delays grow as after any failure.
#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_fails() {
    let running = start(vec![Answer::Endless]);
    let asked = || running.server.queries.lock().unwrap().len();
    while asked() <= MAX_PAGES as usize {
        sleep(Duration::from_millis(100)).await;
    }
    assert!(running.cache.log.lock().unwrap().is_empty());
    running.server.script.lock().unwrap().clear();
    running.server.script.lock().unwrap().push_back(Answer::Page(vec![("a", 1)], 11, None));
    running.cache.until_version(11).await;
    running.stop.cancel();
}

/// A server that sends a byte now and then is asked again, and after some time the cache counts as stale.
#[tokio::test(start_paused = true)]
async fn a_list_that_never_ends_fails_and_makes_the_cache_stale() {
    let endless = || Answer::Open(Vec::new());
    let running =
        start(vec![endless(), endless(), endless(), endless(), Answer::Page(vec![("a", 1)], 11, None)]);
    sleep(PAGE_TIME + Duration::from_secs(10)).await;
    assert_eq!((running.server.queries.lock().unwrap().len(), running.staleness.is_stale()), (2, false));
    sleep(2 * PAGE_TIME).await;
    assert_eq!((running.server.queries.lock().unwrap().len(), running.staleness.is_stale()), (4, true));
    running.cache.until_version(11).await;
    assert!(!running.staleness.is_stale());
}
