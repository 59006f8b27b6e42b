//! Takes the lines of a trace out of envelopes, within one another.

use crate::documents::{Documents, LONGEST};
use crate::envelope::{Opening, Origin, open, within};
use crate::error::{Defect, Problem};
use crate::exports::Exports;
use crate::form::recognise;
use crate::input::Opened;
use crate::scan::{Scan, Scanned};

/// Maximum number of envelopes or lists within one another.
const DEEPEST: usize = 6;

/// The documents inside the current document of an input.
#[derive(Default)]
pub(crate) struct Unwrapping {
    /// The first document, which was read already.
    first: Option<String>,
    /// Lists in texts, each within the one before.
    lists: Vec<Documents>,
    /// The beginning of a text that is spread over several envelopes.
    held: Option<Held>,
    /// The last envelope, for messages.
    origin: Option<Origin>,
    /// The rows of exports so far.
    pub exports: Exports,
    /// The line of a trace that was found last.
    pub text: String,
    /// The line of the input on which it begins.
    pub line: u64,
}

/// The beginning of a text.
struct Held {
    line: u64,
    text: String,
    /// Finds the end of an object, if nothing else shows that a part is the last one.
    scan: Scan,
}

/// The result of one step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `text` is a line of a trace.
    Found,
    /// An envelope holds no audit event by its own words.
    Other,
    /// A row of a search that still ran. It may come again.
    Preview,
    /// Something was opened, and is not at its end.
    Opened,
    /// The input has ended.
    Ended,
}

impl Unwrapping {
    /// For an input that begins with this document.
    pub(crate) fn of(first: String) -> Unwrapping {
        Unwrapping { first: Some(first), ..Unwrapping::default() }
    }

    /// Opens the next document. A defect has the line `self.line`.
    pub(crate) fn step(&mut self, documents: &mut Documents) -> Result<Step, Defect> {
        let first = self.first.take();
        let result = match self.lists.last_mut() {
            _ if first.is_some() => self.open(first.unwrap_or_default(), false, documents.line),
            Some(list) => match list.advance() {
                Ok(true) => {
                    let (text, is_event) = (list.text().to_owned(), list.is_of_event_list());
                    self.open(text, is_event, documents.line)
                }
                Ok(false) => {
                    let pages = std::mem::take(&mut list.pages);
                    documents.pages.join(pages);
                    self.lists.pop();
                    Ok(Step::Opened)
                }
                Err(defect) => Err(*defect.problem),
            },
            None if documents.advance()? => {
                let (text, is_event) = (documents.text().to_owned(), documents.is_of_event_list());
                self.open(text, is_event, documents.line)
            }
            None => match self.held.take() {
                Some(held) => {
                    documents.line = held.line;
                    Err(Problem::Cut { at_end: true })
                }
                None => Ok(Step::Ended),
            },
        };
        result.map_err(|problem| self.placed(problem))
    }

    /// A problem with the envelope in which it is.
    pub(crate) fn placed(&self, problem: Problem) -> Defect {
        match self.origin {
            Some(origin) => within(origin, problem).into(),
            None => problem.into(),
        }
    }

    /// Opens a document, which may be the line of a trace already.
    fn open(&mut self, mut text: String, is_event: bool, line: u64) -> Result<Step, Problem> {
        self.line = line;
        if self.lists.is_empty() {
            self.origin = None;
        }
        if is_event {
            self.text = text;
            return Ok(Step::Found);
        }
        for _ in 0..DEEPEST {
            let opening = open(&text).map_err(|defect| *defect.problem)?;
            text = match opening {
                Opening::Bare => {
                    self.text = text;
                    return Ok(Step::Found);
                }
                Opening::Other => return Ok(Step::Other),
                Opening::Row { row, content } => {
                    self.exports.note(row);
                    let Some((inner, origin)) = content else {
                        return Ok(if row.is_preview { Step::Preview } else { Step::Opened });
                    };
                    self.origin = Some(origin);
                    inner
                }
                Opening::List if self.lists.len() < DEEPEST => {
                    self.lists.push(Documents::new(Opened::of_text(text), LONGEST));
                    return Ok(Step::Opened);
                }
                Opening::List => break,
                Opening::Holds(inner, origin) => {
                    self.origin = Some(origin);
                    inner
                }
                Opening::Piece { text, is_last, origin } => {
                    self.origin = Some(origin);
                    match self.join(&text, is_last)? {
                        Some(whole) => whole,
                        None => return Ok(Step::Opened),
                    }
                }
                Opening::Unknown => return Err(unknown(&text)),
            };
        }
        Err(Problem::TooDeep { limit: DEEPEST })
    }

    /// Adds a part to the parts before it. Returns the whole text behind the last part.
    fn join(&mut self, part: &str, is_last: Option<bool>) -> Result<Option<String>, Problem> {
        let held = self.held.take();
        if held.is_none() && part.trim().is_empty() {
            return Ok(None);
        }
        let is_first = held.is_none();
        let new = || Held { line: self.line, text: String::new(), scan: Scan::value() };
        let mut held = held.unwrap_or_else(new);
        held.text.push_str(part);
        if held.text.len() > LONGEST {
            return Err(Problem::TooLong { limit: LONGEST });
        }
        let is_closed = held.scan.feed(part.as_bytes()) != Scanned::More;
        // Text that is no object is reported where it is.
        let is_text = is_first && !part.trim_start().starts_with('{');
        if is_last.unwrap_or(is_text || is_closed) {
            self.line = held.line;
            return Ok(Some(held.text));
        }
        self.held = Some(held);
        Ok(None)
    }
}

/// The problem of a document that is neither the line of a trace nor an envelope.
fn unknown(text: &str) -> Problem {
    match recognise(text) {
        Err(defect) => *defect.problem,
        Ok(form) => Problem::Mixed { form, found: "something else".to_owned() },
    }
}
