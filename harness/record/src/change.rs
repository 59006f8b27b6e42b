//! Changes that watches have shown, and Jobs that have not changed since the start of the recording.

use std::collections::BTreeMap;

use jobcheck_traces::{Object, Resource, WatchKind, Watched};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::trace::now;
use crate::watch::text;

/// The metadata that is read while a change waits.
const READ: [&str; 6] = ["uid", "namespace", "name", "labels", "ownerReferences", "finalizers"];

/// A change of an object.
///
/// Thousands of them may wait to be written, and all idle Jobs do. So the object is kept as text, which needs a fraction
/// of the memory of a [`Value`].
#[derive(Debug)]
pub(crate) struct Change {
    pub resource: Resource,
    pub kind: WatchKind,
    pub version: u64,
    /// The object without all but the [metadata that is read](READ).
    pub head: Value,
    whole: Box<str>,
    has_status: bool,
    at: i64,
}

impl Change {
    /// Returns a change that is observed now.
    pub(crate) fn new(resource: Resource, kind: WatchKind, object: &Value) -> Change {
        let metadata = object["metadata"].as_object().into_iter().flatten();
        let read = metadata.filter(|(name, _)| READ.contains(&name.as_str()));
        let read: Map<String, Value> = read.map(|(name, value)| (name.clone(), value.clone())).collect();
        Change {
            resource,
            kind,
            version: number_of(text(object, "resourceVersion")),
            head: json!({"metadata": read}),
            whole: object.to_string().into(),
            has_status: object["status"].as_object().is_some_and(|status| !status.is_empty()),
            at: now(),
        }
    }

    pub(crate) fn uid(&self) -> &str {
        text(&self.head, "uid")
    }

    /// The UID of the changed Job, or of the Job that controls the changed pod.
    fn job(&self) -> Option<&str> {
        match self.resource {
            Resource::Jobs => Some(self.uid()),
            Resource::Pods => {
                controller(&self.head).filter(|it| is_job(it)).and_then(|it| it["uid"].as_str())
            }
        }
    }

    /// Passes the change on as a record of a trace.
    ///
    /// # Errors
    ///
    /// Every error of `write`.
    pub(crate) fn show(&self, write: impl FnOnce(Watched<'_>) -> Result<(), Error>) -> Result<(), Error> {
        write(Watched {
            kind: self.kind,
            resource: self.resource,
            namespace: text(&self.head, "namespace"),
            name: text(&self.head, "name"),
            uid: self.uid(),
            version: self.version,
            at: Some(self.at),
            object: Object::new(&self.whole).map_err(|error| Error::Internal(error.to_string()))?,
        })
    }
}

/// A resource version as a number. The versions of one API server are comparable, also between Jobs and pods.
pub(crate) fn number_of(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// The controller reference of a pod.
pub(crate) fn controller(pod: &Value) -> Option<&Value> {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.into_iter().find(|owner| owner["controller"] == true)
}

/// Returns true if an owner is a Job.
pub(crate) fn is_job(owner: &Value) -> bool {
    owner["kind"] == "Job" && owner["apiVersion"].as_str().is_some_and(|it| it.starts_with("batch/"))
}

/// The Jobs that existed before the recording and have not changed since, with their pods. They are not written to
/// the trace: a Job without writes cannot be judged, so that the trace could never conform.
#[derive(Debug, Default)]
pub(crate) struct Idle(BTreeMap<String, Vec<Change>>);

impl Idle {
    /// Adds the listed objects. Returns those that belong to no idle Job. A Job without a start is not idle: it
    /// waits for its controller.
    pub(crate) fn take(&mut self, listed: Vec<Change>) -> Vec<Change> {
        for job in listed.iter().filter(|it| it.resource == Resource::Jobs && it.has_status) {
            self.0.insert(job.uid().to_owned(), Vec::new());
        }
        let mut others = Vec::new();
        for change in listed {
            match change.job().and_then(|uid| self.0.get_mut(uid)) {
                Some(job) => job.push(change),
                None => others.push(change),
            }
        }
        others
    }

    /// Removes and returns all objects, in the order of their versions.
    pub(crate) fn all(&mut self) -> Vec<Change> {
        let mut all: Vec<Change> = std::mem::take(&mut self.0).into_values().flatten().collect();
        all.sort_by_key(|it| it.version);
        all
    }

    /// Removes the Job of a change. Returns its objects from before the change, in the order of their versions.
    pub(crate) fn wake(&mut self, change: &Change) -> Vec<Change> {
        let mut woken = change.job().and_then(|uid| self.0.remove(uid)).unwrap_or_default();
        woken.sort_by_key(|it| it.version);
        woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_job_is_returned_with_its_first_change() {
        let job = |uid: &str, version: &str, status: Value| {
            let metadata = json!({"uid": uid, "resourceVersion": version});
            Change::new(Resource::Jobs, WatchKind::Added, &json!({"metadata": metadata, "status": status}))
        };
        let pod = |uid: &str, version: &str, owner: &str| {
            let owner = json!({"controller": true, "kind": "Job", "apiVersion": "batch/v1", "uid": owner});
            let metadata = json!({"uid": uid, "resourceVersion": version, "ownerReferences": [owner]});
            Change::new(Resource::Pods, WatchKind::Added, &json!({"metadata": metadata}))
        };
        let mut idle = Idle::default();
        let listed =
            vec![pod("p", "5", "begun"), job("begun", "7", json!({"active": 1})), job("new", "8", json!({}))];
        let others = idle.take(listed);
        assert_eq!(others.iter().map(Change::uid).collect::<Vec<_>>(), ["new"]);
        let woken = idle.wake(&pod("p", "9", "begun"));
        assert_eq!(woken.iter().map(Change::uid).collect::<Vec<_>>(), ["p", "begun"]);
        assert!(idle.wake(&job("begun", "10", json!({}))).is_empty() && idle.all().is_empty());
        idle.take(vec![job("begun", "7", json!({"active": 1}))]);
        assert_eq!(idle.all().iter().map(Change::uid).collect::<Vec<_>>(), ["begun"]);
    }
}
