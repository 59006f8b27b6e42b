//! Requests to the API server, with their responses.

use serde::{Deserialize, Serialize};

use crate::object::{Answer, Object};
use crate::record::Resource;

/// A write request with its response, from an audit log or a native trace. Reads are skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// The id of an audit event (`auditID`). Copies of the event, in this log or in another, have the same
    /// id.
    pub id: Option<&'a str>,
    /// The time during which the API server handled the request.
    pub interval: Interval,
    /// The recorded parts of the request.
    pub level: Level,
    /// The sender.
    pub actor: Actor<'a>,
    /// The verb.
    pub verb: Verb,
    /// The resource.
    pub resource: Resource,
    /// The subresource.
    pub subresource: Subresource<'a>,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object: of the request; with `generateName`, of the response. Empty if neither contains
    /// it.
    pub name: &'a str,
    /// UID of the object: of the response, otherwise of the request.
    pub uid: Option<&'a str>,
    /// HTTP status of the response.
    pub code: u16,
    /// `reason` of a refusal, such as `Conflict`.
    pub reason: Option<&'a str>,
    /// `message` of a refusal.
    pub message: Option<&'a str>,
    /// The request asks the server to store nothing.
    pub dry_run: bool,
    /// Media type of a patch; native traces only.
    pub patch_type: Option<&'a str>,
    /// `propagationPolicy` of a deletion, from its query or its body.
    pub propagation_policy: Option<&'a str>,
    /// `metadata.resourceVersion` of the object in the response. It is an old version if the write changed
    /// nothing, or removed the last finalizer of an object that is being deleted.
    pub version: Option<u64>,
    /// The body of the request, from level Request on.
    pub request: Option<Object<'a>>,
    /// The content of `response`.
    pub answer: Answer,
    /// The body of the response, at level RequestResponse.
    pub response: Option<Object<'a>>,
}

impl Request<'_> {
    /// Returns `true` if the API server accepted the request.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        is_success(self.code)
    }
}

/// Returns `true` for a 2xx status.
pub(crate) fn is_success(code: u16) -> bool {
    (200..300).contains(&code)
}

/// A span of time in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The time of receipt.
    pub received: i64,
    /// The time at which the response was complete. It is at least `received`, even if the server's clock
    /// stepped back.
    pub done: i64,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Actor<'a> {
    /// The user name. With impersonation, the impersonated user, whose permissions apply.
    pub user: &'a str,
    /// `User-Agent`; empty if it is unknown.
    pub agent: &'a str,
    /// The address that the request came from; empty if it is unknown.
    pub address: &'a str,
}

/// The recorded parts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No body.
    Metadata,
    /// The body of the request.
    Request,
    /// Both bodies.
    RequestResponse,
}

impl Level {
    /// The name in the audit API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Level> {
        [Level::Metadata, Level::Request, Level::RequestResponse].into_iter().find(|l| l.name() == word)
    }
}

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verb {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH, and server-side apply.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection. The response need not list the removed objects.
    DeleteCollection,
}

impl Verb {
    const ALL: [Verb; 5] = [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection];

    /// The name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|verb| verb.name() == word)
    }
}

/// The subresource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subresource<'a> {
    /// The object itself.
    None,
    /// `status`.
    Status,
    /// Another one, such as `binding`, `eviction`, `ephemeralcontainers`, or `resize`.
    Other(&'a str),
}

impl<'a> Subresource<'a> {
    /// The name in the API; empty for the object itself.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Subresource::None => "",
            Subresource::Status => "status",
            Subresource::Other(name) => name,
        }
    }

    pub(crate) fn named(word: &'a str) -> Subresource<'a> {
        match word {
            "" => Subresource::None,
            "status" => Subresource::Status,
            other => Subresource::Other(other),
        }
    }
}
