//! Formatting of values for messages, without the quotes, brackets, and `Some` of Rust's `Debug`.

use std::fmt::{self, Debug, Display, Formatter};

use crate::indexes::Index;
use crate::job::Text;
use crate::pod::{Phase, Pod};
use crate::requirement::Operand;
use crate::uid::Uid;

/// The value, or `none`.
#[must_use]
pub fn or_none<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// The name of the enum variant, or `none`.
#[must_use]
pub fn name_or_none<T: Debug>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"))
}

/// A pod as guards describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    uid: Uid,
    phase: Phase,
    deleting: bool,
    index: Option<Index>,
}

impl Display for Described {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Described { uid, phase, deleting, index } = *self;
        let deleting = if deleting { ", being deleted" } else { "" };
        write!(f, "{uid:?} in phase {phase:?}{deleting}")?;
        index.map_or(Ok(()), |index| write!(f, ", index {index}"))
    }
}

/// A pod as guards describe it: its UID, its phase, and its index, if it has one. The text is made when it is printed.
#[must_use]
pub fn described(pod: &Pod) -> Operand {
    let Pod { uid, phase, deleting, index, .. } = *pod;
    Operand::Pod(Box::new(Described { uid, phase, deleting, index }))
}

/// Labels as `key=value`, separated by commas, or `none`.
#[must_use]
pub fn labels(pairs: &[(Text, Text)]) -> String {
    let words: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Numbers, separated by commas.
#[must_use]
pub fn numbers(values: &[i32]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_without_the_syntax_of_rust() {
        assert_eq!(or_none(Some(3)), "3");
        assert_eq!(or_none::<i32>(None), "none");
        assert_eq!(name_or_none(Some(crate::job::CompletionMode::Indexed)), "Indexed");
        assert_eq!(labels(&[("a".into(), "1".into()), ("b".into(), "2".into())]), "a=1, b=2");
        assert_eq!((labels(&[]), numbers(&[1, 2])), ("none".to_owned(), "1, 2".to_owned()));
    }
}
