//! A set with a bound.

use std::collections::BTreeMap;

/// A set that forgets its oldest members, so that a long recording does not fill the memory.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T> {
    most: usize,
    /// The members, each with its position.
    members: BTreeMap<T, u64>,
    /// The members by position; the oldest is the first.
    order: BTreeMap<u64, T>,
    next: u64,
}

impl<T: Clone + Ord> Recent<T> {
    /// Returns an empty set that holds at most this number of members.
    pub(crate) fn new(most: usize) -> Recent<T> {
        Recent { most, members: BTreeMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// Adds a member. Returns the one that is forgotten for it.
    pub(crate) fn insert(&mut self, member: T) -> Option<T> {
        if self.members.contains_key(&member) {
            return None;
        }
        self.members.insert(member.clone(), self.next);
        self.order.insert(self.next, member);
        self.next += 1;
        if self.order.len() <= self.most {
            return None;
        }
        let (_, oldest) = self.order.pop_first()?;
        self.members.remove(&oldest);
        Some(oldest)
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
    {
        self.members.contains_key(member)
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, member: &Q)
    where
        T: std::borrow::Borrow<Q>,
    {
        if let Some(position) = self.members.remove(member) {
            self.order.remove(&position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_member_is_forgotten() {
        let mut recent = Recent::new(2);
        assert_eq!((recent.insert(1), recent.insert(2), recent.insert(1)), (None, None, None));
        assert_eq!(recent.insert(3), Some(1));
        recent.remove(&2);
        assert_eq!((recent.insert(4), recent.contains(&3), recent.contains(&2)), (None, true, false));
        assert_eq!((recent.members.len(), recent.order.len()), (2, 2));
    }
}
