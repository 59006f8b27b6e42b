//! The limits of `--max-memory` and `--budget`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_traces::format_duration;

use crate::memory::{self, Output};

/// The time between two looks at the limits while one write is judged, which may take long.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Limits, and a sentence about the one that was reached.
pub struct Limit(Arc<Watched>);

/// The limits and the progress, which a thread watches until the end of the [`Limit`].
struct Watched {
    most_memory: Option<u64>,
    /// The thing that is made after reading.
    output: Output,
    budget: Duration,
    begun: Instant,
    /// The bytes read, and those of all inputs; 0 if they are not known.
    progress: [AtomicU64; 2],
    reached: OnceLock<String>,
    stop: Arc<AtomicBool>,
}

impl Limit {
    /// Limits in bytes, also of what is made after reading, and in time from now on.
    pub fn new(most_memory: Option<u64>, output: Output, budget: Duration) -> Limit {
        let watched = Arc::new(Watched {
            most_memory,
            output,
            budget,
            begun: Instant::now(),
            progress: Default::default(),
            reached: OnceLock::new(),
            stop: Arc::default(),
        });
        watch(Arc::downgrade(&watched));
        Limit(watched)
    }

    /// Becomes true once a limit is reached.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.stop)
    }

    /// A sentence about the limit that was reached.
    pub fn reached(&self) -> Option<&str> {
        self.0.reached.get().map(String::as_str)
    }

    /// The steps of a page for which there is memory.
    pub fn steps(&self, wanted: usize) -> usize {
        Output::steps(self.0.most_memory, wanted)
    }

    /// The end of the time for reading again, which is as long as the time for reading.
    pub fn again(&self) -> Option<Instant> {
        Instant::now().checked_add(self.0.budget)
    }

    /// Looks at the memory and the time after these bytes of all inputs.
    pub fn look(&self, read: u64, total: Option<u64>) {
        for (place, bytes) in self.0.progress.iter().zip([read, total.unwrap_or(0)]) {
            place.store(bytes, Ordering::Relaxed);
        }
        self.0.look();
    }

    /// The report, which is inconclusive if a limit was reached.
    pub fn doubted(&self, mut report: ReplayReport) -> ReplayReport {
        let Some(reached) = self.reached() else { return report };
        report.doubts.push(reached.to_owned());
        report.exit_code = Exit::of_all([report.exit_code, Exit::Inconclusive]);
        report.verdict = report.verdict.max(Outcome::Inconclusive);
        report
    }
}

impl Watched {
    fn look(&self) {
        let percent = self.output.percent_of_reading();
        let is_full = |most: &u64| memory::used().is_some_and(|used| used > most / 100 * percent);
        let (what, advice) = if let Some(most) = self.most_memory.filter(is_full) {
            let advice = match self.output {
                Output::Records => "raise it with --max-memory",
                Output::Text | Output::Document | Output::Page => {
                    "the report needs the rest; raise it with --max-memory, or choose Jobs with --job, -n, or --list"
                }
            };
            (
                format!("reading has used {percent} % of the limit of {} MB of memory", most / 1_000_000),
                advice,
            )
        } else if self.begun.elapsed() > self.budget {
            (format!("the time of {} ended", format_duration(self.budget)), "raise it with --budget")
        } else {
            return;
        };
        let [read, total] = [0, 1].map(|place| self.progress[place].load(Ordering::Relaxed));
        let of = if total > 0 { format!(" of {total}") } else { String::new() };
        self.reached.get_or_init(|| format!("{what} after {read}{of} bytes; {advice}"));
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Looks at the limits until one is reached, or nobody holds them. Without a thread, the reader looks alone.
fn watch(watched: Weak<Watched>) {
    let watching = move || {
        while let Some(watched) = watched.upgrade() {
            watched.look();
            if watched.stop.load(Ordering::Relaxed) {
                return;
            }
            drop(watched);
            thread::sleep(BETWEEN_LOOKS);
        }
    };
    let _ = thread::Builder::new().name("limits".to_owned()).spawn(watching);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One write may be judged for longer than the budget. Nobody looks at the progress meanwhile.
    #[test]
    fn the_time_ends_while_nothing_is_read() {
        let limit = Limit::new(None, Output::Text, Duration::from_millis(1));
        let stop = limit.stop();
        let end = Instant::now() + Duration::from_secs(60);
        while !stop.load(Ordering::Relaxed) {
            assert!(Instant::now() < end, "{:?}", limit.reached());
            thread::sleep(Duration::from_millis(10));
        }
        assert!(
            limit.reached().is_some_and(|why| why.contains("ended after 0 bytes")),
            "{:?}",
            limit.reached()
        );
    }

    #[test]
    fn the_thread_ends_with_its_limit() {
        let limit = Limit::new(None, Output::Text, Duration::MAX);
        let watched = Arc::downgrade(&limit.0);
        drop(limit);
        let end = Instant::now() + Duration::from_secs(60);
        while watched.upgrade().is_some() {
            assert!(Instant::now() < end);
            thread::sleep(Duration::from_millis(10));
        }
    }
}
