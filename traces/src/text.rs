//! Text of a document, and its position in the document.

use std::borrow::{Borrow, Cow};
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A text that borrows from the line if it has no escapes. The type exists because serde does not borrow a
/// plain `Option<Cow<str>>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        Text(Cow::Borrowed(text))
    }
}

/// A text of a document without a borrow, so that the reader can hold one record of each input while it picks
/// the earliest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// A part of the document.
    Part(Range<usize>),
    /// A text that differs from the document, because it had escapes.
    Own(String),
}

impl Span {
    /// The position of `text` in `document`, or a copy.
    pub(crate) fn of(document: &str, text: &str) -> Span {
        part(document, text).map_or_else(|| Span::Own(text.to_owned()), Span::Part)
    }

    /// The text, from the same document.
    pub(crate) fn get<'a>(&'a self, document: &'a str) -> &'a str {
        match self {
            Span::Part(range) => document.get(range.clone()).unwrap_or_default(),
            Span::Own(text) => text,
        }
    }
}

/// The document in which positions are taken.
#[derive(Clone, Copy)]
pub(crate) struct Spans<'d>(pub &'d str);

impl Spans<'_> {
    /// A text; empty if it is absent.
    pub(crate) fn text(self, text: Option<&Text<'_>>) -> Span {
        self.optional(text).unwrap_or(Span::Part(0..0))
    }

    /// A text that may be absent.
    pub(crate) fn optional(self, text: Option<&Text<'_>>) -> Option<Span> {
        text.map(|text| Span::of(self.0, &text.0))
    }
}

/// The range of `piece` in `whole`, if it is borrowed from it.
pub(crate) fn part(whole: &str, piece: &str) -> Option<Range<usize>> {
    let start = piece.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let range = start..start.checked_add(piece.len())?;
    (range.end <= whole.len()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_gives_back_the_text_whether_borrowed_or_not() {
        let document = "say \"hello\"";
        assert_eq!(Span::of(document, &document[5..10]), Span::Part(5..10));
        assert_eq!(Span::Part(5..10).get(document), "hello");
        assert_eq!(Span::of(document, "a\nb").get(document), "a\nb");
        assert_eq!(Span::of(document, "elsewhere").get(document), "elsewhere");
        assert_eq!(Span::of(document, "").get(document), "");
    }
}
