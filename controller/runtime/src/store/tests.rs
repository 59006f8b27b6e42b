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
    const RESOURCE: &'static str = "things";
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
    fn from_object(object: ConfigMap, version: Version) -> Result<Option<Thing>, Box<Unreadable>> {
        if object.data.is_some() {
            return Err(Box::new(Unreadable { metadata: object.metadata, why: "data".to_owned() }));
        }
        let uid = Uid::new(object.metadata.uid.as_deref().unwrap_or_default());
        let is_cached = object.immutable != Some(true);
        Ok(is_cached.then(|| Thing { key: ObjectKey::of(&object), uid, version }))
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
    list_with(store, objects, &[], version);
}

/// A list with objects that cannot be read.
fn list_with(
    store: &Store<Thing, ByUid>,
    objects: &[(&str, &str, Version)],
    unread: &[(&str, &str)],
    version: Version,
) {
    let entries = objects
        .iter()
        .filter_map(|(name, uid, version)| store.entry(object(name, uid), *version).unwrap())
        .collect();
    let unread = unread.iter().map(|(name, uid)| unread_object(name, uid)).collect();
    Cache::<ConfigMap>::replace(store, entries, unread, version);
}

fn unread_object(name: &str, uid: &str) -> Unread {
    Unread { key: ObjectKey::new("ns", name), uid: (!uid.is_empty()).then(|| Uid::new(uid)) }
}

fn unreadable(name: &str, uid: &str) -> ConfigMap {
    ConfigMap { data: Some(BTreeMap::new()), ..object(name, uid) }
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
    assert_eq!(store.all().iter().map(|it| it.key.to_string()).collect::<Vec<_>>(), ["ns/a", "ns/c", "ns/d"]);
}

#[test]
fn an_object_that_is_no_longer_cached_is_reported_as_deleted() {
    let (store, changes) = with_log();
    store.apply(object("a", "u1"), 1);
    store.apply(ConfigMap { immutable: Some(true), ..object("a", "u1") }, 2);
    assert_eq!(*changes.lock().unwrap(), ["- u1@1", "u1@1 -"]);
    assert!(store.is_empty());
    Cache::<ConfigMap>::keep_unread(&store, None, 9);
    assert_eq!(store.latest_version(), 9);
}

/// An object that cannot be read is there, in events and in lists, and keeps its entry.
#[test]
fn an_object_that_cannot_be_read_is_not_deleted() {
    let (store, changes) = with_log();
    let (a, b) = (ObjectKey::new("ns", "a"), ObjectKey::new("ns", "b"));
    store.apply(object("a", "u1"), 1);
    store.apply(unreadable("a", "u1"), 2);
    list_with(&store, &[], &[("a", ""), ("b", "u2")], 3);
    assert_eq!(*changes.lock().unwrap(), ["- u1@1"]);
    assert_eq!((store.len(), store.latest_version()), (1, 3));
    assert!(store.is_unread(&a) && store.is_unread(&b));
    // The same version causes a change, because nothing was decided meanwhile.
    list(&store, &[("a", "u1", 1)], 4);
    assert!(!store.is_unread(&a) && !store.is_unread(&b));
    store.apply(object("b", "u2"), 5);
    assert_eq!(*changes.lock().unwrap(), ["- u1@1", "u1@1 u1@1", "- u2@5"]);
}

#[test]
fn an_object_that_cannot_be_read_can_be_deleted_and_replaced() {
    let (store, changes) = with_log();
    let is_unread = |name| store.is_unread(&ObjectKey::new("ns", name));
    list(&store, &[("a", "u1", 1), ("b", "u2", 1), ("c", "u3", 1), ("d", "u4", 1)], 1);
    changes.lock().unwrap().clear();
    store.apply(unreadable("a", "another"), 2);
    assert!(is_unread("a"));
    store.apply(unreadable("b", "u2"), 3);
    store.remove(unreadable("b", "u2"), 4);
    Cache::<ConfigMap>::keep_unread(&store, Some(unread_object("c", "u3")), 5);
    Cache::<ConfigMap>::remove_unread(&store, Some(unread_object("c", "u3")), 6);
    assert_eq!(*changes.lock().unwrap(), ["u1@1 -", "u2@1 -", "u3@1 -"]);
    store.apply(unreadable("d", "u4"), 7);
    list(&store, &[], 8);
    assert_eq!(changes.lock().unwrap()[3..], ["u4@1 -"]);
    assert!(["a", "b", "c", "d"].iter().all(|name| !is_unread(name)));
    assert!(store.is_empty() && store.latest_version() == 8);
}
