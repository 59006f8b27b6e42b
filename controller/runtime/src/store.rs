//! A cache: its entries, its indexes, and the listener of its changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jobcheck_access::Unreadable;
use jobcheck_controller::answer::excerpt;
use jobcheck_controller::values::{Text, Uid};
use kube::Resource;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

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

/// An object that exists, and whose state cannot be read. It does not count as deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The key of the object.
    pub key: ObjectKey,
    /// The UID of the object, if that can be read.
    pub uid: Option<Uid>,
}

impl Unread {
    /// Logs why an object cannot be read. Returns none if not even its name can be read.
    #[must_use]
    pub fn of(resource: &str, unreadable: &Unreadable) -> Option<Unread> {
        let Unreadable { metadata, why } = unreadable;
        let [namespace, name] =
            [&metadata.namespace, &metadata.name].map(|it| it.as_deref().unwrap_or_default());
        let key = ObjectKey::new(namespace, name);
        let why = excerpt(why);
        if name.is_empty() {
            warn!(resource, why, "ignoring an object that cannot be read");
            return None;
        }
        warn!(resource, name = %key, why, "an object cannot be read: its state is unknown");
        Some(Unread { key, uid: metadata.uid.as_deref().map(Uid::new) })
    }
}

/// A cache entry.
pub trait Cached: Send + Sync + 'static {
    /// The plural name of the kind of the object, for the log.
    const RESOURCE: &'static str;
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
    ///
    /// # Errors
    ///
    /// The object cannot be read.
    fn from_object(object: K, version: Version) -> Result<Option<Self>, Box<Unreadable>>;
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
/// At least one of the two entries exists. If both exist, they have the same UID. They have different versions, unless
/// the state of the object was unknown in between.
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
    /// The objects whose state is unknown. The entry of such an object, if it has one, has an earlier state.
    unread: BTreeSet<ObjectKey>,
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
        let state = State {
            objects: BTreeMap::new(),
            unread: BTreeSet::new(),
            index: I::default(),
            latest: 0,
            last_list: None,
        };
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

    /// Returns true if the object with this key exists and its state cannot be read. Its entry has an earlier state.
    #[must_use]
    pub fn is_unread(&self, key: &ObjectKey) -> bool {
        self.read().unread.contains(key)
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
        let was_unread = self.unread.contains(new.key());
        let old = self.drop_object(new.key());
        self.index.insert(&new);
        self.objects.insert(new.key().clone(), Arc::clone(&new));
        match old {
            Some(old) if old.uid() != new.uid() => {
                vec![Change { old: Some(old), new: None }, Change { old: None, new: Some(new) }]
            }
            // SY-06: a list repeats objects that have not changed.
            Some(old) if old.version() == new.version() && !was_unread => Vec::new(),
            old => vec![Change { old, new: Some(new) }],
        }
    }

    /// Keeps the entry of an object that cannot be read. Returns the deletion of the previous object with its key.
    fn keep_unread(&mut self, object: Unread) -> Option<Change<T>> {
        let Unread { key, uid } = object;
        let is_another = |old: &Arc<T>| uid.as_ref().is_some_and(|uid| uid != old.uid());
        let is_replaced = self.objects.get(&key).is_some_and(is_another);
        let old = if is_replaced { self.drop_object(&key) } else { None };
        self.unread.insert(key);
        old.map(|old| Change { old: Some(old), new: None })
    }

    fn drop_object(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        self.unread.remove(key);
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

    fn entry(&self, object: K, version: Version) -> Result<Option<T>, Box<Unreadable>> {
        T::from_object(object, version)
    }

    fn replace(&self, entries: Vec<T>, unread: Vec<Unread>, version: Version) {
        let mut changes = Vec::new();
        {
            let mut state = self.write();
            let mut deleted: BTreeMap<ObjectKey, Arc<T>> = state.objects.clone();
            for object in entries {
                deleted.remove(object.key());
                changes.extend(state.put(Arc::new(object)));
            }
            let still_unread = unread.iter().map(|object| object.key.clone()).collect();
            for object in unread {
                deleted.remove(&object.key);
                changes.extend(state.keep_unread(object));
            }
            state.unread = still_unread;
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
            Ok(Some(object)) => self.put(object, version),
            Ok(None) => self.take(&key, None, version),
            Err(unreadable) => self.keep_unread(Unread::of(T::RESOURCE, &unreadable), version),
        }
    }

    fn remove(&self, object: K, version: Version) {
        let key = ObjectKey::of(&object);
        self.take(&key, T::from_object(object, version).ok().flatten(), version);
    }

    fn keep_unread(&self, object: Option<Unread>, version: Version) {
        let change = {
            let mut state = self.write();
            state.latest = state.latest.max(version);
            object.and_then(|object| state.keep_unread(object))
        };
        self.notify(change.as_slice());
    }

    fn remove_unread(&self, object: Option<Unread>, version: Version) {
        match object {
            Some(object) => self.take(&object.key, None, version),
            None => self.keep_unread(None, version),
        }
    }
}

#[cfg(test)]
mod tests;
