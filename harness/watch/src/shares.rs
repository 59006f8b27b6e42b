//! A limit that the namespaces of a cluster share: the one that uses the most gives way.
//!
//! So nobody can push out the Jobs of others by making many of their own.

use std::collections::BTreeMap;

/// A number of things, and the size of their files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) count: usize,
    pub(crate) bytes: u64,
}

impl Share {
    /// One thing of this size.
    pub(crate) fn one(bytes: u64) -> Share {
        Share { count: 1, bytes }
    }

    /// More bytes of a thing that is counted.
    pub(crate) fn more(bytes: u64) -> Share {
        Share { count: 0, bytes }
    }

    fn add(&mut self, other: Share) {
        self.count += other.count;
        self.bytes += other.bytes;
    }

    fn take(&mut self, other: Share) {
        self.count = self.count.saturating_sub(other.count);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// The limit that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Count,
    Bytes,
}

/// The shares of all namespaces.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    spaces: BTreeMap<String, Share>,
    total: Share,
}

impl Shares {
    pub(crate) fn add(&mut self, namespace: &str, share: Share) {
        match self.spaces.get_mut(namespace) {
            Some(used) => used.add(share),
            None => drop(self.spaces.insert(namespace.to_owned(), share)),
        }
        self.total.add(share);
    }

    pub(crate) fn remove(&mut self, namespace: &str, share: Share) {
        let Some(used) = self.spaces.get_mut(namespace) else { return };
        used.take(share);
        if used.count == 0 {
            self.spaces.remove(namespace);
        }
        self.total.take(share);
    }

    /// The namespace that must give something up, if all together use more than this.
    pub(crate) fn excess(&self, most: Share) -> Option<(&str, Excess)> {
        let excess = if self.total.count > most.count {
            Excess::Count
        } else if self.total.bytes > most.bytes {
            Excess::Bytes
        } else {
            return None;
        };
        let used = |share: &Share| match excess {
            Excess::Count => share.count as u64,
            Excess::Bytes => share.bytes,
        };
        let (namespace, _) = self.spaces.iter().max_by_key(|(_, share)| used(share))?;
        Some((namespace, excess))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_that_uses_the_most_gives_way() {
        let mut shares = Shares::default();
        shares.add("a", Share::one(900));
        for _ in 0..3 {
            shares.add("b", Share::one(100));
        }
        let most = |count, bytes| Share { count, bytes };
        assert_eq!(shares.excess(most(4, 1_200)), None);
        assert_eq!(shares.excess(most(3, 1_200)), Some(("b", Excess::Count)));
        assert_eq!(shares.excess(most(4, 1_199)), Some(("a", Excess::Bytes)));
        shares.add("b", Share::more(700));
        assert_eq!(shares.excess(most(4, 1_199)), Some(("b", Excess::Bytes)));
        shares.remove("b", Share { count: 3, bytes: 1_000 });
        assert_eq!((shares.excess(most(1, 900)), shares.spaces.len()), (None, 1));
    }
}
