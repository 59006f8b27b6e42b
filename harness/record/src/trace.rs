//! The output of a recording: a native trace.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jobcheck_traces::{Body, Header, Mark, MarkKind, Redactor, Resource, Writer, files};

use crate::error::Error;
use crate::tally::Tally;

/// The maximum number of records that are buffered.
const BATCH: u64 = 1_000;

/// The output of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// If true, an existing file is overwritten.
        force: bool,
    },
}

/// A native trace that is being written. The file consists of complete lines at any time, also after a failed write.
#[derive(Debug)]
pub struct Trace {
    name: String,
    writer: Writer<Lines>,
    tally: Tally,
    /// The number of records that were flushed.
    flushed: u64,
    redactor: Option<Redactor>,
}

impl Trace {
    /// Creates the output, and writes the header and the mark `start`.
    ///
    /// # Errors
    ///
    /// The file exists, or cannot be written.
    pub fn begin(target: &Target, header: &Header) -> Result<Trace, Error> {
        let (name, out) = match target {
            Target::Stdout => ("standard output".to_owned(), Out::Stdout),
            Target::File { path, force } => (path.display().to_string(), open(path, *force)?),
        };
        let failed = |source| Error::Output { name: name.clone(), source, lines: 0 };
        let lines = Lines { out, waiting: Vec::new(), complete: 0, count: 0 };
        let writer = Writer::new(lines, header).map_err(failed)?;
        let mut trace = Trace { name, writer, tally: Tally::default(), flushed: 0, redactor: None };
        trace.mark(MarkKind::Start)?;
        trace.flush()?;
        Ok(trace)
    }

    /// Takes secrets out of all objects that are written from now on.
    #[must_use]
    pub fn redacted(self, redactor: Redactor) -> Trace {
        Trace { redactor: Some(redactor), ..self }
    }

    /// The counts so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Writes the mark of a gap at the end of a recording that had to end early.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn cut(&mut self, reason: String) -> Result<(), Error> {
        self.gap(None, reason)
    }

    /// Writes the mark of a gap in the changes of a resource, or of both resources.
    pub(crate) fn gap(&mut self, resource: Option<Resource>, reason: String) -> Result<(), Error> {
        self.tally.gaps += 1;
        self.mark(MarkKind::Gap { resource, reason, gone: Vec::new() })
    }

    /// Writes the mark of a gap in the changes of a resource, in which the objects with these UIDs were deleted.
    pub(crate) fn gap_with_deletions(
        &mut self,
        resource: Resource,
        reason: String,
        gone: Vec<String>,
    ) -> Result<(), Error> {
        self.tally.gaps += 1;
        gone.iter().for_each(|uid| self.tally.forget(resource, uid));
        self.mark(MarkKind::Gap { resource: Some(resource), reason, gone })
    }

    /// Writes the mark of a gap again, which is counted already.
    pub(crate) fn gap_lasts(&mut self, resource: Resource, reason: String) -> Result<(), Error> {
        self.mark(MarkKind::Gap { resource: Some(resource), reason, gone: Vec::new() })
    }

    pub(crate) fn write(&mut self, body: &Body<'_>) -> Result<(), Error> {
        let begin = self.writer.get_ref().waiting.len();
        let mut written = self.writer.write(body);
        if let (Ok(()), Some(redactor)) = (&written, &self.redactor) {
            written = self.writer.get_mut().redact(begin, redactor);
        }
        self.tally.count(body);
        self.checked(written)?;
        if self.tally.records >= self.flushed + BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes the buffered lines to the file.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.writer.flush();
        self.checked(flushed)?;
        self.flushed = self.tally.records;
        Ok(())
    }

    /// Writes the mark `end`, and closes the output.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn end(mut self) -> Result<Tally, Error> {
        self.mark(MarkKind::End)?;
        self.flush()?;
        Ok(self.tally)
    }

    fn mark(&mut self, kind: MarkKind) -> Result<(), Error> {
        let mark = Mark { at: Some(now()), kind };
        let written = self.writer.write(&Body::Mark(&mark));
        self.checked(written)
    }

    fn checked(&self, written: io::Result<()>) -> Result<(), Error> {
        let lines = self.writer.get_ref().count;
        written.map_err(|source| Error::Output { name: self.name.clone(), source, lines })
    }
}

/// The current time, in microseconds since the epoch.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_microsecond()
}

/// Devices and pipes cannot be overwritten, so that `force` is not needed for them.
fn open(path: &Path, force: bool) -> Result<Out, Error> {
    let failed = |source| Error::Output { name: path.display().to_string(), source, lines: 0 };
    let is_stream = |kind: std::fs::FileType| kind.is_char_device() || kind.is_fifo() || kind.is_socket();
    if std::fs::metadata(path).is_ok_and(|data| is_stream(data.file_type())) {
        return File::options().write(true).open(path).map(Out::Stream).map_err(failed);
    }
    if force {
        return files::create(path).map(Out::File).map_err(failed);
    }
    files::create_new(path).map(Out::File).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
        _ => failed(error),
    })
}

#[derive(Debug)]
enum Out {
    Stdout,
    Stream(File),
    File(File),
}

/// A buffer of lines that are written together.
#[derive(Debug)]
struct Lines {
    out: Out,
    waiting: Vec<u8>,
    /// The size of the complete lines in the file, and their number.
    complete: u64,
    count: u64,
}

impl Lines {
    /// Replaces the waiting line that begins here. A line that cannot be read is dropped.
    fn redact(&mut self, begin: usize, redactor: &Redactor) -> io::Result<()> {
        let whole = self.waiting.split_off(begin);
        let line = std::str::from_utf8(&whole).map_err(io::Error::other)?;
        let line = redactor.line(line).map_err(io::Error::other)?;
        self.waiting.extend(line.bytes().chain([b'\n']));
        Ok(())
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        let result = match &mut self.out {
            Out::Stdout => write_all(&mut io::stdout().lock(), &self.waiting, &mut written),
            Out::Stream(file) | Out::File(file) => write_all(file, &self.waiting, &mut written),
        };
        let whole = self.waiting[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.complete += whole as u64;
        self.count += self.waiting[..whole].iter().filter(|byte| **byte == b'\n').count() as u64;
        self.waiting.clear();
        if let (Err(_), Out::File(file)) = (&result, &self.out) {
            // Half a line would make the rest of the file unreadable. If removing it fails too, nothing
            // more can be done.
            let _ = file.set_len(self.complete);
        }
        result
    }
}

/// Writes all bytes. `written` has the number of written bytes, also after an error.
fn write_all(out: &mut impl Write, bytes: &[u8], written: &mut usize) -> io::Result<()> {
    while *written < bytes.len() {
        match out.write(&bytes[*written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_file_is_overwritten_only_with_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let target = |force| Target::File { path: path.clone(), force };
        Trace::begin(&target(false), &Header::new()).unwrap().end().unwrap();
        let first = std::fs::read_to_string(&path).unwrap();
        assert_eq!(first.lines().count(), 3, "{first}");
        assert!(matches!(Trace::begin(&target(false), &Header::new()), Err(Error::Exists(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        Trace::begin(&target(true), &Header::new()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_pipe_that_is_closed_is_an_error_with_the_number_of_lines() {
        let (reader, writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        let trace = Trace::begin(&Target::File { path, force: false }, &Header::new()).unwrap();
        drop(reader);
        let error = trace.end().unwrap_err();
        assert!(matches!(&error, Error::Output { lines: 2, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(": it is closed; the 2 lines before are complete"), "{text}");
    }
}
