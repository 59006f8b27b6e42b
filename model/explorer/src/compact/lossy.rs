//! A cache of bounded size. It may lose entries, but it never returns a wrong one.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// The values by key. Each key has one place, and a later key with the same place replaces the entry.
#[derive(Debug)]
pub struct Lossy<K, V> {
    entries: Vec<Option<(K, V)>>,
    /// The number of occupied places.
    taken: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, V> Lossy<K, V> {
    /// An empty cache with at most this many places, a power of two. It starts smaller.
    pub fn up_to(most: usize) -> Lossy<K, V> {
        Lossy { entries: Vec::new(), taken: 0, most }
    }

    /// The value of a key, if it is still in the cache.
    pub fn get(&self, key: &K) -> Option<&V> {
        let (known, answer) = self.entries.get(self.place(key))?.as_ref()?;
        (known == key).then_some(answer)
    }

    /// Stores a value.
    pub fn put(&mut self, key: K, answer: V) {
        if self.taken * 2 >= self.entries.len() && self.entries.len() < self.most {
            self.grow();
        }
        let place = self.place(&key);
        if let Some(entry) = self.entries.get_mut(place) {
            self.taken += usize::from(entry.is_none());
            *entry = Some((key, answer));
        }
    }

    fn place(&self, key: &K) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(mixed).unwrap_or_default() & self.entries.len().wrapping_sub(1)
    }

    fn grow(&mut self) {
        let size = (self.entries.len() * 2).max(1024).min(self.most);
        let old = std::mem::replace(&mut self.entries, std::iter::repeat_with(|| None).take(size).collect());
        self.taken = 0;
        for (key, answer) in old.into_iter().flatten() {
            let place = self.place(&key);
            self.taken += usize::from(self.entries[place].is_none());
            self.entries[place] = Some((key, answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_right_or_not_at_all() {
        let mut squares = Lossy::up_to(2048);
        let mut known = 0;
        for number in 0..100_000u64 {
            squares.put(number, number * number);
            assert_eq!(squares.get(&number), Some(&(number * number)));
        }
        for number in 0..100_000u64 {
            let answer = squares.get(&number);
            assert!(answer.is_none_or(|square| *square == number * number));
            known += usize::from(answer.is_some());
        }
        assert!(known > 1500 && known <= 2048, "{known} of 2048 places are used");
    }
}
