//! Errors of starting a proxy.

use thiserror::Error as ThisError;

/// The reason why a proxy cannot be started.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The API server does not respond, or responds unexpectedly.
    #[error("cannot reach the API server {url}: {why}")]
    Upstream {
        /// The URL.
        url: String,
        /// The error, with its causes.
        why: String,
    },
    /// A client cannot be built from the configuration.
    #[error("cannot build a client: {0}")]
    Client(String),
    /// There is no free port.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(#[source] std::io::Error),
    /// A key or a certificate cannot be made.
    #[error("{0}")]
    Certificate(String),
    /// A defect of this program.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}
