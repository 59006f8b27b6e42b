//! The records of a trace, in the same types for all forms.

use serde::{Deserialize, Serialize};

use crate::native::{Expected, Fault, Header, Mark, Observed};
use crate::object::Object;
use crate::request::Request;

/// The form of a trace, recognised by its content.
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
    /// The name of the form in messages and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Audit => "audit log",
            Form::Watch => "watch stream",
            Form::Native => "native trace",
        }
    }
}

/// The place of a record in the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Position of the file among the inputs, from 0.
    pub file: u32,
    /// The line on which the record starts, from 1.
    pub line: u64,
}

/// One record of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The place of the record.
    pub place: Place,
    /// The form of the file.
    pub form: Form,
    /// The content.
    pub body: Body<'a>,
}

/// The content of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body<'a> {
    /// The first line of a native trace.
    Header(&'a Header),
    /// A write to a Job or Pod, with its response.
    Request(Request<'a>),
    /// A watch event of a Job or Pod.
    Watched(Watched<'a>),
    /// An event of the recording itself, or of a process.
    Mark(&'a Mark),
    /// An injected fault.
    Fault(&'a Fault),
    /// The progress of a cache of a controller.
    Observed(&'a Observed),
    /// The verdict that the author of the trace expects.
    Expected(&'a Expected),
}

impl<'a> Body<'a> {
    /// The request, if it is one.
    #[must_use]
    pub fn request(&self) -> Option<&Request<'a>> {
        match self {
            Body::Request(request) => Some(request),
            _ => None,
        }
    }
}

/// A watch event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched<'a> {
    /// The change of the object.
    pub kind: WatchKind,
    /// The resource of the object.
    pub resource: Resource,
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.resourceVersion`.
    pub version: u64,
    /// The time of receipt in microseconds since the epoch; native traces only.
    pub at: Option<i64>,
    /// The object.
    pub object: Object<'a>,
}

/// `type` of a watch event for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// `ADDED`: created, or present when the watch began.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`, with the last state of the object.
    Deleted,
}

impl WatchKind {
    /// The name in the API.
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

/// The resources of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// `jobs` of the group `batch`.
    Jobs,
    /// `pods` of the core group.
    Pods,
}

impl Resource {
    /// The name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Resource::Jobs => "jobs",
            Resource::Pods => "pods",
        }
    }

    /// The resource of an `objectRef`; `None` for `jobs` of another group.
    pub(crate) fn of(group: &str, resource: &str) -> Option<Resource> {
        match (group, resource) {
            ("batch", "jobs") => Some(Resource::Jobs),
            ("", "pods") => Some(Resource::Pods),
            _ => None,
        }
    }

    /// The resource of an object with this `apiVersion` and `kind`.
    pub(crate) fn of_object(api_version: &str, kind: &str) -> Option<Resource> {
        match (api_version, kind) {
            ("batch/v1", "Job") => Some(Resource::Jobs),
            ("v1", "Pod") => Some(Resource::Pods),
            _ => None,
        }
    }
}
