//! An audit log that is followed, also when it is rotated.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jobcheck_traces::Body;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::events::{Events, is_truncated, read};
use crate::News;
use crate::error::Error;
use crate::trace::Trace;

/// Time between two looks at the file.
const LOOK: Duration = Duration::from_millis(100);
/// The longest line that is waited for, as `traces` reads them.
const LONGEST: usize = 64 << 20;

/// An audit log that is followed from now on.
#[derive(Debug)]
pub struct AuditLog(Followed);

impl AuditLog {
    /// Opens it at its end.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<AuditLog, Error> {
        Followed::open(path).map(AuditLog).map_err(|source| Error::AuditLog { path: path.to_owned(), source })
    }
}

/// Records what is written to an audit log, until it is to stop; of these namespaces, or of all.
///
/// # Errors
///
/// The audit log cannot be read, or the trace not be written. That the log is away for a while is none: whoever rotates it
/// makes a new one.
pub async fn audit_log(
    log: AuditLog,
    namespaces: &[String],
    trace: &mut Trace,
    stop: &CancellationToken,
    hear: &mut dyn FnMut(News<'_>),
) -> Result<(), Error> {
    let AuditLog(mut log) = log;
    let path = log.path.clone();
    let mut events = Events::of(namespaces);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_last = false;
    loop {
        let pieces = log.look().map_err(|source| Error::AuditLog { path: path.clone(), source })?;
        for piece in pieces {
            if let Some(why) = take(&piece, &mut events, trace)? {
                let why = format!("{}: {why}", path.display());
                hear(News::Note(format!("a gap: {why}")));
                trace.gap(None, why)?;
            }
        }
        trace.flush()?;
        hear(News::Progress(trace.tally()));
        if is_last {
            return Ok(());
        }
        tokio::select! {
            biased;
            // What was written until then is read.
            () = stop.cancelled() => is_last = true,
            _ = looks.tick() => {}
        }
    }
}

/// Writes what a piece of the log tells; why something may be missing, if so.
fn take(piece: &Piece, events: &mut Events, trace: &mut Trace) -> Result<Option<String>, Error> {
    let line = match piece {
        Piece::Gap(why) => return Ok(Some(why.clone())),
        Piece::Line(line) => line,
    };
    // Most lines are about something else: it need not be read what.
    if !["\"jobs\"", "\"pods\""].iter().any(|it| line.contains(it)) {
        return Ok(None);
    }
    let mut taken = 0;
    let readable = read(line, &mut |request| {
        if !events.takes(request) {
            return Ok(());
        }
        taken += 1;
        trace.write(&Body::Request(*request))
    })?;
    Ok(match readable {
        Err(why) => Some(format!("a line cannot be read: {why}")),
        Ok(()) if taken > 0 && is_truncated(line) => {
            Some("an event was truncated by the API server".to_owned())
        }
        Ok(()) => None,
    })
}

/// What a log has more than before.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Line(String),
    /// Lines may be missing, for this reason.
    Gap(String),
}

/// A log that others write.
#[derive(Debug)]
struct Followed {
    path: PathBuf,
    file: File,
    /// Which file it is.
    id: (u64, u64),
    position: u64,
    /// The beginning of a line.
    begun: Vec<u8>,
    /// When it was seen last that the path leads to this file.
    looked: SystemTime,
}

fn id(data: &Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

impl Followed {
    /// Opens a log at its end. The rest of a line that is half written by then is no line.
    fn open(path: &Path) -> io::Result<Followed> {
        let mut file = File::open(path)?;
        let data = file.metadata()?;
        if data.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let mut position = data.len();
        if position > 0 {
            // From the end of the last whole line.
            position = file.seek(SeekFrom::Start(position - 1))?;
        }
        let mut followed = Followed {
            path: path.to_owned(),
            file,
            id: id(&data),
            position,
            begun: Vec::new(),
            looked: SystemTime::now(),
        };
        if position > 0 {
            followed.pass_over_a_line()?;
        }
        Ok(followed)
    }

    /// Reads up to the end of the line that is being written, if one is.
    fn pass_over_a_line(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.position += self.file.read_to_end(&mut rest)? as u64;
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => self.begun = rest.split_off(end + 1),
            // Its beginning is not known: it is marked, so that its end is no line.
            None => self.begun = vec![0],
        }
        Ok(())
    }

    /// What is new.
    fn look(&mut self) -> io::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        self.read_on(&mut pieces)?;
        let data = match fs::metadata(&self.path) {
            Ok(data) => data,
            // It was renamed, and the next one is not there yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(pieces),
            Err(error) => return Err(error),
        };
        if id(&data) != self.id {
            self.go_on_with_the_next(&mut pieces)?;
        } else if data.len() < self.position {
            self.begin_again(&mut pieces)?;
        }
        self.looked = SystemTime::now();
        Ok(pieces)
    }

    /// The log was renamed, and there is a new one: what was written before that is read first.
    fn go_on_with_the_next(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let next = match File::open(&self.path) {
            Ok(next) => next,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let data = next.metadata()?;
        self.read_on(pieces)?;
        if !std::mem::take(&mut self.begun).is_empty() {
            pieces.push(Piece::Gap("it was rotated in the middle of a line".to_owned()));
        }
        if self.was_rotated_again(id(&data)) {
            pieces.push(Piece::Gap("it was rotated more than once since it was read".to_owned()));
        }
        (self.file, self.id, self.position) = (next, id(&data), 0);
        self.read_on(pieces)
    }

    /// The log was emptied: what was written just before is gone.
    fn begin_again(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        pieces.push(Piece::Gap("it was truncated, and what was written just before may be lost".to_owned()));
        self.begun.clear();
        self.position = self.file.seek(SeekFrom::Start(0))?;
        self.read_on(pieces)
    }

    /// Whether beside the log lies another part of it, neither this one nor the next, that was written to since it was
    /// looked at. What was packed is a copy.
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
            let is_known = id(&data) == self.id || id(&data) == next;
            !is_known && data.is_file() && data.modified().is_ok_and(|it| it > self.looked)
        })
    }

    /// Reads to the end of the file.
    fn read_on(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.begun);
        self.position += self.file.read_to_end(&mut bytes)? as u64;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.begun = bytes.split_off(end);
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        // One that begins in the middle was marked by `pass_over_a_line`.
        let whole = lines.filter(|line| line[0] != 0);
        pieces.extend(whole.map(|line| Piece::Line(String::from_utf8_lossy(line).into_owned())));
        if self.begun.len() > LONGEST {
            self.begun = vec![0];
            pieces.push(Piece::Gap("a line is longer than 64 MiB".to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Log(PathBuf);

    impl Log {
        fn new(name: &str) -> Log {
            let folder = std::env::temp_dir().join(format!("jobcheck-audit-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Log(folder)
        }

        fn path(&self) -> PathBuf {
            self.0.join("audit.log")
        }

        fn add(&self, text: &str) {
            let mut file = File::options().create(true).append(true).open(self.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }

    impl Drop for Log {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn lines(all: &[&str]) -> Vec<Piece> {
        all.iter().map(|line| Piece::Line((*line).to_owned())).collect()
    }

    #[test]
    fn a_log_is_read_from_its_end_on_line_by_line() {
        let log = Log::new("lines");
        log.add("before\nhalf a");
        let mut followed = Followed::open(&log.path()).unwrap();
        assert_eq!(followed.look().unwrap(), []);
        log.add(" line\none\ntw");
        assert_eq!(followed.look().unwrap(), lines(&["one"]));
        log.add("o\n");
        assert_eq!(followed.look().unwrap(), lines(&["two"]));
    }

    #[test]
    fn nothing_is_lost_where_the_log_is_renamed_even_if_it_is_away_for_a_while() {
        let log = Log::new("renamed");
        log.add("before\n");
        let mut followed = Followed::open(&log.path()).unwrap();
        log.add("one\n");
        fs::rename(log.path(), log.0.join("audit-1.log")).unwrap();
        assert_eq!(followed.look().unwrap(), lines(&["one"]));
        assert_eq!(followed.look().unwrap(), []);
        log.add("two\n");
        assert_eq!(followed.look().unwrap(), lines(&["two"]));
    }

    #[test]
    fn what_can_be_lost_is_a_gap() {
        let log = Log::new("lost");
        log.add("before\n");
        let mut followed = Followed::open(&log.path()).unwrap();
        File::create(log.path()).unwrap();
        log.add("one\n");
        let pieces = followed.look().unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Gap(why), Piece::Line(_)] if why.contains("truncated")),
            "{pieces:?}"
        );

        for name in ["audit-1.log", "audit-2.log"] {
            fs::rename(log.path(), log.0.join(name)).unwrap();
            log.add(&format!("behind {name}\n"));
        }
        let pieces = followed.look().unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Gap(why), Piece::Line(_)] if why.contains("more than once")),
            "{pieces:?}"
        );
        log.add("half");
        followed.look().unwrap();
        fs::rename(log.path(), log.0.join("audit-3.log")).unwrap();
        log.add("two\n");
        let pieces = followed.look().unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Gap(why), Piece::Line(_)] if why.contains("of a line")),
            "{pieces:?}"
        );
    }
}
