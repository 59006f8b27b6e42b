//! The progress of a recording on standard error, if that is a terminal.

use indicatif::ProgressBar;
use jobcheck_record::{Notice, Tally};

use crate::output::{self, count};
use crate::progress::line;

/// A line with the extent of the recording so far.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line. Hidden unless it is wanted and standard error is a terminal.
    pub fn new(is_wanted: bool) -> Progress {
        Progress { bar: line(is_wanted, "{elapsed} {msg}; Ctrl-C ends it") }
    }

    /// Shows the news of the recorder.
    pub fn hear(&self, news: &Notice<'_>) {
        match news {
            Notice::Progress(tally) => self.bar.set_message(summary(tally)),
            Notice::Note(note) => self.note(note),
        }
    }

    /// Prints a note above the line.
    pub fn note(&self, note: &str) {
        self.bar.suspend(|| output::note(note));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The extent of a recording: `1 Job and 2 pods in 20 records, 1 gap`.
pub fn summary(tally: &Tally) -> String {
    let (jobs, pods) = (count(tally.jobs(), "Job"), count(tally.pods(), "pod"));
    let mut text = format!("{jobs} and {pods} in {}", count(tally.records, "record"));
    if tally.gaps > 0 {
        text += &format!(", {}", count(tally.gaps, "gap"));
    }
    text
}
