//! What a process remembers of Jobs between syncs. Nothing of it is needed after a restart (SY-10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::store::ObjectKey;
use crate::job::observed::Memory;
use crate::values::Uid;

/// The memory of each Job, and Jobs that are known to be gone.
#[derive(Debug, Default)]
pub struct Memories {
    jobs: Mutex<BTreeMap<ObjectKey, Memory>>,
    gone: Mutex<BTreeSet<Uid>>,
}

/// Jobs that are remembered as gone; beyond that all are forgotten, and asked for again.
const GONE: usize = 16_384;

impl Memories {
    /// What is remembered of the Job of this name. It may be of a former one: the decision looks at the UID.
    #[must_use]
    pub fn of(&self, key: &ObjectKey) -> Memory {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    /// Remembers this from now on.
    pub fn set(&self, key: &ObjectKey, memory: Memory) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if memory == (Memory { uid: memory.uid.clone(), ..Memory::default() }) {
            jobs.remove(key);
        } else {
            jobs.insert(key.clone(), memory);
        }
    }

    /// The Job is gone.
    pub fn forget(&self, key: &ObjectKey, uid: &Uid) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.get(key).is_some_and(|memory| memory.uid.as_ref() == Some(uid)) {
            jobs.remove(key);
        }
    }

    /// No Job with this UID will ever be seen again.
    pub fn job_is_gone(&self, uid: &Uid) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.len() >= GONE {
            gone.clear();
        }
        gone.insert(uid.clone());
    }

    /// Whether the Job is known to be gone.
    #[must_use]
    pub fn is_gone(&self, uid: &Uid) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_to_remember_takes_room() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let (uid, former) = (Uid::new("u"), Uid::new("former"));
        let released = BTreeSet::from([Uid::new("p")]);
        let memory = Memory { uid: Some(uid.clone()), released, ..Memory::default() };
        memories.set(&key, memory.clone());
        assert_eq!(memories.of(&key), memory);
        memories.forget(&key, &former);
        assert_eq!(memories.of(&key), memory);
        memories.set(&key, Memory { uid: Some(uid.clone()), ..Memory::default() });
        assert!(memories.jobs.lock().unwrap().is_empty());
        memories.set(&key, memory);
        memories.forget(&key, &uid);
        assert_eq!(memories.of(&key), Memory::default());
        memories.job_is_gone(&former);
        assert!(memories.is_gone(&former) && !memories.is_gone(&uid));
    }
}
