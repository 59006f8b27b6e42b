//! Errors of the service.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The folder of the service cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    /// A file cannot be read, written, or removed.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process uses the folder.
    #[error("{0} is used by another process; each needs a folder of its own")]
    Used(PathBuf),
}

impl Error {
    pub(crate) fn of(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { path, source }
    }
}
