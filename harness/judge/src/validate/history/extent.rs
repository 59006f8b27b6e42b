//! The extent of the Pod cache: what a decision shows of it, and what it says about the views of another Job.

use super::{History, Position};
use crate::validate::caches::{Extent, Shown};
use crate::validate::entry::Entry;
use crate::validate::observed::Reach;

/// Number of entries before a position among which one with a version is looked for.
const NEAR: usize = 64;

impl History {
    /// The extent of a cache at this position.
    #[must_use]
    pub fn extent_before(&self, position: Position) -> Option<Extent> {
        let before = usize::try_from(position.checked_sub(self.start)?).ok()?;
        let entries = self.entries.iter().take(before).rev();
        let (version, written) = entries.take(NEAR).find_map(|entry| entry.version.zip(entry.written))?;
        Some(Extent::with(version, written))
    }

    /// The positions of a cache that was shown this way.
    #[must_use]
    pub fn shown(&self, shown: Shown) -> Reach {
        let contains =
            |entry: &Entry| entry.version.is_some_and(|version| shown.contains(version, entry.written));
        let last = self.entries.iter().rposition(contains);
        Reach { from: self.start + last.map_or(0, |last| last as u64 + 1), to: None }
    }
}
