//! Standard output and standard error: reports, notes and errors, wrapped to the terminal.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use jobcheck_judge::report::Exit;
use terminal_size::{Height, Width, terminal_size_of};

use crate::format::Format;
use crate::text::{clean, safe};

/// Columns below which a terminal is not believed.
const NARROWEST: usize = 40;

/// Prints a report. Returns `exit`, or the exit code of the failure if the report cannot be made or written.
///
/// The text form is wrapped to the terminal; the other forms are printed as they are.
pub fn print_report(rendered: anyhow::Result<String>, format: Format, exit: Exit) -> Exit {
    match rendered {
        Ok(text) if format == Format::Text => print_text(&text, exit),
        Ok(text) => print(&text, exit),
        Err(why) => {
            error(format!("internal error, please report it: {why:#}"));
            Exit::Internal
        }
    }
}

/// Prints a text for people, wrapped to the terminal. Returns as [`print()`] does.
pub fn print_text(text: &str, exit: Exit) -> Exit {
    match width() {
        Some(width) => print(&wrap(text, width), exit),
        None => print(text, exit),
    }
}

/// Prints a text, without colours where the output takes none.
///
/// Returns `exit`, or [`Exit::Environment`] if the text cannot be written. A closed pipe is no failure: `head`
/// closes it when it has read enough.
pub fn print(text: &str, exit: Exit) -> Exit {
    let mut out = AutoStream::auto(io::stdout().lock());
    let written = out.write_all(safe(text).as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => exit,
        Err(why) if why.kind() == ErrorKind::BrokenPipe => exit,
        Err(why) => {
            error(format!("cannot write the output: {why}"));
            Exit::Environment
        }
    }
}

/// Prints an error to standard error, in one line.
pub fn error(message: impl Display) {
    message_line("error", &clean(&message.to_string()));
}

/// Prints an error of several lines, such as one that quotes a log.
#[cfg(feature = "cluster")]
pub fn error_lines(message: impl Display) {
    message_line("error", &indented(&crate::text::clean_lines(&message.to_string())));
}

/// A text whose lines are indented, except for the first one. A server's message has lines, too, and none may look like
/// another message of this program.
#[cfg(feature = "cluster")]
fn indented(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push_str(if line.is_empty() || line.starts_with("  ") { "\n" } else { "\n  " });
        out.push_str(line);
    }
    out
}

/// Prints a note to standard error, in one line.
pub fn note(message: impl Display) {
    message_line("note", &clean(&message.to_string()));
}

/// Prints a text to standard error as it is.
pub fn print_to_stderr(text: &str) {
    // As for a message: the terminal may have been closed.
    let _ = AutoStream::auto(io::stderr().lock()).write_all(safe(text).as_bytes());
}

fn message_line(kind: &str, message: &str) {
    let line = format!("{kind}: {message}\n");
    let line = match columns(terminal_size_of(io::stderr())) {
        Some(width) => wrap(&line, width),
        None => line,
    };
    // A message that cannot be shown, because the terminal was closed, must not end the program.
    let _ = AutoStream::auto(io::stderr().lock()).write_all(line.as_bytes());
}

/// The columns of standard output: those of the terminal, else those of the variable `COLUMNS`. `None` for no limit.
pub fn width() -> Option<usize> {
    columns(terminal_size_of(io::stdout()))
}

fn columns(terminal: Option<(Width, Height)>) -> Option<usize> {
    let of_terminal = terminal.map(|(Width(columns), _)| usize::from(columns));
    let columns = of_terminal.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
    columns.filter(|columns| *columns >= NARROWEST)
}

/// Breaks every line that is longer than `width` at a space, so that no word is cut.
///
/// The rest of a line is indented to its last column of text: where two spaces separate it from what precedes. If that
/// column begins in the right half, the rest is indented by four more spaces than the line. Escape sequences have no
/// width.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if columns_in(line.trim_end()) <= width {
            out.push_str(line);
        } else {
            wrap_line(line, width, &mut out);
        }
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let indent = " ".repeat(hanging_indent(line, width));
    let (body, end) = line.split_at(line.trim_end().len());
    let (mut used, mut is_fresh) = (0, true);
    for word in body.split_inclusive(' ') {
        let (text, spaces) = word.split_at(word.trim_end_matches(' ').len());
        let columns = columns_in(text);
        if !is_fresh && columns > 0 && used + columns > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&indent);
            used = indent.len();
        }
        is_fresh &= columns == 0;
        out.push_str(text);
        out.push_str(spaces);
        used += columns + spaces.len();
    }
    out.push_str(end);
}

/// The column to which the rest of a long line is indented.
fn hanging_indent(line: &str, width: usize) -> usize {
    let plain = strip_str(line).to_string();
    let margin = plain.len() - plain.trim_start().len();
    if let Some(kind) = ["note: ", "error: "].into_iter().find(|kind| plain.starts_with(kind)) {
        return kind.len();
    }
    let columns: Vec<char> = plain.chars().collect();
    let is_start = |at: &usize| columns[*at] != ' ' && columns[at - 1] == ' ' && columns[at - 2] == ' ';
    let last = (margin + 2..columns.len().min(width)).rfind(is_start);
    last.filter(|column| *column <= width / 2).unwrap_or(margin + 4)
}

/// The columns of a text on a terminal. Escape sequences have none.
fn columns_in(text: &str) -> usize {
    strip_str(text).map(|part| part.chars().count()).sum()
}

/// A number with a noun: `1 pod`, `2 pods`.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "cluster")]
    #[test]
    fn no_line_of_a_server_begins_like_a_message() {
        let said = "refused: no\nerror: forged\n  kubectl create role\n\nnote: forged";
        assert_eq!(indented(said), "refused: no\n  error: forged\n  kubectl create role\n\n  note: forged");
    }

    #[test]
    fn a_short_line_stays_as_it_is() {
        let text = "  one   two\n\nthree";
        assert_eq!(wrap(text, 40), text);
    }

    #[test]
    fn a_long_line_is_broken_between_words_and_never_within_one() {
        assert_eq!(wrap("alpha beta gamma delta\n", 12), "alpha beta\n    gamma\n    delta\n");
        assert_eq!(
            wrap("/a/path/longer/than/the/terminal x\n", 12),
            "/a/path/longer/than/the/terminal\n    x\n"
        );
    }

    #[test]
    fn the_rest_of_a_line_is_indented_to_its_last_column() {
        let text = "  expected  a pod whose end is stored\n";
        assert_eq!(wrap(text, 28), "  expected  a pod whose end\n            is stored\n");
        assert_eq!(wrap("note: one two three\n", 14), "note: one two\n      three\n");
        let row = "a very wide first column  b c d e\n";
        assert_eq!(wrap(row, 28), "a very wide first column  b\n    c d e\n");
    }

    #[test]
    fn colours_have_no_width() {
        assert_eq!(wrap("\u{1b}[1malpha\u{1b}[0m beta\n", 10), "\u{1b}[1malpha\u{1b}[0m beta\n");
    }

    #[test]
    fn one_of_a_thing_is_no_plural() {
        assert_eq!((count(1_u64, "pod"), count(2_usize, "pod")), ("1 pod".to_owned(), "2 pods".to_owned()));
    }
}
