//! The response of the API server to a call, reduced to the distinctions on which a caller acts.

use kube_core::Status;
use thiserror::Error;

use crate::values::{ResourceVersion, Text, Uid};

/// The response to a call: the object in a 2xx, or the failure.
pub type Answer = Result<Shown, Failure>;

/// The fields of the object in a 2xx response. All of them are empty if the response has no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `metadata.name`. The API server chooses it if the request has `generateName`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`. The response to a deletion that removes the object has its last version.
    pub resource_version: ResourceVersion,
    /// True if the object has a `metadata.deletionTimestamp`.
    pub deleting: bool,
}

/// A call without a 2xx response. Its text contains an [`excerpt`] of the message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// 404: the object does not exist.
    #[error("not found: {}", excerpt(.0))]
    NotFound(String),
    /// 409 because of a precondition: the object has changed.
    #[error("conflict: {}", excerpt(.0))]
    Conflict(String),
    /// 409 because of the name: another object has it.
    #[error("already exists: {}", excerpt(.0))]
    AlreadyExists(String),
    /// 4xx because the namespace is terminating. A retry cannot succeed (PC-12).
    #[error("the namespace is terminating: {}", excerpt(.0))]
    NamespaceTerminating(String),
    /// 410: the version from which a list or watch starts is too old.
    #[error("version expired: {}", excerpt(.0))]
    Expired(String),
    /// Any other 4xx: the server did not perform the request, and would not perform it again.
    #[error("refused with {code}: {}", excerpt(message))]
    Refused {
        /// The HTTP status.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// 429: the server did not perform the request, but may do so later.
    #[error("throttled: {}", excerpt(.0))]
    Throttled(String),
    /// The request was not sent.
    #[error("not sent: {}", excerpt(.0))]
    NotSent(String),
    /// 5xx, a broken connection, or a malformed response. A write may have happened. The caller assumes nothing, and reads
    /// back what is stored before it continues.
    #[error("the outcome is unknown: {}", excerpt(.0))]
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

    /// Returns true if the write may have happened.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Failure::Ambiguous(_))
    }

    /// The message of the API server, as Kubernetes puts it into events.
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

/// The maximum length of a message in a log line, in characters.
const EXCERPT: usize = 1024;

/// The beginning of a message that the API server has chosen. A longer one could fill the log.
#[must_use]
pub fn excerpt(message: &str) -> &str {
    message.char_indices().nth(EXCERPT).map_or(message, |(end, _)| &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_failure_quotes_at_most_1024_characters() {
        let message = "ä".repeat(EXCERPT);
        assert_eq!(excerpt(&message), message);
        let longer = format!("{message}bcd");
        let failure = Failure::Refused { code: 422, message: longer.clone() };
        assert_eq!(failure.to_string(), format!("refused with 422: {message}"));
        assert_eq!(failure.message(), longer, "an event has the whole message");
        assert_eq!(Failure::Ambiguous(longer).to_string(), format!("the outcome is unknown: {message}"));
    }
}
