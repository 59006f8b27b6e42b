//! A recording from an audit log that is followed, also through rotations.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::events::Events;
use super::line::{Counts, take};
use super::part::{Part, Piece, Renamed, id};
use crate::Notice;
use crate::error::Error;
use crate::sink::Sink;

/// The interval at which the file is read.
const INTERVAL: Duration = Duration::from_millis(100);

/// An audit log that is followed from its current end.
#[derive(Debug)]
pub struct AuditLog(Tail);

impl AuditLog {
    /// Opens an audit log at its end.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn open(path: &Path) -> Result<AuditLog, Error> {
        Tail::open(path).map(AuditLog).map_err(|source| Error::AuditLog { path: path.to_owned(), source })
    }

    /// Opens an audit log at a place where it was read before. Returns true if nothing is missing since then. The file is
    /// the same, or it was rotated, and is still beside the log.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn resume(path: &Path, position: &Position) -> Result<(AuditLog, bool), Error> {
        let resumed = Tail::resume(path, position);
        resumed
            .map(|(tail, is_whole)| (AuditLog(tail), is_whole))
            .map_err(|source| Error::AuditLog { path: path.to_owned(), source })
    }

    /// Opens an audit log at its beginning.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn from_the_beginning(path: &Path) -> Result<AuditLog, Error> {
        Tail::at(path, path, 0)
            .map(AuditLog)
            .map_err(|source| Error::AuditLog { path: path.to_owned(), source })
    }
}

/// A place in an audit log: for each file that is read, the bytes of it that were read. The last file has the name of the
/// log, and the others had it before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(Vec<Place>);

/// A file by its device and inode, and the bytes of it in complete lines that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    id: (u64, u64),
    bytes: u64,
}

impl Place {
    /// Returns true if this file is the one, and has these bytes.
    fn is_in(&self, file: &Path) -> bool {
        fs::metadata(file).is_ok_and(|data| id(&data) == self.id && data.len() >= self.bytes)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |Place { id: (device, inode), bytes }: &Place| format!("{device} {inode} {bytes}");
        formatter.write_str(&self.0.iter().map(place).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Position {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Position, ParseIntError> {
        let mut numbers = text.split_whitespace().map(str::parse).peekable();
        let mut places = Vec::new();
        while places.is_empty() || numbers.peek().is_some() {
            let mut next = || numbers.next().unwrap_or_else(|| "".parse());
            places.push(Place { id: (next()?, next()?), bytes: next()? });
        }
        Ok(Position(places))
    }
}

/// Records the events of these namespaces, or of all, that are appended to an audit log. Returns after `stop` was
/// cancelled.
///
/// # Errors
///
/// The audit log cannot be read, or the records cannot be kept. A missing log is no error, because a rotation
/// creates a new one.
pub async fn audit_log(
    log: AuditLog,
    namespaces: &[String],
    trace: &mut impl Sink,
    stop: &CancellationToken,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Error> {
    let AuditLog(mut log) = log;
    let path = log.path.clone();
    let mut events = Events::of(namespaces);
    let mut counts = Counts::default();
    let mut looks = interval(INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_last = false;
    loop {
        let mut pieces = log.read_new().map_err(|source| Error::AuditLog { path: path.clone(), source })?;
        if is_last {
            log.renamed.end(&mut pieces);
        }
        for piece in pieces {
            if let Some(why) = take(&piece, &mut events, &mut counts, trace)? {
                let why = format!("{}: {why}", path.display());
                notify(Notice::Note(format!("a gap: {why}")));
                trace.gap(why)?;
            }
        }
        trace.lines(counts.readable, counts.unreadable);
        trace.flush()?;
        trace.read_up_to(&log.position())?;
        if let Some(tally) = trace.tally() {
            notify(Notice::Progress(tally));
        }
        if is_last {
            return Ok(());
        }
        tokio::select! {
            biased;
            // The lines that were written before the end are still read.
            () = stop.cancelled() => is_last = true,
            _ = looks.tick() => {}
        }
    }
}

/// A log that another process writes, across rotations.
#[derive(Debug)]
struct Tail {
    path: PathBuf,
    /// The file to which the path led.
    part: Part,
    renamed: Renamed,
    /// The last time at which the path led to this file.
    last_seen: SystemTime,
}

impl Tail {
    /// Opens a log at its end. The rest of a line that is incomplete then is skipped.
    fn open(path: &Path) -> io::Result<Tail> {
        let part = Part::open_at_end(path)?;
        Ok(Tail { path: path.to_owned(), part, renamed: Renamed::default(), last_seen: SystemTime::now() })
    }

    /// Follows the log of this path, from a place in this file of it.
    fn at(path: &Path, part: &Path, position: u64) -> io::Result<Tail> {
        let (mut part, data) = Part::open(part)?;
        part.go_to(position)?;
        let last_seen = data.modified().unwrap_or_else(|_| SystemTime::now());
        Ok(Tail { path: path.to_owned(), part, renamed: Renamed::default(), last_seen })
    }

    /// Follows the log of this path, from this place. Returns true if all its files are still there.
    fn resume(path: &Path, position: &Position) -> io::Result<(Tail, bool)> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
        let files: Vec<PathBuf> =
            std::iter::once(path.to_owned()).chain(beside.map(|entry| entry.path())).collect();
        let found = |place: &Place| files.iter().find(|file| place.is_in(file));
        let (renamed, last) = position.0.split_at(position.0.len().saturating_sub(1));
        let last = last.first().and_then(|place| Some((found(place)?, place.bytes)));
        let mut is_whole = last.is_some();
        let (part, bytes) = last.unwrap_or((&files[0], 0));
        let mut tail = Tail::at(path, part, bytes)?;
        for place in renamed {
            match found(place) {
                Some(file) => {
                    let (mut part, _) = Part::open(file)?;
                    part.go_to(place.bytes)?;
                    tail.renamed.add(part);
                }
                None => is_whole = false,
            }
        }
        Ok((tail, is_whole))
    }

    /// The place up to which complete lines were read. As long as lines may be appended to a renamed file, a restart reads
    /// that file on, too.
    fn position(&self) -> Position {
        let parts = self.renamed.all().chain([&self.part]);
        Position(parts.map(|part| Place { id: part.id(), bytes: part.complete() }).collect())
    }

    /// Reads the new parts.
    fn read_new(&mut self) -> io::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        self.renamed.read_to_end(&mut pieces);
        self.part.read_to_end(&mut pieces)?;
        let data = match fs::metadata(&self.path) {
            Ok(data) => data,
            // The log was renamed, and the next file does not exist yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(pieces),
            Err(error) => return Err(error),
        };
        if id(&data) != self.part.id() {
            self.switch_to_next_file(&mut pieces)?;
        } else if data.len() < self.part.bytes_read() {
            pieces.push(Piece::Gap(
                "it was truncated, and what was written just before may be lost".to_owned(),
            ));
            self.part.restart(&mut pieces)?;
        }
        self.last_seen = SystemTime::now();
        Ok(pieces)
    }

    /// Switches to the next file after a rotation. The rest of the previous file is read first.
    fn switch_to_next_file(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let next = match Part::open(&self.path) {
            Ok((next, _)) => next,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        self.part.read_to_end(pieces)?;
        if self.was_rotated_again(next.id()) {
            pieces.push(Piece::Gap("it was rotated more than once since it was read".to_owned()));
        }
        self.renamed.add(std::mem::replace(&mut self.part, next));
        self.part.read_to_end(pieces)
    }

    /// Returns true if a further part of the log was written since the last read. It is a file next to the log,
    /// neither the current nor the next one. Compressed files are copies.
    fn was_rotated_again(&self, next: (u64, u64)) -> bool {
        let (Some(folder), Some(stem)) = (self.path.parent(), self.path.file_stem()) else { return false };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let stem = stem.to_string_lossy();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let parts = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&*stem) && !name.ends_with(".gz")
        });
        parts.filter_map(|entry| entry.metadata().ok()).any(|data| {
            let id = id(&data);
            let is_known = id == self.part.id() || id == next || self.renamed.has(id);
            !is_known && data.is_file() && data.modified().is_ok_and(|it| it > self.last_seen)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    struct Log(tempfile::TempDir);

    impl Log {
        fn new() -> Log {
            Log(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("audit.log")
        }

        fn add(&self, text: &str) {
            self.writer().write_all(text.as_bytes()).unwrap();
        }

        fn writer(&self) -> File {
            File::options().create(true).append(true).open(self.path()).unwrap()
        }

        fn rename(&self, name: &str) {
            fs::rename(self.path(), self.0.path().join(name)).unwrap();
        }
    }

    fn lines(all: &[&str]) -> Vec<Piece> {
        all.iter().map(|line| Piece::Line((*line).to_owned())).collect()
    }

    #[test]
    fn a_log_is_read_line_by_line_from_its_end() {
        let log = Log::new();
        log.add("before\nhalf a");
        let mut followed = Tail::open(&log.path()).unwrap();
        assert_eq!(followed.read_new().unwrap(), []);
        log.add(" line\none\ntw");
        assert_eq!(followed.read_new().unwrap(), lines(&["one"]));
        log.add("o\n");
        assert_eq!(followed.read_new().unwrap(), lines(&["two"]));
    }

    #[test]
    fn a_rotation_loses_no_line_even_if_the_log_is_missing_for_a_while() {
        let log = Log::new();
        log.add("before\n");
        let mut followed = Tail::open(&log.path()).unwrap();
        log.add("one\n");
        fs::rename(log.path(), log.0.path().join("audit-1.log")).unwrap();
        assert_eq!(followed.read_new().unwrap(), lines(&["one"]));
        assert_eq!(followed.read_new().unwrap(), []);
        log.add("two\n");
        assert_eq!(followed.read_new().unwrap(), lines(&["two"]));
    }

    #[test]
    fn possibly_lost_lines_are_a_gap() {
        let log = Log::new();
        log.add("before\n");
        let mut followed = Tail::open(&log.path()).unwrap();
        File::create(log.path()).unwrap();
        log.add("one\n");
        let pieces = followed.read_new().unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Gap(why), Piece::Line(_)] if why.contains("truncated")),
            "{pieces:?}"
        );

        for name in ["audit-1.log", "audit-2.log"] {
            fs::rename(log.path(), log.0.path().join(name)).unwrap();
            log.add(&format!("behind {name}\n"));
        }
        let pieces = followed.read_new().unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Gap(why), Piece::Line(_)] if why.contains("more than once")),
            "{pieces:?}"
        );
    }

    #[test]
    fn a_renamed_file_is_read_until_its_writer_leaves_it() {
        let log = Log::new();
        log.add("before\n");
        let mut followed = Tail::open(&log.path()).unwrap();
        let mut late = log.writer();
        late.write_all(b"one\n").unwrap();
        log.rename("audit-1.log");
        log.add("two\n");
        assert_eq!(followed.read_new().unwrap(), lines(&["one", "two"]));
        for (text, expected) in [("three\nfo", &["three"][..]), ("ur\n", &["four"]), ("five\n", &["five"])] {
            late.write_all(text.as_bytes()).unwrap();
            assert_eq!(followed.read_new().unwrap(), lines(expected));
            followed.renamed.age(Duration::from_secs(9));
        }
        // The late line makes no part that was never read.
        late.write_all(b"six\n").unwrap();
        log.rename("audit-2.log");
        log.add("seven\n");
        assert_eq!(followed.read_new().unwrap(), lines(&["six", "seven"]));
        followed.renamed.age(Duration::from_secs(11));
        assert_eq!(followed.read_new().unwrap(), []);
        assert!(followed.renamed.all().next().is_none());
    }

    #[test]
    fn a_line_that_nobody_ends_before_a_rotation_is_a_gap() {
        for is_ended in [true, false] {
            let log = Log::new();
            log.add("before\n");
            let mut followed = Tail::open(&log.path()).unwrap();
            log.add("half");
            log.rename("audit-1.log");
            log.add("two\n");
            assert_eq!(followed.read_new().unwrap(), lines(&["two"]));
            let mut pieces = Vec::new();
            if is_ended {
                followed.renamed.end(&mut pieces);
            } else {
                followed.renamed.age(Duration::from_secs(11));
                pieces = followed.read_new().unwrap();
            }
            assert!(matches!(&pieces[..], [Piece::Gap(why)] if why.contains("of a line")), "{pieces:?}");
        }
    }

    #[test]
    fn a_restart_soon_after_a_rotation_reads_the_renamed_file_on() {
        let log = Log::new();
        log.add("before\n");
        let mut followed = Tail::open(&log.path()).unwrap();
        let mut late = log.writer();
        log.rename("audit-1.log");
        log.add("one\n");
        assert_eq!(followed.read_new().unwrap(), lines(&["one"]));
        let position = followed.position();
        late.write_all(b"two\n").unwrap();
        let (mut again, is_whole) = Tail::resume(&log.path(), &position).unwrap();
        assert_eq!((again.read_new().unwrap(), is_whole), (lines(&["two"]), true));
        assert_eq!(position.to_string().parse(), Ok(position.clone()));
        assert!(["", "1 2", "1 2 3 4"].iter().all(|text| text.parse::<Position>().is_err()));
        fs::remove_file(log.0.path().join("audit-1.log")).unwrap();
        let (mut again, is_whole) = Tail::resume(&log.path(), &position).unwrap();
        assert_eq!((again.read_new().unwrap(), is_whole), (Vec::new(), false));
        followed.read_new().unwrap();
        followed.renamed.age(Duration::from_secs(11));
        followed.read_new().unwrap();
        assert!(followed.renamed.all().next().is_none());
        let (mut again, is_whole) = Tail::resume(&log.path(), &followed.position()).unwrap();
        assert_eq!((again.read_new().unwrap(), is_whole), (Vec::new(), true));
    }
}
