//! Errors of recordings.

use std::io::ErrorKind;
use std::path::PathBuf;

use jobcheck_serve::tls::TlsError;
use thiserror::Error as ThisError;

/// An error of access to a cluster.
#[derive(Debug, ThisError)]
pub enum AccessError {
    /// The kubeconfig is missing or invalid.
    #[error("no cluster: {0}")]
    NoCluster(String),
    /// The API server does not respond, or responds unexpectedly.
    #[error("the API server: {0}")]
    Server(String),
}

/// An error that ends a recording.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The cluster cannot be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The account lacks permissions.
    #[error("not allowed on this cluster: {lacking}; a recording lists and watches Jobs and pods\n{advice}")]
    Permission {
        /// The permissions, and the namespaces.
        lacking: String,
        /// The commands that grant them.
        advice: String,
    },
    /// The output file exists.
    #[error("{} exists: --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// The trace cannot be written.
    #[error("cannot write {name}: {}; {}", reason(.source), kept(*.lines))]
    Output {
        /// The file, or standard output.
        name: String,
        /// The reason.
        source: std::io::Error,
        /// The number of complete lines that were written before.
        lines: u64,
    },
    /// The audit log cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    AuditLog {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The audit log cannot be read to its end, or has other things than audit events. The text names the file, the line,
    /// and what was found.
    #[error("cannot read {0}")]
    NoAuditLog(String),
    /// The token of the webhook cannot be used.
    #[error("cannot use the token in {}: {why}", .path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The certificate of the webhook, or its key, cannot be used.
    #[error(transparent)]
    Certificate(#[from] TlsError),
    /// The address of the webhook cannot be served.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The receiver of the records failed, for this reason.
    #[error("{0}")]
    Sink(String),
    /// A defect of this program.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

/// A pipe without a reader is closed; the operating system calls it broken.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::BrokenPipe => "it is closed".to_owned(),
        _ => error.to_string(),
    }
}

fn kept(lines: u64) -> String {
    match lines {
        0 => "nothing was recorded".to_owned(),
        1 => "the line before is complete, and can be judged".to_owned(),
        more => format!("the {more} lines before are complete, and can be judged"),
    }
}
