//! The report's words about lines and files that could not be read.

use std::fmt;

use jobcheck_judge::report::InputError;

use crate::output::count;

/// The parts of inputs that could not be read.
pub struct Unread {
    /// Number of inputs that ended at an error.
    pub files: usize,
    /// Number of lines behind which the input was read on.
    pub lines: usize,
}

impl Unread {
    pub fn of<'a>(errors: impl Iterator<Item = &'a InputError>) -> Unread {
        let (lines, files): (Vec<_>, Vec<_>) = errors.partition(|error| error.reads_on);
        Unread { files: files.len(), lines: lines.len() }
    }

    pub fn is_nothing(&self) -> bool {
        self.files == 0 && self.lines == 0
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = (self.files > 0).then(|| format!("{} not read to the end", count(self.files, "file")));
        let lines = (self.lines > 0).then(|| format!("{} not readable", count(self.lines, "line")));
        let parts: Vec<String> = files.into_iter().chain(lines).collect();
        f.write_str(&parts.join(", "))
    }
}
