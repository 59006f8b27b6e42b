//! SIGTERM, SIGINT and SIGHUP: the first signal requests a graceful shutdown, the second one ends the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Returns a token that the first signal cancels.
///
/// The second signal ends the process at once with the exit code 128 plus the number of the signal, as in a shell. A
/// SIGHUP is never the second signal, because a terminal that is closed may cause several. Under `nohup` it is ignored.
///
/// # Errors
///
/// The operating system refuses a signal handler.
pub fn listen() -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = next(&mut terminate, &mut interrupt) => {}
            () = received(hangup.as_mut()) => {}
        }
        cancelled.cancel();
        info!("stopping: waiting for running syncs; send the signal again to stop at once");
        let signal = next(&mut terminate, &mut interrupt).await;
        warn!("stopping at once");
        std::process::exit(128 + signal);
    });
    Ok(stop)
}

/// Returns whether the process was started with SIGHUP ignored, as `nohup` does. An unknown state counts as not ignored.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, and has the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// Waits for a signal. Returns its number.
async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> i32 {
    tokio::select! {
        _ = terminate.recv() => 15,
        _ = interrupt.recv() => 2,
    }
}

/// Waits for a signal; for ever without one.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
