//! A cache of the Jobs and pods of a run, filled by watches and responses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jobcheck_apiserver::resource::Resource;
use jobcheck_record::watch::{Listed, text};
use jobcheck_scenario::runtime::Created;
use jobcheck_traces::Resource as Watched;
use serde_json::Value;

/// The known Jobs and pods of a namespace.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Jobs by name.
    pub jobs: BTreeMap<String, Value>,
    /// Pods by name.
    pub pods: BTreeMap<String, Value>,
    /// The pods of each Job, by its name, in the order of their creation.
    created: BTreeMap<String, Vec<Created>>,
    known: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// The time at which each pod was deleted or failed, whichever was later, by the name of its Job and its UID.
    failures: BTreeMap<String, BTreeMap<String, Instant>>,
    /// The time of the last change.
    pub changed: Instant,
}

impl Cache {
    /// Returns an empty cache.
    pub(crate) fn new() -> Cache {
        Cache {
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            created: BTreeMap::new(),
            known: BTreeSet::new(),
            failures: BTreeMap::new(),
            gone: BTreeSet::new(),
            changed: Instant::now(),
        }
    }

    /// The pods of the Jobs of this name, in the order of their creation.
    pub(crate) fn created(&self, job: &str) -> &[Created] {
        self.created.get(job).map_or(&[], Vec::as_slice)
    }

    /// The number of deleted or failed pods of the Jobs of this name, and the time of the last one.
    pub(crate) fn failures(&self, job: &str) -> Option<(usize, Instant)> {
        let all = self.failures.get(job)?;
        Some((all.len(), *all.values().max()?))
    }

    /// Adds a version of an object. Returns true if it is new.
    pub(crate) fn shown(&mut self, object: Value) -> bool {
        let Some(resource) = resource(&object) else { return false };
        let (name, uid) = (text(&object, "name").to_owned(), text(&object, "uid").to_owned());
        let known = match resource {
            Resource::Jobs => &self.jobs,
            _ => &self.pods,
        };
        let is_older =
            known.get(&name).is_some_and(|it| text(it, "uid") == uid && version(it) >= version(&object));
        if self.gone.contains(&uid) || is_older {
            return false;
        }
        self.changed = Instant::now();
        match resource {
            Resource::Jobs => drop(self.jobs.insert(name, object)),
            _ => {
                if self.known.insert(uid) {
                    self.note_pod(&object);
                }
                self.note_failure(&object);
                self.pods.insert(name, object);
            }
        }
        true
    }

    /// Removes an object.
    pub(crate) fn removed(&mut self, object: &Value) {
        let (name, uid) = (text(object, "name"), text(object, "uid"));
        self.gone.insert(uid.to_owned());
        self.changed = Instant::now();
        let known = match resource(object) {
            Some(Resource::Jobs) => &mut self.jobs,
            _ => &mut self.pods,
        };
        if known.get(name).is_some_and(|it| text(it, "uid") == uid) {
            known.remove(name);
        }
    }

    /// Replaces the cached objects by a list. Objects with a newer version are kept: they were created since.
    pub(crate) fn listed(&mut self, resource: Watched, listed: Listed) {
        let Listed { version: made, objects } = listed;
        let made: u64 = made.parse().unwrap_or(0);
        let known = if resource == Watched::Jobs { &self.jobs } else { &self.pods };
        let is_there = |object: &Value| objects.iter().any(|it| text(it, "uid") == text(object, "uid"));
        let is_missing = |object: &&Value| !is_there(object) && version(object) <= made;
        let missing: Vec<Value> = known.values().filter(is_missing).cloned().collect();
        missing.iter().for_each(|object| self.removed(object));
        for object in objects {
            self.shown(object);
        }
    }

    /// Records the time if this is the first version of a pod that is being deleted or has failed.
    fn note_failure(&mut self, pod: &Value) {
        let of = |pod: &Value| {
            (!pod["metadata"]["deletionTimestamp"].is_null(), pod["status"]["phase"] == "Failed")
        };
        let before = self.pods.get(text(pod, "name")).map(of).unwrap_or_default();
        let now = of(pod);
        if (now.0 && !before.0) || (now.1 && !before.1) {
            let job = pod["metadata"]["labels"]["job-name"].as_str().unwrap_or_default();
            let of_job = self.failures.entry(job.to_owned()).or_default();
            of_job.insert(text(pod, "uid").to_owned(), self.changed);
        }
    }

    fn note_pod(&mut self, pod: &Value) {
        let (name, uid) = (text(pod, "name").to_owned(), text(pod, "uid").to_owned());
        let job = pod["metadata"]["labels"]["job-name"].as_str().unwrap_or_default().to_owned();
        let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owner = owners.into_iter().find(|owner| owner["controller"] == true);
        let owner = match owner {
            Some(owner) => owner["uid"].as_str().unwrap_or_default(),
            None => self.jobs.get(&job).map_or("", |job| text(job, "uid")),
        };
        let created = Created { name, uid, job: owner.to_owned() };
        self.created.entry(job).or_default().push(created);
    }
}

/// The resource of an object.
fn resource(object: &Value) -> Option<Resource> {
    match object["kind"].as_str() {
        Some("Job") => Some(Resource::Jobs),
        Some("Pod") => Some(Resource::Pods),
        _ => None,
    }
}

fn version(object: &Value) -> u64 {
    text(object, "resourceVersion").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, version: u64) -> Value {
        let metadata = json!({
            "name": name, "uid": format!("u-{name}"), "resourceVersion": version.to_string(),
            "labels": {"job-name": "job"}, "ownerReferences": [{"controller": true, "uid": "j"}],
        });
        json!({"kind": "Pod", "metadata": metadata})
    }

    #[test]
    fn older_versions_and_removed_pods_are_ignored() {
        let mut cache = Cache::new();
        assert!(cache.shown(pod("a", 5)));
        assert!(!cache.shown(pod("a", 4)) && !cache.shown(pod("a", 5)));
        cache.removed(&pod("a", 6));
        assert!(!cache.shown(pod("a", 5)) && cache.pods.is_empty());
        assert_eq!(cache.created("job").len(), 1);
    }

    #[test]
    fn a_new_list_removes_missing_objects() {
        let mut cache = Cache::new();
        cache.shown(pod("a", 5));
        cache.listed(Watched::Pods, Listed { version: "9".to_owned(), objects: vec![pod("b", 9)] });
        assert_eq!(cache.pods.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(cache.created("job").iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    /// The response to a later creation may arrive before the list.
    #[test]
    fn a_new_list_keeps_objects_that_were_created_since() {
        let mut cache = Cache::new();
        cache.shown(pod("a", 5));
        cache.listed(Watched::Pods, Listed { version: "4".to_owned(), objects: Vec::new() });
        assert_eq!(cache.pods.keys().collect::<Vec<_>>(), ["a"]);
    }
}
