//! The runtime of asynchronous commands.

use jobcheck_judge::report::Exit;
use tokio::runtime::{Builder, Runtime};

use crate::output;

/// Starts a runtime with a thread for each processor. An error is printed, and its exit code returned.
pub fn start() -> Result<Runtime, Exit> {
    Builder::new_multi_thread().enable_all().build().map_err(|why| {
        output::error(format!("cannot start threads: {why}"));
        Exit::Environment
    })
}
