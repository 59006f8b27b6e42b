//! Records that outlive the reader's next step.

use std::sync::Arc;

use crate::owned::OwnedRecord;
use crate::record::{Form, Place, Record};

/// A record with the document that it was read from. It can be sent to another thread.
#[derive(Debug)]
pub struct DetachedRecord {
    pub(crate) place: Place,
    pub(crate) form: Form,
    pub(crate) held: OwnedRecord,
    /// The document. Items of a list share it.
    pub(crate) text: Arc<str>,
}

impl DetachedRecord {
    /// The record.
    #[must_use]
    pub fn record(&self) -> Record<'_> {
        Record { place: self.place, form: self.form, body: self.held.view(&self.text) }
    }

    /// The document that it was read from, out of its envelope. Items of a list have that of the list.
    #[must_use]
    pub fn document(&self) -> &str {
        &self.text
    }

    /// Length of the document in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.text.len()
    }
}
