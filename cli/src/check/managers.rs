//! Scopes of managers that write status alone: two clusters or three (`jobcheck_managers`).

use std::time::{Duration, Instant};

use jobcheck_explorer::engine::Limits;
use jobcheck_judge::report::Exit;
use jobcheck_managers::check::{Counterexample, Exploration, Outcome, explore_within};
use jobcheck_managers::narrative::lines;
use jobcheck_managers::scope::{FAMILY, Scope, all, large, named};
use jobcheck_managers::subject::Subject as Manager;

use super::args::{CheckArgs, Size, Symmetry};
use super::json;
use super::page;
use super::rows::Rows;
use super::subject::Subject;
use super::text::{Row, head, limit};
use crate::format::Format;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::output;
use crate::output::count;
use crate::progress::Progress;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::Text;

/// The exploration of one scope.
pub struct Run {
    /// The scope.
    pub scope: Scope,
    /// The result.
    pub exploration: Exploration,
    /// The time that it took.
    pub elapsed: Duration,
}

/// The explorations of one call.
pub struct Report {
    /// The scopes that were explored, in order.
    pub runs: Vec<Run>,
    /// The scopes for which no time was left.
    pub not_run: Vec<&'static str>,
    /// True if the user has ended the search.
    pub is_interrupted: bool,
    /// The time that all explorations took.
    pub elapsed: Duration,
}

impl Report {
    /// The counterexamples, each with its scope.
    pub fn found(&self) -> impl Iterator<Item = (&Scope, &Counterexample)> {
        self.runs.iter().filter_map(|run| Some((&run.scope, run.exploration.found()?)))
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        let is_cut = |run: &Run| matches!(run.exploration.outcome, Outcome::NotFinished(_));
        match () {
            () if self.found().next().is_some() => Exit::Violates,
            () if self.runs.is_empty() || !self.not_run.is_empty() || self.runs.iter().any(is_cut) => {
                Exit::Inconclusive
            }
            () => Exit::Conforms,
        }
    }
}

/// Returns whether a name is that of a scope of managers, or of their family.
fn is_of_managers(name: &str) -> bool {
    name == FAMILY || name.starts_with(&format!("{FAMILY}/"))
}

/// Returns whether the arguments choose scopes of managers.
pub fn are_chosen(args: &CheckArgs) -> bool {
    matches!(args.subject, Subject::Mirror | Subject::Kueue)
        || args.scopes.iter().any(|name| is_of_managers(name))
}

/// The scopes that the arguments choose.
fn chosen(args: &CheckArgs) -> Result<Vec<Scope>, String> {
    let given = [
        ("--engine", args.engine != super::args::Engine::Jobcheck),
        ("--walks", args.walks.is_some()),
        ("--dot", args.dot.is_some()),
        ("--itf", args.itf.is_some()),
        ("--save", args.save.is_some()),
        ("--scenario", args.scenario.is_some()),
        ("--mutant", args.mutant.is_some()),
        ("--without", !args.without.is_empty()),
        ("--symmetry on", args.symmetry == Symmetry::On),
    ];
    if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(format!("{option} is not for scopes of managers"));
    }
    let manager = match args.subject {
        Subject::Mirror | Subject::All => Manager::MIRROR,
        Subject::Kueue => Manager::KUEUE,
        Subject::Specification | Subject::Algorithm | Subject::Controller => {
            return Err(format!("scopes of {FAMILY} need --subject mirror or kueue"));
        }
    };
    let of_name = |name: &String| match named(name) {
        Some(scope) => Ok(vec![scope]),
        None if name == FAMILY => Ok(all()),
        None if is_of_managers(name) => {
            Err(format!("there is no scope {name:?} (jobcheck check --list --subject mirror lists all)"))
        }
        None => Err(format!("{name} has one cluster, so that it is explored without scopes of {FAMILY}")),
    };
    let scopes = match args.size {
        Size::Large => large(),
        _ if args.scopes.is_empty() => all(),
        _ => args.scopes.iter().map(of_name).collect::<Result<Vec<_>, _>>()?.concat(),
    };
    let scopes = scopes.into_iter().map(|scope| scope.of(manager)).collect();
    Ok(match args.shard {
        Some(shard) => shard.part("scopes", scopes),
        None => scopes,
    })
}

/// Explores the chosen scopes, and prints the report. Returns the exit code.
pub fn run(args: &CheckArgs, global: &Global) -> Exit {
    let scopes = match chosen(args) {
        Ok(scopes) => scopes,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    if args.list {
        return output::print_text(&list(&scopes), Exit::Conforms);
    }
    if !args.page.as_ref().is_none_or(|file| crate::save::can_write(file)) {
        return Exit::Environment;
    }
    let has_table = args.output == Format::Text && !global.quiet;
    let rows = has_table.then(|| Rows::begin(&head()));
    let report = explore_all(scopes, args, global, &Interrupt::listen(), rows.as_ref());
    let rendered = args.output.render(|| text(&report), || json::between_clusters(&report));
    let exit = output::print_report(rendered, args.output, report.exit());
    let is_written = args.page.as_ref().is_none_or(|file| {
        super::write_page(file, &page::html_page(&json::between_clusters(&report), args, report.exit(), ""))
    });
    if is_written { exit } else { Exit::Environment }
}

/// The default scopes, with the protocol as their manager.
pub fn with_the_protocol() -> Vec<Scope> {
    all()
}

/// The scopes with their bounds.
pub fn list(scopes: &[Scope]) -> String {
    let mut out = Text::default();
    for scope in scopes {
        let _ = writeln!(out, "{BOLD}{:<36}{BOLD:#} {}", scope.name, scope.about);
        let _ = writeln!(out, "    {DIM}{}{DIM:#}", scope.bounds());
    }
    out.finish()
}

/// The same scopes at the end of the list of all.
pub fn list_for_others() -> String {
    let head = "Between two clusters (--subject mirror or kueue, or by name):";
    format!("\n{BOLD}{head}{BOLD:#}\n{}", list(&all()))
}

/// Explores scopes one after the other, each with all threads.
pub fn explore_all(
    scopes: Vec<Scope>,
    args: &CheckArgs,
    global: &Global,
    interrupt: &Interrupt,
    rows: Option<&Rows>,
) -> Report {
    let start = Instant::now();
    let stop = interrupt.or_after(args.budget.map(|budget| start + budget));
    let progress = Progress::new(!global.quiet, scopes.len());
    let (mut runs, mut not_run) = (Vec::new(), Vec::new());
    for (position, scope) in scopes.into_iter().enumerate() {
        if stop() {
            not_run.push(scope.name);
            continue;
        }
        let begun = Instant::now();
        progress.begin(scope.name);
        let limits = Limits {
            threads: args.threads(),
            max_states: args.max_states,
            max_memory: args.max_memory,
            memory: &memory::used,
            stop: &|| stop(),
            progress: &|so_far| progress.show(scope.name, so_far),
        };
        let exploration = explore_within(&scope, &limits);
        progress.end(scope.name);
        let run = Run { scope, exploration, elapsed: begun.elapsed() };
        if let Some(rows) = rows {
            rows.put(position, row(&run, interrupt), &progress);
        }
        runs.push(run);
    }
    progress.finish();
    Report { runs, not_run, is_interrupted: interrupt.is_set(), elapsed: start.elapsed() }
}

fn row(run: &Run, interrupt: &Interrupt) -> String {
    let it = &run.exploration;
    let result = match &it.outcome {
        Outcome::Holds if it.settled.is_some() => (GOOD, "gets there"),
        Outcome::Holds => (GOOD, "holds"),
        Outcome::Broken(found) if found.cycle_start.is_some() => (BAD, "is stuck"),
        Outcome::Broken(_) => (BAD, "broken"),
        Outcome::NotFinished(cut) => (OPEN, limit(*cut, interrupt)),
    };
    let (states, steps, depth, bytes) = (it.states, it.generated, it.depth, it.bytes);
    let (scope, elapsed, bounds) = (run.scope.name, run.elapsed, run.scope.bounds());
    Row { scope, states, steps, depth, bytes, elapsed, bounds }.render(result)
}

/// The part of the report after the table.
fn text(report: &Report) -> String {
    let mut out = Text::default();
    for (scope, found) in report.found() {
        let _ = writeln!(out, "\n{BAD}{} ({}): {}{BAD:#}", scope.name, scope.subject.name, found.req);
        let _ = writeln!(out, "  {DIM}{}{DIM:#}", scope.about);
        narrative(scope, found, &mut out);
    }
    let states: usize = report.runs.iter().map(|run| run.exploration.states).sum();
    let (scopes, seconds) = (count(report.runs.len(), "scope"), report.elapsed.as_secs_f64());
    let (paint, result) = match report.exit() {
        Exit::Conforms => (GOOD, "every property holds"),
        Exit::Violates => (BAD, "a property is broken"),
        _ => (OPEN, "not finished; nothing is proved about the rest"),
    };
    let _ = writeln!(out, "\n{scopes}, {states} states in {seconds:.1} s: {paint}{result}{paint:#}");
    out.finish()
}

/// The numbered steps of a counterexample, and what it breaks.
pub fn narrative(scope: &Scope, found: &Counterexample, out: &mut Text) {
    for (number, line) in (1..).zip(lines(scope, found)) {
        let _ = writeln!(out, "{number:>4}. {line}");
    }
}
