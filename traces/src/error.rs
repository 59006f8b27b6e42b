//! Errors of inputs.

use std::io;

use crate::record::Form;
use crate::unpack::Packing;

/// A line of an input, or all that follows, that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ReadError {
    /// Name of the input.
    pub file: String,
    /// The line, from 1; `None` if the problem concerns the whole input.
    pub line: Option<u64>,
    /// The problem.
    pub problem: Problem,
    /// The input is read on behind the line. Otherwise it ends there.
    pub reads_on: bool,
}

/// A problem of an input: what was expected, and what was found.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file does not exist.
    #[error("no such file")]
    NotFound,
    /// The path is a directory.
    #[error("expected a file, found a directory; name the files in it")]
    Directory,
    /// The file may not be read.
    #[error("no permission to read the file")]
    Denied,
    /// Any other failure of the operating system.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// More inputs than can be open at the same time.
    #[error("expected at most {limit} files, found more; concatenate some of them")]
    TooMany {
        /// The maximum.
        limit: usize,
    },
    /// Standard input was named twice.
    #[error("standard input is named twice, and can be read once; name it once")]
    StdinTwice,
    /// The input has no bytes, or only blank lines.
    #[error("expected a trace, found an empty file")]
    Empty,
    /// A document is longer than the memory limit.
    #[error("expected lines and documents of at most {limit} bytes, found a longer one")]
    TooLong {
        /// The maximum.
        limit: usize,
    },
    /// More blanks between two documents than any log has.
    #[error("expected a line or a document, found more than {limit} blank bytes")]
    Blank {
        /// The maximum.
        limit: usize,
    },
    /// Compressed data expand like no log.
    #[error(
        "expected {packing} data of a log, found data that expand more than {most} times; unpack them first, if they are one"
    )]
    Expanded {
        /// Name of the compression.
        packing: &'static str,
        /// The maximum.
        most: u64,
    },
    /// The input is not UTF-8.
    #[error("expected UTF-8, found other bytes at column {column}{}", if *utf16 { "; the file looks like UTF-16, so convert it to UTF-8" } else { "" })]
    NotUtf8 {
        /// Position of the first invalid byte, from 1.
        column: usize,
        /// The file begins with a byte order mark of UTF-16, as some shells write it.
        utf16: bool,
    },
    /// The data are compressed in a way that is not read.
    #[error("expected plain, gzip or zstd data, found {name} data; unpack them: {command}")]
    Packing {
        /// Name of the compression.
        name: &'static str,
        /// The command that unpacks the file.
        command: &'static str,
    },
    /// Compressed data are damaged.
    #[error("expected {packing} data, found damage: {error}")]
    Damaged {
        /// Name of the compression.
        packing: &'static str,
        /// The message of the decompressor.
        error: io::Error,
    },
    /// Compressed data have no end.
    #[error("expected the rest of the {packing} data, found the end of the file; it may be truncated")]
    PackedCut {
        /// Name of the compression.
        packing: &'static str,
    },
    /// A document has no end.
    #[error("expected the rest of a JSON document, found the end of the {}; it may be truncated", if *at_end { "file" } else { "line" })]
    Cut {
        /// The file ends there, too.
        at_end: bool,
    },
    /// The text is not JSON.
    #[error("expected JSON, found something else at column {column}: {detail}")]
    NotJson {
        /// Column of the error, from 1.
        column: usize,
        /// Message of the JSON parser.
        detail: String,
    },
    /// A JSON value has another type than its field.
    #[error("unexpected JSON at column {column}: {detail}")]
    WrongType {
        /// Column of the error, from 1.
        column: usize,
        /// Message of the JSON parser, which names both types.
        detail: String,
    },
    /// A field is absent or unreadable.
    #[error("expected {expected}, found {found}")]
    Field {
        /// The field, and the values that it may have.
        expected: String,
        /// The value that it has.
        found: String,
    },
    /// The first document has no known form.
    #[error(
        "expected an audit log (audit.k8s.io/v1), a watch stream ({{\"type\",\"object\"}}) or a native trace, found {found}"
    )]
    UnknownForm {
        /// Description of the document.
        found: String,
    },
    /// A later document has another form than the first.
    #[error("expected another line of the {}, found {found}", form.name())]
    Mixed {
        /// Form of the file.
        form: Form,
        /// Description of the document.
        found: String,
    },
    /// A problem of what an envelope holds.
    #[error("{problem}, in {name}; {remedy}")]
    Within {
        /// The problem.
        problem: Box<Problem>,
        /// Name of the envelope.
        name: &'static str,
        /// A command that exports audit events alone.
        remedy: &'static str,
    },
    /// A problem of an element of a list that is on one line.
    #[error("{problem} (element {number} of this line)")]
    Element {
        /// The problem.
        problem: Box<Problem>,
        /// Position of the element, from 1.
        number: u64,
    },
    /// Envelopes within envelopes, too many of them.
    #[error("expected at most {limit} envelopes or lists within one another, found more")]
    TooDeep {
        /// The maximum.
        limit: usize,
    },
    /// A long log begins with its newest events.
    #[error(
        "expected the oldest event first, found the newest first in more than {limit} bytes; export it again with the oldest first, or in parts"
    )]
    NewestFirst {
        /// Maximum length of the events that are sorted.
        limit: usize,
    },
    /// A list has no elements.
    #[error("expected a trace, found an empty list")]
    EmptyList,
    /// A native trace of another major version.
    #[error("expected a native trace of version {supported}.x, found version {found}: {advice}")]
    Version {
        /// The major version that this program reads.
        supported: u32,
        /// The version of the file.
        found: String,
        /// The remedy.
        advice: &'static str,
    },
}

impl Problem {
    pub(crate) fn field(expected: impl Into<String>, found: impl Into<String>) -> Problem {
        Problem::Field { expected: expected.into(), found: found.into() }
    }

    pub(crate) fn missing(expected: impl Into<String>) -> Problem {
        Problem::field(expected, "none")
    }

    /// Returns `true` if the input has no documents.
    #[must_use]
    pub fn is_emptiness(&self) -> bool {
        matches!(self, Problem::Empty | Problem::EmptyList)
    }

    /// Returns `true` if it concerns one document, so that the next one may be whole.
    pub(crate) fn is_of_document(&self) -> bool {
        match self {
            Problem::NotUtf8 { utf16, .. } => !utf16,
            Problem::Cut { at_end } => !at_end,
            Problem::NotJson { .. }
            | Problem::WrongType { .. }
            | Problem::Field { .. }
            | Problem::UnknownForm { .. }
            | Problem::Mixed { .. } => true,
            Problem::Within { problem, .. } => problem.is_of_document(),
            Problem::NotFound
            | Problem::Directory
            | Problem::Denied
            | Problem::Io(_)
            | Problem::TooMany { .. }
            | Problem::StdinTwice
            | Problem::Empty
            | Problem::TooLong { .. }
            | Problem::Blank { .. }
            | Problem::Expanded { .. }
            | Problem::Packing { .. }
            | Problem::Damaged { .. }
            | Problem::PackedCut { .. }
            | Problem::Element { .. }
            | Problem::TooDeep { .. }
            | Problem::NewestFirst { .. }
            | Problem::EmptyList
            | Problem::Version { .. } => false,
        }
    }

    pub(crate) fn of_opening(error: io::Error) -> Problem {
        match error.kind() {
            io::ErrorKind::NotFound => Problem::NotFound,
            io::ErrorKind::PermissionDenied => Problem::Denied,
            io::ErrorKind::IsADirectory => Problem::Directory,
            _ => Problem::Io(error),
        }
    }

    pub(crate) fn of_reading(error: io::Error, packing: Packing) -> Problem {
        match (packing.name(), error.kind()) {
            (Some(packing), io::ErrorKind::UnexpectedEof) => Problem::PackedCut { packing },
            (Some(packing), _) if error.raw_os_error().is_none() => Problem::Damaged { packing, error },
            _ => Problem::of_opening(error),
        }
    }
}

/// A problem, and its distance in lines from the start of its document.
#[derive(Debug)]
pub(crate) struct Defect {
    pub after: u64,
    pub problem: Box<Problem>,
}

impl From<Problem> for Defect {
    fn from(problem: Problem) -> Defect {
        Defect { after: 0, problem: Box::new(problem) }
    }
}

impl From<serde_json::Error> for Defect {
    fn from(error: serde_json::Error) -> Defect {
        use serde_json::error::Category;
        let (column, after) = (error.column(), error.line().saturating_sub(1) as u64);
        let is_cut = error.is_syntax() && column == 0 && after > 0;
        if is_cut {
            // The parser met a line break: the line before it was truncated.
            return Defect { after: after - 1, problem: Box::new(Problem::Cut { at_end: false }) };
        }
        let detail = detail_of(&error);
        let problem = match error.classify() {
            Category::Eof => Problem::Cut { at_end: false },
            Category::Syntax => Problem::NotJson { column, detail },
            Category::Data => Problem::WrongType { column, detail },
            Category::Io => Problem::Io(error.into()),
        };
        Defect { after, problem: Box::new(problem) }
    }
}

/// The parser's message without its position, which counts from the start of the document.
pub(crate) fn detail_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(&*text, |(detail, _)| detail).to_owned()
}

/// A quoted text, shortened to 60 characters, because a broken file can contain anything.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().nth(LONGEST).is_none() {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(LONGEST).collect::<String>())
}
