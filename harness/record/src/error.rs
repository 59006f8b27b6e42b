//! What keeps a recording from being made.

use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why a recording could not be made, or not be ended.
#[derive(Debug, ThisError)]
pub enum Error {
    /// There is no way to a cluster.
    #[error("no cluster: {0}")]
    NoCluster(String),
    /// The API server gives no answer, or none that is expected.
    #[error("the API server: {0}")]
    Server(String),
    /// Something may not be done.
    #[error("not allowed on this cluster: {lacking}; a recording lists and watches Jobs and pods\n{advice}")]
    Permission {
        /// What, and where.
        lacking: String,
        /// The commands that allow it.
        advice: String,
    },
    /// The file is there already.
    #[error("{} is there already: --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// The trace cannot be written.
    #[error("cannot write {name}: {source}; {}", kept(*.lines))]
    Output {
        /// The file, or standard output.
        name: String,
        /// Why not.
        source: std::io::Error,
        /// How many lines were written before, and stay readable.
        lines: u64,
    },
    /// The audit log cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    AuditLog {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The address of the webhook cannot be served.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A bug.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

fn kept(lines: u64) -> String {
    match lines {
        0 => "nothing was recorded".to_owned(),
        1 => "the line before is there, and can be read".to_owned(),
        more => format!("the {more} lines before are there, and can be judged"),
    }
}
