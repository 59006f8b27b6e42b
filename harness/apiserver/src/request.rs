//! Requests and answers as plain data.

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
    /// Who asks.
    pub user: String,
    /// With which program (`User-Agent`).
    pub user_agent: String,
    /// What is asked about.
    pub resource: Resource,
    /// The namespace; `None` for all namespaces, and for resources without.
    pub namespace: Option<String>,
    /// The object; `None` for the collection.
    pub name: Option<String>,
    /// The subresource.
    pub subresource: Option<Subresource>,
    /// What is asked.
    pub verb: Verb,
    /// Whether nothing is to be stored (`dryRun=All`).
    pub dry_run: bool,
    /// What becomes of unknown fields.
    pub field_validation: FieldValidation,
}

/// `fieldValidation`: what becomes of fields that the kind does not have. They are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nothing is said.
    Ignore,
    /// The answer warns.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

impl Request {
    /// A request of nobody in particular, for tests and scenarios that name the rest.
    #[must_use]
    pub fn new(resource: Resource, namespace: Option<&str>, name: Option<&str>, verb: Verb) -> Request {
        Request {
            user: "admin".to_owned(),
            user_agent: String::new(),
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: None,
            verb,
            dry_run: false,
            field_validation: FieldValidation::default(),
        }
    }

    /// The same on a subresource.
    #[must_use]
    pub fn on(self, subresource: Subresource) -> Request {
        Request { subresource: Some(subresource), ..self }
    }

    /// The same of a user with a program.
    #[must_use]
    pub fn of(self, user: &str, user_agent: &str) -> Request {
        Request { user: user.to_owned(), user_agent: user_agent.to_owned(), ..self }
    }

    /// The key of the object in its resource; that of the collection where no object is named.
    #[must_use]
    pub fn key(&self) -> String {
        crate::object::key(self.namespace.as_deref(), self.name())
    }

    /// The name of the object, empty for a collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// A part of an object that is written apart.
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

/// What is asked.
#[derive(Clone, Debug)]
pub enum Verb {
    /// The object.
    Get {
        /// `resourceVersion`: the answer is not older.
        resource_version: Option<u64>,
    },
    /// The objects of a collection.
    List(ListOptions),
    /// Changes of a collection.
    Watch(WatchOptions),
    /// A new object.
    Create(Value),
    /// Another version of an object (PUT).
    Update(Value),
    /// Changes to an object.
    Patch {
        /// How the body is read.
        kind: PatchKind,
        /// The body.
        body: Value,
    },
    /// The end of an object.
    Delete(DeleteOptions),
    /// The end of the objects of a collection.
    DeleteCollection(ListOptions, DeleteOptions),
}

impl Verb {
    /// The name, as audit events and permissions have it.
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

    /// Whether it may change something.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self, Verb::Get { .. } | Verb::List(_) | Verb::Watch(_))
    }
}

/// How the body of a PATCH is read.
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

/// Options of a list. A text that is not asked for is empty.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// `labelSelector`.
    pub labels: String,
    /// `fieldSelector`.
    pub fields: String,
    /// `limit`; 0 is none.
    pub limit: u64,
    /// `continue`.
    pub resume: String,
    /// `resourceVersion`.
    pub resource_version: Option<u64>,
    /// `resourceVersionMatch`.
    pub version_match: Option<VersionMatch>,
}

/// Options of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// `labelSelector`.
    pub labels: String,
    /// `fieldSelector`.
    pub fields: String,
    /// `resourceVersion`; absent and 0 mean: what is there now, and then the changes.
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

/// What an object must be for a DELETE to be carried out.
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

/// An API server that answers requests: the embedded one, or a real one behind a connection.
pub trait Api {
    /// Handles a request at a time; a server with a clock of its own does not look at that.
    fn handle(&mut self, now: Timestamp, request: &Request) -> Response;
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// What came of it.
    pub outcome: Result<Reply, ApiError>,
    /// Sentences of `Warning` headers.
    pub warnings: Vec<String>,
}

impl Response {
    /// The HTTP code; 0 where no answer is sent.
    #[must_use]
    pub fn code(&self) -> u16 {
        match &self.outcome {
            Ok(Reply::Object { code, .. }) => *code,
            Ok(Reply::List(_) | Reply::Watch(_)) => 200,
            Ok(Reply::Dropped) => 0,
            Err(error) => error.code,
        }
    }

    /// The object of an accepted request.
    ///
    /// # Errors
    /// The request was refused, or its answer is no object; then the error is the Status of an internal error.
    pub fn object(self) -> Result<Arc<Value>, ApiError> {
        match self.outcome? {
            Reply::Object { object, .. } => Ok(object),
            Reply::List(_) | Reply::Watch(_) | Reply::Dropped => {
                Err(ApiError::internal("the answer is no object"))
            }
        }
    }
}

/// The answer to an accepted request.
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
    /// Events are to be taken from this watch.
    Watch(WatchId),
    /// A fault swallowed the answer: the connection ends.
    Dropped,
}

/// A list of objects of one resource.
#[derive(Clone, Debug)]
pub struct List {
    /// The resource.
    pub resource: Resource,
    /// The objects, in the order of their keys.
    pub items: Vec<Arc<Value>>,
    /// The revision that the list shows.
    pub revision: u64,
    /// Token for the next page; empty on the last.
    pub resume: String,
    /// How many follow, where that is known.
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

/// An object in a list: the list says of what kind it is.
struct Item<'a>(&'a Value);

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
