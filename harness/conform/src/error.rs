//! Errors of the suite itself.

use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

/// An error that ends a run without a verdict.
#[derive(Debug, ThisError)]
pub enum Error {
    /// A cluster cannot be reached, or does not respond.
    #[error("cluster {cluster}: {why}")]
    Cluster {
        /// The name of the cluster.
        cluster: String,
        /// The reason.
        why: String,
    },
    /// The account lacks permissions.
    #[error("not allowed on cluster {cluster}: {}; the suite needs all these permissions", .lacking.join(", "))]
    Permission {
        /// The name of the cluster.
        cluster: String,
        /// The permissions that are missing.
        lacking: Vec<String>,
    },
    /// A file cannot be used.
    #[error("cannot use {}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A hook has failed.
    #[error("the hook {hook} failed: {why}")]
    Hook {
        /// The name of the hook.
        hook: String,
        /// The reason.
        why: String,
    },
    /// The traces cannot be judged.
    #[error("cannot judge the traces: {0}")]
    Judge(String),
    /// The run was stopped.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Returns a function for `map_err` that adds the path.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    }
}
