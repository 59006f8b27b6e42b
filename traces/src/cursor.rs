//! Reads the members of a JSON object in one pass, and skips the values that nobody reads.
//!
//! It checks what it skips as strictly as serde_json does, in a fraction of the time. It understands less: a text with
//! escapes, a field that occurs twice, and any error are `None`. The caller then reads the document with serde_json, which
//! reports the error.

use serde::Deserialize;

use crate::object::Object;
use crate::text::Text;

/// Most brackets that may be open at the same time.
const DEEPEST: u32 = 128;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A position in a JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of a text.
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Returns `true` if nothing but blanks follows.
    pub(crate) fn is_over(&mut self) -> bool {
        self.at = blank(self.text.as_bytes(), self.at);
        self.at == self.text.len()
    }

    /// Reads an object. `member` gets each key, and must read its value.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(&'a str, &mut Cursor<'a>) -> Option<()>,
    ) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at = behind(bytes, self.at, b'{')?;
        self.at = blank(bytes, self.at);
        if *bytes.get(self.at)? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.plain_text()?;
            self.at = behind(bytes, self.at, b':')?;
            member(key, self)?;
            self.at = blank(bytes, self.at);
            let next = *bytes.get(self.at)?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a value of any type.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = blank(bytes, self.at);
        self.at = value(bytes, start)?;
        self.text.get(start..self.at)
    }

    /// Reads a value of any type; `None` within if it is `null`.
    pub(crate) fn present(&mut self) -> Option<Option<&'a str>> {
        self.value().map(|value| Some(value).filter(|value| *value != "null"))
    }

    /// Reads a string without escapes, or `null`.
    pub(crate) fn optional_text(&mut self) -> Option<Option<&'a str>> {
        let bytes = self.text.as_bytes();
        self.at = blank(bytes, self.at);
        match *bytes.get(self.at)? {
            b'"' => self.plain_text().map(Some),
            b'n' => self.present().filter(Option::is_none),
            _ => None,
        }
    }

    /// Reads a string without escapes.
    fn plain_text(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = behind(bytes, self.at, b'"')?;
        let end = special(bytes, start)?;
        self.at = end + 1;
        if bytes[end] == b'"' { self.text.get(start..end) } else { None }
    }
}

/// Reads a text field that was not read before.
pub(crate) fn text<'a>(field: &mut Option<Text<'a>>, value: &mut Cursor<'a>) -> Option<()> {
    field.is_none().then_some(())?;
    *field = value.optional_text()?.map(Text::from);
    Some(())
}

/// Reads a field that was not read before, as its position.
pub(crate) fn object<'a>(field: &mut Option<Object<'a>>, value: &mut Cursor<'a>) -> Option<()> {
    field.is_none().then_some(())?;
    *field = value.present()?.map(Object::from_checked);
    Some(())
}

/// Reads a short field that was not read before.
pub(crate) fn small<'a, T: Deserialize<'a>>(field: &mut Option<T>, value: &mut Cursor<'a>) -> Option<()> {
    field.is_none().then_some(())?;
    *field = serde_json::from_str(value.value()?).ok()?;
    Some(())
}

/// The position of the next byte that is no blank.
#[inline]
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// The position behind this byte, with blanks before it.
#[inline]
fn behind(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = blank(bytes, at);
    (*bytes.get(at)? == byte).then_some(at + 1)
}

/// The next quotation mark, backslash, or control character.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().ok()?);
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (control | zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c))) & HIGHS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).map(|found| at + found)
}

/// The end of a string whose opening quotation mark is before `at`.
#[inline]
fn string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = special(bytes, at)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\\' => at = escape(bytes, at + 1)?,
            _ => return None,
        }
    }
}

fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => bytes.get(at + 1..at + 5)?.iter().all(u8::is_ascii_hexdigit).then_some(at + 5),
        _ => None,
    }
}

/// The end of the value that begins here.
fn value(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0u32;
    // One bit for each open bracket, the innermost first. It is set for an object.
    let mut objects = 0u128;
    loop {
        at = blank(bytes, at);
        let first = *bytes.get(at)?;
        at += 1;
        match first {
            b'"' => at = string(bytes, at)?,
            b'{' | b'[' => {
                let is_object = first == b'{';
                at = blank(bytes, at);
                // The closing brackets are two behind the opening ones.
                if *bytes.get(at)? == first + 2 {
                    at += 1;
                } else if depth == DEEPEST {
                    return None;
                } else {
                    depth += 1;
                    objects = objects << 1 | u128::from(is_object);
                    if is_object {
                        at = key(bytes, at)?;
                    }
                    continue;
                }
            }
            b't' => at = word(bytes, at, b"rue")?,
            b'f' => at = word(bytes, at, b"alse")?,
            b'n' => at = word(bytes, at, b"ull")?,
            _ => at = number(bytes, at - 1)?,
        }
        // Behind a value.
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = blank(bytes, at);
            let is_object = objects & 1 == 1;
            let next = *bytes.get(at)?;
            at += 1;
            match next {
                b',' if is_object => {
                    at = key(bytes, at)?;
                    break;
                }
                b',' => break,
                b'}' if is_object => {}
                b']' if !is_object => {}
                _ => return None,
            }
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// The position behind a key and its colon.
#[inline]
fn key(bytes: &[u8], at: usize) -> Option<usize> {
    let end = string(bytes, behind(bytes, at, b'"')?)?;
    behind(bytes, end, b':')
}

fn word(bytes: &[u8], at: usize, rest: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(rest).then_some(at + rest.len())
}

fn number(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(at + count)
    };
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at + 1 + sign)?;
    }
    // A digit behind a leading zero is no JSON.
    (!bytes.get(at).is_some_and(u8::is_ascii_digit)).then_some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// Reads a whole text.
    fn whole(text: &str) -> Option<&str> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.is_over().then_some(value)
    }

    fn agrees(text: &str) -> Result<(), TestCaseError> {
        let by_serde = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        prop_assert_eq!(whole(text), by_serde, "{}", text);
        Ok(())
    }

    #[test]
    fn a_value_ends_where_serde_json_ends_it() {
        let texts = [
            "0",
            "-0",
            "01",
            "-",
            "1.5e+3",
            "1.",
            "1e",
            "12 ",
            " 1",
            "tru",
            "true",
            "nulll",
            "\"a\\u00e9\"",
            "\"a\\u00g9\"",
            "\"\\x\"",
            "\"tab\t\"",
            "\"é\"",
            "\"",
            "[]",
            "[ ]",
            "[1,]",
            "[1 2]",
            "[,1]",
            "{}",
            "{ }",
            "{\"a\":1,}",
            "{\"a\" : 1 , \"b\":[{}]}",
            "{\"a\":1]",
            "[1}",
            "{a:1}",
            "{\"a\"}",
            "",
            "[[[]]]",
            "{\"long key with spaces\":\"a long value\\nwith \\\"escapes\\\" in it\"}",
        ];
        for text in texts {
            agrees(text).unwrap();
        }
    }

    #[test]
    fn what_is_too_deep_is_left_to_serde_json() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(whole(&nested(128)).is_some());
        assert_eq!(whole(&nested(130)), None);
    }

    #[test]
    fn the_members_of_an_object_are_read_one_by_one() {
        let text = r#" {"a": "x", "b":{"c":[1,"}"]},"d":null , "e":7} "#;
        let mut cursor = Cursor::new(text);
        let (mut keys, mut read) = (Vec::new(), Vec::new());
        let found = cursor.members(|key, value| {
            keys.push(key);
            read.push(if key == "a" { value.optional_text()? } else { value.present()? });
            Some(())
        });
        assert_eq!((found, cursor.is_over()), (Some(()), true));
        assert_eq!(keys, ["a", "b", "d", "e"]);
        assert_eq!(read, [Some("x"), Some(r#"{"c":[1,"}"]}"#), None, Some("7")]);
    }

    #[test]
    fn texts_with_escapes_are_left_to_serde_json() {
        for text in [r#"{"a\n":1}"#, r#"{"a":"\n"}"#] {
            assert_eq!(Cursor::new(text).members(|_, value| value.optional_text().map(|_| ())), None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted_or_refused_as_by_serde_json(
            text in r#"([\[\]{}:, "\\aunl01.eE+-]|"k":|"v"|true|null|\\u00e9){0,24}"#
        ) {
            agrees(&text)?;
        }

        #[test]
        fn a_document_with_one_byte_changed_is_accepted_or_refused_as_by_serde_json(
            at in 0usize..140, byte in 0u8..128
        ) {
            let document = r#"{"kind":"Event","list":[1,-2.5e3,{"deep":[true,false,null,"\u00e9\\ \""]}],"text":"a value that is longer than a word","empty":{}}"#;
            let mut bytes = document.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            agrees(std::str::from_utf8(&bytes).unwrap())?;
        }
    }
}
