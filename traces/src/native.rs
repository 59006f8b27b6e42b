//! The types of the native format, version 1 (`docs/reference/trace-format.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Resource;

/// `format` of the header.
pub const FORMAT: &str = "jobcheck.dev/trace";

/// The version that this crate writes; it reads every version of this major.
pub const VERSION: Version = Version { major: 1, minor: 2 };

/// A version of the native format. A minor version adds line types and fields that may be ignored; a major
/// version changes what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes of meaning.
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

/// The first line: what the trace was recorded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: Version,
    /// Minor version of Kubernetes whose rules apply, such as `1.36`.
    pub kubernetes: Option<String>,
    /// Constants of the subject, named and written as for `--assume`, such as `pod-failure-backoff`: `100ms`.
    pub assume: BTreeMap<String, String>,
    /// The program that wrote the trace.
    pub producer: Option<String>,
}

impl Header {
    /// A header of the current version that says nothing else.
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

/// Something that happened to the recording or to a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When, in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// What.
    #[serde(flatten)]
    pub kind: MarkKind,
}

/// What a [`Mark`] marks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum MarkKind {
    /// Recording began; what existed before was not seen.
    Start,
    /// Writes may have been missed here.
    Gap {
        /// Of this resource; of every one if unset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Resource>,
        /// Why.
        reason: String,
    },
    /// A controller's process was replaced.
    Restart {
        /// The controller, as the requests name its user or agent.
        actor: String,
        /// What is assumed of the process that takes over, as in a header; the rest is as before.
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
    /// Recording ended on purpose.
    End,
}

/// A fault that the harness injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When, in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// What.
    pub kind: FaultKind,
    /// Against which controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Which of its caches, of `relist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
    /// What else is to be said to a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// A watch was held back.
    StaleRead,
    /// A write was answered with 409 and not stored.
    Conflict,
    /// A write was refused in another way, and not stored.
    Rejected,
    /// A write was stored and its answer lost.
    LostResponse,
    /// A connection was cut.
    Dropped,
    /// A request was held back.
    Delay,
    /// The controller was killed.
    Crash,
    /// Its watch of `resource` ended with 410: what it sees next is a new list.
    Relist,
}

/// How far the cache of a controller had come when it decided something.
///
/// With a Job, a sync of it begins here, and this is what it reads of the cache; without one, the cache of all Jobs had
/// come this far at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// When, in microseconds since the epoch.
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The controller.
    pub actor: String,
    /// `NAMESPACE/NAME` of the Job that a sync begins for; of no sync if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Which of its caches.
    pub resource: Resource,
    /// The last version that the cache had seen.
    #[serde(rename = "resourceVersion", with = "decimal")]
    pub version: u64,
}

/// The verdict that the author of a trace expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The verdict.
    pub verdict: ExpectedVerdict,
    /// The requirement that is violated, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// `NAMESPACE/NAME` of the Job; the whole trace if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What else is to be said to a reader.
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
    /// The trace does not tell.
    Inconclusive,
}

/// A resourceVersion, which the API writes as a string.
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
