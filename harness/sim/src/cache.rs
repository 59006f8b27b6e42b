//! The cache of a controller, filled by a list and a watch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use jobcheck_apiserver::Server;
use jobcheck_apiserver::request::{Reply, Request, Verb, WatchOptions};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::watch::{WatchEvent, WatchId};
use serde_json::Value;

use crate::cluster::NAMESPACE;

/// An object before and after a change.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The object before. `None`: the cache had none.
    pub before: Option<Arc<Value>>,
    /// The object after. `None`: it was removed.
    pub after: Option<Arc<Value>>,
}

impl Change {
    /// The names of the changed object and its previous version.
    pub fn names(&self) -> impl Iterator<Item = String> {
        [&self.before, &self.after].into_iter().flatten().map(|object| name(object).to_owned())
    }
}

/// A cache of one resource.
#[derive(Debug)]
pub struct ObjectCache {
    watch: Option<WatchId>,
    /// The events of the watch that the cache does not show yet.
    pending: VecDeque<WatchEvent>,
    objects: BTreeMap<String, Arc<Value>>,
    shown_version: u64,
}

impl ObjectCache {
    /// Returns a cache that was filled by a list, with a watch from its version.
    pub fn listed(server: &mut Server, now: Timestamp, resource: Resource) -> ObjectCache {
        let mut store = ObjectCache {
            watch: None,
            pending: VecDeque::new(),
            objects: BTreeMap::new(),
            shown_version: server.revision(),
        };
        let prefix = format!("{NAMESPACE}/");
        let objects = server.store().scan(resource, &prefix);
        store.objects = objects.map(|(_, object)| (name(object).to_owned(), Arc::clone(object))).collect();
        // The watch has no timeout, because a scenario can advance the clock by hours in one step.
        let options = WatchOptions {
            resource_version: Some(store.shown_version),
            timeout_seconds: Some(u32::MAX),
            ..WatchOptions::default()
        };
        let request = Request::new(resource, Some(NAMESPACE), None, Verb::Watch(options));
        if let Ok(Reply::Watch(id)) = server.handle(now, &request).outcome {
            store.watch = Some(id);
        }
        store
    }

    /// Replaces the contents by a new list, and returns the changes. A recreated object is returned as a deletion
    /// and a creation, as in the shipped caches.
    pub fn relist(&mut self, server: &mut Server, now: Timestamp, resource: Resource) -> Vec<Change> {
        self.close(server);
        let mut former = std::mem::replace(self, ObjectCache::listed(server, now, resource)).objects;
        let mut changes = Vec::new();
        for (name, object) in &self.objects {
            let (mut before, after) = (former.remove(name), Some(Arc::clone(object)));
            if before.as_ref().is_some_and(|before| uid(before) != uid(object)) {
                changes.push(Change { before: before.take(), after: None });
            }
            if before.as_ref().is_none_or(|before| version(before) != version(object)) {
                changes.push(Change { before, after });
            }
        }
        changes.extend(former.into_values().map(|gone| Change { before: Some(gone), after: None }));
        changes
    }

    /// Receives the events of the watch. Returns the lag of the cache.
    pub fn lag(&mut self, server: &mut Server, now: Timestamp) -> usize {
        if let Some(watch) = self.watch {
            self.pending.extend(server.take_events(now, watch, usize::MAX).events);
        }
        self.pending.len()
    }

    /// The version that the cache will show without lag.
    pub fn newest(&mut self, server: &mut Server, now: Timestamp) -> u64 {
        self.lag(server, now);
        self.pending.iter().map(|event| version(&event.object)).fold(self.shown_version, u64::max)
    }

    /// Delivers the next event, if there is one.
    pub fn show(&mut self) -> Option<Change> {
        let event = self.pending.pop_front()?;
        self.shown_version = self.shown_version.max(version(&event.object));
        let key = name(&event.object).to_owned();
        match event.kind {
            "ADDED" | "MODIFIED" => {
                let before = self.objects.insert(key, Arc::clone(&event.object));
                Some(Change { before, after: Some(event.object) })
            }
            "DELETED" => {
                Some(Change { before: self.objects.remove(&key).or(Some(event.object)), after: None })
            }
            _ => Some(Change::default()),
        }
    }

    /// The version that the cache shows.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shown_version
    }

    /// The object with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(name)
    }

    /// All objects, by their names.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Arc<Value>)> {
        self.objects.iter()
    }

    /// Ends the watch.
    pub fn close(&self, server: &mut Server) {
        if let Some(watch) = self.watch {
            server.watches().close(watch);
        }
    }
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn uid(object: &Value) -> &Value {
    &object["metadata"]["uid"]
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jobcheck_apiserver::request::DeleteOptions;
    use jobcheck_scenario::runtime::Cluster as _;
    use jobcheck_spec::apiserver::RuleSet;
    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;

    fn create(cluster: &mut Cluster, name: &str) {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        let made = cluster.ask(&Request::new(Resource::Pods, Some(NAMESPACE), None, Verb::Create(pod)));
        assert!(made.outcome.is_ok(), "{made:?}");
    }

    fn delete(cluster: &mut Cluster, name: &str) {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let request = Request::new(Resource::Pods, Some(NAMESPACE), Some(name), Verb::Delete(options));
        assert!(cluster.ask(&request).outcome.is_ok());
    }

    /// An object that was created and removed meanwhile is not reported. A recreated one is reported as a
    /// deletion and a creation.
    #[test]
    fn a_new_list_tells_what_it_changes() {
        let mut cluster = Cluster::new(0, RuleSet::default(), false, json!({})).unwrap();
        ["gone", "kept", "replaced"].iter().for_each(|name| create(&mut cluster, name));
        let now = cluster.now();
        let mut store = ObjectCache::listed(&mut cluster.server, now, Resource::Pods);
        let kept = store.version();
        ["gone", "replaced"].iter().for_each(|name| delete(&mut cluster, name));
        ["replaced", "passing", "new"].iter().for_each(|name| create(&mut cluster, name));
        delete(&mut cluster, "passing");
        let told = store.relist(&mut cluster.server, now, Resource::Pods);
        let named = |object: &Option<Arc<Value>>| object.as_deref().map(|it| name(it).to_owned());
        let told: Vec<_> = told.iter().map(|it| (named(&it.before), named(&it.after))).collect();
        let some = |name: &str| Some(name.to_owned());
        let expected =
            [(None, some("new")), (some("replaced"), None), (None, some("replaced")), (some("gone"), None)];
        assert_eq!(told, expected);
        assert!(store.version() > kept && store.show().is_none());
        assert!(store.relist(&mut cluster.server, now, Resource::Pods).is_empty());
    }
}
