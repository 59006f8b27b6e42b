//! Reads several inputs as one trace.

use crate::error::{Problem, ReadError};
use crate::input::Input;
use crate::record::{Form, Record};
use crate::source::{FileInfo, Source};

/// The most files that are open at once; a process may have 1024 descriptors.
pub const MOST_FILES: usize = 256;

/// Reads several inputs as one trace, in the order in which things happened as far as the inputs tell.
///
/// Files that have times (audit logs, native traces) are merged by them, whatever order they are given in, so
/// that rotated logs and the logs of several API servers become one. Watch streams have no times; they are
/// merged, with one another and with the former, by resourceVersion. Within one file the order of the file is
/// kept: a key that goes back counts as the highest before it.
///
/// An input that cannot be read further is reported once by [`Reader::next`], and then counts as ended: the
/// others, and what was readable before, are not lost.
pub struct Reader {
    sources: Vec<Source>,
    /// The sources whose next record is not read yet.
    stale: Vec<usize>,
    /// The highest version that any file with times has shown.
    latest: u64,
}

impl Reader {
    /// Opens inputs. What is wrong with them is told by [`Reader::next`].
    #[must_use]
    pub fn open(inputs: &[Input]) -> Reader {
        let mut stdin_is_taken = false;
        let sources: Vec<Source> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| match refusal(index, input, &mut stdin_is_taken) {
                Some(problem) => Source::refused(input, problem),
                None => Source::open(input),
            })
            .collect();
        // Taken from the end, so that the inputs are begun, and complained of, in their order.
        let stale = (0..sources.len()).rev().collect();
        Reader { sources, stale, latest: 0 }
    }

    /// The next record; `None` after the last. Never the same error twice.
    ///
    /// # Errors
    ///
    /// Where an input cannot be read further.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows from the reader; no iterator can lend"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        while let Some(index) = self.stale.pop() {
            self.sources[index].advance()?;
        }
        let Some(index) = self.first() else { return Ok(None) };
        self.stale.push(index);
        let source = &self.sources[index];
        if source.info.form != Some(Form::Watch) {
            self.latest = self.latest.max(source.latest);
        }
        Ok(source.record(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// What is known of the inputs, in their order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &FileInfo> {
        self.sources.iter().map(|source| &source.info)
    }

    /// Bytes read, and bytes there are, of the inputs as they are stored; `None` while one is a pipe.
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        let (mut read, mut total) = (0, Some(0));
        for source in &self.sources {
            let (source_read, source_total) = source.progress();
            read += source_read;
            total = total.zip(source_total).map(|(sum, bytes)| sum + bytes);
        }
        (read, total)
    }

    /// The source whose record comes first.
    fn first(&self) -> Option<usize> {
        let ready = || self.sources.iter().enumerate().filter(|(_, source)| source.has_head());
        let is_watch = |source: &Source| source.info.form == Some(Form::Watch);
        let timed = ready().filter(|(_, source)| !is_watch(source)).min_by_key(|(_, source)| source.time);
        let watched = ready().filter(|(_, source)| is_watch(source)).min_by_key(|(_, source)| source.latest);
        match (timed, watched) {
            // A write comes before the watch event that shows it.
            (Some((index, timed)), Some((_, watched))) if timed.latest.max(self.latest) <= watched.latest => {
                Some(index)
            }
            (timed, watched) => watched.or(timed).map(|(index, _)| index),
        }
    }
}

/// Why an input cannot be opened next to those before it.
fn refusal(index: usize, input: &Input, stdin_is_taken: &mut bool) -> Option<Problem> {
    if index >= MOST_FILES {
        return Some(Problem::TooMany { limit: MOST_FILES });
    }
    let is_again = *input == Input::Stdin && std::mem::replace(stdin_is_taken, true);
    is_again.then_some(Problem::StdinTwice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_can_be_named_once() {
        let mut is_taken = false;
        let file = Input::Path("file".into());
        let inputs = [&Input::Stdin, &file, &Input::Stdin, &file];
        let told: Vec<String> = inputs
            .iter()
            .enumerate()
            .filter_map(|(index, input)| refusal(index, input, &mut is_taken))
            .map(|problem| problem.to_string())
            .collect();
        assert_eq!(told, ["standard input was named twice, and can be read once"]);
    }
}
