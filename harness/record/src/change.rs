//! A change that a watch has shown, and Jobs to which nothing has happened yet.

use std::collections::BTreeMap;

use jobcheck_traces::{Object, Resource, WatchKind, Watched};
use serde_json::Value;

use crate::error::Error;
use crate::trace::now;
use crate::watch::text;

/// A change of an object.
#[derive(Debug)]
pub(crate) struct Change {
    pub resource: Resource,
    pub kind: WatchKind,
    pub version: u64,
    pub object: Value,
    at: i64,
}

impl Change {
    /// Seen now.
    pub(crate) fn new(resource: Resource, kind: WatchKind, object: Value) -> Change {
        let version = number_of(text(&object, "resourceVersion"));
        Change { resource, kind, version, object, at: now() }
    }

    pub(crate) fn uid(&self) -> &str {
        text(&self.object, "uid")
    }

    /// The UID of the Job that it is about, if it is about one.
    fn job(&self) -> Option<&str> {
        match self.resource {
            Resource::Jobs => Some(self.uid()),
            Resource::Pods => {
                controller(&self.object).filter(|it| is_job(it)).and_then(|it| it["uid"].as_str())
            }
        }
    }

    /// Passes it on as a trace holds it.
    ///
    /// # Errors
    ///
    /// What `write` says.
    pub(crate) fn show(&self, write: impl FnOnce(Watched<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let whole = self.object.to_string();
        write(Watched {
            kind: self.kind,
            resource: self.resource,
            namespace: text(&self.object, "namespace"),
            name: text(&self.object, "name"),
            uid: self.uid(),
            version: self.version,
            at: Some(self.at),
            object: Object::new(&whole).map_err(|error| Error::Internal(error.to_string()))?,
        })
    }
}

/// A version as a number; versions of an API server can be compared, those of Jobs with those of pods as well.
pub(crate) fn number_of(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// The owner that controls a pod.
pub(crate) fn controller(pod: &Value) -> Option<&Value> {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.into_iter().find(|owner| owner["controller"] == true)
}

/// Whether an owner is a Job.
pub(crate) fn is_job(owner: &Value) -> bool {
    owner["kind"] == "Job" && owner["apiVersion"].as_str().is_some_and(|it| it.starts_with("batch/"))
}

/// The Jobs that were there before, with their pods, as long as nothing happens to them. A trace that showed them could
/// never conform: of a Job without any write nothing can be judged.
#[derive(Debug, Default)]
pub(crate) struct Idle(BTreeMap<String, Vec<Change>>);

impl Idle {
    /// Takes what was listed of a namespace, or of all; what is none of such a Job is given back. A Job that nobody has begun
    /// with is not idle: it waits for its controller.
    pub(crate) fn take(&mut self, listed: Vec<Change>) -> Vec<Change> {
        for job in listed.iter().filter(|it| it.resource == Resource::Jobs) {
            let is_begun = job.object["status"].as_object().is_some_and(|status| !status.is_empty());
            if is_begun {
                self.0.insert(job.uid().to_owned(), Vec::new());
            }
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

    /// All that was there before, in the order of versions.
    pub(crate) fn all(&mut self) -> Vec<Change> {
        let mut all: Vec<Change> = std::mem::take(&mut self.0).into_values().flatten().collect();
        all.sort_by_key(|it| it.version);
        all
    }

    /// Something happens to what a change is about: what was there before it, in the order of versions.
    pub(crate) fn wake(&mut self, change: &Change) -> Vec<Change> {
        let mut woken = change.job().and_then(|uid| self.0.remove(uid)).unwrap_or_default();
        woken.sort_by_key(|it| it.version);
        woken
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_there_before_is_told_with_the_first_thing_that_happens_to_it() {
        let job = |uid: &str, version: &str, status: Value| {
            let metadata = json!({"uid": uid, "resourceVersion": version});
            Change::new(Resource::Jobs, WatchKind::Added, json!({"metadata": metadata, "status": status}))
        };
        let pod = |uid: &str, version: &str, owner: &str| {
            let owner = json!({"controller": true, "kind": "Job", "apiVersion": "batch/v1", "uid": owner});
            let metadata = json!({"uid": uid, "resourceVersion": version, "ownerReferences": [owner]});
            Change::new(Resource::Pods, WatchKind::Added, json!({"metadata": metadata}))
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
