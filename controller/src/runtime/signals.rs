//! SIGTERM and SIGINT: the first asks the process to finish, the second ends it.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Is cancelled by the first signal. The second one ends the process at once, with 128 and the number of the signal, as
/// a shell would tell it.
///
/// # Errors
/// The operating system takes no handler.
pub fn listen() -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        next(&mut terminate, &mut interrupt).await;
        info!("stopping: finishing what is under way; once more to stop at once");
        cancelled.cancel();
        let signal = next(&mut terminate, &mut interrupt).await;
        warn!("stopping at once");
        std::process::exit(128 + signal);
    });
    Ok(stop)
}

/// The number of the next signal.
async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> i32 {
    tokio::select! {
        _ = terminate.recv() => 15,
        _ = interrupt.recv() => 2,
    }
}
