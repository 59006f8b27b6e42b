//! Writing to standard output.

use std::io::{self, ErrorKind, Write};

use anstream::{AutoStream, eprintln};
use jobcheck_judge::report::Exit;

/// Prints a text; colours are taken out where nobody wants them. Returns `exit`, unless the text could not be
/// written. A reader that has seen enough, such as `head`, is no error.
pub fn print(text: &str, exit: Exit) -> Exit {
    let mut out = AutoStream::auto(io::stdout().lock());
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => exit,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit,
        Err(error) => {
            eprintln!("error: cannot write the output: {error}");
            Exit::Environment
        }
    }
}

/// A text of a trace, fit for a terminal: characters that could move its cursor, or turn the order of others around, are
/// written out.
pub fn clean(text: &str) -> String {
    let moves = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.chars().any(moves) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if moves(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn control_characters_of_a_trace_do_not_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(clean("Größe"), "Größe");
        assert_eq!(clean("a\u{202e}b"), "a\\u{202e}b");
    }
}
