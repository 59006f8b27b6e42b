//! Lists and watches of Jobs and pods.

use std::time::Duration;

use futures_util::TryStreamExt;
use jobcheck_cluster::told;
use jobcheck_traces::{Resource, WatchKind};
use kube::Client;
use kube::api::WatchEvent;
use kube::core::Status;
use serde_json::Value;

/// Time before a watch that broke is begun again; doubled each time that it breaks at once.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest such time.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Seconds after which the API server ends a watch.
const SECONDS: u32 = 280;
/// `410 Gone`: the history that would be needed is compacted.
const GONE: u16 = 410;
/// What an API server says that has not come so far yet: its etcd was restored, or is another one.
const AHEAD: &str = "Too large resource version";

/// What a watch shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// The namespace; all of them if unset.
    pub namespace: Option<String>,
    /// Jobs or pods.
    pub resource: Resource,
}

/// A list.
#[derive(Debug)]
pub struct Listed {
    /// The version of the collection: a watch from there shows all that comes after.
    pub version: String,
    /// The objects, each with its `kind` and `apiVersion`.
    pub objects: Vec<Value>,
}

/// What a watch has shown.
#[derive(Debug)]
pub enum Shown {
    /// An object is new, changed, or gone.
    Event {
        /// Which of these.
        kind: WatchKind,
        /// The object.
        object: Value,
    },
    /// Nothing else has happened up to this version.
    Reached(String),
    /// What happened in between was not seen; this is there now.
    Again {
        /// Why.
        why: String,
        /// What is there.
        listed: Listed,
    },
    /// Nothing can be seen for now. It is tried again, from where the watch was.
    Lost(String),
}

/// How a watch ended.
enum End {
    /// It can go on from its last version.
    Cut(Option<String>),
    /// It cannot.
    Missed(String),
    /// Nobody listens.
    Unheard,
}

/// What is there.
///
/// # Errors
///
/// The API server does not answer, or refuses.
pub async fn list(client: &Client, scope: &Scope) -> Result<Listed, String> {
    let request = get(scope, "").map_err(|error| error.to_string())?;
    let mut list: Value = client.request(request).await.map_err(|error| told(&error))?;
    let version = text(&list, "resourceVersion").to_owned();
    let Value::Array(mut objects) = list["items"].take() else {
        return Ok(Listed { version, objects: Vec::new() });
    };
    let (_, kind, api_version) = names(scope.resource);
    for object in &mut objects {
        object["kind"] = kind.into();
        object["apiVersion"] = api_version.into();
    }
    Ok(Listed { version, objects })
}

/// Shows what happens from this version on, for as long as `out` says that it listens. A watch that breaks goes on from
/// the last version that it has shown, so that nothing is missed; where that version is too old, `out` hears so.
pub async fn follow(
    client: Client,
    scope: Scope,
    mut version: String,
    mut out: impl FnMut(Shown) -> bool + Send,
) {
    let mut pause = PAUSE;
    loop {
        let begun = version.clone();
        let ended = until_it_ends(&client, &scope, &mut version, &mut out).await;
        pause = if begun == version { (pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
        let heard = match ended {
            End::Unheard => return,
            End::Cut(None) => true,
            End::Cut(Some(why)) => out(Shown::Lost(why)),
            End::Missed(why) => match list(&client, &scope).await {
                Ok(listed) => {
                    listed.version.clone_into(&mut version);
                    out(Shown::Again { why, listed })
                }
                Err(error) => out(Shown::Lost(error)),
            },
        };
        if !heard {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

async fn until_it_ends(
    client: &Client,
    scope: &Scope,
    version: &mut String,
    out: &mut (impl FnMut(Shown) -> bool + Send),
) -> End {
    let query =
        format!("watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={SECONDS}");
    let request = match get(scope, &query) {
        Ok(request) => request,
        Err(error) => return End::Cut(Some(error.to_string())),
    };
    let events = match client.request_events::<Value>(request).await {
        Ok(events) => events,
        Err(error) => return refused(&error),
    };
    let mut events = std::pin::pin!(events);
    loop {
        let (kind, object) = match events.try_next().await {
            Ok(Some(WatchEvent::Added(object))) => (WatchKind::Added, object),
            Ok(Some(WatchEvent::Modified(object))) => (WatchKind::Modified, object),
            Ok(Some(WatchEvent::Deleted(object))) => (WatchKind::Deleted, object),
            Ok(Some(WatchEvent::Bookmark(mark))) => {
                version.clone_from(&mark.metadata.resource_version);
                if out(Shown::Reached(mark.metadata.resource_version)) {
                    continue;
                }
                return End::Unheard;
            }
            Ok(Some(WatchEvent::Error(status))) => return End::Missed(said(&status)),
            Ok(None) => return End::Cut(None),
            Err(error) => return refused(&error),
        };
        text(&object, "resourceVersion").clone_into(version);
        if !out(Shown::Event { kind, object }) {
            return End::Unheard;
        }
    }
}

fn refused(error: &kube::Error) -> End {
    match error {
        kube::Error::Api(status) if status.code == GONE || status.message.contains(AHEAD) => {
            End::Missed(said(status))
        }
        // It would come again, as often as it is asked for.
        kube::Error::SerdeError(error) => End::Missed(format!("an event that cannot be read: {error}")),
        error => End::Cut(Some(told(error))),
    }
}

fn said(status: &Status) -> String {
    let message = [&status.message, &status.reason].into_iter().find(|text| !text.is_empty());
    message.map_or_else(|| format!("the watch ended with an error ({})", status.code), Clone::clone)
}

/// The plural, the kind, and the version of the API.
fn names(resource: Resource) -> (&'static str, &'static str, &'static str) {
    match resource {
        Resource::Jobs => ("jobs", "Job", "batch/v1"),
        Resource::Pods => ("pods", "Pod", "v1"),
    }
}

fn get(scope: &Scope, query: &str) -> http::Result<http::Request<Vec<u8>>> {
    let api = if scope.resource == Resource::Jobs { "/apis/batch/v1" } else { "/api/v1" };
    let inside = scope.namespace.as_ref().map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    let (plural, ..) = names(scope.resource);
    http::Request::get(format!("{api}{inside}/{plural}?{query}")).body(Vec::new())
}

/// A field of `metadata`.
#[must_use]
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}
