//! Ends a judgement that takes too much time or memory, so that one Job cannot stop the service.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jobcheck_traces::format_duration;

use crate::settings::Limits;

/// The time between two looks at the limits.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Watches one judgement after another.
pub(crate) struct Watchdog(Arc<Watched>);

struct Watched {
    limits: Limits,
    /// Ends the judgement.
    stop: Arc<AtomicBool>,
    judgement: Mutex<Judgement>,
    /// A judgement begins, or the watchdog ends.
    news: Condvar,
}

/// The reason for which a judgement was ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It has exceeded a limit, as this sentence says.
    Limit(String),
    /// The process ends.
    End,
}

/// The judgement that is watched.
#[derive(Default)]
struct Judgement {
    /// The time at which it began; `None` between two of them.
    begun: Option<Instant>,
    /// The reason for which it was ended.
    reason: Option<Cut>,
    /// True if none follows.
    is_last: bool,
}

impl Watchdog {
    /// A watchdog that sets `stop` to end a judgement.
    pub(crate) fn new(limits: Limits, stop: Arc<AtomicBool>) -> Watchdog {
        let (judgement, news) = (Mutex::default(), Condvar::new());
        let watched = Arc::new(Watched { limits, stop, judgement, news });
        let shared = Arc::clone(&watched);
        // Without a thread there are no limits, as if the machine were fast.
        let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(move || shared.watch());
        Watchdog(watched)
    }

    /// Does something that ends if `stop` becomes true. Returns its result, and the reason if a limit has ended it.
    pub(crate) fn guard<T>(&self, judge: impl FnOnce() -> T) -> (T, Option<Cut>) {
        self.0.stop.store(false, Ordering::Relaxed);
        self.0.lock().begun = Some(Instant::now());
        self.0.news.notify_one();
        let result = judge();
        let mut judgement = self.0.lock();
        judgement.begun = None;
        (result, judgement.reason.take())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.lock().is_last = true;
        self.0.news.notify_one();
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, Judgement> {
        self.judgement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the limits while there is a judgement.
    fn watch(&self) {
        let mut judgement = self.lock();
        while !judgement.is_last {
            let reason =
                judgement.begun.filter(|_| judgement.reason.is_none()).map(|begun| self.reached(begun));
            judgement = match reason {
                None => self.news.wait(judgement).unwrap_or_else(PoisonError::into_inner),
                Some(Some(reason)) => {
                    judgement.reason = Some(reason);
                    self.stop.store(true, Ordering::Relaxed);
                    continue;
                }
                Some(None) => {
                    let waited = self.news.wait_timeout(judgement, BETWEEN_LOOKS);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The limit that a judgement has reached, which began at this time.
    fn reached(&self, begun: Instant) -> Option<Cut> {
        if self.limits.ends.load(Ordering::Relaxed) {
            return Some(Cut::End);
        }
        let is_full = |most: &u64| (self.limits.used_memory)().is_some_and(|used| used > *most);
        if let Some(most) = self.limits.memory.filter(is_full) {
            let why = format!("to judge it takes more than {} MB of memory", most / 1_000_000);
            return Some(Cut::Limit(why));
        }
        let is_late = begun.elapsed() > self.limits.time;
        let why = || format!("to judge it takes longer than {}", format_duration(self.limits.time));
        is_late.then(|| Cut::Limit(why()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges until it is ended.
    fn judged(limits: Limits) -> Option<Cut> {
        let stop = Arc::new(AtomicBool::new(false));
        let watchdog = Watchdog::new(limits, Arc::clone(&stop));
        let judge = || {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let ((), reason) = watchdog.guard(judge);
        assert_eq!(Arc::strong_count(&watchdog.0), 2);
        let watched = Arc::downgrade(&watchdog.0);
        drop(watchdog);
        while watched.upgrade().is_some() {
            thread::sleep(Duration::from_millis(1));
        }
        reason
    }

    #[test]
    fn a_judgement_without_an_end_is_ended() {
        let short = Limits { time: Duration::ZERO, ..Limits::default() };
        assert_eq!(judged(short), Some(Cut::Limit("to judge it takes longer than 0s".to_owned())));
        let small = Limits { memory: Some(1_000_000), used_memory: || Some(2_000_000), ..Limits::default() };
        assert_eq!(judged(small), Some(Cut::Limit("to judge it takes more than 1 MB of memory".to_owned())));
        let ending = Limits { ends: Arc::new(AtomicBool::new(true)), ..Limits::default() };
        assert_eq!(judged(ending), Some(Cut::End));
    }
}
