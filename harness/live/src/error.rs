//! Errors of runs.

use std::path::PathBuf;

use jobcheck_record::AccessError;
use thiserror::Error as ThisError;

/// An error that ends a run.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The cluster cannot be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The account lacks permissions.
    #[error("not allowed on this cluster: {}; a run needs all these permissions", .0.join(", "))]
    Permission(Vec<String>),
    /// The API server refuses an initial object of the scenario.
    #[error("the API server refuses an object of the scenario: {0}")]
    Refused(String),
    /// The controllers cannot be started, or have ended.
    #[error("the controllers: {0}")]
    Controller(String),
    /// The fault proxy cannot be started.
    #[error("the fault proxy: {0}")]
    Proxy(#[from] jobcheck_faultproxy::Error),
    /// A file or folder cannot be used.
    #[error("cannot use {}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// An error of a local cluster or of its folder.
    #[error(transparent)]
    Cluster(#[from] jobcheck_cluster::Error),
    /// Namespaces were not removed in time.
    #[error("namespaces were not removed within a minute: {}", .0.join(", "))]
    Remains(Vec<String>),
    /// The run was stopped.
    #[error("interrupted")]
    Interrupted,
    /// A defect of this program.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// Returns a function for `map_err` that adds the path.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    }
}
