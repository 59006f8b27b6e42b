//! The living objects of a kind, by namespace and name.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use rustc_hash::{FxHashMap, FxHashSet};

/// The living objects of a kind, by namespace and name.
///
/// A trace has as many names as objects. Two hashes, with keys of this process, therefore stand for the text of a name.
/// That two names have both in common is as likely as that two random UIDs are equal.
#[derive(Debug, Default)]
pub struct ByName {
    hashers: [RandomState; 2],
    uids: FxHashMap<[u64; 2], Uid>,
}

impl ByName {
    fn hashes(&self, key: &(Text, Text)) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(key))
    }

    /// The object with this name.
    #[must_use]
    pub fn get(&self, key: &(Text, Text)) -> Option<Uid> {
        self.uids.get(&self.hashes(key)).copied()
    }

    /// Gives an object this name. Returns the object that had it before.
    pub fn insert(&mut self, key: &(Text, Text), uid: Uid) -> Option<Uid> {
        self.uids.insert(self.hashes(key), uid)
    }

    /// Removes a name.
    pub fn remove(&mut self, key: &(Text, Text)) {
        self.uids.remove(&self.hashes(key));
    }

    /// Removes the names of these objects.
    pub fn forget(&mut self, gone: &[Uid]) {
        if !gone.is_empty() {
            let gone: FxHashSet<Uid> = gone.iter().copied().collect();
            self.uids.retain(|_, uid| !gone.contains(uid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_last_object() {
        let key = |namespace: &str, name: &str| (namespace.into(), name.into());
        let mut names = ByName::default();
        assert_eq!(names.insert(&key("a", "b"), Uid(1)), None);
        assert_eq!(names.insert(&key("a", "b"), Uid(2)), Some(Uid(1)));
        let found =
            [("a", "b"), ("ab", ""), ("", "ab")].map(|(namespace, name)| names.get(&key(namespace, name)));
        assert_eq!(found, [Some(Uid(2)), None, None]);
        names.insert(&key("a", "c"), Uid(3));
        names.forget(&[Uid(3), Uid(4)]);
        assert_eq!([names.get(&key("a", "b")), names.get(&key("a", "c"))], [Some(Uid(2)), None]);
        names.remove(&key("a", "b"));
        assert_eq!(names.get(&key("a", "b")), None);
    }
}
