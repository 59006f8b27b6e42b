//! The audit log of the embedded API server on a disk that may fill up.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::Error;
use crate::files;

/// A file of lines. A line that cannot be written whole is taken back, so that the next one begins at a line's start.
pub(crate) struct AuditFile<F> {
    file: F,
    /// The size of the whole lines in bytes, if half a line follows them.
    torn: Option<u64>,
    /// The number of lines that could not be written since the last one.
    lost: u64,
}

/// A file to which lines are appended.
pub(crate) trait Appended: Write {
    /// Its size in bytes. Somebody else may have emptied it.
    fn size(&self) -> io::Result<u64>;

    /// Removes what follows these bytes.
    fn cut(&mut self, size: u64) -> io::Result<()>;
}

impl Appended for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn cut(&mut self, size: u64) -> io::Result<()> {
        // A file that is shorter by now must not grow.
        if self.size()? > size { self.set_len(size) } else { Ok(()) }
    }
}

/// Opens the audit log at this path. Half a line at its end, of a server that was killed, is taken back.
pub(crate) fn open(path: &Path) -> Result<AuditFile<File>, Error> {
    let mut file = files::log(path)?;
    whole_lines(path).and_then(|size| file.cut(size)).map_err(Error::file("write", path))?;
    Ok(AuditFile { file, torn: None, lost: 0 })
}

/// The size of the whole lines of a file in bytes.
fn whole_lines(path: &Path) -> io::Result<u64> {
    const PART: u64 = 64 << 10;
    let mut file = File::open(path)?;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let begin = end.saturating_sub(PART);
        file.seek(SeekFrom::Start(begin))?;
        let mut part = Vec::new();
        (&file).take(end - begin).read_to_end(&mut part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

impl<F: Appended> AuditFile<F> {
    /// Writes a line. Reports the first failure, and the number of missing lines when writing works again.
    pub(crate) fn line(&mut self, mut text: String, report: &mut dyn FnMut(&str)) {
        text.push('\n');
        match self.append(text.as_bytes()) {
            Ok(()) if self.lost > 0 => {
                report(&format!("the audit log is written again; {} events are missing in it", self.lost));
                self.lost = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if self.lost == 0 {
                    report(&format!(
                        "cannot write the audit log, events are missing in it from now on: {error}"
                    ));
                }
                self.lost += 1;
            }
        }
    }

    /// Writes a line with one call, so that no reader finds half a line.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(size) = self.torn {
            self.file.cut(size)?;
            self.torn = None;
        }
        let size = self.file.size()?;
        let written = self.file.write_all(line);
        if written.is_err() && self.file.cut(size).is_err() {
            self.torn = Some(size);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that takes a number of bytes.
    struct Disk {
        written: Vec<u8>,
        room: usize,
        can_cut: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room.saturating_sub(self.written.len()));
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Appended for Disk {
        fn size(&self) -> io::Result<u64> {
            Ok(self.written.len() as u64)
        }

        fn cut(&mut self, size: u64) -> io::Result<()> {
            if !self.can_cut {
                return Err(io::ErrorKind::Other.into());
            }
            self.written.truncate(usize::try_from(size).unwrap());
            Ok(())
        }
    }

    fn on_disk(room: usize) -> AuditFile<Disk> {
        let file = Disk { written: Vec::new(), room, can_cut: true };
        AuditFile { file, torn: None, lost: 0 }
    }

    fn add(log: &mut AuditFile<Disk>, text: &str) -> Vec<String> {
        let mut reported = Vec::new();
        log.line(text.to_owned(), &mut |words| reported.push(words.to_owned()));
        reported
    }

    #[test]
    fn a_full_disk_costs_whole_lines_and_is_reported_once() {
        let mut log = on_disk(7);
        assert!(add(&mut log, "one").is_empty());
        assert!(add(&mut log, "second")[0].starts_with("cannot write the audit log"));
        assert_eq!(log.file.written, b"one\n");
        assert!(add(&mut log, "third").is_empty());
        log.file.room = 100;
        assert_eq!(add(&mut log, "four"), ["the audit log is written again; 2 events are missing in it"]);
        assert!(add(&mut log, "five").is_empty());
        assert_eq!(log.file.written, b"one\nfour\nfive\n");
    }

    #[test]
    fn half_a_line_that_could_not_be_cut_is_cut_before_the_next_one() {
        let mut log = on_disk(7);
        add(&mut log, "one");
        log.file.can_cut = false;
        add(&mut log, "second");
        log.file.room = 100;
        add(&mut log, "third");
        assert_eq!(log.file.written, b"one\nsec");
        log.file.can_cut = true;
        add(&mut log, "four");
        assert_eq!(log.file.written, b"one\nfour\n");
    }

    #[test]
    fn half_a_line_of_a_server_that_was_killed_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let half = "x".repeat(200_000);
        for (before, after) in [
            (String::new(), "new\n".to_owned()),
            ("one\n".to_owned(), "one\nnew\n".to_owned()),
            (format!("one\n{half}"), "one\nnew\n".to_owned()),
            (half.clone(), "new\n".to_owned()),
        ] {
            std::fs::write(&path, before).unwrap();
            open(&path).unwrap().line("new".to_owned(), &mut |words| panic!("{words}"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
