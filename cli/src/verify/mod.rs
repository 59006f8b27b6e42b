//! `jobcheck verify`: everything that can be verified without a cluster.

mod args;
mod corpus;
mod page;
mod text;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_traces::files;
use serde::Serialize;
use serde_json::Value;

pub use self::args::{PartName, VerifyArgs};
use crate::check::{self, Subject};
use crate::format::{self, Format};
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output;
use crate::text::of_path;

/// The folder for counterexamples in the report folder.
const COUNTEREXAMPLES: &str = "counterexamples";

/// A part of the verification, with its result.
pub struct Part {
    /// The name.
    pub name: PartName,
    /// The extent, such as a number of scopes.
    pub extent: String,
    /// The exit code.
    pub exit: Exit,
    /// The problems, or the reason why the part was not run.
    pub problems: Vec<String>,
    /// The report for programs; `None` for a part that was not run.
    pub report: Option<Value>,
    /// The content of its section of the page, as HTML.
    pub page: String,
}

impl Part {
    fn not_run(name: PartName, why: String) -> Part {
        let extent = "not run".to_owned();
        Part {
            name,
            extent,
            exit: Exit::Inconclusive,
            problems: vec![why],
            report: None,
            page: String::new(),
        }
    }

    /// The name of the file of its report.
    fn file(&self) -> String {
        format!("{}.json", self.name.text().replace(' ', "-"))
    }
}

/// A part with the time that it took.
struct Timed {
    part: Part,
    elapsed: Duration,
}

/// The report for programs: docs/reference/schemas/verify.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyReport<'a> {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    parts: Vec<PartReport<'a>>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartReport<'a> {
    name: &'a str,
    extent: &'a str,
    exit_code: u8,
    wrong: &'a [String],
    report: Option<String>,
    seconds: f64,
}

/// Verifies the parts, prints the summary, and writes the reports. Returns the exit code.
pub fn run(args: &VerifyArgs, global: &Global) -> Exit {
    let begun = Instant::now();
    let directory = args.report.join(COUNTEREXAMPLES);
    let interrupt = Interrupt::listen();
    let is_text = args.output == Format::Text;
    if is_text {
        output::print_text(&text::head(), Exit::Conforms);
    }
    let mut parts = Vec::new();
    let all = all_parts(args, global, &directory, &interrupt);
    for (name, verify) in all.into_iter().filter(|(name, _)| args.has(*name)) {
        let begun = Instant::now();
        let part = if interrupt.is_set() { Part::not_run(name, "interrupted".to_owned()) } else { verify() };
        let timed = Timed { part, elapsed: begun.elapsed() };
        if is_text {
            output::print_text(&text::row(&timed), Exit::Conforms);
        }
        parts.push(timed);
    }
    let (exit, elapsed) = (Exit::of_all(parts.iter().map(|it| it.part.exit)), begun.elapsed());
    let whole = whole(&parts, exit, elapsed);
    let rendered =
        args.output.render(|| text::summary((exit, args.summary(exit)), elapsed, &args.report), || &whole);
    let exit = output::print_report(rendered, args.output, exit);
    match write(args, &parts, &whole, (exit, elapsed)) {
        Ok(()) => exit,
        Err(error) => {
            output::error(format!("{error:#}"));
            Exit::Environment
        }
    }
}

/// A part that has not been verified yet.
type Todo<'a> = (PartName, Box<dyn Fn() -> Part + 'a>);

fn all_parts<'a>(
    args: &'a VerifyArgs,
    global: &'a Global,
    directory: &'a Path,
    interrupt: &'a Interrupt,
) -> [Todo<'a>; 6] {
    let explored = move |name, subject| {
        let verify = move || of_scopes(name, subject, args, global, directory, interrupt);
        (name, Box::new(verify) as Box<dyn Fn() -> Part>)
    };
    [
        explored(PartName::Specification, Subject::All),
        explored(PartName::ShippedControllers, Subject::Controller),
        (PartName::MirrorProtocol, Box::new(|| of_managers(args, global, interrupt))),
        (PartName::Scenarios, Box::new(|| of_scenarios(args, directory, interrupt))),
        (PartName::Recordings, Box::new(|| corpus::recordings(args))),
        (PartName::InvalidTraces, Box::new(|| corpus::invalid(args, interrupt))),
    ]
}

fn of_scopes(
    name: PartName,
    subject: Subject,
    args: &VerifyArgs,
    global: &Global,
    directory: &Path,
    interrupt: &Interrupt,
) -> Part {
    part_of(name, check::quick(subject, args.threads, directory, global, interrupt))
}

fn of_managers(args: &VerifyArgs, global: &Global, interrupt: &Interrupt) -> Part {
    part_of(PartName::MirrorProtocol, check::quick_managers(args.threads, global, interrupt))
}

fn part_of(name: PartName, quick: check::Quick) -> Part {
    let extent = format!("{} scopes, {} states", quick.scopes, quick.states);
    match serde_json::to_value(&quick.report) {
        Ok(report) => Part {
            name,
            extent,
            exit: quick.exit,
            problems: quick.problems,
            report: Some(report),
            page: quick.page,
        },
        Err(error) => Part {
            name,
            extent,
            exit: Exit::Internal,
            problems: vec![format!("cannot write the report: {error}")],
            report: None,
            page: quick.page,
        },
    }
}

fn of_scenarios(args: &VerifyArgs, directory: &Path, interrupt: &Interrupt) -> Part {
    let name = PartName::Scenarios;
    if let Some(scenarios) = args.scenarios.as_ref().filter(|it| !it.is_dir()) {
        return Part::not_run(
            name,
            format!("{} is not a directory: pass --scenarios DIR", of_path(scenarios)),
        );
    }
    let all = crate::run::on_sim(&crate::run::RunArgs::of_verify(args), directory, interrupt);
    let extent = format!("{} scenarios, {} runs, {} requests", all.scenarios, all.runs, all.requests);
    Part {
        name,
        extent,
        exit: all.exit,
        problems: all.problems,
        report: all.report.ok(),
        page: String::new(),
    }
}

fn whole(parts: &[Timed], exit: Exit, elapsed: Duration) -> VerifyReport<'_> {
    VerifyReport {
        api_version: API_VERSION,
        kind: "VerifyReport",
        exit_code: exit.code(),
        parts: parts
            .iter()
            .map(|it| PartReport {
                name: it.part.name.text(),
                extent: &it.part.extent,
                exit_code: it.part.exit.code(),
                wrong: &it.part.problems,
                report: it.part.report.is_some().then(|| it.part.file()),
                seconds: it.elapsed.as_secs_f64(),
            })
            .collect(),
        seconds: elapsed.as_secs_f64(),
    }
}

/// The pages of the counterexamples in a report folder, sorted.
fn counterexamples(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join(COUNTEREXAMPLES)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".html")).collect();
    pages.sort();
    pages
}

fn write(
    args: &VerifyArgs,
    parts: &[Timed],
    whole: &VerifyReport<'_>,
    (exit, elapsed): (Exit, Duration),
) -> anyhow::Result<()> {
    let directory = &args.report;
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", of_path(directory)))?;
    let put = |name: &str, text: &str| {
        let file = directory.join(name);
        files::write(&file, text.as_bytes()).with_context(|| format!("cannot write {}", of_path(&file)))
    };
    for Timed { part, .. } in parts {
        if let Some(report) = &part.report {
            put(&part.file(), &format::json(report)?)?;
        }
    }
    put("verify.json", &format::json(whole)?)?;
    put("index.html", &page::html((exit, args.summary(exit)), parts, elapsed, &counterexamples(directory)))
}
