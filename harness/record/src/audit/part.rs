//! The open files of a log that is rotated, and their new parts.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use jobcheck_traces::files;

/// The maximum length of a line in bytes, as in `jobcheck_traces`.
const MAX_LINE: usize = 64 << 20;

/// The time for which a renamed file is read after its last line. Its writer may open the next file late: logrotate sends
/// its signal after the rename, and log collectors look at names from time to time.
const KEPT: Duration = Duration::from_secs(10);

/// A new part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Line(String),
    /// Lines may be missing, for this reason.
    Gap(String),
}

/// The device and the inode of a file.
pub(super) fn id(data: &Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

/// A file to which another process appends.
#[derive(Debug)]
pub(super) struct Part {
    file: File,
    id: (u64, u64),
    position: u64,
    /// The first bytes of an incomplete line.
    partial: Vec<u8>,
    /// The beginning of the next line is unknown, so that its end is skipped.
    skips: bool,
}

impl Part {
    /// Opens a file at its beginning. Returns also its metadata.
    pub(super) fn open(path: &Path) -> io::Result<(Part, Metadata)> {
        let file = files::open_regular(path)?;
        let data = file.metadata()?;
        Ok((Part { file, id: id(&data), position: 0, partial: Vec::new(), skips: false }, data))
    }

    /// Opens a file at its end. The rest of a line that is incomplete then is skipped.
    pub(super) fn open_at_end(path: &Path) -> io::Result<Part> {
        let (mut part, data) = Part::open(path)?;
        if data.len() > 0 {
            // Reads from the end of the last complete line.
            part.go_to(data.len() - 1)?;
            part.skip_incomplete_line()?;
        }
        Ok(part)
    }

    /// Reads from this place on.
    pub(super) fn go_to(&mut self, position: u64) -> io::Result<()> {
        self.position = self.file.seek(SeekFrom::Start(position))?;
        Ok(())
    }

    /// The device and the inode.
    pub(super) fn id(&self) -> (u64, u64) {
        self.id
    }

    /// The number of bytes that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.position
    }

    /// The number of bytes in complete lines that were read.
    pub(super) fn complete(&self) -> u64 {
        self.position - self.partial.len() as u64
    }

    /// Returns true if the last line that was read is incomplete.
    pub(super) fn is_incomplete(&self) -> bool {
        self.skips || !self.partial.is_empty()
    }

    /// Skips the incomplete line at the end, if there is one.
    fn skip_incomplete_line(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.position += self.file.read_to_end(&mut rest)? as u64;
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => self.partial = rest.split_off(end + 1),
            None => self.skips = true,
        }
        Ok(())
    }

    /// Reads to the end of the file.
    pub(super) fn read_to_end(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.partial);
        self.position += self.file.read_to_end(&mut bytes)? as u64;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.partial = bytes.split_off(end);
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if self.skips && end > 0 {
            self.skips = false;
            lines.next();
        }
        let lines = lines.filter(|line| !line.is_empty());
        pieces.extend(lines.map(|line| Piece::Line(String::from_utf8_lossy(line).into_owned())));
        if self.skips {
            self.partial.clear();
        } else if self.partial.len() > MAX_LINE {
            self.partial.clear();
            self.skips = true;
            pieces.push(Piece::Gap("a line is longer than 64 MiB".to_owned()));
        }
        Ok(())
    }

    /// Reads from the beginning of the file on, after it was truncated.
    pub(super) fn restart(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        self.partial.clear();
        self.skips = false;
        self.go_to(0)?;
        self.read_to_end(pieces)
    }
}

/// The files that had the name of the log before, each with the time of its last growth. Their writer may still append to
/// them.
#[derive(Debug, Default)]
pub(super) struct Renamed(Vec<(Part, Instant)>);

impl Renamed {
    /// Adds the file that was followed until now.
    pub(super) fn add(&mut self, part: Part) {
        self.0.push((part, Instant::now()));
    }

    /// Returns true if this file is read.
    pub(super) fn has(&self, id: (u64, u64)) -> bool {
        self.0.iter().any(|(part, _)| part.id() == id)
    }

    /// The files, the oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Part> {
        self.0.iter().map(|(part, _)| part)
    }

    /// Reads to the end of each file, and closes those that do not grow any more.
    pub(super) fn read_to_end(&mut self, pieces: &mut Vec<Piece>) {
        self.0.retain_mut(|(part, grown)| {
            let before = part.bytes_read();
            if let Err(error) = part.read_to_end(pieces) {
                pieces.push(Piece::Gap(format!("a file that was renamed cannot be read: {error}")));
                return false;
            }
            if part.bytes_read() > before {
                *grown = Instant::now();
            }
            let is_kept = grown.elapsed() < KEPT;
            if !is_kept {
                mark_incomplete(part, pieces);
            }
            is_kept
        });
    }

    /// Closes all files.
    pub(super) fn end(&mut self, pieces: &mut Vec<Piece>) {
        self.0.drain(..).for_each(|(part, _)| mark_incomplete(&part, pieces));
    }

    /// Lets this time pass.
    #[cfg(test)]
    pub(super) fn age(&mut self, time: Duration) {
        for (_, grown) in &mut self.0 {
            *grown = grown.checked_sub(time).unwrap();
        }
    }
}

fn mark_incomplete(part: &Part, pieces: &mut Vec<Piece>) {
    if part.is_incomplete() {
        pieces.push(Piece::Gap("it was rotated in the middle of a line".to_owned()));
    }
}
