//! Letters that a client has escaped in JSON.
//!
//! Requests are long, so some of their fields are searched for as text. A client may write any character as `\u…`.

use std::borrow::Cow;

/// The text with the printable ASCII characters that are escaped as `\u00…`. A quote and a backslash stay escaped, so that
/// the structure is the same.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u00") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let end = match letter(escape) {
            Some(letter) => {
                out.push(letter);
                6
            }
            None => {
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                out.push_str(&escape[..end]);
                end
            }
        };
        rest = &escape[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The printable character, other than a quote and a backslash, with which this escape begins.
fn letter(escape: &str) -> Option<char> {
    let code = u8::from_str_radix(escape.strip_prefix("\\u00")?.get(..2)?, 16).ok()?;
    let is_plain = (code.is_ascii_graphic() || code == b' ') && code != b'"' && code != b'\\';
    is_plain.then(|| char::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_plain_and_the_structure_stays() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"\u0024patch":"\u006d\u0045"}"#, r#"{"$patch":"mE"}"#),
            (r#"{"a":"\u0022\u005c\u000a\u00e9"}"#, r#"{"a":"\u0022\u005c\u000a\u00e9"}"#),
            (r#"{"a":"\\u0041\\\u0041"}"#, r#"{"a":"\\u0041\\A"}"#),
            (r#"{"a":"é\u00"#, r#"{"a":"é\u00"#),
            (r"\u00+1é\", r"\u00+1é\"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
