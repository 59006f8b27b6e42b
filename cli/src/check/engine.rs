//! `check --engine stateright`: the same scopes in two searches, compared in one table.
//!
//! Neither search uses a reduction, since stateright knows none of ours. It stops at its first discovery, so that the
//! counts of a broken scope differ, and only the verdicts are compared. A search that it cuts looks complete. It therefore
//! gets no bound, and only scopes that our search has finished.

use std::thread::sleep;
use std::time::{Duration, Instant};

use jobcheck_explorer::check::{Bounds, Outcome, explore_for};
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::Exit;
use jobcheck_model::stateright::ScopeModel;
use stateright::{Checker, Model};

use super::args::CheckArgs;
use super::exploration::measured;
use crate::format::Format;
use crate::interrupt::Interrupt;
use crate::output;
use crate::styles::{BAD, BOLD, GOOD, OPEN};

/// The most states of a scope, if the arguments do not say otherwise.
const MOST_STATES: usize = 200_000;

/// The result of one search.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Found {
    states: usize,
    steps: u64,
    depth: usize,
    holds: bool,
}

/// The comparison of one scope.
enum Row {
    /// Neither search was cut.
    Both(Found, Found),
    /// A limit was reached.
    Cut,
}

impl Row {
    fn agrees(&self) -> bool {
        match self {
            Row::Both(ours, theirs) if ours.holds => ours == theirs,
            Row::Both(ours, theirs) => ours.holds == theirs.holds,
            Row::Cut => true,
        }
    }

    fn render(&self, scope: &str) -> String {
        let Row::Both(ours, theirs) = self else {
            return format!("{scope:<36} {OPEN}cut; stateright was not run to its end{OPEN:#}\n");
        };
        let cell = |it: &Found| {
            let result = if it.holds { "holds" } else { "broken" };
            format!("{:>8} {:>9} {:>5} {result:<6}", it.states, it.steps, it.depth)
        };
        let (paint, same) = match self.agrees() {
            true if ours.holds => (GOOD, "same"),
            true => (GOOD, "same verdict"),
            false => (BAD, "DIFFERENT"),
        };
        format!("{scope:<36} {} | {} | {paint}{same}{paint:#}\n", cell(ours), cell(theirs))
    }
}

/// Explores the scopes with both engines, and prints the table. Returns the exit code.
pub fn run(scopes: &[Scope], args: &CheckArgs) -> Exit {
    if args.output != Format::Text {
        output::error("--engine stateright has only a text form; remove -o");
        return Exit::Unreadable;
    }
    let interrupt = Interrupt::listen();
    let stop = interrupt.or_after(args.budget.map(|budget| Instant::now() + budget));
    let head = format!(
        "{BOLD}{:<36} {:>8} {:>9} {:>5} {:<6} | {:>8} {:>9} {:>5} {:<6} |{BOLD:#}\n",
        "scope (without reductions)",
        "states",
        "steps",
        "depth",
        "ours",
        "states",
        "steps",
        "depth",
        "stateright"
    );
    let mut text = head;
    let (mut exit, mut cut) = (Exit::Conforms, 0);
    for scope in scopes {
        let row = if stop() { Row::Cut } else { compared(scope, args, &*stop) };
        text.push_str(&row.render(scope.name));
        match &row {
            row if !row.agrees() => exit = Exit::Internal,
            Row::Both(ours, _) if !ours.holds && exit == Exit::Conforms => exit = Exit::Violates,
            Row::Both(..) => {}
            Row::Cut => cut += 1,
        }
    }
    if exit == Exit::Internal {
        text.push_str("the engines differ; please report it\n");
    }
    if cut > 0 && exit == Exit::Conforms {
        exit = Exit::Inconclusive;
    }
    output::print_text(&text, exit)
}

fn compared(scope: &Scope, args: &CheckArgs, stop: &(dyn Fn() -> bool + Send + Sync)) -> Row {
    let never = Interrupt::listen().or_after(None);
    let max_states = Some(args.max_states.unwrap_or(MOST_STATES));
    let bounds = Bounds { max_states, max_memory: args.max_memory, ..measured(args.threads(), &never) };
    let ours = explore_for(scope, &bounds, &|_| true);
    let holds = match ours.outcome {
        Outcome::NotFinished(_) => return Row::Cut,
        Outcome::Holds => true,
        Outcome::Broken(_) => false,
    };
    let ours = Found { states: ours.states, steps: ours.generated, depth: ours.depth, holds };
    // One thread: with several, stateright's depth depends on their order.
    let checker = ScopeModel::unreduced(scope.clone()).checker().threads(1).spawn_bfs();
    while !checker.is_done() {
        if stop() {
            return Row::Cut;
        }
        sleep(Duration::from_millis(5));
    }
    let theirs = Found {
        states: checker.unique_state_count(),
        steps: checker.state_count() as u64,
        // Its depth begins with 1.
        depth: checker.max_depth().saturating_sub(1),
        holds: checker.discoveries().is_empty(),
    };
    Row::Both(ours, theirs)
}
