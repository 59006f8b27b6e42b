//! What a trace says, whatever form it was recorded in.

use serde::{Deserialize, Serialize};

use crate::native::{Expected, Fault, Header, Mark, Observed};
use crate::object::Object;
use crate::request::Request;

/// The form of a trace, found by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `audit.k8s.io/v1` events.
    Audit,
    /// `{"type","object"}` watch events.
    Watch,
    /// The format of this crate (`docs/reference/trace-format.md`).
    Native,
}

impl Form {
    /// The name a user knows the form by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Audit => "audit log",
            Form::Watch => "watch stream",
            Form::Native => "native trace",
        }
    }
}

/// Where a record stands in the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Position of the file among the inputs.
    pub file: u32,
    /// Line on which the record starts, counted from 1.
    pub line: u64,
}

/// One thing that a trace says.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Where it says so.
    pub place: Place,
    /// The form of that file.
    pub form: Form,
    /// What it says.
    pub body: Body<'a>,
}

/// The content of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body<'a> {
    /// The first line of a native trace.
    Header(&'a Header),
    /// A write to a Job or Pod, with its answer.
    Request(Request<'a>),
    /// A watch event of a Job or Pod.
    Watched(Watched<'a>),
    /// Something about the recording itself.
    Mark(&'a Mark),
    /// A fault that the harness injected.
    Fault(&'a Fault),
    /// How far the cache of a controller had come.
    Observed(&'a Observed),
    /// The verdict that the author of the trace expects.
    Expected(&'a Expected),
}

/// A watch event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched<'a> {
    /// What happened to the object.
    pub kind: WatchKind,
    /// What the object is.
    pub resource: Resource,
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.resourceVersion`.
    pub version: u64,
    /// When the watcher received it, in microseconds since the epoch; only native traces tell.
    pub at: Option<i64>,
    /// The object.
    pub object: Object<'a>,
}

/// `type` of a watch event that concerns an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// `ADDED`: created, or already there when the watch began.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`; the object is its last state.
    Deleted,
}

impl WatchKind {
    /// The word of the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WatchKind::Added => "ADDED",
            WatchKind::Modified => "MODIFIED",
            WatchKind::Deleted => "DELETED",
        }
    }

    pub(crate) fn named(word: &str) -> Option<WatchKind> {
        [WatchKind::Added, WatchKind::Modified, WatchKind::Deleted].into_iter().find(|k| k.name() == word)
    }
}

/// The resources that a trace is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// `jobs` of the group `batch`.
    Jobs,
    /// `pods` of the core group.
    Pods,
}

impl Resource {
    /// The word of the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Resource::Jobs => "jobs",
            Resource::Pods => "pods",
        }
    }

    /// The resource of an `objectRef`; a third party's `jobs` are of another group.
    pub(crate) fn of(group: &str, resource: &str) -> Option<Resource> {
        match (group, resource) {
            ("batch", "jobs") => Some(Resource::Jobs),
            ("", "pods") => Some(Resource::Pods),
            _ => None,
        }
    }

    /// The resource of an object's `apiVersion` and `kind`.
    pub(crate) fn of_object(api_version: &str, kind: &str) -> Option<Resource> {
        match (api_version, kind) {
            ("batch/v1", "Job") => Some(Resource::Jobs),
            ("v1", "Pod") => Some(Resource::Pods),
            _ => None,
        }
    }
}
