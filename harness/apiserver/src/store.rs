//! The state that etcd would contain: the objects of all resources under one revision counter, and their history.
//!
//! Objects are shared (`Arc`): one version is the same value in the history, in lists, and in watches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::object::{finalizers, is_deleting, meta, metadata, owners};
use crate::resource::Resource;
use crate::weight::weight;

/// The finalizers that belong to the garbage collector.
pub const GC_FINALIZERS: [&str; 2] = ["foregroundDeletion", "orphan"];

/// The effect of a write on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object is new.
    Added,
    /// The object has another version.
    Modified,
    /// The object was removed.
    Deleted,
}

/// One write in the history.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision of the write.
    pub revision: u64,
    /// The effect of the write.
    pub kind: ChangeKind,
    /// The key of the object in its resource.
    pub key: String,
    /// The object after the write. For a deletion: its last state, with the revision of the deletion.
    pub object: Arc<Value>,
    /// The object before the write.
    pub previous: Option<Arc<Value>>,
    /// The memory in bytes that the change keeps, about.
    weight: usize,
}

/// The location of an object: its resource, and its key there.
pub type Place = (Resource, String);

/// A stored object, and its memory in bytes, about.
#[derive(Clone, Debug)]
struct Stored {
    object: Arc<Value>,
    weight: usize,
}

#[derive(Clone, Debug, Default)]
struct Table {
    objects: BTreeMap<String, Stored>,
    history: VecDeque<Change>,
    /// The memory of the objects in the history.
    history_weight: usize,
    /// The revision of the newest change that the history no longer contains.
    compacted: u64,
}

/// The error for a revision that was compacted: the history starts later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The oldest revision that can still be read.
    pub oldest: u64,
}

/// Objects of all resources.
#[derive(Clone, Debug)]
pub struct Store {
    revision: u64,
    /// The memory of all stored objects, without their history.
    bytes: usize,
    tables: BTreeMap<Resource, Table>,
    history_bound: usize,
    history_bytes: usize,
    by_uid: BTreeMap<String, Place>,
    dependents: BTreeMap<String, BTreeSet<Place>>,
    /// The UIDs of removed owners that an object still references.
    missing_owners: BTreeSet<String>,
    /// The objects that are being deleted and have a finalizer of the garbage collector.
    collecting: BTreeSet<Place>,
}

impl Store {
    /// Returns an empty store that keeps this number of changes of each resource, and of this size.
    #[must_use]
    pub fn new(history_bound: usize, history_bytes: usize) -> Store {
        Store {
            revision: 1,
            bytes: 0,
            tables: Resource::ALL.into_iter().map(|resource| (resource, Table::default())).collect(),
            history_bound,
            history_bytes,
            by_uid: BTreeMap::new(),
            dependents: BTreeMap::new(),
            missing_owners: BTreeSet::new(),
            collecting: BTreeSet::new(),
        }
    }

    /// The revision of the newest write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn table(&self, resource: Resource) -> &Table {
        self.tables.get(&resource.stored()).expect("every resource has a table")
    }

    fn table_mut(&mut self, resource: Resource) -> &mut Table {
        self.tables.get_mut(&resource.stored()).expect("every resource has a table")
    }

    /// The object under a key.
    #[must_use]
    pub fn get(&self, resource: Resource, key: &str) -> Option<&Arc<Value>> {
        self.stored(resource, key).map(|stored| &stored.object)
    }

    fn stored(&self, resource: Resource, key: &str) -> Option<&Stored> {
        self.table(resource).objects.get(key)
    }

    /// About the memory of all stored objects in bytes. Their history is not included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The same after this object was stored.
    pub(crate) fn bytes_with(&self, resource: Resource, key: &str, object: &Value) -> usize {
        self.bytes + weight(object) - self.stored(resource, key).map_or(0, |stored| stored.weight)
    }

    /// The location of the object with this UID.
    #[must_use]
    pub fn find_uid(&self, uid: &str) -> Option<&Place> {
        self.by_uid.get(uid)
    }

    /// The objects that reference this UID as an owner.
    pub fn dependents(&self, uid: &str) -> impl Iterator<Item = &Place> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// The UIDs of removed owners that an object still references.
    #[must_use]
    pub fn missing_owners(&self) -> Vec<String> {
        self.missing_owners.iter().cloned().collect()
    }

    /// The objects that are being deleted and have a finalizer of the garbage collector.
    #[must_use]
    pub fn collecting(&self) -> Vec<Place> {
        self.collecting.iter().cloned().collect()
    }

    /// The objects of a resource whose keys start with `prefix`, in the order of their keys.
    pub fn scan<'a>(
        &'a self,
        resource: Resource,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a String, &'a Arc<Value>)> {
        self.table(resource)
            .objects
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, stored)| (key, &stored.object))
    }

    /// The same objects as they were at a revision.
    ///
    /// # Errors
    /// The history starts after that revision.
    pub fn scan_at(
        &self,
        resource: Resource,
        prefix: &str,
        revision: u64,
    ) -> Result<BTreeMap<String, Arc<Value>>, Compacted> {
        let table = self.table(resource);
        if revision < table.compacted {
            return Err(Compacted { oldest: table.compacted });
        }
        let current = self.scan(resource, prefix);
        let mut objects: BTreeMap<String, Arc<Value>> =
            current.map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
        let newer = table.history.iter().rev().take_while(|change| change.revision > revision);
        for change in newer.filter(|change| change.key.starts_with(prefix)) {
            match &change.previous {
                Some(previous) => objects.insert(change.key.clone(), Arc::clone(previous)),
                None => objects.remove(&change.key),
            };
        }
        Ok(objects)
    }

    /// The changes of a resource after a revision, oldest first.
    ///
    /// # Errors
    /// The history starts after that revision.
    pub fn changes_after(
        &self,
        resource: Resource,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Change>, Compacted> {
        let table = self.table(resource);
        if revision < table.compacted {
            return Err(Compacted { oldest: table.compacted });
        }
        let start = table.history.partition_point(|change| change.revision <= revision);
        Ok(table.history.range(start..))
    }

    /// Stores an object or a new version of it under the next revision, and returns it.
    pub fn write(&mut self, resource: Resource, key: &str, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        metadata(&mut object).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        let (weight, object) = (weight(&object), Arc::new(object));
        let stored = Stored { object: Arc::clone(&object), weight };
        let previous = self.table_mut(resource).objects.insert(key.to_owned(), stored);
        self.bytes = self.bytes + weight - previous.as_ref().map_or(0, |previous| previous.weight);
        let previous = previous.map(|previous| previous.object);
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.reindex((resource.stored(), key.to_owned()), previous.as_deref(), Some(&object));
        let (revision, key) = (self.revision, key.to_owned());
        self.remember(
            resource,
            Change { revision, kind, key, object: Arc::clone(&object), previous, weight },
        );
        object
    }

    /// Removes an object. Returns its last state, with the revision of the deletion.
    pub fn remove(&mut self, resource: Resource, key: &str) -> Option<Arc<Value>> {
        let Stored { object: previous, weight } = self.table_mut(resource).objects.remove(key)?;
        self.bytes -= weight;
        self.revision += 1;
        let mut last = Value::clone(&previous);
        metadata(&mut last).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        let last = Arc::new(last);
        self.reindex((resource.stored(), key.to_owned()), Some(&previous), None);
        let (revision, kind, key) = (self.revision, ChangeKind::Deleted, key.to_owned());
        // Nothing but the history keeps the two versions.
        let (object, previous, weight) = (Arc::clone(&last), Some(previous), 2 * weight);
        self.remember(resource, Change { revision, kind, key, object, previous, weight });
        Some(last)
    }

    /// Swaps two UIDs in all objects and in their history.
    pub fn exchange_uids(&mut self, one: &str, other: &str) {
        let mut done: BTreeMap<usize, Arc<Value>> = BTreeMap::new();
        // A stored object and its newest version in the history stay one shared value.
        let mut exchange = |object: &mut Arc<Value>| {
            let place = Arc::as_ptr(object) as usize;
            let new = done.entry(place).or_insert_with(|| {
                let mut new = Value::clone(object);
                if exchange_texts(&mut new, one, other) { Arc::new(new) } else { Arc::clone(object) }
            });
            *object = Arc::clone(new);
        };
        for table in self.tables.values_mut() {
            table.objects.values_mut().map(|stored| &mut stored.object).for_each(&mut exchange);
            for change in &mut table.history {
                exchange(&mut change.object);
                change.previous.as_mut().into_iter().for_each(&mut exchange);
            }
        }
        let (first, second) = (self.by_uid.remove(one), self.by_uid.remove(other));
        self.by_uid.extend(first.map(|place| (other.to_owned(), place)));
        self.by_uid.extend(second.map(|place| (one.to_owned(), place)));
        let (first, second) = (self.dependents.remove(one), self.dependents.remove(other));
        self.dependents.extend(first.map(|places| (other.to_owned(), places)));
        self.dependents.extend(second.map(|places| (one.to_owned(), places)));
        let (first, second) = (self.missing_owners.remove(one), self.missing_owners.remove(other));
        self.missing_owners.extend(first.then(|| other.to_owned()));
        self.missing_owners.extend(second.then(|| one.to_owned()));
    }

    /// Discards the history up to a revision, as etcd's compaction does.
    pub fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        for table in self.tables.values_mut() {
            let keep = table.history.partition_point(|change| change.revision <= revision);
            let forgotten = table.history.drain(..keep);
            table.history_weight -= forgotten.map(|change| change.weight).sum::<usize>();
            table.compacted = table.compacted.max(revision);
        }
    }

    fn remember(&mut self, resource: Resource, change: Change) {
        let (bound, bytes) = (self.history_bound, self.history_bytes);
        let table = self.table_mut(resource);
        table.history_weight += change.weight;
        table.history.push_back(change);
        while table.history.len() > bound || (table.history_weight > bytes && table.history.len() > 1) {
            if let Some(forgotten) = table.history.pop_front() {
                table.history_weight -= forgotten.weight;
                table.compacted = forgotten.revision;
            }
        }
    }

    /// Updates the indexes by UID and by owner.
    fn reindex(&mut self, place: Place, old: Option<&Value>, new: Option<&Value>) {
        for owner in old.into_iter().flat_map(owners) {
            if let Some(dependents) = self.dependents.get_mut(owner.uid) {
                dependents.remove(&place);
                if dependents.is_empty() {
                    self.dependents.remove(owner.uid);
                    self.missing_owners.remove(owner.uid);
                }
            }
        }
        if let (Some(old), None) = (old, new) {
            let uid = meta(old, "uid");
            self.by_uid.remove(uid);
            if self.dependents.contains_key(uid) {
                self.missing_owners.insert(uid.to_owned());
            }
        }
        if let Some(new) = new {
            self.by_uid.insert(meta(new, "uid").to_owned(), place.clone());
            self.missing_owners.remove(meta(new, "uid"));
        }
        for owner in new.into_iter().flat_map(owners) {
            self.dependents.entry(owner.uid.to_owned()).or_default().insert(place.clone());
            if !self.by_uid.contains_key(owner.uid) {
                self.missing_owners.insert(owner.uid.to_owned());
            }
        }
        let waits = new.is_some_and(|new| {
            is_deleting(new) && finalizers(new).iter().any(|name| GC_FINALIZERS.contains(name))
        });
        if waits {
            self.collecting.insert(place);
        } else {
            self.collecting.remove(&place);
        }
    }
}

/// Swaps two texts wherever one of them is a whole value. Returns true if one was found.
pub fn exchange_texts(value: &mut Value, one: &str, other: &str) -> bool {
    match value {
        Value::String(text) if text == one => {
            other.clone_into(text);
            true
        }
        Value::String(text) if text == other => {
            one.clone_into(text);
            true
        }
        Value::Array(items) => {
            items.iter_mut().filter_map(|item| exchange_texts(item, one, other).then_some(())).count() > 0
        }
        Value::Object(members) => {
            members.values_mut().filter_map(|item| exchange_texts(item, one, other).then_some(())).count() > 0
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, uid: &str, owner: Option<&str>) -> Value {
        let owners: Vec<Value> = owner.iter().map(|uid| json!({"uid": uid})).collect();
        json!({"metadata": {"name": name, "uid": uid, "ownerReferences": owners}})
    }

    #[test]
    fn the_past_can_be_read_until_it_is_compacted() {
        let mut store = Store::new(100, usize::MAX);
        store.write(Resource::Pods, "n/a", object("a", "1", None));
        let first = store.revision();
        store.write(Resource::Pods, "n/b", object("b", "2", None));
        store.write(Resource::Pods, "n/a", object("a", "1", None));
        store.remove(Resource::Pods, "n/a");
        let names = |revision| -> Vec<String> {
            store.scan_at(Resource::Pods, "n/", revision).unwrap().into_keys().collect()
        };
        assert_eq!(names(first), ["n/a"]);
        assert_eq!(names(first + 1), ["n/a", "n/b"]);
        assert_eq!(names(store.revision()), ["n/b"]);
        let kinds: Vec<ChangeKind> =
            store.changes_after(Resource::Pods, first).unwrap().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted]);
        store.compact(first + 1);
        assert_eq!(store.scan_at(Resource::Pods, "", first).unwrap_err(), Compacted { oldest: first + 1 });
        assert!(store.changes_after(Resource::Pods, first).is_err());
        assert_eq!(store.changes_after(Resource::Pods, first + 1).unwrap().count(), 2);
    }

    #[test]
    fn uids_are_swapped_everywhere() {
        let mut store = Store::new(10, usize::MAX);
        store.write(Resource::Jobs, "n/j", object("j", "job", None));
        store.write(Resource::Pods, "n/a", object("a", "1", Some("job")));
        let first = store.revision();
        store.write(Resource::Pods, "n/b", object("b", "2", Some("job")));
        store.remove(Resource::Pods, "n/a");
        store.exchange_uids("1", "2");
        let uid = |object: &Value| meta(object, "uid").to_owned();
        assert_eq!(uid(store.get(Resource::Pods, "n/b").unwrap()), "1");
        let past = store.scan_at(Resource::Pods, "n/", first).unwrap();
        assert_eq!(past.values().map(|object| uid(object)).collect::<Vec<_>>(), ["2"]);
        assert!(store.find_uid("1").is_some_and(|(_, key)| key == "n/b") && store.find_uid("2").is_none());
        store.exchange_uids("job", "other");
        assert_eq!(store.dependents("other").count(), 1);
        assert_eq!(
            store.get(Resource::Pods, "n/b").unwrap()["metadata"]["ownerReferences"][0]["uid"],
            "other"
        );
        assert!(store.dependents("job").next().is_none() && store.missing_owners().is_empty());
    }

    #[test]
    fn the_history_is_bounded() {
        let mut store = Store::new(3, usize::MAX);
        for _ in 0..10 {
            store.write(Resource::Pods, "n/a", object("a", "1", None));
        }
        assert!(store.changes_after(Resource::Pods, 7).is_err());
        assert_eq!(store.changes_after(Resource::Pods, 8).unwrap().count(), 3);
    }

    #[test]
    fn the_memory_of_the_history_is_bounded() {
        let mut store = Store::new(100, 10_000);
        for _ in 0..10 {
            let mut large = object("a", "1", None);
            large["x"] = json!("x".repeat(3_000));
            store.write(Resource::Pods, "n/a", large);
        }
        let newest = store.revision();
        assert_eq!(store.changes_after(Resource::Pods, newest - 2).unwrap().count(), 2);
        assert!(store.changes_after(Resource::Pods, newest - 4).is_err());
    }

    #[test]
    fn the_memory_of_the_stored_objects_is_known() {
        let mut store = Store::new(100, usize::MAX);
        store.write(Resource::Pods, "n/a", object("a", "1", None));
        let one = store.bytes();
        let mut large = object("b", "2", None);
        large["x"] = json!("x".repeat(3_000));
        let mut large = Value::clone(&store.write(Resource::Jobs, "n/b", large));
        let both = store.bytes();
        assert!(both > one + 3_000);
        large["x"] = json!("");
        assert_eq!(both - store.bytes_with(Resource::Jobs, "n/b", &large), 3_000);
        store.write(Resource::Jobs, "n/b", large);
        store.remove(Resource::Jobs, "n/b");
        assert_eq!(store.bytes(), one);
        store.remove(Resource::Pods, "n/a");
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn the_history_counts_both_versions_of_a_removal() {
        let mut store = Store::new(100, 12_000);
        for name in ["n/a", "n/b", "n/c"] {
            let mut large = object(name, name, None);
            large["x"] = json!("x".repeat(3_000));
            store.write(Resource::Pods, name, large);
            store.remove(Resource::Pods, name);
        }
        let newest = store.revision();
        assert_eq!(store.changes_after(Resource::Pods, newest - 2).unwrap().count(), 2);
        assert!(store.changes_after(Resource::Pods, newest - 3).is_err());
    }

    #[test]
    fn removed_owners_are_known() {
        let mut store = Store::new(10, usize::MAX);
        store.write(Resource::Jobs, "n/j", object("j", "job", None));
        store.write(Resource::Pods, "n/a", object("a", "1", Some("job")));
        assert_eq!(store.dependents("job").count(), 1);
        assert!(store.missing_owners().is_empty());
        store.remove(Resource::Jobs, "n/j");
        assert_eq!(store.missing_owners(), ["job"]);
        store.write(Resource::Pods, "n/a", object("a", "1", None));
        assert!(store.missing_owners().is_empty() && store.dependents("job").next().is_none());
    }
}
