//! The error of a projection, with the path in the object.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a text that is read as a tree. An API server reads no request of more than 3 MiB.
const LONGEST: usize = 4 << 20;

/// A field with a value that the API does not define.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", if path.is_empty() { "object" } else { path })]
pub struct ProjectError {
    /// The path of the field, such as `spec.parallelism`; empty for the object itself.
    pub path: String,
    /// The error of the JSON parser.
    pub source: serde_json::Error,
}

/// Deserialises `text`, the value at `root` in its object.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str, root: &str) -> Result<T, ProjectError> {
    serde_json::from_str(text).map_err(|source| {
        let inner = path_at(text, source.line(), source.column());
        let separator = if root.is_empty() || inner.is_empty() || inner.starts_with('[') { "" } else { "." };
        ProjectError { path: format!("{root}{separator}{inner}"), source }
    })
}

/// Reads `text` as a tree, which needs up to a hundred times the memory of the text.
pub(super) fn read_value(text: &str, root: &str) -> Result<Value, ProjectError> {
    if text.len() > LONGEST {
        let source = serde::de::Error::custom("longer than 4 MiB, which no API server stores");
        return Err(ProjectError { path: root.to_owned(), source });
    }
    read(text, root)
}

/// An object or a list that is open at some position of a text.
enum Open<'a> {
    Object(Option<&'a str>),
    List(usize),
}

/// The path of the value at a position that `serde_json` reports.
///
/// The text up to this position must be JSON. For any other text the path is useless, without a panic.
fn path_at(text: &str, line: usize, column: usize) -> String {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end = (before + column).min(text.len());
    let mut open: Vec<Open> = Vec::new();
    let (mut position, mut key_is_next) = (0, false);
    while position < end {
        match text.as_bytes()[position] {
            b'"' => {
                let close = end_of_string(text, position);
                if let (true, Some(Open::Object(key))) = (key_is_next, open.last_mut()) {
                    *key = text.get(position + 1..close);
                    key_is_next = false;
                }
                position = close;
            }
            b'{' => {
                open.push(Open::Object(None));
                key_is_next = true;
            }
            b'[' => {
                open.push(Open::List(0));
                key_is_next = false;
            }
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::List(index)) => *index += 1,
                Some(Open::Object(_)) => key_is_next = true,
                None => {}
            },
            _ => {}
        }
        position += 1;
    }
    spell(&open)
}

/// The position of the quote that closes the string opened at `start`, or the end of the text.
fn end_of_string(text: &str, start: usize) -> usize {
    let mut escaped = false;
    let closes = |&(_, byte): &(usize, u8)| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    };
    text.bytes().enumerate().skip(start + 1).find(closes).map_or(text.len(), |(position, _)| position)
}

fn spell(open: &[Open]) -> String {
    let mut path = String::new();
    for step in open {
        let written = match step {
            Open::Object(None) => Ok(()),
            Open::Object(Some(key)) if path.is_empty() => path.write_str(key),
            Open::Object(Some(key)) => write!(path, ".{key}"),
            Open::List(index) => write!(path, "[{index}]"),
        };
        written.expect("writing to a string does not fail");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct Sample {
        list: Option<Vec<Option<Inner>>>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct Inner {
        number: Option<i32>,
    }

    #[test]
    fn a_text_that_nobody_stores_becomes_no_tree() {
        let of = |length: usize| format!("[{}]", "{},".repeat(length / 3) + "{}");
        assert!(read_value(&of(LONGEST - 10), "spec").is_ok());
        let error = read_value(&of(LONGEST + 10), "spec").unwrap_err();
        assert_eq!(error.to_string(), "spec: longer than 4 MiB, which no API server stores");
    }

    #[test]
    fn an_error_names_the_field() {
        let table = [
            (r#"{"inner":{"number":"3"}}"#, "inner.number"),
            (r#"{"inner":{"x":"\"{","number":2147483648}}"#, "inner.number"),
            (r#"{"inner":3}"#, "inner"),
            ("{\n\"list\": [null,\n {\"number\":\n true}]}", "list[1].number"),
            (r#"{"x":[{"y":[1,2]},3],"list":[{"number":1},{"number":1.5}]}"#, "list[1].number"),
            ("[]", ""),
            ("3", ""),
        ];
        for (text, path) in table {
            let error = read::<Sample>(text, "").expect_err(text);
            assert_eq!(error.path, path, "{text}: {error}");
        }
        let error = read::<Sample>(table[0].0, "spec").expect_err("a text is no number");
        assert!(error.to_string().starts_with("spec.inner.number: invalid type: string \"3\""), "{error}");
    }
}
