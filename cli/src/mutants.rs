//! `jobcheck mutants`: known defects, as mutants of the reference algorithm or of the shipped controllers, must be caught.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anstream::eprintln;
use clap::Args;
use jobcheck_adapter::{mutations, of_the_controller};
use jobcheck_explorer::mutants::{Hunt, MUTANTS, Mutant};
use jobcheck_explorer::narrative::Narrative;
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_scenario::export_defect;
use serde::Serialize;

use crate::args::Global;
use crate::check;
use crate::save::Saved;
use crate::styles::{BAD, BOLD, GOOD};

/// Arguments of `jobcheck mutants`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct MutantsArgs {
    /// Defects to look for, such as B18; all if none is given. The counterexample of each is told.
    pub defects: Vec<String>,
    /// Whose defects they are.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Subject::Algorithm)]
    pub subject: Subject,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Write the counterexample of each to this directory, as a native trace that `jobcheck replay` judges.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Write the counterexample of the one defect that is given as a scenario, which `jobcheck run --mutant ID` breaks,
    /// and `jobcheck run` does not; of each defect, where this is a directory, or has no extension.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
}

/// Whose defects are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Those of the reference algorithm: each breaks what it is pinned to break, in so many steps.
    Algorithm,
    /// The same in the shipped controllers: what their plan is shown or wants is changed. Some are about steps that it does
    /// not have.
    Controller,
}

/// Forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// docs/reference/schemas/mutants.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
Steps are those to what is broken; of a Job that never comes to its end, those to where it ownerless, and those of the
round that it makes from there for ever (none where nothing more has to happen).

Each defect is one or two lines of the reference algorithm, switched to what a Job controller did wrong once, or
does today. A mutation of Kubernetes 1.36 has the id of its finding (S-04, H3; J-01 was found with this model); a defect that was
reported upstream has that of the collection (B18). The same world without the defect must hold. With --subject controller
the same is done to the controllers that are shipped.

Exit codes:
  0  every defect is caught as it is pinned, and nothing else is wrong
  1  a defect is not caught, or the algorithm is wrong without it
  2  there is no such defect, or the usage is wrong
  4  something is missing in the environment: the output cannot be written
  5  internal error: please report it";

struct Run {
    mutant: &'static Mutant,
    subject: Subject,
    hunt: Hunt,
    /// Whether the same world holds without the defect.
    sound: bool,
    elapsed: Duration,
}

impl Run {
    fn of(mutant: &'static Mutant, subject: Subject) -> Run {
        let begun = Instant::now();
        let with = |scope| subject.in_place(scope);
        let hunt = mutant.hunt_of(&with);
        let elapsed = begun.elapsed();
        Run { mutant, subject, hunt, sound: mutant.hunt_without_of(&with).holds(), elapsed }
    }

    fn is_caught(&self) -> bool {
        self.sound
            && match self.subject {
                Subject::Algorithm => self.mutant.is_caught_by(&self.hunt),
                Subject::Controller => self.hunt.found().is_some(),
            }
    }

    fn scope(&self) -> Scope {
        self.subject.in_place(self.mutant.scope())
    }

    fn result(&self) -> &'static str {
        match (self.is_caught(), self.sound) {
            (true, _) => "caught",
            (false, true) if self.hunt.found().is_none() => "not caught",
            (false, true) => "not caught as pinned",
            (false, false) => "wrong without it",
        }
    }
}

impl Subject {
    /// The world of a defect, with these controllers in it.
    fn in_place(self, scope: Scope) -> Scope {
        match self {
            Subject::Algorithm => scope,
            Subject::Controller => of_the_controller(scope),
        }
    }

    fn can_have(self, mutant: &Mutant) -> bool {
        self == Subject::Algorithm || mutations::can_have(mutant)
    }
}

/// Looks for defects, prints the report, and returns what it comes to.
pub fn run(args: &MutantsArgs, global: &Global) -> Exit {
    let mutants = match chosen(&args.defects) {
        Ok(mutants) => mutants,
        Err(message) => {
            eprintln!("error: {message}");
            return Exit::Unreadable;
        }
    };
    let is_directory = |path: &Path| path.is_dir() || (path.extension().is_none() && !path.exists());
    if mutants.len() != 1 && args.scenario.as_ref().is_some_and(|path| !is_directory(path)) {
        eprintln!("error: --scenario needs one defect, or a directory");
        return Exit::Unreadable;
    }
    if args.subject == Subject::Controller && args.scenario.is_some() {
        eprintln!("error: --scenario is for defects of the reference algorithm");
        return Exit::Unreadable;
    }
    let (possible, others): (Vec<&Mutant>, Vec<&Mutant>) =
        mutants.into_iter().partition(|mutant| args.subject.can_have(mutant));
    if let Some(mutant) = others.first().filter(|_| possible.is_empty()) {
        let why = "the shipped controllers have nothing in which it could be";
        eprintln!("error: {}: {why}: {}", mutant.id, mutant.title);
        return Exit::Unreadable;
    }
    let has_places = args.save.as_deref().is_none_or(crate::save::can_be_made)
        && args.scenario.as_deref().is_none_or(|path| {
            if is_directory(path) { crate::save::can_be_made(path) } else { crate::save::has_place(path) }
        });
    if !has_places {
        return Exit::Environment;
    }
    let runs: Vec<Run> = possible.into_iter().map(|mutant| Run::of(mutant, args.subject)).collect();
    let exit = if runs.iter().all(Run::is_caught) { Exit::Conforms } else { Exit::Violates };
    let rendered = match args.output {
        Format::Text => Ok(text(&runs, &others, !args.defects.is_empty(), global)),
        Format::Json => check::to_json(&whole(&runs, args.subject, &others, exit)),
        Format::Yaml => check::to_yaml(&whole(&runs, args.subject, &others, exit)),
    };
    let exit = check::print(rendered, exit);
    let saved = args.save.as_ref().is_none_or(|directory| save(directory, &runs));
    let written = args.scenario.as_ref().is_none_or(|path| {
        if !is_directory(path) {
            return runs.iter().all(|run| write_scenario(path, run));
        }
        if let Err(error) = std::fs::create_dir_all(path) {
            eprintln!("error: cannot make the directory {}: {error}", path.display());
            return false;
        }
        let file = |run: &Run| path.join(format!("{}.yaml", run.mutant.id.to_ascii_lowercase()));
        runs.iter().all(|run| write_scenario(&file(run), run))
    });
    if saved && written { exit } else { Exit::Environment }
}

/// Writes the scenario of a defect. Says whether that succeeded.
fn write_scenario(file: &Path, run: &Run) -> bool {
    let Some(found) = run.hunt.found() else {
        eprintln!("note: nothing is broken, so that {} is not written", file.display());
        return true;
    };
    crate::save::scenario(file, export_defect(run.mutant, found), Some(run.mutant))
}

fn save(directory: &Path, runs: &[Run]) -> bool {
    let scopes: Vec<_> = runs.iter().map(Run::scope).collect();
    let found = runs.iter().zip(&scopes).filter_map(|(run, scope)| Some((run, scope, run.hunt.found()?)));
    let counterexamples = found.map(|(run, scope, found)| Saved {
        name: run.mutant.id,
        scope,
        path: &found.path,
        requirement: Some(run.mutant.requirement()),
        why: run.mutant.title,
    });
    crate::save::save(directory, counterexamples)
}

fn chosen(ids: &[String]) -> Result<Vec<&'static Mutant>, String> {
    if ids.is_empty() {
        return Ok(MUTANTS.iter().collect());
    }
    let known = || MUTANTS.iter().map(|mutant| mutant.id).collect::<Vec<_>>().join(", ");
    let named = |id: &String| {
        Mutant::named(id).ok_or_else(|| format!("there is no defect {id}; known are {}", known()))
    };
    let mut found = ids.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let mut met = BTreeSet::new();
    found.retain(|mutant| met.insert(mutant.id));
    Ok(found)
}

fn text(runs: &[Run], others: &[&Mutant], told: bool, global: &Global) -> String {
    let mut out = String::new();
    if !global.quiet {
        let _ = writeln!(
            out,
            "{BOLD}{:<6} {:<19} {:<6} {:>5} {:>7}  {:<21} what is wrong{BOLD:#}",
            "defect", "issue", "breaks", "steps", "time", "result"
        );
        for run in runs {
            row(run, &mut out);
        }
    }
    for run in runs.iter().filter(|run| told || !run.is_caught()) {
        tell(run, &mut out);
    }
    let caught = runs.iter().filter(|run| run.is_caught()).count();
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|mutant| mutant.id).collect();
        let _ = writeln!(out, "nothing in which they could be: {}", ids.join(", "));
    }
    let _ = writeln!(out, "{caught} of {} defects are caught", runs.len());
    out
}

fn row(run: &Run, out: &mut String) {
    let paint = if run.is_caught() { GOOD } else { BAD };
    let issue = run.mutant.issues.first().copied().unwrap_or("-");
    let issue = issue.strip_prefix("kubernetes/kubernetes").unwrap_or(issue);
    let broken = run.hunt.requirement.map_or("-", jobcheck_spec::Req::id);
    let steps = run.hunt.found().map_or("-".to_owned(), |found| match found.cycle_start {
        None => found.path.len().to_string(),
        Some(turn) => format!("{turn}+{}", found.path.len() - turn),
    });
    let _ = writeln!(
        out,
        "{:<6} {issue:<19} {broken:<6} {steps:>5} {:>6.2}s  {paint}{:<21}{paint:#} {}",
        run.mutant.id,
        run.elapsed.as_secs_f64(),
        run.result(),
        run.mutant.title
    );
}

fn tell(run: &Run, out: &mut String) {
    let Some(found) = run.hunt.found() else { return };
    let _ = writeln!(out, "\n{BOLD}{}: {}{BOLD:#}", run.mutant.id, run.mutant.title);
    check::tell(&Narrative::of(&run.scope(), found, Some(run.mutant.requirement())), out);
    let _ = writeln!(out);
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MutantsReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    subject: &'static str,
    mutants: Vec<MutantReport>,
    impossible: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MutantReport {
    id: &'static str,
    title: &'static str,
    issues: &'static [&'static str],
    caught: bool,
    holds_without: bool,
    requirement: Option<&'static str>,
    steps: Option<usize>,
    turn: Option<usize>,
    states: usize,
    seconds: f64,
    counterexample: Option<check::CounterexampleReport>,
}

fn whole(runs: &[Run], subject: Subject, others: &[&'static Mutant], exit: Exit) -> MutantsReport {
    MutantsReport {
        api_version: API_VERSION,
        kind: "MutantsReport",
        exit_code: exit.code(),
        subject: match subject {
            Subject::Algorithm => "algorithm",
            Subject::Controller => "controller",
        },
        mutants: runs.iter().map(report).collect(),
        impossible: others.iter().map(|mutant| mutant.id).collect(),
    }
}

fn report(run: &Run) -> MutantReport {
    let found = run.hunt.found();
    MutantReport {
        id: run.mutant.id,
        title: run.mutant.title,
        issues: run.mutant.issues,
        caught: run.is_caught(),
        holds_without: run.sound,
        requirement: run.hunt.requirement.map(jobcheck_spec::Req::id),
        steps: found.map(|found| found.path.len()),
        turn: found.and_then(|found| found.cycle_start),
        states: run.hunt.exploration.states,
        seconds: run.elapsed.as_secs_f64(),
        counterexample: found.map(|found| check::counterexample_report(&run.scope(), found)),
    }
}
