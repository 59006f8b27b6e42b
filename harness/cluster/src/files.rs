//! Writing files that others read while they are written, and that are nobody else's.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::error::Error;

/// Makes a folder for the eyes of this user alone, and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file("make", path))
}

/// Writes a file that others see as a whole or not at all; it may hold secrets.
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

/// Opens a log to append to.
pub(crate) fn log(path: &Path) -> Result<fs::File, Error> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(Error::file("write", path))
}
