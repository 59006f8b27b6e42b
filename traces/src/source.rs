//! Reads one input: its documents, its form, and its next record.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::documents::{Documents, LONGEST};
use crate::error::{Defect, Problem, ReadError};
use crate::form::recognise;
use crate::input::{Input, Opened};
use crate::native::VERSION;
use crate::owned::OwnedRecord;
use crate::parsed::{Parsed, Skipped};
use crate::record::{Form, Place, Record};
use crate::{audit, lines, watch};

/// Facts about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Its name in messages.
    pub name: String,
    /// Its form; `None` before the first document is read.
    pub form: Option<Form>,
    /// Number of bytes read so far, uncompressed.
    pub bytes: u64,
    /// Number of lines read so far.
    pub lines: u64,
    /// Number of records so far.
    pub records: u64,
    /// Number of skipped documents so far.
    pub skipped: Skipped,
}

/// An input that is being read.
pub(crate) struct Source {
    pub info: FileInfo,
    state: State,
    /// The remaining items of a list, as positions in the current document.
    listed: VecDeque<Range<usize>>,
    is_listed: bool,
    /// A position in the current document, and the number of line breaks before it.
    counted: (usize, u64),
    version: crate::native::Version,
    head: Option<Head>,
    /// Latest time and highest version so far, by which inputs are merged.
    pub time: i64,
    pub latest: u64,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

enum State {
    Failed(Problem),
    Open(Box<Documents>),
    Ended,
}

/// The next record.
struct Head {
    line: u64,
    held: OwnedRecord,
}

impl Source {
    /// Opens an input. [`Source::advance`] reports the error, if there is one.
    pub(crate) fn open(input: &Input) -> Source {
        match Opened::open(input) {
            Err(problem) => Source::refused(input, problem),
            Ok(opened) => {
                let (read, total) = (Arc::clone(&opened.read), opened.total);
                let state = State::Open(Box::new(Documents::new(opened, LONGEST)));
                Source { read, total, ..Source::new(input.name(), state) }
            }
        }
    }

    /// An input that is not read, for this reason.
    pub(crate) fn refused(input: &Input, problem: Problem) -> Source {
        Source::new(input.name(), State::Failed(problem))
    }

    fn new(name: String, state: State) -> Source {
        let skipped = Skipped::default();
        Source {
            info: FileInfo { name, form: None, bytes: 0, lines: 0, records: 0, skipped },
            state,
            listed: VecDeque::new(),
            is_listed: false,
            counted: (0, 0),
            version: VERSION,
            head: None,
            time: i64::MIN,
            latest: 0,
            read: Arc::default(),
            total: None,
        }
    }

    /// Returns `true` if a record is ready.
    pub(crate) fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// The record that is ready.
    pub(crate) fn record(&self, file: u32) -> Option<Record<'_>> {
        let (Some(head), State::Open(documents), Some(form)) = (&self.head, &self.state, self.info.form)
        else {
            return None;
        };
        let place = Place { file, line: head.line };
        Some(Record { place, form, body: head.held.view(documents.text()) })
    }

    /// Number of bytes read, and size, before decompression.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let read = self.read.load(Ordering::Relaxed);
        // The rest of an input that has ended or failed is never read.
        let total = if matches!(self.state, State::Open(_)) { self.total } else { Some(read) };
        (read, total)
    }

    /// Moves to the next record, if there is one. After an error the input counts as ended.
    pub(crate) fn advance(&mut self) -> Result<(), ReadError> {
        self.head = None;
        let mut documents = match std::mem::replace(&mut self.state, State::Ended) {
            State::Open(documents) => documents,
            State::Ended => return Ok(()),
            State::Failed(problem) => return Err(self.error(None, problem)),
        };
        let found = self.seek(&mut documents);
        self.info.bytes = documents.bytes;
        self.info.lines = documents.lines;
        match found {
            Ok(true) => self.state = State::Open(documents),
            Ok(false) if self.info.form.is_none() => return Err(self.error(None, Problem::Empty)),
            Ok(false) => {}
            Err(defect) => {
                let mut problem = *defect.problem;
                if let Problem::Cut { at_end } = &mut problem {
                    *at_end = documents.is_at_end();
                }
                return Err(self.error(Some(documents.line + defect.after), problem));
            }
        }
        Ok(())
    }

    fn error(&self, line: Option<u64>, problem: Problem) -> ReadError {
        ReadError { file: self.info.name.clone(), line, problem }
    }

    /// Reads documents up to the next record. Returns `false` at the end.
    fn seek(&mut self, documents: &mut Documents) -> Result<bool, Defect> {
        loop {
            let item = match self.listed.pop_front() {
                Some(item) => item,
                None if documents.advance()? => {
                    self.is_listed = false;
                    self.counted = (0, 0);
                    0..documents.text().len()
                }
                None => return Ok(false),
            };
            // A document may be spread over lines, and an item may begin on any of them.
            let before = self.lines_before(documents.text(), item.start);
            let parsed = self.parse(documents.text(), item).map_err(|defect| add_lines(defect, before))?;
            match parsed {
                Parsed::Record(held) => {
                    self.hold(documents.line + before, held);
                    return Ok(true);
                }
                Parsed::List(items) => {
                    self.listed = items.into();
                    self.is_listed = true;
                }
                Parsed::Skipped(why) => self.info.skipped.count(why),
            }
        }
    }

    fn parse(&mut self, document: &str, item: Range<usize>) -> Result<Parsed, Defect> {
        let form = match self.info.form {
            Some(form) => form,
            None => *self.info.form.insert(recognise(document)?),
        };
        match form {
            Form::Audit => audit::parse(document, document.get(item).unwrap_or_default(), self.is_listed),
            Form::Watch => watch::parse(document),
            Form::Native => lines::parse(document, self.version),
        }
    }

    /// Number of line breaks before a position in the document. Positions must rise from call to call.
    fn lines_before(&mut self, document: &str, position: usize) -> u64 {
        let (from, lines) = self.counted;
        let between = document.as_bytes().get(from..position).unwrap_or_default();
        self.counted = (position, lines + between.iter().filter(|byte| **byte == b'\n').count() as u64);
        self.counted.1
    }

    fn hold(&mut self, line: u64, held: OwnedRecord) {
        if let OwnedRecord::Header(header) = &held {
            self.version = header.version;
        }
        self.time = held.time().map_or(self.time, |time| time.max(self.time));
        self.latest = held.version().map_or(self.latest, |version| version.max(self.latest));
        self.info.records += 1;
        self.head = Some(Head { line, held });
    }
}

fn add_lines(defect: Defect, lines: u64) -> Defect {
    Defect { after: defect.after + lines, problem: defect.problem }
}
