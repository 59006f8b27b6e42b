//! Counterexamples as native traces, in a directory, and as scenarios.

use std::collections::BTreeMap;
use std::path::Path;

use anstream::eprintln;
use anyhow::Context;
use jobcheck_explorer::check::Bounds;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, Finding, ReplayReport};
use jobcheck_scenario::render::native;
use jobcheck_scenario::{self, ExportError, Scenario, model};
use jobcheck_spec::Req;
use jobcheck_traces::{Expected, ExpectedVerdict, Input};

/// A way through a scope, and what is wrong with it.
pub struct Saved<'a> {
    /// The file's name, without its extension.
    pub name: &'a str,
    /// The scope.
    pub scope: &'a Scope,
    /// The way.
    pub path: &'a [Step],
    /// What it breaks, if a trace can show that.
    pub requirement: Option<Req>,
    /// The same in words.
    pub why: &'a str,
}

/// Whether there is a place for a file: asked before a search, which may be long.
pub fn has_place(file: &Path) -> bool {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match std::fs::metadata(directory) {
        Ok(it) if !it.is_dir() => Some(format!("{} is no directory", directory.display())),
        Err(_) => Some(format!("{} is no directory", directory.display())),
        Ok(_) if file.is_dir() => Some("it is a directory".to_owned()),
        Ok(_) if file.exists() => refusal(file),
        Ok(_) => access(directory),
    };
    if let Some(why) = &why {
        eprintln!("error: cannot write {}: {why}", file.display());
    }
    why.is_none()
}

/// Why a file that is there cannot be written.
fn refusal(file: &Path) -> Option<String> {
    std::fs::OpenOptions::new().append(true).open(file).err().map(|error| error.to_string())
}

/// Why nothing can be made in a directory: it is tried.
fn access(directory: &Path) -> Option<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let trial = directory.join(format!(".jobcheck-{}", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&trial);
    let removed = made.and_then(|_| std::fs::remove_file(&trial));
    removed.err().map(|error| format!("{}: {error}", directory.display()))
}

/// Whether a directory is there, or can be made as far as its name goes.
pub fn can_be_made(directory: &Path) -> bool {
    let there = directory.ancestors().find(|it| it.exists());
    let there = there.unwrap_or(Path::new("."));
    let why = match there.is_dir() {
        true => access(there),
        false => Some(format!("{} is no directory", there.display())),
    };
    if let Some(why) = &why {
        eprintln!("error: cannot make the directory {}: {why}", directory.display());
    }
    why.is_none()
}

/// Names of files, each once: a second one of a name gets a number.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn distinct(&mut self, name: &str) -> String {
        let name = name.replace('/', "-");
        let before = self.0.entry(name.clone()).or_default();
        *before += 1;
        if *before == 1 { name } else { format!("{name}-{before}") }
    }
}

/// Writes each to a file, and says what `jobcheck replay` makes of it. Says whether that succeeded.
pub fn save<'a>(directory: &Path, all: impl IntoIterator<Item = Saved<'a>>) -> bool {
    let mut names = Names::default();
    for one in all {
        let file = directory.join(format!("{}.jsonl", names.distinct(one.name)));
        if let Err(error) = write(directory, &file, &one) {
            eprintln!("error: {error:#}");
            return false;
        }
    }
    if names.0.is_empty() {
        eprintln!("note: nothing is broken, so that nothing is written to {}", directory.display());
    }
    true
}

/// Writes a scenario, and says what `jobcheck run` makes of it. Says whether that succeeded.
pub fn scenario(
    file: &Path,
    scenario: Result<Scenario, ExportError>,
    mutant: Option<&'static Mutant>,
) -> bool {
    let scenario = match scenario {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!(
                "note: {} is not written: there is no scenario of this counterexample: {error}",
                file.display()
            );
            return true;
        }
    };
    let written = jobcheck_scenario::write(&scenario).map_err(anyhow::Error::from).and_then(|text| {
        std::fs::write(file, &text).with_context(|| format!("cannot write {}", file.display()))?;
        model::run(&jobcheck_scenario::read(&text)?, mutant, &Bounds::none(1)).map_err(anyhow::Error::from)
    });
    match written {
        Ok(run) => {
            let found = run.found().map(|found| match run.requirement {
                Some(req) => format!("breaks {req}"),
                None => found.why.clone(),
            });
            let with = mutant.map(|mutant| format!(" --mutant {}", mutant.id)).unwrap_or_default();
            let says = found.unwrap_or_else(|| "holds".to_owned());
            eprintln!("note: {} is written; run{with} says: {says}", file.display());
            true
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            false
        }
    }
}

/// Writes native traces, each to a file of its name. Says whether that succeeded.
pub fn save_traces<'a>(directory: &Path, all: impl IntoIterator<Item = (String, &'a [u8])>) -> bool {
    let mut names = Names::default();
    all.into_iter().all(|(name, trace)| {
        let file = directory.join(format!("{}.jsonl", names.distinct(&name)));
        let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&file, trace));
        match written {
            Ok(()) => eprintln!("note: {} is written", file.display()),
            Err(ref error) => eprintln!("error: cannot write {}: {error}", file.display()),
        }
        written.is_ok()
    })
}

fn write(directory: &Path, file: &Path, one: &Saved<'_>) -> anyhow::Result<()> {
    let requirement = one.requirement.filter(|req| req.entry().judged.by_trace());
    let expected = requirement.map(|req| Expected {
        verdict: ExpectedVerdict::Violates,
        requirement: Some(req.id().to_owned()),
        job: None,
        note: Some(one.why.to_owned()),
    });
    let mut trace = native(one.scope, one.path, expected.as_ref())?;
    let mut report = judged(file, &trace);
    if requirement.is_some_and(|req| !shows(&report, req)) {
        // What a trace does not show, nobody is to expect of it.
        trace = native(one.scope, one.path, None)?;
        report = judged(file, &trace);
    }
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(file, &trace))
        .with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("note: {} is written; replay says: {}", file.display(), verdict(&report));
    Ok(())
}

fn judged(file: &Path, trace: &[u8]) -> ReplayReport {
    let inputs = vec![Input::Bytes(file.display().to_string(), trace.to_vec())];
    judge(&[inputs], &Judging::default(), &mut |_, _| {})
}

fn first(report: &ReplayReport) -> Option<&Finding> {
    report.jobs.iter().flat_map(|job| &job.violations).next()
}

/// Whether the verdict is this requirement.
fn shows(report: &ReplayReport, requirement: Req) -> bool {
    first(report).is_some_and(|it| {
        it.requirement.is_some_and(|id| id.0 == requirement) || it.also.contains(&requirement.id())
    })
}

/// What `jobcheck replay` says of a trace.
fn verdict(report: &ReplayReport) -> String {
    match (report.exit_code, first(report)) {
        (Exit::Violates, Some(first)) => {
            let req = first.requirement.map_or("advice", |id| id.0.id());
            format!("violates {req}, at line {}", first.line.unwrap_or_default())
        }
        (Exit::Conforms, _) => {
            "conforms: what is broken is no single write, or nothing that a trace shows".to_owned()
        }
        (_, _) => "inconclusive".to_owned(),
    }
}
