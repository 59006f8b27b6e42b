//! Merges several inputs into one trace.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::detached::DetachedRecord;
use crate::error::{Problem, ReadError};
use crate::input::Input;
use crate::record::{Form, Record};
use crate::source::{FileInfo, Source};

/// Maximum number of files that are open at the same time. A process may have 1024 descriptors.
pub const MOST_FILES: usize = 256;

/// Reads several inputs as one trace.
///
/// Order of the records:
///
/// - Audit logs and native traces have times and are merged by them. Rotated logs, and the logs of several
///   API servers, become one log, in whatever order they are given.
/// - Watch streams have no times. They are merged by `resourceVersion`, with each other and with the files
///   above.
/// - The order within one file is kept. A key that goes back counts as the highest key before it. An audit log that
///   begins with its newest events is turned.
///
/// [`Reader::next`] reports an unreadable line, and reads on behind it, up to [`MOST_UNREADABLE`] times for each input. Any other
/// error ends its input, and is reported once; records before it, and all other inputs, are read. Empty inputs are an error
/// only if all of them are empty.
///
/// [`MOST_UNREADABLE`]: crate::MOST_UNREADABLE
pub struct Reader {
    sources: Vec<Source>,
    /// The errors of empty inputs, as long as all inputs are empty; the last one comes first.
    empty: Vec<ReadError>,
    /// The sources whose next record is not read yet.
    stale: Vec<usize>,
    /// The highest version in the files with times so far.
    latest: u64,
}

impl Reader {
    /// Opens the inputs. [`Reader::next`] reports the errors.
    #[must_use]
    pub fn open(inputs: &[Input]) -> Reader {
        Reader::open_until(inputs, &Arc::default())
    }

    /// Opens the inputs. Once `stop` is true, one of them ends if many documents that are no records follow each other.
    #[must_use]
    pub fn open_until(inputs: &[Input], stop: &Arc<AtomicBool>) -> Reader {
        let mut stdin_is_taken = false;
        let sources: Vec<Source> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| match refusal(index, input, &mut stdin_is_taken) {
                Some(problem) => Source::refused(input, problem),
                None => Source::open_until(input, stop),
            })
            .collect();
        // Reversed, because the list is emptied from its end: inputs are opened, and errors reported, in
        // their order.
        let stale = (0..sources.len()).rev().collect();
        Reader { sources, empty: Vec::new(), stale, latest: 0 }
    }

    /// Returns the next record, or `None` behind the last one.
    ///
    /// # Errors
    ///
    /// An input, or a line of one, cannot be read. Each error is returned once, and the next call reads on.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows from the reader; no iterator can lend"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Some((index, file)) = self.advance()? else { return Ok(None) };
        Ok(self.sources[index].record(file))
    }

    /// Returns the next record that can be read, or `None` behind the last one. Whoever judges the inputs reports the errors.
    pub fn next_readable(&mut self) -> Option<Record<'_>> {
        loop {
            match self.advance() {
                Ok(Some((index, file))) => return self.sources[index].record(file),
                Err(error) if error.reads_on => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Returns the next record together with its document, or `None` behind the last one.
    ///
    /// # Errors
    ///
    /// As [`Reader::next`].
    pub fn next_detached(&mut self) -> Result<Option<DetachedRecord>, ReadError> {
        let Some((index, file)) = self.advance()? else { return Ok(None) };
        Ok(self.sources[index].take_record(file))
    }

    /// Moves to the next record. Returns the position of its source, also as the number of its file.
    fn advance(&mut self) -> Result<Option<(usize, u32)>, ReadError> {
        while let Some(index) = self.stale.pop() {
            match self.sources[index].advance() {
                Err(error) if error.problem.is_emptiness() => self.empty.insert(0, error),
                Err(error) => {
                    self.stale.extend(error.reads_on.then_some(index));
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        let Some(index) = self.first() else {
            let is_one_read = self.sources.iter().any(|source| source.info.form.is_some());
            return if is_one_read { Ok(None) } else { self.empty.pop().map_or(Ok(None), Err) };
        };
        self.stale.push(index);
        let source = &self.sources[index];
        if source.info.form != Some(Form::Watch) {
            self.latest = self.latest.max(source.latest);
        }
        Ok(Some((index, u32::try_from(index).unwrap_or(u32::MAX))))
    }

    /// Facts about the inputs, in their order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &FileInfo> {
        self.sources.iter().map(|source| &source.info)
    }

    /// Number of bytes read, and size of all inputs as they are stored. The size is `None` while a pipe is
    /// open.
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

    /// The source with the earliest record.
    fn first(&self) -> Option<usize> {
        let ready = || self.sources.iter().enumerate().filter(|(_, source)| source.has_head());
        let is_watch = |source: &Source| source.info.form == Some(Form::Watch);
        let timed = ready().filter(|(_, source)| !is_watch(source)).min_by_key(|(_, source)| source.time);
        let watched = ready().filter(|(_, source)| is_watch(source)).min_by_key(|(_, source)| source.latest);
        match (timed, watched) {
            // A write precedes the watch event that shows it.
            (Some((index, timed)), Some((_, watched))) if timed.latest.max(self.latest) <= watched.latest => {
                Some(index)
            }
            (timed, watched) => watched.or(timed).map(|(index, _)| index),
        }
    }
}

/// The reason why an input cannot be opened beside the inputs before it.
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
        let refused: Vec<String> = inputs
            .iter()
            .enumerate()
            .filter_map(|(index, input)| refusal(index, input, &mut is_taken))
            .map(|problem| problem.to_string())
            .collect();
        assert_eq!(refused, ["standard input is named twice, and can be read once; name it once"]);
    }
}
