//! What can be wrong with an input.

use std::io;

use crate::record::Form;

/// An input that could not be read to its end.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ReadError {
    /// Name of the input.
    pub file: String,
    /// The line, counted from 1; `None` where the input as a whole is meant.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with an input: what was expected, and what was found.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// A directory.
    #[error("expected a file, found a directory; name the files in it")]
    Directory,
    /// The file may not be read.
    #[error("no permission to read the file")]
    Denied,
    /// Any other failure of the operating system.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// More inputs than are open at once.
    #[error("expected at most {limit} files, found more; concatenate some of them")]
    TooMany {
        /// The most that is possible.
        limit: usize,
    },
    /// Standard input was named twice.
    #[error("standard input was named twice, and can be read once")]
    StdinTwice,
    /// No bytes, or blank lines only.
    #[error("expected a trace, found an empty file")]
    Empty,
    /// A document longer than the limit of memory.
    #[error("expected lines and documents of at most {limit} bytes, found a longer one")]
    TooLong {
        /// The most that is possible.
        limit: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("expected UTF-8, found other bytes at column {column}{}", if *utf16 { "; the file looks like UTF-16" } else { "" })]
    NotUtf8 {
        /// Position of the first such byte, counted from 1.
        column: usize,
        /// Whether the file begins with the mark of UTF-16, as written by some shells.
        utf16: bool,
    },
    /// Damaged gzip data.
    #[error("expected gzip data, found damage: {0}")]
    Gzip(io::Error),
    /// gzip data without an end.
    #[error("expected the rest of the gzip data, found the end of the file; was it cut?")]
    GzipCut,
    /// A document without an end.
    #[error("expected the rest of a JSON document, found the end of the {}; was it cut?", if *at_end { "file" } else { "line" })]
    Cut {
        /// Whether the file ends there too.
        at_end: bool,
    },
    /// No JSON.
    #[error("expected JSON, found something else at column {column}: {detail}")]
    NotJson {
        /// Where, counted from 1.
        column: usize,
        /// The parser's words.
        detail: String,
    },
    /// JSON of another type than the field's.
    #[error("unexpected JSON at column {column}: {detail}")]
    WrongType {
        /// Where, counted from 1.
        column: usize,
        /// The parser's words, which name both types.
        detail: String,
    },
    /// A field that is absent or unreadable.
    #[error("expected {expected}, found {found}")]
    Field {
        /// The field and what it may hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// The first document is of no known form.
    #[error(
        "expected an audit log (audit.k8s.io/v1), a watch stream ({{\"type\",\"object\"}}) or a native trace, found {found}"
    )]
    UnknownForm {
        /// What it is.
        found: String,
    },
    /// A later document is of another form than the first.
    #[error("expected another line of the {}, found {found}", form.name())]
    Mixed {
        /// The form of the file.
        form: Form,
        /// What the line is.
        found: String,
    },
    /// A native trace of a newer major version.
    #[error("expected a native trace of version {supported}.x, found version {found}: {advice}")]
    Version {
        /// The major version that this program reads.
        supported: u32,
        /// The version of the file.
        found: String,
        /// Which of the two is to be changed.
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

    pub(crate) fn of_opening(error: io::Error) -> Problem {
        match error.kind() {
            io::ErrorKind::NotFound => Problem::NotFound,
            io::ErrorKind::PermissionDenied => Problem::Denied,
            io::ErrorKind::IsADirectory => Problem::Directory,
            _ => Problem::Io(error),
        }
    }

    pub(crate) fn of_reading(error: io::Error, is_gzip: bool) -> Problem {
        match error.kind() {
            io::ErrorKind::UnexpectedEof if is_gzip => Problem::GzipCut,
            _ if is_gzip && error.raw_os_error().is_none() => Problem::Gzip(error),
            _ => Problem::of_opening(error),
        }
    }
}

/// A problem, and how many lines after the start of its document it lies.
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
            // The parser stumbled over a line break: something ended on the line before that should not.
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

/// The parser's words without the position, which is ours to tell: it counts from where it began.
pub(crate) fn detail_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(&*text, |(detail, _)| detail).to_owned()
}

/// A text of a message, shortened: a broken file can hold anything.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().nth(LONGEST).is_none() {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(LONGEST).collect::<String>())
}
