//! Progress of searches on standard error, if that is a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jobcheck_explorer::check::Progress as SoFar;

/// The time after which the search of a scope appears.
const DELAY: Duration = Duration::from_millis(300);

/// A line on standard error with this template. Hidden unless it is wanted and standard error is a terminal.
pub fn line(is_wanted: bool, template: &str) -> ProgressBar {
    let is_shown = is_wanted && std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// The progress of searches that run side by side.
pub struct Progress {
    bar: ProgressBar,
    scopes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    /// The scopes that are being explored, with their start and their last message.
    running: BTreeMap<&'static str, (Instant, String)>,
}

impl Progress {
    /// A line for a number of scopes. Hidden unless it is wanted and standard error is a terminal.
    pub fn new(is_wanted: bool, scopes: usize) -> Progress {
        // `wide_msg` cuts the message at the edge of the terminal: a line that wraps could not be overwritten.
        Progress { bar: line(is_wanted, "{spinner} {wide_msg}"), scopes, state: Mutex::default() }
    }

    /// Begins the search of a scope.
    pub fn begin(&self, scope: &'static str) {
        self.state().running.insert(scope, (Instant::now(), String::new()));
    }

    /// Ends the search of a scope.
    pub fn end(&self, scope: &'static str) {
        let mut state = self.state();
        state.running.remove(scope);
        state.done += 1;
    }

    /// Shows the progress of the search of a scope.
    pub fn show(&self, scope: &str, so_far: &SoFar) {
        if self.bar.is_hidden() {
            return;
        }
        let mut state = self.state();
        let Some((began, message)) = state.running.get_mut(scope) else { return };
        let elapsed = began.elapsed();
        if elapsed >= DELAY {
            *message = message_of(scope, so_far, elapsed);
            self.bar.set_message(state.message(self.scopes));
            self.bar.tick();
        }
    }

    /// Shows a message in place of the searches.
    pub fn show_message(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.bar.tick();
    }

    /// Prints above the line.
    pub fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn message(&self, scopes: usize) -> String {
        let messages = self.running.values().map(|(_, message)| message.as_str());
        let messages: Vec<&str> = messages.filter(|message| !message.is_empty()).collect();
        let done = if scopes > 1 { format!("{} of {scopes} scopes; ", self.done) } else { String::new() };
        format!("{done}{}", messages.join("; "))
    }
}

fn message_of(scope: &str, so_far: &SoFar, elapsed: Duration) -> String {
    let SoFar { states, frontier, depth, estimate } = *so_far;
    let rate = states as f64 / elapsed.as_secs_f64().max(1e-6);
    let of = estimate.map_or(String::new(), |estimate| format!(" of about {estimate}"));
    format!("{scope}: {states} states{of}, {frontier} to explore, depth {depth}, {rate:.0}/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_rate_and_the_estimate() {
        let so_far = SoFar { states: 3000, frontier: 200, depth: 7, estimate: Some(3500) };
        let expected = "ttl: 3000 states of about 3500, 200 to explore, depth 7, 1500/s";
        assert_eq!(message_of("ttl", &so_far, Duration::from_secs(2)), expected);

        let now = Instant::now();
        let running = [("ttl", (now, expected.to_owned())), ("suspend", (now, String::new()))].into();
        let state = State { done: 4, running };
        assert_eq!(state.message(9), format!("4 of 9 scopes; {expected}"));
        assert_eq!(state.message(1), expected);
    }
}
