//! Cuts an input into JSON documents: one per line, spread over several lines as kubectl prints them, or elements of a
//! list. No list is read as a whole.

use std::io::{BufRead, Read};
use std::mem;
use std::string::FromUtf8Error;
use std::sync::atomic::Ordering;

use crate::error::{Defect, Problem};
use crate::input::Opened;
use crate::pages::Pages;
use crate::scan::{Scan, Scanned, word};

/// Limit for a line or a document, in bytes. An API object has at most 1.5 MiB in etcd, and an audit event
/// holds a few.
pub(crate) const LONGEST: usize = 64 << 20;
/// The factor by which compressed data may expand. Audit logs expand by a factor of 20 to 60.
const MOST_EXPANDED: u64 = 400;
/// Compressed data may expand to this multiple of the longest document, whatever the factor.
const UNCHECKED: u64 = 16;
/// Maximum number of lists within one another whose elements are documents.
const DEEPEST: usize = 4;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The documents of one input, one at a time, in one buffer.
pub(crate) struct Documents {
    pub input: Opened,
    longest: usize,
    layout: Layout,
    /// The current document, with the blanks around it.
    text: String,
    /// The line on which the current document starts, from 1.
    pub line: u64,
    /// Number of bytes read so far, uncompressed.
    pub bytes: u64,
    /// Number of line breaks read so far, and the number of bytes up to the last one.
    breaks: u64,
    line_start: u64,
    /// The lists around the current document, outermost first.
    lists: Vec<List>,
    /// A list was entered, be it empty.
    pub had_list: bool,
    /// The objects with lists that were read to their ends.
    pub pages: Pages,
}

/// The layout of documents in an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Not known before the first document is read.
    Unknown,
    /// One document per line.
    Lines,
    /// A document ends where its brackets close.
    Spread,
}

/// A list whose elements are documents.
struct List {
    /// The number of brackets that are open around it, in the object that holds it.
    depth: usize,
    /// The text of this object up to the list; empty without an object.
    page: Vec<u8>,
    /// It belongs to an `EventList`, which states the kind of its items once.
    of_events: bool,
    /// Line of its beginning, then of its last element.
    line: u64,
    /// Number of elements so far.
    rows: u64,
    /// Number of elements so far on the line of the last one; 0 if that begins the line.
    count: u64,
    /// The next element needs a comma before it.
    needs_comma: bool,
}

impl Documents {
    pub(crate) fn new(input: Opened, longest: usize) -> Documents {
        Documents {
            input,
            longest,
            layout: Layout::Unknown,
            text: String::new(),
            line: 0,
            bytes: 0,
            breaks: 0,
            line_start: 0,
            lists: Vec::new(),
            had_list: false,
            pages: Pages::default(),
        }
    }

    /// The current document.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines read so far.
    pub(crate) fn lines(&self) -> u64 {
        self.breaks + u64::from(self.bytes > self.line_start)
    }

    /// Returns `true` if the current document is an item of an `EventList`.
    pub(crate) fn is_of_event_list(&self) -> bool {
        self.lists.last().is_some_and(|list| list.of_events)
    }

    /// The position of the current document in its list, from 1, if it does not begin the first on its line.
    pub(crate) fn element(&self) -> Option<u64> {
        self.lists.last().map(|list| list.count).filter(|count| *count > 0)
    }

    /// Moves to the next document. Returns `false` at the end. A defect counts its lines from `self.line`.
    pub(crate) fn advance(&mut self) -> Result<bool, Defect> {
        let mut bytes = mem::take(&mut self.text).into_bytes();
        bytes.clear();
        self.line = self.breaks + 1;
        self.check_expansion()?;
        let found = match self.layout {
            Layout::Lines => self.next_line(&mut bytes)?,
            Layout::Unknown => self.first(&mut bytes)?,
            Layout::Spread => self.next_value(&mut bytes)?,
        };
        // A trailing line break would count as a line in the parser's positions. Other blanks may be in a part of a text.
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        self.text =
            String::from_utf8(bytes).or_else(|error| replaced(error).map_err(|error| not_utf8(&error)))?;
        Ok(found)
    }

    /// Moves behind the line of the current document, if the next one begins there. Otherwise returns `false`.
    pub(crate) fn reach_next_line(&mut self, is_first: bool) -> bool {
        match self.layout {
            Layout::Lines => true,
            // The end of a document of a line looks like several documents.
            Layout::Spread if is_first && !self.had_list => {
                self.layout = Layout::Unknown;
                self.skip_line().is_ok_and(|is_over| is_over)
            }
            Layout::Unknown | Layout::Spread => false,
        }
    }

    /// Moves behind the current line. Returns `false` if it is too long.
    fn skip_line(&mut self) -> Result<bool, Defect> {
        let begin = self.bytes;
        while self.bytes - begin <= self.longest as u64 {
            let buffer = self.fill()?;
            let (length, found) = (buffer.len(), memchr::memchr(b'\n', buffer));
            self.consume(found.map_or(length, |at| at + 1));
            if found.is_some() || length == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if nothing follows the current document.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.input.text.fill_buf().is_ok_and(<[u8]>::is_empty)
    }

    /// Reads the first document, which shows the layout.
    fn first(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Defect> {
        if self.fill()?.starts_with(BYTE_ORDER_MARK) {
            self.consume(BYTE_ORDER_MARK.len());
        }
        self.skip_blank_lines()?;
        self.line = self.breaks + 1;
        let blank = self.fill()?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if !matches!(self.fill()?.get(blank), Some(b'{' | b'[' | b'"')) {
            self.layout = Layout::Lines;
            return self.next_line(bytes);
        }
        self.layout = Layout::Spread;
        let found = self.next_value(bytes)?;
        let is_one_line = self.lists.is_empty() && !self.had_list && self.line == self.breaks + 1;
        if is_one_line && self.is_line_over()? {
            self.layout = Layout::Lines;
        }
        Ok(found)
    }

    /// Reads up to and including the next line that is not blank.
    fn next_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Defect> {
        self.skip_blank_lines()?;
        self.line = self.breaks + 1;
        let packing = self.input.packing;
        let count = (&mut self.input.text)
            .take(self.longest as u64 + 1)
            .read_until(b'\n', bytes)
            .map_err(|error| Problem::of_reading(error, packing))?;
        if count > self.longest {
            return Err(Problem::TooLong { limit: self.longest }.into());
        }
        self.bytes += count as u64;
        if bytes.ends_with(b"\n") {
            self.breaks += 1;
            self.line_start = self.bytes;
        }
        Ok(!bytes.trim_ascii().is_empty())
    }

    /// Skips lines without anything in them, as many at once as are there.
    fn skip_blank_lines(&mut self) -> Result<(), Defect> {
        let begin = self.bytes;
        loop {
            let buffer = self.fill()?;
            let blank = match buffer.first() {
                Some(first) if first.is_ascii_whitespace() => {
                    buffer.iter().position(|byte| !byte.is_ascii_whitespace())
                }
                _ => return Ok(()),
            };
            // The blanks before a document stay with it, so that its columns are right.
            let end = blank.map_or(buffer.len(), |end| {
                buffer[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
            });
            self.consume(end);
            self.check_blanks(begin)?;
            if blank.is_some() {
                return Ok(());
            }
        }
    }

    /// Returns `true` if nothing else is on the current line.
    fn is_line_over(&mut self) -> Result<bool, Defect> {
        let buffer = self.fill()?;
        let next = buffer.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        Ok(next.is_none_or(|byte| *byte == b'\n'))
    }

    /// Reads the next value, which may be an element of a list.
    fn next_value(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Defect> {
        loop {
            self.skip_blanks()?;
            self.line = self.breaks + 1;
            let Some(next) = self.fill()?.first().copied() else {
                return if self.lists.is_empty() {
                    Ok(false)
                } else {
                    Err(Problem::Cut { at_end: true }.into())
                };
            };
            let may_enter = self.lists.len() < DEEPEST && !self.is_of_event_list();
            match (next, self.lists.last_mut()) {
                (b',', Some(list)) => {
                    list.needs_comma = false;
                    self.consume(1);
                }
                (b']', Some(_)) => self.leave()?,
                (_, Some(list)) if list.needs_comma => {
                    let column = usize::try_from(self.bytes - self.line_start).unwrap_or(0) + 1;
                    let detail = "expected `,` or `]`".to_owned();
                    return Err(Problem::NotJson { column, detail }.into());
                }
                (b'[', _) if may_enter => {
                    self.count_element();
                    self.enter(0, false, Vec::new());
                    self.consume(1);
                }
                (b'{', _) => {
                    self.count_element();
                    if self.object(bytes, may_enter)? {
                        return Ok(true);
                    }
                }
                _ => {
                    self.count_element();
                    self.other(next, bytes)?;
                    return Ok(true);
                }
            }
        }
    }

    fn count_element(&mut self) {
        let line = self.line;
        if let Some(list) = self.lists.last_mut() {
            list.needs_comma = true;
            list.rows += 1;
            // Elements on lines of their own need no number.
            list.count = if list.line == line { list.count + 1 } else { 0 };
            list.line = line;
        }
    }

    fn enter(&mut self, depth: usize, of_events: bool, page: Vec<u8>) {
        self.had_list = true;
        let line = self.line;
        self.lists.push(List { depth, page, of_events, line, rows: 0, count: 0, needs_comma: false });
    }

    /// Reads the end of a list, and the rest of the object that holds it, which may show that rows are missing.
    fn leave(&mut self) -> Result<(), Defect> {
        self.consume(1);
        let Some(mut list) = self.lists.pop() else { return Ok(()) };
        if list.depth == 0 {
            return Ok(());
        }
        list.page.push(b']');
        let mut scan = Scan::rest(list.depth);
        loop {
            let buffer = self.fill()?;
            let (length, scanned) = (buffer.len(), scan.feed(buffer));
            match scanned {
                Scanned::End(end) => {
                    self.keep(&mut list.page, end)?;
                    self.pages.note(&list.page, list.rows);
                    return Ok(());
                }
                _ if length == 0 => return Err(Problem::Cut { at_end: true }.into()),
                _ => self.keep(&mut list.page, length)?,
            }
        }
    }

    /// Reads an object. Returns `false` if it holds a list of documents, and enters the list.
    fn object(&mut self, bytes: &mut Vec<u8>, may_enter: bool) -> Result<bool, Defect> {
        let mut scan = if may_enter { Scan::holder() } else { Scan::value() };
        loop {
            let buffer = self.fill()?;
            let (length, scanned) = (buffer.len(), scan.feed(buffer));
            match scanned {
                // The parser reports an unclosed document: it may also be no JSON at all.
                Scanned::More if length == 0 => return Ok(true),
                Scanned::More => self.keep(bytes, length)?,
                Scanned::End(end) => {
                    self.keep(bytes, end)?;
                    return Ok(true);
                }
                Scanned::List(end) => {
                    self.keep(bytes, end)?;
                    let is_events =
                        |text: &str| text.contains("\"EventList\"") && text.contains("audit.k8s.io/");
                    let of_events = std::str::from_utf8(bytes).is_ok_and(is_events);
                    let page = bytes.clone();
                    bytes.clear();
                    self.line = self.breaks + 1;
                    self.enter(scan.depth(), of_events, page);
                    return Ok(false);
                }
            }
        }
    }

    /// Reads a value that is no object: a string, a list within too many others, or text that is no JSON.
    fn other(&mut self, first: u8, bytes: &mut Vec<u8>) -> Result<(), Defect> {
        let in_list = !self.lists.is_empty();
        let mut scan = Scan::value();
        loop {
            let buffer = self.fill()?;
            let length = buffer.len();
            let end = match first {
                b'"' | b'[' => match scan.feed(buffer) {
                    Scanned::End(end) => Some(end),
                    _ => None,
                },
                // At least one byte, so that something is read.
                _ => word(buffer, in_list).map(|end| end.max(usize::from(bytes.is_empty()))),
            };
            self.keep(bytes, end.unwrap_or(length))?;
            if end.is_some() || length == 0 {
                return Ok(());
            }
        }
    }

    fn skip_blanks(&mut self) -> Result<(), Defect> {
        let begin = self.bytes;
        loop {
            let buffer = self.fill()?;
            let (length, blank) = (buffer.len(), buffer.iter().position(|byte| !byte.is_ascii_whitespace()));
            self.consume(blank.unwrap_or(length));
            self.check_blanks(begin)?;
            if blank.is_some() || length == 0 {
                return Ok(());
            }
        }
    }

    /// Checks the number of blanks since a position.
    fn check_blanks(&self, begin: u64) -> Result<(), Defect> {
        if self.bytes - begin > self.longest as u64 {
            let after = (self.breaks + 1).saturating_sub(self.line);
            return Err(Defect { after, problem: Box::new(Problem::Blank { limit: self.longest }) });
        }
        Ok(())
    }

    /// Checks that compressed data are no bomb: that they do not expand more than logs do.
    fn check_expansion(&self) -> Result<(), Defect> {
        let Some(packing) = self.input.packing.name() else { return Ok(()) };
        let read = self.input.read.load(Ordering::Relaxed);
        if self.bytes > UNCHECKED * self.longest as u64 && self.bytes / MOST_EXPANDED > read {
            return Err(Problem::Expanded { packing, most: MOST_EXPANDED }.into());
        }
        Ok(())
    }

    /// Moves some bytes of the input to the document.
    fn keep(&mut self, bytes: &mut Vec<u8>, count: usize) -> Result<(), Defect> {
        let after = (self.breaks + 1).saturating_sub(self.line);
        bytes.extend_from_slice(&self.fill()?[..count]);
        if bytes.len() > self.longest {
            let before = bytes.len() - count;
            let readable = &bytes[before..before + self.longest.saturating_sub(before)];
            let after = after + readable.iter().filter(|byte| **byte == b'\n').count() as u64;
            return Err(Defect { after, problem: Box::new(Problem::TooLong { limit: self.longest }) });
        }
        self.consume(count);
        Ok(())
    }

    /// The bytes that were read and not consumed. They are empty at the end only.
    fn fill(&mut self) -> Result<&[u8], Defect> {
        let after = (self.breaks + 1).saturating_sub(self.line);
        let packing = self.input.packing;
        let defect = |error| Defect { after, problem: Box::new(Problem::of_reading(error, packing)) };
        self.input.text.fill_buf().map_err(defect)
    }

    /// Counts some of these bytes, and their lines.
    fn consume(&mut self, count: usize) {
        // A repeated fill returns the same bytes, and fails no more.
        let Ok(buffer) = self.input.text.fill_buf() else { return };
        let consumed = &buffer[..count];
        self.breaks += memchr::memchr_iter(b'\n', consumed).count() as u64;
        if let Some(last) = memchr::memrchr(b'\n', consumed) {
            self.line_start = self.bytes + last as u64 + 1;
        }
        self.bytes += count as u64;
        self.input.text.consume(count);
    }
}

/// A JSON document with other bytes. The API server passes on what was in the body of a patch. It reads each such byte as
/// the replacement character. A document that is cut within a character, or is no JSON, is an error.
fn replaced(error: FromUtf8Error) -> Result<String, FromUtf8Error> {
    let is_whole = error.utf8_error().error_len().is_some();
    let is_json = error.as_bytes().trim_ascii_start().starts_with(b"{");
    if is_whole && is_json { Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()) } else { Err(error) }
}

fn not_utf8(error: &FromUtf8Error) -> Defect {
    let valid = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let before = &bytes[..valid];
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let after = before.iter().filter(|b| **b == b'\n').count() as u64;
    let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    // The file was truncated in the middle of a character.
    if error.utf8_error().error_len().is_none() {
        return Defect { after, problem: Box::new(Problem::Cut { at_end: true }) };
    }
    Defect { after, problem: Box::new(Problem::NotUtf8 { column: valid - line_start + 1, utf16 }) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::input::Input;

    fn documents(text: &[u8]) -> Documents {
        documents_of_at_most(LONGEST, text)
    }

    fn documents_of_at_most(longest: usize, text: &[u8]) -> Documents {
        let input = Input::Bytes("test".into(), text.to_vec());
        Documents::new(Opened::open(&input, &Arc::default()).unwrap(), longest)
    }

    fn all(text: &[u8]) -> Vec<(u64, String)> {
        let mut documents = documents(text);
        let mut found = Vec::new();
        while documents.advance().unwrap() {
            found.push((documents.line, documents.text().trim().to_owned()));
        }
        found
    }

    fn doc(line: u64, text: &str) -> (u64, String) {
        (line, text.to_owned())
    }

    #[test]
    fn lines_are_documents_and_blank_ones_are_counted() {
        let found = all(b"\xef\xbb\xbf{\"a\":1}\r\n\r\n\n{\"b\":2}");
        assert_eq!(found, [doc(1, "{\"a\":1}"), doc(4, "{\"b\":2}")]);
    }

    #[test]
    fn documents_may_be_spread_over_lines() {
        let found = all(b"\n{\n \"a\": \"}\\\"\"\n}\n{\n}{\"b\":\n2} \n\n");
        let expected = [doc(2, "{\n \"a\": \"}\\\"\"\n}"), doc(5, "{\n}"), doc(6, "{\"b\":\n2}")];
        assert_eq!(found, expected);
    }

    #[test]
    fn documents_may_share_a_line() {
        assert_eq!(all(b"{\"a\":1} {\"b\":2}\n{}"), [doc(1, "{\"a\":1}"), doc(1, "{\"b\":2}"), doc(2, "{}")]);
        let found = all(b"{}{}  {} [\n1] {}\n{}");
        assert_eq!(
            found,
            [doc(1, "{}"), doc(1, "{}"), doc(1, "{}"), doc(2, "1"), doc(2, "{}"), doc(3, "{}")]
        );
    }

    #[test]
    fn many_documents_on_one_line_take_time_for_each_and_no_more() {
        // Quadratic time would take minutes here.
        let mut documents = documents(&b"{}".repeat(200_000));
        let mut count = 0;
        while documents.advance().unwrap() {
            assert_eq!(documents.line, 1);
            count += 1;
        }
        assert_eq!(count, 200_000);
    }

    #[test]
    fn a_line_or_document_beyond_the_limit_is_an_error() {
        for text in [&b"{}\n{\"a\":\"0123456789\"}\n"[..], b"{}\n{\"a\":\"0123456789\"}"] {
            let mut short = documents_of_at_most(12, text);
            assert!(short.advance().unwrap());
            let defect = short.advance().unwrap_err();
            assert!(matches!(*defect.problem, Problem::TooLong { limit: 12 }));
            assert_eq!(short.line + defect.after, 2);
        }
        let mut spread = documents_of_at_most(12, b"{\n\"a\":\n\"0123456789\"\n}");
        let defect = spread.advance().unwrap_err();
        assert_eq!(spread.line + defect.after, 3);
    }

    #[test]
    fn blanks_without_end_are_an_error() {
        for (text, lines) in
            [(&b"{}\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n{}"[..], true), (b"[{},                {}]", false)]
        {
            let mut blank = documents_of_at_most(12, text);
            assert!(blank.advance().unwrap());
            let defect = blank.advance().unwrap_err();
            assert!(matches!(*defect.problem, Problem::Blank { limit: 12 }), "{lines}");
        }
        assert_eq!(all(b"{}\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n{}").len(), 2);
    }

    #[test]
    fn data_that_expand_like_no_log_are_an_error() {
        let lines = b"{\"a\":1}\n".repeat(200_000);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packer, &lines).unwrap();
        let packed = packer.finish().unwrap();
        assert!(packed.len() * 400 < lines.len());
        let count = |longest: usize, text: &[u8]| {
            let mut documents = documents_of_at_most(longest, text);
            let mut count = 0;
            loop {
                match documents.advance() {
                    Ok(true) => count += 1,
                    Ok(false) => return Ok(count),
                    Err(defect) => return Err(defect.problem.to_string()),
                }
            }
        };
        let error = "expected gzip data of a log, found data that expand more than 400 times; unpack them first, if they are one";
        assert_eq!(count(1_000, &packed), Err(error.to_owned()));
        assert_eq!((count(1_000, &lines), count(LONGEST, &packed)), (Ok(200_000), Ok(200_000)));
    }

    #[test]
    fn other_bytes_than_utf8_are_placed() {
        let mut bad = documents(b"\nnoise\xff\n");
        let defect = bad.advance().unwrap_err();
        assert!(matches!(*defect.problem, Problem::NotUtf8 { column: 6, utf16: false }));
        assert_eq!(bad.line + defect.after, 2);
    }

    #[test]
    fn other_bytes_in_json_are_read_as_the_api_server_reads_them() {
        let mut documents = documents(b"{\n\"a\":\"\xff\"}");
        assert!(documents.advance().unwrap());
        assert_eq!(documents.text(), "{\n\"a\":\"\u{fffd}\"}");
    }
}
