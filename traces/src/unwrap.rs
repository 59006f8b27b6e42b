//! Takes the lines of a trace out of envelopes, within one another.

use std::mem;

use crate::documents::{Documents, LONGEST};
use crate::envelope::{Opening, Origin, open, within};
use crate::error::{Defect, Problem};
use crate::form::recognise;
use crate::input::Opened;

/// Maximum number of envelopes or lists within one another.
const DEEPEST: usize = 6;

/// What is inside the current document of an input, and what of it is still to come.
#[derive(Default)]
pub(crate) struct Unwrapping {
    /// The first document, which was read already.
    first: Option<String>,
    /// Lists in texts, each within the one before.
    lists: Vec<Documents>,
    /// The beginning of a text that is spread over several envelopes, and the line on which it began.
    held: Option<(u64, String)>,
    /// The last envelope, for messages.
    origin: Option<Origin>,
    /// The line of a trace that was found last.
    pub text: String,
    /// The line of the input on which it begins.
    pub line: u64,
}

/// The result of one step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `text` is a line of a trace.
    Found,
    /// An envelope holds no audit event by its own words.
    Other,
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
                Some((line, _)) => {
                    documents.line = line;
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
                    match self.join(text, is_last)? {
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
    fn join(&mut self, part: String, is_last: bool) -> Result<Option<String>, Problem> {
        let Some((line, mut whole)) = mem::take(&mut self.held) else {
            if is_last {
                return Ok(Some(part));
            }
            self.held = Some((self.line, part));
            return Ok(None);
        };
        whole.push_str(&part);
        if whole.len() > LONGEST {
            return Err(Problem::TooLong { limit: LONGEST });
        }
        if is_last || part.ends_with('\n') {
            self.line = line;
            return Ok(Some(whole));
        }
        self.held = Some((line, whole));
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
