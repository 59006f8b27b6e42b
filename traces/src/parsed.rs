//! What a document turned out to be.

use std::ops::Range;

use crate::held::Held;

/// What a document turned out to be.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A record.
    Held(Held),
    /// Several documents, at these positions.
    List(Vec<Range<usize>>),
    /// Nothing that a trace is read for.
    Skipped(Why),
}

/// Why a document was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Read,
    Stage,
    Panic,
    Level,
    Resource,
    Bookmark,
    Unknown,
}

/// How many documents were passed over, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Reads: get, list, watch.
    pub reads: u64,
    /// Audit stages before the answer was complete.
    pub stages: u64,
    /// Requests on which the API server panicked: what they wrote is not known.
    pub panics: u64,
    /// Events of audit level None.
    pub levels: u64,
    /// Other resources than Jobs and Pods, and requests for none.
    pub resources: u64,
    /// Bookmarks of a watch.
    pub bookmarks: u64,
    /// Lines of a newer minor version of the native format.
    pub unknown: u64,
}

impl Skipped {
    pub(crate) fn count(&mut self, why: Why) {
        let counter = match why {
            Why::Read => &mut self.reads,
            Why::Stage => &mut self.stages,
            Why::Panic => &mut self.panics,
            Why::Level => &mut self.levels,
            Why::Resource => &mut self.resources,
            Why::Bookmark => &mut self.bookmarks,
            Why::Unknown => &mut self.unknown,
        };
        *counter += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Skipped { reads, stages, panics, levels, resources, bookmarks, unknown } = *self;
        reads + stages + panics + levels + resources + bookmarks + unknown
    }
}
