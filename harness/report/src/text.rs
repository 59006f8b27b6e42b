//! Text for terminals and logs, safe whatever a trace, a scenario, a file name or an API server contains.
//!
//! Names and messages come from others. A control character in them could rewrite the terminal, and a line break could
//! forge a line of the report. Invisible characters, and those that change the direction of text, could hide the rest.
//!
//! | layer | escapes |
//! | --- | --- |
//! | [`clean`], for one value | all of them, line breaks and colours included |
//! | [`Text`], for the lines of a report | the same, but for the colours of this program |
//! | [`safe`], for all that is printed | the same, but for line breaks, tabs and the colours of this program |
//!
//! A test over the sources keeps every other way to a terminal closed.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::path::Path;

/// The sequences that the styles of this program and of clap consist of. None of them can hide text.
const COLOURS: [&str; 10] = ["0", "1", "2", "4", "31", "32", "33", "34", "35", "36"];

/// Returns whether a character is invisible, ends a line, changes the direction of text, or controls a terminal.
///
/// Spaces other than the usual one count as invisible. Private use has no agreed picture, so that it counts, too.
fn is_unsafe(c: char) -> bool {
    c.is_control() || (c.is_whitespace() && c != ' ') || is_invisible(c) || is_private(c)
}

/// Returns whether a character is a format control (the category Cf), a selector of variants, a filler, or no character.
fn is_invisible(c: char) -> bool {
    let is_no_character = u32::from(c) & 0xfffe == 0xfffe;
    is_no_character
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffc}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1345f}'
                | '\u{16fe4}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d159}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns whether a character is for private use: in the basic plane, or in planes 15 and 16.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// A value of a trace, a scenario, a file name or an answer, in one line: every unsafe character is escaped.
pub fn clean(text: &str) -> String {
    escaped(text, |_| false, Colours::Escaped).into_owned()
}

/// The number of characters of a value in an explanation, such as a list of indexes.
const LONGEST: usize = 1_000;

/// A value as [`clean`] returns it. The rest of a long one is left out; the other forms of a report have it.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => clean(text),
        Some((end, _)) => {
            format!("{}… ({} more bytes; -o json has all)", clean(&text[..end]), text.len() - end)
        }
    }
}

/// The same for a text of several lines, which stay lines.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// A path as a message shows it.
pub fn of_path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

/// All that is printed passes here: line breaks, tabs and the colours of this program stay.
pub fn safe(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'), Colours::Kept)
}

/// A text of several lines without the colours of this program. All other unsafe characters are escaped.
pub fn uncoloured(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n', Colours::Removed)
}

/// A word of a command line as a shell reads it. Unsafe characters are escaped as bash and zsh read them.
pub fn quoted(word: &str) -> String {
    match shlex::try_quote(word) {
        Ok(plain) if !word.chars().any(is_unsafe) => plain.into_owned(),
        Ok(_) | Err(_) => format!("$'{}'", word.chars().map(in_dollar_quotes).collect::<String>()),
    }
}

fn in_dollar_quotes(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_unsafe(c) => c
            .encode_utf8(&mut [0; 4])
            .bytes()
            .fold(String::new(), |word, byte| word + &format!("\\x{byte:02x}")),
        c => c.to_string(),
    }
}

/// A JSON text with the unsafe characters of its strings escaped. They occur nowhere else.
pub fn in_json(text: String) -> String {
    in_strings(text, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// A JSON text with the unsafe characters of its strings escaped as YAML, too, reads them.
pub fn in_yaml(text: String) -> String {
    in_strings(text, |c, out| {
        let _ = match u32::from(c) {
            code @ ..=0xffff => write!(out, "\\u{code:04x}"),
            code => write!(out, "\\U{code:08x}"),
        };
    })
}

/// Returns whether a text of several lines has an unsafe character.
pub fn has_unsafe(text: &str) -> bool {
    text.chars().any(|c| c != '\n' && is_unsafe(c))
}

fn in_strings(text: String, escape: impl Fn(char, &mut String)) -> String {
    if !has_unsafe(&text) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if c != '\n' && is_unsafe(c) { escape(c, &mut out) } else { out.push(c) }
    }
    out
}

/// The lines of a report. Each `writeln!` is one line, whatever its values contain.
#[derive(Default)]
pub struct Text(String);

impl Text {
    /// Adds what `write!` and `writeln!` pass: line breaks at the beginning and one at the end stay.
    pub fn write_fmt(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        let line = line.to_string();
        let body = line.trim_start_matches('\n');
        self.0.extend(std::iter::repeat_n('\n', line.len() - body.len()));
        let (body, end) = body.strip_suffix('\n').map_or((body, ""), |body| (body, "\n"));
        self.0.push_str(&escaped(body, |_| false, Colours::Kept));
        self.0.push_str(end);
        Ok(())
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }
}

/// The treatment of the colours of this program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colours {
    Kept,
    Removed,
    Escaped,
}

/// Escapes unsafe characters other than those of `keeps`.
fn escaped(text: &str, keeps: impl Fn(char) -> bool, colours: Colours) -> Cow<'_, str> {
    let is_foreign = |c: char| is_unsafe(c) && !keeps(c);
    if !text.chars().any(is_foreign) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour(rest).filter(|_| colours != Colours::Escaped);
        match colour {
            Some(colour) if colours == Colours::Kept => out.push_str(colour),
            Some(_) => {}
            None if is_foreign(c) => out.extend(c.escape_default()),
            None => out.push(c),
        }
        rest = &rest[colour.map_or(c.len_utf8(), str::len)..];
    }
    Cow::Owned(out)
}

/// The colour with which a text begins.
fn colour(text: &str) -> Option<&str> {
    let code = text.strip_prefix("\u{1b}[")?;
    let code = &code[..code.find('m').filter(|end| *end <= 2)?];
    COLOURS.contains(&code).then(|| &text[.."\u{1b}[".len() + code.len() + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOLD: &str = "\u{1b}[1m";
    const PLAIN: &str = "\u{1b}[0m";

    /// Text that rewrites a terminal, forges a line, hides, or changes direction.
    const HOSTILE: &str = "a\u{1b}[2J\u{9b}8m\r\n\u{7f}\u{202e}\u{200b}\u{2028}\u{feff}\u{e0041}z";

    #[test]
    fn a_value_becomes_one_visible_line() {
        let shown = clean(HOSTILE);
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert!(shown.starts_with("a\\u{1b}[2J\\u{9b}8m\\r\\n\\u{7f}\\u{202e}"), "{shown}");
        assert_eq!(clean("\u{1b}[1m"), "\\u{1b}[1m");
        assert_eq!(clean("Größe 寸 👩"), "Größe 寸 👩");
    }

    #[test]
    fn what_has_no_picture_is_escaped() {
        let ranges = [
            ('\u{a0}', '\u{a0}'),
            ('\u{2000}', '\u{200a}'),
            ('\u{202f}', '\u{202f}'),
            ('\u{205f}', '\u{205f}'),
            ('\u{2800}', '\u{2800}'),
            ('\u{3000}', '\u{3000}'),
            ('\u{e000}', '\u{f8ff}'),
            ('\u{fffc}', '\u{fffc}'),
            ('\u{13430}', '\u{1345f}'),
            ('\u{16fe4}', '\u{16fe4}'),
            ('\u{1d159}', '\u{1d159}'),
            ('\u{1fffe}', '\u{1ffff}'),
            ('\u{f0000}', '\u{10ffff}'),
        ];
        for c in ranges.into_iter().flat_map(|(first, last)| first..=last) {
            let escaped = format!("a\\u{{{:x}}}b", u32::from(c));
            assert_eq!(clean(&format!("a{c}b")), escaped);
            assert_eq!(safe(&format!("a{c}b")), escaped);
        }
        let visible = "a b …–→ ä é 寸 ا ⠁ 𓀀 𝅘 \u{fffd}";
        assert_eq!(clean(visible), visible);
    }

    #[test]
    fn the_lines_of_an_error_stay_lines() {
        assert_eq!(clean_lines("a\u{7}\nb"), "a\\u{7}\nb");
    }

    #[test]
    fn the_colours_of_this_program_are_printed_and_no_others() {
        let painted = format!(
            "\u{1b}[31m\u{1b}[1ma{PLAIN} {BOLD}b{PLAIN} \u{1b}[2mc{PLAIN} \u{1b}[32md{PLAIN} \u{1b}[33me{PLAIN}\n\tf"
        );
        assert_eq!(safe(&painted), painted);
        let (concealed, long) = ("\u{1b}[8mx", "\u{1b}[31;8mx");
        assert_eq!(uncoloured(&format!("{painted}{concealed}")), "a b c d e\n\\tf\\u{1b}[8mx");
        assert_eq!(safe(concealed), "\\u{1b}[8mx");
        assert_eq!(safe(long), "\\u{1b}[31;8mx");
        assert_eq!(safe("\u{1b}"), "\\u{1b}");
        assert_eq!(safe("\u{1b}[é"), "\\u{1b}[é");
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(short("3,5\n"), "3,5\\n");
        let long = "ä".repeat(5_000);
        assert_eq!(short(&long), format!("{}… (8000 more bytes; -o json has all)", "ä".repeat(1_000)));
    }

    #[test]
    fn a_value_forges_no_line_of_a_report() {
        let mut text = Text::default();
        let _ = writeln!(text, "\n{BOLD}{:<8}{PLAIN}|", "x\ny");
        let _ = write!(text, "a: {HOSTILE}");
        let _ = writeln!(text);
        let text = text.finish();
        assert!(text.starts_with(&format!("\n{BOLD}x\\ny     {PLAIN}|\na: a\\u{{1b}}[2J")), "{text:?}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn json_and_yaml_keep_their_meaning() {
        let json = in_json(serde_json::to_string_pretty(&[HOSTILE]).unwrap());
        assert!(!has_unsafe(&json), "{json:?}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [HOSTILE]);
        let yaml = in_yaml(serde_json::to_string_pretty(&[HOSTILE]).unwrap());
        assert!(!has_unsafe(&yaml), "{yaml:?}");
        assert_eq!(serde_saphyr::from_str::<Vec<String>>(&yaml).unwrap(), [HOSTILE]);
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_one() {
        assert_eq!(quoted("/home/ada/.local/state"), "/home/ada/.local/state");
        assert_eq!(shlex::split(&quoted("it's here.jsonl")).unwrap(), ["it's here.jsonl"]);
        assert_eq!(quoted("it's\u{1b}[2J\u{202e}"), "$'it\\'s\\x1b[2J\\xe2\\x80\\xae'");
    }
}
