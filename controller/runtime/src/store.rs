//! A cache: its entries, its indexes, and the listener of its changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jobcheck_controller::values::{Text, Uid};
use kube::Resource;
use tokio::sync::watch;
use tokio::time::Instant;

use super::reflector::{Cache, Version};

/// The namespace and the name of an object, ordered by both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
}

impl ObjectKey {
    /// Returns the key with this namespace and this name.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { namespace: Text::from(namespace), name: Text::from(name) }
    }

    /// Returns the key of an object.
    pub fn of<K: Resource>(object: &K) -> ObjectKey {
        let meta = object.meta();
        ObjectKey::new(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
        )
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A cache entry.
pub trait Cached: Send + Sync + 'static {
    /// The key of the object.
    fn key(&self) -> &ObjectKey;
    /// The UID of the object.
    fn uid(&self) -> &Uid;
    /// The version of the object.
    fn version(&self) -> Version;
}

/// A cache entry of an API object of type `K`.
pub trait FromObject<K>: Sized {
    /// Returns the entry of an object; none if the object concerns no Job.
    fn from_object(object: K, version: Version) -> Option<Self>;
}

/// Indexes of a cache other than the key.
pub trait Index<T>: Default + Send + Sync + 'static {
    /// Adds an entry.
    fn insert(&mut self, object: &Arc<T>);
    /// Removes an entry that was added.
    fn remove(&mut self, object: &Arc<T>);
}

/// A change of one object.
///
/// At least one of the two entries exists. If both exist, they have the same UID and different versions.
#[derive(Debug)]
pub struct Change<T> {
    /// The entry before the change; none for a new object.
    pub old: Option<Arc<T>>,
    /// The entry after the change; none for a deleted object.
    pub new: Option<Arc<T>>,
}

type Listener<T> = Box<dyn Fn(&Change<T>) + Send + Sync>;

/// A cache with its index. One reflector updates it.
pub struct Store<T, I> {
    state: RwLock<State<T, I>>,
    listener: RwLock<Option<Listener<T>>>,
    synced: watch::Sender<bool>,
}

struct State<T, I> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    index: I,
    latest: Version,
    last_list: Option<Instant>,
}

impl<T, I> fmt::Debug for Store<T, I> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        out.debug_struct("Store")
            .field("objects", &state.objects.len())
            .field("latest", &state.latest)
            .finish()
    }
}

impl<T: Cached, I: Index<T>> Default for Store<T, I> {
    fn default() -> Self {
        let state = State { objects: BTreeMap::new(), index: I::default(), latest: 0, last_list: None };
        Store { state: RwLock::new(state), listener: RwLock::new(None), synced: watch::channel(false).0 }
    }
}

impl<T: Cached, I: Index<T>> Store<T, I> {
    /// Sets the listener of all changes. It is called after the store shows the change.
    pub fn listen(&self, listener: impl Fn(&Change<T>) + Send + Sync + 'static) {
        *self.listener.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(listener));
    }

    /// Removes and drops the listener.
    pub fn remove_listener(&self) {
        *self.listener.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the object with this key.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.read().objects.get(key).cloned()
    }

    /// Returns all objects, ordered by key.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<T>> {
        self.read().objects.values().cloned().collect()
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Returns true if there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version of the last list or event. It never goes back.
    #[must_use]
    pub fn latest_version(&self) -> Version {
        self.read().latest
    }

    /// The time of the last complete list.
    #[must_use]
    pub fn last_list(&self) -> Option<Instant> {
        self.read().last_list
    }

    /// Returns true after the first complete list.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits for the first complete list.
    pub async fn synced(&self) {
        let mut synced = self.synced.subscribe();
        // The store owns the sender, so this cannot fail.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Reads the index.
    pub fn lookup<R>(&self, read: impl FnOnce(&I) -> R) -> R {
        read(&self.read().index)
    }

    /// Reads the index, and the latest version at the same time.
    pub fn lookup_at<R>(&self, read: impl FnOnce(&I) -> R) -> (R, Version) {
        let state = self.read();
        (read(&state.index), state.latest)
    }

    /// Returns the object with this key, and the latest version at the same time.
    #[must_use]
    pub fn get_at(&self, key: &ObjectKey) -> (Option<Arc<T>>, Version) {
        let state = self.read();
        (state.objects.get(key).cloned(), state.latest)
    }

    fn read(&self) -> RwLockReadGuard<'_, State<T, I>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<T, I>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, changes: &[Change<T>]) {
        if let Some(listener) = &*self.listener.read().unwrap_or_else(PoisonError::into_inner) {
            changes.iter().for_each(listener);
        }
    }

    /// Adds or replaces the object with this key.
    fn put(&self, object: T, version: Version) {
        let changes = {
            let mut state = self.write();
            state.latest = state.latest.max(version);
            state.put(Arc::new(object))
        };
        self.notify(&changes);
    }

    /// Removes the object with this key. `last` is its last state, if it is known.
    fn take(&self, key: &ObjectKey, last: Option<T>, version: Version) {
        let change = {
            let mut state = self.write();
            state.latest = state.latest.max(version);
            let stored = state.drop_object(key);
            // After lost events the stored entry may be older than the last state.
            last.map(Arc::new).or(stored).map(|old| Change { old: Some(old), new: None })
        };
        self.notify(change.as_slice());
    }
}

impl<T: Cached, I: Index<T>> State<T, I> {
    /// Returns one change; two if another object has the key now.
    fn put(&mut self, new: Arc<T>) -> Vec<Change<T>> {
        let old = self.drop_object(new.key());
        self.index.insert(&new);
        self.objects.insert(new.key().clone(), Arc::clone(&new));
        match old {
            Some(old) if old.uid() != new.uid() => {
                vec![Change { old: Some(old), new: None }, Change { old: None, new: Some(new) }]
            }
            // SY-06: a list repeats objects that have not changed.
            Some(old) if old.version() == new.version() => Vec::new(),
            old => vec![Change { old, new: Some(new) }],
        }
    }

    fn drop_object(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let old = self.objects.remove(key)?;
        self.index.remove(&old);
        Some(old)
    }
}

impl<K, T, I> Cache<K> for Store<T, I>
where
    K: Resource + Send + 'static,
    T: Cached + FromObject<K>,
    I: Index<T>,
{
    type Entry = T;

    fn entry(&self, object: K, version: Version) -> Option<T> {
        T::from_object(object, version)
    }

    fn replace(&self, entries: Vec<T>, version: Version) {
        let mut changes = Vec::new();
        {
            let mut state = self.write();
            let mut deleted: BTreeMap<ObjectKey, Arc<T>> = state.objects.clone();
            for object in entries {
                deleted.remove(object.key());
                changes.extend(state.put(Arc::new(object)));
            }
            for (key, old) in deleted {
                state.drop_object(&key);
                changes.push(Change { old: Some(old), new: None });
            }
            state.latest = state.latest.max(version);
            state.last_list = Some(Instant::now());
        }
        self.notify(&changes);
        self.synced.send_replace(true);
    }

    fn apply(&self, object: K, version: Version) {
        let key = ObjectKey::of(&object);
        match T::from_object(object, version) {
            Some(object) => self.put(object, version),
            None => self.take(&key, None, version),
        }
    }

    fn remove(&self, object: K, version: Version) {
        let key = ObjectKey::of(&object);
        self.take(&key, T::from_object(object, version), version);
    }

    fn advance(&self, version: Version) {
        let mut state = self.write();
        state.latest = state.latest.max(version);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::ObjectMeta;

    use super::*;

    #[derive(Debug)]
    struct Thing {
        key: ObjectKey,
        uid: Uid,
        version: Version,
    }

    impl Cached for Thing {
        fn key(&self) -> &ObjectKey {
            &self.key
        }
        fn uid(&self) -> &Uid {
            &self.uid
        }
        fn version(&self) -> Version {
            self.version
        }
    }

    impl FromObject<ConfigMap> for Thing {
        fn from_object(object: ConfigMap, version: Version) -> Option<Thing> {
            let uid = Uid::new(object.metadata.uid.as_deref().unwrap_or_default());
            (object.immutable != Some(true)).then(|| Thing { key: ObjectKey::of(&object), uid, version })
        }
    }

    #[derive(Default)]
    struct ByUid(BTreeMap<Uid, Version>);

    impl Index<Thing> for ByUid {
        fn insert(&mut self, object: &Arc<Thing>) {
            self.0.insert(object.uid.clone(), object.version);
        }
        fn remove(&mut self, object: &Arc<Thing>) {
            self.0.remove(&object.uid);
        }
    }

    fn object(name: &str, uid: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            namespace: Some("ns".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn with_log() -> (Store<Thing, ByUid>, Arc<Mutex<Vec<String>>>) {
        let (store, changes) = (Store::default(), Arc::new(Mutex::new(Vec::new())));
        store.listen({
            let changes = Arc::clone(&changes);
            move |change: &Change<Thing>| {
                let of = |thing: &Option<Arc<Thing>>| {
                    thing.as_ref().map_or("-".to_owned(), |it| format!("{}@{}", it.uid, it.version))
                };
                changes.lock().unwrap().push(format!("{} {}", of(&change.old), of(&change.new)));
            }
        });
        (store, changes)
    }

    fn list(store: &Store<Thing, ByUid>, objects: &[(&str, &str, Version)], version: Version) {
        let entries =
            objects.iter().filter_map(|(name, uid, version)| store.entry(object(name, uid), *version));
        let entries = entries.collect();
        Cache::<ConfigMap>::replace(store, entries, version);
    }

    #[test]
    fn changes_are_reported_with_the_old_and_the_new_object() {
        let (store, changes) = with_log();
        store.apply(object("a", "u1"), 1);
        store.apply(object("a", "u1"), 2);
        store.remove(object("a", "u1"), 3);
        assert_eq!(*changes.lock().unwrap(), ["- u1@1", "u1@1 u1@2", "u1@3 -"]);
        assert_eq!((store.len(), store.latest_version()), (0, 3));
        assert!(store.lookup(|index| index.0.is_empty()));
    }

    #[test]
    fn another_uid_under_the_same_name_is_a_deletion_and_a_creation() {
        let (store, changes) = with_log();
        store.apply(object("a", "u1"), 1);
        store.apply(object("a", "u2"), 5);
        assert_eq!(*changes.lock().unwrap(), ["- u1@1", "u1@1 -", "- u2@5"]);
        assert_eq!(store.lookup(|index| index.0.keys().map(ToString::to_string).collect::<Vec<_>>()), ["u2"]);
    }

    /// A relist reports all changes of lost events, including deletions, and no other change.
    #[test]
    fn a_list_reports_missed_changes() {
        let (store, changes) = with_log();
        assert!(!store.is_synced());
        list(&store, &[("a", "u1", 1), ("b", "u2", 2), ("c", "u3", 3)], 10);
        assert!(store.is_synced());
        changes.lock().unwrap().clear();
        list(&store, &[("a", "u1", 1), ("c", "u4", 15), ("d", "u5", 16)], 20);
        assert_eq!(*changes.lock().unwrap(), ["u3@3 -", "- u4@15", "- u5@16", "u2@2 -"]);
        assert_eq!(store.latest_version(), 20);
        assert_eq!(
            store.all().iter().map(|it| it.key.to_string()).collect::<Vec<_>>(),
            ["ns/a", "ns/c", "ns/d"]
        );
    }

    #[test]
    fn an_object_that_is_no_longer_cached_is_reported_as_deleted() {
        let (store, changes) = with_log();
        store.apply(object("a", "u1"), 1);
        store.apply(ConfigMap { immutable: Some(true), ..object("a", "u1") }, 2);
        assert_eq!(*changes.lock().unwrap(), ["- u1@1", "u1@1 -"]);
        assert!(store.is_empty());
        Cache::<ConfigMap>::advance(&store, 9);
        assert_eq!(store.latest_version(), 9);
    }
}
