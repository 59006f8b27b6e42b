//! Cuts an input into JSON documents: one per line, or spread over several lines as kubectl prints them.

use std::io::{BufRead, Read};
use std::mem;

use serde::de::IgnoredAny;

use crate::error::{Defect, Problem};
use crate::input::Opened;

/// Limit for a line or a document, in bytes. An API object has at most 1.5 MiB in etcd, and an audit event
/// holds a few.
pub(crate) const LONGEST: usize = 64 << 20;

/// The documents of one input, one at a time, in one buffer.
pub(crate) struct Documents {
    pub input: Opened,
    longest: usize,
    layout: Layout,
    /// The current document, with the blanks around it.
    text: String,
    /// The line on which the current document starts, from 1.
    pub line: u64,
    /// Number of lines read so far.
    pub lines: u64,
    /// Number of bytes read so far, uncompressed.
    pub bytes: u64,
    /// The bytes that follow a document on its line, and how many of them were consumed.
    rest: Vec<u8>,
    taken: usize,
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

impl Documents {
    pub(crate) fn new(input: Opened, longest: usize) -> Documents {
        Documents {
            input,
            longest,
            layout: Layout::Unknown,
            text: String::new(),
            line: 0,
            lines: 0,
            bytes: 0,
            rest: Vec::new(),
            taken: 0,
        }
    }

    /// The current document.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Moves to the next document. Returns `false` at the end. A defect counts its lines from `self.line`.
    pub(crate) fn advance(&mut self) -> Result<bool, Defect> {
        let mut bytes = mem::take(&mut self.text).into_bytes();
        bytes.clear();
        self.line = self.lines + 1;
        if !self.first_line(&mut bytes)? {
            return Ok(false);
        }
        if self.layout == Layout::Unknown {
            self.layout = layout_of(&bytes);
        }
        if self.layout == Layout::Spread {
            self.complete(&mut bytes)?;
        }
        // A trailing line break would count as a line in the parser's positions.
        bytes.truncate(bytes.trim_ascii_end().len());
        self.text = String::from_utf8(bytes).map_err(|error| not_utf8(&error))?;
        Ok(true)
    }

    /// Returns `true` if nothing follows the current document.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.taken == self.rest.len() && self.input.text.fill_buf().is_ok_and(<[u8]>::is_empty)
    }

    /// Reads up to and including the next line that is not blank.
    fn first_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Defect> {
        if self.take_rest(bytes) {
            // The rest belongs to a line that is already counted.
            self.line = self.lines;
            return Ok(true);
        }
        loop {
            if !self.read_line(bytes)? {
                return Ok(false);
            }
            if self.lines == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            if !is_blank(bytes) {
                self.line = self.lines;
                return Ok(true);
            }
            bytes.clear();
        }
    }

    /// Appends the next document, or its beginning, from the rest of a line. Returns `false` if there is
    /// none.
    fn take_rest(&mut self, bytes: &mut Vec<u8>) -> bool {
        let rest = &self.rest[self.taken..];
        let end = Brackets::default().close_in(rest).unwrap_or(rest.len());
        bytes.extend_from_slice(&rest[..end]);
        let blank = rest[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.taken += end + blank;
        !bytes.is_empty()
    }

    /// Appends a line. Returns `false` at the end of the input.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Defect> {
        let room = self.longest.saturating_sub(bytes.len());
        let after = (self.lines + 1).saturating_sub(self.line);
        let is_gzip = self.input.is_gzip;
        let count = (&mut self.input.text)
            .take(room as u64 + 1)
            .read_until(b'\n', bytes)
            .map_err(|error| Defect { after, problem: Box::new(Problem::of_reading(error, is_gzip)) })?;
        if count > room {
            return Err(Defect { after, problem: Box::new(Problem::TooLong { limit: self.longest }) });
        }
        self.lines += u64::from(count > 0);
        self.bytes += count as u64;
        Ok(count > 0)
    }

    /// Appends lines until the document is closed, and keeps the bytes that follow it.
    fn complete(&mut self, bytes: &mut Vec<u8>) -> Result<(), Defect> {
        let mut brackets = Brackets::default();
        let mut seen = 0;
        loop {
            if let Some(end) = brackets.close_in(&bytes[seen..]) {
                let end = seen + end;
                if !is_blank(&bytes[end..]) {
                    self.rest.clear();
                    self.rest.extend_from_slice(&bytes[end..]);
                    self.taken = 0;
                }
                bytes.truncate(end);
                return Ok(());
            }
            seen = bytes.len();
            if !self.read_line(bytes)? {
                // The parser reports an unclosed document: it may also be no JSON at all.
                return Ok(());
            }
        }
    }
}

/// Documents are spread over lines if the first line is only the beginning of a document.
fn layout_of(line: &[u8]) -> Layout {
    match serde_json::from_slice::<IgnoredAny>(line) {
        Err(error) if error.is_eof() => Layout::Spread,
        Err(error) if is_second_document(line, &error) => Layout::Spread,
        _ => Layout::Lines,
    }
}

/// Returns `true` if the only error in a line is a second document behind a complete one.
fn is_second_document(line: &[u8], error: &serde_json::Error) -> bool {
    Brackets::default().close_in(line).is_some_and(|end| {
        error.column() > end && line[end..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
    })
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

fn not_utf8(error: &std::string::FromUtf8Error) -> Defect {
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

/// The nesting of brackets in a document.
#[derive(Default)]
struct Brackets {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Brackets {
    /// The position behind the end of the document, if these bytes contain the end.
    fn close_in(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                let ends = *byte == b'"' && !self.escaped;
                self.escaped = *byte == b'\\' && !self.escaped;
                // A line break ends a string as well: the string was truncated, and the brackets behind it
                // still count.
                self.in_string = !ends && *byte != b'\n';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    fn documents(text: &[u8]) -> Documents {
        documents_of_at_most(LONGEST, text)
    }

    fn documents_of_at_most(longest: usize, text: &[u8]) -> Documents {
        Documents::new(Opened::open(&Input::Bytes("test".into(), text.to_vec())).unwrap(), longest)
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
            [doc(1, "{}"), doc(1, "{}"), doc(1, "{}"), doc(1, "[\n1]"), doc(2, "{}"), doc(3, "{}")]
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
    fn other_bytes_than_utf8_are_placed() {
        let mut bad = documents(b"{\n\"a\":\"\xff\"}");
        let defect = bad.advance().unwrap_err();
        assert!(matches!(*defect.problem, Problem::NotUtf8 { column: 6, utf16: false }));
        assert_eq!(bad.line + defect.after, 2);
    }
}
