//! The folder of the service: a file of records for each living Job, and the files of Jobs that violate.
//!
//! | path | content |
//! | --- | --- |
//! | `jobs/UID.jsonl` | the records of a living Job, as a native trace |
//! | `jobs/UID.reported` | its findings that were reported: requirement and line |
//! | `jobs/UID.judging` | there while the Job is judged |
//! | `jobs/UID.interrupted` | the process has ended while the Job was judged |
//! | `jobs/UID.dropped` | the name of a Job that exceeded a limit, and the reason, until its verdict is reported |
//! | `violations/UID.jsonl` | the records of a Job that violates a requirement |
//! | `pods/UID.jsonl` | the last record of a pod without a controller ([`crate::held`]) |
//! | `concluded`, `concluded.old` | the UIDs of Jobs that were judged for the last time |
//! | `position` | the place up to which the source was read |
//! | `lock` | held by the process that uses the folder |

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jobcheck_traces::{Body, Header, Writer, files};

use crate::concluded::REMEMBERED;
use crate::error::Error;
use crate::shares::Share;

/// The size of `concluded` at which it becomes `concluded.old`. Both together have as many UIDs as are remembered.
const MOST_CONCLUDED: u64 = REMEMBERED as u64 / 2 * 37;

pub(crate) struct Spool {
    folder: PathBuf,
    /// Held until the process ends.
    _lock: File,
}

impl Spool {
    /// Opens the folder, and makes it if it does not exist.
    pub(crate) fn open(folder: &Path) -> Result<Spool, Error> {
        fs::create_dir_all(folder).map_err(Error::of(folder))?;
        for path in ["jobs", "violations", "pods"].map(|name| folder.join(name)) {
            fs::create_dir_all(&path).map_err(Error::of(&path))?;
            // A folder behind a link belongs to somebody else, and old files in a folder are removed.
            if !fs::symlink_metadata(&path).map_err(Error::of(&path))?.is_dir() {
                return Err(Error::of(path)(ErrorKind::NotADirectory.into()));
            }
        }
        let path = folder.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(Error::of(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Spool { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Used(folder.to_owned())),
            Err(TryLockError::Error(error)) => Err(Error::of(path)(error)),
        }
    }

    /// The UIDs of the living Jobs.
    pub(crate) fn jobs(&self) -> Result<Vec<String>, Error> {
        self.in_jobs(".jsonl")
    }

    /// The UIDs of the Jobs with a file of this kind.
    fn in_jobs(&self, suffix: &str) -> Result<Vec<String>, Error> {
        let folder = self.folder.join("jobs");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(suffix).map(str::to_owned)).collect())
    }

    /// Removes what a crash has left of a last line.
    pub(crate) fn repair(&self, uid: &str) -> Result<u64, Error> {
        cut_last_line(self.file(uid))
    }

    /// The findings of a living Job that were reported.
    pub(crate) fn reported(&self, uid: &str) -> Result<Vec<(String, u64)>, Error> {
        let finding = |line: &str| {
            let (requirement, line) = line.split_once(' ')?;
            Some((requirement.to_owned(), line.parse().ok()?))
        };
        Ok(read_if_there(&self.reports(uid))?.lines().filter_map(finding).collect())
    }

    /// Notes that a finding was reported.
    pub(crate) fn note_reported(&self, uid: &str, requirement: &str, line: u64) -> Result<(), Error> {
        append_to(&self.reports(uid), format!("{requirement} {line}\n").as_bytes())
    }

    fn reports(&self, uid: &str) -> PathBuf {
        self.file(uid).with_extension("reported")
    }

    /// The UIDs of Jobs that were judged for the last time, the oldest first.
    pub(crate) fn concluded(&self) -> Result<Vec<String>, Error> {
        let [old, new] = self.conclusions();
        if new.exists() {
            cut_last_line(new.clone())?;
        }
        let text = read_if_there(&old)? + &read_if_there(&new)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Notes that a Job was judged for the last time.
    pub(crate) fn note_concluded(&self, uid: &str) -> Result<(), Error> {
        let [old, new] = self.conclusions();
        append_to(&new, format!("{uid}\n").as_bytes())?;
        let size = fs::metadata(&new).map_err(Error::of(&new))?.len();
        if size < MOST_CONCLUDED { Ok(()) } else { fs::rename(&new, &old).map_err(Error::of(new)) }
    }

    /// Forgets the Jobs that were judged for the last time.
    pub(crate) fn forget_concluded(&self) -> Result<(), Error> {
        self.conclusions().iter().try_for_each(|path| remove_if_there(path))
    }

    fn conclusions(&self) -> [PathBuf; 2] {
        ["concluded.old", "concluded"].map(|name| self.folder.join(name))
    }

    /// The file of a living Job.
    pub(crate) fn file(&self, uid: &str) -> PathBuf {
        self.folder.join("jobs").join(format!("{}.jsonl", plain(uid)))
    }

    /// Appends a record to the file of a Job, and returns its size.
    pub(crate) fn append(&self, uid: &str, body: &Body<'_>) -> Result<u64, Error> {
        let path = self.file(uid);
        let failed = || Error::of(path.clone());
        let mut lines = Vec::new();
        if path.exists() {
            let mut writer = Writer::continuing(&mut lines);
            writer.write(body).map_err(failed())?;
        } else {
            let mut writer = Writer::new(&mut lines, &Header::new()).map_err(failed())?;
            writer.write(body).map_err(failed())?;
        }
        append_to(&path, &lines)?;
        Ok(lines.len() as u64)
    }

    /// Keeps the records of a Job as evidence. Its file remains until [`Spool::close`]. Returns where they are kept.
    pub(crate) fn keep(&self, uid: &str) -> Result<PathBuf, Error> {
        let (path, kept) = (self.file(uid), self.kept(uid));
        remove_if_there(&kept)?;
        // Some file systems have no links.
        let linked = fs::hard_link(&path, &kept).or_else(|_| fs::copy(&path, &kept).map(drop));
        linked.map(|()| kept).map_err(Error::of(path))
    }

    /// Removes all files of a Job in `jobs`.
    pub(crate) fn close(&self, uid: &str) -> Result<(), Error> {
        let [judging, interrupted] = self.judgements(uid);
        let paths = [judging, interrupted, self.reports(uid), self.file(uid), self.note_of_limit(uid)];
        paths.iter().try_for_each(|path| remove_if_there(path))
    }

    /// Removes the records of a Job that exceeded a limit. Its name and the reason remain until [`Spool::close`].
    pub(crate) fn drop_records(&self, uid: &str, name: &str, why: &str) -> Result<(), Error> {
        let path = self.note_of_limit(uid);
        let note = serde_json::to_vec(&(name, why)).expect("texts are JSON");
        files::write(&path, &note).map_err(Error::of(path))?;
        remove_if_there(&self.file(uid))
    }

    /// The Jobs that exceeded a limit, and whose verdicts may not have been reported: the UID, the name, and the reason.
    pub(crate) fn dropped(&self) -> Result<Vec<(String, String, String)>, Error> {
        let mut all = Vec::new();
        for uid in self.in_jobs(".dropped")? {
            let note = read_if_there(&self.note_of_limit(&uid))?;
            // The records are still there if a crash has left a part of the note.
            if let Ok((name, why)) = serde_json::from_str(&note) {
                remove_if_there(&self.file(&uid))?;
                all.push((uid, name, why));
            }
        }
        Ok(all)
    }

    /// Notes that a Job is being judged.
    pub(crate) fn begin_judging(&self, uid: &str) -> Result<(), Error> {
        let [path, _] = self.judgements(uid);
        files::write(&path, b"").map_err(Error::of(path))
    }

    /// Notes that the process has survived a judgement.
    pub(crate) fn end_judging(&self, uid: &str) -> Result<(), Error> {
        self.judgements(uid).iter().try_for_each(|path| remove_if_there(path))
    }

    /// The Jobs during whose judgement the process has ended twice, such as for lack of memory.
    pub(crate) fn interrupted_twice(&self) -> Result<Vec<String>, Error> {
        let mut twice = Vec::new();
        for uid in self.in_jobs(".judging")? {
            let [judging, interrupted] = self.judgements(&uid);
            if interrupted.exists() {
                twice.push(uid);
            } else {
                fs::rename(&judging, &interrupted).map_err(Error::of(judging))?;
            }
        }
        Ok(twice)
    }

    fn judgements(&self, uid: &str) -> [PathBuf; 2] {
        ["judging", "interrupted"].map(|suffix| self.file(uid).with_extension(suffix))
    }

    fn note_of_limit(&self, uid: &str) -> PathBuf {
        self.file(uid).with_extension("dropped")
    }

    /// The file of a Job that violates.
    pub(crate) fn kept(&self, uid: &str) -> PathBuf {
        self.folder.join("violations").join(format!("{}.jsonl", plain(uid)))
    }

    /// Removes the oldest evidence, so that the rest is within these limits. The newest file may have any size.
    pub(crate) fn keep_at_most(&self, most: Share) -> Result<(), Error> {
        let folder = self.folder.join("violations");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let with_data = |entry: fs::DirEntry| {
            let data = entry.metadata().ok()?;
            Some((data.modified().ok(), entry.path(), data.len()))
        };
        let mut kept: Vec<_> = entries.flatten().filter_map(with_data).collect();
        kept.sort();
        let mut bytes = 0;
        let newest_first = kept.into_iter().rev().enumerate();
        let surplus = newest_first.filter(|(place, (_, _, size))| {
            bytes += size;
            *place >= most.count || (*place > 0 && bytes > most.bytes)
        });
        let paths: Vec<PathBuf> = surplus.map(|(_, (_, path, _))| path).collect();
        paths.into_iter().try_for_each(|path| fs::remove_file(&path).map_err(Error::of(path)))
    }

    /// The place up to which the source was read, as it was stored.
    pub(crate) fn position(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("position")).ok()
    }

    /// Stores the place up to which the source was read. A crash leaves the old place or the new one.
    pub(crate) fn store_position(&self, position: &str) -> Result<(), Error> {
        let (path, draft) = (self.folder.join("position"), self.folder.join("position.new"));
        files::write(&draft, position.as_bytes()).map_err(Error::of(&draft))?;
        fs::rename(&draft, &path).map_err(Error::of(path))
    }
}

/// Appends to a file. Its owner alone can read it.
fn append_to(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = || Error::of(path);
    if !path.exists() {
        files::create_new(path).map_err(failed())?;
    }
    let mut file = File::options().append(true).open(path).map_err(failed())?;
    file.write_all(bytes).map_err(failed())
}

/// Removes what a crash has left of a last line. Returns the size of the file.
fn cut_last_line(path: PathBuf) -> Result<u64, Error> {
    let bytes = fs::read(&path).map_err(Error::of(&path))?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place as u64 + 1);
    let file = File::options().write(true).open(&path).map_err(Error::of(&path))?;
    file.set_len(end).map(|()| end).map_err(Error::of(path))
}

/// The text of a file; empty if the file does not exist.
fn read_if_there(path: &Path) -> Result<String, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::of(path)(error)),
    }
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::of(path)(error)),
        _ => Ok(()),
    }
}

/// A UID is part of a path, and comes from others.
fn plain(uid: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
    uid.chars().filter(is_plain).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_behind_a_link_is_not_used() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), folder.path().join("violations")).unwrap();
        let error = Spool::open(folder.path()).err().unwrap().to_string();
        assert!(error.contains("violations") && error.contains("not a directory"), "{error}");
        fs::remove_file(folder.path().join("violations")).unwrap();
        assert!(Spool::open(folder.path()).is_ok());
    }

    #[test]
    fn the_jobs_that_were_judged_are_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        assert!(spool.concluded().unwrap().is_empty());
        spool.note_concluded("a").unwrap();
        fs::write(folder.path().join("concluded.old"), "z\n").unwrap();
        // A crash has left a part of a line.
        append_to(&folder.path().join("concluded"), b"part").unwrap();
        assert_eq!(spool.concluded().unwrap(), ["z", "a"]);
        spool.note_concluded("b").unwrap();
        assert_eq!(spool.concluded().unwrap(), ["z", "a", "b"]);
        spool.forget_concluded().unwrap();
        assert!(spool.concluded().unwrap().is_empty());
    }

    #[test]
    fn the_list_of_judged_jobs_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let line = "a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f\n";
        let many = line.repeat(usize::try_from(MOST_CONCLUDED).unwrap() / line.len() - 1);
        fs::write(folder.path().join("concluded"), many).unwrap();
        fs::write(folder.path().join("concluded.old"), "z\n").unwrap();
        spool.note_concluded(line.trim_end()).unwrap();
        assert_eq!(spool.concluded().unwrap().len(), REMEMBERED / 2);
        assert!(!folder.path().join("concluded").exists());
    }

    #[test]
    fn reported_findings_live_as_long_as_their_job() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let kind = jobcheck_traces::MarkKind::Gap { resource: None, reason: String::new(), gone: Vec::new() };
        spool.append("a", &Body::Mark(&jobcheck_traces::Mark { at: None, kind })).unwrap();
        spool.note_reported("a", "FT-03", 7).unwrap();
        spool.note_reported("a", "FT-04", 9).unwrap();
        assert_eq!(spool.jobs().unwrap(), ["a"]);
        assert_eq!(spool.reported("a").unwrap(), [("FT-03".to_owned(), 7), ("FT-04".to_owned(), 9)]);
        spool.close("a").unwrap();
        assert_eq!(folder.path().join("jobs").read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_job_that_exceeded_a_limit_is_known_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        fs::write(spool.file("a"), "records").unwrap();
        spool.drop_records("a", "ns/a", "too large").unwrap();
        assert!(!spool.file("a").exists());
        // A crash came before the end of the note, and another one before the records were removed.
        fs::write(spool.file("b"), "records").unwrap();
        fs::write(folder.path().join("jobs/b.dropped"), "[\"ns").unwrap();
        fs::write(spool.file("a"), "records").unwrap();
        let dropped = [("a".to_owned(), "ns/a".to_owned(), "too large".to_owned())];
        assert_eq!(
            (spool.dropped().unwrap(), spool.jobs().unwrap()),
            (dropped.to_vec(), vec!["b".to_owned()])
        );
        spool.close("a").unwrap();
        spool.close("b").unwrap();
        assert_eq!(folder.path().join("jobs").read_dir().unwrap().count(), 0);
    }

    #[test]
    fn evidence_is_there_before_the_file_of_the_job_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        fs::write(spool.file("a"), "records").unwrap();
        for _ in 0..2 {
            let kept = spool.keep("a").unwrap();
            assert_eq!(
                (fs::read_to_string(kept).unwrap(), spool.jobs().unwrap().len()),
                ("records".to_owned(), 1)
            );
        }
        spool.close("a").unwrap();
        assert!(spool.kept("a").exists() && spool.jobs().unwrap().is_empty());
    }
}
