//! `jobcheck check`: explores scopes of the model, and checks the properties.
//!
//! | module | content |
//! | --- | --- |
//! | `args`, `scopes`, `subject` | the arguments, and the scopes that they choose |
//! | `exploration`, `walks` | the search, and random walks in its place |
//! | `text`, `rows`, `json`, `properties` | the reports |
//! | `managers` | the scopes of managers that write status alone |
//! | `page`, `picture` | the report as a page, with graphs |
//! | `dot`, `itf` | graphs and counterexamples for other tools |
//! | `engine` | the comparison with another checker |

mod args;
mod dot;
#[cfg(feature = "stateright")]
mod engine;
mod exploration;
mod itf;
mod json;
mod managers;
mod page;
mod picture;
mod properties;
mod rows;
mod scopes;
mod subject;
mod text;
mod walks;

use std::path::Path;
use std::time::Instant;

use jobcheck_explorer::check::Bounds;
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::reference::Reference;
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::{About, export};
use jobcheck_spec::Req;

pub use self::args::CheckArgs;
use self::args::Size;
pub use self::exploration::measured;
use self::exploration::{Report, Run, bounds, explore_all};
pub use self::json::{
    CheckReport, CounterexampleReport, counterexample as counterexample_report, counterexample_of_managers,
};
pub use self::managers::narrative as narrative_of_managers;
pub use self::page::counterexample as counterexample_page;
use self::rows::Rows;
use self::subject::has_controllers;
pub use self::subject::{Subject, not_in_the_plan, other_requirement};
pub use self::text::narrative;
use crate::format::Format;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output;
use crate::save::{Folder, Saved};
use crate::text::of_path;

/// Explores the chosen scopes, and prints the report. Returns the exit code.
pub fn run(args: &CheckArgs, global: &Global) -> Exit {
    if args.list_properties {
        return properties::run(args.output);
    }
    if managers::are_chosen(args) {
        return managers::run(args, global);
    }
    let scopes = match scopes::chosen(args) {
        Ok(scopes) => scopes,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    if args.list {
        return list(&scopes, args);
    }
    if let Some(count) = args.walks {
        return walks::run(&scopes, count, args, global);
    }
    #[cfg(feature = "stateright")]
    if args.engine == args::Engine::Stateright {
        return engine::run(&scopes, args);
    }
    if !can_write(args) {
        return Exit::Environment;
    }
    let has_table = args.output == Format::Text && !global.quiet;
    let rows = has_table.then(|| Rows::begin(&text::head()));
    let interrupt = Interrupt::listen();
    let report = explore_all(scopes, args, global, &interrupt, rows.as_ref());
    let rendered = args.output.render(|| text::render(&report, global), || json::report(&report));
    note_without(&report, args);
    let exit = output::print_report(rendered, args.output, report.exit());
    note_mutant(&report, args);
    if write_files(&report, args, &interrupt) { exit } else { Exit::Environment }
}

fn list(scopes: &[Scope], args: &CheckArgs) -> Exit {
    if args.output != Format::Text {
        output::error("--list has only a text form; remove -o");
        return Exit::Unreadable;
    }
    let by_name = text::list_by_name_only(&scopes::by_name_only(args));
    let is_whole = args.scopes.is_empty()
        && args.subject == Subject::All
        && args.mutant.is_none()
        && args.shard.is_none();
    let managers = if is_whole { managers::list_for_others() } else { String::new() };
    output::print_text(&(text::list(scopes) + &by_name + &managers), Exit::Conforms)
}

/// Returns whether every file that the arguments name can be written. Reported before the search, which may be long.
fn can_write(args: &CheckArgs) -> bool {
    let mut files = [&args.dot, &args.itf, &args.scenario, &args.page].into_iter().flatten();
    files.all(|file| crate::save::can_write(file))
        && args.save.as_deref().is_none_or(crate::save::can_make_directory)
}

/// A note for a search that breaks nothing although guards are switched off.
fn nothing_without(without: &[Req]) -> String {
    let ids = text::ids(without);
    format!(
        "without the guards of {ids}, no other property is broken: in these scopes, no property depends on the guards"
    )
}

/// Explains why nothing is broken although a guard is switched off.
fn note_without(report: &Report, args: &CheckArgs) {
    if args.without.is_empty() || report.is_broken() {
        return;
    }
    output::note(nothing_without(&args.without));
    let Some(run) = report.runs.iter().find(|run| has_controllers(&run.scope)) else { return };
    let base = run.scope.name.rsplit('/').next().unwrap_or(run.scope.name);
    output::note(format!(
        "in {} a controller writes the status, and --without does not change what it writes; a scope of the \
         specification, such as {base}, attempts what the guard forbids",
        run.scope.name
    ));
}

/// Explains why a defect breaks another requirement than the one that it is known for.
fn note_mutant(report: &Report, args: &CheckArgs) {
    let found = report.runs.iter().find_map(|run| Some((&run.scope, run.found()?)));
    let Some((mutant, (scope, found))) = args.mutant().zip(found) else { return };
    let broken = jobcheck_explorer::narrative::cause(scope, found);
    if let Some(note) = broken.and_then(|req| other_requirement(mutant.id, mutant.requirement(), req)) {
        output::note(note);
    }
}

/// The result of exploring the quick scopes of a subject.
pub struct Quick {
    /// The exit code.
    pub exit: Exit,
    /// The number of scopes.
    pub scopes: usize,
    /// The number of states.
    pub states: usize,
    /// The problems, a line each.
    pub problems: Vec<String>,
    /// The report for programs.
    pub report: CheckReport,
    /// The counterexamples and the table of scopes, for a page.
    pub page: String,
}

/// Explores the quick scopes of a subject. Counterexamples are written to a directory.
pub fn quick(
    subject: Subject,
    threads: Option<usize>,
    directory: &Path,
    global: &Global,
    interrupt: &Interrupt,
) -> Quick {
    let args = CheckArgs::quick(subject, threads);
    let report = explore_all(scopes::of_size(Size::Quick, subject), &args, global, interrupt, None);
    let broken = || report.runs.iter().filter_map(|run| Some((&run.scope, run.found()?)));
    let mut problems: Vec<String> =
        broken().map(|(scope, found)| format!("{}: {}", scope.name, found.why)).collect();
    let untested = report.untested();
    problems.extend(untested.iter().map(|it| format!("never put to the test: {}", PROPERTIES[*it].name)));
    problems.extend(report.never_taken().iter().map(|kind| format!("never possible: {}", kind.name())));
    if !report.not_run.is_empty() {
        problems.push(format!("interrupted: {} scopes were not explored", report.not_run.len()));
    }
    if broken().next().is_some() {
        let folder = Folder { directory, redacts: false, pages: true };
        crate::save::save(folder, broken().map(|(scope, found)| counterexample(scope, found)));
    }
    let (exit, found) = (report.exit(), json::report(&report));
    let page = page::counterexamples(&found, &args) + &page::scopes(&found);
    let states = report.runs.iter().map(|run| run.exploration.states).sum();
    Quick { exit, scopes: report.runs.len(), states, problems, report: found, page }
}

/// Explores the default scopes of managers with the mirror protocol.
pub fn quick_managers(threads: Option<usize>, global: &Global, interrupt: &Interrupt) -> Quick {
    let args = CheckArgs::quick(Subject::Mirror, threads);
    let report = managers::explore_all(managers::with_the_protocol(), &args, global, interrupt, None);
    let mut problems: Vec<String> =
        report.found().map(|(scope, found)| format!("{}: {}", scope.name(), found.why)).collect();
    if !report.not_run.is_empty() {
        problems.push(format!("interrupted: {} scopes were not explored", report.not_run.len()));
    }
    let (exit, found) = (report.exit(), json::of_managers(&report));
    let page = page::counterexamples(&found, &args) + &page::scopes(&found);
    let states = report.runs.iter().map(|run| run.exploration.states).sum();
    Quick { exit, scopes: report.runs.len(), states, problems, report: found, page }
}

/// Writes the files that the arguments name. Returns whether that succeeded.
fn write_files(report: &Report, args: &CheckArgs, interrupt: &Interrupt) -> bool {
    let found = report.runs.iter().find_map(|run| run.found().map(|found| (&run.scope, found)));
    let trace = match (&args.itf, found) {
        (None, _) => true,
        (Some(file), Some((scope, found))) => {
            write(file, &itf::render(scope, found.property, &found.path, found.cycle_start))
        }
        (Some(file), None) => {
            output::note(format!("no counterexample; {} is not written", of_path(file)));
            true
        }
    };
    let graph = match (&args.dot, report.runs.as_slice()) {
        (Some(file), [run]) => {
            let stop = interrupt.or_after(args.budget.map(|budget| Instant::now() + budget));
            let limits = bounds(args, args.threads(), &run.scope, &stop);
            let path = run.found().map_or(&[][..], |found| &found.path);
            // The steps of a counterexample name pods, which symmetry reduction would exchange.
            let symmetry = limits.symmetry && path.is_empty();
            write(file, &dot::render(&run.scope, &Bounds { symmetry, ..limits }, path))
        }
        _ => true,
    };
    let page = args.page.as_ref().is_none_or(|file| {
        let graphs = graphs(report, args, interrupt);
        write_page(file, &page::html_page(&json::report(report), args, report.exit(), &graphs))
    });
    let scenario = args.scenario.as_ref().is_none_or(|file| write_scenario(file, report, args.mutant()));
    let found = report.runs.iter().filter_map(|run| Some(counterexample(&run.scope, run.found()?)));
    let traces = args.folder().is_none_or(|folder| crate::save::save(folder, found));
    trace && graph && page && scenario && traces
}

/// The number of scopes whose graphs a page shows.
const GRAPHS: usize = 4;

/// The graphs for the page: of all scopes, if they are few, and otherwise of those with a counterexample.
fn graphs(report: &Report, args: &CheckArgs, interrupt: &Interrupt) -> String {
    let is_shown = |run: &&Run| report.runs.len() <= GRAPHS || run.found().is_some();
    let stop = interrupt.or_after(args.budget.map(|budget| Instant::now() + budget));
    let section = |run: &Run| picture::section(run, &bounds(args, args.threads(), &run.scope, &stop));
    report.runs.iter().filter(is_shown).take(GRAPHS).map(section).collect()
}

/// Writes a page, and reports that. Returns whether that succeeded.
fn write_page(file: &Path, html: &str) -> bool {
    let is_written = write(file, html);
    if is_written {
        output::note(format!("{} is written; open it in a browser", of_path(file)));
    }
    is_written
}

/// Writes the first counterexample of the reference algorithm as a scenario. Returns whether that succeeded.
///
/// `jobcheck run` explores scenarios with the reference algorithm, which does not repeat the mistakes of others.
fn write_scenario(file: &Path, report: &Report, mutant: Option<&'static Mutant>) -> bool {
    let broken = |run: &Run| run.found().cloned().map(|found| (run.scope.clone(), found));
    let runs = || report.runs.iter().filter(|run| run.scope.algorithm().is_none_or(|it| it.runs(&Reference)));
    let controllers = runs().filter(|run| has_controllers(&run.scope));
    let Some((scope, found)) = controllers.chain(runs()).find_map(broken) else {
        output::note(format!("no counterexample; {} is not written", of_path(file)));
        return true;
    };
    let requirement = jobcheck_explorer::narrative::cause(&scope, &found);
    let name = mutant.map_or(scope.name, |mutant| mutant.id);
    let about = mutant.map_or(&*found.why, |mutant| mutant.title);
    let about =
        About { name, about, requirement, source: mutant.and_then(|mutant| mutant.issues.first().copied()) };
    crate::save::scenario(file, export(&scope, &found.path, &about), mutant)
}

/// The counterexample of a scope, to be saved.
fn counterexample<'a>(scope: &'a Scope, found: &'a Counterexample) -> Saved<'a> {
    Saved { name: scope.name, scope, path: &found.path, requirement: found.req, why: &found.why }
}

/// Writes a file, which only its owner can read. Returns whether that succeeded.
fn write(file: &Path, text: &str) -> bool {
    let written = jobcheck_traces::files::write(file, text.as_bytes());
    if let Err(why) = &written {
        output::error(format!("cannot write {}: {why}", of_path(file)));
    }
    written.is_ok()
}
