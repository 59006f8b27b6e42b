//! One process at a time for each name: a lock that goes with the process that has it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The lock of a cluster, or of a build. The file goes with it.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock; `None` if another process has it.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Lock>, Error> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    return Ok(Some(Lock { path: path.to_owned(), _file: file }));
                }
                // Who had it before has removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is given back: who opens the file afterwards makes a new one.
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
