//! Requests and responses as plain data.

use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ApiError;
use crate::resource::Resource;
use crate::watch::WatchId;

/// A request on a resource.
#[derive(Clone, Debug)]
pub struct Request {
    /// The user that sends the request.
    pub user: String,
    /// The program that sends the request (`User-Agent`).
    pub user_agent: String,
    /// The id of the request in the audit log, if the client has chosen one (`Audit-ID`).
    pub audit_id: Option<String>,
    /// The resource.
    pub resource: Resource,
    /// The namespace. `None`: all namespaces, or a resource without namespaces.
    pub namespace: Option<String>,
    /// The name of the object. `None`: the collection.
    pub name: Option<String>,
    /// The subresource.
    pub subresource: Option<Subresource>,
    /// The verb with its options and its body.
    pub verb: Verb,
    /// If true, nothing is stored (`dryRun=All`).
    pub dry_run: bool,
    /// The treatment of unknown fields.
    pub field_validation: FieldValidation,
}

/// `fieldValidation`: the treatment of fields that the kind does not have. They are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// The response has a warning for each.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

impl Request {
    /// Returns a request without a user and a program. [`Request::of`] sets them.
    #[must_use]
    pub fn new(resource: Resource, namespace: Option<&str>, name: Option<&str>, verb: Verb) -> Request {
        Request {
            user: "admin".to_owned(),
            user_agent: String::new(),
            audit_id: None,
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: None,
            verb,
            dry_run: false,
            field_validation: FieldValidation::default(),
        }
    }

    /// The same request on a subresource.
    #[must_use]
    pub fn on(self, subresource: Subresource) -> Request {
        Request { subresource: Some(subresource), ..self }
    }

    /// The same request, sent by a user with a program.
    #[must_use]
    pub fn of(self, user: &str, user_agent: &str) -> Request {
        Request { user: user.to_owned(), user_agent: user_agent.to_owned(), ..self }
    }

    /// The key of the object in its resource, or the key of the collection if the request names no object.
    #[must_use]
    pub fn key(&self) -> String {
        crate::object::key(self.namespace.as_deref(), self.name())
    }

    /// The name of the object. Empty for a collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// A part of an object with a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `/status`.
    Status,
    /// `/binding` of a pod.
    Binding,
    /// `/eviction` of a pod.
    Eviction,
    /// `/finalize` of a namespace.
    Finalize,
}

impl Subresource {
    /// The name in paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Binding => "binding",
            Subresource::Eviction => "eviction",
            Subresource::Finalize => "finalize",
        }
    }

    /// The subresource with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Subresource> {
        [Subresource::Status, Subresource::Binding, Subresource::Eviction, Subresource::Finalize]
            .into_iter()
            .find(|it| it.name() == name)
    }
}

/// A verb of the API, with its options and its body.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Reads an object.
    Get {
        /// `resourceVersion`: the response is at least as new.
        resource_version: Option<u64>,
    },
    /// Reads the objects of a collection.
    List(ListOptions),
    /// Follows the changes of a collection.
    Watch(WatchOptions),
    /// Creates an object (POST).
    Create(Value),
    /// Replaces an object (PUT).
    Update(Value),
    /// Changes an object (PATCH).
    Patch {
        /// The format of the body.
        kind: PatchKind,
        /// The body.
        body: Value,
    },
    /// Deletes an object.
    Delete(DeleteOptions),
    /// Deletes the objects of a collection.
    DeleteCollection(ListOptions, DeleteOptions),
}

impl Verb {
    /// The name of the verb in audit events and permissions.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Verb::Get { .. } => "get",
            Verb::List(_) => "list",
            Verb::Watch(_) => "watch",
            Verb::Create(_) => "create",
            Verb::Update(_) => "update",
            Verb::Patch { .. } => "patch",
            Verb::Delete(_) => "delete",
            Verb::DeleteCollection(..) => "deletecollection",
        }
    }

    /// Returns true if the verb can change an object.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self, Verb::Get { .. } | Verb::List(_) | Verb::Watch(_))
    }
}

/// The format of the body of a PATCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/json-patch+json` (RFC 6902).
    Json,
    /// `application/merge-patch+json` (RFC 7386).
    Merge,
    /// `application/strategic-merge-patch+json`.
    Strategic,
    /// `application/apply-patch+yaml`: server-side apply.
    Apply,
}

/// `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly this version.
    Exact,
    /// This version or a newer one.
    NotOlderThan,
}

/// The options of a list. An option that is not given is an empty text.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// `labelSelector`.
    pub labels: String,
    /// `fieldSelector`.
    pub fields: String,
    /// `limit`. 0: no limit.
    pub limit: u64,
    /// `continue`.
    pub resume: String,
    /// `resourceVersion`.
    pub resource_version: Option<u64>,
    /// `resourceVersionMatch`.
    pub version_match: Option<VersionMatch>,
}

/// The options of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// `labelSelector`.
    pub labels: String,
    /// `fieldSelector`.
    pub fields: String,
    /// `resourceVersion`. Absent or 0: the stored objects first, then the changes.
    pub resource_version: Option<u64>,
    /// `resourceVersionMatch`.
    pub version_match: Option<VersionMatch>,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
    /// `sendInitialEvents`.
    pub initial_events: Option<bool>,
    /// `timeoutSeconds`.
    pub timeout_seconds: Option<u32>,
}

/// `metav1.DeleteOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// `propagationPolicy`: `Orphan`, `Background`, or `Foreground`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<String>,
    /// `orphanDependents`, the older form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_dependents: Option<bool>,
    /// `preconditions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// `dryRun`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
}

/// The conditions under which a DELETE is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preconditions {
    /// `uid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// `resourceVersion`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// An API server that handles requests: the embedded server, or a real one behind a connection.
pub trait Api {
    /// Handles a request at this time. A server with its own clock ignores the time.
    fn handle(&mut self, now: Timestamp, request: &Request) -> Response;
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The reply to an accepted request, or the reason of a refusal.
    pub outcome: Result<Reply, ApiError>,
    /// The sentences of the `Warning` headers.
    pub warnings: Vec<String>,
}

impl Response {
    /// The HTTP code. 0 if no response is sent.
    #[must_use]
    pub fn code(&self) -> u16 {
        match &self.outcome {
            Ok(Reply::Object { code, .. }) => *code,
            Ok(Reply::List(_) | Reply::Watch(_)) => 200,
            Ok(Reply::Dropped) => 0,
            Err(error) => error.code,
        }
    }

    /// The object in the response.
    ///
    /// # Errors
    /// The request was refused. A response without an object is an internal error.
    pub fn object(self) -> Result<Arc<Value>, ApiError> {
        match self.outcome? {
            Reply::Object { object, .. } => Ok(object),
            Reply::List(_) | Reply::Watch(_) | Reply::Dropped => {
                Err(ApiError::internal("the response has no object"))
            }
        }
    }
}

/// The reply to an accepted request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An object, or a Status of success.
    Object {
        /// 200, 201, or 202.
        code: u16,
        /// The object.
        object: Arc<Value>,
    },
    /// A list.
    List(List),
    /// A watch: its events are taken from the server by this id.
    Watch(WatchId),
    /// No response: a fault dropped it, and the connection ends.
    Dropped,
}

/// A list of objects of one resource.
#[derive(Clone, Debug)]
pub struct List {
    /// The resource.
    pub resource: Resource,
    /// The objects, in the order of their keys.
    pub items: Vec<Arc<Value>>,
    /// The revision at which the list was made.
    pub revision: u64,
    /// The token for the next page. Empty on the last page.
    pub resume: String,
    /// The number of objects on later pages, if it is known.
    pub remaining: Option<usize>,
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut metadata = serde_json::Map::new();
        metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        if !self.resume.is_empty() {
            metadata.insert("continue".to_owned(), self.resume.clone().into());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".to_owned(), remaining.into());
        }
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", &format!("{}List", self.resource.facts().kind))?;
        map.serialize_entry("apiVersion", &self.resource.api_version())?;
        map.serialize_entry("metadata", &metadata)?;
        map.serialize_entry("items", &Items(&self.items))?;
        map.end()
    }
}

struct Items<'a>(&'a [Arc<Value>]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = serializer.serialize_seq(Some(self.0.len()))?;
        for item in self.0 {
            items.serialize_element(&Item(item))?;
        }
        items.end()
    }
}

/// An object in a list, without kind and API version, which only the list has.
pub(crate) struct Item<'a>(pub(crate) &'a Value);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(members) = self.0.as_object() else { return self.0.serialize(serializer) };
        let shown = members.iter().filter(|(key, _)| *key != "kind" && *key != "apiVersion");
        serializer.collect_map(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_says_once_of_what_kind_its_items_are() {
        let list = List {
            resource: Resource::Jobs,
            items: vec![Arc::new(
                json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "a"}}),
            )],
            revision: 7,
            resume: "t".into(),
            remaining: Some(2),
        };
        let expected = json!({
            "kind": "JobList", "apiVersion": "batch/v1",
            "metadata": {"resourceVersion": "7", "continue": "t", "remainingItemCount": 2},
            "items": [{"metadata": {"name": "a"}}],
        });
        assert_eq!(serde_json::to_value(list).unwrap(), expected);
    }
}
