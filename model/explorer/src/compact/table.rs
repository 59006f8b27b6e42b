//! Parts of worlds, each kept once and named by a number.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHasher};

/// Number of a part in its table.
pub type Id = u32;

/// The parts of one kind that all threads share.
///
/// Numbers are given in the order in which threads ask, so that they may differ from run to run: they are good
/// for telling parts apart, which is exact, and for nothing else. What needs an order asks for [`Known::rank`].
#[derive(Debug)]
pub struct Table<T> {
    inner: RwLock<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    ids: Index,
    all: Vec<(Arc<T>, u64)>,
}

/// Numbers of parts by their hashes. Parts are large, so that each is hashed once; where two have the same hash,
/// the later one stands at the next free one.
#[derive(Debug, Default)]
struct Index(FxHashMap<u64, Id>);

impl Index {
    /// The number of the part with this hash, or where it would stand.
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
    /// No parts.
    pub fn new() -> Table<T> {
        Table { inner: RwLock::new(Inner { ids: Index::default(), all: Vec::new() }) }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).all.len()
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

/// The parts of one kind that a thread knows, so that it need not ask.
#[derive(Debug)]
pub struct Known<T> {
    ids: Index,
    all: Vec<Option<(Arc<T>, u64)>>,
}

impl<T: Eq + Hash> Known<T> {
    /// No parts.
    pub fn new() -> Known<T> {
        Known { ids: Index::default(), all: Vec::new() }
    }

    /// The number of a part.
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

    /// The part of this number.
    pub fn part(&mut self, table: &Table<T>, id: Id) -> &Arc<T> {
        &self.entry(table, id).0
    }

    /// Something to order parts by that is the same in every run: a hash of the part. Equal hashes of different
    /// parts are possible, and do no harm: then the numbers order them.
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

    /// All have the same hash.
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
