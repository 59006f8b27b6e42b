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
    ids: FxHashMap<Arc<T>, Id>,
    all: Vec<Arc<T>>,
}

impl<T: Eq + Hash> Table<T> {
    /// No parts.
    pub fn new() -> Table<T> {
        Table { inner: RwLock::new(Inner { ids: FxHashMap::default(), all: Vec::new() }) }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).all.len()
    }

    fn id_of(&self, part: &Arc<T>) -> Id {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = inner.ids.get(part) {
            return *id;
        }
        let id = Id::try_from(inner.all.len()).unwrap_or(Id::MAX);
        inner.all.push(part.clone());
        inner.ids.insert(part.clone(), id);
        id
    }

    fn part(&self, id: Id) -> Arc<T> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).all[id as usize].clone()
    }
}

/// The parts of one kind that a thread knows, so that it need not ask.
#[derive(Debug)]
pub struct Known<T> {
    ids: FxHashMap<Arc<T>, Id>,
    all: Vec<Option<(Arc<T>, u64)>>,
}

impl<T: Eq + Hash> Known<T> {
    /// No parts.
    pub fn new() -> Known<T> {
        Known { ids: FxHashMap::default(), all: Vec::new() }
    }

    /// The number of a part.
    pub fn id_of(&mut self, table: &Table<T>, part: T) -> Id {
        if let Some(id) = self.ids.get(&part) {
            return *id;
        }
        let part = Arc::new(part);
        let id = table.id_of(&part);
        self.learn(table, id);
        id
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
            self.learn(table, id);
        }
        self.all[id as usize].as_ref().expect("it was just learnt")
    }

    fn learn(&mut self, table: &Table<T>, id: Id) {
        let part = table.part(id);
        let hash = hash_of(&*part);
        if self.all.len() <= id as usize {
            self.all.resize_with(id as usize + 1, || None);
        }
        self.ids.insert(part.clone(), id);
        self.all[id as usize] = Some((part, hash));
    }
}

/// A hash that is the same in every run.
pub fn hash_of<T: Hash>(part: &T) -> u64 {
    let mut hasher = FxHasher::default();
    part.hash(&mut hasher);
    hasher.finish()
}
