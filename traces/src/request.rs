//! A write to the API server and its answer.

use crate::object::{Answer, Object};
use crate::record::Resource;

/// One API request with its answer, from an audit log or a native trace. Reads are not reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// The id of an audit event (`auditID`): the same event, in another log or a second time, has the same.
    pub id: Option<&'a str>,
    /// When the API server had it in hand.
    pub interval: Interval,
    /// How much was recorded.
    pub level: Level,
    /// Who sent it.
    pub actor: Actor<'a>,
    /// What it asks for.
    pub verb: Verb,
    /// On which resource.
    pub resource: Resource,
    /// On which part of it.
    pub subresource: Subresource<'a>,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object: of the request, else (generateName) of the answer; empty where neither shows it.
    pub name: &'a str,
    /// UID of the object: of the answer, else of the request.
    pub uid: Option<&'a str>,
    /// HTTP status of the answer.
    pub code: u16,
    /// `reason` of a refusal, such as `Conflict`.
    pub reason: Option<&'a str>,
    /// `message` of a refusal.
    pub message: Option<&'a str>,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// Media type of a patch; audit logs do not show it.
    pub patch_type: Option<&'a str>,
    /// `propagationPolicy` of a deletion, from its query or its body.
    pub propagation_policy: Option<&'a str>,
    /// `metadata.resourceVersion` of the answer, where that is an object. A write that changed nothing, and the
    /// removal of the last finalizer of an object being deleted, answer with one that was seen before.
    pub version: Option<u64>,
    /// The body of the request, from level Request.
    pub request: Option<Object<'a>>,
    /// What `response` holds.
    pub answer: Answer,
    /// The body of the answer, from level RequestResponse.
    pub response: Option<Object<'a>>,
}

impl Request<'_> {
    /// Whether the API server answered with success.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        is_success(self.code)
    }
}

/// A 2xx status.
pub(crate) fn is_success(code: u16) -> bool {
    (200..300).contains(&code)
}

/// A span of time in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// When the request was received.
    pub received: i64,
    /// When the answer was complete; never before `received`, even where the server's clock stepped back.
    pub done: i64,
}

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Actor<'a> {
    /// User name; the impersonated one where there is one, because that is whose rights were used.
    pub user: &'a str,
    /// `User-Agent`, empty where unknown.
    pub agent: &'a str,
}

/// How much of a request was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No bodies.
    Metadata,
    /// The body of the request.
    Request,
    /// Both bodies.
    RequestResponse,
}

impl Level {
    /// The word of the audit API.
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

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH, server-side apply included.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection; the objects removed are not listed.
    DeleteCollection,
}

impl Verb {
    const ALL: [Verb; 5] = [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection];

    /// The word of the API.
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

/// The part of an object that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subresource<'a> {
    /// The object itself.
    None,
    /// `status`.
    Status,
    /// Another one: `binding`, `eviction`, `ephemeralcontainers`, `resize` and so on.
    Other(&'a str),
}

impl<'a> Subresource<'a> {
    /// The word of the API, empty for the object itself.
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
