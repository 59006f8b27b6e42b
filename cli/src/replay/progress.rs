//! Progress on standard error, where that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a replay may take before a bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar of bytes read, if anybody is there to see it.
pub struct Progress {
    bar: ProgressBar,
    began: std::time::Instant,
}

impl Progress {
    /// A bar, hidden unless it is wanted and standard error is a terminal.
    pub fn new(wanted: bool) -> Progress {
        let is_seen = wanted && std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Progress { bar: ProgressBar::with_draw_target(None, target), began: std::time::Instant::now() }
    }

    /// Bytes read, and bytes there are.
    pub fn show(&self, read: u64, total: Option<u64>) {
        if self.bar.is_hidden() || self.began.elapsed() < PATIENCE {
            return;
        }
        let template = match total {
            Some(total) => {
                self.bar.set_length(total);
                "[{bar:30}] {bytes} of {total_bytes}, {eta} left"
            }
            None => "{spinner} {bytes}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_position(read);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
