//! The caches of a projector. A full cache is emptied, which is simple, deterministic, and rare.

use std::hash::Hash;
use std::sync::Arc;

use jobcheck_spec::job::Text;
use rustc_hash::{FxHashMap, FxHashSet};

const MAX_TEXTS: usize = 1 << 16;
/// Longer texts, such as index lists and messages with a stack trace, rarely recur.
const MAX_TEXT_LENGTH: usize = 256;
const MAX_ENTRIES: usize = 4096;
const MAX_BYTES: usize = 64 << 20;

/// A set in which equal texts share one allocation.
#[derive(Debug, Default)]
pub(super) struct Texts {
    seen: FxHashSet<Text>,
}

impl Texts {
    /// The shared copy of `text`.
    pub(super) fn share(&mut self, text: &str) -> Text {
        if text.len() > MAX_TEXT_LENGTH {
            return text.into();
        }
        if let Some(seen) = self.seen.get(text) {
            return seen.clone();
        }
        if self.seen.len() >= MAX_TEXTS {
            self.seen.clear();
        }
        let shared: Text = text.into();
        self.seen.insert(shared.clone());
        shared
    }

    /// The shared copy of an optional text; the empty text if it is absent.
    pub(super) fn share_or_empty<T: AsRef<str>>(&mut self, text: Option<T>) -> Text {
        self.share(text.as_ref().map_or("", AsRef::as_ref))
    }
}

/// Values by the JSON text that they were read from. The key is the text and not a digest, since a collision
/// would give one Job the specification of another.
#[derive(Debug)]
pub(super) struct TextCache<V> {
    entries: FxHashMap<Box<str>, V>,
    bytes: usize,
}

impl<V> Default for TextCache<V> {
    fn default() -> TextCache<V> {
        TextCache { entries: FxHashMap::default(), bytes: 0 }
    }
}

impl<V: Clone> TextCache<V> {
    /// The value for this text.
    pub(super) fn get(&self, text: &str) -> Option<V> {
        self.entries.get(text).cloned()
    }

    /// Stores the value for this text.
    pub(super) fn put(&mut self, text: &str, value: V) {
        if self.entries.len() >= MAX_ENTRIES || self.bytes + text.len() > MAX_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.entries.insert(text.into(), value);
    }
}

/// A set in which equal values share one allocation.
#[derive(Debug)]
pub(super) struct Shared<V> {
    seen: FxHashSet<Arc<V>>,
}

impl<V> Default for Shared<V> {
    fn default() -> Shared<V> {
        Shared { seen: FxHashSet::default() }
    }
}

impl<V: Eq + Hash> Shared<V> {
    /// The shared copy of a value.
    pub(super) fn share(&mut self, value: V) -> Arc<V> {
        if let Some(seen) = self.seen.get(&value) {
            return Arc::clone(seen);
        }
        if self.seen.len() >= MAX_ENTRIES {
            self.seen.clear();
        }
        let shared = Arc::new(value);
        self.seen.insert(Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_one_allocation() {
        let mut texts = Texts::default();
        let (first, second) = (texts.share("a"), texts.share("a"));
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(&*texts.share_or_empty(None::<&str>), "");
    }

    #[test]
    fn a_full_cache_starts_over() {
        let mut cache = TextCache::default();
        for n in 0..=MAX_ENTRIES {
            cache.put(&n.to_string(), n);
        }
        assert_eq!(cache.get("0"), None);
        assert_eq!(cache.get(&MAX_ENTRIES.to_string()), Some(MAX_ENTRIES));
        assert_eq!(cache.bytes, 4);
    }
}
