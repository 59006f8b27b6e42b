//! The folder of the service: a file of records for each living Job, and the files of Jobs that violate.
//!
//! | path | content |
//! | --- | --- |
//! | `jobs/UID.jsonl` | the records of a living Job, as a native trace |
//! | `violations/UID.jsonl` | the records of a Job that violates a requirement |
//! | `position` | the place up to which the source was read |
//! | `lock` | held by the process that uses the folder |

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jobcheck_traces::{Body, Header, Writer, files};

use crate::error::Error;

pub(crate) struct Spool {
    folder: PathBuf,
    /// Held until the process ends.
    _lock: File,
}

impl Spool {
    /// Opens the folder, and makes it if it does not exist.
    pub(crate) fn open(folder: &Path) -> Result<Spool, Error> {
        fs::create_dir_all(folder).map_err(Error::of(folder))?;
        for path in ["jobs", "violations"].map(|name| folder.join(name)) {
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
        let folder = self.folder.join("jobs");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)).collect())
    }

    /// Removes what a crash has left of a last line.
    pub(crate) fn repair(&self, uid: &str) -> Result<u64, Error> {
        let path = self.file(uid);
        let bytes = fs::read(&path).map_err(Error::of(&path))?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place as u64 + 1);
        let file = File::options().write(true).open(&path).map_err(Error::of(&path))?;
        file.set_len(end).map(|()| end).map_err(Error::of(path))
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
            files::create_new(&path).map_err(failed())?;
        }
        let mut file = File::options().append(true).open(&path).map_err(failed())?;
        file.write_all(&lines).map_err(failed())?;
        Ok(lines.len() as u64)
    }

    /// Removes the file of a Job, or keeps it as evidence. Returns where it is kept.
    pub(crate) fn close(&self, uid: &str, keep: bool) -> Result<Option<PathBuf>, Error> {
        let path = self.file(uid);
        if !keep {
            return fs::remove_file(&path).map(|()| None).map_err(Error::of(path));
        }
        let kept = self.kept(uid);
        fs::rename(&path, &kept).map_err(Error::of(path))?;
        Ok(Some(kept))
    }

    /// The file of a Job that violates.
    pub(crate) fn kept(&self, uid: &str) -> PathBuf {
        self.folder.join("violations").join(format!("{}.jsonl", plain(uid)))
    }

    /// Removes the oldest evidence, so that at most this many files remain.
    pub(crate) fn keep_at_most(&self, most: usize) -> Result<(), Error> {
        let folder = self.folder.join("violations");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let modified = |entry: &fs::DirEntry| entry.metadata().and_then(|data| data.modified()).ok();
        let mut kept: Vec<_> = entries.flatten().map(|entry| (modified(&entry), entry.path())).collect();
        kept.sort();
        let surplus = kept.len().saturating_sub(most);
        kept.drain(..surplus).try_for_each(|(_, path)| fs::remove_file(&path).map_err(Error::of(path)))
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
}
