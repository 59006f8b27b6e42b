//! Lists and watches of Jobs and pods.

use std::time::Duration;

use futures_util::TryStreamExt;
use jobcheck_access::{Readable, is_too_long, patiently, refuses_version, with_causes};
use jobcheck_traces::{Resource, WatchKind};
use kube::Client;
use kube::api::WatchEvent;
use kube::core::Status;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::change::number_of;

/// The delay before a broken watch is restarted. It doubles if the watch breaks again at once.
const PAUSE: Duration = Duration::from_millis(200);
/// The maximum of this delay.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The timeout of a watch in seconds, which the API server is asked to keep.
const SECONDS: u32 = 280;
/// The same for a watch that only shows what another one may have missed. The server sends a bookmark 2 s before its
/// end.
const SHORT_SECONDS: u32 = 3;
/// The time after which a watch that the server should have ended counts as dead.
const MARGIN: Duration = Duration::from_secs(20);
/// The maximum time for a page of a list. The API server itself ends a request after a minute.
const PAGE_TIME: Duration = Duration::from_secs(90);
/// The page size of a list.
const PAGE: u32 = 500;
/// The maximum number of pages. More objects than that do not fit into etcd.
const MAX_PAGES: u32 = 10_000;

/// The objects of a watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchTarget {
    /// The namespace. `None`: all.
    pub namespace: Option<String>,
    /// Jobs or pods.
    pub resource: Resource,
}

/// The result of a list.
#[derive(Debug)]
pub struct Listed {
    /// The version of the collection, from which a watch shows all later changes.
    pub version: String,
    /// The objects, each with its `kind` and `apiVersion`.
    pub objects: Vec<Value>,
}

/// A list with the items that cannot be read.
#[derive(Debug)]
pub(crate) struct WholeList {
    pub listed: Listed,
    pub unread: Vec<Unread>,
}

/// An item of a list that cannot be read.
#[derive(Debug)]
pub(crate) struct Unread {
    /// Its UID. Empty if it is not known.
    pub uid: String,
    /// The reason.
    pub why: String,
}

/// An update from a watch.
#[derive(Debug)]
pub enum WatchUpdate {
    /// The API server has accepted the watch. Events since its version follow.
    Open,
    /// The watch has ended. It is restarted, and until then shows nothing.
    Ended,
    /// An object was created, changed, or removed.
    Event {
        /// The kind of change.
        kind: WatchKind,
        /// The object.
        object: Value,
    },
    /// A bookmark: no other change happened up to this version.
    Reached(String),
    /// Changes were missed, and the objects were listed again.
    Relisted {
        /// The reason.
        why: String,
        /// The objects that exist.
        listed: Listed,
    },
    /// The watch is interrupted, for this reason. It is restarted at its last version.
    Lost(String),
}

/// The end of a watch.
enum End {
    /// It can continue at its last version.
    Cut(Option<String>),
    /// It cannot continue, for this reason.
    Missed(String),
    /// The receiver was dropped.
    Closed,
}

/// Lists the objects that can be read.
///
/// # Errors
///
/// The API server does not respond, or refuses the request.
pub async fn list(client: &Client, target: &WatchTarget) -> Result<Listed, String> {
    whole_list(client, target).await.map(|list| list.listed)
}

/// Lists the objects.
///
/// # Errors
///
/// The API server does not respond, or refuses the request.
pub(crate) async fn whole_list(client: &Client, target: &WatchTarget) -> Result<WholeList, String> {
    let first = answered(client, page(target, None)?).await?;
    rest(client, target, first).await
}

/// The same at the start of a recording: if the API server is overloaded, it is asked again for a minute.
///
/// # Errors
///
/// The API server does not respond, or refuses the request.
pub(crate) async fn first_list(client: &Client, target: &WatchTarget) -> Result<WholeList, String> {
    let request = page(target, None)?;
    let first = patiently(|| client.request(request.clone()), |_| {}).await;
    rest(client, target, first.map_err(|error| error.to_string())?).await
}

/// A page of the list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    items: Option<Vec<Readable<Value>>>,
}

/// The request for a page of the list.
fn page(target: &WatchTarget, token: Option<&str>) -> Result<http::Request<Vec<u8>>, String> {
    let token = token.map(|it| format!("&continue={}", percent_encode(it.as_bytes(), NON_ALPHANUMERIC)));
    get(target, &format!("limit={PAGE}{}", token.unwrap_or_default())).map_err(|error| error.to_string())
}

/// The answer of the API server to a request, which may not take longer than [`PAGE_TIME`].
async fn answered(client: &Client, request: http::Request<Vec<u8>>) -> Result<Page, String> {
    let answer = timeout(PAGE_TIME, client.request(request)).await;
    let answer = answer.map_err(|_| format!("no complete response within {} s", PAGE_TIME.as_secs()))?;
    answer.map_err(|error| with_causes(&error))
}

/// The objects of all pages. The pages of a list have one version.
async fn rest(client: &Client, target: &WatchTarget, mut list: Page) -> Result<WholeList, String> {
    let (mut objects, mut unread) = (Vec::new(), Vec::new());
    for _ in 0..MAX_PAGES {
        for object in list.items.take().into_iter().flatten() {
            match readable(object) {
                Ok(object) => objects.push(object),
                Err(why) => unread.push(why),
            }
        }
        let of_list = |field: &str| list.metadata[field].as_str().unwrap_or_default().to_owned();
        let token = of_list("continue");
        if token.is_empty() {
            named(&mut objects, target);
            let listed = Listed { version: of_list("resourceVersion"), objects };
            return Ok(WholeList { listed, unread });
        }
        list = answered(client, page(target, Some(&token))?).await?;
    }
    Err(format!("the list has more than {MAX_PAGES} pages"))
}

/// Sets the `kind` and the `apiVersion`, which the items of a list do not have.
fn named(objects: &mut [Value], target: &WatchTarget) {
    let (_, kind, api_version) = names(target.resource);
    for object in objects {
        object["kind"] = kind.into();
        object["apiVersion"] = api_version.into();
    }
}

/// An object with a UID and a version, without which its changes cannot be put in order.
fn readable(object: Readable<Value>) -> Result<Value, Unread> {
    let object = object.read().map_err(|unreadable| Unread {
        uid: unreadable.metadata.uid.clone().unwrap_or_default(),
        why: unreadable.why,
    })?;
    let uid = text(&object, "uid");
    let why = if !object.is_object() {
        "it is no object"
    } else if !is_version(text(&object, "resourceVersion")) {
        "its resourceVersion is missing, or no number"
    } else if uid.is_empty() {
        "its UID is missing"
    } else {
        return Ok(object);
    };
    Err(Unread { uid: uid.to_owned(), why: why.to_owned() })
}

fn is_version(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

/// Follows all changes after this version, until `out` returns false. A broken watch continues at its last version,
/// so that no change is missed. If that version was compacted, `out` receives [`WatchUpdate::Relisted`].
pub async fn follow(
    client: Client,
    target: WatchTarget,
    mut version: String,
    mut out: impl FnMut(WatchUpdate) -> bool + Send,
) {
    let mut pause = PAUSE;
    loop {
        let begun = version.clone();
        let ended = until_it_ends(&client, &target, SECONDS, &mut version, &mut out).await;
        if !out(WatchUpdate::Ended) {
            return;
        }
        pause = if begun == version { (pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
        let is_open = match ended {
            End::Closed => return,
            End::Cut(None) => true,
            End::Cut(Some(why)) => out(WatchUpdate::Lost(why)),
            End::Missed(why) => match list(&client, &target).await {
                Ok(listed) => {
                    listed.version.clone_into(&mut version);
                    out(WatchUpdate::Relisted { why, listed })
                }
                Err(error) => out(WatchUpdate::Lost(error)),
            },
        };
        if !is_open {
            return;
        }
        sleep(pause).await;
    }
}

/// Shows all changes after `version`, up to `until` at least. Returns when the API server has confirmed that these are all.
/// It does so by an event or a bookmark of such a version, or by a watch that ends at its own time.
///
/// A watch that shows nothing may have nothing to show, or a connection that is dead. So this opens another one.
///
/// # Errors
///
/// The API server does not have the changes any more. If it does not answer, this never returns.
pub(crate) async fn catch_up(
    client: &Client,
    target: &WatchTarget,
    mut version: String,
    until: u64,
    mut out: impl FnMut(WatchUpdate) + Send,
) -> Result<(), String> {
    let mut pause = PAUSE;
    loop {
        let (begun, mut is_reached) = (Instant::now(), false);
        let mut show = |update: WatchUpdate| {
            is_reached = match &update {
                WatchUpdate::Reached(version) => number_of(version) >= until,
                WatchUpdate::Event { object, .. } => number_of(text(object, "resourceVersion")) >= until,
                _ => false,
            };
            out(update);
            !is_reached
        };
        let ended = until_it_ends(client, target, SHORT_SECONDS, &mut version, &mut show).await;
        match ended {
            End::Closed => return Ok(()),
            End::Cut(None) if begun.elapsed() >= Duration::from_secs(SHORT_SECONDS.into()) => return Ok(()),
            End::Missed(why) => return Err(why),
            End::Cut(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Shows the events of one watch, and ends it if the server does not.
async fn until_it_ends(
    client: &Client,
    target: &WatchTarget,
    seconds: u32,
    version: &mut String,
    out: &mut (impl FnMut(WatchUpdate) -> bool + Send),
) -> End {
    let longest = Duration::from_secs(seconds.into()) + MARGIN;
    let shown = timeout(longest, show_until_it_ends(client, target, seconds, version, out)).await;
    shown.unwrap_or_else(|_| End::Cut(Some(format!("it did not end within {} s", longest.as_secs()))))
}

async fn show_until_it_ends(
    client: &Client,
    target: &WatchTarget,
    seconds: u32,
    version: &mut String,
    out: &mut (impl FnMut(WatchUpdate) -> bool + Send),
) -> End {
    let query =
        format!("watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={seconds}");
    let request = match get(target, &query) {
        Ok(request) => request,
        Err(error) => return End::Cut(Some(error.to_string())),
    };
    let events = match client.request_events::<Readable<Value>>(request).await {
        Ok(events) => events,
        Err(error) => return refused(&error),
    };
    let mut events = std::pin::pin!(events);
    if !out(WatchUpdate::Open) {
        return End::Closed;
    }
    loop {
        let (kind, object) = match events.try_next().await {
            Ok(Some(WatchEvent::Added(object))) => (WatchKind::Added, object),
            Ok(Some(WatchEvent::Modified(object))) => (WatchKind::Modified, object),
            Ok(Some(WatchEvent::Deleted(object))) => (WatchKind::Deleted, object),
            Ok(Some(WatchEvent::Bookmark(mark))) if !is_version(&mark.metadata.resource_version) => continue,
            Ok(Some(WatchEvent::Bookmark(mark))) => {
                version.clone_from(&mark.metadata.resource_version);
                if out(WatchUpdate::Reached(mark.metadata.resource_version)) {
                    continue;
                }
                return End::Closed;
            }
            Ok(Some(WatchEvent::Error(status))) => return End::Missed(message(&status)),
            Ok(None) => return End::Cut(None),
            Err(error) => return refused(&error),
        };
        let object = match readable(object) {
            Ok(object) => object,
            Err(unread) => return End::Missed(format!("an event cannot be parsed: {}", unread.why)),
        };
        text(&object, "resourceVersion").clone_into(version);
        if !out(WatchUpdate::Event { kind, object }) {
            return End::Closed;
        }
    }
}

fn refused(error: &kube::Error) -> End {
    match error {
        kube::Error::Api(status) if refuses_version(status) => End::Missed(message(status)),
        // A retry would receive the same event again.
        error if is_too_long(error) => End::Missed(with_causes(error)),
        kube::Error::SerdeError(error) => End::Missed(format!("an event cannot be parsed: {error}")),
        error => End::Cut(Some(with_causes(error))),
    }
}

/// The message of a `Status`, or its reason.
fn message(status: &Status) -> String {
    let message = [&status.message, &status.reason].into_iter().find(|text| !text.is_empty());
    message.map_or_else(|| format!("the watch ended with an error ({})", status.code), Clone::clone)
}

/// The plural name, the kind, and the API version.
fn names(resource: Resource) -> (&'static str, &'static str, &'static str) {
    match resource {
        Resource::Jobs => ("jobs", "Job", "batch/v1"),
        Resource::Pods => ("pods", "Pod", "v1"),
    }
}

fn get(target: &WatchTarget, query: &str) -> http::Result<http::Request<Vec<u8>>> {
    let api = if target.resource == Resource::Jobs { "/apis/batch/v1" } else { "/api/v1" };
    let inside = target.namespace.as_ref().map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    let (plural, ..) = names(target.resource);
    http::Request::get(format!("{api}{inside}/{plural}?{query}")).body(Vec::new())
}

/// The text of a field of `metadata`. Empty if it is absent.
#[must_use]
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::service_fn;

    use super::*;

    /// An API server is not trusted.
    #[tokio::test]
    async fn an_item_of_a_list_that_cannot_be_read_leaves_the_others() {
        let nobody = service_fn(|_: http::Request<kube::client::Body>| async {
            Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        let client = Client::new(nobody, "default");
        let target = WatchTarget { namespace: None, resource: Resource::Jobs };
        for (item, uid) in [
            ("1", ""),
            ("\"x\"", ""),
            ("[[]]", ""),
            ("null", ""),
            (r#"{"metadata":null}"#, ""),
            (r#"{"metadata":{"resourceVersion":"7"}}"#, ""),
            (r#"{"metadata":{"uid":"u"}}"#, "u"),
            (r#"{"metadata":{"uid":"u","resourceVersion":"new"}}"#, "u"),
        ] {
            let good = r#"{"metadata":{"uid":"good","resourceVersion":"4"}}"#;
            let text = format!(r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{item},{good}]}}"#);
            let page: Page = serde_json::from_str(&text).unwrap();
            let WholeList { listed, unread } = rest(&client, &target, page).await.unwrap();
            assert_eq!(
                (listed.objects.len(), listed.objects[0]["kind"].as_str()),
                (1, Some("Job")),
                "{item}"
            );
            assert_eq!(unread.iter().map(|it| it.uid.as_str()).collect::<Vec<_>>(), [uid], "{item}");
        }
    }
}
