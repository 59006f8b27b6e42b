//! The progress of a replay on standard error, if that is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::line;

/// The time after which the bar appears.
const DELAY: Duration = Duration::from_millis(300);

/// A bar with the bytes that have been read.
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    /// A bar. Hidden unless it is wanted and standard error is a terminal.
    pub fn new(is_wanted: bool) -> Progress {
        Progress { bar: line(is_wanted, "{spinner} {bytes}"), began: Instant::now() }
    }

    /// Shows the bytes that have been read, and the bytes of all inputs if they are known.
    pub fn show(&self, read: u64, total: Option<u64>) {
        if self.bar.is_hidden() || self.began.elapsed() < DELAY {
            return;
        }
        if let Some(total) = total {
            self.bar.set_length(total);
            if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {bytes} of {total_bytes}, {eta} left")
            {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(read);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
