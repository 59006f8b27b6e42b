//! One input on a target: what it said, or why it failed.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::{Signs, Target, sign};

/// The longest time of one input, for a slow machine with a debug build. A usual input takes milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The most bytes by which one input may raise the peak of the memory. Inputs have at most 200 kB.
pub const MOST_MEMORY: u64 = 1 << 29;

/// Why an input failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The sentence.
    pub what: String,
}

impl Failure {
    /// The same for inputs that fail in the same way.
    #[must_use]
    pub fn kind(&self) -> String {
        sign(&self.what)
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message of a panic in this thread, instead of printing it, while an input runs.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if QUIET.get() {
                PANIC.set(Some(panic.to_string().replace('\n', " ")));
            } else {
                usual(panic);
            }
        }));
    });
}

/// Gives an input to a target.
///
/// # Errors
///
/// The input failed.
pub fn attempt(target: &Target, input: &[u8]) -> Result<Signs, Failure> {
    hear_panics();
    let (begun, before) = (Instant::now(), peak_memory());
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    QUIET.set(false);
    let failed = |what: String| Err(Failure { what });
    match done {
        Err(_) => {
            let message = PANIC.take().unwrap_or_else(|| "panicked in another thread".to_owned());
            failed(message)
        }
        Ok(Err(what)) => failed(what),
        Ok(Ok(_)) if begun.elapsed() > PATIENCE => failed(format!("took longer than {PATIENCE:?}")),
        Ok(Ok(_)) if peak_memory().saturating_sub(before) > MOST_MEMORY => {
            failed(format!("needed more than {MOST_MEMORY} bytes of memory"))
        }
        Ok(Ok(signs)) => Ok(signs),
    }
}

/// The most bytes that this process has used so far; 0 on a system without `/proc`.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
