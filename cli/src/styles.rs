//! The styles of reports.

use anstyle::{AnsiColor, Style};

/// Titles and names.
pub const BOLD: Style = Style::new().bold();
/// Details.
pub const DIM: Style = Style::new().dimmed();
/// A result that holds.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// A result that is broken.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// A result that is not decided.
pub const OPEN: Style = AnsiColor::Yellow.on_default();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::safe;

    #[test]
    fn the_escapes_of_texts_keep_every_style() {
        let painted =
            format!("{BAD}a{BAD:#} {BOLD}b{BOLD:#} {DIM}c{DIM:#} {GOOD}d{GOOD:#} {OPEN}e{OPEN:#}\n\tf");
        assert_eq!(safe(&painted), painted);
    }
}
