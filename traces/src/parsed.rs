//! The result of reading one document.

use std::ops::Range;

use crate::owned::OwnedRecord;

/// The result of reading one document.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A record.
    Record(OwnedRecord),
    /// A list of documents, by their positions.
    List(Vec<Range<usize>>),
    /// A document that no trace needs.
    Skipped(SkipReason),
}

/// The reasons for skipping a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    Read,
    Stage,
    Level,
    Resource,
    Bookmark,
    Preview,
    Unknown,
}

/// Number of skipped documents, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Reads: get, list, watch.
    pub reads: u64,
    /// Audit stages before the response was complete.
    pub stages: u64,
    /// Events of audit level None.
    pub levels: u64,
    /// Requests for other resources than Jobs and Pods, or for none.
    pub resources: u64,
    /// Bookmarks of a watch.
    pub bookmarks: u64,
    /// Rows of a search that still ran when they were exported.
    pub previews: u64,
    /// Lines of a newer minor version of the native format.
    pub unknown: u64,
}

impl Skipped {
    pub(crate) fn count(&mut self, why: SkipReason) {
        let counter = match why {
            SkipReason::Read => &mut self.reads,
            SkipReason::Stage => &mut self.stages,
            SkipReason::Level => &mut self.levels,
            SkipReason::Resource => &mut self.resources,
            SkipReason::Bookmark => &mut self.bookmarks,
            SkipReason::Preview => &mut self.previews,
            SkipReason::Unknown => &mut self.unknown,
        };
        *counter += 1;
    }

    /// The sum of all reasons.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Skipped { reads, stages, levels, resources, bookmarks, previews, unknown } = *self;
        reads + stages + levels + resources + bookmarks + previews + unknown
    }
}
