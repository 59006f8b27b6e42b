//! A lock that only one process can hold. The operating system releases it when the process ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The lock of a cluster or of a build. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock. Returns `None` if another process has it.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Lock>, Error> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    return Ok(Some(Lock { path: path.to_owned(), _file: file }));
                }
                // The previous owner has removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed before the lock is released, so that the next process creates a new one.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(Error::file("open", path))
}

fn is_still_there(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
