//! `jobcheck mutants`: known defects of the reference algorithm, or of the shipped controllers, must be caught.

mod args;
mod managers;
mod page;
mod report;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use jobcheck_explorer::mutants::{Hunt, MUTANTS, Mutant};
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::export_defect;

pub use self::args::MutantsArgs;
use self::args::Subject;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::save::{Folder, Saved, can_make_directory, can_write};
use crate::text::of_path;

/// The search for one defect.
struct Run {
    mutant: &'static Mutant,
    subject: Subject,
    hunt: Hunt,
    /// True if the same scope holds without the defect.
    holds_without: bool,
    elapsed: Duration,
}

/// The searches of one call.
struct Report {
    subject: Subject,
    runs: Vec<Run>,
    /// The defects that the subject cannot have.
    impossible: Vec<&'static Mutant>,
    /// The defects for which the user left no time.
    not_run: Vec<&'static Mutant>,
}

impl Run {
    fn of(mutant: &'static Mutant, subject: Subject) -> Run {
        let begun = Instant::now();
        let placed = |scope| subject.placed(scope);
        let hunt = mutant.hunt_of(&placed);
        let elapsed = begun.elapsed();
        Run { mutant, subject, hunt, holds_without: mutant.hunt_without_of(&placed).holds(), elapsed }
    }

    fn is_caught(&self) -> bool {
        self.holds_without
            && match self.subject {
                Subject::Algorithm => self.mutant.is_caught_by(&self.hunt),
                Subject::Controller | Subject::Mirror | Subject::Aggregate => self.hunt.found().is_some(),
            }
    }

    fn scope(&self) -> Scope {
        self.subject.placed(self.mutant.scope())
    }

    fn result(&self) -> &'static str {
        result(self.is_caught(), self.holds_without, self.hunt.found().is_some())
    }
}

/// The result of a search in words.
fn result(is_caught: bool, holds_without: bool, is_found: bool) -> &'static str {
    match (is_caught, holds_without) {
        (true, _) => "caught",
        (false, true) if !is_found => "not caught",
        (false, true) => "not as expected",
        (false, false) => "broken without it",
    }
}

impl Report {
    fn exit(&self) -> Exit {
        match () {
            () if !self.runs.iter().all(Run::is_caught) => Exit::Violates,
            () if !self.not_run.is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Looks for defects, and prints the report. Returns the exit code.
pub fn run(args: &MutantsArgs, global: &Global) -> Exit {
    if managers::are_chosen(args) {
        return managers::run(args, global);
    }
    let (possible, impossible) = match chosen(args) {
        Ok(chosen) => chosen,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    let can_save = page::is_possible(args.page.as_deref())
        && args.save.as_deref().is_none_or(can_make_directory)
        && args.scenario.as_deref().is_none_or(|path| {
            if args.scenarios_are_many() { can_make_directory(path) } else { can_write(path) }
        });
    if !can_save {
        return Exit::Environment;
    }
    let report = hunt_all(&possible, impossible, args.subject, global);
    let with_counterexamples = !args.defects.is_empty();
    let rendered =
        args.output.render(|| report::text(&report, with_counterexamples, global), || report::whole(&report));
    let exit = output::print_report(rendered, args.output, report.exit());
    let exit = page::write(args.page.as_deref(), &report::whole(&report), exit);
    let saved = args.folder().is_none_or(|folder| save(folder, &report.runs));
    if saved && write_scenarios(args, &report.runs) { exit } else { Exit::Environment }
}

/// Looks for the defects one after the other, until the user ends it.
fn hunt_all(
    possible: &[&'static Mutant],
    impossible: Vec<&'static Mutant>,
    subject: Subject,
    global: &Global,
) -> Report {
    let interrupt = Interrupt::listen();
    let progress = Progress::new(!global.quiet, 1);
    let mut runs = Vec::new();
    for (number, mutant) in possible.iter().copied().enumerate() {
        if interrupt.is_set() {
            break;
        }
        progress.show_message(&format!("{} of {} defects; {}", number, possible.len(), mutant.id));
        runs.push(Run::of(mutant, subject));
    }
    progress.finish();
    let not_run = possible[runs.len()..].to_vec();
    Report { subject, runs, impossible, not_run }
}

/// Defects that the subject can have, and defects that it cannot have.
type Chosen = (Vec<&'static Mutant>, Vec<&'static Mutant>);

/// The defects that the arguments choose.
fn chosen(args: &MutantsArgs) -> Result<Chosen, String> {
    let mutants = named(&args.defects)?;
    if mutants.len() != 1 && args.scenario.is_some() && !args.scenarios_are_many() {
        return Err("--scenario FILE needs exactly one defect; name a directory for several".to_owned());
    }
    if args.subject == Subject::Controller && args.scenario.is_some() {
        return Err("--scenario is for defects of the reference algorithm; remove --subject".to_owned());
    }
    let (possible, impossible): Chosen =
        mutants.into_iter().partition(|mutant| args.subject.can_have(mutant));
    match impossible.first() {
        Some(mutant) if possible.is_empty() => {
            Err(format!("{} does not apply to the shipped controllers: {}", mutant.id, mutant.title))
        }
        _ => Ok((possible, impossible)),
    }
}

/// The defects of these ids, each once; all if there are none.
fn named(ids: &[String]) -> Result<Vec<&'static Mutant>, String> {
    if ids.is_empty() {
        return Ok(MUTANTS.iter().collect());
    }
    let known = || MUTANTS.iter().map(|mutant| mutant.id).collect::<Vec<_>>().join(", ");
    let of_id =
        |id: &String| Mutant::named(id).ok_or_else(|| format!("there is no defect {id}; known: {}", known()));
    let mut found = ids.iter().map(of_id).collect::<Result<Vec<_>, _>>()?;
    let mut seen = BTreeSet::new();
    found.retain(|mutant| seen.insert(mutant.id));
    Ok(found)
}

/// Writes the scenarios that the arguments ask for. Returns whether that succeeded.
fn write_scenarios(args: &MutantsArgs, runs: &[Run]) -> bool {
    let Some(path) = &args.scenario else { return true };
    if !args.scenarios_are_many() {
        return runs.iter().all(|run| write_scenario(path, run));
    }
    if let Err(why) = std::fs::create_dir_all(path) {
        output::error(format!("cannot make the directory {}: {why}", of_path(path)));
        return false;
    }
    let file = |run: &Run| path.join(format!("{}.yaml", run.mutant.id.to_ascii_lowercase()));
    runs.iter().all(|run| write_scenario(&file(run), run))
}

fn write_scenario(file: &Path, run: &Run) -> bool {
    let Some(found) = run.hunt.found() else {
        output::note(format!("no counterexample; {} is not written", of_path(file)));
        return true;
    };
    crate::save::scenario(file, export_defect(run.mutant, found), Some(run.mutant))
}

/// Writes the counterexamples as native traces. Returns whether that succeeded.
fn save(folder: Folder<'_>, runs: &[Run]) -> bool {
    let scopes: Vec<_> = runs.iter().map(Run::scope).collect();
    let found = runs.iter().zip(&scopes).filter_map(|(run, scope)| Some((run, scope, run.hunt.found()?)));
    let counterexamples = found.map(|(run, scope, found)| Saved {
        name: run.mutant.id,
        scope,
        path: &found.path,
        requirement: Some(run.mutant.requirement()),
        why: run.mutant.title,
    });
    crate::save::save(folder, counterexamples)
}
