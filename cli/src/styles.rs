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
