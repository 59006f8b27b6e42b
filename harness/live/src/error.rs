//! What keeps a run from being made.

use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why a run could not be made.
#[derive(Debug, ThisError)]
pub enum Error {
    /// There is no way to a cluster.
    #[error("no cluster: {0}")]
    NoCluster(String),
    /// The API server gives no answer, or none that is expected.
    #[error("the API server: {0}")]
    Server(String),
    /// Something may not be done.
    #[error("not allowed on this cluster: {}; a run needs it all", .0.join(", "))]
    Permission(Vec<String>),
    /// The API server refuses what a scenario begins with.
    #[error("the API server refuses it: {0}")]
    Refused(String),
    /// The shipped controllers cannot be started, or have ended.
    #[error("the controllers: {0}")]
    Controller(String),
    /// There is no fault proxy before them.
    #[error("the fault proxy: {0}")]
    Proxy(#[from] jobcheck_faultproxy::Error),
    /// A file or folder cannot be used.
    #[error("cannot use {}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A local cluster, or its folder.
    #[error(transparent)]
    Cluster(#[from] jobcheck_cluster::Error),
    /// A namespace does not go.
    #[error("namespaces are still there after a minute: {}", .0.join(", "))]
    Remains(Vec<String>),
    /// It was to stop.
    #[error("interrupted")]
    Interrupted,
    /// A bug.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// Something about a file or folder.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    }
}
