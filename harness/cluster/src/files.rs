//! Writing files that only this user can read, and that other processes may read meanwhile.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::error::Error;

/// Creates a folder that only this user can read, and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file("make", path))
}

/// Writes a file atomically. Only this user can read it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let put = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
        file.write_all(bytes)?;
        fs::rename(&partial, path)
    };
    put().map_err(Error::file("write", path))
}

/// Opens a log for appending.
pub(crate) fn log(path: &Path) -> Result<fs::File, Error> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(Error::file("write", path))
}
