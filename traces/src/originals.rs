//! The records of one input as they were written.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::ReadError;
use crate::input::Input;
use crate::source::{FileInfo, Source};

/// Reads the records of one input, in its order, as they were written. Each is one line of a trace, without the envelopes
/// and lists of log systems. Documents that no trace needs are left out: reads, other resources, bookmarks.
///
/// An input of this kind has the same records for a [`crate::Reader`] as the input that it was made from.
pub struct Originals(Source);

impl Originals {
    /// Opens an input. [`Originals::next`] reports the error. Once `stop` is true, the input ends if many documents that are no
    /// records follow each other.
    #[must_use]
    pub fn open_until(input: &Input, stop: &Arc<AtomicBool>) -> Originals {
        Originals(Source::open_until(input, stop))
    }

    /// Returns the next record, or `None` behind the last one.
    ///
    /// # Errors
    ///
    /// The input cannot be read any further.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows from the input; no iterator can lend"
    )]
    pub fn next(&mut self) -> Result<Option<&str>, ReadError> {
        self.0.original()
    }

    /// Facts about the input, as far as it was read.
    #[must_use]
    pub fn info(&self) -> &FileInfo {
        &self.0.info
    }
}
