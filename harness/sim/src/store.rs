//! The cache of a controller: what a watch has shown it so far.

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
    /// What the cache showed; `None` where it showed nothing.
    pub before: Option<Arc<Value>>,
    /// What it shows now.
    pub after: Option<Arc<Value>>,
}

impl Change {
    /// The names of what it is about.
    pub fn names(&self) -> impl Iterator<Item = String> {
        [&self.before, &self.after].into_iter().flatten().map(|object| name(object).to_owned())
    }
}

/// A cache of one resource.
#[derive(Debug)]
pub struct Store {
    watch: Option<WatchId>,
    /// Events that the watch has sent and the cache does not show.
    pending: VecDeque<WatchEvent>,
    objects: BTreeMap<String, Arc<Value>>,
    seen: u64,
}

impl Store {
    /// A cache that was just filled by a list, and follows a watch from there.
    pub fn listed(server: &mut Server, now: Timestamp, resource: Resource) -> Store {
        let mut store = Store {
            watch: None,
            pending: VecDeque::new(),
            objects: BTreeMap::new(),
            seen: server.revision(),
        };
        let prefix = format!("{NAMESPACE}/");
        let objects = server.store().scan(resource, &prefix);
        store.objects = objects.map(|(_, object)| (name(object).to_owned(), Arc::clone(object))).collect();
        // It never ends: a scenario may let hours pass in one step.
        let options = WatchOptions {
            resource_version: Some(store.seen),
            timeout_seconds: Some(u32::MAX),
            ..WatchOptions::default()
        };
        let request = Request::new(resource, Some(NAMESPACE), None, Verb::Watch(options));
        if let Ok(Reply::Watch(id)) = server.handle(now, &request).outcome {
            store.watch = Some(id);
        }
        store
    }

    /// The watch breaks, and a new list takes the place of what the cache shows; what that changes. An object in the place
    /// of another one of its name is told as the deletion of that, and a new one, as the shipped caches do.
    pub fn relist(&mut self, server: &mut Server, now: Timestamp, resource: Resource) -> Vec<Change> {
        self.close(server);
        let mut former = std::mem::replace(self, Store::listed(server, now, resource)).objects;
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

    /// Takes in what the watch has sent; how many events the cache is behind.
    pub fn lag(&mut self, server: &mut Server, now: Timestamp) -> usize {
        if let Some(watch) = self.watch {
            self.pending.extend(server.take_events(now, watch, usize::MAX).events);
        }
        self.pending.len()
    }

    /// The version that it will have seen once it has caught up.
    pub fn newest(&mut self, server: &mut Server, now: Timestamp) -> u64 {
        self.lag(server, now);
        self.pending.iter().map(|event| version(&event.object)).fold(self.seen, u64::max)
    }

    /// Shows the next event, if there is one.
    pub fn show(&mut self) -> Option<Change> {
        let event = self.pending.pop_front()?;
        self.seen = self.seen.max(version(&event.object));
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

    /// The last version that it has seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The object of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(name)
    }

    /// All objects, by name.
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

fn name(object: &Value) -> &str {
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

    /// What came and went is not told, and what took the place of another one is told as both.
    #[test]
    fn a_new_list_tells_what_it_changes() {
        let mut cluster = Cluster::new(0, RuleSet::default(), false, json!({})).unwrap();
        ["gone", "kept", "replaced"].iter().for_each(|name| create(&mut cluster, name));
        let now = cluster.now();
        let mut store = Store::listed(&mut cluster.server, now, Resource::Pods);
        let kept = store.seen();
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
        assert!(store.seen() > kept && store.show().is_none());
        assert!(store.relist(&mut cluster.server, now, Resource::Pods).is_empty());
    }
}
