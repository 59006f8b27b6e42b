//! A finding: a comparison that is false, and its two sides.

use std::fmt;

use crate::catalogue::Req;
use crate::indexes::IndexSet;
use crate::time::Time;
use crate::uid::Uid;
use crate::words::Described;

/// A requirement that a write breaks: a comparison that is false.
///
/// It prints as `RP-03: active pods before the creation: expected fewer than 1, found 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The requirement.
    pub req: Req,
    /// The subject of the comparison: a field, a count, or a kind of write.
    pub what: &'static str,
    /// The value that the requirement asks for: the nearest one that the guard accepts.
    pub expected: Operand,
    /// The value in the write.
    pub found: Operand,
    /// The known deviation of the built-in controller that has exactly this pattern, if there is one.
    pub known: Option<Req>,
}

impl Broken {
    /// The amount by which a number is too large. It is negative for one that is too small; `None` if no numbers are compared.
    #[must_use]
    pub fn excess(&self) -> Option<i64> {
        match (&self.expected, &self.found) {
            (Operand::Number(expected), Operand::Number(found)) => Some(found.saturating_sub(*expected)),
            _ => None,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: expected {}, found {}", self.req, self.what, self.expected, self.found)
    }
}

/// One side of a comparison. It stays data until it is printed, so that a report can show names in place of UIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A fixed text.
    Words(&'static str),
    /// A number.
    Number(i64),
    /// A time.
    Time(Time),
    /// The UID of a pod or a Job.
    Uid(Uid),
    /// A set of completion indexes.
    Indexes(IndexSet),
    /// A pod.
    Pod(Box<Described>),
    /// A text with values in it.
    Text(String),
}

/// An operand that is computed only if the comparison is false ([`Operand::lazy`]).
#[derive(Clone, Copy, Debug)]
pub struct Lazy<F>(F);

impl Operand {
    /// Defers an operand until the comparison is known to be false, so that a guard that holds allocates nothing.
    pub fn lazy<T: Into<Operand>, F: FnOnce() -> T>(operand: F) -> Lazy<F> {
        Lazy(operand)
    }
}

impl<T: Into<Operand>, F: FnOnce() -> T> From<Lazy<F>> for Operand {
    fn from(lazy: Lazy<F>) -> Operand {
        (lazy.0)().into()
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Words(words) => f.pad(words),
            Operand::Number(number) => write!(f, "{number}"),
            Operand::Time(time) => write!(f, "{time}"),
            Operand::Uid(uid) => write!(f, "{uid:?}"),
            Operand::Indexes(set) => write!(f, "\"{set}\""),
            Operand::Pod(pod) => write!(f, "{pod}"),
            Operand::Text(text) => f.pad(text),
        }
    }
}

macro_rules! operand_from {
    ($($from:ty => |$value:ident| $operand:expr;)*) => {
        $(impl From<$from> for Operand {
            fn from($value: $from) -> Operand { $operand }
        })*
    };
}

operand_from! {
    &'static str => |words| Operand::Words(words);
    String => |text| Operand::Text(text);
    i64 => |number| Operand::Number(number);
    i32 => |number| Operand::Number(i64::from(number));
    u32 => |number| Operand::Number(i64::from(number));
    usize => |number| Operand::Number(i64::try_from(number).unwrap_or(i64::MAX));
    Time => |time| Operand::Time(time);
    Uid => |uid| Operand::Uid(uid);
    IndexSet => |set| Operand::Indexes(set);
}
