//! SIGTERM and SIGINT: the first signal requests a graceful shutdown, the second one ends the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Returns a token that the first signal cancels.
///
/// The second signal ends the process at once with the exit code 128 plus the number of the signal, as in a shell.
///
/// # Errors
///
/// The operating system refuses a signal handler.
pub fn listen() -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        next(&mut terminate, &mut interrupt).await;
        info!("stopping: waiting for running syncs; send the signal again to stop at once");
        cancelled.cancel();
        let signal = next(&mut terminate, &mut interrupt).await;
        warn!("stopping at once");
        std::process::exit(128 + signal);
    });
    Ok(stop)
}

/// Waits for a signal. Returns its number.
async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> i32 {
    tokio::select! {
        _ = terminate.recv() => 15,
        _ = interrupt.recv() => 2,
    }
}
