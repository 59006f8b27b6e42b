//! How fast the search is: ours and stateright's, breadth first and depth first, on the same models in one run.
//!
//! `cargo bench -p jobcheck-bench --bench explore_speed -- [SCOPE...]`
//!
//! Two-phase commit measures the search, the scopes of the specification measure its guards as well. The ratio is
//! to stateright's breadth-first search with as many threads. It asks for fewer properties than ours does: no
//! premises, no standstill, no coverage.

#![expect(clippy::print_stdout, reason = "an example that reports")]

mod specification;
mod two_phase;

use std::time::Instant;

use jobcheck_explorer::check::{Bounds, explore};
use jobcheck_explorer::engine::{Limits, explore as search};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use stateright::{Checker, Model};

use crate::specification::Specification;
use crate::two_phase::TwoPhase;

/// The larger scopes, which take long enough to be measured.
const SCOPES: [&str; 6] = [
    "elastic",
    "replace-terminating",
    "replace-failed-indexes",
    "backoff-delay",
    "job-deletion",
    "stale-pods",
];

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<Scope> = if named.is_empty() {
        SCOPES.iter().filter_map(|name| scopes::named(name)).collect()
    } else {
        named.iter().filter_map(|name| scopes::named(name)).collect()
    };
    println!(
        "{:<24} {:<18} {:>7} {:>9} {:>9} {:>10} {:>6} {:>7}",
        "model", "search", "threads", "states", "seconds", "states/s", "ratio", "B/state"
    );
    for threads in [1, 2] {
        if named.is_empty() {
            two_phase(7, threads);
            two_phase(8, threads);
        }
        for scope in &chosen {
            one_scope(scope, threads);
        }
    }
}

/// A measurement.
struct Timed {
    states: usize,
    seconds: f64,
    bytes: Option<usize>,
}

fn timed(search: impl FnOnce() -> (usize, Option<usize>)) -> Timed {
    let start = Instant::now();
    let (states, bytes) = search();
    Timed { states, seconds: start.elapsed().as_secs_f64(), bytes }
}

fn report(model: &str, threads: usize, lines: &[(&str, Timed)]) {
    let base = &lines[0].1;
    for (search, it) in lines {
        let bytes = it.bytes.map_or("-".to_owned(), |bytes| (bytes / it.states.max(1)).to_string());
        println!(
            "{model:<24} {search:<18} {threads:>7} {:>9} {:>9.2} {:>10.0} {:>6.2} {bytes:>7}",
            it.states,
            it.seconds,
            it.states as f64 / it.seconds,
            base.seconds / it.seconds
        );
    }
}

fn two_phase(managers: u8, threads: usize) {
    let model = TwoPhase(managers);
    let lines = [
        (
            "stateright BFS",
            timed(|| (model.checker().threads(threads).spawn_bfs().join().unique_state_count(), None)),
        ),
        (
            "stateright DFS",
            timed(|| (model.checker().threads(threads).spawn_dfs().join().unique_state_count(), None)),
        ),
        (
            "ours",
            timed(|| {
                let run = search(&model, &Limits::none(threads));
                (run.store.len(), Some(run.store.bytes()))
            }),
        ),
    ];
    report(&format!("two-phase commit {managers}"), threads, &lines);
}

fn one_scope(scope: &Scope, threads: usize) {
    let model = || Specification(scope.clone()).checker().threads(threads);
    let ours = |symmetry: bool| {
        let found = explore(scope, &Bounds { symmetry, ..Bounds::none(threads) });
        (found.states, Some(found.bytes))
    };
    let lines = [
        ("stateright BFS", timed(|| (model().spawn_bfs().join().unique_state_count(), None))),
        ("stateright DFS", timed(|| (model().spawn_dfs().join().unique_state_count(), None))),
        ("ours", timed(|| ours(false))),
        ("ours, symmetry", timed(|| ours(true))),
    ];
    report(scope.name, threads, &lines);
}
