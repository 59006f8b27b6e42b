//! The types of the native format, version 1. `docs/reference/trace-format.md` describes the format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Resource;

/// `format` of the header.
pub const FORMAT: &str = "jobcheck.dev/trace";

/// The version that this crate writes. It reads every version of the same major.
pub const VERSION: Version = Version { major: 1, minor: 2 };

/// A version of the native format. A minor version adds line types and fields that a reader may ignore. A
/// major version changes the meaning of existing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Incompatible changes.
    pub major: u32,
    /// Additions.
    pub minor: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    pub(crate) fn parse(text: &str) -> Option<Version> {
        let (major, minor) = text.split_once('.')?;
        let number = |text: &str| {
            let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_decimal.then(|| text.parse().ok()).flatten()
        };
        Some(Version { major: number(major)?, minor: number(minor)? })
    }
}

/// The first line: the origin of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: Version,
    /// Minor version of Kubernetes whose rules apply, such as `1.36`.
    pub kubernetes: Option<String>,
    /// Constants of the controller, with the names and values of `--assume`, such as `pod-failure-backoff`:
    /// `100ms`.
    pub assume: BTreeMap<String, String>,
    /// The program that wrote the trace.
    pub producer: Option<String>,
}

impl Header {
    /// A header of the current version, without anything else.
    #[must_use]
    pub fn new() -> Header {
        Header { version: VERSION, kubernetes: None, assume: BTreeMap::new(), producer: None }
    }
}

impl Default for Header {
    fn default() -> Header {
        Header::new()
    }
}

/// An event of the recording, or of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Time in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The kind of mark.
    #[serde(flatten)]
    pub kind: MarkKind,
}

/// The kinds of marks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum MarkKind {
    /// The recording begins. Objects may be older than it.
    Start,
    /// Writes may be missing here.
    Gap {
        /// The resource whose writes may be missing; both resources if unset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Resource>,
        /// The reason.
        reason: String,
        /// The UIDs of the objects that were deleted in the gap, as far as they are known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<String>,
    },
    /// The process of a controller was replaced.
    Restart {
        /// The controller, by the user or the user agent of its requests.
        actor: String,
        /// Assumptions about the new process, as in a header. Others stay as they were.
        #[serde(
            default,
            deserialize_with = "crate::lines::scalars",
            skip_serializing_if = "BTreeMap::is_empty"
        )]
        assume: BTreeMap<String, String>,
    },
    /// A controller became the leader.
    Leader {
        /// The controller.
        actor: String,
    },
    /// The recording was ended on purpose.
    End,
}

/// An injected fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Time in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The controller that the fault concerns; any controller if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// For `relist`: the resource whose watch ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
    /// An explanation for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// A watch was delayed.
    StaleRead,
    /// A write was refused with 409 and not stored.
    Conflict,
    /// A write was refused with another code and not stored.
    Rejected,
    /// A write was stored, and its response lost.
    LostResponse,
    /// A connection was cut.
    Dropped,
    /// A request was delayed.
    Delay,
    /// The controller was killed.
    Crash,
    /// A watch of the controller ended with 410, so that the controller lists `resource` again.
    Relist,
}

/// The progress of a cache of a controller.
///
/// With `job`, a sync of this Job begins here and reads the cache as stated. Without `job`, the cache had
/// come at least this far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// Time in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The controller.
    pub actor: String,
    /// `NAMESPACE/NAME` of the Job whose sync begins; no sync begins if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The resource in the cache.
    pub resource: Resource,
    /// The last version in the cache.
    #[serde(rename = "resourceVersion", with = "decimal")]
    pub version: u64,
}

/// The verdict that the author of a trace expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The verdict.
    pub verdict: ExpectedVerdict,
    /// The id of the violated requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// `NAMESPACE/NAME` of the Job; the whole trace if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// An explanation for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The three verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedVerdict {
    /// Nothing is wrong.
    Conforms,
    /// A requirement is violated.
    Violates,
    /// The trace does not decide.
    Inconclusive,
}

/// A `resourceVersion`, which the API writes as a string.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::text::Text;

    pub(super) fn serialize<S: Serializer>(version: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(version)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = Text::deserialize(deserializer)?;
        text.as_str().parse().map_err(|_| {
            de::Error::invalid_value(de::Unexpected::Str(text.as_str()), &"a decimal number in a string")
        })
    }
}
