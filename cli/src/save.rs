//! Counterexamples in files: as native traces for `jobcheck replay`, as pages, and as scenarios for `jobcheck run`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::RandomState;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
use jobcheck_traces::{Expected, ExpectedVerdict, Input, Redactor, files};

use crate::output;
use crate::text::of_path;
use crate::view::Traces;

/// A path through a scope, and the reason why it is saved.
pub struct Saved<'a> {
    /// The name of the file, without its extension.
    pub name: &'a str,
    /// The scope.
    pub scope: &'a Scope,
    /// The steps.
    pub path: &'a [Step],
    /// The requirement that the path breaks, if a trace can show that.
    pub requirement: Option<Req>,
    /// The reason in words.
    pub why: &'a str,
}

/// The directory of saved traces, and what is done with each.
#[derive(Clone, Copy, Debug)]
pub struct Folder<'a> {
    /// The directory; it is made with the first file.
    pub directory: &'a Path,
    /// Replace what may be secret, as `record --redact` does.
    pub redacts: bool,
    /// Each trace gets the page of `jobcheck view` beside it.
    pub pages: bool,
}

impl Folder<'_> {
    /// Writes a trace, and its page. Returns the file of the trace.
    pub fn write(&self, name: &str, trace: &[u8]) -> anyhow::Result<PathBuf> {
        let file = self.directory.join(format!("{name}.jsonl"));
        let written = std::fs::create_dir_all(self.directory)
            .and_then(|()| if self.redacts { redacted(trace) } else { Ok(trace.into()) })
            .and_then(|trace| files::write(&file, &trace).map(|()| trace));
        let trace = written.with_context(|| format!("cannot write {}", of_path(&file)))?;
        if self.pages {
            let page = file.with_extension("html");
            files::write(&page, page_of(&file, &trace)?.as_bytes())
                .with_context(|| format!("cannot write {}", of_path(&page)))?;
            output::note(format!("{} is written; open it in a browser", of_path(&page)));
        }
        Ok(file)
    }
}

/// The page of one trace.
fn page_of(file: &Path, trace: &[u8]) -> anyhow::Result<String> {
    let (inputs, report) = judged(file.file_name().unwrap_or_default().to_string_lossy().into_owned(), trace);
    Traces::unrelated(inputs).page(&report, jobcheck_view::STEPS, None)
}

/// A trace with its report, as `jobcheck replay` judges it.
fn judged(name: String, trace: &[u8]) -> (Vec<Vec<Input>>, ReplayReport) {
    let inputs = vec![vec![Input::Bytes(name, trace.to_vec())]];
    let report = judge(&inputs, &Judging::default(), &mut |_, _| {});
    (inputs, report)
}

fn redacted(trace: &[u8]) -> std::io::Result<Cow<'_, [u8]>> {
    Redactor::new(RandomState::new()).trace(trace).map(Cow::Owned)
}

/// Returns whether a file can be written; if not, the reason is printed. Asked before a search, which may be long.
pub fn can_write(file: &Path) -> bool {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match std::fs::metadata(directory) {
        Ok(it) if !it.is_dir() => Some(format!("{} is not a directory", of_path(directory))),
        Err(_) => Some(format!("there is no directory {}", of_path(directory))),
        Ok(_) if file.is_dir() => Some("it is a directory".to_owned()),
        Ok(_) if file.exists() => why_not_appended(file),
        Ok(_) => why_nothing_created(directory),
    };
    if let Some(why) = &why {
        output::error(format!("cannot write {}: {why}", of_path(file)));
    }
    why.is_none()
}

/// Returns whether a file can be written and is none of those that are read; if not, the reason is printed.
pub fn can_write_beside<'a>(file: &Path, read: impl IntoIterator<Item = &'a Path>) -> bool {
    let is_read = read.into_iter().any(|input| is_same(file, input));
    if is_read {
        output::error(format!("cannot write {}: it is read, too; name another file", of_path(file)));
    }
    !is_read && can_write(file)
}

/// The message if the output of a command is the audit log that it follows.
#[cfg(feature = "cluster")]
pub const IS_THE_LOG: &str = "the output is the audit log that is read; name another file";

/// Returns true if both paths lead to one file.
pub fn is_same(first: &Path, second: &Path) -> bool {
    let id = |path| std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    id(first).is_some_and(|it| id(second) == Some(it))
}

/// Returns whether a directory exists or can be made; if not, the reason is printed.
pub fn can_make_directory(directory: &Path) -> bool {
    let existing = directory.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
    let why = match existing.is_dir() {
        true => why_nothing_created(existing),
        false => Some(format!("{} is not a directory", of_path(existing))),
    };
    if let Some(why) = &why {
        output::error(format!("cannot make the directory {}: {why}", of_path(directory)));
    }
    why.is_none()
}

/// The reason why an existing file cannot be written.
fn why_not_appended(file: &Path) -> Option<String> {
    std::fs::OpenOptions::new().append(true).open(file).err().map(|error| error.to_string())
}

/// The reason why no file can be created in a directory. It is found by creating one.
fn why_nothing_created(directory: &Path) -> Option<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let trial = directory.join(format!(".jobcheck-{}", std::process::id()));
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(&trial);
    let removed = created.and_then(|_| std::fs::remove_file(&trial));
    removed.err().map(|error| format!("{}: {error}", of_path(directory)))
}

/// Names of files, each used once: a repeated name gets a number.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn distinct(&mut self, name: &str) -> String {
        let name = name.replace('/', "-");
        let uses = self.0.entry(name.clone()).or_default();
        *uses += 1;
        if *uses == 1 { name } else { format!("{name}-{uses}") }
    }
}

/// Writes each path as a native trace, and prints the verdict of `jobcheck replay`. Returns whether that succeeded.
pub fn save<'a>(folder: Folder<'_>, all: impl IntoIterator<Item = Saved<'a>>) -> bool {
    let mut names = Names::default();
    for one in all {
        if let Err(error) = write(folder, &names.distinct(one.name), &one) {
            output::error(format!("{error:#}"));
            return false;
        }
    }
    if names.0.is_empty() {
        output::note(format!("no counterexample; nothing is written to {}", of_path(folder.directory)));
    }
    true
}

/// Writes a scenario, and prints the result of `jobcheck run`. Returns whether that succeeded.
pub fn scenario(
    file: &Path,
    scenario: Result<Scenario, ExportError>,
    mutant: Option<&'static Mutant>,
) -> bool {
    let scenario = match scenario {
        Ok(scenario) => scenario,
        Err(error) => {
            let file = of_path(file);
            output::note(format!("{file} is not written: this counterexample cannot be a scenario: {error}"));
            return true;
        }
    };
    let written = jobcheck_scenario::write(&scenario).map_err(anyhow::Error::from).and_then(|text| {
        files::write(file, text.as_bytes()).with_context(|| format!("cannot write {}", of_path(file)))?;
        model::run(&jobcheck_scenario::read(&text)?, mutant, &Bounds::none(1)).map_err(anyhow::Error::from)
    });
    match written {
        Ok(run) => {
            let result = run.found().map(|found| match run.requirement {
                Some(req) => format!("breaks {req}"),
                None => found.why.clone(),
            });
            let with = mutant.map(|mutant| format!(" --mutant {}", mutant.id)).unwrap_or_default();
            let result = result.unwrap_or_else(|| "holds".to_owned());
            output::note(format!("{} is written; run{with}: {result}", of_path(file)));
            true
        }
        Err(error) => {
            output::error(format!("{error:#}"));
            false
        }
    }
}

/// Writes native traces, each to the file of its name. Returns whether that succeeded.
pub fn save_traces<'a>(folder: Folder<'_>, all: impl IntoIterator<Item = (String, &'a [u8])>) -> bool {
    let mut names = Names::default();
    all.into_iter().all(|(name, trace)| {
        let written = folder.write(&names.distinct(&name), trace);
        match &written {
            Ok(file) => output::note(format!("{} is written", of_path(file))),
            Err(error) => output::error(format!("{error:#}")),
        }
        written.is_ok()
    })
}

fn write(folder: Folder<'_>, name: &str, one: &Saved<'_>) -> anyhow::Result<()> {
    let requirement = one.requirement.filter(|req| req.entry().judged.by_trace());
    let expected = requirement.map(|req| Expected {
        verdict: ExpectedVerdict::Violates,
        requirement: Some(req.id().to_owned()),
        job: None,
        note: Some(one.why.to_owned()),
    });
    let mut trace = native(one.scope, one.path, expected.as_ref())?;
    let mut report = replayed(&trace);
    if requirement.is_some_and(|req| !shows(&report, req)) {
        // The trace must not demand a verdict that it does not show.
        trace = native(one.scope, one.path, None)?;
        report = replayed(&trace);
    }
    let file = folder.write(name, &trace)?;
    output::note(format!("{} is written; replay: {}", of_path(&file), verdict(&report, one.requirement)));
    Ok(())
}

fn replayed(trace: &[u8]) -> ReplayReport {
    judged("trace".to_owned(), trace).1
}

fn first(report: &ReplayReport) -> Option<&Finding> {
    report.jobs.iter().flat_map(|job| &job.violations).next()
}

/// Returns whether the first violation of a report is one of this requirement.
fn shows(report: &ReplayReport, requirement: Req) -> bool {
    first(report).is_some_and(|it| {
        it.requirement.is_some_and(|id| id.0 == requirement) || it.also.contains(&requirement.id())
    })
}

/// The verdict of `jobcheck replay` on a trace that was written because it breaks `requirement`.
fn verdict(report: &ReplayReport, requirement: Option<Req>) -> String {
    match (report.exit_code, first(report)) {
        (Exit::Violates, Some(first)) => {
            let req = first.requirement.map_or("advice", |id| id.0.id());
            let line = first.place.line.unwrap_or_default();
            let other = requirement.filter(|wanted| !shows(report, *wanted)).map(|wanted| {
                format!(
                    ", not {wanted}: a request can break several rules, and replay names the first it checks"
                )
            });
            format!("violates {req}, at line {line}{}", other.unwrap_or_default())
        }
        (Exit::Conforms, _) => {
            "conforms, because no single write is wrong, or because a trace does not show it".to_owned()
        }
        (_, _) => "inconclusive".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_trace_is_redacted_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let pod =
            r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","annotations":{"a":"SECRET"}},
            "spec":{"containers":[{"name":"c","args":["SECRET"],"env":[{"name":"E","value":"SECRET"}]}]}}}"#
                .replace('\n', "");
        for (redacts, secrets) in [(false, 3), (true, 0)] {
            let folder = Folder { directory: folder.path(), redacts, pages: true };
            let file = folder.write("trace", format!("{pod}\n{pod}\n").as_bytes()).unwrap();
            let written = std::fs::read_to_string(&file).unwrap();
            assert_eq!(
                (written.matches("SECRET").count(), written.lines().count()),
                (2 * secrets, 2),
                "{written}"
            );
            let page = std::fs::read_to_string(file.with_extension("html")).unwrap();
            // A page shows none of these fields, redacted or not.
            assert!(page.contains("trace.jsonl") && !page.contains("SECRET"), "{page}");
        }
        // A trace that cannot be redacted is not written, and has no page.
        let other = Folder { directory: &folder.path().join("other"), redacts: true, pages: true };
        assert!(other.write("trace", b"SECRET\n").is_err());
        assert_eq!(std::fs::read_dir(other.directory).unwrap().count(), 0);
    }
}
