//! What goes on while a cluster is started, on standard error.

use std::io::IsTerminal;
use std::time::Duration;

use anstream::eprintln;
use indicatif::{ProgressBar, ProgressStyle};

/// Time between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// A spinner on a terminal, lines elsewhere.
pub struct Progress {
    is_wanted: bool,
    spinner: Option<ProgressBar>,
}

impl Progress {
    /// Nothing yet.
    pub fn new(is_wanted: bool) -> Progress {
        let spinner = (is_wanted && std::io::stderr().is_terminal()).then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        Progress { is_wanted, spinner }
    }

    /// Says what takes long.
    pub fn say(&self, what: &str) {
        self.show(what);
        if self.is_wanted && self.spinner.is_none() {
            eprintln!("note: {what}");
        }
    }

    /// Says what goes on, on a terminal alone.
    pub fn show(&self, what: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(what.to_owned());
            spinner.reset_elapsed();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}
