//! The limits of `--max-memory` and `--budget`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_traces::format_duration;

use crate::memory;

/// Limits, and a sentence about the one that was reached.
pub struct Limit {
    most_memory: Option<u64>,
    budget: Duration,
    begun: Instant,
    reached: Option<String>,
    stop: Arc<AtomicBool>,
}

impl Limit {
    /// Limits in bytes, and in time from now on.
    pub fn new(most_memory: Option<u64>, budget: Duration) -> Limit {
        Limit { most_memory, budget, begun: Instant::now(), reached: None, stop: Arc::default() }
    }

    /// Becomes true once a limit is reached.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// A sentence about the limit that was reached.
    pub fn reached(&self) -> Option<&str> {
        self.reached.as_deref()
    }

    /// Looks at the memory and the time after these bytes of all inputs.
    pub fn look(&mut self, read: u64, total: Option<u64>) {
        if self.reached.is_some() {
            return;
        }
        let is_full = |most: &u64| memory::used().is_some_and(|used| used > *most);
        let (what, advice) = if let Some(most) = self.most_memory.filter(is_full) {
            let advice = "raise it with --max-memory, or choose Jobs with --job or -n";
            (format!("the limit of {} MB of memory was reached", most / 1_000_000), advice)
        } else if self.begun.elapsed() > self.budget {
            (format!("the time of {} ended", format_duration(self.budget)), "raise it with --budget")
        } else {
            return;
        };
        let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
        self.reached = Some(format!("{what} after {read}{of} bytes; {advice}"));
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The report, which is inconclusive if a limit was reached.
    pub fn doubted(&self, mut report: ReplayReport) -> ReplayReport {
        let Some(reached) = &self.reached else { return report };
        report.doubts.push(reached.clone());
        report.exit_code = Exit::of_all([report.exit_code, Exit::Inconclusive]);
        report.verdict = report.verdict.max(Outcome::Inconclusive);
        report
    }
}
