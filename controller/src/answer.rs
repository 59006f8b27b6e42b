//! What the API server's answer to a call means for its caller.

use kube_core::Status;
use thiserror::Error;

use crate::values::{ResourceVersion, Text, Uid};

/// What became of a call.
pub type Answer = Result<Shown, Failure>;

/// What is read of the object in an answer of 2xx. All of it is empty where the answer shows no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `metadata.name`, which the API server chose where the request had `generateName`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`. A removal answers with the version of before.
    pub resource_version: ResourceVersion,
    /// Whether it has a `metadata.deletionTimestamp`.
    pub deleting: bool,
}

/// An API call that did not succeed. The distinctions are those on which a caller acts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// 404: there is no such object.
    #[error("not found: {0}")]
    NotFound(String),
    /// 409 on a precondition: the object is not what the caller believed.
    #[error("conflict: {0}")]
    Conflict(String),
    /// 409 on a name: another object has it.
    #[error("already exists: {0}")]
    AlreadyExists(String),
    /// 403, 404 or 409 because the namespace is being deleted: trying again is of no use (PC-12).
    #[error("namespace is being deleted: {0}")]
    NamespaceTerminating(String),
    /// 410: the version that a list or watch began from is gone.
    #[error("version expired: {0}")]
    Expired(String),
    /// Another 4xx: the server did not do it, and will not do it in this form.
    #[error("refused with {code}: {message}")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// 429: the server did not do it, now.
    #[error("throttled: {0}")]
    Throttled(String),
    /// The request was not sent.
    #[error("not sent: {0}")]
    NotSent(String),
    /// 5xx, a broken connection, or an answer that cannot be read: a write may have happened all the same. Nothing is
    /// assumed; who goes on first proves that its caches are fresh.
    #[error("no certain answer: {0}")]
    Ambiguous(String),
}

impl Failure {
    /// The failure that a `Status` of an API server reports.
    #[must_use]
    pub fn from_status(status: &Status) -> Failure {
        let message = status.message.clone();
        let namespace_terminates = status
            .details
            .iter()
            .flat_map(|details| &details.causes)
            .any(|cause| cause.reason == "NamespaceTerminating");
        match status.code {
            400..500 if namespace_terminates => Failure::NamespaceTerminating(message),
            404 => Failure::NotFound(message),
            409 if status.is_already_exists() => Failure::AlreadyExists(message),
            409 => Failure::Conflict(message),
            410 => Failure::Expired(message),
            429 => Failure::Throttled(message),
            code @ 400..500 => Failure::Refused { code, message },
            code => Failure::Ambiguous(format!("{code}: {message}")),
        }
    }

    /// Whether the write may have happened.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Failure::Ambiguous(_))
    }

    /// The API server's own message, as upstream puts it into events.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Failure::NotFound(message)
            | Failure::Conflict(message)
            | Failure::AlreadyExists(message)
            | Failure::NamespaceTerminating(message)
            | Failure::Expired(message)
            | Failure::Refused { message, .. }
            | Failure::Throttled(message)
            | Failure::NotSent(message)
            | Failure::Ambiguous(message) => message,
        }
    }
}
