//! The progress of starting a cluster, on standard error.

use std::time::Duration;

use indicatif::ProgressBar;

use crate::output;
use crate::progress::line;

/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// A spinner on a terminal, and lines elsewhere.
pub struct Progress {
    is_wanted: bool,
    spinner: ProgressBar,
}

impl Progress {
    /// A spinner without a message.
    pub fn new(is_wanted: bool) -> Progress {
        let spinner = line(is_wanted, "{spinner} {elapsed} {wide_msg}");
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(TICK);
        }
        Progress { is_wanted, spinner }
    }

    /// Reports a step that takes long, also where there is no terminal.
    pub fn note(&self, message: &str) {
        self.show(message);
        if self.is_wanted && self.spinner.is_hidden() {
            output::note(message);
        }
    }

    /// Shows the current step on a terminal.
    pub fn show(&self, message: &str) {
        self.spinner.set_message(message.to_owned());
        self.spinner.reset_elapsed();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.spinner.finish_and_clear();
    }
}
