//! How reports are painted.

use anstyle::{AnsiColor, Style};

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
/// What holds.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is broken.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What is not decided.
pub const OPEN: Style = AnsiColor::Yellow.on_default();
