//! The watches of a run.

use std::sync::mpsc::Sender;
use std::time::Duration;

use futures_util::TryStreamExt;
use jobcheck_apiserver::resource::Resource;
use jobcheck_cluster::told;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;

use crate::error::Error;
use crate::leader::Question;
use crate::seen::text;

/// Time before a watch that broke is begun again.
const PAUSE: Duration = Duration::from_millis(200);
/// Seconds after which the API server ends a watch.
const SECONDS: u32 = 280;

/// What a watch has shown, or a proxy asks.
pub(crate) enum Shown {
    /// An object is new, changed, or gone.
    Event {
        /// As the API names it.
        kind: &'static str,
        /// The object.
        object: Value,
    },
    /// What happened in between was not seen; these objects are there now.
    Again {
        /// Of what.
        resource: Resource,
        /// Why.
        why: String,
        /// The objects.
        objects: Vec<Value>,
    },
    /// A controller asks for something, and waits until it is decided what becomes of that.
    Asked(Box<Question>),
}

/// The version from which a watch shows all that happens.
///
/// # Errors
///
/// The API server does not answer.
pub(crate) async fn version(client: &Client, namespace: &str, resource: Resource) -> Result<String, Error> {
    let (version, _) = list(client, namespace, resource).await.map_err(Error::Server)?;
    Ok(version)
}

/// Shows what happens from this version on, until nobody listens.
pub(crate) async fn follow(
    client: Client,
    namespace: String,
    resource: Resource,
    mut version: String,
    out: Sender<Shown>,
) {
    loop {
        let ended = until_it_ends(&client, &namespace, resource, &mut version, &out).await;
        let Some(why) = ended else { return };
        tokio::time::sleep(PAUSE).await;
        if why.is_empty() {
            continue;
        }
        let Ok((new, objects)) = list(&client, &namespace, resource).await else { continue };
        version = new;
        if out.send(Shown::Again { resource, why, objects }).is_err() {
            return;
        }
    }
}

/// Why the watch cannot go on from where it was; empty if it can, and none where nobody listens.
async fn until_it_ends(
    client: &Client,
    namespace: &str,
    resource: Resource,
    version: &mut String,
    out: &Sender<Shown>,
) -> Option<String> {
    let query =
        format!("watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={SECONDS}");
    let Ok(request) = get(namespace, resource, &query) else { return Some("no request".to_owned()) };
    let Ok(events) = client.request_events::<Value>(request).await else { return Some(String::new()) };
    let mut events = std::pin::pin!(events);
    loop {
        let (kind, object) = match events.try_next().await {
            Ok(Some(WatchEvent::Added(object))) => ("ADDED", object),
            Ok(Some(WatchEvent::Modified(object))) => ("MODIFIED", object),
            Ok(Some(WatchEvent::Deleted(object))) => ("DELETED", object),
            Ok(Some(WatchEvent::Bookmark(mark))) => {
                *version = mark.metadata.resource_version;
                continue;
            }
            Ok(Some(WatchEvent::Error(status))) => return Some(status.message.clone()),
            // It can go on from the last version.
            Ok(None) | Err(_) => return Some(String::new()),
        };
        text(&object, "resourceVersion").clone_into(version);
        out.send(Shown::Event { kind, object }).ok()?;
    }
}

/// The version of the collection, and its objects.
async fn list(client: &Client, namespace: &str, resource: Resource) -> Result<(String, Vec<Value>), String> {
    let request = get(namespace, resource, "").map_err(|error| error.to_string())?;
    let mut list: Value = client.request(request).await.map_err(|error| told(&error))?;
    let version = text(&list, "resourceVersion").to_owned();
    let Value::Array(mut objects) = list["items"].take() else { return Ok((version, Vec::new())) };
    for object in &mut objects {
        object["kind"] = resource.facts().kind.into();
        object["apiVersion"] = resource.api_version().into();
    }
    Ok((version, objects))
}

fn get(namespace: &str, resource: Resource, query: &str) -> http::Result<http::Request<Vec<u8>>> {
    let api = if resource == Resource::Jobs { "/apis/batch/v1" } else { "/api/v1" };
    let path = format!("{api}/namespaces/{namespace}/{}?{query}", resource.facts().plural);
    http::Request::get(path).body(Vec::new())
}
