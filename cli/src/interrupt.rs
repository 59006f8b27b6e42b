//! Ctrl-C: the first one ends a search early, so that its report is still printed; the second one ends the process.
//! SIGTERM and a closed terminal (SIGHUP) do the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::output;

/// The exit code of a process that the second signal ends: 128 and the number of SIGINT, as shells have it.
const ENDED: i32 = 130;

/// Returns whether the process was started with SIGHUP ignored, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, and has the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// Makes a file that is larger than the limit of the shell (`ulimit -f`) an error of the write. Otherwise it would end the
/// process without a message.
pub fn outlive_large_files() {
    // If the signal cannot be handled, the process ends as before.
    let _ = register(SIGXFSZ, Arc::default());
}

/// True if the user wants the search to end.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// Listens to SIGINT, SIGTERM and SIGHUP from now on.
    pub fn listen() -> Interrupt {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let registered = match signal {
                SIGHUP if ignores_hangup() => continue,
                // A terminal that is closed may cause several, so that it is never the second signal.
                SIGHUP => register(signal, Arc::clone(&flag)),
                // The order matters: the first signal must find the flag unset.
                _ => register_conditional_shutdown(signal, ENDED, Arc::clone(&flag))
                    .and_then(|_| register(signal, Arc::clone(&flag))),
            };
            if let Err(why) = registered {
                output::note(format!("cannot listen to signals, so that Ctrl-C prints no report: {why}"));
            }
        }
        Interrupt(Arc::new(move || flag.load(Ordering::Relaxed)))
    }

    /// Listens to something else than signals.
    #[cfg(any(test, feature = "cluster"))]
    pub fn from(is_set: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Arc::new(is_set))
    }

    /// Returns whether the search must end.
    pub fn is_set(&self) -> bool {
        (self.0)()
    }

    /// A function that returns true once the search must end: after an interrupt, or at `end`.
    pub fn or_after(&self, end: Option<Instant>) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let interrupt = self.clone();
        Arc::new(move || interrupt.is_set() || end.is_some_and(|end| Instant::now() >= end))
    }
}
