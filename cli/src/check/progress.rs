//! Progress on standard error, where that is a terminal.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jobcheck_model::check::Progress as SoFar;

/// How long a scope may take before a line appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A line that says how far the search has come, if anybody is there to see it.
pub struct Progress {
    bar: ProgressBar,
    began: Mutex<Instant>,
}

impl Progress {
    /// A line, hidden unless it is wanted and standard error is a terminal.
    pub fn new(wanted: bool) -> Progress {
        let is_seen = wanted && std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, began: Mutex::new(Instant::now()) }
    }

    /// A scope begins.
    pub fn begin(&self) {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Shows how far the search of a scope has come.
    pub fn show(&self, scope: &str, so_far: &SoFar) {
        let elapsed = self.began.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        if self.bar.is_hidden() || elapsed < PATIENCE {
            return;
        }
        self.bar.set_message(line(scope, so_far, elapsed));
        self.bar.tick();
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(scope: &str, so_far: &SoFar, elapsed: Duration) -> String {
    let SoFar { states, frontier, depth, estimate } = *so_far;
    let rate = states as f64 / elapsed.as_secs_f64().max(1e-6);
    let of = estimate.map_or(String::new(), |estimate| format!(" of about {estimate}"));
    format!("{scope}: {states} states{of}, {frontier} to look at, depth {depth}, {rate:.0}/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rate_and_estimate() {
        let so_far = SoFar { states: 3000, frontier: 200, depth: 7, estimate: Some(3500) };
        let expected = "ttl: 3000 states of about 3500, 200 to look at, depth 7, 1500/s";
        assert_eq!(line("ttl", &so_far, Duration::from_secs(2)), expected);
    }
}
