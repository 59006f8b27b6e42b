//! Finds where a JSON value ends, or where a list in it begins, without reading the value as a whole.

use memchr::{memchr, memchr3};

/// The paths of the lists that hold one record per element. No audit event, watch event or native line has a field of
/// these names at these places.
const LISTS: [&[&str]; 7] = [
    // `EventList`, `List`, `PodList`: the Kubernetes API.
    &["items"],
    // `aws logs filter-log-events` and `get-log-events`.
    &["events"],
    // A subscription of CloudWatch Logs, as Firehose and Kinesis deliver it.
    &["logEvents"],
    // Azure Monitor, to a storage account or an event hub.
    &["records"],
    // `aws logs get-query-results`, and the search of Splunk.
    &["results"],
    // The method `entries.list` of Cloud Logging.
    &["entries"],
    // A search of Elasticsearch and OpenSearch.
    &["hits", "hits"],
];

/// Depth of the deepest list.
const DEEPEST: usize = 2;
/// Length of the longest name of a list.
const LONGEST_NAME: usize = 16;

/// The content of a part of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// No end: the value continues.
    More,
    /// The value ends behind this number of bytes.
    End(usize),
    /// A list of records begins behind this number of bytes.
    List(usize),
}

/// The position in a value that begins with a bracket or a quote.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Lists are looked for. Otherwise only the end is.
    seeks_lists: bool,
    /// The last string at a depth where lists are, and the names that lead to the current place.
    text: Vec<u8>,
    names: [Vec<u8>; DEEPEST],
    /// The last byte that was neither blank nor within a string is a colon.
    after_colon: bool,
}

impl Scan {
    /// A value that ends where its brackets close.
    pub(crate) fn value() -> Scan {
        Scan::default()
    }

    /// A value that may hold a list of records.
    pub(crate) fn holder() -> Scan {
        Scan { seeks_lists: true, ..Scan::default() }
    }

    /// The rest of a value behind a list in it.
    pub(crate) fn rest(depth: usize) -> Scan {
        Scan { depth, ..Scan::default() }
    }

    /// Number of open brackets.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Looks at the next part of the value.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Scanned {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if self.in_string {
                at = self.string(bytes, at);
                if !self.in_string && self.depth == 0 {
                    return Scanned::End(at);
                }
                continue;
            }
            at += 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                b'"' => {
                    self.in_string = true;
                    self.text.clear();
                }
                b'[' if self.is_list() => return Scanned::List(at),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Scanned::End(at);
                    }
                }
                b':' if self.seeks_lists && (1..=DEEPEST).contains(&self.depth) => {
                    self.names[self.depth - 1].clone_from(&self.text);
                }
                _ => {}
            }
            self.after_colon = *byte == b':';
        }
        Scanned::More
    }

    /// Moves to the end of a string. A line break ends a string as well: the string was truncated, and the brackets
    /// behind it still count.
    fn string(&mut self, bytes: &[u8], mut at: usize) -> usize {
        if std::mem::take(&mut self.escaped) {
            at += 1;
        }
        let start = at;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
                self.keep(bytes, start, bytes.len());
                return bytes.len();
            };
            at += found + 1;
            if rest[found] != b'\\' {
                self.in_string = false;
                self.keep(bytes, start, at - 1);
                return at;
            }
            if at == bytes.len() {
                self.escaped = true;
                return at;
            }
            at += 1;
        }
    }

    /// Remembers a string that may be the name of a list.
    fn keep(&mut self, bytes: &[u8], start: usize, end: usize) {
        if self.seeks_lists && self.depth <= DEEPEST {
            let part = bytes.get(start..end).unwrap_or_default();
            let room = LONGEST_NAME.saturating_sub(self.text.len());
            self.text.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn is_list(&self) -> bool {
        let is_here = |path: &&[&str]| {
            path.len() == self.depth && path.iter().zip(&self.names).all(|(name, at)| name.as_bytes() == at)
        };
        self.seeks_lists && self.after_colon && LISTS.iter().any(is_here)
    }
}

/// Returns `true` if an object holds a list of records.
pub(crate) fn holds_a_list(object: &str) -> bool {
    matches!(Scan::holder().feed(object.as_bytes()), Scanned::List(_))
}

/// The length of a text that is no JSON value, in a list: up to the next comma, bracket or line break.
pub(crate) fn word(bytes: &[u8], in_list: bool) -> Option<usize> {
    if in_list { memchr3(b',', b']', b'\n', bytes) } else { memchr(b'\n', bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for a text that arrives in parts of one byte.
    fn bytewise(mut scan: Scan, text: &str) -> Scanned {
        for (at, byte) in text.as_bytes().iter().enumerate() {
            match scan.feed(&[*byte]) {
                Scanned::More => {}
                Scanned::End(_) => return Scanned::End(at + 1),
                Scanned::List(_) => return Scanned::List(at + 1),
            }
        }
        Scanned::More
    }

    #[test]
    fn a_value_ends_where_its_brackets_close_however_it_arrives() {
        let cases = [
            (r#"{"a":"}\"]","b":[{}]} {"#, Scanned::End(21)),
            (r#""text \" more" rest"#, Scanned::End(14)),
            (r#"{"a":"\\"}"#, Scanned::End(10)),
            ("{\"cut\n} ", Scanned::End(7)),
            (r#"{"a":["#, Scanned::More),
        ];
        for (text, expected) in cases {
            assert_eq!(Scan::value().feed(text.as_bytes()), expected, "{text}");
            assert_eq!(bytewise(Scan::value(), text), expected, "{text}");
        }
    }

    #[test]
    fn a_list_of_records_is_found_at_its_path_only() {
        let cases = [
            (r#"{"kind":"EventList","items" : [{"#, Scanned::List(31)),
            (r#"{"took":1,"hits":{"total":{"value":1},"hits":[{"#, Scanned::List(46)),
            (r#"{"hits":[1]}"#, Scanned::End(12)),
            (r#"{"object":{"items":[1]}}"#, Scanned::End(24)),
            (r#"{"a":["items",[1]]}"#, Scanned::End(19)),
            (r#"{"events":{"a":[1]}}"#, Scanned::End(20)),
        ];
        for (text, expected) in cases {
            assert_eq!(Scan::holder().feed(text.as_bytes()), expected, "{text}");
            assert_eq!(bytewise(Scan::holder(), text), expected, "{text}");
        }
    }
}
