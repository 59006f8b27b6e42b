//! What a cache holds, how it is looked up, and who hears of its changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::Resource;
use tokio::sync::watch;
use tokio::time::Instant;

use super::reflector::{Cache, Version};
use crate::values::{Text, Uid};

/// Namespace and name. Ordered by both, so that what has no other order has this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
}

impl ObjectKey {
    /// A key from its parts.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { namespace: Text::from(namespace), name: Text::from(name) }
    }

    /// The key of an object of the API.
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

/// What is kept of an object.
pub trait Kept: Send + Sync + 'static {
    /// Its name.
    fn key(&self) -> &ObjectKey;
    /// Its UID.
    fn uid(&self) -> &Uid;
    /// Its version.
    fn version(&self) -> Version;
}

/// What is kept of an object of the API of type `K`.
pub trait KeptFrom<K>: Sized {
    /// Takes what is kept; nothing if the object is of no interest to these controllers.
    fn kept_from(object: K, version: Version) -> Option<Self>;
}

/// More ways to look objects up than by their key.
pub trait Index<T>: Default + Send + Sync + 'static {
    /// The object came in.
    fn insert(&mut self, object: &Arc<T>);
    /// The object, as it came in, is gone.
    fn remove(&mut self, object: &Arc<T>);
}

/// What happened to one object. Never both `None`; where both are there, they have the same UID and different versions.
#[derive(Debug)]
pub struct Change<T> {
    /// As it was.
    pub old: Option<Arc<T>>,
    /// As it is.
    pub new: Option<Arc<T>>,
}

type Listener<T> = Box<dyn Fn(&Change<T>) + Send + Sync>;

/// A cache with its index. Written by one reflector, read by many.
pub struct Store<T, I> {
    state: RwLock<State<T, I>>,
    listener: RwLock<Option<Listener<T>>>,
    synced: watch::Sender<bool>,
}

struct State<T, I> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    index: I,
    seen: Version,
    filled: Option<Instant>,
}

impl<T, I> fmt::Debug for Store<T, I> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        out.debug_struct("Store").field("objects", &state.objects.len()).field("seen", &state.seen).finish()
    }
}

impl<T: Kept, I: Index<T>> Default for Store<T, I> {
    fn default() -> Self {
        let state = State { objects: BTreeMap::new(), index: I::default(), seen: 0, filled: None };
        Store { state: RwLock::new(state), listener: RwLock::new(None), synced: watch::channel(false).0 }
    }
}

impl<T: Kept, I: Index<T>> Store<T, I> {
    /// Who hears of every change, after the store shows it. There is one listener.
    pub fn listen(&self, listener: impl Fn(&Change<T>) + Send + Sync + 'static) {
        *self.listener.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(listener));
    }

    /// Nobody hears of changes any more; what the listener held is let go.
    pub fn silence(&self) {
        *self.listener.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The object of this name.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.read().objects.get(key).cloned()
    }

    /// All objects, in the order of their keys.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<T>> {
        self.read().objects.values().cloned().collect()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The highest version that the store has heard of, bookmarks included.
    #[must_use]
    pub fn seen(&self) -> Version {
        self.read().seen
    }

    /// When the store was last filled from a list.
    #[must_use]
    pub fn filled(&self) -> Option<Instant> {
        self.read().filled
    }

    /// Whether the store has been filled once.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until the store has been filled once.
    pub async fn synced(&self) {
        let mut synced = self.synced.subscribe();
        // The sender lives as long as the store.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Reads the index.
    pub fn lookup<R>(&self, read: impl FnOnce(&I) -> R) -> R {
        read(&self.read().index)
    }

    /// Reads the index, and how far the store had come at that moment.
    pub fn lookup_at<R>(&self, read: impl FnOnce(&I) -> R) -> (R, Version) {
        let state = self.read();
        (read(&state.index), state.seen)
    }

    /// The object of this name, and how far the store had come at that moment.
    #[must_use]
    pub fn get_at(&self, key: &ObjectKey) -> (Option<Arc<T>>, Version) {
        let state = self.read();
        (state.objects.get(key).cloned(), state.seen)
    }

    fn read(&self) -> RwLockReadGuard<'_, State<T, I>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<T, I>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changes: &[Change<T>]) {
        if let Some(listener) = &*self.listener.read().unwrap_or_else(PoisonError::into_inner) {
            changes.iter().for_each(listener);
        }
    }

    /// Puts an object in place of the one of its name.
    fn put(&self, object: T, seen: Version) {
        let changes = {
            let mut state = self.write();
            state.seen = state.seen.max(seen);
            state.put(Arc::new(object))
        };
        self.tell(&changes);
    }

    /// Takes an object out; `last` is its last state, where it is known.
    fn take(&self, key: &ObjectKey, last: Option<T>, seen: Version) {
        let change = {
            let mut state = self.write();
            state.seen = state.seen.max(seen);
            let stored = state.drop_object(key);
            // What went came in later than what is held only if events were lost; the last state is the better one.
            last.map(Arc::new).or(stored).map(|old| Change { old: Some(old), new: None })
        };
        self.tell(change.as_slice());
    }
}

impl<T: Kept, I: Index<T>> State<T, I> {
    /// One change; or two, where another object has taken the name.
    fn put(&mut self, new: Arc<T>) -> Vec<Change<T>> {
        let old = self.drop_object(new.key());
        self.index.insert(&new);
        self.objects.insert(new.key().clone(), Arc::clone(&new));
        match old {
            Some(old) if old.uid() != new.uid() => {
                vec![Change { old: Some(old), new: None }, Change { old: None, new: Some(new) }]
            }
            // Told before: a list shows again what is held (SY-06).
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
    T: Kept + KeptFrom<K>,
    I: Index<T>,
{
    type Kept = T;

    fn keep(&self, object: K, version: Version) -> Option<T> {
        T::kept_from(object, version)
    }

    fn replace(&self, objects: Vec<T>, version: Version) {
        let mut changes = Vec::new();
        {
            let mut state = self.write();
            let mut gone: BTreeMap<ObjectKey, Arc<T>> = state.objects.clone();
            for object in objects {
                gone.remove(object.key());
                changes.extend(state.put(Arc::new(object)));
            }
            for (key, old) in gone {
                state.drop_object(&key);
                changes.push(Change { old: Some(old), new: None });
            }
            state.seen = state.seen.max(version);
            state.filled = Some(Instant::now());
        }
        self.tell(&changes);
        self.synced.send_replace(true);
    }

    fn apply(&self, object: K, version: Version) {
        let key = ObjectKey::of(&object);
        match T::kept_from(object, version) {
            Some(object) => self.put(object, version),
            None => self.take(&key, None, version),
        }
    }

    fn remove(&self, object: K, version: Version) {
        let key = ObjectKey::of(&object);
        self.take(&key, T::kept_from(object, version), version);
    }

    fn advance(&self, version: Version) {
        let mut state = self.write();
        state.seen = state.seen.max(version);
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

    impl Kept for Thing {
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

    impl KeptFrom<ConfigMap> for Thing {
        fn kept_from(object: ConfigMap, version: Version) -> Option<Thing> {
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

    fn watched() -> (Store<Thing, ByUid>, Arc<Mutex<Vec<String>>>) {
        let (store, told) = (Store::default(), Arc::new(Mutex::new(Vec::new())));
        store.listen({
            let told = Arc::clone(&told);
            move |change: &Change<Thing>| {
                let of = |thing: &Option<Arc<Thing>>| {
                    thing.as_ref().map_or("-".to_owned(), |it| format!("{}@{}", it.uid, it.version))
                };
                told.lock().unwrap().push(format!("{} {}", of(&change.old), of(&change.new)));
            }
        });
        (store, told)
    }

    fn list(store: &Store<Thing, ByUid>, objects: &[(&str, &str, Version)], version: Version) {
        let kept = objects.iter().filter_map(|(name, uid, version)| store.keep(object(name, uid), *version));
        let kept = kept.collect();
        Cache::<ConfigMap>::replace(store, kept, version);
    }

    #[test]
    fn changes_are_reported_with_the_old_and_the_new_object() {
        let (store, told) = watched();
        store.apply(object("a", "u1"), 1);
        store.apply(object("a", "u1"), 2);
        store.remove(object("a", "u1"), 3);
        assert_eq!(*told.lock().unwrap(), ["- u1@1", "u1@1 u1@2", "u1@3 -"]);
        assert_eq!((store.len(), store.seen()), (0, 3));
        assert!(store.lookup(|index| index.0.is_empty()));
    }

    #[test]
    fn another_uid_under_the_same_name_is_a_deletion_and_a_creation() {
        let (store, told) = watched();
        store.apply(object("a", "u1"), 1);
        store.apply(object("a", "u2"), 5);
        assert_eq!(*told.lock().unwrap(), ["- u1@1", "u1@1 -", "- u2@5"]);
        assert_eq!(store.lookup(|index| index.0.keys().map(ToString::to_string).collect::<Vec<_>>()), ["u2"]);
    }

    /// A relist finds out what events were lost, deletions included, and tells nothing twice.
    #[test]
    fn a_list_reports_missed_changes() {
        let (store, told) = watched();
        assert!(!store.is_synced());
        list(&store, &[("a", "u1", 1), ("b", "u2", 2), ("c", "u3", 3)], 10);
        assert!(store.is_synced());
        told.lock().unwrap().clear();
        list(&store, &[("a", "u1", 1), ("c", "u4", 15), ("d", "u5", 16)], 20);
        assert_eq!(*told.lock().unwrap(), ["u3@3 -", "- u4@15", "- u5@16", "u2@2 -"]);
        assert_eq!(store.seen(), 20);
        assert_eq!(
            store.all().iter().map(|it| it.key.to_string()).collect::<Vec<_>>(),
            ["ns/a", "ns/c", "ns/d"]
        );
    }

    #[test]
    fn an_object_that_is_no_longer_cached_is_reported_as_deleted() {
        let (store, told) = watched();
        store.apply(object("a", "u1"), 1);
        store.apply(ConfigMap { immutable: Some(true), ..object("a", "u1") }, 2);
        assert_eq!(*told.lock().unwrap(), ["- u1@1", "u1@1 -"]);
        assert!(store.is_empty());
        Cache::<ConfigMap>::advance(&store, 9);
        assert_eq!(store.seen(), 9);
    }
}
