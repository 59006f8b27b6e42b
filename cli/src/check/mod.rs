//! `jobcheck check`: explores the specification.

mod args;
mod json;
mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anstream::eprintln;
use jobcheck_harness::report::Exit;
use jobcheck_model::check::{Bounds, Exploration, Outcome, explore};
use jobcheck_model::explore::similar;
use jobcheck_model::properties::PROPERTIES;
use jobcheck_model::scope::Scope;
use jobcheck_model::scopes;

pub use self::args::CheckArgs;
use self::args::Format;
use crate::args::Global;
use crate::output;

/// The exploration of one scope.
struct Run {
    scope: Scope,
    exploration: Exploration,
    elapsed: Duration,
}

/// What a whole call found.
struct Report {
    runs: Vec<Run>,
    /// Scopes for which no time was left.
    not_run: Vec<&'static str>,
    /// Whether every scope there is was asked for, so that every premise must be reached.
    complete: bool,
    elapsed: Duration,
}

impl Report {
    fn is_broken(&self) -> bool {
        self.runs.iter().any(|run| matches!(run.exploration.outcome, Outcome::Broken(_)))
    }

    fn is_unfinished(&self) -> bool {
        let cut = |run: &Run| matches!(run.exploration.outcome, Outcome::NotFinished);
        !self.not_run.is_empty() || self.runs.iter().any(cut)
    }

    /// In how many scopes a property's premise was reached.
    fn reached(&self, property: usize) -> usize {
        self.runs.iter().filter(|run| run.exploration.reached[property]).count()
    }

    /// Properties that nothing could have broken. Only all scopes together have to reach every premise.
    fn empty(&self) -> Vec<usize> {
        if !self.complete || self.is_unfinished() {
            return Vec::new();
        }
        (0..PROPERTIES.len()).filter(|property| self.reached(*property) == 0).collect()
    }

    fn exit(&self) -> Exit {
        match () {
            () if self.is_broken() => Exit::Violates,
            () if self.is_unfinished() || !self.empty().is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Explores, prints the report, and returns what it comes to.
pub fn run(args: &CheckArgs, global: &Global) -> Exit {
    let scopes = match chosen(&args.scopes) {
        Ok(scopes) => scopes,
        Err(message) => {
            eprintln!("error: {message}");
            return Exit::Unreadable;
        }
    };
    if args.list {
        return output::print(&text::list(&scopes), Exit::Conforms);
    }
    let report = explore_all(scopes, args);
    let rendered = match args.output {
        Format::Text => Ok(text::render(&report, global)),
        Format::Json => json::json(&report),
        Format::Yaml => json::yaml(&report),
    };
    match rendered {
        Ok(text) => output::print(&text, report.exit()),
        Err(error) => {
            eprintln!("internal error, please report it: {error:#}");
            Exit::Internal
        }
    }
}

/// The scopes of these names; all where none is given.
fn chosen(names: &[String]) -> Result<Vec<Scope>, String> {
    if names.is_empty() {
        return Ok(scopes::all());
    }
    names.iter().map(|name| scopes::named(name).ok_or_else(|| unknown(name))).collect()
}

fn unknown(name: &str) -> String {
    let near = similar(name);
    let hint = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
    format!("there is no scope {name:?}{hint} (--list shows all)")
}

fn explore_all(scopes: Vec<Scope>, args: &CheckArgs) -> Report {
    let start = Instant::now();
    let end = args.budget.map(|budget| start + budget);
    let is_over = move || end.is_some_and(|end| Instant::now() >= end);
    let bounds = Bounds { threads: args.threads, max_states: args.max_states, stop: Arc::new(is_over) };
    let complete = args.scopes.is_empty();
    let (mut runs, mut not_run) = (Vec::new(), Vec::new());
    for mut scope in scopes {
        if is_over() {
            not_run.push(scope.name);
            continue;
        }
        scope.without.clone_from(&args.without);
        let begun = Instant::now();
        let exploration = explore(&scope, &bounds);
        runs.push(Run { scope, exploration, elapsed: begun.elapsed() });
    }
    Report { runs, not_run, complete, elapsed: start.elapsed() }
}
