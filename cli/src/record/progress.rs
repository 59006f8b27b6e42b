//! How far a recording is, on standard error.

use std::io::IsTerminal;

use anstream::eprintln;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jobcheck_record::{Notice, Tally};

use crate::output::clean;

/// A line that is kept up to date, if anybody is there to see it.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Hidden unless it is wanted and standard error is a terminal.
    pub fn new(is_wanted: bool) -> Progress {
        let is_seen = is_wanted && std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {msg}; Ctrl-C ends it") {
            bar.set_style(style);
        }
        Progress { bar }
    }

    /// Shows what is new.
    pub fn hear(&self, news: &Notice<'_>) {
        match news {
            Notice::Progress(tally) => self.bar.set_message(told(tally)),
            Notice::Note(note) => self.note(note),
        }
    }

    /// Says what a user should know.
    pub fn note(&self, note: &str) {
        self.bar.suspend(|| eprintln!("note: {}", clean(note)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What was recorded.
pub fn told(tally: &Tally) -> String {
    let many = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let [jobs, pods] = [tally.jobs(), tally.pods()].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    let mut text =
        format!("{} and {} in {}", many(jobs, "Job"), many(pods, "pod"), many(tally.records, "record"));
    let gaps = u64::try_from(tally.gaps.len()).unwrap_or(u64::MAX);
    if gaps > 0 {
        text += &format!(", {}", many(gaps, "gap"));
    }
    text
}
