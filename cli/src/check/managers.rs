//! Scopes of managers that write status alone: mirrors, aggregators, and the contract itself (`jobcheck_managers`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jobcheck_explorer::engine::Limits;
use jobcheck_judge::report::Exit;
use jobcheck_managers::any::{self, AnyScope, FAMILIES};
use jobcheck_managers::check::{Counterexample, Exploration, Outcome};
use jobcheck_managers::contract::Rules;
use jobcheck_managers::scope::FAMILY;
use jobcheck_managers::subject::Subject as Manager;

use super::args::{CheckArgs, Size, Symmetry};
use super::json;
use super::page;
use super::rows::Rows;
use super::subject::{Subject, other_requirement};
use super::text::{Row, head, limit};
use crate::format::Format;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::output;
use crate::output::count;
use crate::parse::{Defect, unknown_scope};
use crate::progress::Progress;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::Text;

/// The exploration of one scope.
pub struct Run {
    /// The scope.
    pub scope: AnyScope,
    /// The result.
    pub exploration: Exploration<String>,
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
    pub fn found(&self) -> impl Iterator<Item = (&AnyScope, &Counterexample<String>)> {
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

/// Returns whether a name is that of a scope of managers, or of one of their families.
fn is_of_managers(name: &str) -> bool {
    FAMILIES.contains(&name.split('/').next().unwrap_or(name))
}

/// Returns whether the arguments choose scopes of managers.
pub fn are_chosen(args: &CheckArgs) -> bool {
    args.subject.family().is_some()
        || args.mutant_of_managers().is_some()
        || args.scopes.iter().any(|name| is_of_managers(name))
}

/// The scopes that the arguments choose, each with its manager.
fn chosen(args: &CheckArgs) -> Result<Vec<AnyScope>, String> {
    let given = [
        ("--engine", args.engine != super::args::Engine::Jobcheck),
        ("--walks", args.walks.is_some()),
        ("--dot", args.dot.is_some()),
        ("--itf", args.itf.is_some()),
        ("--save", args.save.is_some()),
        ("--scenario", args.scenario.is_some()),
        ("--symmetry on", args.symmetry == Symmetry::On),
    ];
    if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(format!("{option} is not for scopes of managers"));
    }
    let scopes = scopes(args)?.into_iter().map(|scope| placed(scope, args));
    let scopes = scopes.collect::<Result<Vec<_>, _>>()?;
    Ok(match args.shard {
        Some(shard) => shard.part("scopes", scopes),
        None => scopes,
    })
}

/// The scopes that are named, else that of the defect, else those of the size and the subject.
fn scopes(args: &CheckArgs) -> Result<Vec<AnyScope>, String> {
    if !args.scopes.is_empty() {
        let mut found = args.scopes.iter().map(of_name).collect::<Result<Vec<_>, _>>()?.concat();
        let mut names = BTreeSet::new();
        found.retain(|scope| names.insert(scope.name()));
        return Ok(found);
    }
    if let Some(mutant) = args.mutant_of_managers() {
        return Ok(vec![mutant.place()]);
    }
    let mut scopes = if args.size == Size::Large { any::large() } else { any::all() };
    scopes.retain(|scope| args.subject.family() == Some(scope.family()));
    Ok(scopes)
}

/// The scope with this name, or the default scopes of this family.
fn of_name(name: &String) -> Result<Vec<AnyScope>, String> {
    if !is_of_managers(name) {
        return Err(format!("{name} is no scope of managers; explore it in another call"));
    }
    let mut found = any::all();
    found.retain(|scope| scope.family() == name);
    if found.is_empty() {
        found = [any::all(), any::large()].concat();
        found.retain(|scope| scope.name() == name);
    }
    if found.is_empty() { Err(unknown_scope(name)) } else { Ok(found) }
}

/// The scope with the subject, the defect, and without the rules that the arguments name.
fn placed(scope: AnyScope, args: &CheckArgs) -> Result<AnyScope, String> {
    let name = scope.name();
    if args.subject != Subject::All && args.subject.family() != Some(scope.family()) {
        return Err(format!("{name} is no scope of this --subject; leave the option out"));
    }
    let scope = match (scope, &args.without[..]) {
        (AnyScope::Contract(rules), without) => AnyScope::Contract(Rules::without(rules.scope, without)),
        (scope, []) => scope,
        (_, _) => {
            return Err(format!(
                "--without is not for {name}: a manager does not attempt what a rule forbids"
            ));
        }
    };
    match args.mutant {
        None if args.subject == Subject::Kueue => Ok(scope.of(Manager::KUEUE)),
        None => Ok(scope),
        Some(_) if args.subject == Subject::Kueue => {
            Err("--mutant is not for --subject kueue, which has defects of its own".to_owned())
        }
        Some(Defect::OfAManager(mutant)) => {
            let problem = || {
                format!("{} is for scopes of the family {}, and not for {name}", mutant.id(), mutant.family())
            };
            mutant.put_into(scope).ok_or_else(problem)
        }
        Some(Defect::OfAController(mutant)) => {
            Err(format!("{} is no defect of a manager; {name} cannot have it", mutant.id))
        }
    }
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
    let rendered = args.output.render(|| text(&report), || json::of_managers(&report));
    let exit = output::print_report(rendered, args.output, report.exit());
    notes(&report, args);
    let is_written = args.page.as_ref().is_none_or(|file| {
        super::write_page(file, &page::html_page(&json::of_managers(&report), args, report.exit(), ""))
    });
    if is_written { exit } else { Exit::Environment }
}

/// Explains why a defect breaks another requirement than its own, or why nothing is broken without a rule.
fn notes(report: &Report, args: &CheckArgs) {
    let other = args.mutant_of_managers().zip(report.found().next());
    let other = other.and_then(|(it, (_, found))| other_requirement(it.id(), it.req(), found.req));
    if let Some(note) = other {
        output::note(note);
    }
    if report.exit() == Exit::Conforms && !args.without.is_empty() {
        output::note(super::nothing_without(&args.without));
    }
}

/// The default scopes of mirrors, with the protocol as their manager.
pub fn with_the_protocol() -> Vec<AnyScope> {
    let mut scopes = any::all();
    scopes.retain(|scope| scope.family() == FAMILY);
    scopes
}

/// The scopes with their bounds.
pub fn list(scopes: &[AnyScope]) -> String {
    let mut out = Text::default();
    for scope in scopes {
        let _ = writeln!(out, "{BOLD}{:<36}{BOLD:#} {}", scope.name(), scope.about());
        let _ = writeln!(out, "    {DIM}{}{DIM:#}", scope.bounds());
    }
    out.finish()
}

/// The same scopes at the end of the list of all.
pub fn list_for_others() -> String {
    let head =
        "Managers that write status alone (by name, or --subject mirror, kueue, contract or aggregate):";
    format!("\n{BOLD}{head}{BOLD:#}\n{}", list(&any::all()))
}

/// Explores scopes one after the other, each with all threads.
pub fn explore_all(
    scopes: Vec<AnyScope>,
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
        let name = scope.name();
        if stop() {
            not_run.push(name);
            continue;
        }
        let begun = Instant::now();
        progress.begin(name);
        let limits = Limits {
            threads: args.threads(),
            max_states: args.max_states,
            max_memory: args.max_memory,
            memory: &memory::used,
            stop: &|| stop(),
            progress: &|so_far| progress.show(name, so_far),
        };
        let exploration = scope.explore(&limits);
        progress.end(name);
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
    let (scope, elapsed, bounds) = (run.scope.name(), run.elapsed, run.scope.bounds());
    Row { scope, states, steps, depth, bytes, elapsed, bounds }.render(result)
}

/// The part of the report after the table.
fn text(report: &Report) -> String {
    let mut out = Text::default();
    for (scope, found) in report.found() {
        let _ = writeln!(out, "\n{BAD}{} ({}): {}{BAD:#}", scope.name(), scope.subject(), found.req);
        let _ = writeln!(out, "  {DIM}{}{DIM:#}", scope.about());
        narrative(found, &mut out);
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
pub fn narrative(found: &Counterexample<String>, out: &mut Text) {
    for (number, line) in (1..).zip(found.lines()) {
        let _ = writeln!(out, "{number:>4}. {line}");
    }
}
