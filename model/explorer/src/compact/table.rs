//! Tables of parts. Each distinct part has one number.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHasher};

/// The number of a part in its table.
pub type Id = u32;

/// The parts of one kind, shared by all threads.
///
/// Numbers depend on the order in which threads add parts, and differ between runs. Only equality of numbers
/// is meaningful. [`Known::rank`] provides an order that is the same in every run.
#[derive(Debug)]
pub struct Table<T> {
    inner: RwLock<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    ids: Index,
    all: Vec<(Arc<T>, u64)>,
}

/// The numbers of parts by hash. A part is large, so it is hashed once. If two parts have the same hash, the
/// later one takes the next free hash.
#[derive(Debug, Default)]
struct Index(FxHashMap<u64, Id>);

impl Index {
    /// The number of the part with this hash, or the first free hash for it.
    fn find(&self, hash: u64, is_it: impl Fn(Id) -> bool) -> Result<Id, u64> {
        let mut place = hash;
        while let Some(id) = self.0.get(&place) {
            if is_it(*id) {
                return Ok(*id);
            }
            place = place.wrapping_add(1);
        }
        Err(place)
    }
}

impl<T: Eq + Hash> Table<T> {
    /// An empty table.
    pub fn new() -> Table<T> {
        Table { inner: RwLock::new(Inner { ids: Index::default(), all: Vec::new() }) }
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).all.len()
    }

    /// Returns true if there is no part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn add(&self, part: T, hash: u64) -> (Id, Arc<T>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let Inner { ids, all } = &mut *inner;
        match ids.find(hash, |id| *all[id as usize].0 == part) {
            Ok(id) => (id, all[id as usize].0.clone()),
            Err(place) => {
                let (id, part) = (Id::try_from(all.len()).unwrap_or(Id::MAX), Arc::new(part));
                ids.0.insert(place, id);
                all.push((part.clone(), hash));
                (id, part)
            }
        }
    }

    fn entry(&self, id: Id) -> (Arc<T>, u64) {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).all[id as usize].clone()
    }
}

impl<T: Eq + Hash> Default for Table<T> {
    fn default() -> Table<T> {
        Table::new()
    }
}

/// The parts of one kind that a thread knows without access to the shared table.
#[derive(Debug)]
pub struct Known<T> {
    ids: Index,
    all: Vec<Option<(Arc<T>, u64)>>,
}

impl<T: Eq + Hash> Default for Known<T> {
    fn default() -> Known<T> {
        Known::new()
    }
}

impl<T: Eq + Hash> Known<T> {
    /// An empty memory.
    pub fn new() -> Known<T> {
        Known { ids: Index::default(), all: Vec::new() }
    }

    /// The number of a part, which is added if it is new.
    pub fn id_of(&mut self, table: &Table<T>, part: T) -> Id {
        let hash = hash_of(&part);
        let all = &self.all;
        let is_it = |id: Id| all[id as usize].as_ref().is_some_and(|(known, _)| **known == part);
        match self.ids.find(hash, is_it) {
            Ok(id) => id,
            Err(place) => {
                let (id, part) = table.add(part, hash);
                self.learn(place, id, (part, hash));
                id
            }
        }
    }

    /// The part with this number.
    pub fn part(&mut self, table: &Table<T>, id: Id) -> &Arc<T> {
        &self.entry(table, id).0
    }

    /// An order of parts that is the same in every run: their hashes. If the hashes of two parts are equal,
    /// their numbers decide.
    pub fn rank(&mut self, table: &Table<T>, id: Id) -> (u64, Id) {
        (self.entry(table, id).1, id)
    }

    fn entry(&mut self, table: &Table<T>, id: Id) -> &(Arc<T>, u64) {
        if self.all.get(id as usize).is_none_or(Option::is_none) {
            let entry = table.entry(id);
            let place = self.ids.find(entry.1, |_| false).err().unwrap_or(entry.1);
            self.learn(place, id, entry);
        }
        self.all[id as usize].as_ref().expect("it was just learnt")
    }

    fn learn(&mut self, place: u64, id: Id, entry: (Arc<T>, u64)) {
        if self.all.len() <= id as usize {
            self.all.resize_with(id as usize + 1, || None);
        }
        self.ids.0.insert(place, id);
        self.all[id as usize] = Some(entry);
    }
}

/// A hash that is the same in every run.
pub fn hash_of<T: Hash>(part: &T) -> u64 {
    let mut hasher = FxHasher::default();
    part.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose hash is always the same.
    #[derive(Debug, PartialEq, Eq)]
    struct Part(u32);

    impl Hash for Part {
        fn hash<H: Hasher>(&self, _: &mut H) {}
    }

    #[test]
    fn parts_with_the_same_hash_are_told_apart() {
        let table = Table::new();
        let (mut one, mut other) = (Known::new(), Known::new());
        let ids: Vec<Id> = (0..5).map(|part| one.id_of(&table, Part(part))).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        assert_eq!(other.part(&table, 3).0, 3);
        let again: Vec<Id> = (0..5).rev().map(|part| other.id_of(&table, Part(part))).collect();
        assert_eq!(again, [4, 3, 2, 1, 0]);
        assert_eq!((table.len(), one.part(&table, 2).0), (5, 2));
    }
}
