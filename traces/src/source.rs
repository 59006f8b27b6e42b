//! Reads one input: its documents, its form, and its next record.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::detached::DetachedRecord;
use crate::documents::{Documents, LONGEST};
use crate::envelope::{self, Opening};
use crate::error::{Defect, Problem, ReadError};
use crate::form::{recognise, recognise_part};
use crate::input::{Input, Opened};
use crate::native::VERSION;
use crate::order::{MOST_SORTED, Next, Order};
use crate::owned::OwnedRecord;
use crate::parsed::{Parsed, SkipReason, Skipped};
use crate::record::{Form, Place, Record};
use crate::unwrap::{Step, Unwrapping};
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
    /// At the end: the member by which an export states that rows are missing, such as `status is Running`.
    pub lack: Option<String>,
}

impl FileInfo {
    /// At the end: the sentence that the input lacks rows by its own words.
    #[must_use]
    pub fn incomplete(&self) -> Option<String> {
        self.lack.as_ref().map(|lack| format!("{} is incomplete: {lack}", self.name))
    }
}

/// Maximum number of lines of an input behind which it is read on although they cannot be read. A killed API server leaves one.
pub const MOST_UNREADABLE: u32 = 20;
/// Number of documents between two records that are read even if the input is to end.
const SKIPPED_AT_ONCE: u32 = 1_024;

/// An input that is being read.
pub(crate) struct Source {
    pub info: FileInfo,
    state: State,
    /// The remaining items of a list, as positions in the current document.
    listed: VecDeque<Range<usize>>,
    is_listed: bool,
    /// The position of the record that was read last in the current document.
    item: Range<usize>,
    /// A copy of the current document, for the records that are kept.
    copy: Option<Arc<str>>,
    /// A position in the current document, and the number of line breaks before it.
    counted: (usize, u64),
    /// Set if the first document is an envelope.
    unwrapping: Option<Box<Unwrapping>>,
    version: crate::native::Version,
    /// Number of lines that could not be read.
    unreadable: u32,
    order: Order,
    /// The record behind a first line that cannot be read.
    behind_first: Option<Head>,
    /// The record that was read last, and the one that is ready.
    found: Option<Head>,
    head: Option<Head>,
    /// Latest time and highest version so far, by which inputs are merged.
    pub time: i64,
    pub latest: u64,
    /// Ends the input, once it is true, while documents are skipped.
    stop: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

enum State {
    Failed(Problem),
    Open(Box<Documents>),
    Ended,
}

/// The next record.
pub(crate) struct Head {
    pub line: u64,
    held: OwnedRecord,
    /// Its document, unless that is the current one.
    text: Option<Arc<str>>,
}

impl Head {
    pub(crate) fn time(&self) -> i64 {
        self.held.time().unwrap_or(i64::MIN)
    }

    /// Length of the document.
    pub(crate) fn length(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }
}

impl Source {
    /// Opens an input as [`crate::Reader::open_until`] does. [`Source::advance`] reports the error, if there is one.
    pub(crate) fn open_until(input: &Input, stop: &Arc<AtomicBool>) -> Source {
        match Opened::open(input, stop) {
            Err(problem) => Source::refused(input, problem),
            Ok(opened) => {
                let (read, total, stop) = (Arc::clone(&opened.read), opened.total, Arc::clone(stop));
                let state = State::Open(Box::new(Documents::new(opened, LONGEST)));
                Source { read, total, stop, ..Source::new(input.name(), state) }
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
            info: FileInfo { name, form: None, bytes: 0, lines: 0, records: 0, skipped, lack: None },
            state,
            listed: VecDeque::new(),
            is_listed: false,
            item: 0..0,
            copy: None,
            counted: (0, 0),
            unwrapping: None,
            version: VERSION,
            unreadable: 0,
            order: Order::unknown(MOST_SORTED),
            behind_first: None,
            found: None,
            head: None,
            time: i64::MIN,
            latest: 0,
            stop: Arc::default(),
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
        let (Some(head), Some(form)) = (&self.head, self.info.form) else { return None };
        let text = match (&head.text, &self.state) {
            (Some(text), _) => text,
            (None, State::Open(documents)) => self.text(documents),
            (None, _) => return None,
        };
        let place = Place { file, line: head.line };
        Some(Record { place, form, body: head.held.view(text) })
    }

    /// Takes the record that is ready.
    pub(crate) fn take_record(&mut self, file: u32) -> Option<DetachedRecord> {
        let (head, form) = (self.head.take()?, self.info.form?);
        let text = head.text.or_else(|| self.copied())?;
        let place = Place { file, line: head.line };
        Some(DetachedRecord { place, form, held: head.held, text })
    }

    /// A copy of the document of the record that was read last. The items of a list share it.
    fn copied(&mut self) -> Option<Arc<str>> {
        if self.copy.is_none() {
            let State::Open(documents) = &self.state else { return None };
            self.copy = Some(self.text(documents).into());
        }
        self.copy.clone()
    }

    /// Reads the next record, and returns it as it was written, out of its envelopes and lists.
    pub(crate) fn original(&mut self) -> Result<Option<&str>, ReadError> {
        if self.read()?.is_none() {
            return Ok(None);
        }
        let State::Open(documents) = &self.state else { return Ok(None) };
        Ok(self.text(documents).get(self.item.clone()))
    }

    /// The document of the record that was read last.
    fn text<'s>(&'s self, documents: &'s Documents) -> &'s str {
        self.unwrapping.as_ref().map_or(documents.text(), |it| &it.text)
    }

    /// Number of bytes read, and size, before decompression.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let read = self.read.load(Ordering::Relaxed);
        // The rest of an input that has ended or failed is never read.
        let total = if matches!(self.state, State::Open(_)) { self.total } else { Some(read) };
        (read, total)
    }

    /// Moves to the next record, if there is one. After an error the input counts as ended, unless it is read on.
    pub(crate) fn advance(&mut self) -> Result<(), ReadError> {
        self.head = None;
        while self.order.wants_more() && !matches!(self.state, State::Ended) {
            match self.read() {
                Ok(Some(head)) if self.info.form == Some(Form::Audit) => {
                    let text = self.copied();
                    self.order.keep(Head { text, ..head }, self.info.records);
                    if self.order.is_cut() {
                        self.state = State::Ended;
                    }
                }
                Ok(Some(head)) => {
                    self.order.is_as_read();
                    return self.take(Some(head));
                }
                Ok(None) => self.order.end(None),
                Err(error) => self.fail(error),
            }
        }
        match self.order.next(matches!(self.state, State::Ended)) {
            Next::Known(known) => self.take(Some(known?)),
            Next::Read => {
                let head = self.read()?;
                self.take(head)
            }
            Next::TooLate(line) => {
                self.state = State::Ended;
                Err(self.error(Some(line), Problem::NewestFirst { limit: MOST_SORTED }))
            }
            Next::Nothing => Ok(()),
        }
    }

    /// Takes an error that was met while the direction of the input is looked for, or its records are sorted.
    fn fail(&mut self, error: ReadError) {
        let kept = if error.reads_on { self.order.keep_error(error) } else { Err(error) };
        if let Err(error) = kept {
            self.order.end(Some(ReadError { reads_on: false, ..error }));
            self.state = State::Ended;
        }
    }

    fn take(&mut self, head: Option<Head>) -> Result<(), ReadError> {
        if let Some(Head { held, .. }) = &head {
            self.time = held.time().map_or(self.time, |time| time.max(self.time));
            self.latest = held.version().map_or(self.latest, |version| version.max(self.latest));
        }
        self.head = head;
        Ok(())
    }

    /// Reads the next record. The first line may be the rest of one. If the second one cannot be read either, nobody knows what the
    /// input is.
    fn read(&mut self) -> Result<Option<Head>, ReadError> {
        if let Some(head) = self.behind_first.take() {
            return Ok(Some(head));
        }
        let first = match self.read_next() {
            Err(error) if error.reads_on && self.info.form.is_none() => error,
            read => return read,
        };
        let is_known = match self.read_next() {
            Ok(head) => {
                self.behind_first = head;
                self.info.form.is_some()
            }
            Err(_) => false,
        };
        if !is_known {
            self.state = State::Ended;
        }
        Err(ReadError { reads_on: is_known, ..first })
    }

    fn read_next(&mut self) -> Result<Option<Head>, ReadError> {
        let mut documents = match std::mem::replace(&mut self.state, State::Ended) {
            State::Open(documents) => documents,
            State::Ended => return Ok(None),
            State::Failed(problem) => return Err(self.error(None, problem)),
        };
        let found = self.seek(&mut documents);
        self.info.bytes = documents.bytes;
        self.info.lines = documents.lines();
        if matches!(found, Ok(false)) {
            let of_rows = || self.unwrapping.as_ref().and_then(|it| it.exports.lack());
            self.info.lack = documents.pages.lack().or_else(of_rows);
        }
        match found {
            Ok(true) => self.state = State::Open(documents),
            Ok(false) if self.is_stopped() => {}
            Ok(false) if self.info.form.is_some() => {}
            // Envelopes of other logs alone are an audit log without records.
            Ok(false) if self.info.skipped.total() > 0 => self.info.form = Some(Form::Audit),
            Ok(false) if self.unreadable > 0 => {}
            Ok(false) if documents.had_list => return Err(self.error(None, Problem::EmptyList)),
            Ok(false) => return Err(self.error(None, Problem::Empty)),
            // Compressed data without content end in this way.
            Err(_) if self.is_stopped() => {}
            Err(defect) => {
                let error = self.defect(&mut documents, defect);
                self.unreadable += 1;
                if error.reads_on {
                    self.state = State::Open(documents);
                }
                return Err(error);
            }
        }
        Ok(self.found.take())
    }

    /// The error for a defect in the current document.
    fn defect(&mut self, documents: &mut Documents, defect: Defect) -> ReadError {
        let mut problem = *defect.problem;
        if let Problem::Cut { at_end } = &mut problem {
            *at_end = documents.is_at_end();
        }
        let element = documents.element();
        let is_first = self.info.form.is_none();
        if is_first {
            // The rest of an event looks like an event in other text.
            self.unwrapping = None;
        }
        let reads_on = problem.is_of_document()
            && self.unwrapping.is_none()
            && self.unreadable < MOST_UNREADABLE
            && documents.reach_next_line(is_first);
        if let Some(number) = element {
            problem = Problem::Element { problem: Box::new(problem), number };
        }
        ReadError { reads_on, ..self.error(Some(documents.line + defect.after), problem) }
    }

    fn error(&self, line: Option<u64>, problem: Problem) -> ReadError {
        ReadError { file: self.info.name.clone(), line, problem, reads_on: false }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reads documents up to the next record. Returns `false` at the end. A log may have gigabytes of other documents
    /// before it, so that this looks from time to time whether the input is to end.
    fn seek(&mut self, documents: &mut Documents) -> Result<bool, Defect> {
        if self.listed.is_empty() {
            self.copy = None;
        }
        let mut documents_read: u32 = 0;
        while documents_read < SKIPPED_AT_ONCE || !self.is_stopped() {
            documents_read = documents_read.saturating_add(1);
            if let Some(unwrapping) = &mut self.unwrapping {
                match unwrapping.step(documents)? {
                    Step::Ended => return Ok(false),
                    step if self.take_step(&step)? => return Ok(true),
                    _ => continue,
                }
            }
            let item = match self.listed.pop_front() {
                Some(item) => item,
                None if documents.advance()? => {
                    self.is_listed = documents.is_of_event_list();
                    self.counted = (0, 0);
                    0..documents.text().len()
                }
                None => return Ok(false),
            };
            // A document may be spread over lines, and an item may begin on any of them.
            let before = self.lines_before(documents.text(), item.start);
            if self.info.form.is_none() && self.begins_wrapped(documents)? {
                continue;
            }
            self.item = item.clone();
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
        Ok(false)
    }

    /// Recognises the form by the first document. Returns `true` if it is an envelope, which is opened then.
    fn begins_wrapped(&mut self, documents: &Documents) -> Result<bool, Defect> {
        if documents.is_of_event_list() {
            self.info.form = Some(Form::Audit);
            return Ok(false);
        }
        let text = documents.text();
        match recognise(text) {
            Ok(form) => {
                self.info.form = Some(form);
                Ok(false)
            }
            Err(defect) if matches!(envelope::open(text), Ok(Opening::Unknown)) => Err(defect),
            Err(_) => {
                self.unwrapping = Some(Box::new(Unwrapping::of(text.to_owned())));
                Ok(true)
            }
        }
    }

    /// Reads the line of a trace that was taken out of an envelope. Returns `true` if it is a record.
    fn take_step(&mut self, step: &Step) -> Result<bool, Defect> {
        match step {
            Step::Found => {}
            Step::Other => {
                self.info.skipped.count(SkipReason::Resource);
                return Ok(false);
            }
            Step::Preview => {
                self.info.skipped.count(SkipReason::Preview);
                return Ok(false);
            }
            Step::Opened | Step::Ended => return Ok(false),
        }
        let Some(mut unwrapping) = self.unwrapping.take() else { return Ok(false) };
        let parsed = self.parse_unwrapped(&mut unwrapping);
        let line = unwrapping.line;
        self.item = 0..unwrapping.text.len();
        self.unwrapping = Some(unwrapping);
        match parsed? {
            Parsed::Record(held) => self.hold(line, held),
            Parsed::Skipped(why) => {
                self.info.skipped.count(why);
                return Ok(false);
            }
            Parsed::List(_) => return Ok(false),
        }
        Ok(true)
    }

    fn parse_unwrapped(&mut self, unwrapping: &mut Unwrapping) -> Result<Parsed, Defect> {
        let text = &*unwrapping.text;
        let parsed = match self.info.form {
            Some(form) => Ok(form),
            None => recognise_part(text).inspect(|form| self.info.form = Some(*form)),
        };
        let parsed = parsed.and_then(|form| match form {
            Form::Audit => audit::parse(text, text, true),
            Form::Watch => watch::parse(text),
            Form::Native => lines::parse(text, self.version),
        });
        parsed.map_err(|defect| unwrapping.placed(*defect.problem))
    }

    fn parse(&mut self, document: &str, item: Range<usize>) -> Result<Parsed, Defect> {
        match self.info.form {
            Some(Form::Watch) => watch::parse(document),
            Some(Form::Native) => lines::parse(document, self.version),
            _ => audit::parse(document, document.get(item).unwrap_or_default(), self.is_listed),
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
        self.info.records += 1;
        self.found = Some(Head { line, held, text: None });
    }
}

fn add_lines(defect: Defect, lines: u64) -> Defect {
    Defect { after: defect.after + lines, problem: defect.problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refused update at this second, with a document of 300 to 400 bytes.
    fn event(second: u32) -> String {
        format!(
            concat!(
                r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","#,
                r#""verb":"update","user":{{"username":"kcm"}},"responseStatus":{{"code":409}},"#,
                r#""objectRef":{{"resource":"jobs","namespace":"ns","name":"a","apiGroup":"batch"}},"#,
                r#""requestReceivedTimestamp":"2026-11-21T00:00:{0:02}Z","stageTimestamp":"2026-11-21T00:00:{0:02}Z"}}"#
            ),
            second
        )
    }

    /// The lines of the records, and the errors, if so many bytes can be sorted.
    fn read(events: &[String], most: usize) -> Vec<String> {
        let mut source = Source::open_until(
            &Input::Bytes("log".to_owned(), events.join("\n").into_bytes()),
            &Arc::default(),
        );
        source.order = Order::unknown(most);
        let mut found = Vec::new();
        loop {
            match source.advance() {
                Err(error) => found.push(error.to_string()),
                Ok(()) => match source.record(0) {
                    Some(record) => found.push(record.place.line.to_string()),
                    None => return found,
                },
            }
        }
    }

    #[test]
    fn a_log_with_its_newest_events_first_is_sorted_as_far_as_the_memory_reaches() {
        let newest_first: Vec<String> = (0..80).map(|number| event(59 - number / 2)).collect();
        let turned: Vec<String> = (1..=80).rev().map(|line| line.to_string()).collect();
        assert_eq!(read(&newest_first, 100_000), turned);
        // The events that are looked at fit, and the last ones do not.
        let result = read(&newest_first, 22_500);
        let error = result.last().unwrap();
        assert!(
            error.starts_with("log:7") && error.contains("found the newest first in more than"),
            "{result:?}"
        );
        assert_eq!(result.iter().filter(|line| line.contains("log:")).count(), 1);
    }

    #[test]
    fn a_log_in_the_order_of_time_is_passed_on_as_it_is_read() {
        let mut events: Vec<String> = (0..50).map(event).collect();
        events.swap(20, 40);
        let lines: Vec<String> = (1..=50).map(|line| line.to_string()).collect();
        assert_eq!(read(&events, 1000), lines);
    }

    /// A log may have gigabytes of reads, which are skipped, before its next record.
    #[test]
    fn an_input_ends_while_its_documents_are_skipped() {
        let skipped = event(0).replace(r#""verb":"update""#, r#""verb":"get""#);
        let count = 3 * SKIPPED_AT_ONCE;
        let events = vec![skipped; count as usize].join("\n") + "\n" + &event(1);
        for is_stopped in [false, true] {
            let stop = Arc::new(AtomicBool::new(is_stopped));
            let input = Input::Bytes("log".to_owned(), events.clone().into_bytes());
            let mut source = Source::open_until(&input, &stop);
            source.advance().unwrap();
            let found = source.record(0).map(|record| record.place.line);
            assert_eq!(found, Some(u64::from(count) + 1).filter(|_| !is_stopped));
            let expected = if is_stopped { SKIPPED_AT_ONCE } else { count };
            assert_eq!(source.info.skipped.total(), u64::from(expected));
        }
    }

    /// Compressed data may have no content, without an end.
    #[test]
    fn compressed_data_without_content_end_when_they_are_to() {
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let empty = encoder.finish().unwrap();
        let input = Input::Bytes("log".to_owned(), empty.repeat(10_000));
        for is_stopped in [false, true] {
            let stop = Arc::new(AtomicBool::new(is_stopped));
            let mut source = Source::open_until(&input, &stop);
            assert_eq!(source.advance().is_ok(), is_stopped);
            assert!(!source.has_head());
        }
    }
}
