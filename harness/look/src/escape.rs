//! Text of others on the page: in HTML it stays text, in a script it stays data, and nobody is deceived by what is invisible.

use std::fmt::Write as _;

/// A text for HTML, as content or in an attribute.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_visible(c) => out.push(c),
            c => out.extend(c.escape_default()),
        }
    }
    out
}

/// JSON for an element `script`: nothing in it ends the element, and all of it is ASCII.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if c.is_ascii() => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out
}

/// A letter, a digit, or one of the other characters that this page shows as they are.
fn is_visible(c: char) -> bool {
    let is_filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    c == ' ' || c.is_ascii_graphic() || (c.is_alphanumeric() && !is_filler) || "–…→·×≥≤“”‘’".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "</script><img src=x onerror=alert(1)>&amp;\"'\u{202e}\u{2028}\u{0}\u{7f}\u{200b}é寸";

    #[test]
    fn markup_stays_text_and_the_invisible_is_shown() {
        assert_eq!(
            html(HOSTILE),
            "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;&quot;&#39;\\u{202e}\\u{2028}\\u{0}\\u{7f}\\u{200b}é寸"
        );
    }

    #[test]
    fn json_keeps_its_meaning_and_ends_no_script() {
        let text = json(&serde_json::to_string(HOSTILE).unwrap());
        assert!(text.is_ascii() && !text.contains(['<', '>', '&', '\u{7f}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE);
    }
}
