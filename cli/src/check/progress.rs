//! Progress on standard error, where that is a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jobcheck_explorer::check::Progress as SoFar;

/// How long a scope may take before a line appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A line that says how far the searches have come, if anybody is there to see it.
pub struct Progress {
    bar: ProgressBar,
    scopes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    /// The scopes that are being explored, since when, and the last that was heard of each.
    under_way: BTreeMap<&'static str, (Instant, String)>,
}

impl Progress {
    /// A line about so many scopes, hidden unless it is wanted and standard error is a terminal.
    pub fn new(wanted: bool, scopes: usize) -> Progress {
        let is_seen = wanted && std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, scopes, state: Mutex::default() }
    }

    /// A scope begins.
    pub fn begin(&self, scope: &'static str) {
        self.state().under_way.insert(scope, (Instant::now(), String::new()));
    }

    /// A scope has been explored.
    pub fn end(&self, scope: &'static str) {
        let mut state = self.state();
        state.under_way.remove(scope);
        state.done += 1;
    }

    /// Shows how far the search of a scope has come.
    pub fn show(&self, scope: &str, so_far: &SoFar) {
        if self.bar.is_hidden() {
            return;
        }
        let mut state = self.state();
        let Some((began, said)) = state.under_way.get_mut(scope) else { return };
        let elapsed = began.elapsed();
        if elapsed >= PATIENCE {
            *said = line(scope, so_far, elapsed);
            self.bar.set_message(state.line(self.scopes));
            self.bar.tick();
        }
    }

    /// Shows something else.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Prints what belongs above the line.
    pub fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line(&self, scopes: usize) -> String {
        let said = self.under_way.values().map(|(_, said)| said.as_str()).filter(|said| !said.is_empty());
        let said: Vec<&str> = said.collect();
        let done = if scopes > 1 { format!("{} of {scopes} scopes; ", self.done) } else { String::new() };
        format!("{done}{}", said.join("; "))
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

        let now = Instant::now();
        let under_way = [("ttl", (now, expected.to_owned())), ("suspend", (now, String::new()))].into();
        let state = State { done: 4, under_way };
        assert_eq!(state.line(9), format!("4 of 9 scopes; {expected}"));
        assert_eq!(state.line(1), expected);
    }
}
