//! Why there is no proxy.

use thiserror::Error as ThisError;

/// Why a proxy cannot be started.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The API server gives no answer, or none that it would give.
    #[error("the API server {url} cannot be reached: {why}")]
    Upstream {
        /// Where it was looked for.
        url: String,
        /// Why not.
        why: String,
    },
    /// The configuration cannot be turned into a client.
    #[error("cannot build a client: {0}")]
    Client(String),
    /// The operating system gives no port.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(#[source] std::io::Error),
    /// A key or a certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
}
