//! `jobcheck check`: explores the specification.

mod args;
mod dot;
mod itf;
mod json;
mod process;
mod progress;
mod rows;
mod similar;
mod subject;
mod text;
mod walks;

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::{Bounds, Exploration, Outcome, explore, symmetry_is_sound};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::reference::REFERENCE;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use jobcheck_explorer::scopes::reference;
use jobcheck_explorer::step::StepKind;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::{About, export};

pub use self::args::{CheckArgs, guarded, mutant, processors, requirement, size, threads};
use self::args::{Format, PartialOrder, Size, Symmetry};
pub use self::json::{CounterexampleReport, counterexample as counterexample_report, to_json, to_yaml};
pub use self::progress::Progress;
use self::rows::Rows;
use self::similar::similar;
pub use self::subject::{Subject, not_in_the_plan};
pub use self::text::tell;
use crate::args::Global;
use crate::output;
use crate::save::Saved;

/// The exploration of one scope.
struct Run {
    scope: Scope,
    exploration: Exploration,
    elapsed: Duration,
}

impl Run {
    fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }
}

/// What a whole call found.
struct Report {
    runs: Vec<Run>,
    /// Scopes for which no time was left.
    not_run: Vec<&'static str>,
    /// Whether every scope there is was asked for, so that every premise must be reached.
    complete: bool,
    /// Whether each kind of step must be taken: the default has all of them, with all subjects together.
    takes_every_step: bool,
    elapsed: Duration,
}

impl Report {
    fn is_broken(&self) -> bool {
        self.runs.iter().any(|run| run.found().is_some())
    }

    fn is_unfinished(&self) -> bool {
        let cut = |run: &Run| matches!(run.exploration.outcome, Outcome::NotFinished(_));
        !self.not_run.is_empty() || self.runs.iter().any(cut)
    }

    /// In how many scopes a property's premise was reached.
    fn reached(&self, property: usize) -> usize {
        self.runs.iter().filter(|run| run.exploration.reached[property]).count()
    }

    /// How often steps of a kind were taken.
    fn taken(&self, kind: StepKind) -> u64 {
        self.runs.iter().map(|run| run.exploration.steps[kind as usize].taken).sum()
    }

    /// Properties that nothing could have broken. Only all scopes together have to reach every premise.
    fn empty(&self) -> Vec<usize> {
        if !self.complete || self.is_unfinished() {
            return Vec::new();
        }
        let ran = self.ran();
        let concerns = |property: &usize| {
            if PROPERTIES[*property].needs_processes { ran.algorithm } else { ran.specification }
        };
        (0..PROPERTIES.len()).filter(concerns).filter(|property| self.reached(*property) == 0).collect()
    }

    /// In how many scopes every Job was seen to come to its end.
    fn rested(&self) -> usize {
        let rests = |run: &&Run| run.exploration.quiescent_states.is_some() && run.found().is_none();
        self.runs.iter().filter(rests).count()
    }

    /// Kinds of steps that were never possible: then the specification, or a scope, is not what it is meant to
    /// be, and nothing that was found says much.
    fn never_taken(&self) -> Vec<StepKind> {
        if !self.takes_every_step || self.is_unfinished() || self.is_broken() {
            return Vec::new();
        }
        StepKind::outside_scripts().filter(|kind| self.taken(*kind) == 0).collect()
    }

    /// Which subjects managed Jobs.
    fn ran(&self) -> Ran {
        let algorithm = |run: &Run| run.scope.algorithm().is_some();
        Ran { algorithm: self.runs.iter().any(algorithm), specification: !self.runs.iter().all(algorithm) }
    }

    fn exit(&self) -> Exit {
        match () {
            () if self.is_broken() || !self.never_taken().is_empty() => Exit::Violates,
            () if self.is_unfinished() || !self.empty().is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Which subjects were explored.
struct Ran {
    algorithm: bool,
    specification: bool,
}

/// Explores, prints the report, and returns what it comes to.
pub fn run(args: &CheckArgs, global: &Global) -> Exit {
    let scopes = match chosen(args) {
        Ok(scopes) => scopes,
        Err(message) => {
            eprintln!("error: {message}");
            return Exit::Unreadable;
        }
    };
    if args.list && args.output != Format::Text {
        eprintln!("error: --list is text: leave -o out");
        return Exit::Unreadable;
    }
    if args.list {
        return output::print(&(text::list(&scopes) + &text::list_apart(&apart(args))), Exit::Conforms);
    }
    if let Some(count) = args.walks {
        return walks::run(&scopes, count, args, global);
    }
    if !can_write(args) {
        return Exit::Environment;
    }
    let start = Instant::now();
    let table = args.output == Format::Text && !global.quiet;
    let rows = table.then(|| Rows::begin(&text::head()));
    let report = explore_all(scopes, args, global, start, rows.as_ref());
    let rendered = match args.output {
        Format::Text => Ok(text::render(&report, global)),
        Format::Json => json::json(&report),
        Format::Yaml => json::yaml(&report),
    };
    note_without(&report, args);
    let exit = print(rendered, report.exit());
    if write_files(&report, args, start) { exit } else { Exit::Environment }
}

/// Whether what is to be written has a place.
fn can_write(args: &CheckArgs) -> bool {
    let mut files = [&args.dot, &args.itf, &args.scenario].into_iter().flatten();
    files.all(|file| crate::save::has_place(file))
        && args.save.as_deref().is_none_or(crate::save::can_be_made)
}

/// A guard that is switched off lets the specification do more. A controller does what it does: its writes are judged by
/// less, which breaks nothing.
fn note_without(report: &Report, args: &CheckArgs) {
    if !args.without.is_empty() && !report.is_broken() {
        eprintln!(
            "note: without the guards of {} nothing else is broken: they forbid nothing in these scopes that a property \
             would miss",
            text::ids(&args.without)
        );
    }
    let of_controllers = |run: &&Run| run.scope.algorithm().is_some();
    let Some(run) = report.runs.iter().find(of_controllers) else { return };
    if !args.without.is_empty() && !report.is_broken() {
        let base = run.scope.name.rsplit('/').next().unwrap_or(run.scope.name);
        eprintln!(
            "note: in {} a controller makes the writes, with --without as without; scopes of the specification, such \
             as {base}, try what the guard forbids",
            run.scope.name
        );
    }
}

/// What the quick scopes of a subject come to.
pub struct Quick {
    /// The exit code.
    pub exit: Exit,
    /// How many there are.
    pub scopes: usize,
    /// Their states.
    pub states: usize,
    /// What is wrong, a line each.
    pub wrong: Vec<String>,
    /// The report for programs.
    pub report: anyhow::Result<serde_json::Value>,
}

/// Explores the quick scopes of a subject; counterexamples go to a directory.
pub fn quick(subject: Subject, threads: Option<usize>, directory: &Path, global: &Global) -> Quick {
    let args = CheckArgs::quick(subject, threads);
    let report = explore_all(of_size(Size::Quick, subject), &args, global, Instant::now(), None);
    let found = |run: &Run| Some((run.scope.clone(), run.found()?.clone()));
    let broken: Vec<(Scope, Counterexample)> = report.runs.iter().filter_map(found).collect();
    let mut wrong: Vec<String> =
        broken.iter().map(|(scope, found)| format!("{}: {}", scope.name, found.why)).collect();
    wrong.extend(report.empty().iter().map(|it| format!("never put to the test: {}", PROPERTIES[*it].name)));
    wrong.extend(report.never_taken().iter().map(|kind| format!("never possible: {}", kind.name())));
    if !broken.is_empty() {
        crate::save::save(directory, broken.iter().map(|(scope, found)| counterexample(scope, found)));
    }
    Quick {
        exit: report.exit(),
        scopes: report.runs.len(),
        states: report.runs.iter().map(|run| run.exploration.states).sum(),
        wrong,
        report: json::value(&report),
    }
}

/// Prints a report, if there is one.
pub fn print(rendered: anyhow::Result<String>, exit: Exit) -> Exit {
    match rendered {
        Ok(text) => output::print(&text, exit),
        Err(error) => {
            eprintln!("internal error, please report it: {error:#}");
            Exit::Internal
        }
    }
}

/// Writes what was asked for besides the report. Says whether that succeeded.
fn write_files(report: &Report, args: &CheckArgs, start: Instant) -> bool {
    let found = report.runs.iter().find_map(|run| run.found().map(|found| (&run.scope, found)));
    let trace = match (&args.itf, found) {
        (None, _) => true,
        (Some(file), Some((scope, found))) => {
            write(file, &itf::render(scope, found.property, &found.path, found.cycle_start))
        }
        (Some(file), None) => {
            eprintln!("note: nothing is broken, so that {} is not written", file.display());
            true
        }
    };
    let graph = match (&args.dot, report.runs.as_slice()) {
        (Some(file), [run]) => {
            let end = args.budget.map(|budget| start + budget);
            let bounds = bounds(args, args.threads(), &run.scope, end, None);
            let way = run.found().map_or(&[][..], |found| &found.path);
            // The way has the names of its pods.
            let symmetry = bounds.symmetry && way.is_empty();
            write(file, &dot::render(&run.scope, &Bounds { symmetry, ..bounds }, way))
        }
        _ => true,
    };
    let scenario = args.scenario.as_ref().is_none_or(|file| write_scenario(file, report, args.mutant));
    let saved = save(report, args);
    trace && graph && scenario && saved
}

/// Writes the first counterexample of a controller as a scenario. Says whether that succeeded.
fn write_scenario(file: &Path, report: &Report, mutant: Option<&'static Mutant>) -> bool {
    let broken = |run: &Run| run.found().cloned().map(|found| (run.scope.clone(), found));
    // A scenario is run by the reference algorithm: what others did wrong, it does not.
    let explorable = |run: &&Run| run.scope.algorithm().is_none_or(|it| it.decisions == REFERENCE);
    let runs = || report.runs.iter().filter(explorable);
    let controllers = runs().filter(|run| run.scope.algorithm().is_some());
    let Some((scope, found)) = controllers.chain(runs()).find_map(broken) else {
        eprintln!("note: nothing is broken, so that {} is not written", file.display());
        return true;
    };
    let requirement = jobcheck_explorer::narrative::cause(&scope, &found);
    let name = mutant.map_or(scope.name, |mutant| mutant.id);
    let about = mutant.map_or(&*found.why, |mutant| mutant.title);
    let about =
        About { name, about, requirement, source: mutant.and_then(|mutant| mutant.issues.first().copied()) };
    crate::save::scenario(file, export(&scope, &found.path, &about), mutant)
}

/// Writes the counterexamples as native traces.
fn save(report: &Report, args: &CheckArgs) -> bool {
    let Some(directory) = &args.save else { return true };
    let found = report.runs.iter().filter_map(|run| Some(counterexample(&run.scope, run.found()?)));
    crate::save::save(directory, found)
}

/// What is broken in a scope, to be saved.
fn counterexample<'a>(scope: &'a Scope, found: &'a Counterexample) -> Saved<'a> {
    Saved { name: scope.name, scope, path: &found.path, requirement: found.req, why: &found.why }
}

/// Writes a file. Says whether that succeeded.
fn write(file: &Path, text: &str) -> bool {
    let written = std::fs::write(file, text);
    if let Err(error) = &written {
        eprintln!("error: cannot write {}: {error}", file.display());
    }
    written.is_ok()
}

/// The scopes that are asked for; all where none is.
fn chosen(args: &CheckArgs) -> Result<Vec<Scope>, String> {
    let named = named(args)?;
    let mut scopes = match args.mutant {
        Some(mutant) => subject::with_defect(mutant, args.subject, named)?,
        // What a guard forbids, only the specification tries.
        None if args.scopes.is_empty() && !args.without.is_empty() && args.subject == Subject::All => {
            of_size(args.size, Subject::Specification)
        }
        None if args.scopes.is_empty() => of_size(args.size, args.subject),
        None => named,
    };
    if args.dot.is_some() && scopes.len() != 1 {
        return Err("--dot needs one scope".to_owned());
    }
    for scope in &mut scopes {
        scope.without.extend(&args.without);
        if args.symmetry == Symmetry::On && !symmetry_is_sound(scope) {
            return Err(format!("--symmetry on is not sound in {}: auto leaves it off there", scope.name));
        }
    }
    Ok(scopes)
}

/// The scopes that are named, with the subject in them.
fn named(args: &CheckArgs) -> Result<Vec<Scope>, String> {
    let known = jobcheck_explorer::check::scopes();
    let of_name = |name: &String| {
        let family = format!("{name}/");
        let fits = |scope: &&Scope| scope.name == *name || scope.name.starts_with(&family);
        let found: Vec<Scope> = known.iter().filter(fits).cloned().collect();
        if found.is_empty() { Err(unknown(name)) } else { args.subject.of_named(name, found) }
    };
    let mut found = args.scopes.iter().map(of_name).collect::<Result<Vec<_>, _>>()?.concat();
    let mut names = BTreeSet::new();
    found.retain(|scope| names.insert(scope.name));
    Ok(found)
}

/// The scopes of a size.
fn of_size(size: Size, subject: Subject) -> Vec<Scope> {
    use jobcheck_explorer::scopes::progress::progress;
    use reference::{all_faults, large, one_fault, recreation, rollouts, safe_with_two_leaders, ttl};
    let specification =
        || if size == Size::Large { Vec::new() } else { [scopes::all(), scopes::gates::gates()].concat() };
    let quick = || [one_fault(), ttl(), recreation(), rollouts(), progress()].concat();
    let algorithm = || match size {
        Size::Quick => quick(),
        Size::Default => [quick(), all_faults(), safe_with_two_leaders()].concat(),
        Size::Large => large(),
    };
    match subject {
        Subject::Specification => specification(),
        Subject::Algorithm => algorithm(),
        Subject::Controller => algorithm().into_iter().map(of_the_controller).collect(),
        Subject::All => [specification(), algorithm()].concat(),
    }
}

/// The scopes that are of no size, where it is sizes that are listed: no specification allows what happens in them.
fn apart(args: &CheckArgs) -> Vec<Scope> {
    if !args.scopes.is_empty() || args.mutant.is_some() {
        return Vec::new();
    }
    let scopes = reference::two_leaders().into_iter();
    match args.subject {
        Subject::Specification => Vec::new(),
        Subject::Algorithm | Subject::All => scopes.collect(),
        Subject::Controller => scopes.map(of_the_controller).collect(),
    }
}

/// What to say where there is no such scope.
pub fn unknown(name: &str) -> String {
    let near = similar(name);
    let hint = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
    format!("there is no scope {name:?}{hint} (--list shows all)")
}

/// What bounds the exploration of a scope.
fn bounds(
    args: &CheckArgs,
    threads: usize,
    scope: &Scope,
    end: Option<Instant>,
    progress: Option<&Arc<Progress>>,
) -> Bounds {
    let told = progress.cloned();
    let name = scope.name;
    Bounds {
        max_states: args.max_states,
        max_memory: args.max_memory,
        progress: Arc::new(move |so_far| {
            if let Some(progress) = &told {
                progress.show(name, so_far);
            }
        }),
        symmetry: args.symmetry != Symmetry::Off && symmetry_is_sound(scope),
        partial_order: args.partial_order == PartialOrder::On,
        ..measured(threads, end)
    }
}

/// Bounds that know the memory of the process, and end at this time.
pub fn measured(threads: usize, end: Option<Instant>) -> Bounds {
    Bounds {
        memory: Arc::new(process::memory),
        stop: Arc::new(move || end.is_some_and(|end| Instant::now() >= end)),
        ..Bounds::none(threads)
    }
}

/// Explores scopes side by side, as many as there are threads; where there are fewer, with several threads each.
fn explore_all(
    scopes: Vec<Scope>,
    args: &CheckArgs,
    global: &Global,
    start: Instant,
    rows: Option<&Rows>,
) -> Report {
    let end = args.budget.map(|budget| start + budget);
    let progress = Arc::new(Progress::new(!global.quiet, scopes.len()));
    // A bound on the memory of the process is one for each scope only if they come one after the other.
    let at_once = if args.max_memory.is_some() { 1 } else { args.threads().min(scopes.len()).max(1) };
    let threads = args.threads() / at_once;
    let explored = |scope: Scope| {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(scope.name);
        }
        let begun = Instant::now();
        progress.begin(scope.name);
        let exploration = explore(&scope, &bounds(args, threads, &scope, end, Some(&progress)));
        progress.end(scope.name);
        Ok(Run { scope, exploration, elapsed: begun.elapsed() })
    };
    let queue = Mutex::new(scopes.into_iter().enumerate());
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let told = |place: usize, result: Result<Run, &'static str>| {
        if let Some(rows) = rows {
            rows.put(place, text::row(result.as_ref().map_err(|name| *name)), &progress);
        }
        (place, result)
    };
    let work =
        || std::iter::from_fn(take).map(|(place, scope)| told(place, explored(scope))).collect::<Vec<_>>();
    let mut results = thread::scope(|all| {
        let workers: Vec<_> = (0..at_once).map(|_| all.spawn(work)).collect();
        let done = workers.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    progress.finish();
    results.sort_by_key(|(place, _)| *place);
    let (mut runs, mut not_run) = (Vec::new(), Vec::new());
    for (_, result) in results {
        match result {
            Ok(run) => runs.push(run),
            Err(scope) => not_run.push(scope),
        }
    }
    let complete = args.scopes.is_empty() && args.mutant.is_none() && args.size != Size::Large;
    Report {
        runs,
        not_run,
        complete,
        takes_every_step: complete && args.size == Size::Default && args.subject == Subject::All,
        elapsed: start.elapsed(),
    }
}
